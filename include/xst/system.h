/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one machine enables, decided in one place: XCR0, the switch mask, the layout, the
 * instruction; and for whom: three profiles. Pure data computed from a CPU's description and a
 * wish; every size follows from it.
 */
#ifndef XST_SYSTEM_H
#define XST_SYSTEM_H

#include <xst/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The save/restore family, oldest first: a later one does all that an earlier one does. */
enum xst_insn {
	XST_INSN_FNSAVE,   /* FNSAVE / FRSTOR; the save destroys the registers */
	XST_INSN_FXSAVE,   /* FXSAVE / FXRSTOR */
	XST_INSN_XSAVE,    /* XSAVE / XRSTOR */
	XST_INSN_XSAVEOPT, /* XSAVEOPT / XRSTOR */
	XST_INSN_XSAVEC,   /* XSAVEC / XRSTOR */
	XST_INSN_XSAVES,   /* XSAVES / XRSTORS */
};

/* Wishes: a mask of components. All that XCR0 may hold; supervisor components are asked for by
 * name, XST_WANT_ALL_USER | XST_MASK_CET_U. One that only guests have (comp.def) asks for guests
 * with all of CET: they get CET_U too, whether or not the host's tasks do. */
#define XST_WANT_ALL_USER  XST_MASK_USER
#define XST_WANT_GUEST_CET XST_MASK_CET_S

/* Why a newer instruction is not used (a bit each); see xst_system.avoided. */
enum xst_avoid {
	XST_AVOID_ERRATUM_1386 = 1u << 0, /* XSAVES loses XMM registers: AMD erratum 1386 */
	XST_AVOID_SUMS = 1u << 1,         /* CPUID's compacted size is not what the format needs */
	XST_AVOID_SELFTEST = 1u << 2,     /* the compacted forms put a component elsewhere */
	XST_AVOID_WORLD = 1u << 3,        /* this world cannot execute it (user mode: XSAVES) */
};

/* What Linux gives a new task: key 0 free, all others without access. */
#define XST_PKRU_DEFAULT 0x55555554u

/* What one kind of state may hold. */
struct xst_profile {
	uint64_t mask; /* by default */
	uint64_t max;  /* at most: with what is dynamic, which takes a permission (perm.h) */
	/* Of an image, or of an area with all its images, for these; 0 where CPUID gives one of
	 * them no place. */
	uint32_t bytes, max_bytes;
};

struct xst_system {
	/*
	 * A fresh task's image for the two restores. XSTATE_BV is 0, so the fixed part is all that
	 * is read; but the CPU may touch an area to the end of what the restore is asked for, and a
	 * page that is not there faults. So they come first: the rest of this struct lies behind.
	 */
	uint8_t fresh[XST_EXT_OFFSET] __attribute__((aligned(64)));
	uint8_t fresh_apart[XST_EXT_OFFSET] __attribute__((aligned(64)));

	struct xst_caps caps;
	enum xst_insn insn;
	uint32_t avoided;  /* enum xst_avoid */
	uint64_t xcr0;     /* what XCR0 shall hold; 0 without XSAVE */
	uint64_t xss;      /* what IA32_XSS shall hold: what tasks have and what guests have */
	uint64_t mask;     /* RFBM of every switch: guarded by CR0.TS, so any policy may use it */
	uint64_t dynamic;  /* too large for every task: IA32_XFD holds them back until the first use */
	bool pkru;         /* protection keys are on: PKRU is switched by WRPKRU */
	bool leaky_cpu;    /* state behind CR0.TS can be read speculatively here */
	uint32_t init_pkru;
	bool fip_leak;      /* a restore leaves FOP, FIP and FDP of the task before (AMD, Hygon) */
	bool xgetbv1;       /* XINUSE can be read and an XSAVE form is in use */
	uint32_t ctx_bytes; /* what a task's area must hold at least, both images */
	struct xst_layout layout; /* of @mask; for FXSAVE and FNSAVE only bytes counts */

	/*
	 * Components that CR0.TS does not guard can never be left to first use. They have an image
	 * of their own behind the first one, so that the two can be saved and loaded at different
	 * times.
	 */
	uint64_t apart;        /* their mask; 0 on most machines (PKRU is switched by WRPKRU) */
	uint32_t apart_offset; /* of their image in the area */
	struct xst_layout apart_layout;

	/* An area after xst_ctx_grow(): of @mask and @dynamic. All else lies where it lay before,
	 * but for the image apart. */
	struct xst_layout grown;
	uint32_t grown_apart_offset;
	uint32_t grown_bytes; /* 0: nothing is dynamic here */

	/*
	 * The same for whom it is; all of it follows from the fields above, and nothing else
	 * decides.
	 *   host   what the kernel keeps for a task
	 *   user   what frames, ptrace and cores show of it: the standard format, PKRU among it
	 *   guest  what a virtual CPU may have: all that tasks may, and what only guests may
	 */
	struct xst_profile host, user, guest;
	bool guest_cet_s; /* guests want CET_S and XSAVES does not have it: software switches it */
};

/**
 * xst_system_compute() - decide what a machine enables.
 * @caps:  its CPU.
 * @want:  components wanted; those that the CPU lacks, or that break a rule without another one,
 *         are left out. Dynamic components (AMX's TILEDATA) are not part of the switch mask, and
 *         without IA32_XFD to hold them back AMX is left out; those that CR0.TS does not guard are
 *         in the mask apart, and PKRU is switched by WRPKRU. Of the supervisor components a host
 *         task can have CET_U, where XSAVES can be used; XST_WANT_GUEST_CET changes nothing of it.
 * @avoid: enum xst_avoid: instructions known not to work here.
 * @sys:   out; overwritten whole. Must be 64-byte aligned (the type says so).
 * @diag:  out, optional.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_UNSUPPORTED on a CPU without an FPU; XST_ERR_NEED_BYTES when CPUID
 *          gives a component a place far from all others; errors of xst_layout_compute().
 */
int xst_system_compute(const struct xst_caps *caps, uint64_t want, uint32_t avoid,
		       struct xst_system *sys, struct xst_diag *diag);

/**
 * xst_profile_check() - may state of this kind hold these components?
 * @sys:     the machine.
 * @profile: &sys->host, &sys->user or &sys->guest.
 * @mask:    components.
 * @diag:    out, optional: the first one that it may not.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_GUEST_ONLY for a component that only guests have; XST_ERR_ILLEGAL_MASK
 *          for any other.
 */
int xst_profile_check(const struct xst_system *sys, const struct xst_profile *profile,
		      uint64_t mask, struct xst_diag *diag);

/**
 * xst_fresh_image() - write the image of a task that has not run yet (not of #RESET).
 * @insn:  the save form the image is for.
 * @mask:  components; they go into XCOMP_BV of the compacted forms.
 * @area:  out; the first @bytes are overwritten.
 * @bytes: 108 or more for FNSAVE, 512 for FXSAVE, 576 for the others.
 *
 * Context: any ring; pure; never faults.
 * Ref:     SDM vol. 1, "Processor Tracking of XSAVE-Managed State"; "Initial configurations".
 */
void xst_fresh_image(enum xst_insn insn, uint64_t mask, uint8_t *area, uint32_t bytes);

/**
 * xst_insn_name() - the save instruction's mnemonic in lower case.
 *
 * Context: any ring; never faults.
 */
const char *xst_insn_name(enum xst_insn insn);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one CPU has: its CPUID, read once, judged, and kept as plain data.
 *
 * The source is the CPU we run on or any table of leaves (a dump of another machine), so every
 * function above this one works for both.
 */
#ifndef XST_CAPS_H
#define XST_CAPS_H

#include <stddef.h>
#include <stdint.h>

#include <xst/comp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One CPUID answer. */
struct xst_cpuid_leaf {
	uint32_t leaf, subleaf;
	uint32_t eax, ebx, ecx, edx;
};

/* What leaf 0DH says about one component; all zero when it says nothing. */
struct xst_comp_caps {
	uint32_t bytes;  /* EAX */
	uint32_t offset; /* EBX: standard format; 0 for supervisor components */
	bool supervisor; /* ECX[0] */
	bool align64;    /* ECX[1] */
	bool xfd;        /* ECX[2] */
};

/* Things found odd while reading, so that nobody has to guess twice: a bit each. The words are in
 * caveat.def. */
enum xst_caveat {
#define XST_CAVEAT_DEF(SYM, bit, severity, id, words) XST_CAVEAT_##SYM = 1 << (bit),
#include <xst/caveat.def>
};

enum xst_severity {
	XST_SEVERITY_INPUT, /* the source does not say; a stated default is used */
	XST_SEVERITY_ODD,   /* true of real machines, and surprising */
	XST_SEVERITY_WRONG, /* a program that believes it computes a wrong size or faults */
};

/* One row of caveat.def. */
struct xst_caveat_info {
	uint32_t caveat; /* enum xst_caveat */
	enum xst_severity severity;
	const char *id;    /* short, for programs */
	const char *words; /* one clause, for people */
};

struct xst_caps {
	char vendor[13];
	char brand[49];
	uint16_t family, model, stepping; /* display family and model */
	uint32_t max_leaf;
	bool hypervisor;

	bool fpu, mmx, fxsr, sse, sse2, avx, avx512f, pku, ospke, cet_ss, cet_ibt, amx_tile;
	bool xsave, osxsave, xsaveopt, xsavec, xgetbv1, xsaves, xfd;
	bool fdp_excptn_only; /* leaf 7 EBX[6]: FDP written on unmasked exceptions only */
	bool fcs_fds_zero;    /* leaf 7 EBX[13]: FCS and FDS are always stored as 0 */
	bool fip_leak;        /* AMD/Hygon without RstrFpErrPtrs: FOP/FIP/FDP not always restored */
	bool svm, vmx;

	uint64_t xcr0, xss;    /* supported; from sub-leaf 0 EDX:EAX and sub-leaf 1 EDX:ECX */
	uint32_t mxcsr_mask;   /* bits LDMXCSR accepts */
	uint32_t microcode;    /* patch level, 0 = unknown */
	uint32_t d0_ebx;       /* what CPUID sums up: standard size for XCR0 in force */
	uint32_t d0_ecx;       /*                     standard size for all of xcr0 */
	uint32_t d1_ebx;       /*                     compacted size for XCR0 | XSS in force */
	uint32_t caveats;      /* enum xst_caveat */
	uint64_t caveat_mask;  /* the components the caveats are about, all together */
	uint64_t flagged;      /* components whose CPUID flag is set (comp.def) */
	struct xst_comp_caps comp[64];
};

/* What a table of CPUID leaves cannot say; a zeroed struct means "unknown, assume the default". */
struct xst_caps_extra {
	uint32_t mxcsr_mask; /* 0: FFFFH, plus bit 17 iff 80000001H:ECX[7] */
	uint32_t microcode;  /* 0: unknown; erratum 1386 is then assumed where the model has it */
};

/**
 * xst_caps_from_leaves() - read a CPU's description from a table of CPUID leaves.
 * @leaves: the table, any order; a missing entry reads as zeros.
 * @count:  entries in @leaves.
 * @extra:  optional; what CPUID does not hold.
 * @caps:   out; overwritten whole, also on error.
 * @diag:   out, optional.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_INVALID when there is no leaf 0 to start from.
 * Ref:     SDM vol. 1, "Enumeration of CPU Support for XSAVE Instructions and XSAVE-Supported
 *          Features"
 */
int xst_caps_from_leaves(const struct xst_cpuid_leaf *leaves, size_t count,
			 const struct xst_caps_extra *extra, struct xst_caps *caps,
			 struct xst_diag *diag);

/**
 * xst_caps_native() - read the CPU this runs on.
 * @caps: out; overwritten whole.
 *
 * MXCSR_MASK is the default for the CPU: only FXSAVE says it, where CR4.OSFXSR is set.
 * xst_system_init() and xst_cpu_init() read it then.
 *
 * Context: any ring; executes CPUID, which exits to the hypervisor in a guest; never faults.
 * Return:  XST_OK; XST_ERR_UNSUPPORTED on a CPU without CPUID.
 */
int xst_caps_native(struct xst_caps *caps);

/**
 * xst_caps_placed() - the components listed that can be laid out.
 *
 * x87 and SSE always; another user component when its sub-leaf gives a size and an offset; a
 * supervisor component when it gives a size. On a sound CPU this is xcr0 | xss.
 *
 * Context: any ring; pure; never faults.
 * Return:  a subset of xcr0 | xss.
 */
uint64_t xst_caps_placed(const struct xst_caps *caps);

/**
 * xst_caps_cover() - has another CPU of the same machine all that the first one's tasks depend on?
 * @boot: the CPU whose layouts are in use.
 * @ap:   the one that comes up (hybrid cores, hotplug); it may have more.
 * @mask: components in use.
 * @diag: out, optional: the first component that is missing or elsewhere and both values.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK or XST_ERR_MISMATCH.
 */
int xst_caps_cover(const struct xst_caps *boot, const struct xst_caps *ap, uint64_t mask,
		   struct xst_diag *diag);

/**
 * xst_caps_agree() - does another CPU of the same machine fit the one that booted?
 * @boot: the CPU whose layouts are in use.
 * @ap:   the one that comes up (hybrid cores, hotplug).
 * @diag: out, optional: the first component that differs and both values; offset is the leaf.
 *
 * A task may run on either, so everything an image or a save instruction depends on must be equal:
 * components, their places, the instructions, the MXCSR bits. What sums to the XCR0 in force is
 * not compared.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK or XST_ERR_MISMATCH.
 */
int xst_caps_agree(const struct xst_caps *boot, const struct xst_caps *ap, struct xst_diag *diag);

/* How MXCSR is loaded so that no transition between SSE and AVX code is paid, and whether the
 * user's upper halves are cleared once they are saved. */
enum xst_mxcsr_form {
	XST_MXCSR_NONE,   /* there is no MXCSR */
	XST_MXCSR_LEGACY, /* LDMXCSR: no AVX, no transitions */
	XST_MXCSR_VEX,    /* VLDMXCSR */
	XST_MXCSR_CLEAN,  /* VZEROUPPER behind the save of a user's state, then VLDMXCSR */
};

/**
 * xst_mxcsr_form() - the way to load MXCSR without a transition between SSE and AVX code.
 * @caps: the CPU.
 * @mask: components enabled.
 *
 * LDMXCSR is a legacy SSE instruction: where upper halves of vector registers are in use, some CPUs
 * pay for it. With AVX there is VLDMXCSR. Intel's cores (not Xeon Phi, where VZEROUPPER is dear) also
 * pay for every legacy SSE instruction a section executes over a user's upper halves, so there they
 * are cleared once after the save.
 *
 * Context: any ring; pure.
 * Ref:     Intel Optimization Reference Manual, "Mixing AVX Code with SSE Code"
 */
enum xst_mxcsr_form xst_mxcsr_form(const struct xst_caps *caps, uint64_t mask);

/**
 * xst_caps_leaf_d() - leaf 0DH as a guest with a given profile must be shown it.
 * @caps:     the CPU it runs on.
 * @xcr0:     user components the guest may enable; 0 hides XSAVE.
 * @xss:      supervisor components it may enable.
 * @xcr0_now: the guest's XCR0 in force (changes sub-leaf 0 EBX and sub-leaf 1 EBX).
 * @xss_now:  the guest's IA32_XSS in force (changes sub-leaf 1 EBX).
 * @subleaf:  which sub-leaf.
 * @leaf:     out; all zero for a sub-leaf that has nothing to say. Untouched on error.
 * @diag:     out, optional.
 *
 * Sizes are those of the profile, never the host's sums.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_ILLEGAL_MASK when XSETBV or WRMSR would refuse one of the masks;
 *          XST_ERR_UNSUPPORTED for supervisor components without XSAVES; what
 *          xst_layout_compute() returns when a component cannot be laid out.
 * Ref:     SDM vol. 2, "CPUID"; SDM vol. 1, "Enumeration of CPU Support for XSAVE Instructions and
 *          XSAVE-Supported Features"
 */
int xst_caps_leaf_d(const struct xst_caps *caps, uint64_t xcr0, uint64_t xss, uint64_t xcr0_now,
		    uint64_t xss_now, uint32_t subleaf, struct xst_cpuid_leaf *leaf,
		    struct xst_diag *diag);

/**
 * xst_caveat_info() - words and weight of one caveat.
 * @caveat: one bit of xst_caps.caveats.
 *
 * Context: any ring; never faults.
 * Return:  a static row, or NULL for a bit that is none.
 */
const struct xst_caveat_info *xst_caveat_info(uint32_t caveat);

/**
 * xst_caveat_components() - the components that one caveat of @caps is about.
 *
 * Context: any ring; pure; never faults.
 * Return:  a mask; 0 for a caveat about the CPU as a whole.
 */
uint64_t xst_caveat_components(const struct xst_caps *caps, uint32_t caveat);

/**
 * xst_caps_leaky() - may state left behind CR0.TS be read speculatively on this CPU (LazyFP)?
 *
 * Context: any ring; pure; never faults.
 * Return:  true for Intel family 6 models that are affected, and for unknown ones of that family.
 * Ref:     CVE-2018-3665; Intel SA-00145
 */
bool xst_caps_leaky(const struct xst_caps *caps);

/**
 * xst_caps_erratum_1386() - does XSAVES lose state on this CPU (AMD erratum 1386)?
 *
 * Context: any ring; pure; never faults.
 * Return:  true for AMD family 17h CPUs whose microcode is older than the fix, or unknown.
 * Ref:     AMD revision guides for family 17h, erratum 1386
 */
bool xst_caps_erratum_1386(const struct xst_caps *caps);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guests: the extended state of a virtual CPU beside that of the thread that runs it.
 *
 * A guest's registers are a context of the engine (switch.h) like a task's, with a mask of its own:
 * all that tasks have and what only guests have, in one image. While a thread runs a virtual CPU
 * the guest's context is the thread's, so nothing of the host's is saved twice and nothing is
 * loaded for a host that stays in the kernel:
 *
 *   load    the thread turns to the virtual CPU: its own registers are saved, if they are in place
 *   enter   right before VMRUN, VMLAUNCH, VMRESUME: the guest's are in place. Nothing is loaded while
 *           they still are; and XCR0, IA32_XSS, IA32_XFD, IA32_XFD_ERR, PKRU and software's
 *           shadow-stack pointers become the guest's, each written only when it differs
 *   exit    right behind: those become the host's again, and what the guest wrote is kept
 *   put     back to the thread's own; they are loaded when it returns to user mode
 *
 * Between load and put xst_switch() gets &guest->ctx for the thread, xst_return_to_user() is not
 * called, and in-kernel sections may begin; the next enter loads what they displaced. The virtual
 * CPU may go on from another CPU.
 *
 *			between exit and enter		between enter and exit
 *   registers		the guest's, or anybody's	the guest's
 *   XCR0, IA32_XSS	what struct xst_system says	the guest's: no cache that could be stale
 *   IA32_XFD		the owner's (switch.h)		the guest's
 *   IA32_XFD_ERR	0				the guest's
 *   PKRU		the thread's			the guest's
 *   PL0_SSP...		the last guest's: only guests have shadow stacks below ring 3
 *
 * What a guest may have is decided once, of what the machine enables (sys->guest) and of what its
 * process asked for (perm.h); the first guest locks that. Every value a guest wants to write is
 * judged against it, and what is copied in is too; no input of a guest or of its owner can make the
 * kernel fault.
 *
 * Copies have KVM's form and follow its rules, see xst_guest_copy_in().
 */
#ifndef XST_GUEST_H
#define XST_GUEST_H

#include <xst/switch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Registers that the hypervisor lets a guest write without an exit; a bit each. */
#define XST_DIRECT_XCR0 1u /* XSETBV, as always under SVM unless it is intercepted */
#define XST_DIRECT_XSS  2u
#define XST_DIRECT_XFD  4u /* IA32_XFD and IA32_XFD_ERR */
#define XST_DIRECT_SSP  8u /* PL0_SSP, PL1_SSP, PL2_SSP; what XSAVES has need not be named */

/* What entering and leaving wrote; every one only grows. Saves and loads count on the CPU. */
struct xst_guest_counters {
	uint64_t enters;
	uint64_t xcr0_writes, xss_writes, xfd_writes, xfd_err_writes, pkru_writes, ssp_writes;
	uint64_t traps; /* #NM of the guest that IA32_XFD caused and the hypervisor was told of */
};

/* Shadow-stack registers as their MSRs hold them. */
struct xst_cet {
	uint64_t u_cet;  /* IA32_U_CET */
	uint64_t ssp[4]; /* PL0_SSP to PL3_SSP */
};

/* One virtual CPU. Zero is not valid: xst_guest_init(). */
struct xst_guest {
	struct xst_ctx ctx;   /* its registers, and the thread's PKRU; the engine's */
	struct xst_ctx *user; /* the thread's own context while it is loaded; NULL: it has none */
	uint64_t mask;        /* components it may have, user and supervisor */
	/* What its registers hold while it does not run; xst_guest_set_*() changes them. */
	uint64_t xcr0, xss, xfd, xfd_err;
	uint64_t ssp[3];      /* where software switches PL0_SSP to PL2_SSP */
	uint32_t pkru;
	uint32_t direct;      /* XST_DIRECT_* */
	uint32_t ssp_cpu;     /* the CPU whose registers hold ssp, if they still are its */
	bool loaded;
	bool running;         /* between enter and exit */
	struct xst_layout layout; /* of its image */
	struct xst_guest_counters n;
};

/**
 * xst_guest_init() - make a virtual CPU, in the state after #RESET.
 * @sys:   the machine.
 * @perm:  the permission of its process; locked from here on: its guests have their size.
 * @guest: out; may be memory of a destroyed one.
 * @area:  64-byte aligned, owned by the caller until xst_guest_destroy(). NULL to ask.
 * @bytes: its size; between sys->guest.bytes and sys->guest.max_bytes are enough, by permission.
 * @diag:  out, optional: the bytes needed.
 *
 * Context: ring 0, any CPU; never faults on valid memory. Uses about 3.5 KiB of stack.
 * Return:  XST_OK; XST_ERR_NEED_BYTES, diag->want says how many; XST_ERR_ALIGN; XST_ERR_GUEST_ONLY
 *          when what the process's tasks may have names a component that only guests have;
 *          XST_ERR_ILLEGAL_MASK when either names one that is not for it here; XST_ERR_UNSUPPORTED
 *          in a world without guests. On error nothing changed.
 */
int xst_guest_init(const struct xst_system *sys, struct xst_perm *perm, struct xst_guest *guest,
		   void *area, size_t bytes, struct xst_diag *diag);

/**
 * xst_guest_destroy() - the virtual CPU ends; afterwards its memory is the caller's again.
 *
 * Context: ring 0, interrupts off.
 * Return:  XST_OK; XST_ERR_INVALID while it is loaded.
 */
int xst_guest_destroy(struct xst_cpu *cpu, struct xst_guest *guest);

/**
 * xst_guest_set_direct() - say which registers the guest writes without an exit.
 * @direct: XST_DIRECT_*.
 * @diag:   out, optional.
 *
 * Hardware judges such a write by what the CPU has, not by what the guest may have, so a register can
 * be left to the guest only if it may have all that the register is about.
 *
 * Context: ring 0; the guest does not run.
 * Return:  XST_OK; XST_ERR_DENIED: the CPU has a component that the guest may not have;
 *          XST_ERR_INVALID for other bits.
 */
int xst_guest_set_direct(const struct xst_system *sys, struct xst_guest *guest, uint32_t direct,
			 struct xst_diag *diag);

/**
 * xst_guest_load() - the running thread turns to the virtual CPU.
 *
 * Its own registers are saved if they are in place, as at a switch; the guest's are loaded now or
 * at the next enter, as the policy says.
 *
 * Context: ring 0, interrupts off; not in an in-kernel section; @guest is loaded nowhere.
 * Return:  XST_OK; XST_ERR_INVALID, and nothing changed, when it is loaded already.
 */
int xst_guest_load(struct xst_cpu *cpu, struct xst_guest *guest);

/**
 * xst_guest_put() - the thread turns back to itself.
 *
 * Context: ring 0, interrupts off, on whichever CPU the thread runs now; the guest does not run.
 * Return:  XST_OK; XST_ERR_INVALID, and nothing changed, when it runs or is not what this CPU's
 *          thread has.
 */
int xst_guest_put(struct xst_cpu *cpu, struct xst_guest *guest);

/**
 * xst_guest_enter() - the guest is about to run: everything is its.
 *
 * Context: ring 0, interrupts off from here to xst_guest_exit(), and nothing between but the
 *          instruction that enters the guest: the host's XCR0 is not in force. May fault as
 *          xst_switch().
 */
void xst_guest_enter(struct xst_cpu *cpu, struct xst_guest *guest);

/**
 * xst_guest_exit() - the guest was left: the host's control registers are in force again.
 *
 * Its registers stay where they are.
 *
 * Context: ring 0, interrupts off since xst_guest_enter(), before anything that uses XCR0. Never
 *          faults.
 */
void xst_guest_exit(struct xst_cpu *cpu, struct xst_guest *guest);

/**
 * xst_guest_set_xcr0() - the guest's XSETBV was intercepted; or its owner sets XCR0 (KVM_SET_XCRS).
 * @xcr0: the value.
 * @diag: out, optional: the rule that is broken.
 *
 * Components that are new in XCR0 become INIT.
 *
 * Context: ring 0, interrupts off; @guest is loaded on this CPU or nowhere, and does not run.
 * Return:  XST_OK; XST_ERR_ILLEGAL_MASK where the guest gets #GP: a rule of XCR0, or a component
 *          that it may not have. On error nothing changed.
 * Ref:     SDM vol. 2, "XSETBV"
 */
int xst_guest_set_xcr0(struct xst_cpu *cpu, struct xst_guest *guest, uint64_t xcr0,
		       struct xst_diag *diag);

/**
 * xst_guest_set_xss() - the same for a WRMSR of IA32_XSS.
 *
 * Context: ring 0; the guest does not run.
 * Return:  XST_OK; XST_ERR_ILLEGAL_MASK where the guest gets #GP. On error nothing changed.
 */
int xst_guest_set_xss(struct xst_guest *guest, uint64_t xss, struct xst_diag *diag);

/**
 * xst_guest_set_xfd() - the same for a WRMSR of IA32_XFD.
 *
 * Components that it disables become INIT: no restore may meet them.
 *
 * Context: ring 0, interrupts off; @guest is loaded on this CPU or nowhere, and does not run.
 * Return:  XST_OK; XST_ERR_ILLEGAL_MASK where the guest gets #GP. On error nothing changed.
 * Ref:     SDM vol. 1, "Extended Feature Disable (XFD)"
 */
int xst_guest_set_xfd(struct xst_cpu *cpu, struct xst_guest *guest, uint64_t xfd,
		      struct xst_diag *diag);

/**
 * xst_guest_set_xfd_err() - the same for a WRMSR of IA32_XFD_ERR.
 *
 * Context: ring 0; the guest does not run.
 * Return:  XST_OK; XST_ERR_ILLEGAL_MASK where the guest gets #GP. On error nothing changed.
 */
int xst_guest_set_xfd_err(struct xst_guest *guest, uint64_t xfd_err, struct xst_diag *diag);

/**
 * xst_guest_device_not_available() - the guest's #NM was intercepted; xst_guest_exit() came before.
 *
 * Context: ring 0.
 * Return:  XST_ERR_DYNAMIC: its own IA32_XFD caused it, and guest->xfd_err has what it will read
 *          from IA32_XFD_ERR; XST_ERR_NOT_OURS: its CR0 did. It gets the exception either way.
 */
int xst_guest_device_not_available(struct xst_guest *guest);

/**
 * xst_guest_get_cet(), xst_guest_set_cet() - the guest's shadow-stack registers (KVM_GET_MSRS,
 * KVM_SET_MSRS, and writes that were intercepted). What it may not have reads as 0.
 * @cet:  out; in.
 * @diag: out, optional.
 *
 * Context: ring 0, interrupts off; @guest is loaded on this CPU or nowhere, and does not run.
 * Return:  of set: XST_OK; XST_ERR_DENIED for a register that it may not have and that is not 0;
 *          XST_ERR_INVALID where WRMSR would raise #GP (an XRSTORS would too). On error nothing
 *          changed.
 * Ref:     SDM vol. 1, "Control-flow Enforcement Technology (CET) State"
 */
void xst_guest_get_cet(struct xst_cpu *cpu, struct xst_guest *guest, struct xst_cet *cet);
int xst_guest_set_cet(struct xst_cpu *cpu, struct xst_guest *guest, const struct xst_cet *cet,
		      struct xst_diag *diag);

enum xst_guest_event {
	XST_GUEST_RESET, /* #RESET */
	XST_GUEST_INIT,  /* #INIT: only MPX and CET are cleared */
};

/**
 * xst_guest_reset() - the virtual CPU is reset.
 *
 * Context: ring 0, interrupts off; @guest is loaded on this CPU or nowhere, and does not run. Uses
 *          about 3.5 KiB of stack.
 * Ref:     SDM vol. 3, "IA-32 and Intel 64 Processor States Following Power-up, Reset, or INIT"
 */
void xst_guest_reset(struct xst_cpu *cpu, struct xst_guest *guest, enum xst_guest_event event);

/* The size of KVM_GET_XSAVE's and KVM_SET_XSAVE's structure; that of the second form is larger
 * where the guest's image is. */
#define XST_KVM_XSAVE_BYTES 4096u

/**
 * xst_guest_copy_bytes() - bytes of a copy: what KVM_CAP_XSAVE2 says.
 *
 * Context: any ring; pure; never faults.
 * Return:  the bytes, XST_KVM_XSAVE_BYTES or more.
 */
uint32_t xst_guest_copy_bytes(const struct xst_system *sys, const struct xst_guest *guest);

/**
 * xst_guest_copy_out() - the guest's user state as KVM_GET_XSAVE and KVM_GET_XSAVE2 give it.
 * @to:    any alignment; every byte is written.
 * @bytes: xst_guest_copy_bytes() or more.
 * @diag:  out, optional.
 *
 * The standard format of this CPU, header and all: INIT components are written out, reserved bytes
 * and gaps are 0, PKRU is always named in XSTATE_BV. Supervisor components are no part of it:
 * xst_guest_get_cet().
 *
 * Context: ring 0, interrupts off; @guest is loaded on this CPU or nowhere, and does not run. Never
 *          faults on valid memory. Uses about 2.5 KiB of stack.
 * Return:  XST_OK; XST_ERR_NEED_BYTES: never a part; XST_ERR_INVALID when its area holds no valid
 *          image. On error nothing was written.
 */
int xst_guest_copy_out(struct xst_cpu *cpu, struct xst_guest *guest, void *to, size_t bytes,
		       struct xst_diag *diag);

/**
 * xst_guest_copy_in() - make such a copy the guest's user state (KVM_SET_XSAVE).
 * @from:  any alignment; memory that nobody else can change meanwhile.
 * @bytes: its size, XST_KVM_XSAVE_BYTES for the first form.
 * @diag:  out, optional.
 *
 * KVM's rules: the standard format and nothing in the header but XSTATE_BV; components that
 * XSTATE_BV does not name become INIT, but PKRU stays as it is; components that the guest's
 * IA32_XFD disables become INIT, silently; XSTATE_BV is judged against what the guest may have at
 * most, not against its XCR0; reserved bits of MXCSR are refused. A live component that ends behind
 * @bytes is an error.
 *
 * Context: as xst_guest_copy_out().
 * Return:  XST_OK; XST_ERR_FAULT where KVM_SET_XSAVE says EINVAL; XST_ERR_NEED_BYTES, XST_ERR_LIVE
 *          when state would be lost. On error nothing was changed.
 */
int xst_guest_copy_in(struct xst_cpu *cpu, struct xst_guest *guest, const void *from, size_t bytes,
		      struct xst_diag *diag);

#ifdef __cplusplus
}
#endif
#endif

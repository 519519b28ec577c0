/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual machines in the lab, one interface for SVM and VMX: bring virtualization up on
 * a CPU, create a virtual CPU, run it until it exits, and say why it did.
 *
 * No register that the engine manages is touched here: guests run on whatever is in
 * them, and XCR0, IA32_XSS, PKRU and CR0.TS of the host are as the caller left them.
 *
 * A guest runs in ring 0 of its own, on page tables of its own that show it the image's
 * user part (code, read only) and one block of memory. It has no IDT: every exception is
 * intercepted, and goes on at the fix-up of the instruction, as in the kernel.
 */
#ifndef LAB_GUEST_H
#define LAB_GUEST_H

#include "lab.h"

enum guest_exit {
	GUEST_EXIT_INTERRUPT, /* the host's; it is still pending */
	GUEST_EXIT_EXCEPTION, /* vector, error */
	GUEST_EXIT_HLT,
	GUEST_EXIT_CALL, /* VMMCALL, VMCALL */
	GUEST_EXIT_CPUID,
	GUEST_EXIT_XSETBV,
	GUEST_EXIT_RDMSR,
	GUEST_EXIT_WRMSR,
	GUEST_EXIT_XSAVES, /* by the XSS-exiting bitmap */
	GUEST_EXIT_XRSTORS,
	GUEST_EXIT_OTHER, /* raw says what; nothing that a guest of ours does */
	GUEST_EXITS
};

/* The order of the numbers in instructions; guest_enter.S knows it. */
enum guest_gpr {
	GPR_AX, GPR_CX, GPR_DX, GPR_BX, GPR_SP, GPR_BP, GPR_SI, GPR_DI,
	GPR_8, GPR_9, GPR_10, GPR_11, GPR_12, GPR_13, GPR_14, GPR_15,
	GPRS
};

struct vcpu {
	uint64_t gpr[GPRS]; /* first: guest_enter.S */
	uint64_t ip;
	uint32_t id;
	enum guest_exit exit; /* of the last run */
	uint32_t vector, error;
	uint64_t raw;
	uint64_t cr0; /* as the guest left it */
	/* What is asked for at the next run, beside all exceptions, HLT, CPUID and most MSRs. */
	bool intercept_xsetbv; /* SVM; VMX always does */
	uint64_t xss_exiting;  /* VMX */
	uint32_t ssps_direct;  /* so many, from IA32_PL0_SSP on, are the guest's to read and write */
	/* VMX: has VMLAUNCH come since the VMCS was cleared? */
	bool launched;
	uint8_t *control; /* a page: VMCB or VMCS */
};

struct guest_machine {
	const char *name;
	bool xsetbv_always; /* it exits, intercepted or not */
	bool xss_exiting;   /* there is such a bitmap */
	/* On the CPU that is meant, interrupts off; start once. */
	void (*start)(struct cpu *cpu);
	void (*run)(struct vcpu *v);
	/* @v will run elsewhere, or another one here. */
	void (*leave)(struct vcpu *v);
	void (*create)(struct vcpu *v, uintptr_t cr3);
};

/* This CPU's, or NULL and why not. */
const struct guest_machine *guest_machine(const char **reason);
/* Bring virtualization up on this CPU, if it is not. */
void guest_start(const struct guest_machine *machine, struct cpu *cpu);
/* Does an intercepted XSETBV exit here? */
bool guest_xsetbv_exits(void);

/* Virtual CPU @id, about to run @program with guest_blocks[id]. */
struct guest_block;
void guest_create(const struct guest_machine *machine, struct vcpu *v, uint32_t id,
		  void (*program)(struct guest_block *));

/* Behind the instruction that exited. */
void guest_skip(struct vcpu *v);
/* To the fix-up of the instruction at ip, with @vector in RCX. False: it has none. */
bool guest_fault(struct vcpu *v, uint32_t vector);
/* A guest's INT $0x80 is #GP, for want of an IDT, and the error code says so. */
bool guest_is_syscall(const struct vcpu *v);

#define GUEST_MAX 4u /* virtual CPUs */

/* ---- svm.c, vmx.c ---- */
extern const struct guest_machine guest_svm, guest_vmx;
bool guest_svm_present(void);
bool guest_vmx_present(void);

/* What both give a guest to begin with. */
#define GUEST_CR0 (XST_CR0_MP | XST_CR0_NE | (1ul << 0) | (1ul << 4) | (1ul << 16) | (1ul << 31))
uintptr_t guest_cr4(void);
#define GUEST_FLAGS (FLAGS_IF | FLAGS_RESERVED)

#define MSR_EFER  0xc0000080u
#define EFER_LME  (1u << 8)
#define EFER_LMA  (1u << 10)
#define EFER_SVME (1u << 12)

#define SSPS 4u /* IA32_PL0_SSP to PL3_SSP */

#endif

// SPDX-License-Identifier: BSD-2-Clause
/*
 * SVM: a guest is a page called VMCB, VMRUN goes there and comes back at the next
 * instruction. The guest's page tables hold physical addresses; nothing is nested.
 *
 * Ref: AMD64 APM vol. 2, "Secure Virtual Machine"; "VMCB Layout"
 */
#include "guest.h"

#define MSR_VM_CR     0xc0010114u
#define VM_CR_SVMDIS  (1u << 4)
#define MSR_VM_HSAVE  0xc0010117u

/* Control area */
#define VMCB_EXCEPTIONS 0x008
#define VMCB_MISC1      0x00c
#define VMCB_MISC2      0x010
#define VMCB_IOPM       0x040
#define VMCB_MSRPM      0x048
#define VMCB_ASID       0x058
#define VMCB_TLB        0x05c
#define VMCB_INTERRUPT  0x060
#define VMCB_EXITCODE   0x070
#define VMCB_EXITINFO1  0x078
/* State save area */
#define VMCB_ES     0x400
#define VMCB_CS     0x410
#define VMCB_SS     0x420
#define VMCB_DS     0x430
#define VMCB_EFER   0x4d0
#define VMCB_CR4    0x548
#define VMCB_CR3    0x550
#define VMCB_CR0    0x558
#define VMCB_RFLAGS 0x570
#define VMCB_RIP    0x578
#define VMCB_RSP    0x5d8
#define VMCB_RAX    0x5f8
#define VMCB_PAT    0x668

#define MISC1_INTR     (1u << 0)
#define MISC1_NMI      (1u << 1)
#define MISC1_CPUID    (1u << 18)
#define MISC1_HLT      (1u << 24)
#define MISC1_IO       (1u << 27)
#define MISC1_MSR      (1u << 28)
#define MISC1_SHUTDOWN (1u << 31)
#define MISC2_VMRUN    (1u << 0) /* must be set */
#define MISC2_VMMCALL  (1u << 1)
#define MISC2_REST     0xfcu /* VMLOAD, VMSAVE, STGI, CLGI, SKINIT, RDTSCP */
#define MISC2_XSETBV   (1u << 13)
#define V_INTR_MASKING (1u << 24)
#define TLB_FLUSH_ALL  1u
#define PAT_RESET      0x0007040600070406u

#define EXITCODE_EXCEPTION 0x40u
#define EXITCODE_INTR      0x60u
#define EXITCODE_CPUID     0x72u
#define EXITCODE_HLT       0x78u
#define EXITCODE_MSR       0x7cu
#define EXITCODE_VMMCALL   0x81u
#define EXITCODE_XSETBV    0x8du

void svm_enter(struct vcpu *v, uintptr_t vmcb);

static uint8_t host_save[LAB_MAX_CPUS][4096] __attribute__((aligned(4096)));
/* All I/O ports, all MSRs. */
static uint8_t io_all[3 * 4096] __attribute__((aligned(4096)));
static uint8_t msr_all[2 * 4096] __attribute__((aligned(4096)));

static void put32(struct vcpu *v, uint32_t offset, uint32_t value)
{
	__builtin_memcpy(v->control + offset, &value, sizeof(value));
}

static void put64(struct vcpu *v, uint32_t offset, uint64_t value)
{
	__builtin_memcpy(v->control + offset, &value, sizeof(value));
}

static uint64_t get64(const struct vcpu *v, uint32_t offset)
{
	uint64_t value;

	__builtin_memcpy(&value, v->control + offset, sizeof(value));
	return value;
}

bool guest_svm_present(void)
{
	uint32_t r[4];

	arch_cpuid(0x80000000, 0, r);
	if (r[0] < 0x8000000a)
		return false;
	arch_cpuid(0x80000001, 0, r);
	return (r[2] & (1u << 2)) && !(arch_rdmsr(MSR_VM_CR) & VM_CR_SVMDIS);
}

static void svm_start(struct cpu *cpu)
{
	__builtin_memset(io_all, 0xff, sizeof(io_all));
	__builtin_memset(msr_all, 0xff, sizeof(msr_all));
	arch_wrmsr(MSR_EFER, arch_rdmsr(MSR_EFER) | EFER_SVME);
	arch_wrmsr(MSR_VM_HSAVE, (uintptr_t)host_save[cpu->id]);
}

/* @attributes: type, S, DPL, P, then AVL, L, D, G. */
static void segment(struct vcpu *v, uint32_t offset, uint32_t selector, uint32_t attributes)
{
	put32(v, offset, selector | attributes << 16);
	put32(v, offset + 4, 0xffffffff);
}

static void svm_create(struct vcpu *v, uintptr_t cr3)
{
	put32(v, VMCB_EXCEPTIONS, 0xffffffff);
	put32(v, VMCB_MISC1, MISC1_INTR | MISC1_NMI | MISC1_CPUID | MISC1_HLT | MISC1_IO |
				     MISC1_MSR | MISC1_SHUTDOWN);
	put64(v, VMCB_IOPM, (uintptr_t)io_all);
	put64(v, VMCB_MSRPM, (uintptr_t)msr_all);
	put32(v, VMCB_ASID, v->id + 1);
	put32(v, VMCB_TLB, TLB_FLUSH_ALL);
	put32(v, VMCB_INTERRUPT, V_INTR_MASKING);
	segment(v, VMCB_CS, SEL_KERNEL_CODE, 0xa9b);
	segment(v, VMCB_SS, SEL_KERNEL_DATA, 0xc93);
	segment(v, VMCB_DS, SEL_KERNEL_DATA, 0xc93);
	segment(v, VMCB_ES, SEL_KERNEL_DATA, 0xc93);
	put64(v, VMCB_EFER, EFER_SVME | EFER_LME | EFER_LMA);
	put64(v, VMCB_CR0, v->cr0);
	put64(v, VMCB_CR3, cr3);
	put64(v, VMCB_CR4, guest_cr4());
	put64(v, VMCB_RFLAGS, GUEST_FLAGS);
	put64(v, VMCB_PAT, PAT_RESET);
}

static enum guest_exit exit_of(struct vcpu *v)
{
	if (v->raw >= EXITCODE_EXCEPTION && v->raw < EXITCODE_EXCEPTION + 32) {
		v->vector = (uint32_t)v->raw - EXITCODE_EXCEPTION;
		v->error = (uint32_t)get64(v, VMCB_EXITINFO1);
		return GUEST_EXIT_EXCEPTION;
	}
	switch (v->raw) {
	case EXITCODE_INTR:
		return GUEST_EXIT_INTERRUPT;
	case EXITCODE_HLT:
		return GUEST_EXIT_HLT;
	case EXITCODE_VMMCALL:
		return GUEST_EXIT_CALL;
	case EXITCODE_CPUID:
		return GUEST_EXIT_CPUID;
	case EXITCODE_XSETBV:
		return GUEST_EXIT_XSETBV;
	case EXITCODE_MSR:
		return get64(v, VMCB_EXITINFO1) ? GUEST_EXIT_WRMSR : GUEST_EXIT_RDMSR;
	default:
		return GUEST_EXIT_OTHER;
	}
}

static void svm_run(struct vcpu *v)
{
	put32(v, VMCB_MISC2, MISC2_VMRUN | MISC2_VMMCALL | MISC2_REST |
				     (v->intercept_xsetbv ? MISC2_XSETBV : 0));
	put64(v, VMCB_RIP, v->ip);
	put64(v, VMCB_RSP, v->gpr[GPR_SP]);
	put64(v, VMCB_RAX, v->gpr[GPR_AX]);
	svm_enter(v, (uintptr_t)v->control);
	v->ip = get64(v, VMCB_RIP);
	v->gpr[GPR_SP] = get64(v, VMCB_RSP);
	v->gpr[GPR_AX] = get64(v, VMCB_RAX);
	v->cr0 = get64(v, VMCB_CR0);
	v->raw = get64(v, VMCB_EXITCODE);
	v->exit = exit_of(v);
}

/* A VMCB is memory: any CPU takes it as it is. */
static void svm_leave(struct vcpu *v)
{
	(void)v;
}

const struct guest_machine guest_svm = {
	.name = "svm",
	.start = svm_start,
	.create = svm_create,
	.run = svm_run,
	.leave = svm_leave,
};

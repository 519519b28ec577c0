// SPDX-License-Identifier: BSD-2-Clause
/*
 * VMX: a guest is a region called VMCS, written field by field while it is the CPU's
 * current one. VM exits load a host state that is written down too; of what they leave
 * changed - GS, and the limits of GDT and IDT - all is put back here.
 *
 * Ref: SDM vol. 3C, "Virtual Machine Control Structures"; "VM Entries"; "VM Exits";
 * vol. 3D, "Field Encoding in VMCS"; "VMX Basic Exit Reasons"
 */
#include "guest.h"

#define MSR_FEATURE_CONTROL   0x3au
#define FEATURE_CONTROL_LOCK  (1u << 0)
#define FEATURE_CONTROL_VMX   (1u << 2)
#define MSR_VMX_BASIC         0x480u
#define VMX_BASIC_TRUE        (1ull << 55)
#define MSR_VMX_CR4_FIXED0    0x488u
#define MSR_VMX_PROCBASED2    0x48bu
/* The control MSRs from 0x481 on, or the true ones from 0x48d on. */
#define MSR_VMX_CONTROLS      0x481u
#define MSR_VMX_TRUE_CONTROLS 0x48du
enum { CONTROLS_PIN, CONTROLS_PRIMARY, CONTROLS_EXIT, CONTROLS_ENTRY };

#define MSR_GS_BASE 0xc0000101u

#define PIN_INTERRUPTS    (1u << 0)
#define PIN_NMIS          (1u << 3)
#define PRIMARY_HLT       (1u << 7)
#define PRIMARY_IO        (1u << 24)
#define PRIMARY_MSRS      (1u << 28)
#define PRIMARY_SECONDARY (1u << 31)
#define SECONDARY_XSAVES  (1u << 20)
#define EXIT_HOST64       (1u << 9)
#define EXIT_SAVE_EFER    (1u << 20)
#define EXIT_LOAD_EFER    (1u << 21)
#define ENTRY_GUEST64     (1u << 9)
#define ENTRY_LOAD_EFER   (1u << 15)

#define GUEST_ES           0x0800 /* selectors, of SS and so on in steps of 2 */
#define HOST_ES            0x0c00
#define HOST_TR            0x0c0c
#define MSR_BITMAP         0x2004
#define XSS_EXITING        0x202c
#define LINK_POINTER       0x2800
#define GUEST_EFER         0x2806
#define HOST_EFER          0x2c02
#define PIN_CONTROLS       0x4000
#define PRIMARY_CONTROLS   0x4002
#define EXCEPTIONS         0x4004
#define EXIT_CONTROLS      0x400c
#define ENTRY_CONTROLS     0x4012
#define SECONDARY_CONTROLS 0x401e
#define INSTRUCTION_ERROR  0x4400
#define EXIT_REASON        0x4402
#define EXIT_INTERRUPTION  0x4404
#define EXIT_ERROR_CODE    0x4406
#define GUEST_ES_LIMIT     0x4800
#define GUEST_ES_RIGHTS    0x4814
#define GUEST_CR0_FIELD    0x6800
#define GUEST_CR3          0x6802
#define GUEST_CR4          0x6804
#define GUEST_DR7          0x681a
#define GUEST_RSP          0x681c
#define GUEST_RIP          0x681e
#define GUEST_RFLAGS       0x6820
#define HOST_CR0           0x6c00
#define HOST_CR3           0x6c02
#define HOST_CR4           0x6c04
#define HOST_GS_BASE       0x6c08
#define HOST_TR_BASE       0x6c0a
#define HOST_GDTR_BASE     0x6c0c
#define HOST_IDTR_BASE     0x6c0e

/* Numbers of segment registers, as the fields are ordered. */
enum { SEG_ES, SEG_CS, SEG_SS, SEG_DS, SEG_FS, SEG_GS, SEG_LDTR, SEG_TR, SEGMENTS };

#define RIGHTS_CODE64   0xa09b
#define RIGHTS_DATA     0xc093
#define RIGHTS_TSS      0x008b
#define RIGHTS_UNUSABLE 0x10000

#define REASON_EXCEPTION 0u
#define REASON_INTERRUPT 1u
#define REASON_CPUID     10u
#define REASON_HLT       12u
#define REASON_VMCALL    18u
#define REASON_RDMSR     31u
#define REASON_WRMSR     32u
#define REASON_XSETBV    55u
#define REASON_XSAVES    63u
#define REASON_XRSTORS   64u
#define INTERRUPTION_TYPE(info) (((info) >> 8) & 7)
#define TYPE_HARDWARE_EXCEPTION 3
#define TYPE_SOFTWARE_EXCEPTION 6

uint32_t vmx_enter(struct vcpu *v, uint32_t launched);

static uint8_t vmxon_regions[LAB_MAX_CPUS][4096] __attribute__((aligned(4096)));
/* One bit each: reads of low MSRs, reads of high ones, writes of both. */
static uint8_t msr_bitmaps[GUEST_MAX][4096] __attribute__((aligned(4096)));
#define MSR_BITMAP_WRITES 2048u

static struct vcpu *current[LAB_MAX_CPUS];

struct table_register {
	uint16_t limit;
	uint64_t base;
} __attribute__((packed));

static void vmwrite(uint64_t field, uint64_t value)
{
	bool failed;

	__asm__ volatile("vmwrite %2, %1" : "=@ccbe"(failed) : "r"(field), "r"(value) : "memory");
	if (failed)
		panic("VMX: field 0x%llx cannot be written", (unsigned long long)field);
}

static uint64_t vmread(uint64_t field)
{
	uint64_t value;
	bool failed;

	__asm__ volatile("vmread %2, %1" : "=@ccbe"(failed), "=r"(value) : "r"(field) : "memory");
	if (failed)
		panic("VMX: field 0x%llx cannot be read", (unsigned long long)field);
	return value;
}

/* VMXON, VMCLEAR and VMPTRLD take the address of an address. */
#define VMX_POINTER(name)                                                                          \
	static void name(const uint8_t *region)                                                    \
	{                                                                                          \
		const uint64_t address = (uintptr_t)region;                                        \
		bool failed;                                                                       \
                                                                                                   \
		__asm__ volatile(#name " %1" : "=@ccbe"(failed) : "m"(address) : "memory");        \
		if (failed)                                                                        \
			panic("VMX: " #name " failed");                                            \
	}
VMX_POINTER(vmxon)
VMX_POINTER(vmclear)
VMX_POINTER(vmptrld)
#undef VMX_POINTER

bool guest_vmx_present(void)
{
	uint64_t control;
	uint32_t r[4];

	arch_cpuid(1, 0, r);
	if (!(r[2] & (1u << 5)))
		return false;
	control = arch_rdmsr(MSR_FEATURE_CONTROL);
	return !(control & FEATURE_CONTROL_LOCK) || (control & FEATURE_CONTROL_VMX);
}

static void put_revision(uint8_t *region)
{
	const uint32_t revision = (uint32_t)arch_rdmsr(MSR_VMX_BASIC) & 0x7fffffff;

	__builtin_memcpy(region, &revision, sizeof(revision));
}

/* There is no BIOS, so the lock is ours to set. */
static void vmx_start(struct cpu *cpu)
{
	if (!(arch_rdmsr(MSR_FEATURE_CONTROL) & FEATURE_CONTROL_LOCK))
		arch_wrmsr(MSR_FEATURE_CONTROL, FEATURE_CONTROL_LOCK | FEATURE_CONTROL_VMX);
	xst_write_cr4(xst_read_cr4() | CR4_VMXE);
	put_revision(vmxon_regions[cpu->id]);
	vmxon(vmxon_regions[cpu->id]);
}

/* The low half of the MSR: bits that must be 1; the high half: bits that may. */
static uint32_t allowed(uint32_t msr, uint32_t wanted)
{
	const uint64_t range = arch_rdmsr(msr);
	const uint32_t value = (wanted | (uint32_t)range) & (uint32_t)(range >> 32);

	if ((value & wanted) != wanted)
		panic("VMX: controls 0x%x of MSR 0x%x are not all there", wanted, msr);
	return value;
}

static void put_controls(struct vcpu *v)
{
	const uint32_t msr = arch_rdmsr(MSR_VMX_BASIC) & VMX_BASIC_TRUE ? MSR_VMX_TRUE_CONTROLS
									 : MSR_VMX_CONTROLS;

	vmwrite(PIN_CONTROLS, allowed(msr + CONTROLS_PIN, PIN_INTERRUPTS | PIN_NMIS));
	vmwrite(PRIMARY_CONTROLS, allowed(msr + CONTROLS_PRIMARY, PRIMARY_HLT | PRIMARY_IO |
							PRIMARY_MSRS | PRIMARY_SECONDARY));
	vmwrite(SECONDARY_CONTROLS, allowed(MSR_VMX_PROCBASED2,
					    lab_system.caps.xsaves ? SECONDARY_XSAVES : 0));
	vmwrite(EXIT_CONTROLS,
		allowed(msr + CONTROLS_EXIT, EXIT_HOST64 | EXIT_SAVE_EFER | EXIT_LOAD_EFER));
	vmwrite(ENTRY_CONTROLS, allowed(msr + CONTROLS_ENTRY, ENTRY_GUEST64 | ENTRY_LOAD_EFER));
	vmwrite(EXCEPTIONS, 0xffffffff);
	vmwrite(MSR_BITMAP, (uintptr_t)msr_bitmaps[v->id]);
	vmwrite(LINK_POINTER, UINT64_MAX);
}

static void put_segment(unsigned segment, uint32_t selector, uint32_t rights)
{
	vmwrite(GUEST_ES + 2 * segment, selector);
	vmwrite(GUEST_ES_LIMIT + 2 * segment, rights == RIGHTS_TSS ? 0x67 : 0xffffffff);
	vmwrite(GUEST_ES_RIGHTS + 2 * segment, rights);
}

static void vmx_create(struct vcpu *v, uintptr_t cr3)
{
	__builtin_memset(msr_bitmaps[v->id], 0xff, sizeof(msr_bitmaps[v->id]));
	put_revision(v->control);
	vmclear(v->control);
	vmptrld(v->control);
	put_controls(v);
	put_segment(SEG_ES, SEL_KERNEL_DATA, RIGHTS_DATA);
	put_segment(SEG_CS, SEL_KERNEL_CODE, RIGHTS_CODE64);
	put_segment(SEG_SS, SEL_KERNEL_DATA, RIGHTS_DATA);
	put_segment(SEG_DS, SEL_KERNEL_DATA, RIGHTS_DATA);
	put_segment(SEG_FS, 0, RIGHTS_UNUSABLE);
	put_segment(SEG_GS, 0, RIGHTS_UNUSABLE);
	put_segment(SEG_LDTR, 0, RIGHTS_UNUSABLE);
	put_segment(SEG_TR, SEL_TSS, RIGHTS_TSS); /* it must have one */
	vmwrite(GUEST_EFER, EFER_LME | EFER_LMA);
	vmwrite(GUEST_CR0_FIELD, v->cr0);
	vmwrite(GUEST_CR3, cr3);
	vmwrite(GUEST_CR4, guest_cr4() | arch_rdmsr(MSR_VMX_CR4_FIXED0));
	vmwrite(GUEST_DR7, 0x400);
	vmwrite(GUEST_RFLAGS, GUEST_FLAGS);
	vmclear(v->control);
}

/* What an exit on this CPU comes back to. */
static void put_host(const struct cpu *cpu, const struct table_register *gdt,
		     const struct table_register *idt)
{
	static const uint16_t selectors[] = {
		[SEG_ES] = SEL_KERNEL_DATA, [SEG_CS] = SEL_KERNEL_CODE, [SEG_SS] = SEL_KERNEL_DATA,
		[SEG_DS] = SEL_KERNEL_DATA, [SEG_FS] = 0, [SEG_GS] = 0};

	for (unsigned i = SEG_ES; i <= SEG_GS; i++)
		vmwrite(HOST_ES + 2 * i, selectors[i]);
	vmwrite(HOST_TR, SEL_TSS);
	vmwrite(HOST_EFER, arch_rdmsr(MSR_EFER));
	vmwrite(HOST_CR0, arch_read_cr0());
	vmwrite(HOST_CR3, arch_read_cr3());
	vmwrite(HOST_CR4, arch_read_cr4());
	vmwrite(HOST_GS_BASE, (uintptr_t)cpu);
	vmwrite(HOST_TR_BASE, (uintptr_t)&cpu->tss);
	vmwrite(HOST_GDTR_BASE, gdt->base);
	vmwrite(HOST_IDTR_BASE, idt->base);
}

static void pass_msr(struct vcpu *v, uint32_t msr, bool pass)
{
	const uint8_t bit = (uint8_t)(1u << msr % 8);
	uint8_t *reads = &msr_bitmaps[v->id][msr / 8], *writes = reads + MSR_BITMAP_WRITES;

	*reads = (uint8_t)(pass ? *reads & ~bit : *reads | bit);
	*writes = (uint8_t)(pass ? *writes & ~bit : *writes | bit);
}

static enum guest_exit exception_of(struct vcpu *v)
{
	const uint32_t info = (uint32_t)vmread(EXIT_INTERRUPTION);

	if (INTERRUPTION_TYPE(info) != TYPE_HARDWARE_EXCEPTION &&
	    INTERRUPTION_TYPE(info) != TYPE_SOFTWARE_EXCEPTION)
		return GUEST_EXIT_OTHER;
	v->vector = info & 0xff;
	v->error = (uint32_t)vmread(EXIT_ERROR_CODE);
	return GUEST_EXIT_EXCEPTION;
}

static enum guest_exit exit_of(struct vcpu *v)
{
	switch (v->raw) {
	case REASON_EXCEPTION:
		return exception_of(v);
	case REASON_INTERRUPT:
		return GUEST_EXIT_INTERRUPT;
	case REASON_CPUID:
		return GUEST_EXIT_CPUID;
	case REASON_HLT:
		return GUEST_EXIT_HLT;
	case REASON_VMCALL:
		return GUEST_EXIT_CALL;
	case REASON_RDMSR:
		return GUEST_EXIT_RDMSR;
	case REASON_WRMSR:
		return GUEST_EXIT_WRMSR;
	case REASON_XSETBV:
		return GUEST_EXIT_XSETBV;
	case REASON_XSAVES:
		return GUEST_EXIT_XSAVES;
	case REASON_XRSTORS:
		return GUEST_EXIT_XRSTORS;
	default:
		return GUEST_EXIT_OTHER;
	}
}

static void vmx_run(struct vcpu *v)
{
	struct cpu *cpu = this_cpu();
	struct table_register gdt, idt;
	uint32_t failed;

	__asm__ volatile("sgdt %0\n\tsidt %1" : "=m"(gdt), "=m"(idt));
	if (current[cpu->id] != v) {
		vmptrld(v->control);
		current[cpu->id] = v;
	}
	for (uint32_t i = 0; i < SSPS; i++)
		pass_msr(v, XST_MSR_PL_SSP + i, i < v->ssps_direct);
	if (lab_system.caps.xsaves)
		vmwrite(XSS_EXITING, v->xss_exiting);
	vmwrite(GUEST_RIP, v->ip);
	vmwrite(GUEST_RSP, v->gpr[GPR_SP]);
	put_host(cpu, &gdt, &idt);
	failed = vmx_enter(v, v->launched);
	__asm__ volatile("lgdt %0\n\tlidt %1\n\tmov %2, %%gs"
			 : : "m"(gdt), "m"(idt), "r"(SEL_USER_DATA) : "memory");
	arch_wrmsr(MSR_GS_BASE, (uintptr_t)cpu);
	if (failed)
		panic("VMX: entry failed, error %llu",
		      (unsigned long long)vmread(INSTRUCTION_ERROR));
	v->launched = true;
	v->ip = vmread(GUEST_RIP);
	v->gpr[GPR_SP] = vmread(GUEST_RSP);
	v->cr0 = vmread(GUEST_CR0_FIELD);
	v->raw = vmread(EXIT_REASON);
	v->exit = exit_of(v);
}

/* Another CPU sees what this one has in its cache only after VMCLEAR. */
static void vmx_leave(struct vcpu *v)
{
	struct cpu *cpu = this_cpu();

	if (current[cpu->id] != v)
		return;
	vmclear(v->control);
	v->launched = false;
	current[cpu->id] = NULL;
}

const struct guest_machine guest_vmx = {
	.name = "vmx",
	.xsetbv_always = true,
	.xss_exiting = true,
	.start = vmx_start,
	.create = vmx_create,
	.run = vmx_run,
	.leave = vmx_leave,
};

// SPDX-License-Identifier: BSD-2-Clause
/*
 * GDT, TSS and IDT of the 64-bit lab.
 *
 * Ref: SDM vol. 3A, "Interrupt and Exception Handling"; "Task Management in 64-bit Mode".
 */
#include "lab.h"

#define MSR_GS_BASE 0xc0000101u

#define GATE_INTERRUPT 0x8e00u
#define GATE_USER      0x6000u
#define IST_DOUBLE     1

#define GDT_KERNEL_CODE 0x00af9b000000ffffu
#define GDT_KERNEL_DATA 0x00cf93000000ffffu
#define GDT_USER_DATA   0x00cff3000000ffffu
#define GDT_USER_CODE   0x00affb000000ffffu
#define GDT_TSS         0x0000890000000000u

struct table_register {
	uint16_t limit;
	uint64_t base;
} __attribute__((packed));

struct gate {
	uint16_t offset_low, selector, type, offset_middle;
	uint32_t offset_high, reserved;
};

static struct gate idt[256] __attribute__((aligned(4096)));
static uint8_t double_fault_stacks[LAB_MAX_CPUS][4096] __attribute__((aligned(16)));

static void idt_fill(void)
{
	for (unsigned vector = 0; vector < 256; vector++) {
		uint64_t target = (uintptr_t)trap_stubs + vector * 16;

		idt[vector] = (struct gate){
			.offset_low = (uint16_t)target,
			.selector = SEL_KERNEL_CODE,
			.type = (uint16_t)(GATE_INTERRUPT |
					   (vector == VECTOR_SYSCALL ? GATE_USER : 0) |
					   (vector == VECTOR_DF ? IST_DOUBLE : 0)),
			.offset_middle = (uint16_t)(target >> 16),
			.offset_high = (uint32_t)(target >> 32),
		};
	}
}

void tables_init(struct cpu *cpu)
{
	uintptr_t tss = (uintptr_t)&cpu->tss;
	struct table_register gdtr, idtr;

	cpu->tss.ist[IST_DOUBLE - 1] = (uintptr_t)double_fault_stacks[cpu->id + 1]; /* its end */
	cpu->tss.io_map = sizeof(cpu->tss);
	cpu->gdt[SEL_KERNEL_CODE / 8] = GDT_KERNEL_CODE;
	cpu->gdt[SEL_KERNEL_DATA / 8] = GDT_KERNEL_DATA;
	cpu->gdt[SEL_USER_DATA / 8] = GDT_USER_DATA;
	cpu->gdt[SEL_USER_CODE / 8] = GDT_USER_CODE;
	cpu->gdt[SEL_TSS / 8] = GDT_TSS | (sizeof(cpu->tss) - 1) | ((tss & 0xffffff) << 16) |
				((tss & 0xff000000) << 32);
	cpu->gdt[SEL_TSS / 8 + 1] = tss >> 32;
	if (cpu->id == 0)
		idt_fill();
	gdtr = (struct table_register){sizeof(cpu->gdt) - 1, (uintptr_t)cpu->gdt};
	idtr = (struct table_register){sizeof(idt) - 1, (uintptr_t)idt};
	/*
	 * GS holds a selector that ring 3 may use: IRET to ring 3 would clear any other,
	 * and with it the base, which stays the kernel's.
	 */
	__asm__ volatile("lgdt %0\n\t"
			 "push %2\n\tpush $1f\n\tlretq\n1:\n\t"
			 "mov %3, %%ds\n\tmov %3, %%es\n\tmov %3, %%ss\n\t"
			 "mov %4, %%fs\n\tmov %4, %%gs\n\t"
			 "lidt %1\n\tltr %5"
			 :
			 : "m"(gdtr), "m"(idtr), "r"((uint64_t)SEL_KERNEL_CODE),
			   "r"(SEL_KERNEL_DATA), "r"(SEL_USER_DATA), "r"((uint16_t)SEL_TSS)
			 : "memory");
	arch_wrmsr(MSR_GS_BASE, (uintptr_t)cpu);
}

void tables_set_kernel_stack(struct cpu *cpu, uintptr_t top)
{
	cpu->tss.rsp[0] = top;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * GDT, TSS and IDT of the 32-bit lab. All data segments are user mode's flat one:
 * a return to user mode would clear any other.
 *
 * Ref: SDM vol. 3A, "Protected-Mode Memory Management"; "Interrupt and Exception Handling".
 */
#include "lab.h"
#include <xst/insn.h>

#define GATE_INTERRUPT 0x8e00u
#define GATE_USER      0x6000u

#define GDT_KERNEL_CODE 0x00cf9b000000ffffu
#define GDT_KERNEL_DATA 0x00cf93000000ffffu
#define GDT_USER_DATA   0x00cff3000000ffffu
#define GDT_USER_CODE   0x00cffb000000ffffu
#define GDT_TSS         0x0000890000000000u
#define GDT_CPU         0x0040f30000000000u /* byte granular, data, ring 3 may hold it */

struct table_register {
	uint16_t limit;
	uint32_t base;
} __attribute__((packed));

struct gate {
	uint16_t offset_low, selector, type, offset_high;
};

static struct gate idt[256] __attribute__((aligned(4096)));

bool arch_has_tsc;

static void idt_fill(void)
{
	for (unsigned vector = 0; vector < 256; vector++) {
		uint32_t target = (uintptr_t)trap_stubs + vector * 16;

		idt[vector] = (struct gate){
			.offset_low = (uint16_t)target,
			.selector = SEL_KERNEL_CODE,
			.type = (uint16_t)(GATE_INTERRUPT |
					   (vector == VECTOR_SYSCALL ? GATE_USER : 0)),
			.offset_high = (uint16_t)(target >> 16),
		};
	}
}

static uint64_t based(uint64_t descriptor, uintptr_t base, uint32_t limit)
{
	return descriptor | (limit & 0xffff) | (uint64_t)(base & 0xffffff) << 16 |
	       (uint64_t)(base >> 24) << 56;
}

void tables_init(struct cpu *cpu)
{
	struct table_register gdtr, idtr;
	uint32_t r[4];

	arch_cpuid(1, 0, r);
	arch_has_tsc = r[3] & (1u << 4);
	cpu->tss.ss0 = SEL_KERNEL_DATA;
	cpu->tss.io_map = sizeof(cpu->tss);
	cpu->gdt[SEL_KERNEL_CODE / 8] = GDT_KERNEL_CODE;
	cpu->gdt[SEL_KERNEL_DATA / 8] = GDT_KERNEL_DATA;
	cpu->gdt[SEL_USER_DATA / 8] = GDT_USER_DATA;
	cpu->gdt[SEL_USER_CODE / 8] = GDT_USER_CODE;
	cpu->gdt[SEL_TSS / 8] = based(GDT_TSS, (uintptr_t)&cpu->tss, sizeof(cpu->tss) - 1);
	/* The first word is all that this_cpu() reads through it. */
	cpu->gdt[SEL_CPU / 8] = based(GDT_CPU, (uintptr_t)cpu, sizeof(cpu->self) - 1);
	idt_fill();
	gdtr = (struct table_register){sizeof(cpu->gdt) - 1, (uintptr_t)cpu->gdt};
	idtr = (struct table_register){sizeof(idt) - 1, (uintptr_t)idt};
	__asm__ volatile("lgdt %0\n\t"
			 "ljmp %2, $1f\n1:\n\t"
			 "mov %3, %%ss\n\t"
			 "mov %4, %%ds\n\tmov %4, %%es\n\tmov %4, %%fs\n\t"
			 "mov %5, %%gs\n\t"
			 "lidt %1\n\tltr %w6"
			 :
			 : "m"(gdtr), "m"(idtr), "i"(SEL_KERNEL_CODE), "r"(SEL_KERNEL_DATA),
			   "r"(SEL_USER_DATA), "r"(SEL_CPU), "r"(SEL_TSS)
			 : "memory");
}

void tables_set_kernel_stack(struct cpu *cpu, uintptr_t top)
{
	cpu->tss.esp0 = top;
}

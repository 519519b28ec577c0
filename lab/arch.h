/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the rest of the lab needs to know about the architecture: the trap
 * frame and the handful of instructions that are not extended state. With
 * boot*.S, entry*.S, tables*.c and mm*.c this is all that differs between the 64-bit
 * lab and the 32-bit one, which serves CPUs without long mode.
 */
#ifndef LAB_ARCH_H
#define LAB_ARCH_H

#include <stdint.h>
#include <stdbool.h>
#include <xst/insn.h>

/* Order of the pushes in entry*.S, then what the CPU pushes. */
struct frame {
#ifdef __x86_64__
	uintptr_t r15, r14, r13, r12, r11, r10, r9, r8;
	uintptr_t di, si, bp, bx, dx, cx, ax;
#define FRAME_ARGUMENT di /* where a function expects its first argument */
#else
	uintptr_t di, si, bp, unused, bx, dx, cx, ax;
#define FRAME_ARGUMENT ax
#endif
	uintptr_t vector, error;
	uintptr_t ip, cs, flags;
	uintptr_t sp, ss; /* 32-bit: only when the trap came from user mode */
};

#define SEL_KERNEL_CODE 0x08
#define SEL_KERNEL_DATA 0x10
#define SEL_USER_DATA   0x1b
#define SEL_USER_CODE   0x23
#define SEL_TSS         0x28
#define SEL_CPU         0x33 /* 32-bit: %gs */

/* What arch_switch_stack() pops beside the first register and the return address. */
#ifdef __x86_64__
#define SWITCH_WORDS 5u

struct tss {
	uint32_t reserved0;
	uint64_t rsp[3];
	uint64_t reserved1;
	uint64_t ist[7];
	uint64_t reserved2;
	uint16_t reserved3, io_map;
} __attribute__((packed));
#else
#define SWITCH_WORDS 3u

struct tss {
	uint32_t previous, esp0, ss0, unused[22];
	uint16_t trap, io_map;
} __attribute__((packed));
#endif

#define FLAGS_IF       (1u << 9)
#define FLAGS_RESERVED (1u << 1)

#define CR0_TS   (1u << 3)
#define CR4_VMXE (1ul << 13)

#define VECTOR_NMI     2
#define VECTOR_NM      7
#define VECTOR_DF      8
#define VECTOR_MF      16
#define VECTOR_IRQ0    0x20 /* PIC: the PIT */
#define VECTOR_IRQ7    0x27 /* spurious: the PIC asked, and the line was low again */
#define VECTOR_IRQ13   0x2d /* PIC: FERR# of the x87 unit while CR0.NE is clear */
#define VECTOR_TIMER   0x40
#define VECTOR_WAKEUP  0x41
#define VECTOR_FETCH   0x42
#define VECTOR_SECTION 0x43 /* an interrupt whose handler has a section */
#define VECTOR_SYSCALL 0x80

static inline void arch_outb(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline void arch_outl(uint16_t port, uint32_t value)
{
	__asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint8_t arch_inb(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static inline uint64_t arch_rdmsr(uint32_t msr)
{
	uint32_t low, high;

	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return ((uint64_t)high << 32) | low;
}

static inline void arch_wrmsr(uint32_t msr, uint64_t value)
{
	__asm__ volatile("wrmsr"
			 :
			 : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
			 : "memory");
}

#ifdef __x86_64__
#define ARCH_HAS_TSC true
#else
extern bool arch_has_tsc;
#define ARCH_HAS_TSC arch_has_tsc
#endif

/*
 * Bochs updates its time stamp counter between traces of instructions, so a
 * read in the middle of one is stale; a jump ends the trace.
 */
static inline uint64_t arch_rdtsc(void)
{
	uint32_t low, high;

	if (!ARCH_HAS_TSC)
		return 0;
	__asm__ volatile("jmp 1f\n1:\trdtsc" : "=a"(low), "=d"(high) : : "memory");
	return ((uint64_t)high << 32) | low;
}

static inline void arch_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	if (!xst_has_cpuid()) {
		out[0] = out[1] = out[2] = out[3] = 0;
		return;
	}
	__asm__ volatile("cpuid"
			 : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3])
			 : "a"(leaf), "c"(subleaf));
}

static inline uintptr_t arch_read_cr0(void)
{
	uintptr_t value;

	__asm__ volatile("mov %%cr0, %0" : "=r"(value));
	return value;
}

static inline uintptr_t arch_read_cr2(void)
{
	uintptr_t value;

	__asm__ volatile("mov %%cr2, %0" : "=r"(value));
	return value;
}

static inline uintptr_t arch_read_cr3(void)
{
	uintptr_t value;

	__asm__ volatile("mov %%cr3, %0" : "=r"(value));
	return value;
}

static inline uintptr_t arch_read_cr4(void)
{
	uintptr_t value;

	__asm__ volatile("mov %%cr4, %0" : "=r"(value));
	return value;
}

static inline void arch_invlpg(uintptr_t address)
{
	__asm__ volatile("invlpg (%0)" : : "r"(address) : "memory");
}

static inline void arch_irq_off(void)
{
	__asm__ volatile("cli" : : : "memory");
}

/* Lets whatever is pending in, then closes the door again. */
static inline void arch_irq_window(void)
{
	__asm__ volatile("sti\n\tnop\n\tcli" : : : "memory");
}

/* Sleeps until an interrupt came; the STI shadow makes the pair atomic. */
static inline void arch_idle(void)
{
	__asm__ volatile("sti\n\thlt\n\tcli" : : : "memory");
}

static inline void arch_pause(void)
{
	__asm__ volatile("pause" : : : "memory");
}

_Noreturn static inline void arch_halt(void)
{
	for (;;)
		__asm__ volatile("cli\n\thlt" : : : "memory");
}

/* ---- entry.S ---- */
void arch_switch_stack(uintptr_t *save_sp, uintptr_t next_sp);
void arch_spin(uintptr_t rounds);
void arch_nothing(const void *a);
void arch_nothing_of_two(const void *a, const void *b);
void arch_nothing_of_three(const void *a, const void *b, const void *c);
extern const uint8_t trap_stubs[];
extern const uint8_t task_first_user[], task_first_kernel[];

/* ---- tables*.c: GDT, TSS, IDT ---- */
struct cpu;
void tables_init(struct cpu *cpu);
void tables_set_kernel_stack(struct cpu *cpu, uintptr_t top);

/* ---- mm*.c ---- */
void mm_protect(void);
/* Is the page at @address there, on this CPU? For a while only, and with interrupts off. */
void mm_set_present(uintptr_t address, bool present);

/* ---- apic.c ---- */
void apic_init(void);
bool apic_present(void);
/* Let x87 exceptions come as IRQ 13, as with CR0.NE clear. */
void apic_x87_irq(void);
void apic_x87_irq_end(void);
void apic_pit_irq_end(void);
void apic_timer_start(uint32_t count);
void apic_end_of_interrupt(void);
void apic_start_others(void);
void apic_send_vector(uint32_t apic_id, uint32_t vector);
void apic_send_nmi(uint32_t apic_id);
uint32_t apic_own_id(void);

#endif

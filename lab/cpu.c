// SPDX-License-Identifier: BSD-2-Clause
/*
 * One CPU's tables (GDT, TSS, IDT) and every trap it takes.
 *
 * An exception in user mode or at an address that is not in the exception table
 * is a defect of the lab or of the engine, so it ends the run with all that is
 * known about it. #NM from user mode goes to the engine.
 *
 * Ref: SDM vol. 3A, "Interrupt and Exception Handling"; "Task Management in 64-bit Mode".
 */
#include "lab.h"
#include "engine.h"
#include "task.h"
#include "xst_port.h"

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

/* XST_ASM_FIXUP() and SAFE() in xst_port.h fill the table; the linker gathers it. */
struct fixup {
	uint64_t fault, resume;
};

extern const struct fixup __extable_start[], __extable_end[];

struct cpu cpus[LAB_MAX_CPUS];
uint32_t cpu_count = 1;

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

void cpu_init(uint32_t id)
{
	struct cpu *cpu = &cpus[id];
	uintptr_t tss = (uintptr_t)&cpu->tss;
	struct table_register gdtr, idtr;

	cpu->self = cpu;
	cpu->id = id;
	cpu->tss.ist[IST_DOUBLE - 1] = (uintptr_t)double_fault_stacks[id + 1]; /* its end */
	cpu->tss.io_map = sizeof(cpu->tss);
	cpu->gdt[SEL_KERNEL_CODE / 8] = GDT_KERNEL_CODE;
	cpu->gdt[SEL_KERNEL_DATA / 8] = GDT_KERNEL_DATA;
	cpu->gdt[SEL_USER_DATA / 8] = GDT_USER_DATA;
	cpu->gdt[SEL_USER_CODE / 8] = GDT_USER_CODE;
	cpu->gdt[SEL_TSS / 8] = GDT_TSS | (sizeof(cpu->tss) - 1) | ((tss & 0xffffff) << 16) |
				((tss & 0xff000000) << 32);
	cpu->gdt[SEL_TSS / 8 + 1] = tss >> 32;
	if (id == 0)
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
	apic_init();
	cpu->apic_id = apic_own_id();
}

void cpu_set_kernel_stack(struct cpu *cpu, uintptr_t top)
{
	cpu->tss.rsp[0] = top;
}

enum machine machine_kind(void)
{
	uint32_t r[4];

	arch_cpuid(1, 0, r);
	if (r[2] & (1u << 31)) {
		arch_cpuid(0x40000000, 0, r);
		/* "TCGTCGTCGTCG" */
		return r[1] == 0x54474354 ? MACHINE_QEMU_TCG : MACHINE_OTHER_VM;
	}
	return console_is_debug_port() ? MACHINE_BOCHS : MACHINE_METAL;
}

const char *machine_name(void)
{
	static const char *const names[] = {"none", "qemu-tcg", "bochs", "virtual machine"};

	return names[machine_kind()];
}

/* Another CPU wants what only this CPU's registers hold. */
static void serve_fetch(struct cpu *cpu)
{
	if (__atomic_exchange_n(&cpu->fetch_wanted, false, __ATOMIC_ACQ_REL))
		xst_cpu_evict(&cpu->fpu);
}

/*
 * Two CPUs may fetch from each other at once with interrupts off, so requests are
 * served while waiting. No spinlock is held here: switches happen without any.
 */
void lab_fetch(uint32_t home, const struct xst_ctx *ctx)
{
	struct cpu *self = this_cpu(), *target = &cpus[home];

	self->fetches++;
	__atomic_store_n(&target->fetch_wanted, true, __ATOMIC_RELEASE);
	apic_send_vector(target->apic_id, VECTOR_FETCH);
	while (xst_ctx_home(ctx) != XST_NO_CPU) {
		serve_fetch(self);
		arch_pause();
	}
}

static bool fixed_up(struct frame *frame)
{
	for (const struct fixup *f = __extable_start; f < __extable_end; f++) {
		if (f->fault != frame->ip)
			continue;
		frame->ip = f->resume;
		frame->cx = frame->vector;
		return true;
	}
	return false;
}

/* The exception that a task left pending (`pending`) goes to where it waits for it. */
static bool x87_fault(const struct cpu *cpu, struct frame *frame)
{
	struct user_block *user = cpu->current->user;

	if (!user->fault_pending)
		return false;
	user->fault_pending = false;
	user->faults_came++;
	frame->ip = (uintptr_t)user_x87_resume;
	return true;
}

static _Noreturn void unexpected(const struct frame *frame)
{
	const struct cpu *cpu = this_cpu();

	panic("exception %llu in %s mode, cpu %u, task %u: rip 0x%llx error 0x%llx cr2 0x%llx "
	      "rsp 0x%llx",
	      (unsigned long long)frame->vector, frame->cs & 3 ? "user" : "kernel", cpu->id,
	      cpu->current ? cpu->current->id : 0, (unsigned long long)frame->ip,
	      (unsigned long long)frame->error, (unsigned long long)arch_read_cr2(),
	      (unsigned long long)frame->sp);
}

/* Interrupts are off. What comes back from here goes to where the frame says. */
void trap_entry(struct frame *frame)
{
	struct cpu *cpu = this_cpu();
	bool user = frame->cs & 3;

	switch (frame->vector) {
	case VECTOR_TIMER:
		apic_end_of_interrupt();
		cpu->ticks++;
		lab_tick(cpu);
		break;
	case VECTOR_WAKEUP:
		apic_end_of_interrupt();
		break;
	case VECTOR_FETCH:
		apic_end_of_interrupt();
		serve_fetch(cpu);
		break;
	case VECTOR_SYSCALL:
		syscall_entry(cpu, frame);
		break;
	case VECTOR_MF:
		if (!user || !x87_fault(cpu, frame))
			unexpected(frame);
		break;
	case VECTOR_NM:
		if (user) {
			if (engine_device_not_available(cpu) != XST_OK)
				unexpected(frame);
			break;
		}
		/* fall through */
	default:
		if (user || !fixed_up(frame))
			unexpected(frame);
	}
	if (user)
		trap_exit(frame);
}

/* The last thing before ring 3: preemption first, then the engine. */
void trap_exit(struct frame *frame)
{
	struct cpu *cpu = this_cpu();

	(void)frame;
	if (cpu->need_resched) {
		cpu->need_resched = false;
		task_yield();
		cpu = this_cpu();
	}
	engine_return_to_user(cpu);
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * One CPU, and every trap it takes.
 *
 * An exception in user mode or at an address that is not in the exception table
 * is a defect of the lab or of the engine, so it ends the run with all that is
 * known about it. #NM from user mode goes to the engine.
 */
#include "lab.h"
#include "engine.h"
#include "experiment.h"
#include "sections.h"
#include "task.h"
#include "xst_port.h"

/* XST_ASM_FIXUP() and SAFE() in xst_port.h fill the table; the linker gathers it. */
struct fixup {
	uintptr_t fault, resume;
};

extern const struct fixup __extable_start[], __extable_end[];

struct cpu cpus[LAB_MAX_CPUS];
uint32_t cpu_count = 1;

void cpu_init(uint32_t id)
{
	struct cpu *cpu = &cpus[id];

	cpu->self = cpu;
	cpu->id = id;
	tables_init(cpu);
	apic_init();
	cpu->apic_id = apic_own_id();
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

uintptr_t trap_fixup(uintptr_t ip)
{
	for (const struct fixup *f = __extable_start; f < __extable_end; f++) {
		if (f->fault == ip)
			return f->resume;
	}
	return 0;
}

static bool fixed_up(struct frame *frame)
{
	const uintptr_t resume = trap_fixup(frame->ip);

	if (!resume)
		return false;
	frame->ip = resume;
	frame->cx = frame->vector;
	return true;
}

/*
 * The exception that a task left pending (`pending`) goes to where it waits for it. As
 * IRQ 13 it comes where it is raised, and again where it is loaded: then it is enough
 * that it came to the right task.
 */
static void x87_fault(const struct cpu *cpu, struct frame *frame)
{
	struct user_block *user = cpu->current->user;

	if (!user->fault_pending)
		panic("an x87 exception came to task %u, which has none pending (%llu left, %llu "
		      "came): ip 0x%llx",
		      user->id, (unsigned long long)user->faults_left,
		      (unsigned long long)user->faults_came, (unsigned long long)frame->ip);
	user->fault_arrivals++;
	if (frame->vector != VECTOR_IRQ13)
		frame->ip = (uintptr_t)user_x87_resume;
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
	case VECTOR_NMI:
		/* Wherever it came: no scheduling, no way through the engine. */
		sections_on_nmi(cpu);
		return;
	case VECTOR_SECTION:
		apic_end_of_interrupt();
		sections_on_interrupt(cpu, user);
		break;
	case VECTOR_FETCH:
		apic_end_of_interrupt();
		serve_fetch(cpu);
		break;
	case VECTOR_SYSCALL:
		syscall_entry(cpu, frame);
		break;
	case VECTOR_IRQ0:
		apic_pit_irq_end();
		cpu->ticks++;
		lab_tick(cpu);
		break;
	case VECTOR_IRQ7:
		break;
	case VECTOR_IRQ13:
		/* Only this ends the x87 unit's wait; then as #MF. */
		apic_x87_irq_end();
		if (!cpu->current->user)
			unexpected(frame);
		x87_fault(cpu, frame);
		break;
	case VECTOR_MF:
		if (user)
			x87_fault(cpu, frame);
		else if (!fixed_up(frame))
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

	if (cpu->need_resched) {
		cpu->need_resched = false;
		task_yield();
		cpu = this_cpu();
	}
	if (experiment->to_user)
		experiment->to_user(cpu, frame);
	engine_return_to_user(cpu);
	/* The registers are in place, and an interrupt comes that uses them. */
	if (experiment->sections && (random_next(&cpu->random) & 7) == 0) {
		sections_interrupt_me(cpu);
		engine_return_to_user(cpu);
	}
}

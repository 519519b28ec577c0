// SPDX-License-Identifier: BSD-2-Clause
/* What user mode may ask for; ring3.h has the list. */
#include "task.h"
#include "engine.h"
#include "experiment.h"
#include "report.h"
#include "sections.h"
#include "signal.h"

uint64_t kernel_phase_loads, kernel_phase_switches;
uint32_t fork_count, exec_count;

/*
 * `kthread`: both peers enter the kernel, hand the CPU to each other for many
 * rounds, and leave together. What is counted lies between the two meetings.
 */
static struct {
	struct spinlock lock;
	uint32_t met, turn;
	struct wait_queue waiting[2];
	uint64_t loads, switches; /* at the first meeting */
} handoff;

/* Returns true for the peer that came second. The lock is held. */
static bool handoff_meet(uint32_t peer)
{
	if (++handoff.met < 2) {
		task_wait(&handoff.waiting[peer], &handoff.lock);
		return false;
	}
	handoff.met = 0;
	task_wake_one(&handoff.waiting[!peer]);
	return true;
}

static void handoff_rounds(struct cpu *cpu, uint32_t peer, uint64_t rounds)
{
	struct xst_counters sum;

	spin_lock(&handoff.lock);
	if (handoff_meet(peer)) {
		handoff.turn = 0;
		engine_sum_counters(&sum);
		handoff.loads = sum.loads;
		handoff.switches = sum.switches;
	}
	for (uint64_t i = 0; i < rounds; i++) {
		while (handoff.turn != peer)
			task_wait(&handoff.waiting[peer], &handoff.lock);
		handoff.turn = !peer;
		cpu->progress++;
		task_wake_one(&handoff.waiting[!peer]);
		/* The timer keeps counting, and the watchdog looking, in this long stay. */
		spin_unlock(&handoff.lock);
		arch_irq_window();
		spin_lock(&handoff.lock);
	}
	if (handoff_meet(peer)) {
		engine_sum_counters(&sum);
		kernel_phase_loads += sum.loads - handoff.loads;
		kernel_phase_switches += sum.switches - handoff.switches;
	}
	spin_unlock(&handoff.lock);
}

static uintptr_t fork(struct cpu *cpu)
{
	struct task_spec spec;

	if (!experiment_may_fork(cpu->current, &spec))
		return 0;
	if (!task_fork(cpu, &spec))
		return 0;
	__atomic_fetch_add(&fork_count, 1, __ATOMIC_RELAXED);
	return 1;
}

void syscall_entry(struct cpu *cpu, struct frame *frame)
{
	struct task *self = cpu->current;
	uintptr_t a = frame->di;

	if (experiment->kernel_work)
		experiment->kernel_work(cpu);
	if (experiment->sections)
		sections_at_random(cpu, XST_CONTEXT_TASK);
	switch (frame->ax) {
	case SYS_YIELD:
		task_yield();
		break;
	case SYS_EXIT:
		task_exit();
		break;
	case SYS_MIGRATE:
		task_move((uint32_t)(a % cpu_count));
		break;
	case SYS_PIPE_READ:
		pipe_read((unsigned)a);
		break;
	case SYS_PIPE_WRITE:
		pipe_write((unsigned)a);
		break;
	case SYS_FORK:
		frame->ax = fork(cpu);
		break;
	case SYS_EXEC:
		engine_exec(cpu, self);
		__atomic_fetch_add(&exec_count, 1, __ATOMIC_RELAXED);
		break;
	case SYS_FLIP:
		engine_set_policy(cpu, policies[a % policy_count]);
		break;
	case SYS_HANDOFF:
		handoff_rounds(cpu, self->user->peer, a);
		break;
	case SYS_CORRUPTION:
		frame->ax = report_corruption(cpu, (const struct mismatch *)a);
		break;
	case SYS_CORRUPTIONS:
		report_corruptions((uint32_t)a);
		break;
	case SYS_RAISE:
		signal_raise(self, (enum damage)a);
		break;
	case SYS_SIGRETURN:
		signal_return(cpu, frame, a);
		break;
	case SYS_EXPERIMENT:
		frame->ax = experiment->call ? experiment->call(cpu, a) : 0;
		break;
	default:
		panic("task %u: unknown system call %llu", self->id,
		      (unsigned long long)frame->ax);
	}
}

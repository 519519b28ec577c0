/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks: user tasks with extended state, kernel threads without, one idle
 * thread per CPU. The scheduler is a FIFO per CPU; tasks move between CPUs when
 * they say so.
 *
 * The kernel is not preemptible: it runs with interrupts off, so a task leaves
 * the CPU only in schedule(). A task may be woken while its last instructions in
 * schedule() still run; task.on_cpu says so, and the CPU that finishes the switch
 * puts it into a run queue.
 */
#ifndef LAB_TASK_H
#define LAB_TASK_H

#include "lab.h"
#include "ring3.h"

enum task_state { TASK_FREE, TASK_READY, TASK_BLOCKED, TASK_DEAD };

struct task {
	uintptr_t sp, stack_top;
	struct spinlock lock; /* state, on_cpu, cpu */
	enum task_state state;
	bool on_cpu, kernel;
	uint32_t id, cpu;        /* cpu: where it runs or will run next */
	struct task *next;       /* in a run queue or a wait queue */
	struct user_block *user; /* NULL: kernel thread */
	void (*program)(struct user_block *user);
	struct xst_ctx fpu;
	struct xst_ctx *guest; /* what it has instead while it runs a virtual CPU, or NULL */
	/* Preloads that came although the task had stopped using its registers. */
	uint64_t preloads_after_use, last_preload_slot;
};

struct wait_queue {
	struct task *head, *tail;
};

extern struct task tasks[MAX_TASKS];
extern uint32_t live_tasks; /* user tasks that exist */

/* What an experiment says about a user task. */
struct task_spec {
	void (*program)(struct user_block *user);
	uint64_t loops;
	enum use use;
	uint32_t use_first, use_million, peer, flips, cpu;
	uint32_t live; /* LIVE(); 0 = all, in every slot */
	enum tidy tidy;
	bool lifecycle, migrates;
	bool live_random; /* something else in each slot */
	bool no_area;     /* until it touches a register */
};

/* How a task changes CPUs while registers elsewhere may be its only copy (save=displaced). */
enum moving { MOVING_FETCHED, MOVING_MARKED, MOVING_BOUND };
extern enum moving task_moving;

#define AREA_BYTES 12288u /* AVX-512 and AMX together need 11008 */
void *task_area(const struct task *task);
/* Struct user_block.features of whoever has @xcr0 in XCR0. */
uint32_t task_features(uint64_t xcr0);

struct task *task_create_user(const struct task_spec *spec);
/* The same on the memory of a task that just ended. */
void task_recreate(struct task *task, const struct task_spec *spec);
struct task *task_create_kernel(void (*function)(void), uint32_t cpu);
struct task *task_fork(struct cpu *cpu, const struct task_spec *spec);
void task_idle_init(struct cpu *cpu);
/* This CPU goes, and its tasks go to CPU 0; it comes back. */
void task_cpu_offline(struct cpu *cpu);
void task_cpu_online(struct cpu *cpu);

void task_yield(void);
void task_move(uint32_t cpu);
void task_wait(struct wait_queue *queue, struct spinlock *lock);
void task_wake_one(struct wait_queue *queue);
_Noreturn void task_exit(void);
void task_begin(void); /* entry.S: the first thing on a new task's stack */
_Noreturn void task_idle_loop(struct cpu *cpu);

/* ---- syscall.c ---- */
void syscall_entry(struct cpu *cpu, struct frame *frame);
extern uint64_t kernel_phase_loads; /* `kthread`: restores while both peers stayed in the kernel */
extern uint64_t kernel_phase_switches;
extern uint32_t fork_count, exec_count;

/* ---- pipe.c ---- */
void pipe_read(unsigned number);
void pipe_write(unsigned number);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an experiment is: a table row in experiments.c and a file exp_NAME.c with
 * the functions it points to. All but the first two are optional.
 */
#ifndef LAB_EXPERIMENT_H
#define LAB_EXPERIMENT_H

#include "lab.h"
#include "task.h"

struct experiment {
	const char *name, *summary;
	uint64_t loops; /* default */
	bool preempt;   /* default: does the timer take the CPU away from user mode? */
	uint32_t min_cpus, max_cpus;
	/*
	 * Creates the tasks of phase @number, from 0, on the boot CPU's idle thread while no
	 * user task exists. Returns false when there is no such phase: the end.
	 */
	bool (*phase)(unsigned number);
	/* At each timer interrupt, on that CPU, interrupts off. */
	void (*tick)(struct cpu *cpu);
	/* User mode is about to go on with @frame on that CPU, interrupts off. */
	void (*to_user)(struct cpu *cpu, struct frame *frame);
	/* A user task ended. True: it was created again. */
	bool (*ended)(struct task *task);
	/* May @parent fork, and what will the child be? */
	bool (*may_fork)(const struct task *parent, struct task_spec *spec);
	/* The registers of @ctx were just saved, or left out as INIT, at a switch. */
	void (*saved)(const struct xst_ctx *ctx, bool elided);
	/* In each system call, on the kernel's way in. */
	void (*kernel_work)(struct cpu *cpu);
	/* SYS_EXPERIMENT; what it returns is the result. May switch. */
	uintptr_t (*call)(struct cpu *cpu, uintptr_t a);
	/* It runs guests, which get all of CET where the machine has it. */
	bool guests;
	/* The kernel has sections in system calls and interrupts, at random. */
	bool sections;
	/* After the last phase: NULL, or why the run failed. */
	const char *(*verdict)(void);
	/* What a run without failure is called; NULL = "ok". */
	const char *(*status)(void);
	/* Adds members to the result line with report_field(). */
	void (*report)(void);
};

extern const struct experiment exp_yield, exp_pipe, exp_flip, exp_leak, exp_preload, exp_kthread,
	exp_owner, exp_replay,
	exp_errata, exp_images, exp_slots, exp_live, exp_migrate, exp_pending,
	exp_signal,
	exp_mask, exp_xor, exp_irq, exp_efi, exp_mmx, exp_guest, exp_cet_s,
	exp_selftest_panic, exp_selftest_triple, exp_selftest_hang,
	exp_selftest_watchdog;

extern const struct experiment *experiment; /* the one that runs */

bool text_equal(const char *a, const char *b);

/* Before any extended state is enabled. */
void experiment_early(struct cpu *cpu);
void experiment_choose(void); /* by args.experiment */
void experiment_start(void);  /* phase 0 */
void experiment_tick(struct cpu *cpu);
void experiment_task_ended(struct task *task);
void experiment_tasks_gone(void);
bool experiment_may_fork(const struct task *parent, struct task_spec *spec);
void experiment_report(void);
const char *experiment_status(void);

/* A kernel thread on @cpu that yields, and now and then moves, until no user task is left. */
void experiment_kernel_noise(uint32_t cpu);
/* One that takes @cpu off and on again, now and then. */
void experiment_hotplug(uint32_t cpu);

#endif

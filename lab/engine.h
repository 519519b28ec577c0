/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lab's side of every engine event: call it, count what it cost, remember
 * it for the dump after a corruption, and look from outside whether CR0.TS is what
 * the policy in force promises.
 */
#ifndef LAB_ENGINE_H
#define LAB_ENGINE_H

#include "lab.h"

struct task;

void engine_calibrate(void); /* after the CPUs are known, before the first event */
void engine_cpu_start(struct cpu *cpu, const struct xst_policy *policy);

/* A section of the kernel ended: what was in place no longer is. */
void engine_section_ended(struct cpu *cpu);
void engine_switch(struct cpu *cpu, const struct task *previous, struct xst_ctx *previous_ctx,
		   struct task *next, struct xst_ctx *next_ctx);
void engine_return_to_user(struct cpu *cpu);
int engine_device_not_available(struct cpu *cpu);
void engine_fork(struct cpu *cpu, struct task *parent, struct task *child);
void engine_exec(struct cpu *cpu, struct task *task);
/* The running task's area is current; and it was edited. */
void engine_flush(struct cpu *cpu, struct task *task);
void engine_changed(struct cpu *cpu, struct task *task);
void engine_exit(struct cpu *cpu, struct task *task);
/* The running task turns to a virtual CPU, and back to itself. */
struct xst_guest;
void engine_guest_load(struct cpu *cpu, struct task *task, struct xst_guest *guest);
void engine_guest_put(struct cpu *cpu, struct task *task, struct xst_guest *guest);
void engine_guest_enter(struct cpu *cpu, struct xst_guest *guest);
void engine_guest_exit(struct cpu *cpu, struct xst_guest *guest);
/* What all four took so far; and what @calls that took @ticks of it did beside being called, in
 * instructions, 0 where these are not counted. */
uint64_t engine_guest_ticks(void);
uint64_t engine_guest_instructions(uint64_t ticks, uint64_t calls);
/* @task, which just left @cpu, will run on another one. May decide that it stays. */
void engine_moving(struct cpu *cpu, struct task *task);
/* What a CPU holds that was switched off, and what makes it usable again. No task runs. */
void engine_cpu_offline(struct cpu *cpu);
void engine_cpu_online(struct cpu *cpu);
void engine_set_policy(struct cpu *cpu, const struct xst_policy *policy);

void engine_sum_counters(struct xst_counters *sum);
void engine_dump_events(const struct cpu *cpu);

/* What the wrappers found out. */
struct engine_totals {
	bool counted; /* does the TSC count instructions on this machine? */
	uint64_t instructions_switch, instructions_return, instructions_trap, instructions_guest;
	uint64_t pkru_moves; /* RDPKRU and WRPKRU among those of the switches */
	uint64_t ts_checks, ts_mismatches;
	uint64_t traps;              /* #NM that arrived here, whatever the engine says */
	uint64_t traps_at_first_use; /* of these, under a first-use policy */
	uint64_t area_traps; /* #NM of tasks that had no area yet; not among the traps */
	uint64_t bound;      /* tasks that had to stay where their registers are */
	uint64_t fetches;    /* registers asked for from another CPU */
	uint64_t offlines;
	uint64_t epochs_first_use, epochs_other; /* flips into either kind */
	const char *counter_error; /* the first counter identity that broke, or NULL */
};

void engine_totals(struct engine_totals *totals);

#endif

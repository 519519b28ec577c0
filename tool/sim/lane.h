/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One policy on one recorded machine: the library's engine in the counting world, driven by
 * records. All that is decided here is what the hardware does: an FPU instruction traps when
 * CR0.TS is set, a restore brings back what was saved.
 */
#ifndef SIM_LANE_H
#define SIM_LANE_H

#include <stdbool.h>
#include <stddef.h>

#include <xst/switch.h>

#include "sim/kept.h"
#include "sim/rec.h"

/* What becomes of registers that are a task's only copy when the task goes to another CPU. */
enum lane_move {
	LANE_FETCH, /* nothing, until they are needed: then an interrupt fetches them */
	LANE_MARK,  /* they are written when the task is marked for migration */
};

/* What only a hypothesis adds. */
struct lane_extra {
	enum lane_move move;
	bool clear_on_block; /* programs clear their registers before a system call that blocks */
};

/* Counts of one CPU, of one task, or of all: sums of sums are sums. */
struct lane_counts {
	struct xst_counters n;
	uint64_t ts_writes, init_reads, interrupts;
};

/* What one task caused. */
struct lane_task {
	uint64_t saves, loads, traps;
};

struct lane;

/**
 * lane_new() - a machine at rest under @policy, which must stay valid.
 * @tasks: count for each task as well, see lane_take_task().
 *
 * Return: NULL when there is no memory.
 */
struct lane *lane_new(const struct xst_policy *policy, const struct lane_extra *extra, bool tasks);
void lane_free(struct lane *l);

/**
 * lane_run() - go through @count records, which rec_check() has passed.
 */
void lane_run(struct lane *l, const struct rec *recs, size_t count);

/**
 * lane_counts() - the counts of CPU @cpu; zero for one that never appeared.
 */
void lane_counts(const struct lane *l, unsigned cpu, struct lane_counts *out);

/**
 * lane_counts_add() - the monoid: @sum += @more.
 */
void lane_counts_add(struct lane_counts *sum, const struct lane_counts *more);

/**
 * lane_take_task() - what @task caused so far, and forget it. Task 0: what none did.
 */
struct lane_task lane_take_task(struct lane *l, unsigned task);

/**
 * lane_keep() - what goes on when the trace does: of the first @tasks tasks and @cpus CPUs. Counts
 * do not. lane_go_on() - a new lane begins there.
 *
 * Return: false when @out takes or @in has no more, or @in is nonsense: a lane is never left in a
 * state that its engine cannot go on from.
 */
bool lane_keep(const struct lane *l, struct kept *out, uint32_t tasks, uint32_t cpus);
bool lane_go_on(struct lane *l, struct kept *in, uint32_t tasks, uint32_t cpus);

#endif

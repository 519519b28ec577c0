/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop every measurement of this project goes through: blocks; in each, every arm once in
 * random order with the code at one random place; each slice between two short calibrations.
 * What a slice does is the caller's; here is only the protocol.
 */
#ifndef TOOL_STATS_RUN_H
#define TOOL_STATS_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "plan.h"
#include "samples.h"

/* One slice as measured. A calibration is a chain of known cycles, timed in ticks. */
struct stats_slice {
	double ticks;
	double calibration_ticks[2]; /* just before and just after */
	double calibration_cycles;   /* what one calibration is known to take */
	bool switched;               /* an involuntary context switch happened */
	bool moved;                  /* the state under test became another one */
	bool failed;                 /* nothing was measured */
};

struct stats_bench {
	void *world; /* handed back to the calls below */

	/* Runs one slice of @arm with its code at @placement. */
	void (*measure)(void *world, uint32_t arm, uint64_t placement, struct stats_slice *out);

	/* Called after each block; may rest, draw progress. NULL for nothing. */
	void (*between)(void *world, uint32_t done, uint32_t blocks);

	/* Ends the run after the current block when it becomes non-zero; may be NULL. */
	const volatile sig_atomic_t *stop;
};

/**
 * stats_run() - carry out a plan.
 * @bench: what a slice is.
 * @plan:  how many blocks and arms, and the seed.
 * @out:   made by stats_samples_init() for the same numbers; filled.
 *
 * A sample whose calibration differs by more than 2 % from the median of its own block is
 * dropped; the median itself turns this block's ticks into core cycles, so that a clock that
 * changes from block to block disturbs nothing.
 *
 * Return: false when memory is short or @out does not fit @plan.
 */
bool stats_run(const struct stats_bench *bench, const struct stats_plan *plan,
	       struct stats_samples *out);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Up to eight lanes at the speed of a table. What the engine does at an event follows from little:
 * the state of the CPU, of the task that runs there and of the one that comes. Each combination is
 * tried once, by the engine itself, and remembered: the states that follow and what was counted.
 * From then on it is looked up, for all lanes together, and one number goes up.
 *
 * There is no second engine in here: nothing is known of policies, only of what is part of a state.
 * When there are too many states, the lanes go on by themselves.
 */
#ifndef SIM_MEMO_H
#define SIM_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/lane.h"
#include "sim/machine.h"

/*
 * A record as the memo wants it, in one word: the task that comes, plus 1 (0: none), then the
 * record's CPU, kind and flags as they lie there, with two bits that no lane looks at used anew. Of
 * records that are no switch only the kind counts.
 */
typedef uint64_t memo_step;
#define MEMO_LIVE REC_ASSUMED /* something of the image was live */
#define MEMO_SAME REC_DIGEST  /* the task that comes is the one that runs */
#define MEMO_FLAGS (REC_KERNEL | REC_USER | REC_USED | REC_BLOCKED)

#define MEMO_NEXT(step)  ((uint32_t)(step))
#define MEMO_CPU(step)   ((uint16_t)((step) >> 32))
#define MEMO_KIND(step)  ((uint8_t)((step) >> 48))
#define MEMO_EVENT(step) ((unsigned)((step) >> 56))

/* @word: the second half of a record. */
static inline memo_step memo_step_of(uint32_t next, uint64_t word, bool same)
{
	const bool live = REC_IS_LIVE(word >> 32);

	return next | (word << 32 & ((uint64_t)MEMO_FLAGS << 56 | 0xffffffull << 32)) |
	       (uint64_t)live * ((uint64_t)MEMO_LIVE << 56) |
	       (uint64_t)same * ((uint64_t)MEMO_SAME << 56);
}

/* How much is remembered; zero: as much as is reasonable. */
struct memo_limits {
	uint32_t entries; /* transitions; beyond, they are forgotten and learned anew */
	uint32_t deltas;  /* different counts of one event; the same */
	uint32_t states;  /* of CPUs, and of tasks; beyond, the lanes run by themselves */
};

/* What came of it: for tests and for those who wonder. */
struct memo_stats {
	uint64_t tried, forgotten;
	uint32_t cpu_states, task_states, entries, deltas;
	bool direct; /* the lanes run by themselves */
};

struct memo;

/**
 * memo_new() - @lanes, which stay the caller's, at rest; lane_can_try() is true of each.
 * @machine: shared with the caller, who sees to task_count, cpu_count and what tasks are, and goes
 *           through records by memo_run.h; NULL: its own, for memo_run().
 *
 * Return: NULL when there is no memory.
 */
struct memo *memo_new(struct lane *const *lanes, size_t lane_count,
		      const struct memo_limits *limits, struct machine *machine);
void memo_free(struct memo *m);

/**
 * memo_begin() - the lanes are not at rest: lane_go_on() was called for each.
 */
void memo_begin(struct memo *m, uint32_t tasks, uint32_t cpus);

/**
 * memo_run() - as lane_run() of each lane.
 * @steps: the same records; not looked at when the lanes run by themselves.
 */
void memo_run(struct memo *m, const struct rec *recs, const memo_step *steps, size_t count);

/**
 * memo_settle() - the lanes' own state and counts become what they would be without the memo.
 */
void memo_settle(struct memo *m);

void memo_stats(const struct memo *m, struct memo_stats *out);

#endif

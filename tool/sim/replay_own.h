/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside a replay: for replay.c, which goes through records; replay_keep.c, where pieces meet. */
#ifndef SIM_REPLAY_OWN_H
#define SIM_REPLAY_OWN_H

#include "sim/machine.h"
#include "sim/memo.h"
#include "sim/replay.h"

/* So many records at a time that they stay in the nearest cache from one reader to the next. */
#define PART 512u

/* What of a task is not needed at every switch. */
struct who {
	struct replay_task t;
	float p; /* of using the registers, in a slot */
};

struct replay {
	struct sim_use use;
	struct lane **lanes;
	size_t lane_count;
	struct lane **direct;    /* those that run by themselves */
	struct memo **memos;     /* the others, eight at most in each; the first shares machine */
	size_t direct_count, memo_count;
	memo_step steps[PART];
	uint64_t sums;           /* of one batch: time, and restores seen from SEEN_SHIFT */
	struct machine machine;
	struct who *who;         /* REC_TASKS_MAX, as far as used */
	uint64_t slot_number;    /* seed of the next chance */
	uint64_t records_before; /* the one that is looked at */
	uint32_t named;          /* the TASK a NAME belongs to, plus 1 */
	bool ended, more;        /* more: in a further piece */
	uint64_t span_before, cpu_ns_before; /* of the pieces before */
	const char *why;
	uint64_t bad_record;     /* what is wrong with which */
	void (*on_exit)(void *arg, uint32_t number);
	void *on_exit_arg;
	struct sim_totals n;
};

/* By how many of its slots use the registers, as it was asked; the name is seen. */
float replay_share(const struct replay *r, const char *name);

#endif

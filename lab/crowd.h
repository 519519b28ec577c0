/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks that come and go at random, for experiments that want everything to happen at once: their use
 * of registers, their CPU, their length and whether they begin with memory are drawn from the seed, and
 * their number and all lives together are bounded.
 */
#ifndef LAB_CROWD_H
#define LAB_CROWD_H

#include "task.h"

struct crowd {
	uint64_t salt;       /* makes the experiment's draws its own */
	enum use uses[4];    /* one is drawn for each task */
	uint32_t slots_min;  /* a task's length: at least this many slots, */
	uint32_t slots_span; /* and less than this many more */
	unsigned size;       /* tasks to begin with */
	unsigned room;       /* tasks that must fit beside it: kernel threads, ended ones on their way back */
};

/* A task that goes from CPU to CPU, alone: all others use no register. */
void crowd_lonely(bool no_area);

/* Begin: as many lives as @loops slots need. @number: of the phase. */
void crowd_begin(const struct crowd *crowd, uint64_t loops, unsigned number);

/* An ended task may come back on the same memory. True: it did. */
bool crowd_ended(struct task *task);

/* May a task fork now? Fills @spec for its child. */
bool crowd_may_fork(struct task_spec *spec);

#endif

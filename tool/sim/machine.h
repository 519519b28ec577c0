/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who runs where on the recorded machine, as far as it has been read. What the memo (memo.h) knows
 * of a task or a CPU lies beside it: all that one record needs of each is one cache line.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/rec.h"
#include "sim/reserve.h"

#define MEMO_LANES 8u

/* What a task is doing. Only those that are even can be switched to. */
enum { IS_NEW, IS_RUNNING, IS_WAITING, IS_DEAD };

#define LAST_NONE 0xffffu

struct machine_task {
	uint16_t state;            /* the memo's */
	uint8_t is;                /* IS_* */
	uint64_t blind;            /* a byte for each lane */
	uint16_t last[MEMO_LANES] __attribute__((aligned(16))); /* CPU, or LAST_NONE */
} __attribute__((aligned(32)));

struct machine_cpu {
	uint64_t *counts;  /* how often each delta; NULL: it did not begin */
	uint32_t cur;
	uint16_t state;
	uint8_t dirty;     /* a bit for each lane, as all masks of 8 bits */
	uint8_t other;     /* owner[] is true here; else it is cur, the kernel or nobody */
	uint8_t away;      /* where another CPU may have the only copy of cur's registers */
	uint32_t frames, turns; /* in the slot so far: struct sim_totals, signal_frames */
	uint32_t owner[MEMO_LANES] __attribute__((aligned(16)));
} __attribute__((aligned(64)));

/* Task numbers are one more than in records: 0 is nobody. */
struct machine {
	struct machine_cpu *cpus;   /* REC_CPUS_MAX */
	struct machine_task *tasks; /* REC_TASKS_MAX + 1 */
	uint64_t cpu_count, task_count; /* highest so far; without nobody */
};

static inline void machine_end(struct machine *m)
{
	release(m->cpus, REC_CPUS_MAX * sizeof(*m->cpus));
	release(m->tasks, (REC_TASKS_MAX + 1) * sizeof(*m->tasks));
}

static inline bool machine_begin(struct machine *m)
{
	*m = (struct machine){ .cpus = reserve(REC_CPUS_MAX * sizeof(*m->cpus)),
			       .tasks = reserve((REC_TASKS_MAX + 1) * sizeof(*m->tasks)) };
	return m->cpus && m->tasks;
}

#endif

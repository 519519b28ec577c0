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

/*
 * What a task is doing. Only to those that are odd can be switched: not to a number that no task had
 * yet, which is 0.
 */
enum { IS_RUNNING, IS_WAITING, IS_DEAD, IS_NEW, IS_COUNT };

#define LAST_NONE 0xffffu

struct machine_task {
	uint16_t state;            /* the memo's; this and the next two in one word of 32 bits: quick.c */
	uint8_t is;                /* IS_* */
	uint8_t zero;
	uint64_t blind;            /* a byte for each lane */
	uint16_t last[MEMO_LANES] __attribute__((aligned(16))); /* CPU, or LAST_NONE */
} __attribute__((aligned(32)));

/* How many switches there were by flags and by how live the image was. */
#define SWITCHES_FLAGS 256u
#define SWITCHES_LIVES 8u

struct machine_cpu {
	uint64_t *counts;  /* how often each delta; NULL: it did not begin */
	uint32_t cur;
	uint16_t delta;    /* what the last event counts, with the next one: memo_take(); */
	uint16_t state;    /* ... and the memo's state: in one word of 32 bits, quick.c */
	uint8_t dirty;     /* a bit for each lane, as all masks of 8 bits */
	uint8_t other;     /* owner[] is true here; else it is cur, the kernel or nobody */
	uint8_t away;      /* where another CPU may have the only copy of cur's registers */
	uint32_t frames, turns, sections; /* in the slot so far: struct sim_totals, signal_frames; turns: all */
	uint32_t owner[MEMO_LANES] __attribute__((aligned(16)));
} __attribute__((aligned(64)));

/* As many as a record can name: who finds nothing known of one need not ask before if it can be. */
#define MACHINE_CPUS (1u << 16)

/* Task numbers are one more than in records: 0 is nobody. */
struct machine {
	struct machine_cpu *cpus;   /* MACHINE_CPUS, of which REC_CPUS_MAX begin; behind them: */
	struct machine_task *tasks; /* REC_TASKS_MAX + 1 */
	uint64_t cpu_count, task_count; /* highest so far; without nobody */
	uint64_t switches[SWITCHES_FLAGS][SWITCHES_LIVES];
};

#define MACHINE_BYTES (MACHINE_CPUS * sizeof(struct machine_cpu) + \
		       (REC_TASKS_MAX + 1) * sizeof(struct machine_task))

/* Where the tasks are, for who has no register to spare for that. */
static inline struct machine_task *machine_tasks(struct machine_cpu *cpus)
{
	return (struct machine_task *)(void *)(cpus + MACHINE_CPUS);
}

static inline void machine_end(struct machine *m)
{
	release(m->cpus, MACHINE_BYTES);
}

static inline bool machine_begin(struct machine *m)
{
	*m = (struct machine){ .cpus = reserve(MACHINE_BYTES) };
	if (!m->cpus)
		return false;
	m->tasks = machine_tasks(m->cpus);
	/* Nobody is always there. */
	m->tasks[0].is = IS_WAITING;
	return true;
}

#endif

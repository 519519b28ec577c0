/* SPDX-License-Identifier: BSD-2-Clause */
/* Records on their way out: each with the time since the one before, and given away in batches. */
#ifndef SIM_REC_OUT_H
#define SIM_REC_OUT_H

#include "sim/rec.h"

#include <stdbool.h>

#define REC_BATCH 4096u
#define REC_HELD  (1u << 17) /* 2 MiB */

struct rec_out {
	int (*give)(void *arg, struct rec *recs, size_t count); /* 0, or -1: stop */
	void *arg;
	uint64_t now_ns, written_ns;
	uint32_t written;
	size_t fill;
	struct rec batch[REC_BATCH];
	/* what is not to be given away yet */
	struct rec *held;
	size_t held_count;
	bool holding, held_over; /* over: they were more than there is room for */
};

/**
 * rec_out_put() - a record of what happens at @o->now_ns. Clocks of CPUs differ a little: time never
 * goes back. An END gets the number of records before it.
 * rec_out_add() - one that is complete.
 * rec_out_name() - the NAME that belongs to the record before.
 * rec_out_flush() - give away what is there.
 * rec_out_hold() - what comes now is kept back, for it may have to be otherwise: as many as there is
 * room for, then all are given away as they are.
 * rec_out_release() - it is known now; @open: handlers' returns have records of their own.
 *
 * Return: 0; -1 when nothing more is wanted.
 */
int rec_out_put(struct rec_out *o, enum rec_kind kind, unsigned cpu, uint32_t task, unsigned flags,
		uint32_t arg);
int rec_out_add(struct rec_out *o, struct rec r);
int rec_out_name(struct rec_out *o, const char *name);
int rec_out_flush(struct rec_out *o);
int rec_out_hold(struct rec_out *o);
int rec_out_release(struct rec_out *o, bool open);
void rec_out_end(struct rec_out *o);

#endif

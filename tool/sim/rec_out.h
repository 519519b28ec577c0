/* SPDX-License-Identifier: BSD-2-Clause */
/* Records on their way out: each with the time since the one before, and given away in batches. */
#ifndef SIM_REC_OUT_H
#define SIM_REC_OUT_H

#include "sim/rec.h"

#define REC_BATCH 4096u

struct rec_out {
	int (*give)(void *arg, struct rec *recs, size_t count); /* 0, or -1: stop */
	void *arg;
	uint64_t now_ns, written_ns;
	uint32_t written;
	size_t fill;
	struct rec batch[REC_BATCH];
};

/**
 * rec_out_put() - a record of what happens at @o->now_ns. Clocks of CPUs differ a little: time never
 * goes back. An END gets the number of records before it.
 * rec_out_add() - one that is complete.
 * rec_out_name() - the NAME that belongs to the record before.
 * rec_out_flush() - give away what is there.
 *
 * Return: 0; -1 when nothing more is wanted.
 */
int rec_out_put(struct rec_out *o, enum rec_kind kind, unsigned cpu, uint32_t task, unsigned flags,
		uint32_t arg);
int rec_out_add(struct rec_out *o, struct rec r);
int rec_out_name(struct rec_out *o, const char *name);
int rec_out_flush(struct rec_out *o);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of --state while a run lasts. Each trace begins where the one before it left off and
 * writes where the next will begin, beside the file; that is put in its place when all is done, so
 * that a run which fails has not moved it on.
 */
#ifndef SIM_STATE_H
#define SIM_STATE_H

#include "sim/replay.h"
#include "ui/outfile.h"

struct sim_state {
	const char *path;
	struct outfile next; /* what the last trace that is done left; f is NULL before the first */
};

/**
 * sim_state_begin() - @r goes on where the trace before ended, if there was one.
 * @of:  as replay_keep() has it.
 * @out: opened for sim_state_write(), else the caller drops it.
 *
 * Return: 0; -1 with one sentence in @err.
 */
int sim_state_begin(const struct sim_state *s, struct replay *r, struct rec_place *place, uint64_t of,
		    struct outfile *out, char *err, size_t errlen);

/**
 * sim_state_write() - the trace is over: @out becomes @s->next.
 */
int sim_state_write(struct sim_state *s, const struct replay *r, const struct rec_place *next,
		    uint64_t of, struct outfile *out, char *err, size_t errlen);

/**
 * sim_state_commit() - the run is over, and all is well.
 */
int sim_state_commit(struct sim_state *s, char *err, size_t errlen);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* One trace, read in whatever format it is, replayed under all policies at once. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "sim/result.h"
#include "sim/slots.h"
#include "sim/state.h"
#include "sim/synth.h"
#include "ui/outfile.h"

struct sim_plan {
	struct sim_result rows;  /* which policies; counts are zero */
	struct sim_use use;
	enum slots_signals signals;
	enum slots_sections sections;
	bool programs;           /* count by program too: slower */
	bool direct;             /* the engine for every record: slower, and the same */
	const char *save;        /* write the records there, or NULL */
	struct outfile *into; /* ... into this, opened already; or NULL */
	uint64_t cut;            /* in pieces of so many: save.0, save.1 and on; 0: whole */
	struct sim_state *state; /* begin where it left off, and write it; or NULL */
};

/**
 * sim_run() - replay @path ("-": standard input) and add the result to @sum.
 * @err: out, one sentence.
 *
 * What plan->state leaves behind the trace is put in its place by sim_state_commit(), when all traces are
 * done.
 *
 * Return: 0; -1 when the trace is no good; SIM_UNWRITTEN when the records or the state cannot be
 * written; TRACE_CANNOT when this machine lacks what reads the format, or memory.
 */
#define SIM_UNWRITTEN (-3)
int sim_run(const struct sim_plan *plan, const char *path, struct sim_result *sum, char *err,
	    size_t errlen);

/**
 * sim_run_synth() - the same with a made-up workload.
 */
int sim_run_synth(const struct sim_plan *plan, const struct synth *synth, struct sim_result *sum,
		  char *err, size_t errlen);

/* Where events come from while they happen: 0, or -1 with one sentence in @err, if it is the source's. */
struct sim_feed {
	int (*run)(void *arg, const struct trace_sink *sink, char *err, size_t errlen);
	void *arg;
};

/**
 * sim_record() - no policy at all: events as records, @out as below.
 */
int sim_record(const struct sim_feed *feed, struct outfile *out, enum slots_sections sections,
	       struct sim_totals *totals, char *err, size_t errlen);

/**
 * sim_convert() - no policy at all: a trace as records.
 * @out: opened; committed here when all is well, else the caller's to drop.
 */
int sim_convert(const char *path, struct outfile *out, enum slots_sections sections,
		struct sim_totals *totals, char *err, size_t errlen);

#endif

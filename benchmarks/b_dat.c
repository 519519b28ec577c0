// SPDX-License-Identifier: BSD-2-Clause
/*
 * How fast trace-cmd's files are read: b_dat TRACE.DAT. Beside it what its library takes to hand out
 * the same events to somebody who looks at none of them, and to one who asks it for the fields that
 * matter. Each round measures all, one after the other; by the wall's clock, since ours reads in a
 * process of its own, and the median of the rounds is told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trace-cmd.h>

#include "sim/run.h"

#define ROUNDS 9

enum { BARE, FIELDS, EVENTS, RECORDS, KINDS };

struct fields {
	struct tep_handle *tep;
	uint64_t count, sum;
	bool asked;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int on_record(struct tracecmd_input *handle, struct tep_record *r, int cpu, void *arg)
{
	static const char *const names[] = { "prev_pid", "next_pid", "prev_state", "xfeatures",
					     "load_fpu" };
	struct fields *f = arg;
	struct tep_event *e;
	unsigned long long v;

	(void)handle;
	f->count++;
	if (!f->asked)
		return 0;
	e = tep_find_event_by_record(f->tep, r);
	f->sum += (uint64_t)tep_data_pid(f->tep, r) + (uint64_t)cpu;
	for (size_t i = 0; e && i < sizeof(names) / sizeof(names[0]); i++)
		if (!tep_get_field_val(NULL, e, names[i], r, &v, 0))
			f->sum += v;
	return 0;
}

static double by_library(const char *path, bool asked)
{
	struct tracecmd_input *handle;
	struct fields f = { .asked = asked };
	double t = now();

	tracecmd_set_loglevel(TEP_LOG_NONE);
	handle = tracecmd_open(path, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!handle)
		exit(1);
	f.tep = tracecmd_get_tep(handle);
	if (tracecmd_iterate_events(handle, NULL, 0, on_record, &f) || !f.count)
		exit(1);
	tracecmd_close(handle);
	return (double)f.count / (now() - t);
}

static int ignore(void *arg, struct rec *recs, size_t count)
{
	(void)arg;
	(void)recs;
	(void)count;
	return 0;
}

static int look(void *arg, const struct trace_event *ev)
{
	*(uint64_t *)arg += ev->ns;
	return 0;
}

static double by_us(const char *path, bool records)
{
	const struct slots_sink sink = { ignore, NULL };
	uint64_t sum = 0;
	struct trace_tally tally;
	char err[400] = "";
	double t = now();
	struct slots *slots = slots_new(&sink, SLOTS_SIGNALS_AUTO, SLOTS_SECTIONS_AUTO);
	const struct trace_sink events = { records ? slots_event : look,
					   records ? (void *)slots : &sum };

	if (trace_read_dat(path, &events, &tally, err, sizeof(err)) ||
	    (records && slots_end(slots))) {
		fprintf(stderr, "%s\n", err);
		exit(1);
	}
	slots_free(slots);
	return (double)tally.lines / (now() - t);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static const char *const what[KINDS] = {
		"the library, nothing looked at", "the library, asked for the fields",
		"we, as events", "we, as records",
	};
	double v[KINDS][ROUNDS];

	if (argc != 2)
		return 2;
	for (int i = 0; i < ROUNDS; i++) {
		v[BARE][i] = by_library(argv[1], false);
		v[FIELDS][i] = by_library(argv[1], true);
		v[EVENTS][i] = by_us(argv[1], false);
		v[RECORDS][i] = by_us(argv[1], true);
	}
	for (int k = 0; k < KINDS; k++) {
		qsort(v[k], ROUNDS, sizeof(v[k][0]), by_value);
		printf("%-36s %6.2f M events/s, %.2f of the library's\n", what[k], v[k][ROUNDS / 2] / 1e6,
		       v[k][ROUNDS / 2] / v[BARE][ROUNDS / 2]);
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What else the machine did while we measured: other programs, the hypervisor's other guests, and
 * how long we waited for a CPU. Read from the kernel's own accounts before and after a run.
 */
#ifndef TOOL_STATS_LOAD_H
#define TOOL_STATS_LOAD_H

#include <stdbool.h>

/* One reading; all in seconds. */
struct stats_load {
	double clock;     /* monotonic */
	double busy;      /* all CPUs together, everybody, not idle and not stolen */
	double stolen;    /* all CPUs together, runnable but the hypervisor ran somebody else */
	double own;       /* CPU time of this process */
	double waiting;   /* this thread was runnable but another one ran */
	long involuntary; /* context switches of this thread it did not ask for */
	bool known;       /* false when the kernel gives no such accounts */
};

/* The difference of two readings, as shares of the time between them. */
struct stats_company {
	double others;  /* CPUs' worth of other programs: 1 is one CPU kept busy */
	double steal;   /* CPUs' worth stolen */
	double waiting; /* share of the time we waited */
	long involuntary;
	bool known;
};

/**
 * stats_load_read() - take a reading for the calling thread.
 * @out: filled; @out->known is false when /proc does not have what is needed.
 */
void stats_load_read(struct stats_load *out);

/**
 * stats_load_parse() - the first line of /proc/stat and a thread's schedstat, as numbers.
 * @stat:      text beginning with "cpu  "; in ticks of 1 / @hz s.
 * @schedstat: three numbers, nanoseconds run, nanoseconds waited, slices; NULL when missing.
 * @hz:	       ticks per second.
 * @out:       busy, stolen and waiting are set; the rest stays.
 *
 * Return: false when @stat is not what the kernel writes.
 */
bool stats_load_parse(const char *stat, const char *schedstat, double hz, struct stats_load *out);

/**
 * stats_load_between() - what happened between two readings.
 */
struct stats_company stats_load_between(const struct stats_load *before,
					const struct stats_load *after);

#endif

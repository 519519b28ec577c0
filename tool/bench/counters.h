/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hardware counters, read around whole slices in a pass of their own: an open counter makes
 * interrupts and context switches dearer, so it must not be there while time is taken.
 */
#ifndef TOOL_BENCH_COUNTERS_H
#define TOOL_BENCH_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#define COUNTERS_MAX 4

struct counter_kind {
	const char *name;
	uint32_t type; /* PERF_TYPE_... */
	uint64_t config;
};

struct counters {
	int fd[COUNTERS_MAX];
	unsigned n;
	char why_not[120]; /* "" when they count */
};

/* Cycles and instructions of user mode. */
extern const struct counter_kind counters_core[2];

/**
 * counters_open() - open counters for the calling thread, stopped.
 * @kinds: up to COUNTERS_MAX; counted as one group, so for the same time.
 *
 * Return: false when there are none here; @c->why_not is a clause that says why.
 */
bool counters_open(struct counters *c, const struct counter_kind *kinds, unsigned n);

/**
 * counters_start() - set to zero and count.
 */
void counters_start(const struct counters *c);

/**
 * counters_stop() - stop and read.
 * @values: out, one for each.
 *
 * Return: false when the group did not count all the time (others share the hardware).
 */
bool counters_stop(const struct counters *c, uint64_t *values);

/**
 * counters_close() - close them; @c may never have been opened if it is zeroed.
 */
void counters_close(struct counters *c);

#endif

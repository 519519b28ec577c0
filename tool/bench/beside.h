/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Somebody else's benchmark run in the same blocks as ours, for whoever doubts one of them. The
 * other program has to print its rate now and then in a line with "total:N", as will-it-scale's
 * programs do: switches in the second before.
 */
#ifndef TOOL_BENCH_BESIDE_H
#define TOOL_BENCH_BESIDE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "pair.h"
#include "stats/series.h"

struct beside {
	const char *program; /* a shell command; NULL: not asked for */
	const char *row;     /* id of what ours does */
	uint32_t blocks, done;
	double *theirs, *ours; /* switches per second, block after block */
	struct stats_spread their_spread, our_spread;
	struct stats_estimate ratio; /* logarithm of theirs / ours */
};

/**
 * beside_measure() - a second of theirs and a second of ours in each block, in random order.
 * @b:	   @program, @row and @blocks given.
 * @rig:   open; the other program inherits CPU and scheduling class as our partner does.
 * @who:   our partner.
 * @cpu:   its CPU.
 * @work:  what ours does; its loops are chosen here.
 * @done:  told after each block; may be NULL.
 * @why:   out, on failure, one clause.
 *
 * Both are started anew in every block, so that the interval covers where the kernel happens to put
 * them. Return: false when one of the two does not run.
 */
bool beside_measure(struct beside *b, struct bench_rig *rig, enum pair_who who, int cpu,
                    const struct pair_work *work, uint64_t seed, const volatile sig_atomic_t *stop,
                    void (*done)(uint32_t blocks), const char **why);

/**
 * beside_total() - the number behind "total:" in a line; false when there is none.
 */
bool beside_total(const char *line, double *total);

/**
 * beside_close() - give everything back.
 */
void beside_close(struct beside *b);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw result of a run: one time per block and arm, or the reason why there is none. Every
 * answer is a series over blocks made from it: a log-ratio of two arms of the same block, or the
 * cycles by which one arm exceeds another.
 */
#ifndef TOOL_STATS_SAMPLES_H
#define TOOL_STATS_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "series.h"

/* Why a sample does not count. */
enum stats_drop {
	STATS_KEPT,
	STATS_DROP_SWITCH,      /* the kernel ran something else during it */
	STATS_DROP_CALIBRATION, /* the clock ran > 2 % off this block's own */
	STATS_DROP_STATE,       /* the state under test became another one */
	STATS_DROP_FAILED,      /* the code under test faulted or could not run */
	STATS_NOT_TAKEN,        /* the run ended before it */
	STATS_DROPS
};

extern const char *const stats_drop_name[STATS_DROPS];

#define STATS_CALIBRATION_TOLERANCE 0.02

struct stats_samples {
	uint32_t blocks; /* planned */
	uint32_t arms;
	uint32_t taken;          /* blocks that were completed */
	double *ticks;           /* [block * arms + arm], TSC ticks */
	uint8_t *drop;           /* [block * arms + arm], enum stats_drop */
	double *cycles_per_tick; /* [block] */
};

/**
 * stats_samples_init() - room for a run; everything STATS_NOT_TAKEN.
 *
 * Return: false when memory is short, with @s empty.
 */
bool stats_samples_init(struct stats_samples *s, uint32_t blocks, uint32_t arms);

/**
 * stats_samples_free() - give the room back; @s may be empty.
 */
void stats_samples_free(struct stats_samples *s);

/**
 * stats_samples_count() - samples of @arm with the given fate; @arm == s->arms counts all arms.
 */
uint32_t stats_samples_count(const struct stats_samples *s, uint32_t arm, enum stats_drop drop);

/**
 * stats_samples_dropped() - share of the samples taken that do not count, all arms together.
 */
double stats_samples_dropped(const struct stats_samples *s);

/**
 * stats_series_level() - one arm's core cycles, block after block, as far as they were kept.
 * @s:	   the run.
 * @arm:   which arm.
 * @units: divide by this (loops times copies in a loop).
 * @out:   room for s->blocks values.
 *
 * Return: how many values were written.
 */
size_t stats_series_level(const struct stats_samples *s, uint32_t arm, double units, double *out);

/**
 * stats_sample_cost() - core cycles by which arm @more exceeds arm @less in one block.
 * @units: divide by this; what @more does more often than @less.
 *
 * Return: the cost, or NAN where one of the two was not kept.
 */
double stats_sample_cost(const struct stats_samples *s, uint32_t block, uint32_t more,
			 uint32_t less, double units);

/**
 * stats_series_cost() - stats_sample_cost() of all blocks that have one.
 *
 * Return: how many values were written to @out, which has room for s->blocks.
 */
size_t stats_series_cost(const struct stats_samples *s, uint32_t more, uint32_t less, double units,
			 double *out);

/**
 * stats_series_ratio() - log(arm / base) per block, where both were kept.
 *
 * Return: how many values were written to @out, which has room for s->blocks.
 */
size_t stats_series_ratio(const struct stats_samples *s, uint32_t arm, uint32_t base, double *out);

/**
 * stats_series_to_mean() - an arm against a base that a block measures several times.
 * @base:   the first of its arms; they are neighbours, and of as many units each as @arm.
 * @copies: how many.
 * @ratio:  out: log(arm / base), the mean of the logarithms of those that were kept.
 * @cost:   out: core cycles by which @arm exceeds them on average, by @units.
 *
 * Where many arms are compared with one, its share of their errors shrinks with each copy: for
 * k arms the square root of k copies make the most of the time.
 * Ref:     Dunnett, "A Multiple Comparison Procedure for Comparing Several Treatments with a Control"
 *
 * Return: how many values were written to each of the two, which have room for s->blocks.
 */
size_t stats_series_to_mean(const struct stats_samples *s, uint32_t arm, uint32_t base,
			    uint32_t copies, double units, double *ratio, double *cost);

/**
 * stats_compare() - the paired effect of @arm against @base, in logarithms.
 * @seed: of the bootstrap.
 * @out:  filled; exp(middle) - 1 is the relative difference.
 *
 * Return: false when memory is short.
 */
bool stats_compare(const struct stats_samples *s, uint32_t arm, uint32_t base, uint64_t seed,
		   struct stats_estimate *out);

#endif

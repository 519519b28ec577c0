// SPDX-License-Identifier: BSD-2-Clause
/*
 * The whole method on simulated machines whose truth is known: over 2000 runs each, how often the
 * 95 % interval holds the true effect and how often two equal arms are called different. The same
 * machines measured the old way, one variant after the other, must fail the same limits: a test
 * that this could not fail would prove nothing.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>

#include "machine.h"
#include "stats/plan.h"

#define TRIALS 2000
#define BLOCKS 600

static uint64_t seed = 20240611;
static bool full;

/* Arms of a simulated run: the base, the base again, doses of 0.2 % and 0.4 %. */
enum { BASE, SAME, DOSE2, DOSE4, ARMS };

struct tally {
	unsigned trials, alarms, covered, looked;
};

/* 2000 runs over all kinds of machine; with --full 2000 of each. */
static unsigned trials_per_kind(void)
{
	return full ? TRIALS : (TRIALS + machine_kind_count - 1) / machine_kind_count;
}

static void paired_trial(gsl_rng *rng, const struct machine_kind *kind, uint64_t trial,
			 uint32_t dose, struct tally *t)
{
	const double effect[ARMS] = {0, 0, log1p(0.002), log1p(0.004)};
	struct stats_samples s;
	struct stats_estimate e;

	assert_true(stats_samples_init(&s, BLOCKS, ARMS));
	machine_paired(rng, kind, effect, &s);
	assert_true(stats_compare(&s, SAME, BASE, stats_seed_mix(seed, trial), &e));
	t->alarms += !(e.low <= 0 && 0 <= e.high);
	t->covered += e.low <= 0 && 0 <= e.high;
	assert_true(stats_compare(&s, dose, BASE, stats_seed_mix(seed, trial + 1), &e));
	t->covered += e.low <= effect[dose] && effect[dose] <= e.high;
	t->looked += 2;
	t->trials++;
	stats_samples_free(&s);
}

static void check(const char *name, const struct tally *t)
{
	double coverage = (double)t->covered / t->looked, alarms = (double)t->alarms / t->trials;

	print_message("%-48s %u runs: coverage %.1f %%, A/A alarms %.1f %%\n", name, t->trials,
		      100 * coverage, 100 * alarms);
	assert_true(coverage >= 0.93 && coverage <= 0.97);
	assert_true(alarms <= 0.07);
}

static void paired_intervals_cover(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
	struct tally all = {0};

	(void)state;
	gsl_rng_set(rng, (unsigned long)seed);
	for (unsigned k = 0; k < machine_kind_count; k++) {
		struct tally t = {0};
		unsigned n = trials_per_kind();

		for (unsigned i = 0; i < n; i++)
			paired_trial(rng, &machine_kinds[k], 2 * i, i & 1 ? DOSE2 : DOSE4, &t);
		if (full)
			check(machine_kinds[k].name, &t);
		all.trials += t.trials;
		all.alarms += t.alarms;
		all.covered += t.covered;
		all.looked += t.looked;
	}
	check("all machines, paired", &all);
	gsl_rng_free(rng);
}

/* Welch's test at 5 %, as ten runs before and ten runs after a change are judged. */
static bool welch_differs(const double *x, const double *y, unsigned n)
{
	double mx = gsl_stats_mean(x, 1, n), my = gsl_stats_mean(y, 1, n);
	double vx = gsl_stats_variance_m(x, 1, n, mx) / n,
	       vy = gsl_stats_variance_m(y, 1, n, my) / n;
	double df = (vx + vy) * (vx + vy) / ((vx * vx + vy * vy) / (n - 1));

	return fabs(mx - my) > gsl_cdf_tdist_Pinv(0.975, df) * sqrt(vx + vy);
}

static void sequential_means_fail(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
	double *x = malloc(BLOCKS * sizeof(*x)), *y = malloc(BLOCKS * sizeof(*y));

	(void)state;
	gsl_rng_set(rng, (unsigned long)seed + 1);
	for (unsigned k = 0; k < machine_kind_count; k++) {
		unsigned alarms = 0, n = trials_per_kind();

		for (unsigned i = 0; i < n; i++) {
			machine_sequential(rng, &machine_kinds[k], 0, BLOCKS, x, y);
			alarms += welch_differs(x, y, BLOCKS);
		}
		print_message("%-48s %u runs: A/A alarms %.1f %% when measured AAAA BBBB\n",
			      machine_kinds[k].name, n, 100.0 * alarms / n);
		assert_true(alarms > 0.07 * n);
	}
	free(x);
	free(y);
	gsl_rng_free(rng);
}

/* Independent blocks resampled one by one: what forgetting the correlation would cost. */
static void single_blocks_fail(void **state)
{
	const struct machine_kind *kind = &machine_kinds[2]; /* memory 0.5 */
	const double effect[2] = {0, 0};
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
	double *x = malloc(BLOCKS * sizeof(*x));
	unsigned alarms = 0, trials = trials_per_kind();

	(void)state;
	gsl_rng_set(rng, (unsigned long)seed + 2);
	for (unsigned i = 0; i < trials; i++) {
		struct stats_samples s;
		size_t n;

		assert_true(stats_samples_init(&s, BLOCKS, 2));
		machine_paired(rng, kind, effect, &s);
		n = stats_series_ratio(&s, 1, 0, x);
		alarms += fabs(stats_trimmed_mean(x, n, STATS_TRIM)) >
			  1.96 * stats_bootstrap_se(x, n, 1, i);
		stats_samples_free(&s);
	}
	print_message("%-48s %u runs: A/A alarms %.1f %% when blocks count as independent\n",
		      kind->name, trials, 100.0 * alarms / trials);
	assert_true(alarms > 0.07 * trials);
	free(x);
	gsl_rng_free(rng);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paired_intervals_cover),
		cmocka_unit_test(sequential_means_fail),
		cmocka_unit_test(single_blocks_fail),
	};
	const char *given = getenv("XST_SEED");

	full = argc > 1 && !strcmp(argv[1], "--full");
	if (given)
		seed = strtoull(given, NULL, 0);
	print_message("seed %llu (XST_SEED gives another)\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

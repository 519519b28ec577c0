// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each estimator of tool/stats against values worked out by hand or known from theory.
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
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "stats/load.h"
#include "stats/plan.h"
#include "stats/samples.h"
#include "stats/series.h"

static unsigned long seed = 4711;

static void assert_near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("got %.9g, want %.9g +- %.3g (seed %lu)", got, want, tolerance, seed);
}

/* An AR(1) series with unit variance. */
static double *series(size_t n, double memory, unsigned long s)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
	double *x = malloc(n * sizeof(*x)), last;

	assert_non_null(x);
	gsl_rng_set(rng, s);
	last = gsl_ran_gaussian(rng, 1);
	for (size_t i = 0; i < n; i++) {
		last = memory * last + sqrt(1 - memory * memory) * gsl_ran_gaussian(rng, 1);
		x[i] = last;
	}
	gsl_rng_free(rng);
	return x;
}

static void trimmed_mean_by_hand(void **state)
{
	const double ten[] = {7, 1, 10, 4, 2, 9, 5, 3, 8, 6};
	const double wild[] = {1000, 1, 2, 3, 4, 5, 6, 7, 8, -1e9};
	const double one[] = {42};

	(void)state;
	assert_near(stats_trimmed_mean(ten, 10, 0.10), 5.5, 1e-12);
	assert_near(stats_trimmed_mean(wild, 10, 0.10), 4.5, 1e-12);
	assert_near(stats_trimmed_mean(wild, 10, 0.0), (1036 - 1e9) / 10, 1e-6);
	assert_near(stats_trimmed_mean(wild, 9, 0.10), 1036.0 / 9, 1e-9); /* floor(0.9) = 0 cut */
	assert_near(stats_trimmed_mean(one, 1, 0.10), 42, 0);
	assert_true(isnan(stats_trimmed_mean(one, 0, 0.10)));
}

static void spread_by_hand(void **state)
{
	const double x[] = {5, 1, 4, 2, 3};
	struct stats_spread s;

	(void)state;
	stats_spread_of(x, 5, &s);
	assert_near(s.median, 3, 0);
	assert_near(s.low_quartile, 2, 1e-12);
	assert_near(s.high_quartile, 4, 1e-12);
	assert_near(s.p05, 1.2, 1e-12);
	assert_near(s.p95, 4.8, 1e-12);
	assert_near(s.minimum, 1, 0);
	assert_near(s.maximum, 5, 0);
	stats_spread_of(x, 0, &s);
	assert_true(isnan(s.median) && s.n == 0);
}

static void lag1_of_known_series(void **state)
{
	double flip[100], flat[100], *ar = series(20000, 0.5, seed);

	(void)state;
	for (int i = 0; i < 100; i++) {
		flip[i] = i & 1 ? 1 : -1;
		flat[i] = 3.25;
	}
	assert_near(stats_lag1(flip, 100), -0.99, 0.011);
	assert_near(stats_lag1(flat, 100), 0, 0);
	assert_near(stats_lag1(flip, 2), 0, 0);
	/* Pulling in the tails costs a little of the correlation, an outlier costs nothing. */
	assert_near(stats_lag1(ar, 20000), 0.48, 0.03);
	ar[777] = 1e6;
	assert_near(stats_lag1(ar, 20000), 0.48, 0.03);
	free(ar);
}

/* Asymptotic variance of the 10 % trimmed mean of a normal sample: 1.0604 / n. */
static void bootstrap_of_independent_values(void **state)
{
	double *x = series(2000, 0, seed + 1), flat[50];
	double want = sqrt(1.0604 / 2000);

	(void)state;
	assert_near(stats_bootstrap_se(x, 2000, 1, 1), want, 0.07 * want);
	assert_near(stats_bootstrap_se(x, 2000, 33, 1), want, 0.20 * want);
	assert_true(stats_bootstrap_se(x, 2000, 33, 5) == stats_bootstrap_se(x, 2000, 33, 5));
	assert_true(stats_bootstrap_se(x, 2000, 33, 5) != stats_bootstrap_se(x, 2000, 33, 6));
	for (int i = 0; i < 50; i++)
		flat[i] = -2.5;
	assert_near(stats_bootstrap_se(flat, 50, 5, 1), 0, 1e-12);
	assert_true(isnan(stats_bootstrap_se(x, 1, 1, 1)));
	assert_true(isnan(stats_bootstrap_se(x, 10, 11, 1)));
	assert_true(isnan(stats_bootstrap_se(x, 10, 0, 1)));
	free(x);
}

/* AR(1) with coefficient a: the mean's variance is (1 + a) / (1 - a) that of independent values. */
static void bootstrap_sees_correlation(void **state)
{
	double sum = 0, want = sqrt(3.0 / 3000), single = 0;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		double *x = series(3000, 0.5, seed + 100 + i);

		sum += stats_bootstrap_se(x, 3000, 50, i) / 20;
		single += stats_bootstrap_se(x, 3000, 1, i) / 20;
		free(x);
	}
	assert_near(sum, want, 0.08 * want);
	assert_true(single < 0.65 * want);
}

static void stretch_factor_by_hand(void **state)
{
	(void)state;
	assert_near(stats_stretch_factor(0, 10), 1, 0);
	assert_near(stats_stretch_factor(-0.3, 10), 1, 0);
	assert_near(stats_stretch_factor(0.5, 1), 3, 1e-12);
	/* 1 + 2 (0.5 * 1/2) = 1.5 of 3 */
	assert_near(stats_stretch_factor(0.5, 2), 2, 1e-12);
	/* 1 + 2 (0.5 * 2/3 + 0.25 * 1/3) = 11/6 of 3 */
	assert_near(stats_stretch_factor(0.5, 3), 18.0 / 11, 1e-12);
	assert_near(stats_stretch_factor(0.5, 100000), 1, 1e-4);
}

static void estimate_of_known_series(void **state)
{
	double *x = series(600, 0, seed + 2);
	struct stats_estimate e;

	(void)state;
	stats_estimate_of(x, 600, 9, &e);
	assert_int_equal(e.n, 600);
	assert_int_equal(e.stretch, 10);
	assert_near(e.df, 90, 1e-9);
	assert_near(e.middle, stats_trimmed_mean(x, 600, 0.10), 0);
	assert_near(e.mde, 2.8 * e.se, 1e-12);
	assert_near((e.high - e.low) / 2, 1.98667 * e.se, 1e-5 * e.se + 1e-9); /* t(0.975, 90) */
	stats_estimate_of(x, 100, 9, &e);
	assert_int_equal(e.stretch, 5); /* the cube root where a sixtieth would be too short */
	stats_estimate_of(x, STATS_MIN_SERIES - 1, 9, &e);
	assert_int_equal(e.n, STATS_MIN_SERIES - 1);
	assert_true(isfinite(e.middle));
	assert_true(isnan(e.se) && isnan(e.low) && isnan(e.high) && isnan(e.mde));
	free(x);
}

static void plan_is_random_and_repeatable(void **state)
{
	enum { ARMS = 7, BLOCKS = 7000 };
	const struct stats_plan plan = {.seed = seed, .blocks = BLOCKS, .arms = ARMS};
	const struct stats_plan other = {.seed = seed + 1, .blocks = BLOCKS, .arms = ARMS};
	unsigned at[ARMS][ARMS] = {{0}}, follows = 0, moved = 0;
	uint32_t order[ARMS], again[ARMS];
	double chi2 = 0;

	(void)state;
	for (uint32_t b = 0; b < BLOCKS; b++) {
		uint64_t place = stats_plan_block(&plan, b, order);
		unsigned seen = 0;

		assert_true(place == stats_plan_block(&plan, b, again));
		assert_memory_equal(order, again, sizeof(order));
		moved += place != stats_plan_block(&other, b, again);
		for (unsigned i = 0; i < ARMS; i++) {
			assert_true(order[i] < ARMS);
			seen |= 1u << order[i];
			at[order[i]][i]++;
			follows += i && order[i] == 1 && order[i - 1] == 0;
		}
		assert_int_equal(seen, (1u << ARMS) - 1);
	}
	assert_int_equal(moved, BLOCKS);
	for (unsigned a = 0; a < ARMS; a++)
		for (unsigned i = 0; i < ARMS; i++)
			chi2 += pow(at[a][i] - 1000.0, 2) / 1000;
	assert_true(chi2 < 73);                  /* 36 degrees of freedom, 99.97 % */
	assert_near(follows, BLOCKS / 7.0, 120); /* 0 just before 1: 1 in 7; 4 sigma */
	assert_int_equal(stats_plan_blocks_for(30, 0.05), 600);
	assert_int_equal(stats_plan_blocks_for(0.01, 0.05), 1);
	assert_int_equal(stats_plan_blocks_for(5, 0), 1);
}

/* The arm against the mean of what was kept of its base's copies. */
static void a_base_may_have_copies(void **state)
{
	struct stats_samples s;
	double ratio[3], cost[3];

	(void)state;
	assert_true(stats_samples_init(&s, 3, 4));
	for (unsigned b = 0; b < 3; b++) {
		s.cycles_per_tick[b] = 2;
		for (unsigned a = 0; a < 4; a++) {
			s.ticks[4 * b + a] = a < 3 ? 100 << a : 500;
			s.drop[4 * b + a] = STATS_KEPT;
		}
	}
	s.taken = 3;
	s.drop[4 + 2] = STATS_DROP_SWITCH; /* a copy of block 1 */
	s.drop[8 + 0] = s.drop[8 + 1] = s.drop[8 + 2] = STATS_DROP_SWITCH; /* all of block 2 */
	assert_int_equal(stats_series_to_mean(&s, 3, 0, 3, 10, ratio, cost), 2);
	assert_near(ratio[0], log(500 / 200.0), 1e-12);
	assert_near(cost[0], (500 - 700 / 3.0) * 2 / 10, 1e-12);
	assert_near(ratio[1], log(500 / (100 * sqrt(2))), 1e-12);
	assert_near(cost[1], (500 - 150) * 2 / 10.0, 1e-12);
	s.drop[3] = STATS_DROP_SWITCH;
	assert_int_equal(stats_series_to_mean(&s, 3, 0, 3, 10, ratio, cost), 1);
	stats_samples_free(&s);
}

static void series_use_whole_pairs_only(void **state)
{
	struct stats_samples s;
	double x[4];

	(void)state;
	assert_true(stats_samples_init(&s, 4, 2));
	assert_int_equal(stats_samples_count(&s, 2, STATS_NOT_TAKEN), 8);
	assert_near(stats_samples_dropped(&s), 0, 0);
	for (unsigned b = 0; b < 3; b++) {
		s.cycles_per_tick[b] = 2;
		s.ticks[2 * b] = 100;
		s.ticks[2 * b + 1] = 110 + b;
		s.drop[2 * b] = s.drop[2 * b + 1] = STATS_KEPT;
	}
	s.drop[3] = STATS_DROP_SWITCH; /* arm 1 of block 1 */
	s.taken = 3;
	assert_int_equal(stats_series_level(&s, 0, 10, x), 3);
	assert_near(x[0], 20, 1e-12);
	assert_int_equal(stats_series_level(&s, 1, 10, x), 2);
	assert_near(x[1], 22.4, 1e-12);
	assert_int_equal(stats_series_cost(&s, 1, 0, 4, x), 2);
	assert_near(x[0], 5, 1e-12);
	assert_near(x[1], 6, 1e-12);
	assert_int_equal(stats_series_ratio(&s, 1, 0, x), 2);
	assert_near(x[0], log(1.10), 1e-12);
	assert_near(x[1], log(1.12), 1e-12);
	assert_int_equal(stats_samples_count(&s, 1, STATS_DROP_SWITCH), 1);
	assert_int_equal(stats_samples_count(&s, 0, STATS_DROP_SWITCH), 0);
	assert_near(stats_samples_dropped(&s), 1.0 / 6, 1e-12);
	stats_samples_free(&s);
	assert_false(stats_samples_init(&s, 0, 2));
}

static void load_from_the_kernels_accounts(void **state)
{
	struct stats_load a = {.clock = 10, .own = 1, .known = true}, b = a;
	struct stats_company c;

	(void)state;
	assert_true(
		stats_load_parse("cpu  100 20 30 4000 50 6 7 80 0 0\n", "5 2000000000 9", 100, &a));
	assert_near(a.busy, 1.63, 1e-12);
	assert_near(a.stolen, 0.8, 1e-12);
	assert_near(a.waiting, 2, 1e-12);
	b.clock = 20;
	b.own = 9;
	b.involuntary = 5;
	assert_true(stats_load_parse("cpu  1900 20 30 9000 50 6 7 130 0 0\n", "5 4500000000 9", 100,
				     &b));
	c = stats_load_between(&a, &b);
	assert_true(c.known);
	assert_near(c.others, 1.0, 1e-9); /* 18 s busy, 8 ours, in 10 s */
	assert_near(c.steal, 0.05, 1e-9);
	assert_near(c.waiting, 0.25, 1e-9);
	assert_int_equal(c.involuntary, 5);
	assert_true(
		stats_load_parse("cpu  1 2 3 4 5 6 7\n", NULL, 100, &a)); /* before Linux 2.6.11 */
	assert_near(a.stolen, 0, 0);
	assert_false(stats_load_parse(&"cpu0 1 2 3 4 5 6 7 8\n"[5], NULL, 100, &a));
	assert_false(stats_load_parse("intr 1 2 3 4 5 6 7 8\n", NULL, 100, &a));
	stats_load_read(&a);
	assert_true(a.clock > 0 && a.own > 0);
	a.known = false;
	assert_false(stats_load_between(&a, &b).known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trimmed_mean_by_hand),
		cmocka_unit_test(spread_by_hand),
		cmocka_unit_test(lag1_of_known_series),
		cmocka_unit_test(bootstrap_of_independent_values),
		cmocka_unit_test(bootstrap_sees_correlation),
		cmocka_unit_test(stretch_factor_by_hand),
		cmocka_unit_test(estimate_of_known_series),
		cmocka_unit_test(plan_is_random_and_repeatable),
		cmocka_unit_test(series_use_whole_pairs_only),
		cmocka_unit_test(a_base_may_have_copies),
		cmocka_unit_test(load_from_the_kernels_accounts),
	};
	const char *given = getenv("XST_SEED");

	if (given)
		seed = strtoul(given, NULL, 0);
	print_message("seed %lu (XST_SEED gives another)\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

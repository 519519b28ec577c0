// SPDX-License-Identifier: BSD-2-Clause
/*
 * The protocol's loop on an imagined machine, and the gate: every reason for which it refuses.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "stats/gate.h"
#include "stats/run.h"

enum { ARMS = 4, BLOCKS = 50 };

/* Arm a takes 1000 + a ticks; the clock of block b makes 2 + b / 100 cycles in a tick. */
struct world {
	unsigned calls, per_arm[ARMS], between;
	uint64_t placement[BLOCKS];
	bool same_placement;
	uint32_t stop_after;
	volatile sig_atomic_t stop;
};

static void imagine(void *world, uint32_t arm, uint64_t placement, struct stats_slice *out)
{
	struct world *w = world;
	unsigned block = w->calls / ARMS;

	if (w->calls % ARMS == 0)
		w->placement[block] = placement;
	w->same_placement &= w->placement[block] == placement;
	w->calls++;
	w->per_arm[arm]++;
	out->ticks = 1000 + arm;
	out->calibration_cycles = 6000;
	for (int i = 0; i < 2; i++)
		out->calibration_ticks[i] = 6000 / (2 + block / 100.0);
	out->switched = block == 3 && arm == 1;
	out->failed = arm == 3;
	if (block == 5 && arm == 2)
		out->calibration_ticks[1] *= 1.021;
	if (block == 6 && arm == 2)
		out->calibration_ticks[0] *= 0.979;
	if (block == 7 && arm == 2)
		out->calibration_ticks[0] *= 1.019;
}

static void count_between(void *world, uint32_t done, uint32_t blocks)
{
	struct world *w = world;

	w->between++;
	assert_int_equal(w->between, done);
	assert_int_equal(blocks, BLOCKS);
	if (done == w->stop_after)
		w->stop = 1;
}

static void run_follows_the_protocol(void **state)
{
	const struct stats_plan plan = {.seed = 99, .blocks = BLOCKS, .arms = ARMS};
	struct world w = {.same_placement = true};
	struct stats_bench bench = {.world = &w, .measure = imagine, .between = count_between};
	struct stats_samples s;
	double x[BLOCKS];

	(void)state;
	assert_true(stats_samples_init(&s, BLOCKS, ARMS));
	assert_true(stats_run(&bench, &plan, &s));
	assert_int_equal(s.taken, BLOCKS);
	assert_int_equal(w.between, BLOCKS);
	assert_true(w.same_placement);
	for (unsigned a = 0; a < ARMS; a++)
		assert_int_equal(w.per_arm[a], BLOCKS);
	for (unsigned b = 1; b < BLOCKS; b++)
		assert_true(w.placement[b] != w.placement[b - 1]);
	assert_int_equal(s.drop[3 * ARMS + 1], STATS_DROP_SWITCH);
	assert_int_equal(s.drop[5 * ARMS + 2], STATS_DROP_CALIBRATION);
	assert_int_equal(s.drop[6 * ARMS + 2], STATS_DROP_CALIBRATION);
	assert_int_equal(s.drop[7 * ARMS + 2], STATS_KEPT);
	assert_int_equal(stats_samples_count(&s, 3, STATS_DROP_FAILED), BLOCKS);
	assert_int_equal(stats_samples_count(&s, 0, STATS_KEPT), BLOCKS);
	/* A clock that changes between blocks is followed, not dropped. */
	assert_int_equal(stats_series_level(&s, 0, 1000, x), BLOCKS);
	assert_true(fabs(x[0] - 2) < 1e-9 && fabs(x[49] - 2.49) < 1e-9);
	stats_samples_free(&s);
	assert_true(stats_samples_init(&s, BLOCKS, ARMS - 1));
	assert_false(stats_run(&bench, &plan, &s));
	stats_samples_free(&s);
}

static void run_stops_between_blocks(void **state)
{
	const struct stats_plan plan = {.seed = 99, .blocks = BLOCKS, .arms = ARMS};
	struct world w = {.same_placement = true, .stop_after = 20};
	struct stats_bench bench = {
		.world = &w, .measure = imagine, .between = count_between, .stop = &w.stop};
	struct stats_samples s;

	(void)state;
	assert_true(stats_samples_init(&s, BLOCKS, ARMS));
	assert_true(stats_run(&bench, &plan, &s));
	assert_int_equal(s.taken, 20);
	assert_int_equal(stats_samples_count(&s, ARMS, STATS_NOT_TAKEN), (BLOCKS - 20) * ARMS);
	stats_samples_free(&s);
}

static struct stats_control control(const char *name, double truth, double read, double se)
{
	struct stats_control c = {.name = name, .truth = log1p(truth)};

	c.estimate = (struct stats_estimate){
		.n = 600, .middle = log1p(read), .se = se, .df = 90, .mde = 2.8 * se};
	c.estimate.low = c.estimate.middle - 1.987 * se;
	c.estimate.high = c.estimate.middle + 1.987 * se;
	return c;
}

static void gate_rules(void **state)
{
	struct stats_noise calm = {.throughput_spread = 0.02, .others = 0.05, .lag1 = 0.3};
	struct stats_control c[3] = {control("A/A", 0, 0.0001, 0.0002),
				     control("dose 1", 0.002, 0.0023, 0.0002),
				     control("dose 2", 0.004, 0.0038, 0.0003)};
	struct stats_verdict v;

	(void)state;
	stats_gate(&calm, c, 3, 0.002, true, &v);
	assert_int_equal(v.ruling, STATS_RESOLVED);
	assert_true(fabs(v.mde - expm1(2.8 * 0.0003)) < 1e-12);
	assert_non_null(strstr(v.reason, "0.200 %"));

	stats_gate(&calm, c, 3, 0.0005, true, &v);
	assert_int_equal(v.ruling, STATS_REFUSED_POWER);
	assert_non_null(strstr(v.reason, "0.084 %"));
	stats_gate(&calm, c, 3, 0.002, false, &v);
	assert_int_equal(v.ruling, STATS_REFUSED_SHORT);
	stats_gate(&calm, c, 0, 0.002, true, &v);
	assert_int_equal(v.ruling, STATS_REFUSED_POWER);

	c[0] = control("A/A", 0, 0.0010, 0.0002);
	stats_gate(&calm, c, 3, 0.002, true, &v);
	assert_int_equal(v.ruling, STATS_REFUSED_CONTROL);
	assert_non_null(strstr(v.reason, "A/A"));
	c[0] = control("A/A", 0, 0.0, 0.0002);
	c[1] = control("dose 1", 0.002, 0.0011, 0.0002);
	stats_gate(&calm, c, 3, 0.002, true, &v);
	assert_int_equal(v.ruling, STATS_REFUSED_CONTROL);
	assert_non_null(strstr(v.reason, "dose 1"));
	/* Power enough by the rule of thumb, and yet this dose was not seen. */
	c[1] = control("dose 1", 0.0021, 0.0005, 0.0007);
	stats_gate(&calm, c, 3, 0.0021, true, &v);
	assert_int_equal(v.ruling, STATS_REFUSED_UNSEEN);
	c[1].estimate.n = STATS_MIN_SERIES - 1;
	stats_gate(&calm, c, 3, 0.002, true, &v);
	assert_int_equal(v.ruling, STATS_REFUSED_SHORT);
	assert_non_null(strstr(v.reason, "19 usable blocks"));
}

/* Every figure alone is enough, and the sentence names it; one that is not known
 * is no better. */
static void gate_hears_every_noise(void **state)
{
	const struct stats_control good = control("A/A", 0, 0.0001, 0.0002);
	const struct {
		size_t at;
		const char *says;
	} figure[] = {
		{offsetof(struct stats_noise, throughput_spread), "throughput canary"},
		{offsetof(struct stats_noise, latency_spread), "latency canary"},
		{offsetof(struct stats_noise, dropped), "dropped"},
		{offsetof(struct stats_noise, steal), "hypervisor"},
		{offsetof(struct stats_noise, waiting), "waiting"},
		{offsetof(struct stats_noise, others), "other programs"},
		{offsetof(struct stats_noise, lag1), "correlate"},
	};
	struct stats_verdict v;

	(void)state;
	assert_int_equal(sizeof(figure) / sizeof(figure[0]),
			 sizeof(struct stats_noise) / sizeof(double));
	for (size_t i = 0; i < sizeof(figure) / sizeof(figure[0]); i++) {
		struct stats_noise noise = stats_noise_limits;
		double *x = (double *)((char *)&noise + figure[i].at);

		stats_gate(&noise, &good, 1, 0.002, true, &v);
		assert_int_equal(v.ruling, STATS_RESOLVED);
		*x *= 1.01;
		stats_gate(&noise, &good, 1, 0.002, true, &v);
		assert_int_equal(v.ruling, STATS_REFUSED_NOISE);
		assert_non_null(strstr(v.reason, figure[i].says));
		*x = NAN;
		stats_gate(&noise, &good, 1, 0.002, true, &v);
		assert_int_equal(v.ruling, STATS_REFUSED_NOISE);
		assert_non_null(strstr(v.reason, "unknown"));
	}
}

/* A control's word: to be found is not enough for a dose, 0 has to be ruled out as well. */
static void controls_in_words(void **state)
{
	const struct {
		double truth, middle;
		size_t n;
		const char *word;
	} cases[] = {
		{0, 0.001, 100, "found"},        {0.01, 0.0101, 100, "found"},
		{0.001, -0.001, 100, "not resolved"}, {0.001, 0.0015, 100, "not resolved"},
		{0.01, 0.001, 100, "not found"}, {0, 0.01, 100, "not found"},
		{0.01, NAN, 18, "too few blocks"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const double se = 0.001, middle = cases[i].middle;
		const struct stats_control c = {
			.name = "dose",
			.truth = cases[i].truth,
			.estimate = {.n = cases[i].n, .df = 99, .middle = middle, .se = se,
				     .low = middle - 2 * se, .high = middle + 2 * se},
		};

		assert_string_equal(stats_control_word(&c, 3), cases[i].word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_follows_the_protocol),
		cmocka_unit_test(run_stops_between_blocks),
		cmocka_unit_test(gate_rules),
		cmocka_unit_test(controls_in_words),
		cmocka_unit_test(gate_hears_every_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

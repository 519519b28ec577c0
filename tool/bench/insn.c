// SPDX-License-Identifier: BSD-2-Clause
/*
 * Carries out a run. A row is two arms: one with twice as many of the instruction in its loop as
 * the other, everything else alike. Their difference is the instruction's cost without the loop,
 * the clock and the surroundings.
 */
#include "insn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRIAL_BLOCKS   3 /* to see how long a block takes; not used for anything else */
#define COUNTER_SLICES 5

static void fill_arm(const struct insn_row *row, bool more, struct bench_arm *arm)
{
	*arm = (struct bench_arm){.live = row->live,
				  .mask = row->mask,
				  .index = row->index,
				  .fill_a = row->fill_a,
				  .fill_b = row->fill_b};
	arm->body = (struct code_body){
		.step = {{row->pre, row->pre != SNIP_NONE},
			 {row->insn, 1},
			 {row->post, row->post_times},
			 {row->pre, row->pre != SNIP_NONE},
			 {row->insn, more},
			 {row->post, row->post_times}},
		.copies = row->copies,
	};
	snprintf(arm->name, sizeof(arm->name), "%.56s x%d", row->id, more ? 2 : 1);
}

bool insn_prepare(struct insn_run *run, const char **why)
{
	uint32_t n = 0;

	*why = "memory is short";
	run->arms = calloc(2 * run->row_count + CONTROL_ARMS, sizeof(*run->arms));
	if (!run->arms)
		return false;
	if (!controls_add(&run->rig, run->arms, 0, why))
		return false;
	n = CONTROL_ARMS;
	for (uint32_t i = 0; i < run->row_count; i++) {
		struct insn_row *row = &run->rows[i];
		struct bench_arm *less = &run->arms[n], *more = less + 1;

		if (!row->selected || row->skipped)
			continue;
		fill_arm(row, false, less);
		fill_arm(row, true, more);
		if (!rig_pilot(&run->rig, more, &row->skipped))
			continue;
		less->loops = more->loops;
		row->arm_less = n;
		row->arm_more = n + 1;
		n += 2;
	}
	run->arm_count = n;
	run->rig.arms = run->arms;
	return true;
}

/* What rig_measure() does, with the rests and the progress that belong between blocks. */
struct between {
	struct bench_rig *rig;
	void (*done)(uint32_t blocks);
};

static void measure(void *world, uint32_t arm, uint64_t placement, struct stats_slice *out)
{
	struct between *b = world;

	rig_measure(b->rig, arm, placement, out);
}

static void between(void *world, uint32_t done, uint32_t blocks)
{
	struct between *b = world;

	(void)blocks;
	rig_rest(b->rig);
	if (b->done)
		b->done(done);
}

/* Seconds one block takes, rests included. */
static double trial(struct insn_run *run)
{
	struct between world = {.rig = &run->rig};
	struct stats_bench bench = {.world = &world, .measure = measure, .between = between};
	struct stats_plan plan = {.seed = stats_seed_mix(run->seed, 999),
				  .blocks = TRIAL_BLOCKS,
				  .arms = run->arm_count};
	struct stats_samples samples;
	struct stats_load before, after;

	if (!stats_samples_init(&samples, TRIAL_BLOCKS, run->arm_count))
		return 0;
	stats_load_read(&before);
	stats_run(&bench, &plan, &samples);
	stats_load_read(&after);
	stats_samples_free(&samples);
	return (after.clock - before.clock) / TRIAL_BLOCKS;
}

/* Operations by which a row's two arms differ in a slice. */
static double units_of(const struct insn_run *run, const struct insn_row *row)
{
	return (double)run->arms[row->arm_more].loops * row->copies * row->per;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median difference of the two arms of a row, per operation, of counter @c. */
static bool count_row(struct insn_run *run, const struct counters *counters, struct insn_row *row)
{
	double d[2][COUNTER_SLICES], units = units_of(run, row);

	for (int i = 0; i < COUNTER_SLICES; i++) {
		uint64_t less[COUNTERS_MAX], more[COUNTERS_MAX];
		uint64_t placement = stats_seed_mix(run->seed, (uint64_t)i);

		counters_start(counters);
		rig_once(&run->rig, &run->arms[row->arm_less], placement);
		if (!counters_stop(counters, less))
			return false;
		counters_start(counters);
		rig_once(&run->rig, &run->arms[row->arm_more], placement);
		if (!counters_stop(counters, more))
			return false;
		for (int c = 0; c < 2; c++)
			d[c][i] = ((double)more[c] - (double)less[c]) / units;
	}
	for (int c = 0; c < 2; c++)
		qsort(d[c], COUNTER_SLICES, sizeof(d[c][0]), by_size);
	row->pmu_cycles = d[0][COUNTER_SLICES / 2];
	row->pmu_instructions = d[1][COUNTER_SLICES / 2];
	return true;
}

static void count_all(struct insn_run *run, const volatile sig_atomic_t *stop)
{
	struct counters counters;
	bool open = counters_open(&counters, counters_core, 2);

	snprintf(run->counters_why_not, sizeof(run->counters_why_not), "%s",
		 open ? "" : counters.why_not);
	for (uint32_t i = 0; i < run->row_count; i++) {
		struct insn_row *row = &run->rows[i];

		row->pmu_cycles = row->pmu_instructions = NAN;
		if (!open || !row->selected || row->skipped || (stop && *stop))
			continue;
		if (!count_row(run, &counters, row))
			snprintf(run->counters_why_not, sizeof(run->counters_why_not),
				 "others share the counters");
	}
	counters_close(&counters);
}

bool insn_measure(struct insn_run *run, const volatile sig_atomic_t *stop,
		  void (*total)(uint32_t blocks), void (*done)(uint32_t blocks))
{
	struct between world = {.rig = &run->rig, .done = done};
	struct stats_bench bench = {
		.world = &world, .measure = measure, .between = between, .stop = stop};
	struct stats_load before, after;
	double block = trial(run);
	bool ok;

	run->plan = (struct stats_plan){.seed = run->seed,
					.blocks = stats_plan_blocks_for(run->seconds, block),
					.arms = run->arm_count};
	if (run->plan.blocks < STATS_MIN_SERIES)
		run->plan.blocks = STATS_MIN_SERIES;
	if (!stats_samples_init(&run->samples, run->plan.blocks, run->arm_count))
		return false;
	if (total)
		total(run->plan.blocks);
	stats_load_read(&before);
	ok = stats_run(&bench, &run->plan, &run->samples);
	stats_load_read(&after);
	run->company = stats_load_between(&before, &after);
	rig_clock_update(&run->rig);
	count_all(run, stop);
	return ok;
}

static void analyse_row(struct insn_run *run, struct insn_row *row, uint64_t part, double *x)
{
	size_t n = stats_series_cost(&run->samples, row->arm_more, row->arm_less,
				     units_of(run, row), x);

	stats_spread_of(x, n, &row->cycles);
	stats_estimate_of(x, n, stats_seed_mix(run->seed, part), &row->middle);
}

static double cost_in(const struct insn_run *run, const struct insn_row *row, uint32_t block)
{
	return stats_sample_cost(&run->samples, block, row->arm_more, row->arm_less,
				 units_of(run, row));
}

static void analyse_effect(struct insn_run *run, struct insn_effect *e, uint64_t part, double *x)
{
	const struct insn_row *base = rows_find(run->rows, run->row_count, e->base);
	const struct insn_row *then = rows_find(run->rows, run->row_count, e->then);
	size_t n = 0;

	e->answered = base->selected && then->selected && !base->skipped && !then->skipped;
	for (uint32_t b = 0; e->answered && b < run->samples.taken; b++) {
		double x0 = cost_in(run, base, b), x1 = cost_in(run, then, b);
		double value = e->kind == EFFECT_CYCLES ? x1 - x0
			       : x0 > 0 && x1 > 0       ? log(x1 / x0)
							: NAN;

		if (!isnan(value))
			x[n++] = value;
	}
	stats_estimate_of(x, n, stats_seed_mix(run->seed, part), &e->estimate);
}

bool insn_analyse(struct insn_run *run)
{
	double *x = malloc(run->plan.blocks * sizeof(*x));
	struct stats_spread spread;

	if (!x)
		return false;
	stats_spread_of(run->samples.cycles_per_tick, run->samples.taken, &spread);
	run->cycles_per_tick = spread.median;
	for (uint32_t i = 0; i < run->row_count; i++)
		if (run->rows[i].selected && !run->rows[i].skipped)
			analyse_row(run, &run->rows[i], 1000 + i, x);
	for (uint32_t i = 0; i < run->effect_count; i++)
		analyse_effect(run, &run->effects[i], 2000 + i, x);
	free(x);
	if (!controls_read(&run->rig, &run->samples, run->arms, 0, &run->company,
			   stats_seed_mix(run->seed, 3000), &run->controls))
		return false;
	stats_gate(&run->controls.noise, run->controls.control, CONTROLS,
		   run->claim > 0 ? run->claim : 0.01, run->samples.taken == run->plan.blocks,
		   &run->verdict);
	return true;
}

void insn_close(struct insn_run *run)
{
	stats_samples_free(&run->samples);
	free(run->arms);
	run->arms = NULL;
	rig_close(&run->rig);
}

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
	run->s.arms = calloc(2 * run->row_count + CONTROL_ARMS, sizeof(*run->s.arms));
	if (!run->s.arms)
		return false;
	if (!controls_add(&run->s.rig, run->s.arms, 0, why))
		return false;
	n = CONTROL_ARMS;
	for (uint32_t i = 0; i < run->row_count; i++) {
		struct insn_row *row = &run->rows[i];
		struct bench_arm *less = &run->s.arms[n], *more = less + 1;

		if (!row->selected || row->skipped)
			continue;
		fill_arm(row, false, less);
		fill_arm(row, true, more);
		if (!rig_pilot(&run->s.rig, more, &row->skipped))
			continue;
		less->loops = more->loops;
		row->arm_less = n;
		row->arm_more = n + 1;
		n += 2;
	}
	run->s.arm_count = n;
	run->s.rig.arms = run->s.arms;
	return true;
}

/* Operations by which a row's two arms differ in a slice. */
static double units_of(const struct insn_run *run, const struct insn_row *row)
{
	return (double)run->s.arms[row->arm_more].loops * row->copies * row->per;
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
		uint64_t placement = stats_seed_mix(run->s.seed, (uint64_t)i);

		counters_start(counters);
		rig_once(&run->s.rig, &run->s.arms[row->arm_less], placement);
		if (!counters_stop(counters, less))
			return false;
		counters_start(counters);
		rig_once(&run->s.rig, &run->s.arms[row->arm_more], placement);
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

void insn_count(struct insn_run *run, const volatile sig_atomic_t *stop)
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

static void analyse_row(struct insn_run *run, struct insn_row *row, uint64_t part, double *x)
{
	size_t n = stats_series_cost(&run->s.samples, row->arm_more, row->arm_less,
				     units_of(run, row), x);

	stats_spread_of(x, n, &row->cycles);
	stats_estimate_of(x, n, stats_seed_mix(run->s.seed, part), &row->middle);
}

static double cost_in(const struct insn_run *run, const struct insn_row *row, uint32_t block)
{
	return stats_sample_cost(&run->s.samples, block, row->arm_more, row->arm_less,
				 units_of(run, row));
}

static void analyse_effect(struct insn_run *run, struct insn_effect *e, uint64_t part, double *x)
{
	const struct insn_row *base = rows_find(run->rows, run->row_count, e->base);
	const struct insn_row *then = rows_find(run->rows, run->row_count, e->then);
	size_t n = 0;

	e->answered = base->selected && then->selected && !base->skipped && !then->skipped;
	for (uint32_t b = 0; e->answered && b < run->s.samples.taken; b++) {
		double x0 = cost_in(run, base, b), x1 = cost_in(run, then, b);
		double value = e->kind == EFFECT_CYCLES ? x1 - x0
			       : x0 > 0 && x1 > 0       ? log(x1 / x0)
							: NAN;

		if (!isnan(value))
			x[n++] = value;
	}
	stats_estimate_of(x, n, stats_seed_mix(run->s.seed, part), &e->estimate);
}

bool insn_analyse(struct insn_run *run)
{
	double *x = malloc(run->s.plan.blocks * sizeof(*x));

	if (!x)
		return false;
	for (uint32_t i = 0; i < run->row_count; i++)
		if (run->rows[i].selected && !run->rows[i].skipped)
			analyse_row(run, &run->rows[i], 1000 + i, x);
	for (uint32_t i = 0; i < run->effect_count; i++)
		analyse_effect(run, &run->effects[i], 2000 + i, x);
	free(x);
	return session_read(&run->s);
}

void insn_close(struct insn_run *run)
{
	session_close(&run->s);
}

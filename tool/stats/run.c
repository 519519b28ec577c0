// SPDX-License-Identifier: BSD-2-Clause
/*
 * The protocol's loop. The judgement on a block's samples waits for its end, when the median of
 * its calibrations is known; nothing here looks at which arm is faster.
 */
#include "run.h"

#include <math.h>
#include <stdlib.h>

static void judge_block(struct stats_samples *out, uint32_t block, const struct stats_slice *slice,
			double *calibrations)
{
	uint32_t n = 0;
	struct stats_spread spread;
	double cycles = 0;

	for (uint32_t a = 0; a < out->arms; a++) {
		if (slice[a].failed)
			continue;
		calibrations[n++] = slice[a].calibration_ticks[0];
		calibrations[n++] = slice[a].calibration_ticks[1];
		cycles = slice[a].calibration_cycles;
	}
	stats_spread_of(calibrations, n, &spread);
	out->cycles_per_tick[block] = n ? cycles / spread.median : 0;
	for (uint32_t a = 0; a < out->arms; a++) {
		size_t at = (size_t)block * out->arms + a;
		double off = 0;

		for (int i = 0; i < 2; i++)
			off = fmax(off, fabs(slice[a].calibration_ticks[i] / spread.median - 1));
		out->ticks[at] = slice[a].failed ? 0 : slice[a].ticks;
		out->drop[at] = slice[a].failed                         ? STATS_DROP_FAILED
				: slice[a].moved                        ? STATS_DROP_STATE
				: slice[a].switched                     ? STATS_DROP_SWITCH
				: !(off <= STATS_CALIBRATION_TOLERANCE) ? STATS_DROP_CALIBRATION
									: STATS_KEPT;
	}
}

bool stats_run(const struct stats_bench *bench, const struct stats_plan *plan,
	       struct stats_samples *out)
{
	uint32_t *order = malloc(plan->arms * sizeof(*order));
	struct stats_slice *slice = calloc(plan->arms, sizeof(*slice));
	double *calibrations = malloc(2 * plan->arms * sizeof(*calibrations));
	bool ok = order && slice && calibrations && out->blocks == plan->blocks &&
		  out->arms == plan->arms;

	for (uint32_t b = 0; ok && b < plan->blocks; b++) {
		uint64_t placement = stats_plan_block(plan, b, order);

		if (bench->stop && *bench->stop)
			break;
		for (uint32_t i = 0; i < plan->arms; i++) {
			slice[order[i]] = (struct stats_slice){0};
			bench->measure(bench->world, order[i], placement, &slice[order[i]]);
		}
		judge_block(out, b, slice, calibrations);
		out->taken = b + 1;
		if (bench->between)
			bench->between(bench->world, b + 1, plan->blocks);
	}
	free(calibrations);
	free(slice);
	free(order);
	return ok;
}

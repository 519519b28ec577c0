// SPDX-License-Identifier: BSD-2-Clause
/*
 * Samples and the series made from them. A value enters a series only when every sample it needs
 * was kept, so that a pair is always two measurements of the same block.
 */
#include "samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const stats_drop_name[STATS_DROPS] = {
	"kept", "involuntary switch", "calibration off by more than 2 %", "state changed", "failed",
	"not taken",
};

bool stats_samples_init(struct stats_samples *s, uint32_t blocks, uint32_t arms)
{
	size_t n = (size_t)blocks * arms;

	*s = (struct stats_samples){.blocks = blocks, .arms = arms};
	s->ticks = calloc(n, sizeof(*s->ticks));
	s->drop = malloc(n);
	s->cycles_per_tick = calloc(blocks, sizeof(*s->cycles_per_tick));
	if (!n || !s->ticks || !s->drop || !s->cycles_per_tick) {
		stats_samples_free(s);
		return false;
	}
	memset(s->drop, STATS_NOT_TAKEN, n);
	return true;
}

void stats_samples_free(struct stats_samples *s)
{
	free(s->ticks);
	free(s->drop);
	free(s->cycles_per_tick);
	*s = (struct stats_samples){0};
}

uint32_t stats_samples_count(const struct stats_samples *s, uint32_t arm, enum stats_drop drop)
{
	uint32_t n = 0;

	for (uint32_t b = 0; b < s->blocks; b++)
		for (uint32_t a = 0; a < s->arms; a++)
			n += (arm == s->arms || a == arm) &&
			     s->drop[(size_t)b * s->arms + a] == drop;
	return n;
}

double stats_samples_dropped(const struct stats_samples *s)
{
	uint32_t kept = stats_samples_count(s, s->arms, STATS_KEPT);
	uint32_t missing = stats_samples_count(s, s->arms, STATS_NOT_TAKEN);
	uint32_t all = s->blocks * s->arms - missing;

	return all ? 1 - (double)kept / (double)all : 0;
}

static bool kept(const struct stats_samples *s, size_t block, uint32_t arm)
{
	return s->drop[block * s->arms + arm] == STATS_KEPT;
}

size_t stats_series_level(const struct stats_samples *s, uint32_t arm, double units, double *out)
{
	size_t n = 0;

	for (size_t b = 0; b < s->blocks; b++)
		if (kept(s, b, arm))
			out[n++] = s->ticks[b * s->arms + arm] * s->cycles_per_tick[b] / units;
	return n;
}

double stats_sample_cost(const struct stats_samples *s, uint32_t block, uint32_t more,
			 uint32_t less, double units)
{
	size_t row = (size_t)block * s->arms;

	if (!kept(s, block, more) || !kept(s, block, less))
		return NAN;
	return (s->ticks[row + more] - s->ticks[row + less]) * s->cycles_per_tick[block] / units;
}

size_t stats_series_cost(const struct stats_samples *s, uint32_t more, uint32_t less, double units,
			 double *out)
{
	size_t n = 0;

	for (uint32_t b = 0; b < s->blocks; b++) {
		double cost = stats_sample_cost(s, b, more, less, units);

		if (!isnan(cost))
			out[n++] = cost;
	}
	return n;
}

size_t stats_series_ratio(const struct stats_samples *s, uint32_t arm, uint32_t base, double *out)
{
	size_t n = 0;

	for (size_t b = 0; b < s->blocks; b++) {
		double x = s->ticks[b * s->arms + arm], y = s->ticks[b * s->arms + base];

		if (kept(s, b, arm) && kept(s, b, base) && x > 0 && y > 0)
			out[n++] = log(x / y);
	}
	return n;
}

size_t stats_series_to_mean(const struct stats_samples *s, uint32_t arm, uint32_t base,
			    uint32_t copies, double units, double *ratio, double *cost)
{
	size_t n = 0;

	for (size_t b = 0; b < s->blocks; b++) {
		const double *ticks = &s->ticks[b * s->arms];
		double logs = 0, sum = 0, found = 0;

		if (!kept(s, b, arm) || !(ticks[arm] > 0))
			continue;
		for (uint32_t c = base; c < base + copies; c++) {
			if (!kept(s, b, c) || !(ticks[c] > 0))
				continue;
			logs += log(ticks[c]);
			sum += ticks[c];
			found++;
		}
		if (found == 0)
			continue;
		ratio[n] = log(ticks[arm]) - logs / found;
		cost[n++] = (ticks[arm] - sum / found) * s->cycles_per_tick[b] / units;
	}
	return n;
}

bool stats_compare(const struct stats_samples *s, uint32_t arm, uint32_t base, uint64_t seed,
		   struct stats_estimate *out)
{
	double *x = malloc(s->blocks * sizeof(*x));

	if (!x)
		return false;
	stats_estimate_of(x, stats_series_ratio(s, arm, base, x), seed, out);
	free(x);
	return true;
}

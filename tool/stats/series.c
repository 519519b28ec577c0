// SPDX-License-Identifier: BSD-2-Clause
/*
 * The estimators of tool/stats: trimmed mean, quantiles, lag-1 correlation and the moving-block
 * bootstrap. GSL has the order statistics, the quantiles of t and the random numbers; the
 * bootstrap is ours because it never sorts: a replicate is a count per rank, and the trimmed mean
 * of counted ranks is one pass.
 */
#include "series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#define STRETCHES 60 /* a run is cut into about this many stretches */

static double *sorted_copy(const double *x, size_t n)
{
	double *s = n ? malloc(n * sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	memcpy(s, x, n * sizeof(*s));
	gsl_sort(s, 1, n);
	return s;
}

double stats_trimmed_mean(const double *x, size_t n, double trim)
{
	double *s = sorted_copy(x, n);
	double mean;

	if (!s)
		return NAN;
	mean = gsl_stats_trmean_from_sorted_data(trim, s, 1, n);
	free(s);
	return mean;
}

void stats_spread_of(const double *x, size_t n, struct stats_spread *out)
{
	double *s = sorted_copy(x, n);

	*out = (struct stats_spread){n, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	if (!s)
		return;
	out->median = gsl_stats_median_from_sorted_data(s, 1, n);
	out->low_quartile = gsl_stats_quantile_from_sorted_data(s, 1, n, 0.25);
	out->high_quartile = gsl_stats_quantile_from_sorted_data(s, 1, n, 0.75);
	out->p05 = gsl_stats_quantile_from_sorted_data(s, 1, n, 0.05);
	out->p95 = gsl_stats_quantile_from_sorted_data(s, 1, n, 0.95);
	out->minimum = s[0];
	out->maximum = s[n - 1];
	free(s);
}

double stats_lag1(const double *x, size_t n)
{
	double *s, low, high, lag1;

	if (n < 3)
		return 0;
	s = sorted_copy(x, n);
	if (!s)
		return 0;
	low = gsl_stats_quantile_from_sorted_data(s, 1, n, STATS_TRIM);
	high = gsl_stats_quantile_from_sorted_data(s, 1, n, 1 - STATS_TRIM);
	for (size_t i = 0; i < n; i++)
		s[i] = x[i] < low ? low : x[i] > high ? high : x[i];
	lag1 = low < high ? gsl_stats_lag1_autocorrelation(s, 1, n) : 0;
	free(s);
	return lag1;
}

/* Trimmed mean of a replicate given as how often each rank was drawn. */
static double counted_trimmed_mean(const double *sorted, const uint32_t *count, size_t n)
{
	size_t cut = (size_t)(STATS_TRIM * (double)n), first = cut, last = n - cut;
	size_t seen = 0;
	double sum = 0;

	for (size_t i = 0; i < n && seen < last; i++) {
		size_t from = seen, to = seen + count[i];

		seen = to;
		from = from < first ? first : from;
		to = to > last ? last : to;
		if (to > from)
			sum += (double)(to - from) * sorted[i];
	}
	return sum / (double)(last - first);
}

double stats_bootstrap_se(const double *x, size_t n, size_t stretch, uint64_t seed)
{
	double *sorted = sorted_copy(x, n);
	size_t *order = n ? malloc(n * sizeof(*order)) : NULL;
	uint32_t *rank = n ? malloc(n * sizeof(*rank)) : NULL;
	uint32_t *count = n ? malloc(n * sizeof(*count)) : NULL;
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
	double se = NAN, mean = 0, m2 = 0;

	if (!sorted || !order || !rank || !count || !rng || n < 2 || stretch < 1 || stretch > n)
		goto out;
	gsl_sort_index(order, x, 1, n);
	for (size_t i = 0; i < n; i++)
		rank[order[i]] = (uint32_t)i;
	gsl_rng_set(rng, (unsigned long)seed);
	for (int r = 0; r < STATS_RESAMPLES; r++) {
		double m, d;

		memset(count, 0, n * sizeof(*count));
		for (size_t have = 0; have < n;) {
			size_t at = gsl_rng_uniform_int(rng, n);

			for (size_t k = 0; k < stretch && have < n; k++, have++) {
				count[rank[at]]++;
				at = at + 1 == n ? 0 : at + 1;
			}
		}
		m = counted_trimmed_mean(sorted, count, n);
		d = m - mean;
		mean += d / (r + 1);
		m2 += d * (m - mean);
	}
	se = sqrt(m2 / (STATS_RESAMPLES - 1));
	if (stretch < n)
		se *= sqrt((double)n / (double)(n - stretch));
out:
	if (rng)
		gsl_rng_free(rng);
	free(count);
	free(rank);
	free(order);
	free(sorted);
	return se;
}

double stats_stretch_factor(double lag1, size_t stretch)
{
	double seen = 1, power = 1;

	if (!(lag1 > 0))
		return 1;
	if (lag1 > 0.9)
		lag1 = 0.9;
	for (size_t k = 1; k < stretch; k++) {
		power *= lag1;
		seen += 2 * (1 - (double)k / (double)stretch) * power;
	}
	return (1 + lag1) / (1 - lag1) / seen;
}

void stats_estimate_of(const double *x, size_t n, uint64_t seed, struct stats_estimate *out)
{
	double t, cube = ceil(cbrt((double)n));

	*out = (struct stats_estimate){.n = n,
				       .middle = stats_trimmed_mean(x, n, STATS_TRIM),
				       .se = NAN,
				       .low = NAN,
				       .high = NAN,
				       .mde = NAN};
	if (n < STATS_MIN_SERIES)
		return;
	/* A sixtieth of the run; in short runs at least what the correlation needs. */
	out->stretch = (n + STRETCHES - 1) / STRETCHES;
	if ((double)out->stretch < cube)
		out->stretch = (size_t)cube;
	out->lag1 = stats_lag1(x, n);
	out->se = stats_bootstrap_se(x, n, out->stretch, seed) *
		  sqrt(stats_stretch_factor(out->lag1, out->stretch));
	/* Overlapping stretches carry the information of 1.5 n/l independent ones. */
	out->df = 1.5 * (double)n / (double)out->stretch;
	if (out->df > (double)(n - 1))
		out->df = (double)(n - 1);
	t = gsl_cdf_tdist_Pinv(0.975, out->df);
	out->low = out->middle - t * out->se;
	out->high = out->middle + t * out->se;
	out->mde = STATS_MDE_FACTOR * out->se;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One series of measurements, in the order they were taken, and what can be said of it: where
 * its middle is and how sure that is. Neighbouring measurements on a real machine resemble each
 * other and now and then one is wildly off, so the middle is a trimmed mean and its error comes
 * from a bootstrap that moves whole stretches of the run.
 */
#ifndef TOOL_STATS_SERIES_H
#define TOOL_STATS_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define STATS_TRIM       0.10 /* share cut off at each end before the mean is taken */
#define STATS_MIN_SERIES 20   /* below this no interval is given */
#define STATS_RESAMPLES  1000 /* bootstrap replicates: 2 % error of the standard error itself */
#define STATS_MDE_FACTOR 2.8  /* 1.96 + 0.84: two-sided 5 %, 80 % power */

/* What a series says. Effects are in the unit of the series. */
struct stats_estimate {
	size_t n;       /* values used */
	size_t stretch; /* length of the stretches the bootstrap moved */
	double middle;  /* 10 % trimmed mean */
	double se;      /* its standard error; NAN when n < STATS_MIN_SERIES, as the four below */
	double low;     /* 95 % interval */
	double high;
	double mde;  /* minimum detectable effect: 2.8 standard errors */
	double lag1; /* autocorrelation of neighbours, outliers pulled in first */
	double df;   /* degrees of freedom the standard error is worth */
};

/* Where a set of values lies, without regard to order. NAN everywhere when it is empty. */
struct stats_spread {
	size_t n;
	double median;
	double low_quartile;
	double high_quartile;
	double minimum;
	double maximum;
	double p05;
	double p95;
};

/**
 * stats_trimmed_mean() - the mean of what is left when both tails are cut off.
 * @x:	  values in any order; not changed.
 * @n:	  how many, at least 1.
 * @trim: share cut off at each end, 0 to below 0.5; floor(trim * n) values go.
 *
 * Return: the mean, or NAN when @n is 0 or memory is short.
 */
double stats_trimmed_mean(const double *x, size_t n, double trim);

/**
 * stats_spread_of() - median, quartiles and ends of a set of values.
 * @x:	 values in any order; not changed.
 * @n:	 how many.
 * @out: filled; all NAN when @n is 0 or memory is short.
 */
void stats_spread_of(const double *x, size_t n, struct stats_spread *out);

/**
 * stats_lag1() - autocorrelation of neighbours, robust against single outliers.
 * @x: values in the order they were taken.
 * @n: how many.
 *
 * Values beyond the 10 % and 90 % quantiles are moved to those quantiles first: one interrupt in
 * a thousand samples otherwise hides every correlation.
 *
 * Return: -1 to 1, 0 for a constant or too short series.
 */
double stats_lag1(const double *x, size_t n);

/**
 * stats_bootstrap_se() - standard error of the 10 % trimmed mean of a correlated series.
 * @x:	     values in the order they were taken.
 * @n:	     how many, at least 2.
 * @stretch: length of the stretches that are resampled whole, 1 to @n.
 * @seed:    the same seed gives the same answer.
 *
 * The stretches wrap round the end of the series, so that its ends count as much as its middle.
 *
 * Return: the spread of the replicates, widened by sqrt(n / (n - stretch)) because stretches of a
 *	   finite series are drawn round its own mean; NAN on bad arguments or short memory.
 * Ref:	   Künsch, "The Jackknife and the Bootstrap for General Stationary Observations"; Politis
 *	   and Romano, "A Circular Block-Resampling Procedure for Stationary Data".
 */
double stats_bootstrap_se(const double *x, size_t n, size_t stretch, uint64_t seed);

/**
 * stats_stretch_factor() - how much variance stretches of a given length cannot see.
 * @lag1:    autocorrelation of neighbours.
 * @stretch: length of the stretches.
 *
 * Within a stretch of length l the lag-k correlation counts only (1 - k/l) times. For a series
 * whose correlation falls off geometrically the missing share is known; without it the interval
 * at a correlation of 0.5 and a stretch of 10 covers 93 % instead of 95 %.
 *
 * Return: the factor, at least 1, by which the bootstrap's variance is to be multiplied.
 */
double stats_stretch_factor(double lag1, size_t stretch);

/**
 * stats_estimate_of() - the middle of a series with its 95 % interval.
 * @x:	  values in the order they were taken.
 * @n:	  how many.
 * @seed: of the bootstrap.
 * @out:  filled. With fewer than STATS_MIN_SERIES values only @out->n and @out->middle are.
 */
void stats_estimate_of(const double *x, size_t n, uint64_t seed, struct stats_estimate *out);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The charts of a report, as SVG. Each is drawn twice, for a screen and for a phone, of which the
 * page shows one; both have a title and a description, and whoever calls puts a table behind them.
 */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include <stddef.h>

#include "report/html.h"

#define CHART_LABEL 96

/* A row of bars laid end to end. */
struct chart_bar {
	char label[CHART_LABEL];
	char value[32]; /* written behind the bar */
	double part[3]; /* NAN or 0: none */
};

/* A middle and its interval. */
struct chart_range {
	char label[CHART_LABEL];
	double low, middle, high;
	double truth; /* NAN: not known */
	bool faint;   /* nothing was seen, or not to be believed */
};

struct chart_curve {
	char name[CHART_LABEL];
	const double *x, *y;
	size_t n;
};

struct chart {
	const char *title, *about; /* a line each */
	const char *unit;          /* of the axis that counts */
	const char *x_unit;        /* chart_curves() */
	const char *parts[3];      /* names of a bar's parts; NULL ends */
};

/**
 * chart_bars() - bars from 0 to the right.
 * chart_ranges() - intervals as whiskers, with a line at 0 or at @zero.
 * chart_curves() - curves over x; @mark_x is a vertical line with a name, NAN: none.
 */
void chart_bars(struct page *p, const struct chart *c, const struct chart_bar *bar, size_t n);
void chart_ranges(struct page *p, const struct chart *c, const struct chart_range *range, size_t n,
                  double zero);
void chart_curves(struct page *p, const struct chart *c, const struct chart_curve *curve, size_t n,
                  double mark_x, const char *mark);

#endif

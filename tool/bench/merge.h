/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many hosts' results joined. Hosts of one CPU model are not copies of each other, so their effects
 * are pooled with random effects: how much hosts differ beyond their own errors is estimated and
 * widens the interval. Which models agree is decided between the pooled effects.
 */
#ifndef TOOL_BENCH_MERGE_H
#define TOOL_BENCH_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "read/results.h"
#include "ui/json.h"

/* What n effects of known error say together; NAN where n is too small for it. */
struct merge_pool {
	size_t n;
	double mean, se; /* 95 % interval is low ... high */
	double low, high;
	double next_low, next_high; /* where a further host's effect lies, 95 % */
	double tau;                 /* standard deviation of hosts beyond their errors */
	double i2;                  /* share of the variance that this is */
	double equal_p; /* how likely at least so much difference is when all are equal */
};

/**
 * merge_pool_of() - random-effects mean.
 * @y:	effects, logarithms of ratios.
 * @se: their standard errors, all above 0.
 *
 * The spread is Paule and Mandel's, the interval Hartung and Knapp's, never narrower than with
 *equal hosts: with few hosts the usual normal interval is too narrow.
 *
 * Ref: Paule and Mandel, "Consensus Values and Weighting Factors"; Hartung and Knapp, "A refined
 *method for the meta-analysis of controlled clinical trials with binary outcome".
 */
void merge_pool_of(const double *y, const double *se, size_t n, struct merge_pool *out);

/* One effect on one host. */
struct merge_value {
	const char *source; /* file, of the first run when there are several of a boot */
	char cpu[64];       /* "GenuineIntel 6/207" */
	char host[200];     /* what runs of one host share */
	char id[96];
	double y, se;
};

struct merge_group {
	const char *cpu;
	struct merge_pool pool;
};

/* Two CPU models whose effects differ. */
struct merge_difference {
	const char *a, *b;
	double middle, low, high; /* logarithm; all pairs of all rows hold together */
};

#define MERGE_GROUPS 64

struct merge_row {
	const char *id;
	struct merge_group group[MERGE_GROUPS];
	size_t groups;
	double between_p; /* how likely so much difference between models is when they are equal */
	struct merge_difference *differ;
	size_t differing;
	char verdict[240];
};

struct merge {
	struct merge_value *value;
	size_t values, hosts, runs, loud; /* loud: runs that their own limits refuse */
	size_t copies; /* runs given again, which count once */
	struct merge_row *row;
	size_t rows;
};

/**
 * merge_of() - join all runs among the results.
 * @strict: leave out runs that were not quiet by their own limits.
 *
 * Return: false when memory is short.
 */
bool merge_of(struct merge *m, const struct results *results, bool strict);

void merge_json(const struct merge *m, struct jw *w);
void merge_print(const struct merge *m, FILE *out);
void merge_csv(const struct merge *m, FILE *out);
void merge_free(struct merge *m);

#endif

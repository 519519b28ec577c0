/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A simulated machine to measure on: its speed drifts, its noise remembers, and now and then a
 * measurement is wildly off. The truth is known, so a method's claims can be counted.
 */
#ifndef TESTS_STATS_MACHINE_H
#define TESTS_STATS_MACHINE_H

#include <gsl/gsl_rng.h>

#include "stats/samples.h"

struct machine_kind {
	const char *name;
	double memory; /* AR(1) coefficient of each arm's own noise */
	int heavy;     /* Student t with 3 degrees of freedom and 2 % spikes, else normal */
	double drift;  /* relative change of speed over the whole run */
	double jump;   /* relative change of speed at one third of the run */
};

extern const struct machine_kind machine_kinds[];
extern const unsigned machine_kind_count;

#define MACHINE_NOISE 0.01 /* scale of a measurement's own noise */

/*
 * Fill @s as a paired run on such a machine: arm a takes exp(effect[a]) of arm 0's time.
 */
void machine_paired(gsl_rng *rng, const struct machine_kind *kind, const double *effect,
		    struct stats_samples *s);

/*
 * The old way on the same machine: @n measurements of one variant, then @n of the other.
 * Logarithms of the times.
 */
void machine_sequential(gsl_rng *rng, const struct machine_kind *kind, double effect, unsigned n,
			double *first, double *second);

#endif

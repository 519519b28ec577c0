// SPDX-License-Identifier: BSD-2-Clause
/*
 * The simulated machine. Speed common to all arms: a slow wander (AR(1), coefficient 0.95, scale
 * 2 %), a drift and a jump. Own noise of each arm: AR(1) with the kind's memory.
 */
#include "machine.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_randist.h>

const struct machine_kind machine_kinds[] = {
	{"memory 0.2", 0.20, 0, 0.00, 0.00},
	{"memory 0.35, heavy tails", 0.35, 1, 0.00, 0.00},
	{"memory 0.5", 0.50, 0, 0.00, 0.00},
	{"memory 0.5, heavy tails", 0.50, 1, 0.00, 0.00},
	{"memory 0.2, heavy tails, drift 5 %", 0.20, 1, 0.05, 0.00},
	{"memory 0.35, drift -8 %, jump 4 %", 0.35, 0, -0.08, 0.04},
	{"memory 0.5, heavy tails, drift 5 %, jump 10 %", 0.50, 1, 0.05, 0.10},
};

const unsigned machine_kind_count = sizeof(machine_kinds) / sizeof(machine_kinds[0]);

static double shock(gsl_rng *rng, const struct machine_kind *kind)
{
	double x = kind->heavy ? gsl_ran_tdist(rng, 3) : gsl_ran_gaussian_ziggurat(rng, 1);

	return MACHINE_NOISE * sqrt(1 - kind->memory * kind->memory) * x;
}

/* An interrupt: lengthens one measurement and leaves no memory. */
static double spike(gsl_rng *rng, const struct machine_kind *kind)
{
	return kind->heavy && gsl_rng_uniform(rng) < 0.02 ? gsl_ran_exponential(rng, 0.15) : 0;
}

struct common {
	double wander;
};

static double speed(gsl_rng *rng, const struct machine_kind *kind, struct common *c, double at)
{
	c->wander = 0.95 * c->wander + 0.02 * sqrt(1 - 0.95 * 0.95) * gsl_ran_gaussian(rng, 1);
	return c->wander + kind->drift * at + (at > 1.0 / 3 ? kind->jump : 0);
}

void machine_paired(gsl_rng *rng, const struct machine_kind *kind, const double *effect,
		    struct stats_samples *s)
{
	double *own = calloc(s->arms, sizeof(*own));
	struct common c = {gsl_ran_gaussian(rng, 0.02)};

	if (!own)
		abort();
	for (uint32_t a = 0; a < s->arms; a++)
		own[a] = gsl_ran_gaussian(rng, MACHINE_NOISE);
	for (uint32_t b = 0; b < s->blocks; b++) {
		double common = speed(rng, kind, &c, (double)b / s->blocks);

		s->cycles_per_tick[b] = 1;
		for (uint32_t a = 0; a < s->arms; a++) {
			own[a] = kind->memory * own[a] + shock(rng, kind);
			s->ticks[b * s->arms + a] =
				1e6 * exp(common + own[a] + effect[a] + spike(rng, kind));
			s->drop[b * s->arms + a] = STATS_KEPT;
		}
	}
	s->taken = s->blocks;
	free(own);
}

void machine_sequential(gsl_rng *rng, const struct machine_kind *kind, double effect, unsigned n,
			double *first, double *second)
{
	struct common c = {gsl_ran_gaussian(rng, 0.02)};
	double own = gsl_ran_gaussian(rng, MACHINE_NOISE);

	for (unsigned i = 0; i < 2 * n; i++) {
		double x = speed(rng, kind, &c, (double)i / (2 * n));

		own = kind->memory * own + shock(rng, kind);
		x += own + spike(rng, kind);
		if (i < n)
			first[i] = x;
		else
			second[i - n] = x + effect;
	}
}

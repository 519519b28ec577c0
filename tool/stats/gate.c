// SPDX-License-Identifier: BSD-2-Clause
/*
 * The gate in front of every claim. The noise of the surroundings is judged before the
 * statistics: a busy neighbour can be invisible in a paired difference of these arms and still
 * decide the difference somebody else wants to measure.
 */
#include "gate.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include <gsl/gsl_cdf.h>

const struct stats_noise stats_noise_limits = {
	.throughput_spread = 0.10,
	.latency_spread = 0.05,
	.dropped = 0.10,
	.steal = 0.02,
	.waiting = 0.02,
	.others = 0.25,
	.lag1 = 0.60,
};

static const struct {
	size_t at;
	const char *what;
	double scale;
	const char *unit;
} figures[] = {
	{offsetof(struct stats_noise, waiting), "waiting for a CPU that others used took", 100,
	 " % of the time"},
	{offsetof(struct stats_noise, others), "other programs kept busy", 1, " CPUs"},
	{offsetof(struct stats_noise, steal), "the hypervisor withheld", 1, " CPUs"},
	{offsetof(struct stats_noise, dropped), "samples dropped are", 100, " %"},
	{offsetof(struct stats_noise, throughput_spread), "the throughput canary spreads over", 100,
	 " %"},
	{offsetof(struct stats_noise, latency_spread), "the latency canary spreads over", 100,
	 " %"},
	{offsetof(struct stats_noise, lag1), "neighbouring differences correlate by", 1, ""},
};

__attribute__((format(printf, 3, 4))) static void
rule(struct stats_verdict *out, enum stats_ruling ruling, const char *format, ...)
{
	va_list args;

	out->ruling = ruling;
	va_start(args, format);
	vsnprintf(out->reason, sizeof(out->reason), format, args);
	va_end(args);
}

bool stats_control_ok(const struct stats_control *c, size_t among)
{
	const struct stats_estimate *e = &c->estimate;
	double t;

	if (e->n < STATS_MIN_SERIES || !among)
		return false;
	t = gsl_cdf_tdist_Pinv(1 - 0.025 / (double)among, e->df);
	return fabs(e->middle - c->truth) <= t * e->se;
}

const char *stats_control_word(const struct stats_control *c, size_t among)
{
	const struct stats_estimate *e = &c->estimate;

	if (e->n < STATS_MIN_SERIES)
		return "too few blocks";
	if (!stats_control_ok(c, among))
		return "not found";
	return c->truth > 0 && e->low <= 0 ? "not resolved" : "found";
}

static bool too_noisy(const struct stats_noise *noise, struct stats_verdict *out)
{
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		double x = *(const double *)((const char *)noise + figures[i].at);
		double limit = *(const double *)((const char *)&stats_noise_limits + figures[i].at);

		if (x <= limit)
			continue;
		if (isnan(x)) {
			rule(out, STATS_REFUSED_NOISE,
			     "the machine cannot be shown to be quiet: %s an unknown amount",
			     figures[i].what);
			return true;
		}
		rule(out, STATS_REFUSED_NOISE, "the machine is not quiet: %s %.3g%s (limit %.3g)",
		     figures[i].what, x * figures[i].scale, figures[i].unit,
		     limit * figures[i].scale);
		return true;
	}
	return false;
}

void stats_gate(const struct stats_noise *noise, const struct stats_control *controls, size_t n,
		double claim, bool complete, struct stats_verdict *out)
{
	*out = (struct stats_verdict){.mde = NAN};
	for (size_t i = 0; i < n; i++)
		if (controls[i].estimate.n >= STATS_MIN_SERIES)
			out->mde = fmax(out->mde, expm1(controls[i].estimate.mde));
	if (!complete) {
		rule(out, STATS_REFUSED_SHORT, "the run ended before its planned number of blocks");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (controls[i].estimate.n >= STATS_MIN_SERIES)
			continue;
		rule(out, STATS_REFUSED_SHORT,
		     "%zu usable blocks for control %s are too few (at least %d)",
		     controls[i].estimate.n, controls[i].name, STATS_MIN_SERIES);
		return;
	}
	if (too_noisy(noise, out))
		return;
	if (!(out->mde <= claim)) {
		rule(out, STATS_REFUSED_POWER,
		     "the smallest effect this run can detect is %.3f %%, the claim is %.3f %%",
		     out->mde * 100, claim * 100);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct stats_estimate *e = &controls[i].estimate;

		if (!stats_control_ok(&controls[i], n)) {
			rule(out, STATS_REFUSED_CONTROL,
			     "control %s is %+.3f %% by construction but was read as %+.3f %% "
			     "(95 %% interval %+.3f to %+.3f)",
			     controls[i].name, expm1(controls[i].truth) * 100,
			     expm1(e->middle) * 100, expm1(e->low) * 100, expm1(e->high) * 100);
			return;
		}
		if (controls[i].truth > 0 && expm1(controls[i].truth) >= claim && !(e->low > 0)) {
			rule(out, STATS_REFUSED_UNSEEN,
			     "a dose of %.3f %% was not told from nothing (95 %% interval %+.3f to "
			     "%+.3f %%)",
			     expm1(controls[i].truth) * 100, expm1(e->low) * 100,
			     expm1(e->high) * 100);
			return;
		}
	}
	rule(out, STATS_RESOLVED,
	     "a difference of %.3f %% is resolvable now: the smallest detectable one is %.3f %%, "
	     "and every control was found where it is",
	     claim * 100, out->mde * 100);
}

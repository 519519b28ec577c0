// SPDX-License-Identifier: BSD-2-Clause
/*
 * Control arms and what they say. A dose is an integer number of multiplies on a serialised chain,
 * so its cost in cycles is known without measuring; its share of the base is not, and is taken
 * from the base arm of the same run.
 */
#include "controls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/table.h"

#define BASE_CYCLES 1500
#define LEAST_CHAIN 16

static const char *const control_name[CONTROLS] = {"A/A", "dose 1", "dose 2"};

static void base_body(const struct bench_rig *rig, struct bench_arm *arm, uint32_t chain)
{
	bool compact = rig->state.caps.xsavec && rig->state.all, xsave = rig->state.all != 0;

	*arm = (struct bench_arm){.live = LIVE_SSE, .mask = rig->state.all};
	arm->fill_a = compact ? SNIP_xsavec : xsave ? SNIP_xsave : SNIP_fxsave;
	arm->fill_b = compact ? SNIP_xsavec_b : xsave ? SNIP_xsave_b : SNIP_fxsave_b;
	arm->body = (struct code_body){
		.step = {{compact ? SNIP_xsavec_switches
			  : xsave ? SNIP_xsave_switches
				  : SNIP_fx_switches,
			  1},
			 {SNIP_lfence, 1},
			 {SNIP_multiply, chain},
			 {SNIP_lfence, 1}},
		.copies = 1,
	};
}

void controls_name(struct bench_arm *arm, unsigned which)
{
	static const char *const other[] = {"base", "throughput canary", "latency canary"};
	const char *name = which == CONTROL_BASE	 ? other[0]
			   : which < CONTROL_THROUGHPUT ? control_name[which - CONTROL_SAME]
							: other[1 + which - CONTROL_THROUGHPUT];

	snprintf(arm->name, sizeof(arm->name), "control: %s", name);
}

bool controls_add_canaries(struct bench_rig *rig, struct bench_arm *all, uint32_t first,
			   const char **why)
{
	static const struct code_body wide = {.step = {{SNIP_wide, 1}}, .copies = 16},
				      chain = {.step = {{SNIP_multiplies, 1}}, .copies = 8};

	for (unsigned i = CONTROL_THROUGHPUT; i <= CONTROL_LATENCY; i++) {
		struct bench_arm *arm = all + first + i;

		*arm = (struct bench_arm){.live = LIVE_INIT,
					  .body = i == CONTROL_LATENCY ? chain : wide};
		controls_name(arm, i);
		if (!rig_pilot(rig, arm, why))
			return false;
	}
	return true;
}

bool controls_add(struct bench_rig *rig, struct bench_arm *all, uint32_t first, const char **why)
{
	struct bench_arm *arm = all + first;
	double cycles;
	uint32_t chain = LEAST_CHAIN;

	base_body(rig, &arm[CONTROL_BASE], LEAST_CHAIN);
	if (!rig_pilot(rig, &arm[CONTROL_BASE], why))
		return false;
	/* The pilot's loops say how long one is; pad it. */
	cycles = RIG_SLICE_SECONDS * rig->tick_hz / arm[CONTROL_BASE].loops *
		 rig->calibration_cycles / rig_calibrate(rig);
	if (cycles < BASE_CYCLES)
		chain += (uint32_t)((BASE_CYCLES - cycles) / rig->multiply_cycles);
	base_body(rig, &arm[CONTROL_BASE], chain);
	controls_name(&arm[CONTROL_BASE], CONTROL_BASE);
	if (!rig_pilot(rig, &arm[CONTROL_BASE], why))
		return false;
	for (uint32_t i = 0; i < CONTROLS; i++) {
		struct bench_arm *a = &arm[CONTROL_SAME + i];

		base_body(rig, a, chain + i); /* the base again, then one and two multiplies more */
		a->loops = arm[CONTROL_BASE].loops;
		controls_name(a, CONTROL_SAME + i);
	}
	return controls_add_canaries(rig, all, first, why);
}

static double spread_of_arm(const struct stats_samples *s, uint32_t arm, double *x)
{
	struct stats_spread spread;

	stats_spread_of(x, stats_series_level(s, arm, 1, x), &spread);
	return (spread.high_quartile - spread.low_quartile) / spread.median;
}

bool controls_read(const struct bench_rig *rig, const struct stats_samples *s,
		   const struct bench_arm *arms, uint32_t first,
		   const struct stats_company *company, uint64_t seed, struct bench_controls *out)
{
	double *x = malloc(s->blocks * sizeof(*x));
	struct stats_spread base;

	*out = (struct bench_controls){.first = first};
	if (!x)
		return false;
	stats_spread_of(
		x, stats_series_level(s, first + CONTROL_BASE, arms[first + CONTROL_BASE].loops, x),
		&base);
	out->base_cycles = base.median;
	out->noise = (struct stats_noise){
		.throughput_spread = spread_of_arm(s, first + CONTROL_THROUGHPUT, x),
		.latency_spread = spread_of_arm(s, first + CONTROL_LATENCY, x),
		.dropped = stats_samples_dropped(s),
		.steal = company->known ? company->steal : NAN,
		.waiting = company->known ? company->waiting : NAN,
		.others = company->known ? company->others : NAN,
		.lag1 = NAN,
	};
	free(x);
	for (uint32_t i = 0; i < CONTROLS; i++) {
		struct stats_control *c = &out->control[i];

		c->name = control_name[i];
		c->truth = log1p((double)i * rig->dose * rig->multiply_cycles / out->base_cycles);
		if (!stats_compare(s, first + CONTROL_SAME + i, first + CONTROL_BASE,
				   stats_seed_mix(seed, i), &c->estimate))
			return false;
		if (c->estimate.n >= STATS_MIN_SERIES)
			out->noise.lag1 = fmax(out->noise.lag1, c->estimate.lag1);
	}
	return true;
}

static void noise_json(const char *key, const struct stats_noise *noise, struct jw *w)
{
	jw_object(w, key);
	jw_f64(w, "throughput_spread_percent", 100 * noise->throughput_spread);
	jw_f64(w, "latency_spread_percent", 100 * noise->latency_spread);
	jw_f64(w, "dropped_percent", 100 * noise->dropped);
	jw_f64(w, "steal_cpus", noise->steal);
	jw_f64(w, "waiting_percent", 100 * noise->waiting);
	jw_f64(w, "others_cpus", noise->others);
	jw_f64(w, "lag1", noise->lag1);
	jw_end(w);
}

void controls_json(const struct bench_controls *c, struct jw *w)
{
	jw_f64(w, "control_base_cycles", c->base_cycles);
	jw_array(w, "controls");
	for (int i = 0; i < CONTROLS; i++) {
		const struct stats_estimate *e = &c->control[i].estimate;

		jw_object(w, NULL);
		jw_string(w, "name", c->control[i].name);
		jw_f64(w, "truth_percent", 100 * expm1(c->control[i].truth));
		jw_f64(w, "read_percent", 100 * expm1(e->middle));
		jw_f64(w, "low_percent", 100 * expm1(e->low));
		jw_f64(w, "high_percent", 100 * expm1(e->high));
		jw_f64(w, "mde_percent", 100 * expm1(e->mde));
		jw_f64(w, "lag1", e->lag1);
		jw_u64(w, "blocks", e->n);
		jw_bool(w, "found", stats_control_ok(&c->control[i], CONTROLS));
		jw_string(w, "verdict", stats_control_word(&c->control[i], CONTROLS));
		jw_end(w);
	}
	jw_end(w);
	noise_json("noise", &c->noise, w);
	noise_json("noise_limits", &stats_noise_limits, w);
}

/* Formats of our own; a figure that is not known is said to be so, not "nan". */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void print_noise(FILE *out, const char *fmt, double x)
{
	const char *at = strchr(fmt, '%');

	if (isfinite(x))
		fprintf(out, fmt, x);
	else
		fprintf(out, "%.*sunknown%s", (int)(at - fmt), fmt,
			strchr(fmt, '\n') ? strpbrk(fmt, ",\n") : ", ");
}
#pragma GCC diagnostic pop

void controls_print(const struct bench_controls *c, FILE *out)
{
	struct table *t = table_new();

	table_column(t, "CONTROL", TABLE_LEFT);
	table_column(t, "TRUE %", TABLE_RIGHT);
	table_column(t, "READ %", TABLE_RIGHT);
	table_column(t, "95 % INTERVAL", TABLE_RIGHT);
	table_column(t, "DETECTABLE %", TABLE_RIGHT);
	table_column(t, "BLOCKS", TABLE_RIGHT);
	table_column(t, "", TABLE_LEFT);
	for (int i = 0; i < CONTROLS; i++) {
		const struct stats_estimate *e = &c->control[i].estimate;
		const char *word = stats_control_word(&c->control[i], CONTROLS);

		table_cell(t, "%s", c->control[i].name);
		table_cell(t, "%+.3f", 100 * expm1(c->control[i].truth));
		if (e->n < STATS_MIN_SERIES) {
			for (int k = 0; k < 3; k++)
				table_cell(t, "%s", "");
		} else {
			table_cell(t, "%+.3f", 100 * expm1(e->middle));
			table_cell(t, "%+.3f ... %+.3f", 100 * expm1(e->low), 100 * expm1(e->high));
			table_cell(t, "%.3f", 100 * expm1(e->mde));
		}
		table_cell(t, "%zu", e->n);
		table_cell_styled(t, !strcmp(word, "found") ? UI_GOOD : UI_BAD, "%s", word);
	}
	table_print(t, out);
	table_free(t);
	fprintf(out, "Noise: ");
	print_noise(out, "throughput canary %.2f %%, ", 100 * c->noise.throughput_spread);
	print_noise(out, "latency canary %.2f %% (quartiles), ", 100 * c->noise.latency_spread);
	print_noise(out, "dropped %.2f %%,\n       ", 100 * c->noise.dropped);
	print_noise(out, "waiting %.2f %%, ", 100 * c->noise.waiting);
	print_noise(out, "other programs %.2f CPUs, ", c->noise.others);
	print_noise(out, "stolen %.3f CPUs, ", c->noise.steal);
	print_noise(out, "correlation of neighbours %.2f\n", c->noise.lag1);
}

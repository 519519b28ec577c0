// SPDX-License-Identifier: BSD-2-Clause
/*
 * A run as xstate.bench/1: the cost table the simulator reads, and everything needed to judge or
 * recompute it, raw samples included. docs/json.md describes it.
 */
#include "insn.h"

#include <math.h>

static void json_drops(const struct insn_run *run, uint32_t less, uint32_t more, struct jw *w)
{
	jw_object(w, "dropped");
	for (int d = STATS_DROP_SWITCH; d < STATS_NOT_TAKEN; d++) {
		uint32_t n = stats_samples_count(&run->samples, less, (enum stats_drop)d) +
			     stats_samples_count(&run->samples, more, (enum stats_drop)d);

		if (n)
			jw_u64(w, stats_drop_name[d], n);
	}
	jw_end(w);
}

/* What a row is, into an object that is open. */
static void json_row_names(const struct insn_run *run, const struct insn_row *row, struct jw *w)
{
	jw_string(w, "id", row->id);
	jw_string(w, "instruction", row->name);
	jw_string(w, "detail", row->detail);
	jw_string(w, "format", row->format);
	jw_string(w, "live", live_name[row->live]);
	jw_mask(w, "live_mask", run->rig.state.live[row->live]);
	if (row->masked)
		jw_mask(w, "mask", row->mask);
	else
		jw_null(w, "mask");
}

static void json_row(const struct insn_run *run, const struct insn_row *row, struct jw *w)
{
	/* What turns this run's core cycles into time. */
	double ns = 1e9 / (run->cycles_per_tick * run->rig.tick_hz);

	jw_object(w, NULL);
	json_row_names(run, row, w);
	jw_f64(w, "median_cycles", row->cycles.median);
	jw_f64(w, "median_ns", row->cycles.median * ns);
	jw_f64(w, "low_quartile_cycles", row->cycles.low_quartile);
	jw_f64(w, "high_quartile_cycles", row->cycles.high_quartile);
	jw_f64(w, "trimmed_mean_cycles", row->middle.middle);
	jw_f64(w, "low_cycles", row->middle.low);
	jw_f64(w, "high_cycles", row->middle.high);
	jw_u64(w, "blocks", row->cycles.n);
	json_drops(run, row->arm_less, row->arm_more, w);
	jw_f64(w, "pmu_cycles", row->pmu_cycles);
	jw_f64(w, "pmu_instructions", row->pmu_instructions);
	jw_end(w);
}

static void json_rows(const struct insn_run *run, struct jw *w)
{
	jw_array(w, "costs");
	for (uint32_t i = 0; i < run->row_count; i++)
		if (run->rows[i].selected && !run->rows[i].skipped)
			json_row(run, &run->rows[i], w);
	jw_end(w);
	jw_array(w, "skipped");
	for (uint32_t i = 0; i < run->row_count; i++) {
		if (!run->rows[i].selected || !run->rows[i].skipped)
			continue;
		jw_object(w, NULL);
		jw_string(w, "instruction", run->rows[i].name);
		jw_string(w, "detail", run->rows[i].detail);
		jw_string(w, "reason", run->rows[i].skipped);
		jw_end(w);
	}
	jw_end(w);
}

static void json_effects(const struct insn_run *run, struct jw *w)
{
	jw_array(w, "effects");
	for (uint32_t i = 0; i < run->effect_count; i++) {
		const struct insn_effect *e = &run->effects[i];
		bool ratio = e->kind == EFFECT_RATIO;

		if (!e->answered)
			continue;
		jw_object(w, NULL);
		jw_string(w, "question", e->question);
		jw_string(w, "base", e->base);
		jw_string(w, "then", e->then);
		jw_string(w, "unit", ratio ? "percent" : "cycles");
		jw_f64(w, "effect", ratio ? 100 * expm1(e->estimate.middle) : e->estimate.middle);
		jw_f64(w, "low", ratio ? 100 * expm1(e->estimate.low) : e->estimate.low);
		jw_f64(w, "high", ratio ? 100 * expm1(e->estimate.high) : e->estimate.high);
		jw_u64(w, "blocks", e->estimate.n);
		jw_end(w);
	}
	jw_end(w);
}

static void json_claim(const struct insn_run *run, struct jw *w)
{
	if (!(run->claim > 0)) {
		jw_null(w, "claim");
		return;
	}
	jw_object(w, "claim");
	jw_f64(w, "size_percent", 100 * run->claim);
	jw_bool(w, "resolvable", run->verdict.ruling == STATS_RESOLVED);
	jw_f64(w, "mde_percent", 100 * run->verdict.mde);
	jw_string(w, "reason", run->verdict.reason);
	jw_end(w);
}

static void json_protocol(const struct insn_run *run, struct jw *w)
{
	jw_u64(w, "seed", run->seed);
	jw_u64(w, "blocks_planned", run->plan.blocks);
	jw_u64(w, "blocks_done", run->samples.taken);
	jw_bool(w, "complete", run->samples.taken == run->plan.blocks);
	jw_i64(w, "cpu", run->rig.cpu);
	jw_bool(w, "realtime", run->rig.realtime);
	jw_f64(w, "cycles_per_tick", run->cycles_per_tick);
	jw_u64(w, "multiply_cycles", run->rig.multiply_cycles);
	jw_f64(w, "clock_overhead_ticks", run->rig.overhead_ticks);
	jw_u64(w, "warm_loops", RIG_WARM_LOOPS);
	jw_f64(w, "slice_seconds", RIG_SLICE_SECONDS);
	jw_string(w, "counters", run->counters_why_not[0] ? "not available" : "read");
	jw_string(w, "counters_reason", run->counters_why_not[0] ? run->counters_why_not : NULL);
}

/* Ticks as they were read; a sample that was dropped is there too, and listed as such. */
static void json_samples(const struct insn_run *run, struct jw *w)
{
	const struct stats_samples *s = &run->samples;

	jw_object(w, "samples");
	jw_array(w, "cycles_per_tick");
	for (uint32_t b = 0; b < s->taken; b++)
		jw_f64(w, NULL, s->cycles_per_tick[b]);
	jw_end(w);
	jw_array(w, "arms");
	for (uint32_t a = 0; a < s->arms; a++) {
		jw_object(w, NULL);
		jw_string(w, "name", run->arms[a].name);
		jw_u64(w, "loops", run->arms[a].loops);
		jw_array(w, "ticks");
		for (uint32_t b = 0; b < s->taken; b++)
			jw_i64(w, NULL, llround(s->ticks[(size_t)b * s->arms + a]));
		jw_end(w);
		jw_array(w, "dropped_blocks");
		for (uint32_t b = 0; b < s->taken; b++)
			if (s->drop[(size_t)b * s->arms + a] != STATS_KEPT)
				jw_u64(w, NULL, b);
		jw_end(w);
		jw_end(w);
	}
	jw_end(w);
	jw_end(w);
}

void insn_json(const struct insn_run *run, struct jw *w)
{
	jw_object(w, NULL);
	jw_string(w, "schema", "xstate.bench/1");
	jw_string(w, "kind", "insn");
	machine_json(&run->machine, run->rig.tick_hz, w);
	json_protocol(run, w);
	controls_json(&run->controls, w);
	json_claim(run, w);
	json_rows(run, w);
	json_effects(run, w);
	json_samples(run, w);
	jw_end(w);
	jw_finish(w);
}

void insn_list_json(const struct insn_run *run, struct jw *w)
{
	jw_object(w, NULL);
	jw_string(w, "schema", "xstate.bench-list/1");
	jw_string(w, "kind", "insn");
	jw_array(w, "rows");
	for (uint32_t i = 0; i < run->row_count; i++) {
		const struct insn_row *row = &run->rows[i];

		if (!row->selected)
			continue;
		jw_object(w, NULL);
		json_row_names(run, row, w);
		jw_bool(w, "available", !row->skipped);
		jw_string(w, "reason", row->skipped);
		jw_end(w);
	}
	jw_end(w);
	jw_end(w);
	jw_finish(w);
}

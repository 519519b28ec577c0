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
		uint32_t n = stats_samples_count(&run->s.samples, less, (enum stats_drop)d) +
			     stats_samples_count(&run->s.samples, more, (enum stats_drop)d);

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
	jw_mask(w, "live_mask", run->s.rig.state.live[row->live]);
	if (row->masked)
		jw_mask(w, "mask", row->mask);
	else
		jw_null(w, "mask");
}

static void json_row(const struct insn_run *run, const struct insn_row *row, struct jw *w)
{
	/* What turns this run's core cycles into time. */
	double ns = session_ns(&run->s);

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

void insn_json(const struct insn_run *run, struct jw *w)
{
	const char *why_not = run->counters_why_not;

	session_json_head(&run->s, "insn", w);
	jw_string(w, "counters", why_not[0] ? "not available" : "read");
	jw_string(w, "counters_reason", why_not[0] ? why_not : NULL);
	json_rows(run, w);
	json_effects(run, w);
	session_json_samples(&run->s, w);
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

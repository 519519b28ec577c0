// SPDX-License-Identifier: BSD-2-Clause
/*
 * A fiber run for people and as xstate.bench/1 (docs/json.md): first what the library promises, then
 * every way in every state.
 */
#include "fiber.h"

#include <math.h>

#include "ui/table.h"

static const char *name_of(const struct fiber_run *run, const struct fiber_switch *what)
{
	return what->name ? what->name : run->pair;
}

static void keeps_json(unsigned keeps, struct jw *w)
{
	jw_array(w, "keeps");
	if (keeps & KEEPS_CALLEE_SAVED)
		jw_string(w, NULL, "callee-saved");
	if (keeps & KEEPS_CONTROL)
		jw_string(w, NULL, "control");
	if (keeps & KEEPS_LEGACY)
		jw_string(w, NULL, "x87+SSE");
	if (keeps & KEEPS_ALL)
		jw_string(w, NULL, "all");
	jw_end(w);
}

static const char *keeps_text(unsigned keeps)
{
	if (keeps & KEEPS_ALL)
		return "all";
	if (keeps & KEEPS_LEGACY)
		return "x87, SSE";
	return keeps & KEEPS_CONTROL ? "stack, MXCSR, FCW" : "stack";
}

static void row_json(const struct fiber_run *run, const struct fiber_row *row, struct jw *w)
{
	const struct fiber_switch *what = row->way->what;

	jw_object(w, NULL);
	jw_string(w, "id", what->id);
	jw_string(w, "name", name_of(run, what));
	jw_string(w, "policy", what->policy);
	jw_string(w, "live", live_name[row->live]);
	jw_mask(w, "live_mask", run->s.rig.state.live[row->live]);
	keeps_json(what->keeps, w);
	jw_bool(w, "available", !row->skipped);
	jw_string(w, "reason", row->skipped);
	if (!row->skipped) {
		jw_u64(w, "switches_per_loop", FIBER_PER_LOOP);
		jw_f64(w, "median_cycles", row->cycles.median);
		jw_f64(w, "median_ns", row->cycles.median * session_ns(&run->s));
		jw_f64(w, "low_quartile_cycles", row->cycles.low_quartile);
		jw_f64(w, "high_quartile_cycles", row->cycles.high_quartile);
		jw_f64(w, "ratio", exp(row->ratio.middle));
		jw_f64(w, "low_ratio", exp(row->ratio.low));
		jw_f64(w, "high_ratio", exp(row->ratio.high));
		jw_u64(w, "blocks", row->cycles.n);
	}
	jw_end(w);
}

static void goals_json(const struct fiber_run *run, struct jw *w)
{
	jw_array(w, "must_reach");
	for (unsigned g = 0; g < FIBER_GOALS; g++)
		for (unsigned l = 0; l < FIBER_LIVES; l++) {
			const struct fiber_row *row = fiber_goal_row(run, g, fiber_live[l]);

			if (!row)
				continue;
			jw_object(w, NULL);
			jw_string(w, "goal", fiber_goal[g].id);
			jw_string(w, "text", fiber_goal[g].text);
			jw_string(w, "live", live_name[row->live]);
			jw_f64(w, "limit_ratio", fiber_goal[g].limit);
			if (row->skipped) {
				jw_null(w, "ratio");
				jw_null(w, "low_ratio");
				jw_null(w, "high_ratio");
			} else {
				jw_f64(w, "ratio", exp(row->ratio.middle));
				jw_f64(w, "low_ratio", exp(row->ratio.low));
				jw_f64(w, "high_ratio", exp(row->ratio.high));
			}
			jw_string(w, "ruling",
				  fiber_ruling_name[fiber_rule(&fiber_goal[g], row)]);
			jw_end(w);
		}
	jw_end(w);
}

void fiber_json(const struct fiber_run *run, struct jw *w)
{
	session_json_head(&run->s, "fiber", w);
	jw_string(w, "pair", run->pair);
	goals_json(run, w);
	jw_array(w, "switches");
	for (uint32_t i = 0; i < run->rows; i++)
		row_json(run, &run->row[i], w);
	jw_end(w);
	session_json_samples(&run->s, w);
	jw_end(w);
	jw_finish(w);
}

static void print_goals(const struct fiber_run *run, FILE *out)
{
	static const enum ui_style style[] = {UI_GOOD, UI_BAD, UI_WARN, UI_WARN};
	struct table *t = table_new();

	table_column(t, "MUST REACH", TABLE_LEFT);
	table_column(t, "LIVE", TABLE_LEFT);
	table_column(t, "AT MOST", TABLE_RIGHT);
	table_column(t, "RATIO", TABLE_RIGHT);
	table_column(t, "95 % INTERVAL", TABLE_RIGHT);
	table_column(t, "", TABLE_LEFT);
	for (unsigned g = 0; g < FIBER_GOALS; g++)
		for (unsigned l = 0; l < FIBER_LIVES; l++) {
			const struct fiber_row *row = fiber_goal_row(run, g, fiber_live[l]);
			enum fiber_ruling ruling;

			if (!row)
				continue;
			ruling = fiber_rule(&fiber_goal[g], row);
			table_cell(t, "%s", fiber_goal[g].text);
			table_cell(t, "%s", live_name[row->live]);
			table_cell(t, "%.2f", fiber_goal[g].limit);
			if (ruling == FIBER_NOT_MEASURED) {
				table_cell(t, "%s", "");
				table_cell(t, "%s", "");
			} else {
				table_cell_or(t, "", isfinite(row->ratio.middle), "%.3f",
				              exp(row->ratio.middle));
				table_cell_or(t, SESSION_FEW, isfinite(row->ratio.low),
				              "%.3f ... %.3f", exp(row->ratio.low),
				              exp(row->ratio.high));
			}
			table_cell_styled(t, style[ruling], "%s", fiber_ruling_name[ruling]);
		}
	table_print(t, out);
	table_free(t);
}

static void print_rows(const struct fiber_run *run, FILE *out)
{
	struct table *t = table_new();

	table_column(t, "SWITCH", TABLE_LEFT);
	table_column(t, "KEEPS", TABLE_LEFT);
	table_column(t, "LIVE", TABLE_LEFT);
	table_column(t, "CYCLES", TABLE_RIGHT);
	table_column(t, "QUARTILES", TABLE_RIGHT);
	table_column(t, "NS", TABLE_RIGHT);
	table_column(t, "RATIO", TABLE_RIGHT);
	table_column(t, "95 % INTERVAL", TABLE_RIGHT);
	for (uint32_t i = 0; i < run->rows; i++) {
		const struct fiber_row *row = &run->row[i];

		table_cell(t, "%s", name_of(run, row->way->what));
		table_cell(t, "%s", keeps_text(row->way->what->keeps));
		table_cell(t, "%s", live_name[row->live]);
		if (row->skipped) {
			table_cell(t, "%s", "not available");
			table_cell(t, "%s", row->skipped);
			for (int c = 0; c < 3; c++)
				table_cell(t, "%s", "");
			continue;
		}
		table_cell_or(t, "", row->cycles.n, "%.1f", row->cycles.median);
		table_cell_or(t, "", row->cycles.n, "%.1f-%.1f", row->cycles.low_quartile,
		              row->cycles.high_quartile);
		table_cell_or(t, "", row->cycles.n, "%.1f",
		              row->cycles.median * session_ns(&run->s));
		table_cell_or(t, "", isfinite(row->ratio.middle), "%.3f", exp(row->ratio.middle));
		table_cell_or(t, SESSION_FEW, isfinite(row->ratio.low), "%.3f ... %.3f",
		              exp(row->ratio.low), exp(row->ratio.high));
	}
	table_print(t, out);
	table_free(t);
}

void fiber_print(const struct fiber_run *run, FILE *out)
{
	session_print_head(&run->s, out);
	print_goals(run, out);
	fprintf(out, "\nOne switch, and its ratio to a bare %s on the same areas in the same state:\n",
		run->pair);
	print_rows(run, out);
	fprintf(out, "\n");
	session_print_verdict(&run->s, out);
}

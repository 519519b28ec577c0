// SPDX-License-Identifier: BSD-2-Clause
/*
 * A run of bench switch as xstate.bench/1 (docs/json.md), for people and as CSV. Three rates are
 * kept apart by name: loops in two seconds, the figure will-it-scale prints, and switches the
 * kernel counted.
 */
#include "switch.h"

#include <math.h>

#include "ui/csv.h"
#include "ui/table.h"

static bool is_base(const struct switch_run *run, const struct switch_row *row)
{
	return row == &run->rows[row->base];
}

static double percent(double log_ratio)
{
	return 100 * expm1(log_ratio);
}

static void names_json(const struct switch_run *run, const struct switch_row *row, struct jw *w)
{
	jw_string(w, "id", row->id);
	jw_string(w, "how", pair_how_name[row->how]);
	jw_string(w, "who", pair_who_name[row->who]);
	jw_string(w, "touch", row->touch->id);
	jw_bool(w, "both", row->both);
	jw_string(w, "base", is_base(run, row) ? NULL : run->rows[row->base].id);
	jw_bool(w, "available", !row->skipped);
	jw_string(w, "reason", row->skipped);
}

static void row_json(const struct switch_run *run, const struct switch_row *row, struct jw *w)
{
	double ns = switch_ns(run, row), cycles = run->s.cycles_per_tick;

	jw_object(w, NULL);
	names_json(run, row, w);
	if (!row->skipped) {
		jw_f64(w, "median_ns_per_loop", ns);
		jw_f64(w, "low_quartile_ns_per_loop",
		       ns * row->ticks.low_quartile / row->ticks.median);
		jw_f64(w, "high_quartile_ns_per_loop",
		       ns * row->ticks.high_quartile / row->ticks.median);
		jw_f64(w, "median_cycles_per_loop", row->ticks.median * cycles);
		jw_f64(w, "loops_in_2_s", 2e9 / ns);
		jw_f64(w, "will_it_scale_per_s", 2e9 / ns);
		jw_f64(w, "switches_per_loop", switch_per_loop(row));
		jw_f64(w, "switches_per_s", switch_per_loop(row) * 1e9 / ns);
		jw_u64(w, "blocks", row->ticks.n);
	}
	if (!row->skipped && !is_base(run, row)) {
		jw_f64(w, "effect_percent", percent(row->ratio.middle));
		jw_f64(w, "low_percent", percent(row->ratio.low));
		jw_f64(w, "high_percent", percent(row->ratio.high));
		jw_f64(w, "mde_percent", percent(row->ratio.mde));
		jw_f64(w, "log_ratio", row->ratio.middle);
		jw_f64(w, "log_ratio_se", row->ratio.se);
		jw_f64(w, "extra_cycles_per_loop", row->extra.middle);
		jw_f64(w, "low_extra_cycles_per_loop", row->extra.low);
		jw_f64(w, "high_extra_cycles_per_loop", row->extra.high);
		jw_u64(w, "pairs", row->ratio.n);
	}
	jw_end(w);
}

static void beside_json(const struct beside *b, struct jw *w)
{
	if (!b->program) {
		jw_null(w, "beside");
		return;
	}
	jw_object(w, "beside");
	jw_string(w, "program", b->program);
	jw_string(w, "row", b->row);
	jw_u64(w, "blocks", b->done);
	jw_f64(w, "their_median_per_s", b->their_spread.median);
	jw_f64(w, "our_median_per_s", b->our_spread.median);
	jw_f64(w, "difference_percent", percent(b->ratio.middle));
	jw_f64(w, "low_percent", percent(b->ratio.low));
	jw_f64(w, "high_percent", percent(b->ratio.high));
	jw_array(w, "their_per_s");
	for (uint32_t i = 0; i < b->done; i++)
		jw_f64(w, NULL, b->theirs[i]);
	jw_end(w);
	jw_array(w, "our_per_s");
	for (uint32_t i = 0; i < b->done; i++)
		jw_f64(w, NULL, b->ours[i]);
	jw_end(w);
	jw_end(w);
}

void switch_json(const struct switch_run *run, struct jw *w)
{
	session_json_head(&run->s, "switch", w);
	jw_array(w, "pairs");
	for (uint32_t i = 0; i < run->row_count; i++)
		if (run->rows[i].selected)
			row_json(run, &run->rows[i], w);
	jw_end(w);
	beside_json(&run->beside, w);
	if (run->against.path)
		against_json(&run->against, w);
	else
		jw_null(w, "against");
	session_json_samples(&run->s, w);
	jw_end(w);
	jw_finish(w);
}

static const char *pair_text(const struct switch_row *row)
{
	static const char *const who[PAIR_WHOS] = {"two processes", "two threads",
	                                           "processes on two CPUs, idle between"};
	return who[row->who];
}

static void print_effect(struct table *t, const struct switch_run *run,
                         const struct switch_row *row)
{
	bool seen = row->ratio.low > 0 || row->ratio.high < 0;

	if (is_base(run, row) || row->skipped || row->ratio.n < STATS_MIN_SERIES) {
		for (int i = 0; i < 3; i++)
			table_cell(t, "%s", i || !is_base(run, row) ? "" : "base");
		return;
	}
	table_cell_styled(t, seen ? UI_PLAIN : UI_FAINT, "%+.2f", percent(row->ratio.middle));
	table_cell_styled(t, seen ? UI_PLAIN : UI_FAINT, "%+.2f ... %+.2f", percent(row->ratio.low),
	                  percent(row->ratio.high));
	table_cell(t, "%+.0f", row->extra.middle);
}

static void print_rows(const struct switch_run *run, FILE *out)
{
	struct table *t = table_new();
	const struct switch_row *last = NULL;

	table_column(t, "TOUCHES", TABLE_LEFT);
	table_column(t, "TASKS", TABLE_LEFT);
	table_column(t, "NS/LOOP", TABLE_RIGHT);
	table_column(t, "LOOPS IN 2 s", TABLE_RIGHT);
	table_column(t, "SWITCHES/s", TABLE_RIGHT);
	table_column(t, "EFFECT %", TABLE_RIGHT);
	table_column(t, "95 % INTERVAL", TABLE_RIGHT);
	table_column(t, "CYCLES/LOOP", TABLE_RIGHT);
	for (uint32_t i = 0; i < run->row_count; i++) {
		const struct switch_row *row = &run->rows[i];
		double ns = switch_ns(run, row);

		if (!row->selected)
			continue;
		if (!last || last->how != row->how || last->who != row->who)
			table_group(t, "%s, %s", pair_how_name[row->how], pair_text(row));
		last = row;
		table_cell(t, "%s", row->touch->name);
		table_cell(t, "%s", is_base(run, row) ? "" : row->both ? "both" : "one");
		if (row->skipped || !row->ticks.n) {
			table_cell(t, "%s", "not measured");
			for (int c = 0; c < 5; c++)
				table_cell(t, "%s", "");
			continue;
		}
		table_cell(t, "%.1f", ns);
		table_cell(t, "%.0f", 2e9 / ns);
		table_cell(t, "%.0f", switch_per_loop(row) * 1e9 / ns);
		print_effect(t, run, row);
	}
	table_print(t, out);
	table_free(t);
}

static void print_skipped(const struct switch_run *run, FILE *out)
{
	const char *said = NULL;

	for (uint32_t i = 0; i < run->row_count; i++) {
		const struct switch_row *row = &run->rows[i];

		if (!row->selected || !row->skipped || row->skipped == said)
			continue;
		said = row->skipped;
		fprintf(out, "Not measured: %s and what needs the same: %s\n", row->id, said);
	}
}

static void print_beside(const struct beside *b, FILE *out)
{
	bool same = b->ratio.low <= 0 && b->ratio.high >= 0;

	if (!b->program || !b->done)
		return;
	fprintf(out, "\nIn the same blocks, switches/s: %s\n", b->program);
	fprintf(out, "  theirs %.0f, ours (%s) %.0f; theirs / ours - 1: %+.2f %%",
	        b->their_spread.median, b->row, b->our_spread.median, percent(b->ratio.middle));
	if (b->ratio.n < STATS_MIN_SERIES) {
		fprintf(out, " from %u blocks: too few for an interval\n", b->done);
		return;
	}
	fprintf(out, " (95 %% interval %+.2f ... %+.2f), %u blocks: %s\n", percent(b->ratio.low),
	        percent(b->ratio.high), b->done, same ? "they agree" : "they differ");
}

void switch_print(const struct switch_run *run, FILE *out)
{
	session_print_head(&run->s, out);
	fprintf(out, "A loop is there and back. Its two switches are what will-it-scale counts, "
	             "and prints as\n"
	             "so many a second; SWITCHES/s is what the kernel counted. EFFECT and CYCLES "
	             "are against the\n"
	             "same pair that touches nothing.\n\n");
	print_rows(run, out);
	print_skipped(run, out);
	print_beside(&run->beside, out);
	if (run->against.path)
		against_print(&run->against, out);
	fprintf(out, "\n");
	session_print_verdict(&run->s, out);
}

static void csv_row(const struct switch_run *run, const struct switch_row *row, FILE *out)
{
	bool effect = !is_base(run, row) && row->ratio.n;
	const double ns = switch_ns(run, row), figure[] = {
		ns,
		2e9 / ns,
		switch_per_loop(row) * 1e9 / ns,
		effect ? percent(row->ratio.middle) : NAN,
		effect ? percent(row->ratio.low) : NAN,
		effect ? percent(row->ratio.high) : NAN,
		effect ? row->extra.middle : NAN,
	};

	fprintf(out, "%s,", run->s.machine.date);
	csv_text(out, run->s.machine.cpu);
	fputc(',', out);
	csv_text(out, run->s.machine.kernel);
	fprintf(out, ",%s", row->id);
	for (size_t k = 0; k < sizeof(figure) / sizeof(figure[0]); k++) {
		fputc(',', out);
		csv_number(out, figure[k]);
	}
	fprintf(out, ",%zu\n", row->ticks.n);
}

void switch_csv(const struct switch_run *run, FILE *out)
{
	fprintf(out, "date,cpu,kernel,id,median_ns_per_loop,loops_in_2_s,switches_per_s,"
		     "effect_percent,low_percent,high_percent,extra_cycles_per_loop,blocks\n");
	for (uint32_t i = 0; i < run->row_count; i++)
		if (run->rows[i].selected && !run->rows[i].skipped)
			csv_row(run, &run->rows[i], out);
}

void switch_list(const struct switch_run *run, FILE *out)
{
	struct table *t = table_new();

	table_column(t, "ID", TABLE_LEFT);
	table_column(t, "", TABLE_WRAP);
	for (uint32_t i = 0; i < run->row_count; i++) {
		const struct switch_row *row = &run->rows[i];

		if (!row->selected)
			continue;
		table_cell(t, "%s", row->id);
		table_cell_styled(t, UI_FAINT, "%s", row->skipped ? row->skipped : "");
	}
	table_print(t, out);
	table_free(t);
}

void switch_list_json(const struct switch_run *run, struct jw *w)
{
	jw_object(w, NULL);
	jw_string(w, "schema", "xstate.bench-list/1");
	jw_string(w, "kind", "switch");
	jw_array(w, "rows");
	for (uint32_t i = 0; i < run->row_count; i++) {
		if (!run->rows[i].selected)
			continue;
		jw_object(w, NULL);
		names_json(run, &run->rows[i], w);
		jw_end(w);
	}
	jw_end(w);
	jw_end(w);
	jw_finish(w);
}

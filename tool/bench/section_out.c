// SPDX-License-Identifier: BSD-2-Clause
/* A kernel run for people and as xstate.bench/1 (docs/json.md). */
#include "section.h"

#include <math.h>

#include <xst/kernel.h>

#include "ui/table.h"

static double gigabytes(const struct section_run *run, const struct section_row *row)
{
	return SECTION_BLOCK / (row->cycles.median * session_ns(&run->s));
}

static void needs_json(unsigned need, struct jw *w)
{
	jw_array(w, "declared");
	if (need & XST_NEED_X87)
		jw_string(w, NULL, "x87");
	if (need & XST_NEED_MXCSR)
		jw_string(w, NULL, "MXCSR");
	jw_end(w);
}

static void row_json(const struct section_run *run, const struct section_row *row, struct jw *w)
{
	const struct section_what *what = &row->what;

	jw_object(w, NULL);
	jw_string(w, "id", what->id);
	jw_string(w, "name", what->name);
	jw_bool(w, "library", what->library);
	needs_json(what->need, w);
	jw_string(w, "way", what->way);
	jw_u64(w, "sources", what->sources);
	jw_bool(w, "available", !row->skipped);
	jw_string(w, "reason", row->skipped);
	if (!row->skipped) {
		jw_f64(w, "median_cycles", row->cycles.median);
		jw_f64(w, "low_cycles", row->middle.low);
		jw_f64(w, "high_cycles", row->middle.high);
		jw_f64(w, "median_ns", row->cycles.median * session_ns(&run->s));
		if (what->sort == SECTION_XOR)
			jw_f64(w, "gigabytes_per_second", gigabytes(run, row));
		if (row->throughput.n) {
			jw_f64(w, "throughput_ratio", exp(row->throughput.middle));
			jw_f64(w, "low_ratio", exp(row->throughput.low));
			jw_f64(w, "high_ratio", exp(row->throughput.high));
		}
		jw_u64(w, "blocks", row->cycles.n);
	}
	jw_end(w);
}

static void goals_json(const struct section_run *run, struct jw *w)
{
	jw_array(w, "must_reach");
	for (unsigned g = 0; g < SECTION_GOALS; g++) {
		const struct section_goal *goal = &section_goal[g];

		jw_object(w, NULL);
		jw_string(w, "goal", goal->id);
		jw_string(w, "text", goal->text);
		jw_string(w, "row", goal->row);
		jw_f64(w, goal->at_least ? "least_ratio" : "most_cycles", goal->limit);
		jw_string(w, "ruling", section_ruling_name[section_rule(run, goal)]);
		jw_end(w);
	}
	jw_end(w);
}

static void records_json(struct jw *w)
{
	jw_array(w, "on_record");
	for (unsigned i = 0; i < SECTION_RECORDS; i++) {
		const struct section_record *r = &section_record[i];

		jw_object(w, NULL);
		jw_string(w, "host", SECTION_RECORD_HOST);
		jw_string(w, "at_begin", r->what);
		jw_u64(w, "avx_megabytes_per_second", r->avx);
		jw_u64(w, "prefetch_megabytes_per_second", r->prefetch);
		jw_u64(w, "sse_megabytes_per_second", r->sse);
		jw_end(w);
	}
	jw_end(w);
}

void section_json(const struct section_run *run, struct jw *w)
{
	session_json_head(&run->s, "kernel", w);
	goals_json(run, w);
	jw_array(w, "sections");
	for (uint32_t i = 0; i < run->rows; i++)
		row_json(run, &run->row[i], w);
	jw_end(w);
	records_json(w);
	jw_object(w, "counters");
	jw_u64(w, "kernel_sections", run->counters[0]);
	jw_u64(w, "kernel_init_x87", run->counters[1]);
	jw_u64(w, "kernel_init_mxcsr", run->counters[2]);
	jw_u64(w, "kernel_saves", run->counters[3]);
	jw_end(w);
	session_json_samples(&run->s, w);
	jw_end(w);
	jw_finish(w);
}

static void print_goals(const struct section_run *run, FILE *out)
{
	static const enum ui_style style[] = {UI_GOOD, UI_BAD, UI_WARN, UI_WARN};
	struct table *t = table_new();

	table_column(t, "MUST REACH", TABLE_LEFT);
	table_column(t, "LIMIT", TABLE_RIGHT);
	table_column(t, "HERE", TABLE_RIGHT);
	table_column(t, "95 % INTERVAL", TABLE_RIGHT);
	table_column(t, "", TABLE_LEFT);
	for (unsigned g = 0; g < SECTION_GOALS; g++) {
		const struct section_goal *goal = &section_goal[g];
		const struct section_row *row = section_row_of(run, goal->row);
		const enum section_ruling ruling = section_rule(run, goal);

		table_cell(t, "%s", goal->text);
		table_cell(t, goal->at_least ? ">= %.2f" : "<= %.0f cycles", goal->limit);
		if (ruling == SECTION_NOT_MEASURED) {
			table_cell(t, "%s", "");
			table_cell(t, "%s", "");
		} else if (goal->at_least) {
			table_cell_or(t, "", isfinite(row->throughput.middle), "%.3f",
			              exp(row->throughput.middle));
			table_cell_or(t, SESSION_FEW, isfinite(row->throughput.low),
			              "%.3f ... %.3f", exp(row->throughput.low),
			              exp(row->throughput.high));
		} else {
			table_cell_or(t, "", isfinite(row->middle.middle), "%.1f",
			              row->middle.middle);
			table_cell_or(t, SESSION_FEW, isfinite(row->middle.low), "%.1f ... %.1f",
			              row->middle.low, row->middle.high);
		}
		table_cell_styled(t, style[ruling], "%s", section_ruling_name[ruling]);
	}
	table_print(t, out);
	table_free(t);
}

static void print_pairs(const struct section_run *run, FILE *out)
{
	struct table *t = table_new();

	table_column(t, "AT BEGIN AND END", TABLE_LEFT);
	table_column(t, "CYCLES", TABLE_RIGHT);
	table_column(t, "QUARTILES", TABLE_RIGHT);
	table_column(t, "NS", TABLE_RIGHT);
	for (uint32_t i = 0; i < run->rows; i++) {
		const struct section_row *row = &run->row[i];

		if (row->what.sort != SECTION_PAIR)
			continue;
		table_cell(t, "%s", row->what.name);
		if (row->skipped) {
			table_cell(t, "%s", "not available");
			table_cell(t, "%s", row->skipped);
			table_cell(t, "%s", "");
			continue;
		}
		table_cell_or(t, "", row->cycles.n, "%.1f", row->cycles.median);
		table_cell_or(t, "", row->cycles.n, "%.1f-%.1f", row->cycles.low_quartile,
		              row->cycles.high_quartile);
		table_cell_or(t, "", row->cycles.n, "%.1f",
		              row->cycles.median * session_ns(&run->s));
	}
	table_print(t, out);
	table_free(t);
}

static void print_parities(const struct section_run *run, FILE *out)
{
	struct table *t = table_new();

	table_column(t, "PARITY BY", TABLE_LEFT);
	table_column(t, "SOURCES", TABLE_RIGHT);
	table_column(t, "AT BEGIN AND END", TABLE_LEFT);
	table_column(t, "GB/S", TABLE_RIGHT);
	table_column(t, "RATIO", TABLE_RIGHT);
	table_column(t, "95 % INTERVAL", TABLE_RIGHT);
	for (uint32_t i = 0; i < run->rows; i++) {
		const struct section_row *row = &run->row[i];

		if (row->what.sort != SECTION_XOR)
			continue;
		table_cell(t, "%s", row->what.way);
		table_cell(t, "%u", row->what.sources);
		table_cell(t, "%s", row->what.name);
		if (row->skipped) {
			table_cell(t, "%s", "not available");
			table_cell(t, "%s", "");
			table_cell(t, "%s", row->skipped);
			continue;
		}
		table_cell_or(t, "", row->cycles.n, "%.1f", gigabytes(run, row));
		if (row->throughput.n) {
			table_cell_or(t, "", isfinite(row->throughput.middle), "%.3f",
			              exp(row->throughput.middle));
			table_cell_or(t, SESSION_FEW, isfinite(row->throughput.low),
			              "%.3f ... %.3f", exp(row->throughput.low),
			              exp(row->throughput.high));
		} else {
			table_cell(t, "%s", "");
			table_cell(t, "%s", "");
		}
	}
	table_print(t, out);
	table_free(t);
}

static void print_records(FILE *out)
{
	struct table *t = table_new();

	table_column(t, "ON RECORD, " SECTION_RECORD_HOST, TABLE_LEFT);
	table_column(t, "AVX MB/S", TABLE_RIGHT);
	table_column(t, "RATIO", TABLE_RIGHT);
	table_column(t, "PREFETCH MB/S", TABLE_RIGHT);
	table_column(t, "RATIO", TABLE_RIGHT);
	table_column(t, "SSE MB/S", TABLE_RIGHT);
	table_column(t, "RATIO", TABLE_RIGHT);
	for (unsigned i = 0; i < SECTION_RECORDS; i++) {
		const struct section_record *r = &section_record[i], *base = &section_record[0];

		table_cell(t, "%s", r->what);
		table_cell(t, "%u", r->avx);
		table_cell(t, "%.3f", (double)r->avx / base->avx);
		table_cell(t, "%u", r->prefetch);
		table_cell(t, "%.3f", (double)r->prefetch / base->prefetch);
		table_cell(t, "%u", r->sse);
		table_cell(t, "%.3f", (double)r->sse / base->sse);
	}
	table_print(t, out);
	table_free(t);
}

void section_print(const struct section_run *run, FILE *out)
{
	session_print_head(&run->s, out);
	print_goals(run, out);
	fprintf(out, "\nOne section that does nothing, the user's state being saved, or what kernels did:\n");
	print_pairs(run, out);
	fprintf(out, "\nParity of 4 KiB blocks with that around each, against the same without:\n");
	print_parities(run, out);
	fprintf(out, "\n");
	print_records(out);
	fprintf(out, "\n");
	session_print_verdict(&run->s, out);
}

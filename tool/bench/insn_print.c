// SPDX-License-Identifier: BSD-2-Clause
/*
 * A run for people: what was measured, what it costs, what the paired comparisons say, and at the
 * end whether any of it may be believed.
 */
#include "insn.h"

#include <math.h>
#include <string.h>

#include "ui/table.h"

static void cell_drops(struct table *t, const struct insn_run *run, const struct insn_row *row)
{
	uint32_t n[STATS_DROPS] = {0}, all = 0;

	for (int d = STATS_DROP_SWITCH; d < STATS_NOT_TAKEN; d++) {
		n[d] = stats_samples_count(&run->s.samples, row->arm_less, (enum stats_drop)d) +
		       stats_samples_count(&run->s.samples, row->arm_more, (enum stats_drop)d);
		all += n[d];
	}
	if (!all)
		table_cell(t, "0");
	else
		table_cell(t, "%u (%u switch, %u clock%s)", all, n[STATS_DROP_SWITCH],
			   n[STATS_DROP_CALIBRATION], n[STATS_DROP_FAILED] ? ", rest failed" : "");
}

static void print_costs(const struct insn_run *run, FILE *out)
{
	struct table *t = table_new();
	double ns = session_ns(&run->s);
	bool pmu = !run->counters_why_not[0];

	table_column(t, "INSTRUCTION", TABLE_LEFT);
	table_column(t, "LIVE", TABLE_LEFT);
	table_column(t, "MASK", TABLE_LEFT);
	table_column(t, "CYCLES", TABLE_RIGHT);
	table_column(t, "QUARTILES", TABLE_RIGHT);
	table_column(t, "95 % +-", TABLE_RIGHT);
	table_column(t, "NS", TABLE_RIGHT);
	if (pmu)
		table_column(t, "PMU", TABLE_RIGHT);
	table_column(t, "BLOCKS", TABLE_RIGHT);
	table_column(t, "DROPPED", TABLE_LEFT);
	for (uint32_t i = 0; i < run->row_count; i++) {
		const struct insn_row *row = &run->rows[i];
		bool compact = row->format && !strcmp(row->format, "compacted") &&
			       row->insn == SNIP_xrstor;

		if (!row->selected || row->skipped)
			continue;
		table_cell(t, "%s%s%s%s", row->name, compact ? " compacted" : "",
			   row->detail ? ", " : "", row->detail ? row->detail : "");
		table_cell(t, "%s", live_name[row->live]);
		if (row->masked)
			table_cell(t, "%#llx", (unsigned long long)row->mask);
		else
			table_cell(t, "%s", "");
		table_cell_or(t, "", row->cycles.n, "%.1f", row->cycles.median);
		table_cell_or(t, "", row->cycles.n, "%.1f-%.1f", row->cycles.low_quartile,
		              row->cycles.high_quartile);
		table_cell_or(t, SESSION_FEW, isfinite(row->middle.low), "%.2f",
		              (row->middle.high - row->middle.low) / 2);
		table_cell_or(t, "", row->cycles.n, "%.1f", row->cycles.median * ns);
		if (pmu)
			table_cell(t, "%.1f", row->pmu_cycles);
		table_cell(t, "%zu", row->cycles.n);
		cell_drops(t, run, row);
	}
	table_print(t, out);
	table_free(t);
}

static void print_effects(const struct insn_run *run, FILE *out)
{
	struct table *t = table_new();
	uint32_t n = 0;

	table_column(t, "PAIRED COMPARISON", TABLE_LEFT);
	table_column(t, "EFFECT", TABLE_RIGHT);
	table_column(t, "95 % INTERVAL", TABLE_RIGHT);
	table_column(t, "", TABLE_LEFT);
	for (uint32_t i = 0; i < run->effect_count; i++) {
		const struct insn_effect *e = &run->effects[i];
		bool ratio = e->kind == EFFECT_RATIO, seen;
		double middle = e->estimate.middle, low = e->estimate.low, high = e->estimate.high;

		if (!e->answered || isnan(low))
			continue;
		n++;
		seen = low > 0 || high < 0;
		if (ratio) {
			middle = 100 * expm1(middle);
			low = 100 * expm1(low);
			high = 100 * expm1(high);
		}
		table_cell(t, "%s", e->question);
		table_cell(t, "%+.2f %s", middle, ratio ? "%" : "cycles");
		table_cell(t, "%+.2f ... %+.2f", low, high);
		table_cell(t, "%s", !seen ? "nothing seen" : middle < 0 ? "cheaper" : "dearer");
	}
	if (n) {
		fprintf(out, "\n");
		table_print(t, out);
	}
	table_free(t);
}

static void print_skipped(const struct insn_run *run, FILE *out)
{
	bool any = false;

	for (uint32_t i = 0; i < run->row_count; i++) {
		const struct insn_row *row = &run->rows[i];

		if (!row->selected || !row->skipped)
			continue;
		fprintf(out, "%s%s%s%s: %s", any ? "; " : "\nNot measured: ", row->name,
			row->detail ? ", " : "", row->detail ? row->detail : "", row->skipped);
		any = true;
	}
	if (any)
		fprintf(out, "\n");
}

void insn_print(const struct insn_run *run, FILE *out)
{
	session_print_head(&run->s, out);
	if (!run->controls_only) {
		print_costs(run, out);
		print_effects(run, out);
		print_skipped(run, out);
		if (run->s.rig.state.tiles_why_not)
			fprintf(out, "AMX live set: not available: %s\n",
				run->s.rig.state.tiles_why_not);
		if (run->counters_why_not[0])
			fprintf(out, "Hardware counters: not available: %s\n",
				run->counters_why_not);
		fprintf(out, "\n");
	}
	session_print_verdict(&run->s, out);
}

void insn_list(const struct insn_run *run, FILE *out)
{
	struct table *t = table_new();

	table_column(t, "ID", TABLE_LEFT);
	table_column(t, "INSTRUCTION", TABLE_LEFT);
	table_column(t, "LIVE", TABLE_LEFT);
	table_column(t, "MASK", TABLE_LEFT);
	table_column(t, "HERE", TABLE_LEFT);
	for (uint32_t i = 0; i < run->row_count; i++) {
		const struct insn_row *row = &run->rows[i];

		if (!row->selected)
			continue;
		table_cell(t, "%s", row->id);
		table_cell(t, "%s%s%s", row->name, row->detail ? ", " : "",
			   row->detail ? row->detail : "");
		table_cell(t, "%s", live_name[row->live]);
		if (row->masked)
			table_cell(t, "%#llx", (unsigned long long)row->mask);
		else
			table_cell(t, "%s", "");
		table_cell(t, "%s", row->skipped ? row->skipped : "yes");
	}
	table_print(t, out);
	table_free(t);
}

// SPDX-License-Identifier: BSD-2-Clause
/* The cost table, and what a switch's state is of a whole machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/report.h"

#define SHOWN 24

/* Rows that people ask for first: no detail, the instruction alone or the pair, usual states. */
static bool is_headline(const json_t *row)
{
	static const char *const names[] = {"XSAVE",         "XSAVEC",        "XSAVEOPT",
	                                    "XRSTOR",        "XSAVEC+XRSTOR", "FXSAVE+FXRSTOR",
	                                    "FNSAVE+FRSTOR", "XSAVE+XRSTOR",  "XSAVEOPT+XRSTOR"};
	const char *live = result_text(row, "live", "");

	if (result_text(row, "detail", NULL) ||
	    (strcmp(live, "INIT") && strcmp(live, "all") && strcmp(live, "SSE")))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(result_text(row, "instruction", ""), names[i]))
			return true;
	return false;
}

static void cost_chart(struct report *r, const json_t *costs, const char *machine)
{
	struct chart_bar bar[SHOWN];
	const struct chart c = {.title = "What a save, a restore and a pair cost",
	                        .about = machine,
	                        .unit = "core cycles, median"};
	const json_t *row;
	size_t n = 0, i;

	json_array_foreach((json_t *)costs, i, row)
	{
		double cycles = result_number(row, "median_cycles");

		if (n == SHOWN || !is_headline(row) || !isfinite(cycles))
			continue;
		bar[n] = (struct chart_bar){.part = {fmax(cycles, 0), NAN, NAN}};
		snprintf(bar[n].label, sizeof(bar[n].label), "%.30s, %.12s",
		         result_text(row, "instruction", "?"), result_text(row, "live", "?"));
		snprintf(bar[n].value, sizeof(bar[n].value), "%.0f", cycles);
		n++;
	}
	if (n)
		chart_bars(&r->page, &c, bar, n);
}

static void cost_table(struct report *r, const json_t *costs)
{
	struct page *p = &r->page;
	const json_t *row;
	size_t i;

	html_table(p, "Core cycles of one instruction, with everything in the caches",
	           "Instruction|Live|#Median|#Quartiles|#95 % of the mean|#ns|#Blocks", true);
	json_array_foreach((json_t *)costs, i, row)
	{
		const char *detail = result_text(row, "detail", NULL);

		html_row(p);
		html_head_cell(p, "%s%s%s", result_text(row, "instruction", "?"),
		               detail ? ", " : "", detail ? detail : "");
		html_cell(p, "%s", result_text(row, "live", "?"));
		html_number(p, "%.1f", result_number(row, "median_cycles"));
		html_interval(p, "%.1f to %.1f", result_number(row, "low_quartile_cycles"),
		              result_number(row, "high_quartile_cycles"));
		html_interval(p, "%.1f to %.1f", result_number(row, "low_cycles"),
		              result_number(row, "high_cycles"));
		html_number(p, "%.1f", result_number(row, "median_ns"));
		html_number(p, "%.0f", result_number(row, "blocks"));
	}
	html_table_end(p);
}

void part_costs(struct report *r)
{
	bool open = false;

	for (size_t i = report_bench(r, "insn", 0); i < r->results.n;
	     i = report_bench(r, "insn", i + 1)) {
		const struct result *result = &r->results.list[i];
		const json_t *costs = result_list(result->doc, "costs");
		char machine[200];

		if (!json_array_size(costs))
			continue;
		if (!open) {
			html_section(&r->page, "costs", "What the instructions cost");
			fputs("<p>Medians over many short blocks, in core cycles, not TSC ticks. "
			      "Pairs save "
			      "into one area and restore from another, as a switch does.</p>\n",
			      r->page.out);
		}
		open = true;
		report_machine(r, result, machine, sizeof(machine));
		cost_chart(r, costs, machine);
		cost_table(r, costs);
	}
	if (open)
		html_section_end(&r->page);
}

/* How much of a CPU a save and a restore are, at rates that machines have. */
void part_share(struct report *r)
{
	static const struct {
		const char *what;
		double per_s;
	} rates[] = {{"a build of C, by traces (450 to 820)", 640},
	             {"a busy server", 20000},
	             {"will-it-scale's context switch on 2010s powerpc (below)", 100000},
	             {"two tasks that do nothing but switch", 1000000}};
	struct page *p = &r->page;
	double ns = r->costs.pair_ns;

	if (!isfinite(ns))
		return;
	html_section(p, "share", "How much of the machine it matters");
	fputs("<p>", p->out);
	html_f(p->out,
	       "A save and a restore take %.0f ns here (%s). What a policy can gain is at most all "
	       "of it.",
	       ns, r->costs.from);
	fputs("</p>\n", p->out);
	html_table(p, "Share of one CPU spent on saving and restoring",
	           "Workload|#Switches a second|#Share of a CPU", false);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		html_row(p);
		html_head_cell(p, "%s", rates[i].what);
		html_number(p, "%.0f", rates[i].per_s);
		html_number(p, "%.3f %%", 100 * rates[i].per_s * ns * 1e-9);
	}
	html_table_end(p);
	html_section_end(p);
}

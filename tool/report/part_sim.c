// SPDX-License-Identifier: BSD-2-Clause
/* Recorded workloads replayed under every policy: what each would have cost, and for how much of a
 * CPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/report.h"

static double middle_of(const json_t *policy, const char *low, const char *high)
{
	return (result_number(policy, low) + result_number(policy, high)) / 2;
}

static void policies(struct report *r, const json_t *doc, double switches, const char *what)
{
	const json_t *list = result_list(doc, "policies"), *one;
	size_t most = json_array_size(list), n = 0, i;
	struct chart_range *range = calloc(most ? most : 1, sizeof(*range));
	struct page *p = &r->page;
	const struct chart c = {.title = "What each policy would have cost this workload",
	                        .about = what,
	                        .unit = "cycles a switch, over the range of prices"};

	if (!range)
		return;
	json_array_foreach((json_t *)list, i, one)
	{
		double low = result_number(one, "cycles_low") / switches;
		double high = result_number(one, "cycles_high") / switches;

		if (result_text(one, "hypothesis", NULL) || !isfinite(low) || !isfinite(high))
			continue;
		range[n] = (struct chart_range){
		        .low = low, .middle = (low + high) / 2, .high = high, .truth = NAN};
		snprintf(range[n++].label, sizeof(range[0].label), "%.40s",
		         result_text(one, "policy", "?"));
	}
	if (n) {
		chart_ranges(p, &c, range, n, 0);
		html_table(p, "Counts per 1000 switches, and the share of one CPU",
		           "Policy|Hypothesis|#Saves|#Restores|#Traps|#Cycles a switch|#Share of a "
		           "CPU",
		           true);
		json_array_foreach((json_t *)list, i, one)
		{
			html_row(p);
			html_head_cell(p, "%s", result_text(one, "policy", "?"));
			html_cell(p, "%s", result_text(one, "hypothesis", ""));
			html_number(p, "%.0f", 1000 * result_number(one, "saves") / switches);
			html_number(p, "%.0f", 1000 * result_number(one, "loads") / switches);
			html_number(p, "%.0f", 1000 * result_number(one, "traps") / switches);
			html_interval(p, "%.0f to %.0f",
			              result_number(one, "cycles_low") / switches,
			              result_number(one, "cycles_high") / switches);
			html_number(p, "%.4f %%",
			            100 * middle_of(one, "cpu_share_low", "cpu_share_high"));
		}
		html_table_end(p);
	}
	free(range);
}

static void show(struct report *r, const struct result *result)
{
	const json_t *doc = result->doc, *check = result_list(doc, "check");
	const json_t *even = result_list(doc, "break_even"), *totals = result_list(doc, "totals");
	const char *holds = result_text(doc, "holds", "");
	double switches = result_number(totals, "switches");
	FILE *out = r->page.out;
	char what[200];

	if (!(switches > 0))
		return;
	snprintf(what, sizeof(what), "%.0f switches; prices: %.100s", switches,
	         result_text(result_list(doc, "costs"), "source", "?"));
	policies(r, doc, switches, what);
	fputs("<p>", out);
	html_f(out,
	       "At most %.0f of a million slots used the registers (--use %s). By the formula "
	       "eager is "
	       "cheaper than lazy above %.0f to %.0f, over the range of prices. The verdict %s.",
	       result_number(doc, "used_slots_per_million"), result_text(doc, "use", "?"),
	       result_number(even, "formula_low_per_million"),
	       result_number(even, "formula_high_per_million"),
	       !strcmp(holds, "over-all-prices")     ? "holds over all prices"
	       : !strcmp(holds, "depends-on-prices") ? "depends on the prices"
	                                             : "is about a trace that lost events");
	if (isfinite(result_number(check, "observed_restores")))
		html_f(out, " Restores that the kernel really made: %.0f; predicted: %.0f.",
		       result_number(check, "observed_restores"),
		       result_number(check, "predicted_restores"));
	fputs("</p>\n", out);
}

void part_sim(struct report *r)
{
	bool open = false;

	for (size_t i = 0; i < r->results.n; i++) {
		if (!report_is(&r->results.list[i], "xstate.sim/1", NULL))
			continue;
		if (!open) {
			html_section(&r->page, "sim", "Recorded workloads under every policy");
			fputs("<p>A trace of a real machine's switches was replayed. Counts are "
			      "exact for the "
			      "trace; prices are ranges, and so are the costs.</p>\n",
			      r->page.out);
		}
		open = true;
		show(r, &r->results.list[i]);
	}
	if (open)
		html_section_end(&r->page);
}

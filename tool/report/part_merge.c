// SPDX-License-Identifier: BSD-2-Clause
/* Many hosts joined: which CPUs agree. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/report.h"

static void groups_table(struct page *p, const json_t *groups)
{
	const json_t *g;
	size_t i;

	html_table(p, "By CPU",
	           "CPU|#Hosts|#Effect %|#95 % interval|#A further host, 95 %|#Spread of hosts %|"
	           "#p of equal hosts",
	           true);
	json_array_foreach((json_t *)groups, i, g)
	{
		html_row(p);
		html_head_cell(p, "%s", result_text(g, "cpu", "?"));
		html_number(p, "%.0f", result_number(g, "hosts"));
		html_number(p, "%+.2f", result_number(g, "effect_percent"));
		html_interval(p, "%+.2f to %+.2f", result_number(g, "low_percent"),
		              result_number(g, "high_percent"));
		html_interval(p, "%+.2f to %+.2f", result_number(g, "next_low_percent"),
		              result_number(g, "next_high_percent"));
		html_number(p, "%.2f", result_number(g, "tau_percent"));
		html_number(p, "%.3f", result_number(g, "equal_p"));
	}
	html_table_end(p);
}

static void merged_row(struct report *r, const json_t *row)
{
	const json_t *groups = result_list(row, "groups"), *g;
	size_t most = json_array_size(groups), n = 0, i;
	struct chart_range *range = calloc(most ? most : 1, sizeof(*range));
	char title[160], about[200];
	const struct chart c = {.title = title, .about = about, .unit = "%"};

	if (!range)
		return;
	json_array_foreach((json_t *)groups, i, g)
	{
		if (!isfinite(result_number(g, "effect_percent")))
			continue;
		snprintf(range[n].label, sizeof(range[n].label), "%.60s (%.0f)",
		         result_text(g, "cpu", "?"), result_number(g, "hosts"));
		range[n].low = result_number(g, "low_percent");
		range[n].middle = result_number(g, "effect_percent");
		range[n].high = result_number(g, "high_percent");
		range[n].truth = NAN;
		n++;
	}
	snprintf(title, sizeof(title), "%.120s", result_text(row, "id", "?"));
	snprintf(about, sizeof(about), "%.180s", result_text(row, "verdict", ""));
	if (n) {
		chart_ranges(&r->page, &c, range, n, 0);
		groups_table(&r->page, groups);
	}
	free(range);
}

void part_merge(struct report *r)
{
	bool open = false;

	for (size_t i = 0; i < r->results.n; i++) {
		const json_t *rows = result_list(r->results.list[i].doc, "rows"), *row;
		size_t k;

		if (!report_is(&r->results.list[i], "xstate.merge/1", NULL))
			continue;
		if (!open) {
			html_section(&r->page, "fleet", "Many hosts: which CPUs agree");
			fputs("<p>Hosts of one CPU model are joined by a random-effects mean, so "
			      "that hosts "
			      "that differ widen the interval. In brackets: how many hosts.</p>\n",
			      r->page.out);
		}
		open = true;
		json_array_foreach((json_t *)rows, k, row) merged_row(r, row);
	}
	if (open)
		html_section_end(&r->page);
}

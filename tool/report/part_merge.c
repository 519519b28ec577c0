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

#define ROOM   1024
#define MODELS 64

/* What one row of bench switch is on all hosts. */
struct across {
	const char *id;
	const json_t *row;
	double effect[ROOM];
	size_t n, seen;
};

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void collect(const struct report *r, struct across *a)
{
	const json_t *row;
	size_t k;

	a->n = a->seen = 0;
	for (size_t i = report_bench(r, "switch", 0); i < r->results.n && a->n < ROOM;
	     i = report_bench(r, "switch", i + 1))
		json_array_foreach((json_t *)result_list(r->results.list[i].doc, "pairs"), k, row)
		{
			double effect = result_number(row, "effect_percent");

			if (strcmp(result_text(row, "id", ""), a->id) || !isfinite(effect) ||
			    a->n == ROOM)
				continue;
			a->effect[a->n++] = effect;
			a->seen += result_number(row, "low_percent") > 0 ||
			           result_number(row, "high_percent") < 0;
		}
	qsort(a->effect, a->n, sizeof(a->effect[0]), by_size);
}

static size_t count_models(const struct report *r)
{
	char model[MODELS][64];
	size_t n = 0;

	for (size_t i = report_bench(r, "switch", 0); i < r->results.n && n < MODELS;
	     i = report_bench(r, "switch", i + 1)) {
		const json_t *m = result_list(r->results.list[i].doc, "machine");
		size_t k = 0;

		snprintf(model[n], sizeof(model[n]), "%.12s %.0f/%.0f",
		         result_text(m, "vendor", "?"), result_number(m, "family"),
		         result_number(m, "model"));
		while (strcmp(model[k], model[n]))
			k++;
		n += k == n;
	}
	return n;
}

/* All runs of bench switch in one sentence: the row that costs most by its median over the hosts.
 */
static void tell_many(struct report *r, size_t runs)
{
	struct across *most = calloc(1, sizeof(*most)), *one = calloc(1, sizeof(*one)), *old;
	FILE *out = r->page.out;
	const json_t *row;
	size_t k;

	for (size_t i = report_bench(r, "switch", 0); most && one && i < r->results.n;
	     i = report_bench(r, "switch", i + 1))
		json_array_foreach((json_t *)result_list(r->results.list[i].doc, "pairs"), k, row)
		{
			one->id = result_text(row, "id", "");
			one->row = row;
			if (strcmp(result_text(row, "how", ""), "yield") ||
			    (most->id && !strcmp(one->id, most->id)) ||
			    (i != report_bench(r, "switch", 0) && most->n))
				continue;
			collect(r, one);
			if (one->n &&
			    (!most->n || one->effect[one->n / 2] > most->effect[most->n / 2])) {
				old = most;
				most = one;
				one = old;
			}
		}
	if (most && most->n) {
		fputs("<li>", out);
		html_f(out,
		       "In %zu runs on %zu CPU models, what costs a task switch most is %s in %s: ",
		       runs, count_models(r), result_text(most->row, "touch", "?"),
		       result_flag(most->row, "both") ? "both tasks" : "one task");
		fputs("<strong>", out);
		html_f(out, "%+.1f %%", most->effect[most->n / 2]);
		fputs("</strong>", out);
		html_f(out,
		       " in the middle, %+.1f to %+.1f from run to run; in %zu of %zu its 95 %% "
		       "interval leaves out 0.",
		       most->effect[0], most->effect[most->n - 1], most->seen, most->n);
		fputs("</li>\n", out);
	}
	free(most);
	free(one);
}

/* Hosts joined: the row whose effect is largest somewhere, on every CPU model. */
static void tell_merged(struct report *r, const json_t *doc)
{
	const json_t *row, *g, *most = NULL;
	FILE *out = r->page.out;
	double largest = 0;
	size_t i, k;

	json_array_foreach((json_t *)result_list(doc, "rows"), i, row)
	{
		json_array_foreach((json_t *)result_list(row, "groups"), k, g)
		{
			double effect = result_number(g, "effect_percent");

			if (effect > largest) {
				largest = effect;
				most = row;
			}
		}
	}
	if (!most)
		return;
	fputs("<li>", out);
	html_f(out, "%.0f hosts joined: what costs most is %s, ", result_number(doc, "hosts"),
	       result_text(most, "id", "?"));
	json_array_foreach((json_t *)result_list(most, "groups"), k, g)
	        html_f(out, "%s%+.1f %% (95 %% interval %+.1f to %+.1f) on %s, %.0f hosts",
	               k ? "; " : "", result_number(g, "effect_percent"),
	               result_number(g, "low_percent"), result_number(g, "high_percent"),
	               result_text(g, "cpu", "?"), result_number(g, "hosts"));
	html_f(out, ". %s.", result_text(most, "verdict", "?"));
	fputs("</li>\n", out);
}

bool report_fleet(struct report *r)
{
	size_t runs = 0;

	for (size_t i = 0; i < r->results.n; i++)
		if (report_is(&r->results.list[i], "xstate.merge/1", NULL))
			tell_merged(r, r->results.list[i].doc);
	for (size_t i = report_bench(r, "switch", 0); i < r->results.n;
	     i = report_bench(r, "switch", i + 1))
		runs++;
	if (runs <= REPORT_FEW)
		return false;
	tell_many(r, runs);
	return true;
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

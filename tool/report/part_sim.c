// SPDX-License-Identifier: BSD-2-Clause
/* Workloads replayed under every policy: what each would have cost, and for how much of a CPU. A
 * sweep, the same made-up workload with more and more slots that use the registers, is one chart.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/report.h"
#include "sim/replay.h"
#include "ui/number.h"

#define SWEEP_LEAST 3
#define CURVES      16
#define CHECK_PERCENT 2 /* as xstate sim's own sentence has it */

static const json_t *totals_of(const struct result *result)
{
	return result_list(result->doc, "totals");
}

static bool is_alike(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	return x && y && json_equal(x, y);
}

/* By its own word: made up, by --synthetic, and not recorded; of several traces, all of them. */
static bool is_made_up(const struct result *result)
{
	const json_t *parts = result_list(result->doc, "parts"), *one;
	size_t i;

	json_array_foreach((json_t *)parts, i, one)
	{
		if (!result_flag(one, "synthetic"))
			return false;
	}
	return json_array_size(parts) > 0;
}

static bool has_same_policies(const json_t *a, const json_t *b)
{
	const json_t *x = result_list(a, "policies"), *y = result_list(b, "policies"), *one;
	size_t i;

	json_array_foreach(
	        (json_t *)x, i,
	        one) if (!is_alike(one, json_array_get(y, i), "policy") ||
	                 !is_alike(one, json_array_get(y, i), "hypothesis")) return false;
	return json_array_size(x) == json_array_size(y);
}

/* The means of save and restore depend on what was live; where the prices come from does not. */
static bool has_same_prices(const json_t *a, const json_t *b)
{
	return is_alike(result_list(a, "costs"), result_list(b, "costs"), "source");
}

/* Another point of a sweep: of the same made-up workload with another share of used slots. */
static bool is_of_sweep(const struct result *first, const struct result *next)
{
	const json_t *a = totals_of(first), *b = totals_of(next);

	return report_is(next, "xstate.sim/1", NULL) && !strcmp(first->source, next->source) &&
	       is_alike(first->doc, next->doc, "use") && is_alike(first->doc, next->doc, "seed") &&
	       has_same_prices(first->doc, next->doc) && is_alike(a, b, "slots") &&
	       is_alike(a, b, "switches") && is_alike(a, b, "span_ns") &&
	       is_alike(a, b, "traces") && !is_alike(a, b, "used_slots") &&
	       is_made_up(first) && is_made_up(next) &&
	       has_same_policies(first->doc, next->doc);
}

size_t report_sweep(const struct report *r, size_t first)
{
	size_t n = 1;

	while (first + n < r->results.n &&
	       is_of_sweep(&r->results.list[first], &r->results.list[first + n]))
		n++;
	return n >= SWEEP_LEAST ? n : 1;
}

void report_workload(const struct report *r, size_t i, char *buf, size_t size)
{
	const char *source = r->results.list[i].source, *slash = strrchr(source, '/');
	size_t same = 0, number = 0;

	for (size_t k = 0; k < r->results.n; k++) {
		const bool one = report_is(&r->results.list[k], "xstate.sim/1", NULL) &&
		                 !strcmp(r->results.list[k].source, source);

		same += one;
		number += one && k <= i;
	}
	snprintf(buf, size, "%.80s", slash ? slash + 1 : source);
	if (same > 1)
		snprintf(buf + strlen(buf), size - strlen(buf), ", result %zu", number);
}

/* @text begins with the paragraph's label; out: how long that is, 0 without one. */
static size_t label_of(const char *text)
{
	const size_t n = strcspn(text, ":.");

	return text[n] == ':' && n < 48 ? n : 0;
}

static bool is_label(const char *text, const char *label)
{
	const size_t n = strlen(label);

	return !strncmp(text, label, n) && (text[n] == ':' || text[n] == ' ');
}

static void begin_paragraph(FILE *out, const char *label, size_t length, const char *class)
{
	fprintf(out, "<p><strong%s%s%s>", class ? " class=\"" : "", class ? class : "", class ? "\"" : "");
	html_f(out, "%.*s:", (int)length, label);
	fputs("</strong> ", out);
}

/* As the check has it, which a result of a piece of a trace does not have as figures. */
static double predicted(const struct result *result)
{
	const json_t *list = result_list(result->doc, "policies"), *one;
	size_t i;

	json_array_foreach((json_t *)list, i, one)
	{
		if (!strcmp(result_text(one, "policy", ""), "deferred") &&
		    !result_text(one, "hypothesis", NULL))
			return result_number(one, "loads");
	}
	return NAN;
}

static void paragraph(const struct result *result, FILE *out, const char *text)
{
	const double seen = result_number(totals_of(result), "observed_restores");
	const double off = predicted(result) - seen;
	const size_t n = label_of(text);
	const char *class = NULL;

	if (is_label(text, "Verdict on") || is_label(text, "Incomplete") || is_label(text, "Rough") ||
	    is_label(text, "Mixed") || is_label(text, "Odd"))
		class = "bad";
	else if (is_label(text, "Check") && seen > 0)
		class = fabs(off) <= seen * CHECK_PERCENT / 100 ? "good" : "bad";
	if (n) {
		begin_paragraph(out, text, n, class);
		text += n + 1;
		text += *text == ' ';
	} else {
		fputs("<p>", out);
	}
	html_text(out, text);
	fputs("</p>\n", out);
}

/* What the trace lacks, by its totals, whatever the sentences say. */
static void missing(const struct result *result, FILE *out)
{
	const double lost = result_number(totals_of(result), "lost_events");
	const double gaps = result_number(totals_of(result), "gaps");
	const double switches = result_number(totals_of(result), "switches");
	const struct sim_totals n = {.gaps = gaps > 0 ? (uint64_t)gaps : 0,
	                             .switches = switches > 0 ? (uint64_t)switches : 0};
	const bool many = sim_has_many_gaps(&n);
	char share[NUMBER_TEXT];

	if (lost > 0) {
		begin_paragraph(out, "Incomplete", 10, "bad");
		html_f(out, "%.0f events were lost, so all of this is about a part of what happened.",
		       lost);
		fputs("</p>\n", out);
	}
	if (gaps > 0) {
		begin_paragraph(out, "Gaps", 4, many ? "bad" : NULL);
		html_f(out,
		       "at %.0f place%s, %s %% of its %.0f switches, the trace contradicts itself, as if "
		       "events had been taken out. %s",
		       gaps, gaps > 1 ? "s" : "",
		       number_text(share, 100 * gaps / (switches > 0 ? switches : 1), 2), switches,
		       many ? "That is more than 1 %, so all of this is about a part of what happened."
		            : "Up to 1 % that changes little, and the counts are taken as they are.");
		fputs("</p>\n", out);
	}
}

void report_words(const struct result *result, FILE *out, enum report_much much)
{
	static const char *const few[] = {"Verdict", "Rough", "Check"};
	static const char *const some[] = {"Used",  "Break-even", "Verdict",
	                                   "Rough", "Least work", "Check"};
	const char *const *names = much == REPORT_LEAST ? few : some;
	const size_t count = much == REPORT_LEAST ? sizeof(few) / sizeof(few[0])
	                                          : sizeof(some) / sizeof(some[0]);
	const json_t *list = result_list(result->doc, "verdict"), *one;
	const char *holds = result_text(result->doc, "holds", "");
	bool pieces = false;
	size_t i;

	/* They are about what was seen; what was not comes first. */
	missing(result, out);
	json_array_foreach((json_t *)list, i, one)
	{
		if (!is_label(json_string_value(one), "Incomplete") ||
		    strstr(json_string_value(one), " events were lost"))
			continue;
		paragraph(result, out, json_string_value(one));
		pieces = true;
	}
	if (!pieces && !strcmp(holds, "pieces-missing"))
		paragraph(result, out, "Incomplete: pieces of the trace are missing.");
	json_array_foreach((json_t *)list, i, one)
	{
		const char *text = json_string_value(one);
		bool told = much == REPORT_ALL;

		for (size_t k = 0; !told && k < count; k++)
			told = is_label(text, names[k]);
		if (told && !is_label(text, "Incomplete") && !is_label(text, "Gaps"))
			paragraph(result, out, text);
	}
}

static void table(struct report *r, const json_t *list, double slots)
{
	struct page *p = &r->page;
	const json_t *one;
	size_t i;

	html_table(p, "Counts per 1000 slots, and the share of one CPU over the range of prices",
	           "Policy|Hypothesis|#Saves|#Restores|#Traps|#Cycles a slot|#% of a CPU", true);
	json_array_foreach((json_t *)list, i, one)
	{
		html_row(p);
		html_head_cell(p, "%s", result_text(one, "policy", "?"));
		html_cell(p, "%s", result_text(one, "hypothesis", ""));
		html_number(p, "%.0f", 1000 * result_number(one, "saves") / slots);
		html_number(p, "%.0f", 1000 * result_number(one, "loads") / slots);
		html_number(p, "%.0f", 1000 * result_number(one, "traps") / slots);
		html_range(p, result_number(one, "cycles_low") / slots,
		           result_number(one, "cycles_high") / slots, 0);
		html_range(p, 100 * result_number(one, "cpu_share_low"),
		           100 * result_number(one, "cpu_share_high"), 2);
	}
	html_table_end(p);
}

static void policies(struct report *r, const json_t *doc, double slots, const char *title,
                     const char *what)
{
	const json_t *list = result_list(doc, "policies"), *one;
	size_t most = json_array_size(list), n = 0, i;
	struct chart_range *range = calloc(most ? most : 1, sizeof(*range));
	const struct chart c = {
	        .title = title, .about = what, .unit = "cycles a slot, over the range of prices"};

	if (!range)
		return;
	json_array_foreach((json_t *)list, i, one)
	{
		double low = result_number(one, "cycles_low") / slots;
		double high = result_number(one, "cycles_high") / slots;

		if (result_text(one, "hypothesis", NULL) || !isfinite(low) || !isfinite(high))
			continue;
		range[n] = (struct chart_range){
		        .low = low, .middle = (low + high) / 2, .high = high, .truth = NAN};
		snprintf(range[n++].label, sizeof(range[0].label), "%.40s",
		         result_text(one, "policy", "?"));
	}
	if (n) {
		chart_ranges(&r->page, &c, range, n, 0);
		table(r, list, slots);
	}
	free(range);
}

/* What xstate sim said itself, and whether it holds. */
static void words(struct report *r, const struct result *result)
{
	const char *holds = result_text(result->doc, "holds", "");
	FILE *out = r->page.out;

	report_words(result, out, REPORT_ALL);
	if (!strcmp(holds, "over-all-prices"))
		fputs("<p>The verdict on eager and lazy holds over all prices.</p>\n", out);
	else if (!strcmp(holds, "depends-on-prices"))
		fprintf(out, "<p>The verdict on eager and lazy depends on the prices%s.</p>\n",
		        result_number(totals_of(result), "signal_turns") > 0
		                ? " or on what handlers of signals touch"
		                : "");
	else
		fputs("<p>No verdict holds for what was not seen.</p>\n", out);
}

static void show(struct report *r, size_t i)
{
	const struct result *result = &r->results.list[i];
	const double slots = result_number(totals_of(result), "slots");
	const double assumed = result_number(totals_of(result), "switches_assumed");
	char title[200], what[300], name[120], of[60] = "";

	if (assumed > 0)
		snprintf(of, sizeof(of), ", %.0f of them assumed", assumed);
	report_workload(r, i, name, sizeof(name));
	snprintf(title, sizeof(title), "What each policy would have cost: %s", name);
	snprintf(what, sizeof(what), "%s, %.0f switches%s, %.0f slots; prices: %.120s",
	         is_made_up(result) ? "Made up" : "Recorded",
	         result_number(totals_of(result), "switches"), of, slots,
	         result_text(result_list(result->doc, "costs"), "source", "?"));
	if (slots > 0) {
		policies(r, result->doc, slots, title, what);
	} else {
		fputs("<p>", r->page.out);
		html_f(r->page.out, "%s has no slots of tasks: there is nothing to compare.", name);
		fputs("</p>\n", r->page.out);
	}
	words(r, result);
}

/* A curve for each policy: cycles a slot at the middle of the prices, over the share of slots that
 * used the registers. */
static size_t gather(const struct report *r, size_t first, size_t points, struct chart_curve *curve)
{
	const json_t *list = result_list(r->results.list[first].doc, "policies"), *one;
	size_t n = 0, i;

	json_array_foreach((json_t *)list, i, one)
	{
		double *x = calloc(2 * points, sizeof(*x));

		if (n == CURVES || !x || result_text(one, "hypothesis", NULL)) {
			free(x);
			continue;
		}
		curve[n] = (struct chart_curve){.x = x, .y = x + points, .n = points};
		snprintf(curve[n].name, sizeof(curve[n].name), "%.60s",
		         result_text(one, "policy", "?"));
		for (size_t k = 0; k < points; k++) {
			const struct result *result = &r->results.list[first + k];
			const json_t *row = json_array_get(result_list(result->doc, "policies"), i);
			const double slots = result_number(totals_of(result), "slots");
			const double y = (result_number(row, "cycles_low") +
			                  result_number(row, "cycles_high")) /
			                 2 / slots;

			x[k] = 100 * result_number(totals_of(result), "used_slots") / slots;
			x[points + k] = isfinite(y) ? y : 0;
		}
		n++;
	}
	return n;
}

/* Where lazy rises above eager, in percent of the slots; NAN when it does not. */
static double crossing(const struct chart_curve *curve, size_t n)
{
	const struct chart_curve *eager = NULL, *lazy = NULL;

	for (size_t i = 0; i < n; i++) {
		eager = strcmp(curve[i].name, "eager") ? eager : &curve[i];
		lazy = strcmp(curve[i].name, "lazy") ? lazy : &curve[i];
	}
	for (size_t k = 1; eager && lazy && k < eager->n; k++) {
		double before = lazy->y[k - 1] - eager->y[k - 1], now = lazy->y[k] - eager->y[k];

		if (before < 0 && now >= 0)
			return lazy->x[k - 1] +
			       (lazy->x[k] - lazy->x[k - 1]) * -before / (now - before);
	}
	return NAN;
}

static void sweep_table(struct page *p, const struct chart_curve *curve, size_t n)
{
	char heads[600] = "Used slots, %";

	for (size_t i = 0; i < n; i++)
		snprintf(heads + strlen(heads), sizeof(heads) - strlen(heads), "|#%.30s",
		         curve[i].name);
	html_table(p, "Cycles a slot at the middle of the prices", heads, true);
	for (size_t k = 0; n && k < curve[0].n; k++) {
		html_row(p);
		html_head_cell(p, "%.1f", curve[0].x[k]);
		for (size_t i = 0; i < n; i++)
			html_number(p, "%.1f", curve[i].y[k]);
	}
	html_table_end(p);
}

static void show_sweep(struct report *r, size_t first, size_t points)
{
	struct chart_curve curve[CURVES];
	char title[200], name[120], mark[80] = "";
	const struct result *result = &r->results.list[first];
	const char *slash = strrchr(result->source, '/');
	const struct chart c = {.title = title,
	                        .about =
	                                "A made-up workload with more and more slots that use the "
	                                "registers; where lazy rises above eager, eager is cheaper",
	                        .unit = "cycles a slot, at the middle of the prices",
	                        .x_unit = "% of slots that use the registers"};
	size_t n;
	double cross;

	snprintf(name, sizeof(name), "%.80s", slash ? slash + 1 : result->source);
	snprintf(title, sizeof(title), "Break-even in a sweep: %s", name);
	if (!(result_number(totals_of(result), "slots") > 0))
		return;
	n = gather(r, first, points, curve);
	cross = crossing(curve, n);
	if (isfinite(cross))
		snprintf(mark, sizeof(mark), "lazy: %.1f %%", cross);
	if (n) {
		chart_curves(&r->page, &c, curve, n, cross, mark);
		sweep_table(&r->page, curve, n);
	}
	for (size_t i = 0; i < n; i++)
		free((void *)curve[i].x);
}

void part_sim(struct report *r)
{
	bool open = false;

	for (size_t i = 0; i < r->results.n;) {
		size_t points;

		if (!report_is(&r->results.list[i], "xstate.sim/1", NULL)) {
			i++;
			continue;
		}
		if (!open) {
			html_section(&r->page, "sim", "Workloads under every policy");
			fputs("<p>The switches of a recorded or a made-up workload were replayed. "
			      "Counts are exact for it; prices are ranges, and so are the costs. A "
			      "slot is the time from a switch to a task to the next.</p>\n",
			      r->page.out);
		}
		open = true;
		points = report_sweep(r, i);
		if (points > 1)
			show_sweep(r, i, points);
		else
			show(r, i);
		i += points;
	}
	if (open)
		html_section_end(&r->page);
}

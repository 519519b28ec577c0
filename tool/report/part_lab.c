// SPDX-License-Identifier: BSD-2-Clause
/* Policies compared by what they did in the lab, and where eager and lazy break even. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xst/policy.h>

#include "report/chart.h"
#include "report/report.h"

#define GROUP_MAX 32

/* Runs of one experiment on one machine that went well, under different policies. */
struct group {
	const char *experiment, *machine;
	const json_t *run[GROUP_MAX];
	size_t n;
};

static bool is_good(const json_t *run)
{
	return !strcmp(result_text(run, "status", ""), "ok") && result_number(run, "switches") > 0;
}

/* All runs of a document like the one at @first, or none when an earlier one already was. */
static bool gather(const json_t *runs, size_t first, struct group *g)
{
	const json_t *head = json_array_get(runs, first), *run;
	size_t i;

	*g = (struct group){.experiment = result_text(head, "experiment", ""),
	                    .machine = result_text(head, "machine", "")};
	json_array_foreach((json_t *)runs, i, run)
	{
		if (strcmp(result_text(run, "experiment", ""), g->experiment) ||
		    strcmp(result_text(run, "machine", ""), g->machine))
			continue;
		if (i < first)
			return false;
		if (is_good(run) && g->n < GROUP_MAX)
			g->run[g->n++] = run;
	}
	return true;
}

static double per_thousand(const json_t *run, const char *key)
{
	return 1000 * result_number(run, key) / result_number(run, "switches");
}

static void policy_table(struct report *r, const struct group *g)
{
	struct page *p = &r->page;

	html_table(p, "Counted, per 1000 switches; corruptions in all",
	           "Policy|#Saves|#Restores|#Traps|#Cycles a switch|#Instructions a "
	           "switch|#Corruptions|"
	           "Remark",
	           true);
	for (size_t i = 0; i < g->n; i++) {
		const char *policy = result_text(g->run[i], "policy", "?");
		double part[3];

		report_work(&r->costs, g->run[i], policy, part);
		html_row(p);
		html_head_cell(p, "%s", policy);
		html_number(p, "%.0f", per_thousand(g->run[i], "saves"));
		html_number(p, "%.0f", per_thousand(g->run[i], "loads"));
		html_number(p, "%.0f", per_thousand(g->run[i], "traps"));
		html_number(p, "%.0f", part[0] + part[1] + part[2]);
		html_number(p, "%.0f", result_number(g->run[i], "instructions_per_switch"));
		html_number(p, "%.0f", result_number(g->run[i], "corruptions"));
		html_cell(p, "%s",
		          result_flag(g->run[i], "leaks_speculatively")
		                  ? "leaks registers speculatively (CVE-2018-3665)"
		                  : "");
	}
	html_table_end(p);
}

static void show_group(struct report *r, const struct group *g)
{
	struct chart_bar bar[GROUP_MAX];
	char title[160];
	const struct chart c = {
	        .title = title,
	        .about = "Counted work times what each piece costs; shorter is better",
	        .unit = "cycles a switch",
	        .parts = {"saves", "restores", "first-use traps and CR0.TS"}};

	snprintf(title, sizeof(title), "%s on %s", g->experiment, g->machine);
	for (size_t i = 0; i < g->n; i++) {
		const char *policy = result_text(g->run[i], "policy", "?");

		bar[i] = (struct chart_bar){{0}, {0}, {0}};
		snprintf(bar[i].label, sizeof(bar[i].label), "%s", policy);
		report_work(&r->costs, g->run[i], policy, bar[i].part);
		snprintf(bar[i].value, sizeof(bar[i].value), "%.0f",
		         bar[i].part[0] + bar[i].part[1] + bar[i].part[2]);
	}
	chart_bars(&r->page, &c, bar, g->n);
	policy_table(r, g);
}

/* The machine whose chart stands open: Bochs has the init optimisation, QEMU has not. */
static bool is_shown(const json_t *runs, const struct group *g)
{
	const json_t *run;
	size_t i;

	json_array_foreach((json_t *)runs, i,
	                   run) if (!strcmp(result_text(run, "experiment", ""), g->experiment) &&
	                            is_good(run) &&
	                            !strncmp(result_text(run, "machine", ""), "bochs",
	                                     5)) return !strcmp(result_text(run, "machine", ""),
	                                                        g->machine);
	json_array_foreach((json_t *)runs, i,
	                   run) if (!strcmp(result_text(run, "experiment", ""), g->experiment) &&
	                            is_good(run)) return !strcmp(result_text(run, "machine", ""),
	                                                         g->machine);
	return false;
}

static void troubles(struct report *r, const json_t *runs)
{
	struct page *p = &r->page;
	const json_t *run;
	bool open = false;
	size_t i;

	json_array_foreach((json_t *)runs, i, run)
	{
		if (!strcmp(result_text(run, "status", ""), "ok"))
			continue;
		if (!open)
			html_table(p, "Runs that did not count",
			           "Experiment|Policy|Machine|Status|Why", false);
		open = true;
		html_row(p);
		html_head_cell(p, "%s", result_text(run, "experiment", "?"));
		html_cell(p, "%s", result_text(run, "policy", "?"));
		html_cell(p, "%s", result_text(run, "machine", "?"));
		html_cell(p, "%s", result_text(run, "status", "?"));
		html_cell(p, "%s", result_text(run, "reason", ""));
	}
	if (open)
		html_table_end(p);
}

static void policies_of(struct report *r, const json_t *runs)
{
	struct group g;

	for (int folded = 0; folded < 2; folded++)
		for (size_t i = 0; i < json_array_size(runs); i++) {
			if (!gather(runs, i, &g) || g.n < 2 || !strcmp(g.experiment, "slots") ||
			    is_shown(runs, &g) == folded)
				continue;
			if (folded) {
				fputs("<details><summary>", r->page.out);
				html_f(r->page.out, "The same for %s on %s", g.experiment,
				       g.machine);
				fputs("</summary>\n", r->page.out);
			}
			show_group(r, &g);
			if (folded)
				fputs("</details>\n", r->page.out);
		}
	troubles(r, runs);
}

/* The next document of the lab that has what @slots asks for. */
static const json_t *lab_runs(const struct report *r, size_t *i, bool slots)
{
	for (; *i < r->results.n; (*i)++) {
		const json_t *runs = result_list(r->results.list[*i].doc, "results"), *run;
		size_t k;

		if (!report_is(&r->results.list[*i], "xstate.lab/1", NULL))
			continue;
		json_array_foreach((json_t *)runs, k,
		                   run) if (!strcmp(result_text(run, "experiment", ""), "slots") ==
		                            slots) return runs;
	}
	return NULL;
}

void part_lab(struct report *r)
{
	FILE *out = r->page.out;
	size_t i = 0;
	const json_t *runs = lab_runs(r, &i, false);

	if (!runs)
		return;
	html_section(&r->page, "policies", "Switching policies, counted in the lab");
	fputs("<p>", out);
	html_f(out,
	       "A small kernel switched tasks on emulated CPUs, and every task kept verifying all "
	       "of "
	       "its registers. Emulated time means nothing, so work was counted, and is weighed "
	       "here: "
	       "a save %.0f cycles and a restore %.0f (%s), a first-use trap %.0f and CR0.TS %.0f "
	       "a "
	       "switch (assumed).",
	       r->costs.save, r->costs.restore, r->costs.from, r->costs.trap, r->costs.ts);
	fputs("</p>\n", out);
	for (; runs; i++, runs = lab_runs(r, &i, false))
		policies_of(r, runs);
	html_section_end(&r->page);
}

/* Break-even. */

static bool gather_curve(const struct report *r, const json_t *run, struct chart_curve *c)
{
	const json_t *points = result_list(run, "points"), *point;
	const char *policy = result_text(run, "policy", "?");
	size_t n = json_array_size(points), i;
	double *x = calloc(2 * n + 1, sizeof(*x));

	*c = (struct chart_curve){.x = x, .y = x + n};
	snprintf(c->name, sizeof(c->name), "%.60s", policy);
	if (!x)
		return false;
	json_array_foreach((json_t *)points, i, point)
	{
		double part[3], use = result_number(point, "uses") / result_number(point, "slots");

		report_work(&r->costs, point, policy, part);
		if (!isfinite(use))
			continue;
		x[c->n] = 100 * use;
		x[n + c->n] = part[0] + part[1] + part[2];
		c->n++;
	}
	return c->n > 1;
}

/* Where a curve first rises above eager's, in percent of the slots; NAN when it does not. */
static double crossing(const struct chart_curve *eager, const struct chart_curve *lazy)
{
	for (size_t i = 1; i < lazy->n && i < eager->n; i++) {
		double before = lazy->y[i - 1] - eager->y[i - 1], now = lazy->y[i] - eager->y[i];

		if (before < 0 && now >= 0)
			return lazy->x[i - 1] +
			       (lazy->x[i] - lazy->x[i - 1]) * -before / (now - before);
	}
	return NAN;
}

/* Policies that differ in nothing that is counted here share a curve and its name. */
static bool is_same(const struct chart_curve *a, const struct chart_curve *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++)
		if (fabs(a->y[i] - b->y[i]) > 0.01 * fmax(a->y[i], 1) ||
		    fabs(a->x[i] - b->x[i]) > 0.1)
			return false;
	return a->n == b->n;
}

static bool join(struct chart_curve *curve, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t used = strlen(curve[i].name);

		if (!is_same(&curve[i], &curve[n]))
			continue;
		snprintf(curve[i].name + used, sizeof(curve[i].name) - used, ", %.30s",
		         curve[n].name);
		return true;
	}
	return false;
}

static void break_even_table(struct report *r, const struct chart_curve *curve, size_t n,
                             const double *cross)
{
	struct page *p = &r->page;

	html_table(p, "Cycles a switch, by the share of slots that use the registers",
	           "Policy|#0 %|#25 %|#50 %|#75 %|#100 %|#Eager wins above", true);
	for (size_t i = 0; i < n; i++) {
		html_row(p);
		html_head_cell(p, "%s", curve[i].name);
		for (size_t k = 0; k < 5; k++)
			html_number(p, "%.0f", curve[i].y[k * (curve[i].n - 1) / 4]);
		html_number(p, "%.1f %%", cross[i]);
	}
	html_table_end(p);
}

static void show_break_even(struct report *r, const struct group *g)
{
	struct chart_curve curve[GROUP_MAX];
	double cross[GROUP_MAX], mark = NAN;
	char title[160], name[120] = "";
	const struct chart c = {
	        .title = title,
	        .about = "Each point is a run of the lab; where a line rises above eager's, "
	                 "eager is cheaper",
	        .unit = "cycles a switch",
	        .x_unit = "% of slots that use the registers"};
	size_t n = 0, eager = GROUP_MAX;

	snprintf(title, sizeof(title), "Eager or lazy, on %s", g->machine);
	for (size_t i = 0; i < g->n; i++) {
		bool good = gather_curve(r, g->run[i], &curve[n]);

		if (good && eager == GROUP_MAX && !strcmp(curve[n].name, "eager"))
			eager = n;
		if (!good || join(curve, n))
			free((void *)curve[n].x);
		else
			n++;
	}
	for (size_t i = 0; i < n; i++) {
		bool waits = !strncmp(curve[i].name, "lazy", 4);

		cross[i] = eager < n ? crossing(&curve[eager], &curve[i]) : NAN;
		if (waits && isfinite(cross[i]) && !isfinite(mark)) {
			mark = cross[i];
			snprintf(name, sizeof(name), "%.60s: %.1f %%", curve[i].name, mark);
		}
	}
	if (n) {
		chart_curves(&r->page, &c, curve, n, mark, name);
		break_even_table(r, curve, n, cross);
	}
	for (size_t i = 0; i < n; i++)
		free((void *)curve[i].x);
}

void part_break_even(struct report *r)
{
	FILE *out = r->page.out;
	double e = r->costs.save + r->costs.restore;
	size_t i = 0;
	const json_t *runs = lab_runs(r, &i, true);

	if (!runs)
		return;
	html_section(&r->page, "break-even",
	             "How many slots must use the registers for eager to win?");
	fputs("<p>", out);
	html_f(out,
	       "Eager pays a save and a restore in every slot, E = %.0f cycles. Waiting for the "
	       "first "
	       "use pays c = %.0f in every slot, and E and a trap, T = %.0f, in those that use the "
	       "registers. Both cost the same at (E - c) / (E + T) = %.1f %% of the slots; a "
	       "dearer "
	       "trap moves that to the left (T = 2500: %.1f %%).",
	       e, r->costs.ts, r->costs.trap, 100 * (e - r->costs.ts) / (e + r->costs.trap),
	       100 * (e - r->costs.ts) / (e + 2500));
	fputs("</p>\n", out);
	for (; runs; i++, runs = lab_runs(r, &i, true)) {
		struct group g;

		for (int folded = 0; folded < 2; folded++)
			for (size_t k = 0; k < json_array_size(runs); k++) {
				if (!gather(runs, k, &g) || strcmp(g.experiment, "slots") || !g.n ||
				    is_shown(runs, &g) == folded)
					continue;
				if (folded) {
					fputs("<details><summary>", out);
					html_f(out, "The same on %s", g.machine);
					fputs("</summary>\n", out);
				}
				show_break_even(r, &g);
				if (folded)
					fputs("</details>\n", out);
			}
	}
	html_section_end(&r->page);
}

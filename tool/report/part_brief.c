// SPDX-License-Identifier: BSD-2-Clause
/* The answer in a few sentences, for who reads nothing else; each says how sure it is. */
#include <math.h>
#include <string.h>

#include <xst/policy.h>

#include "report/report.h"
#include "ui/number.h"

static void good_or_bad(FILE *out, bool good, const char *word)
{
	fprintf(out, "<span class=\"%s\">%s</span>", good ? "good" : "bad", word);
}

/* All runs of the lab together. */
struct lab_sum {
	double corruptions, checks, switches;
	size_t failed;
};

#define CLOSE 1.02 /* what differs by less is named together */

/* All policies that cost @least, or hardly more. */
static void name_equals(struct report *r, const json_t *runs, const char *experiment,
                        const char *machine, double least, bool sound)
{
	const json_t *run;
	size_t i, n = 0;

	json_array_foreach((json_t *)runs, i, run)
	{
		const char *policy = result_text(run, "policy", "?");
		const struct xst_policy *p = xst_policy_by_name(policy);
		double part[3];

		if (strcmp(result_text(run, "experiment", ""), experiment) ||
		    strcmp(result_text(run, "machine", ""), machine) ||
		    strcmp(result_text(run, "status", ""), "ok") ||
		    (sound && (!p || p->load == XST_LOAD_FIRST_USE)))
			continue;
		report_work(&r->costs, run, policy, part);
		if (part[0] + part[1] + part[2] > CLOSE * least)
			continue;
		fputs(n++ ? ", <strong>" : "<strong>", r->page.out);
		html_text(r->page.out, policy);
		fputs("</strong>", r->page.out);
	}
}

/* The cheapest policy of each experiment, on Bochs where it ran there. */
static void brief_lab(struct report *r, const json_t *runs, struct lab_sum *sum_up)
{
	FILE *out = r->page.out;
	const json_t *run, *other;
	size_t i, k;

	json_array_foreach((json_t *)runs, i, run)
	{
		const char *experiment = result_text(run, "experiment", "?");
		const char *machine = result_text(run, "machine", "?");
		const char *best = NULL, *sound = NULL;
		double least = INFINITY, least_sound = INFINITY;
		bool ok = !strcmp(result_text(run, "status", ""), "ok"), first = true;

		sum_up->failed += !strcmp(result_text(run, "status", ""), "failed");
		if (!ok)
			continue;
		sum_up->corruptions += result_number(run, "corruptions");
		sum_up->checks += result_number(run, "checks");
		sum_up->switches += result_number(run, "switches");
		if (!strcmp(experiment, "slots") || strncmp(machine, "bochs", 5))
			continue;
		json_array_foreach((json_t *)runs, k, other)
		{
			const char *policy = result_text(other, "policy", "?");
			const struct xst_policy *p = xst_policy_by_name(policy);
			double part[3], sum;

			if (strcmp(result_text(other, "experiment", ""), experiment) ||
			    strcmp(result_text(other, "status", ""), "ok") ||
			    strncmp(result_text(other, "machine", ""), "bochs", 5))
				continue;
			first &= k >= i;
			if (strcmp(result_text(other, "machine", ""), machine))
				continue;
			report_work(&r->costs, other, policy, part);
			sum = part[0] + part[1] + part[2];
			if (sum < least) {
				least = sum;
				best = policy;
			}
			if (p && p->load != XST_LOAD_FIRST_USE && sum < least_sound) {
				least_sound = sum;
				sound = policy;
			}
		}
		if (!first || !best || !sound)
			continue;
		fputs("<li>", out);
		html_f(out, "Workload %s (lab, %s): the least work is done by ", experiment,
		       machine);
		name_equals(r, runs, experiment, machine, least, false);
		html_f(out, ", %.0f cycles a switch", least);
		if (least_sound > CLOSE * least) {
			fputs("; of those that never leave registers behind CR0.TS by ", out);
			name_equals(r, runs, experiment, machine, least_sound, true);
			html_f(out, ", %.0f", least_sound);
		}
		fputs(".</li>\n", out);
	}
}

static void brief_lab_sum(struct report *r, const struct lab_sum *sum)
{
	FILE *out = r->page.out;
	bool clean = !(sum->corruptions > 0);

	if (!(sum->switches > 0))
		return;
	fputs("<li>", out);
	html_f(out, "In %.0f switches and %.0f checks of all registers the lab found ",
	       sum->switches, sum->checks);
	good_or_bad(out, clean, clean ? "no corruption" : "corruptions");
	if (sum->failed)
		html_f(out, "; %zu runs failed", sum->failed);
	fputs(".</li>\n", out);
}

static void brief_switch(struct report *r, const struct result *result)
{
	const json_t *pairs = result_list(result->doc, "pairs"), *row, *most = NULL;
	const json_t *machine = result_list(result->doc, "machine");
	FILE *out = r->page.out;
	char cpu[200];
	size_t i;

	json_array_foreach((json_t *)pairs, i,
	                   row) if (!strcmp(result_text(row, "how", ""), "yield") &&
	                            isfinite(result_number(row, "effect_percent")) &&
	                            isfinite(result_number(row, "low_percent")) &&
	                            (!most || result_number(row, "effect_percent") >
	                                              result_number(most, "effect_percent"))) most =
	        row;
	if (!most)
		return;
	report_machine(r, result, cpu, sizeof(cpu));
	fputs("<li>", out);
	html_f(out, "On %s under Linux %.30s, what costs a task switch most is %s in %s: ", cpu,
	       result_text(machine, "kernel", "?"), result_text(most, "touch", "?"),
	       result_flag(most, "both") ? "both tasks" : "one task");
	fputs("<strong>", out);
	html_f(out, "%+.1f %%", result_number(most, "effect_percent"));
	fputs("</strong>", out);
	html_f(out, " (95 %% interval %+.1f to %+.1f) against tasks with nothing live.",
	       result_number(most, "low_percent"), result_number(most, "high_percent"));
	fputs("</li>\n", out);
}

/* What xstate sim concluded itself. */
static void brief_sim(struct report *r, size_t i, bool few)
{
	FILE *out = r->page.out;
	char name[120];

	report_workload(r, i, name, sizeof(name));
	fputs("<li>", out);
	html_f(out, "Workload %s", name);
	fputc('\n', out);
	report_words(&r->results.list[i], out, few ? REPORT_BRIEF : REPORT_LEAST);
	fputs("</li>\n", out);
}

static void brief_sweep(struct report *r, size_t i, size_t points)
{
	const struct result *result = &r->results.list[i + points - 1];
	const json_t *even = result_list(result->doc, "break_even");
	const char *slash = strrchr(result->source, '/');
	FILE *out = r->page.out;
	char range[NUMBER_TEXT];

	range_text(range, result_number(even, "formula_low_per_million"),
	           result_number(even, "formula_high_per_million"), " to ", 0);
	fputs("<li>", out);
	html_f(out,
	       "Made-up workload, %zu shares of used slots (%.60s): by the formula eager is "
	       "cheaper "
	       "than lazy above %s used slots of a million, over the range of prices.",
	       points, slash ? slash + 1 : result->source, range);
	fputs("</li>\n", out);
}

static void brief_sims(struct report *r)
{
	size_t sims = 0;

	for (size_t i = 0; i < r->results.n;) {
		const size_t points = report_is(&r->results.list[i], "xstate.sim/1", NULL)
		                              ? report_sweep(r, i)
		                              : 0;

		sims += points == 1;
		i += points ? points : 1;
	}
	for (size_t i = 0; i < r->results.n;) {
		size_t points = 1;

		if (report_is(&r->results.list[i], "xstate.sim/1", NULL)) {
			points = report_sweep(r, i);
			if (points > 1)
				brief_sweep(r, i, points);
			else
				brief_sim(r, i, sims <= REPORT_FEW);
		}
		i += points;
	}
}

/* Were the runs quiet enough, by their own controls and limits? */
static void brief_trust(struct report *r)
{
	FILE *out = r->page.out;
	size_t runs = 0, loud = 0, missed = 0, blurred = 0;

	for (size_t i = report_bench(r, NULL, 0); i < r->results.n;
	     i = report_bench(r, NULL, i + 1)) {
		const json_t *doc = r->results.list[i].doc, *one;
		const json_t *noise = result_list(doc, "noise"),
		             *limits = result_list(doc, "noise_limits");
		const char *key;
		bool too_much = false, lost = false, unresolved = false;
		size_t k;

		if (!noise)
			continue;
		runs++;
		json_object_foreach((json_t *)limits, key, one) too_much |=
		        !(result_number(noise, key) <= result_number(limits, key));
		json_array_foreach((json_t *)result_list(doc, "controls"), k, one)
		{
			lost |= !result_flag(one, "found");
			unresolved |= !strcmp(result_text(one, "verdict", ""), "not resolved");
		}
		loud += too_much || !limits;
		missed += lost;
		blurred += unresolved;
	}
	if (!runs)
		return;
	fputs("<li>", out);
	html_f(out, "How sure: in %zu of %zu measured runs every control was found where it is; ",
	       runs - missed, runs);
	if (blurred)
		html_f(out, "in %zu a dose was not told from nothing; ", blurred);
	if (loud) {
		html_f(out, "%zu ran beside other programs or noise beyond the limits, ", loud);
		good_or_bad(out, false, "so decide nothing by them");
	} else {
		good_or_bad(out, true, "all were quiet");
	}
	fputs(".</li>\n", out);
}

void part_brief(struct report *r)
{
	FILE *out = r->page.out;
	struct lab_sum sum = {0};
	bool all_told;

	html_section(&r->page, "brief", "In brief");
	fputs("<div class=\"brief\"><ul>\n", out);
	for (size_t i = 0; i < r->results.n; i++)
		if (report_is(&r->results.list[i], "xstate.lab/1", NULL))
			brief_lab(r, result_list(r->results.list[i].doc, "results"), &sum);
	brief_lab_sum(r, &sum);
	brief_sims(r);
	all_told = report_fleet(r);
	for (size_t i = report_bench(r, "switch", 0); i < r->results.n && !all_told;
	     i = report_bench(r, "switch", i + 1))
		brief_switch(r, &r->results.list[i]);
	if (isfinite(r->costs.pair_ns)) {
		fputs("<li>", out);
		html_f(out,
		       "How much it matters: a save and a restore take %.0f ns here. At 640 "
		       "switches a "
		       "second, as in a build, that is %.3f %% of a CPU; at a million it is %.0f "
		       "%%.",
		       r->costs.pair_ns, 100 * 640 * r->costs.pair_ns * 1e-9,
		       100 * 1e6 * r->costs.pair_ns * 1e-9);
		fputs("</li>\n", out);
	}
	brief_trust(r);
	fputs("</ul></div>\n", out);
	html_section_end(&r->page);
}

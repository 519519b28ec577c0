// SPDX-License-Identifier: BSD-2-Clause
/* The page as a whole, and what its parts share. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xst/policy.h>

bool report_is(const struct result *result, const char *schema, const char *kind)
{
	return !strcmp(result->schema, schema) && (!kind || !strcmp(result->kind, kind));
}

size_t report_bench(const struct report *r, const char *kind, size_t from)
{
	while (from < r->results.n && !report_is(&r->results.list[from], "xstate.bench/1", kind))
		from++;
	return from;
}

void report_machine(const struct report *r, const struct result *result, char *buf, size_t size)
{
	const json_t *machine = result_list(result->doc, "machine");
	const char *slash = strrchr(result->source, '/');
	size_t same = 0, here = 0, number = 0;
	char which[32] = "";

	for (size_t i = 0; i < r->results.n; i++) {
		const struct result *other = &r->results.list[i];
		const bool alike = report_is(other, result->schema, result->kind);

		same += alike;
		here += alike && !strcmp(other->source, result->source);
		number += alike && !strcmp(other->source, result->source) && other <= result;
	}
	if (here > 1)
		snprintf(which, sizeof(which), ", run %zu", number);
	if (same > 1)
		snprintf(buf, size, "%s, family %.0f model %.0f (%.60s%s)",
		         result_text(machine, "cpu", "a CPU unnamed"),
		         result_number(machine, "family"), result_number(machine, "model"),
		         slash ? slash + 1 : result->source, which);
	else
		snprintf(buf, size, "%s, family %.0f model %.0f",
		         result_text(machine, "cpu", "a CPU unnamed"),
		         result_number(machine, "family"), result_number(machine, "model"));
}

void report_fold(struct report *r, const struct result *result, bool begin)
{
	char machine[200];
	size_t runs = 0;

	for (size_t i = report_bench(r, result->kind, 0); i < r->results.n;
	     i = report_bench(r, result->kind, i + 1))
		runs++;
	if (runs <= REPORT_FEW)
		return;
	if (!begin) {
		fputs("</details>\n", r->page.out);
		return;
	}
	report_machine(r, result, machine, sizeof(machine));
	fputs("<details><summary>", r->page.out);
	html_f(r->page.out, "bench %s, %s", result->kind, machine);
	fputs("</summary>\n", r->page.out);
}

/* The median cycles of a row of a cost table, NAN when it has none. */
static double cost_of(const json_t *doc, const char *instruction, const char *live, const char *key)
{
	const json_t *costs = result_list(doc, "costs"), *row;
	size_t i;

	json_array_foreach((json_t *)costs, i,
	                   row) if (!strcmp(result_text(row, "instruction", ""), instruction) &&
	                            !strcmp(result_text(row, "live", ""), live) &&
	                            !result_text(row, "detail", NULL)) return result_number(row,
	                                                                                    key);
	return NAN;
}

void report_costs_find(struct report *r)
{
	static const struct {
		const char *pair, *save;
	} forms[] = {{"XSAVEC+XRSTOR", "XSAVEC"},
	             {"XSAVEOPT+XRSTOR", "XSAVEOPT"},
	             {"XSAVE+XRSTOR", "XSAVE"},
	             {"FXSAVE+FXRSTOR", "FXSAVE"}};
	static const char *const lives[] = {"AVX", "SSE"};

	r->costs = (struct report_costs){
	        .save = 165, .restore = 390, .trap = 600, .ts = 60, .pair_ns = NAN};
	snprintf(r->costs.from, sizeof(r->costs.from), "a Zen 3 CPU on record");
	for (size_t i = report_bench(r, "insn", 0); i < r->results.n;
	     i = report_bench(r, "insn", i + 1))
		for (size_t f = 0; f < 4; f++)
			for (size_t l = 0; l < 2; l++) {
				const json_t *doc = r->results.list[i].doc;
				double pair =
				        cost_of(doc, forms[f].pair, lives[l], "median_cycles");
				double save =
				        cost_of(doc, forms[f].save, lives[l], "median_cycles");
				char cpu[120];

				if (!(pair > 0) || !(save > 0) || !(save < pair))
					continue;
				r->costs.save = save;
				r->costs.restore = pair - save;
				r->costs.pair_ns =
				        cost_of(doc, forms[f].pair, lives[l], "median_ns");
				report_machine(r, &r->results.list[i], cpu, sizeof(cpu));
				snprintf(r->costs.from, sizeof(r->costs.from),
				         "%s measured on %.90s with %s live", forms[f].pair, cpu,
				         lives[l]);
				return;
			}
}

void report_work(const struct report_costs *c, const json_t *counts, const char *policy,
                 double part[3])
{
	const struct xst_policy *p = xst_policy_by_name(policy);
	double switches = result_number(counts, "switches");
	bool waits = p && p->load == XST_LOAD_FIRST_USE;

	part[0] = result_number(counts, "saves") * c->save / switches;
	part[1] = result_number(counts, "loads") * c->restore / switches;
	part[2] = result_number(counts, "traps") * c->trap / switches + (waits ? c->ts : 0);
	for (int i = 0; i < 3; i++)
		if (!isfinite(part[i]))
			part[i] = 0;
}

static void navigation(const struct page *p, FILE *out)
{
	static const char *const links[][2] = {{"brief", "In brief"},
	                                       {"policies", "Policies"},
	                                       {"break-even", "Break-even"},
	                                       {"sim", "Workloads"},
	                                       {"effects", "Effects"},
	                                       {"costs", "Costs"},
	                                       {"fleet", "Fleet"},
	                                       {"share", "How much it matters"},
	                                       {"trust", "Can it be believed"},
	                                       {"samples", "Samples"},
	                                       {"history", "On record"},
	                                       {"machines", "Machines"}};

	fputs("<nav aria-label=\"Sections\"><ul>", out);
	for (unsigned k = 0; k < p->sections; k++)
		for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
			if (!strcmp(links[i][0], p->section[k]))
				fprintf(out, "<li><a href=\"#h-%s\">%s</a></li>", links[i][0],
				        links[i][1]);
	fputs("</ul></nav>\n", out);
}

/* The sections, into memory: which there are is known afterwards. */
static char *body(struct report *r, size_t *bytes)
{
	char *text = NULL;

	r->page.out = open_memstream(&text, bytes);
	if (!r->page.out)
		return NULL;
	part_brief(r);
	part_lab(r);
	part_break_even(r);
	part_sim(r);
	part_effects(r);
	part_costs(r);
	part_merge(r);
	part_share(r);
	part_trust(r);
	part_samples(r);
	part_history(r);
	part_machines(r);
	if (fclose(r->page.out)) {
		free(text);
		return NULL;
	}
	return text;
}

bool report_write(struct report *r, FILE *out)
{
	char date[40] = "", *text;
	time_t now = time(NULL);
	size_t bytes = 0;
	struct tm utc;

	r->page = (struct page){0};
	report_costs_find(r);
	text = body(r, &bytes);
	if (!text)
		return false;
	r->page.out = out;
	if (gmtime_r(&now, &utc))
		strftime(date, sizeof(date), "%d %B %Y, %H:%M UTC", &utc);
	html_head(&r->page, "xstate: what extended state costs");
	fputs("<header><h1>What x86 extended state costs</h1>\n<p class=\"soft\">", out);
	html_f(out,
	       "Made from %zu result%s on %s. Saving and restoring the FPU, SSE, AVX and AVX-512 "
	       "registers when tasks switch: by which policy, on which CPU, and how sure that is.",
	       r->results.n, r->results.n == 1 ? "" : "s", date);
	fputs("</p>\n", out);
	navigation(&r->page, out);
	fputs("</header>\n<main id=\"main\">\n", out);
	fwrite(text, 1, bytes, out);
	html_tail(&r->page);
	free(text);
	return true;
}

// SPDX-License-Identifier: BSD-2-Clause
/* Paired effects with their intervals: task switches of a kernel, fibers, single instructions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/report.h"

static bool seen(double low, double high)
{
	return low > 0 || high < 0;
}

static const char *how_text(const char *how, const char *who, char buf[96])
{
	snprintf(buf, 96, "%s, %s", how,
	         !strcmp(who, "idle")     ? "two CPUs with idle between"
	         : !strcmp(who, "thread") ? "two threads"
	                                  : "two processes");
	return buf;
}

static void switch_table(struct report *r, const json_t *const *row, size_t n)
{
	struct page *p = &r->page;

	html_table(p, "A loop is there and back: two switches",
	           "Touched|#ns a loop|#Loops in 2 s|#Switches/s|#Effect %|#95 % interval|#Cycles "
	           "a loop",
	           true);
	for (size_t i = 0; i < n; i++) {
		double low = result_number(row[i], "low_percent");
		double high = result_number(row[i], "high_percent");

		html_row(p);
		html_head_cell(p, "%s%s", result_text(row[i], "touch", "?"),
		               !strcmp(result_text(row[i], "touch", ""), "none") ? ""
		               : result_flag(row[i], "both")                     ? ", both tasks"
		                                                                 : ", one task");
		html_number(p, "%.1f", result_number(row[i], "median_ns_per_loop"));
		html_number(p, "%.0f", result_number(row[i], "loops_in_2_s"));
		html_number(p, "%.0f", result_number(row[i], "switches_per_s"));
		html_number(p, "%+.2f", result_number(row[i], "effect_percent"));
		html_interval(p, "%+.2f to %+.2f", low, high);
		html_number(p, "%+.0f", result_number(row[i], "extra_cycles_per_loop"));
	}
	html_table_end(p);
}

/* One pair's rows, from row @first of @pairs on. */
static void show_pair(struct report *r, const json_t *pairs, size_t first, const char *machine)
{
	const json_t *head = json_array_get(pairs, first), *row;
	const char *how = result_text(head, "how", ""), *who = result_text(head, "who", "");
	size_t most = json_array_size(pairs), rows = 0, n = 0, i;
	const json_t **list = calloc(most, sizeof(*list));
	struct chart_range *range = calloc(most, sizeof(*range));
	char title[160], about[240], buf[96];
	const struct chart c = {
	        .title = title, .about = about, .unit = "% longer than with nothing live"};

	if (!list || !range)
		goto out;
	json_array_foreach((json_t *)pairs, i, row)
	{
		if (strcmp(result_text(row, "how", ""), how) ||
		    strcmp(result_text(row, "who", ""), who) || !result_flag(row, "available"))
			continue;
		if (i < first)
			goto out; /* shown already */
		list[rows++] = row;
		if (!isfinite(result_number(row, "effect_percent")))
			continue;
		/* Below so many blocks there is an estimate, but nothing to say how sure it is. */
		snprintf(range[n].label, sizeof(range[n].label), "%.40s, %s%s",
		         result_text(row, "touch", "?"), result_flag(row, "both") ? "both" : "one",
		         isfinite(result_number(row, "low_percent")) ? "" : " (too few blocks)");
		range[n].low = result_number(row, "low_percent");
		range[n].middle = result_number(row, "effect_percent");
		range[n].high = result_number(row, "high_percent");
		range[n].truth = NAN;
		range[n].faint = !seen(range[n].low, range[n].high);
		n++;
	}
	if (!n)
		goto out;
	snprintf(title, sizeof(title), "Task switch by %s", how_text(how, who, buf));
	snprintf(about, sizeof(about), "%.140s. Faint: the interval holds 0", machine);
	chart_ranges(&r->page, &c, range, n, 0);
	switch_table(r, list, rows);
out:
	free(list);
	free(range);
}

static void show_switch(struct report *r, const struct result *result)
{
	const json_t *pairs = result_list(result->doc, "pairs");
	const json_t *beside = result_list(result->doc, "beside");
	FILE *out = r->page.out;
	char machine[200];

	report_machine(r, result, machine, sizeof(machine));
	for (size_t i = 0; i < json_array_size(pairs); i++)
		show_pair(r, pairs, i, machine);
	if (!beside)
		return;
	fputs("<p>", out);
	html_f(out,
	       "In the same blocks as %s: %s ran at %.0f switches a second, ours at %.0f; the "
	       "difference is %+.2f %% (95 %% interval %+.2f to %+.2f).",
	       result_text(beside, "row", "?"), result_text(beside, "program", "?"),
	       result_number(beside, "their_median_per_s"),
	       result_number(beside, "our_median_per_s"),
	       result_number(beside, "difference_percent"), result_number(beside, "low_percent"),
	       result_number(beside, "high_percent"));
	fputs("</p>\n", out);
}

static void show_fiber(struct report *r, const struct result *result)
{
	const json_t *rows = result_list(result->doc, "switches"), *row;
	size_t most = json_array_size(rows), n = 0, i;
	struct chart_range *range = calloc(most ? most : 1, sizeof(*range));
	struct page *p = &r->page;
	char machine[200], about[260];
	const struct chart c = {.title = "Switch in user mode, SSE live: ratio to the bare pair",
	                        .about = about,
	                        .unit = "times the bare pair"};

	if (!range)
		return;
	report_machine(r, result, machine, sizeof(machine));
	snprintf(about, sizeof(about), "The bare pair is %.30s. %.150s",
	         result_text(result->doc, "pair", "save and restore"), machine);
	json_array_foreach((json_t *)rows, i, row)
	{
		if (strcmp(result_text(row, "live", ""), "SSE") ||
		    !isfinite(result_number(row, "ratio")))
			continue;
		snprintf(range[n].label, sizeof(range[n].label), "%.60s",
		         result_text(row, "name", "?"));
		range[n].low = result_number(row, "low_ratio");
		range[n].middle = result_number(row, "ratio");
		range[n].high = result_number(row, "high_ratio");
		range[n].truth = NAN;
		n++;
	}
	if (n) {
		chart_ranges(p, &c, range, n, 1);
		html_table(p, "One switch, by what is live",
		           "Switch|Live|#Cycles|#ns|#Ratio|#95 % interval", true);
		json_array_foreach((json_t *)rows, i, row)
		{
			if (!isfinite(result_number(row, "ratio")))
				continue;
			html_row(p);
			html_head_cell(p, "%s", result_text(row, "name", "?"));
			html_cell(p, "%s", result_text(row, "live", "?"));
			html_number(p, "%.0f", result_number(row, "median_cycles"));
			html_number(p, "%.1f", result_number(row, "median_ns"));
			html_number(p, "%.3f", result_number(row, "ratio"));
			html_interval(p, "%.3f to %.3f", result_number(row, "low_ratio"),
			              result_number(row, "high_ratio"));
		}
		html_table_end(p);
	}
	free(range);
}

static void show_questions(struct report *r, const struct result *result)
{
	const json_t *effects = result_list(result->doc, "effects"), *e;
	size_t most = json_array_size(effects), n = 0, i;
	struct chart_range *range = calloc(most ? most : 1, sizeof(*range));
	struct page *p = &r->page;
	char about[220];
	const struct chart c = {.title = "Do the optimisations of this CPU do anything?",
	                        .about = about,
	                        .unit = "% difference"};

	if (!range)
		return;
	report_machine(r, result, about, sizeof(about));
	json_array_foreach((json_t *)effects, i, e)
	{
		if (strcmp(result_text(e, "unit", ""), "percent") ||
		    !isfinite(result_number(e, "effect")))
			continue;
		snprintf(range[n].label, sizeof(range[n].label), "%.52s",
		         result_text(e, "question", "?"));
		range[n].low = result_number(e, "low");
		range[n].middle = result_number(e, "effect");
		range[n].high = result_number(e, "high");
		range[n].truth = NAN;
		range[n].faint = !seen(range[n].low, range[n].high);
		n++;
	}
	if (n)
		chart_ranges(p, &c, range, n, 0);
	if (most) {
		html_table(p, "Paired comparisons with 95 % intervals",
		           "Question|#Effect|#95 % interval|Unit", n > 0);
		json_array_foreach((json_t *)effects, i, e)
		{
			html_row(p);
			html_head_cell(p, "%s", result_text(e, "question", "?"));
			html_number(p, "%+.2f", result_number(e, "effect"));
			html_interval(p, "%+.2f to %+.2f", result_number(e, "low"),
			              result_number(e, "high"));
			html_cell(p, "%s", result_text(e, "unit", ""));
		}
		html_table_end(p);
	}
	free(range);
}

/* Of how many blocks a parity is, where it is more than one beside the parity itself. */
static const char *sources_of(const json_t *row, char text[32])
{
	const double n = result_number(row, "sources");

	text[0] = 0;
	if (n > 1)
		snprintf(text, 32, " of %.0f", n);
	return text;
}

static void show_kernel(struct report *r, const struct result *result)
{
	const json_t *rows = result_list(result->doc, "sections"), *row;
	size_t most = json_array_size(rows), n = 0, i;
	struct chart_range *range = calloc(most ? most : 1, sizeof(*range));
	struct page *p = &r->page;
	char about[220], text[32];
	const struct chart c = {.title = "RAID parity in a kernel, a section for each 4 KiB block",
	                        .about = about,
	                        .unit = "of the speed without a section"};

	if (!range)
		return;
	report_machine(r, result, about, sizeof(about));
	json_array_foreach((json_t *)rows, i, row)
	{
		if (!isfinite(result_number(row, "throughput_ratio")))
			continue;
		snprintf(range[n].label, sizeof(range[n].label), "%.24s%s, %.40s",
		         result_text(row, "way", "?"), sources_of(row, text),
		         result_text(row, "name", "?"));
		range[n].low = result_number(row, "low_ratio");
		range[n].middle = result_number(row, "throughput_ratio");
		range[n].high = result_number(row, "high_ratio");
		range[n].truth = NAN;
		range[n].faint = range[n].low <= 1 && range[n].high >= 1;
		n++;
	}
	if (n)
		chart_ranges(p, &c, range, n, 1);
	if (most) {
		html_table(p, "A section alone, and a parity of a block with one",
		           "Parity by|At begin and end|#Cycles|#GB/s|#Ratio|#95 % interval", n > 0);
		json_array_foreach((json_t *)rows, i, row)
		{
			html_row(p);
			html_head_cell(p, "%s%s", result_text(row, "way", "(a section alone)"),
			               sources_of(row, text));
			html_cell(p, "%s", result_text(row, "name", "?"));
			html_number(p, "%.1f", result_number(row, "median_cycles"));
			html_number(p, "%.1f", result_number(row, "gigabytes_per_second"));
			html_number(p, "%.3f", result_number(row, "throughput_ratio"));
			html_interval(p, "%.3f to %.3f", result_number(row, "low_ratio"),
			              result_number(row, "high_ratio"));
		}
		html_table_end(p);
	}
	free(range);
}

void part_effects(struct report *r)
{
	static const struct {
		const char *kind;
		void (*show)(struct report *r, const struct result *result);
	} kinds[] = {{"switch", show_switch},
	             {"fiber", show_fiber},
	             {"kernel", show_kernel},
	             {"insn", show_questions}};
	bool open = false;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (size_t i = report_bench(r, kinds[k].kind, 0); i < r->results.n;
		     i = report_bench(r, kinds[k].kind, i + 1)) {
			if (!open) {
				html_section(&r->page, "effects",
				             "Measured effects, with 95 % intervals");
				fputs("<p>Arms of the same block are compared, in random order, so "
				      "that "
				      "what slows the machine down slows both. A whisker is the "
				      "interval "
				      "that holds the truth 95 times in 100; the dot is the "
				      "estimate.</p>\n",
				      r->page.out);
			}
			open = true;
			report_fold(r, &r->results.list[i], true);
			kinds[k].show(r, &r->results.list[i]);
			report_fold(r, &r->results.list[i], false);
		}
	if (open)
		html_section_end(&r->page);
}

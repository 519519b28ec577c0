// SPDX-License-Identifier: BSD-2-Clause
/* Whether a run may be believed: controls and noise; the machines; the raw samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "report/report.h"

#define SAMPLE_BLOCKS 20000
#define SAMPLE_ARMS   80

/* Figures of noise by their keys; how large they may be is in the file. */
static const struct {
	const char *key, *what, *unit;
} noise[] = {
        {"waiting_percent", "time spent waiting for a CPU", "%"},
        {"others_cpus", "other programs", "CPUs"},
        {"steal_cpus", "stolen by the hypervisor", "CPUs"},
        {"dropped_percent", "samples dropped", "%"},
        {"throughput_spread_percent", "spread of the throughput canary", "%"},
        {"latency_spread_percent", "spread of the latency canary", "%"},
        {"lag1", "correlation of neighbours", ""},
};

/* Older results say only whether it was found. */
static const char *word_of(const json_t *control)
{
	return result_text(control, "verdict",
	                   result_flag(control, "found") ? "found" : "not found");
}

static void controls(struct report *r, const struct result *result)
{
	const json_t *list = result_list(result->doc, "controls"), *one;
	struct page *p = &r->page;
	struct chart_range range[8];
	char title[200], machine[160];
	const struct chart c = {
	        .title = title,
	        .about = "Effects known by construction: the upright mark is the truth, the "
	                 "whisker what was read",
	        .unit = "%"};
	size_t n = 0, i;

	report_machine(r, result, machine, sizeof(machine));
	snprintf(title, sizeof(title), "Controls of bench %s, %s", result->kind, machine);
	json_array_foreach((json_t *)list, i, one)
	{
		if (n == 8 || !isfinite(result_number(one, "read_percent")))
			continue;
		range[n] = (struct chart_range){.low = result_number(one, "low_percent"),
		                                .middle = result_number(one, "read_percent"),
		                                .high = result_number(one, "high_percent"),
		                                .truth = result_number(one, "truth_percent"),
		                                .faint = strcmp(word_of(one), "found") != 0};
		snprintf(range[n].label, sizeof(range[n].label), "%.20s%s%.20s%s",
		         result_text(one, "name", "?"), strcmp(word_of(one), "found") ? " (" : "",
		         strcmp(word_of(one), "found") ? word_of(one) : "",
		         strcmp(word_of(one), "found") ? ")" : "");
		n++;
	}
	if (!n)
		return;
	chart_ranges(p, &c, range, n, 0);
	html_table(p, "Controls, in percent",
	           "Control|#True|#Read|#95 % interval|#Detectable|Verdict", true);
	json_array_foreach((json_t *)list, i, one)
	{
		html_row(p);
		html_head_cell(p, "%s", result_text(one, "name", "?"));
		html_number(p, "%+.3f", result_number(one, "truth_percent"));
		html_number(p, "%+.3f", result_number(one, "read_percent"));
		html_interval(p, "%+.3f to %+.3f", result_number(one, "low_percent"),
		              result_number(one, "high_percent"));
		html_number(p, "%.3f", result_number(one, "mde_percent"));
		html_cell(p, "%s", word_of(one));
	}
	html_table_end(p);
}

static void noise_table(struct report *r, const struct result *result)
{
	const json_t *figures = result_list(result->doc, "noise");
	const json_t *limits = result_list(result->doc, "noise_limits");
	struct page *p = &r->page;

	html_table(p, "Noise while it was measured", "Figure|#Read|#Limit|Unit|Verdict", false);
	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++) {
		double x = result_number(figures, noise[i].key);
		double limit = result_number(limits, noise[i].key);
		bool known = isfinite(x) && isfinite(limit);

		html_row(p);
		html_head_cell(p, "%s", noise[i].what);
		html_number(p, "%.3g", x);
		html_number(p, "%.3g", limit);
		html_cell(p, "%s", noise[i].unit);
		fprintf(p->out, "<td class=\"%s\">%s</td>", known && x <= limit ? "good" : "bad",
		        !known       ? "unknown"
		        : x <= limit ? "quiet"
		                     : "too much");
	}
	html_table_end(p);
}

void part_trust(struct report *r)
{
	bool open = false;

	for (size_t i = report_bench(r, NULL, 0); i < r->results.n;
	     i = report_bench(r, NULL, i + 1)) {
		const struct result *result = &r->results.list[i];

		if (!result_list(result->doc, "controls"))
			continue;
		if (!open) {
			html_section(&r->page, "trust", "Can it be believed?");
			fputs("<p>Every run carries its own proof: the base again, which must "
			      "differ by "
			      "nothing, and doses of known cost, which must be found. When the "
			      "surroundings "
			      "were too loud the figures are shown, but nothing should be decided "
			      "by "
			      "them.</p>\n",
			      r->page.out);
		}
		open = true;
		report_fold(r, result, true);
		controls(r, result);
		noise_table(r, result);
		report_fold(r, result, false);
	}
	if (open)
		html_section_end(&r->page);
}

/* One arm's samples as JSON for the page's script, in nanoseconds or ticks a loop. */
static void arm_json(FILE *out, const json_t *arm, double hz, size_t blocks, bool first)
{
	const json_t *ticks = result_list(arm, "ticks"), *gone = result_list(arm, "dropped_blocks");
	double loops = result_number(arm, "loops");
	const char *s = result_text(arm, "name", "?");
	size_t drop = 0;

	fprintf(out, "%s{\"name\":\"", first ? "" : ",\n");
	for (; *s; s++) /* in a script nothing is escaped but by JSON: plain characters only */
		fputc((unsigned char)*s < 0x20 || strchr("<>&\"\\'", *s) || (unsigned char)*s > 0x7e
		              ? '?'
		              : *s,
		      out);
	fputs("\",\"unit\":\"ns a loop\",\"y\":[", out);
	for (size_t b = 0; b < blocks; b++) {
		const json_t *v = json_array_get(ticks, b);
		double y = json_is_number(v) ? json_number_value(v) / loops / hz * 1e9 : NAN;

		while (drop < json_array_size(gone) &&
		       json_integer_value(json_array_get(gone, drop)) < (json_int_t)b)
			drop++;
		if (drop < json_array_size(gone) &&
		    json_integer_value(json_array_get(gone, drop)) == (json_int_t)b)
			y = NAN;
		if (isfinite(y))
			fprintf(out, "%s%.5g", b ? "," : "", y);
		else
			fprintf(out, "%snull", b ? "," : "");
	}
	fputs("]}", out);
}

static void viewer(struct report *r, const struct result *result)
{
	const json_t *arms = result_list(result_list(result->doc, "samples"), "arms"), *arm;
	double hz = result_number(result_list(result->doc, "machine"), "tsc_hz");
	FILE *out = r->page.out;
	bool first = true;
	char machine[200];
	size_t i;

	report_machine(r, result, machine, sizeof(machine));
	fputs("<div class=\"samples\"><h3>", out);
	html_f(out, "bench %s, %s", result->kind, machine);
	fputs("</h3>\n<div class=\"tools\"><label>Arm <select></select></label>"
	      "<button type=\"button\" data-do=\"in\">Zoom in</button>"
	      "<button type=\"button\" data-do=\"out\">Zoom out</button>"
	      "<button type=\"button\" data-do=\"left\" aria-label=\"Earlier "
	      "blocks\">&larr;</button>"
	      "<button type=\"button\" data-do=\"right\" aria-label=\"Later "
	      "blocks\">&rarr;</button>"
	      "<button type=\"button\" data-do=\"all\">All</button></div>\n"
	      "<figure><svg class=\"plot\" tabindex=\"0\" role=\"img\"><title>Samples over the "
	      "blocks of the "
	      "run; drag, or use plus, minus, the arrow keys and 0</title></svg>"
	      "<p role=\"status\" class=\"soft small\"></p></figure>\n"
	      "<script type=\"application/json\">[",
	      out);
	json_array_foreach((json_t *)arms, i, arm)
	{
		size_t blocks = json_array_size(result_list(arm, "ticks"));

		if (i == SAMPLE_ARMS || !blocks || !(result_number(arm, "loops") > 0))
			continue;
		arm_json(out, arm, hz, blocks < SAMPLE_BLOCKS ? blocks : SAMPLE_BLOCKS, first);
		first = false;
	}
	fputs("]</script></div>\n", out);
}

static bool has_samples(const struct result *result)
{
	const json_t *arm =
	        json_array_get(result_list(result_list(result->doc, "samples"), "arms"), 0);

	return json_array_size(result_list(arm, "ticks")) > 0 &&
	       result_number(result_list(result->doc, "machine"), "tsc_hz") > 0 &&
	       result_number(arm, "loops") > 0;
}

void part_samples(struct report *r)
{
	bool open = false;

	for (size_t i = report_bench(r, NULL, 0); i < r->results.n;
	     i = report_bench(r, NULL, i + 1)) {
		if (!has_samples(&r->results.list[i]))
			continue;
		if (!open) {
			html_section(&r->page, "samples", "Raw samples");
			fputs("<p>Every dot is one slice of the run. Drag over a stretch to zoom "
			      "into it; with "
			      "the keyboard: plus, minus, arrows, 0.</p>\n",
			      r->page.out);
		}
		open = true;
		viewer(r, &r->results.list[i]);
	}
	if (open)
		html_section_end(&r->page);
}

void part_machines(struct report *r)
{
	struct page *p = &r->page;
	bool open = false;

	html_section(p, "machines", "Machines and files");
	for (size_t i = 0; i < r->results.n; i++) {
		const struct result *result = &r->results.list[i];
		const json_t *m = result_list(result->doc, "machine");

		if (!m)
			continue;
		if (!open)
			html_table(p, "What was measured where",
			           "Run|CPU|Microcode|Kernel|Hypervisor|#TSC "
			           "MHz|Date|#Seed|#Blocks|State",
			           false);
		open = true;
		html_row(p);
		html_head_cell(p, "bench %s", result->kind);
		html_cell(p, "%s (%s family %.0f model %.0f stepping %.0f)",
		          result_text(m, "cpu", "?"), result_text(m, "vendor", "?"),
		          result_number(m, "family"), result_number(m, "model"),
		          result_number(m, "stepping"));
		html_cell(p, "%s", result_text(m, "microcode", "unknown"));
		html_cell(p, "%s", result_text(m, "kernel", "unknown"));
		html_cell(p, "%s", result_text(m, "hypervisor", "none"));
		html_number(p, "%.0f", result_number(m, "tsc_hz") / 1e6);
		html_cell(p, "%s", result_text(m, "date", "unknown"));
		html_number(p, "%.0f", result_number(result->doc, "seed"));
		html_number(p, "%.0f", result_number(result->doc, "blocks_done"));
		html_cell(p, "%s",
		          result_flag(result->doc, "complete") ? "complete" : "interrupted");
	}
	if (open)
		html_table_end(p);
	fputs("<p class=\"small\">Read: ", p->out);
	for (size_t i = 0; i < r->results.n; i++) {
		if (i && !strcmp(r->results.list[i].source, r->results.list[i - 1].source))
			continue;
		fprintf(p->out, "%s<code>", i ? ", " : "");
		html_text(p->out, r->results.list[i].source);
		fputs("</code>", p->out);
	}
	fputs(".</p>\n", p->out);
	html_section_end(p);
}

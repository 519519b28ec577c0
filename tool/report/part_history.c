// SPDX-License-Identifier: BSD-2-Clause
/* Experiments on record beside ours, where they are the same; where not, the difference is said. */
#include <math.h>
#include <string.h>

#include "report/report.h"

/* A figure of ours: a row of bench switch or of the cost table, by its id. */
static double find(const struct report *r, const char *kind, const char *list, const char *id,
                   const char *key)
{
	for (size_t i = report_bench(r, kind, 0); i < r->results.n;
	     i = report_bench(r, kind, i + 1)) {
		const json_t *rows = result_list(r->results.list[i].doc, list), *row;
		size_t k;

		json_array_foreach(
		        (json_t *)rows, k,
		        row) if (!strcmp(result_text(row, "id", ""), id) &&
		                 isfinite(result_number(row, key))) return result_number(row, key);
	}
	return NAN;
}

static double pair(const struct report *r, const char *id, const char *key)
{
	return find(r, "switch", "pairs", id, key);
}

static double lab(const struct report *r, const char *experiment, const char *policy,
                  const char *key)
{
	for (size_t i = 0; i < r->results.n; i++) {
		const json_t *runs = result_list(r->results.list[i].doc, "results"), *run;
		size_t k;

		if (!report_is(&r->results.list[i], "xstate.lab/1", NULL))
			continue;
		json_array_foreach(
		        (json_t *)runs, k,
		        run) if (!strcmp(result_text(run, "experiment", ""), experiment) &&
		                 !strcmp(result_text(run, "policy", ""), policy) &&
		                 !strcmp(result_text(run, "status", ""), "ok")) return 1000 *
		        result_number(run, key) / result_number(run, "switches");
	}
	return NAN;
}

static void begin(struct page *p, const char *what, const char *then)
{
	html_row(p);
	html_head_cell(p, "%s", what);
	html_cell(p, "%s", then);
}

static void lacks(struct page *p, const char *command)
{
	fputs("<td class=\"soft\">not in these files: <code>", p->out);
	html_text(p->out, command);
	fputs("</code></td>", p->out);
}

/* A figure in the middle of a sentence; there is room for several at a time. */
static const char *say(const char *fmt, double x)
{
	static char room[16][32];
	static unsigned turn;
	char *buf = room[turn++ % 16];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (isfinite(x))
		snprintf(buf, sizeof(room[0]), fmt, x);
	else
		snprintf(buf, sizeof(room[0]), "not measured");
#pragma GCC diagnostic pop
	return buf;
}

static void yields(const struct report *r, struct page *p)
{
	double x87 = pair(r, "yield/process/x87/one", "loops_in_2_s");
	double avx = pair(r, "yield/process/avx/one", "loops_in_2_s");

	begin(p, "Yield ping-pong of a task that uses the FPU and one that does not, loops in 2 s",
	      "i5, 2012: 2.19 to 2.23 million before, 2.28 to 2.31 when the preload counter stops, "
	      "2.45 to "
	      "2.48 with owner-based lazy restore");
	if (isfinite(x87))
		html_cell(p, "%.2f million with x87, %s with AVX", x87 / 1e6,
		          say("%.2f", avx / 1e6));
	else
		lacks(p, "xstate bench switch yield");
	begin(p, "The same in the lab: restores per 1000 switches",
	      "the preload counter that never stops made every switch to the FPU task restore");
	if (isfinite(lab(r, "yield", "lazy-keep", "loads")))
		html_cell(p, "lazy-preload %s, lazy-keep %s, eager %s",
		          say("%.0f", lab(r, "yield", "lazy-preload", "loads")),
		          say("%.0f", lab(r, "yield", "lazy-keep", "loads")),
		          say("%.0f", lab(r, "yield", "eager", "loads")));
	else
		lacks(p, "xstate lab run yield");
}

static void rates(const struct report *r, struct page *p)
{
	double ws = pair(r, "pipe/process/none", "will_it_scale_per_s");
	double udp = pair(r, "udp/process/none", "switches_per_s");
	double wide = pair(r, "pipe/process/avx512/both", "effect_percent");

	begin(p, "will-it-scale context_switch1, processes",
	      "2024, a whole server: 16444675 a second; -0.20 % with CET_S in guests only, -0.24 % "
	      "in every "
	      "task");
	if (isfinite(ws))
		html_cell(p,
		          "%.0f a second, one pair on one CPU: the scale differs, so only the size "
		          "of an "
		          "effect can be compared; whether 0.2 %% can be seen is what the controls "
		          "say",
		          ws);
	else
		lacks(p, "xstate bench switch pipe/process");
	begin(p, "Vector registers saved lazily, Anton Blanchard's context_switch",
	      "powerpc: about 8 %, below 100,000 switches/s");
	if (isfinite(wide))
		html_cell(p, "AVX-512 in both tasks: %+.1f %% at %s switches/s", wide,
		          say("%.0f", pair(r, "pipe/process/avx512/both", "switches_per_s")));
	else
		lacks(p, "xstate bench switch pipe");
	begin(p, "netperf UDP_RR, TCP_RR, pipetest",
	      "eager slightly worse on a 2006 Xeon in UDP_RR, better on a K8 but for pipetest");
	if (isfinite(udp))
		html_cell(p,
		          "UDP %.0f, TCP %s, pipe %s transactions a second; live AVX costs %s, %s, "
		          "%s %%",
		          udp / 2, say("%.0f", pair(r, "tcp/process/none", "switches_per_s") / 2),
		          say("%.0f", pair(r, "pipe/process/none", "switches_per_s") / 2),
		          say("%+.1f", pair(r, "udp/process/avx/both", "effect_percent")),
		          say("%+.1f", pair(r, "tcp/process/avx/both", "effect_percent")),
		          say("%+.1f", pair(r, "pipe/process/avx/both", "effect_percent")));
	else
		lacks(p, "xstate bench switch udp tcp pipe");
}

static void costs(const struct report *r, struct page *p)
{
	double fx = find(r, "insn", "costs", "fxsave+fxrstor/sse", "median_cycles");
	double formula = NAN, measured = NAN;

	begin(p, "FXSAVE and FXRSTOR", "250 cycles (optimisation manual); 306 on Zen 3");
	if (isfinite(fx))
		html_cell(p, "%.0f cycles", fx);
	else
		lacks(p, "xstate bench insn fxsave");
	begin(p, "How many slots per million must use the FPU for eager to win?",
	      "asked in 2015, answered by kernel builds that differed by 0.3 %, the size of the "
	      "noise");
	for (size_t i = 0; i < r->results.n && !isfinite(measured); i++) {
		const json_t *runs = result_list(r->results.list[i].doc, "results"), *run;
		size_t k;

		json_array_foreach((json_t *)runs, k, run)
		{
			const json_t *b = result_list(run, "break_even");

			if (strcmp(result_text(run, "policy", ""), "lazy") || !b ||
			    isfinite(measured))
				continue;
			formula = result_number(b, "formula_uses_per_million");
			measured = result_number(b, "measured_uses_per_million");
		}
	}
	if (isfinite(measured))
		html_cell(p,
		          "%.0f against lazy, counted; %.0f by formula, at the costs the lab was "
		          "given",
		          measured, formula);
	else
		lacks(p, "xstate lab run slots");
}

/* What an in-kernel section's begin does to a RAID parity, one section for each 4 KiB block. */
static void sections(const struct report *r, struct page *p)
{
	const char *key = "throughput_ratio";
	double old = find(r, "kernel", "sections", "xor-avx/old-both", key);

	begin(p, "xor of 4 KiB blocks, FNINIT and LDMXCSR at the begin of each section",
	      "E3-1280 v2, 2021, MB/s by AVX, SSE with prefetch, generic SSE: 38616, 25797, 23147 "
	      "without; 23318, 22562, 20431 with both (ratios 0.60, 0.87, 0.88); 26451, 25777, "
	      "23178 "
	      "with LDMXCSR alone (0.68, 1.00, 1.00)");
	if (isfinite(old))
		html_cell(
		        p,
		        "ratios %.2f, %s, %s with both; %s, %s, %s with LDMXCSR alone; by the "
		        "library's section %s, %s, %s",
		        old,
		        say("%.2f", find(r, "kernel", "sections", "xor-prefetch/old-both", key)),
		        say("%.2f", find(r, "kernel", "sections", "xor-sse/old-both", key)),
		        say("%.2f", find(r, "kernel", "sections", "xor-avx/old-ldmxcsr", key)),
		        say("%.2f", find(r, "kernel", "sections", "xor-prefetch/old-ldmxcsr", key)),
		        say("%.2f", find(r, "kernel", "sections", "xor-sse/old-ldmxcsr", key)),
		        say("%.2f", find(r, "kernel", "sections", "xor-avx/section-0", key)),
		        say("%.2f", find(r, "kernel", "sections", "xor-prefetch/section-0", key)),
		        say("%.2f", find(r, "kernel", "sections", "xor-sse/section-0", key)));
	else
		lacks(p, "xstate bench kernel");
}

void part_history(struct report *r)
{
	struct page *p = &r->page;

	html_section(p, "history", "Experiments on record, beside ours");
	fputs("<p>Other machines, other kernels, other years: what can be compared is the size of "
	      "an effect "
	      "and its sign, hardly ever a rate.</p>\n",
	      p->out);
	html_table(p, "On record and here", "Experiment|On record|Here", false);
	yields(r, p);
	rates(r, p);
	costs(r, p);
	sections(r, p);
	html_table_end(p);
	html_section_end(p);
}

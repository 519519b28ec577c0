// SPDX-License-Identifier: BSD-2-Clause
/* xstate bench merge: its command line. The statistics are in bench/merge.h. */
#include <errno.h>
#include <string.h>

#include <gsl/gsl_errno.h>

#include "bench/merge.h"
#include "cmd_bench.h"
#include "ui/ui.h"

#define CMD "xstate bench merge"

enum { OPT_STRICT = OPT_FURTHER };

static const struct opt options[] = {
        {OPT_OUTPUT, 'o', "output", "FILE", "also write it as JSON, for xstate report"},
        {OPT_CSV, 0, "csv", NULL, "print every host's effects as CSV"},
        {OPT_STRICT, 0, "strict", NULL, "leave out runs that were not quiet by their own limits"},
        {0, 0, NULL, NULL, NULL},
};

static const struct opt_usage usage = {
        .cmd = CMD,
        .summary = "many hosts' results joined: which CPUs agree, and which do not",
        .synopsis = "RESULTS... [options]",
        .about = "RESULTS are files of xstate bench switch, fiber and insn, or files of --db. "
                 "Effects,\n"
                 "which are ratios within a run, are pooled by CPU model with random effects, so "
                 "that\n"
                 "hosts that differ widen the interval. Runs of one boot count as one host.\n",
        .opts = options,
        .examples = "xstate bench merge hosts/*.json\n"
                    "xstate bench merge fleet.db -o merged.json && xstate report merged.json\n",
};

struct request {
	struct results results;
	const char *output;
	bool csv, strict;
};

static int write_json(const struct merge *m, const char *path)
{
	struct outfile o;
	struct jw w;

	if (!outfile_open(&o, path))
		return ui_error(CMD, UI_USAGE, "cannot write %s: %s", path, strerror(errno));
	jw_begin(&w, o.f, ui.pretty);
	merge_json(m, &w);
	if (!outfile_commit(&o))
		return ui_error(CMD, UI_USAGE, "cannot write %s: %s", path, strerror(errno));
	return UI_OK;
}

static int join(const struct request *q)
{
	struct merge m;
	struct jw w;
	int status = UI_OK;

	if (!merge_of(&m, &q->results, q->strict))
		status = ui_error(CMD, UI_CANNOT, "memory is short");
	else if (!m.values)
		status = ui_error(CMD, UI_USAGE, "%s",
		                  !m.runs ? "none of these is a run of xstate bench"
		                  : m.loud == m.runs && q->strict
		                          ? "no run was quiet by its own limits"
		                          : "no run has an effect with an interval");
	if (status == UI_OK && m.copies)
		ui_note("copies of runs already read (the same seed, machine, date and boot), "
		        "which "
		        "count once: %zu",
		        m.copies);
	if (status == UI_OK && q->output)
		status = write_json(&m, q->output);
	if (status == UI_OK && ui.json) {
		jw_begin(&w, stdout, ui.pretty);
		merge_json(&m, &w);
	} else if (status == UI_OK) {
		(q->csv ? merge_csv : merge_print)(&m, stdout);
	}
	merge_free(&m);
	return status;
}

int cmd_bench_merge(int argc, char **argv)
{
	struct request q = {.results = {0}};
	struct opt_parser p;
	char err[400];
	int id, status = UI_OK;

	gsl_set_error_handler_off();
	opt_begin(&p, &usage, argc, argv);
	while (status == UI_OK && (id = opt_next(&p)) != OPT_END) {
		switch (id) {
		case OPT_ARG:
			if (results_read(&q.results, p.arg, err, sizeof(err)))
				status = ui_error(CMD, UI_USAGE, "%s", err);
			break;
		case OPT_OUTPUT:
			q.output = p.arg;
			break;
		case OPT_CSV:
			q.csv = true;
			break;
		case OPT_STRICT:
			q.strict = true;
			break;
		default:
			results_free(&q.results);
			return p.status;
		}
	}
	if (status == UI_OK && !q.results.n)
		status = ui_error(CMD, UI_USAGE,
		                  "nothing to join: name at least one file of results");
	if (status == UI_OK && q.csv && ui.json)
		status = ui_error(CMD, UI_USAGE,
		                  "--csv and --json are two forms of one answer: name one");
	for (size_t i = 0; status == UI_OK && q.output && i < q.results.n; i++)
		if (outfile_same(q.output, q.results.list[i].source))
			status = ui_error(CMD, UI_USAGE,
			                  "%s is one of the results: the merge would replace it",
			                  q.output);
	if (status == UI_OK)
		status = join(&q);
	results_free(&q.results);
	return status;
}

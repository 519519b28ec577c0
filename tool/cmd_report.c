// SPDX-License-Identifier: BSD-2-Clause
/* xstate report: one page from any results of xstate lab and xstate bench. The parts are in
 * report/. */
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "report/report.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/outfile.h"
#include "ui/ui.h"

#define CMD "xstate report"

enum { OPT_OUTPUT = 1 };

static const struct opt options[] = {
        {OPT_OUTPUT, 'o', "output", "FILE", "the page (default report.html; - is standard output)"},
        {0, 0, NULL, NULL, NULL},
};

static const struct opt_usage usage = {
        .cmd = CMD,
        .summary = "one self-contained page from results: policies, costs, effects, and how sure",
        .synopsis = "RESULTS... [-o report.html]",
        .about = "RESULTS are files that xstate lab run, xstate bench, xstate bench merge and "
                 "xstate sim\n"
                 "wrote as JSON; - is standard input. The page loads nothing from anywhere and "
                 "prints well.\n",
        .opts = options,
        .examples = "xstate lab run -o lab.json && xstate report lab.json\n"
                    "xstate bench switch -o switch.json\n"
                    "xstate report lab.json switch.json insn.json -o report.html\n",
};

static bool is_known(const struct result *result)
{
	return report_is(result, "xstate.bench/1", NULL) ||
	       report_is(result, "xstate.lab/1", NULL) ||
	       report_is(result, "xstate.merge/1", NULL) || report_is(result, "xstate.sim/1", NULL);
}

/* Everything is read before anything is written. */
static int read_all(struct report *r, const char *path)
{
	char err[400];
	size_t first = r->results.n;

	if (results_read(&r->results, path, err, sizeof(err)))
		return ui_error(CMD, UI_USAGE, "%s", err);
	for (size_t i = first; i < r->results.n; i++)
		if (!is_known(&r->results.list[i]))
			return ui_error(CMD, UI_USAGE, "%s: a report shows no %.60s", path,
			                r->results.list[i].schema);
	return UI_OK;
}

/* The page must not take the place of what it is made from. */
static int spare_inputs(const struct report *r, const char *path)
{
	for (size_t i = 0; i < r->results.n; i++)
		if (outfile_same(path, r->results.list[i].source))
			return ui_error(CMD, UI_USAGE,
			                "%s is one of the results: the page would replace it",
			                path);
	return UI_OK;
}

static int write_page(struct report *r, const char *path)
{
	struct outfile o;

	if (!outfile_open(&o, path))
		return ui_error(CMD, UI_USAGE, "cannot write %s: %s", path, strerror(errno));
	if (!report_write(r, o.f)) {
		outfile_drop(&o);
		return ui_error(CMD, UI_CANNOT, "memory is short");
	}
	if (!outfile_commit(&o))
		return ui_error(CMD, UI_USAGE, "cannot write %s: %s", path, strerror(errno));
	return UI_OK;
}

static void say(const char *path)
{
	struct jw w;

	if (!strcmp(path, "-"))
		return;
	if (!ui.json) {
		printf("%s\n", path);
		return;
	}
	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", "xstate.report/1");
	jw_string(&w, "output", path);
	jw_end(&w);
	jw_finish(&w);
}

int cmd_report(int argc, char **argv)
{
	struct report r = {.results = {0}};
	struct opt_parser p;
	const char *path = "report.html";
	size_t copies;
	int id, status = UI_OK;

	opt_begin(&p, &usage, argc, argv);
	while (status == UI_OK && (id = opt_next(&p)) != OPT_END) {
		if (id == OPT_OUTPUT)
			path = p.arg;
		else if (id == OPT_ARG)
			status = read_all(&r, p.arg);
		else {
			results_free(&r.results);
			return p.status;
		}
	}
	if (status == UI_OK && !r.results.n)
		status = ui_error(CMD, UI_USAGE,
		                  "nothing to show: name at least one file of results");
	if (status == UI_OK)
		status = spare_inputs(&r, path);
	copies = status == UI_OK ? results_drop_copies(&r.results) : 0;
	if (copies)
		ui_note("copies of results already read, left out: %zu", copies);
	if (status == UI_OK)
		status = write_page(&r, path);
	if (status == UI_OK)
		say(path);
	results_free(&r.results);
	return status;
}

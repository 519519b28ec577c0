// SPDX-License-Identifier: BSD-2-Clause
/* xstate bench switch: its command line. The run is in bench/switch.h. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bench/switch.h"
#include "cmd_bench.h"
#include "ui/ui.h"

#define CMD "xstate bench switch"

#define BESIDE_ROW     "pipe/process/sse/both" /* what an ordinary program holds */
#define BESIDE_SECONDS 3.4                     /* a block: two of theirs, one of ours, the start */

static const struct opt options[] = {
        {OPT_TIME, 't', "time", "DURATION", "how long to measure: 30s, 5m (default 60s)"},
        {OPT_CLAIM, 0, "claim", "SIZE",
         "is a difference of this size, 0.2% or 0.002, resolvable now?\nexit 1 and the reason when "
         "it is not"},
        {OPT_AGAINST, 0, "against", "OLD.json",
         "compare with an older run, of another boot or machine, and\nsay what can be concluded"},
        {OPT_BESIDE, 0, "beside", "PROGRAM",
         "run another benchmark in the same blocks, and compare the\nrates: will-it-scale's "
         "context_switch1_processes -n"},
        {OPT_LIST, 'l', "list", NULL, "list what can be measured here"},
        {OPT_OUTPUT, 'o', "output", "FILE", "also write the run as JSON, raw samples included"},
        {OPT_DB, 0, "db", "FILE", "also add the run to an SQLite file"},
        {OPT_CSV, 0, "csv", NULL, "print the rows as CSV"},
        {OPT_ORDINARY, 0, "ordinary", NULL,
         "as ordinary tasks even with the right to be real-time ones"},
        {OPT_SEED, 0, "seed", "N", "repeat the order and placement of a run"},
        {OPT_CPU, 0, "cpu", "N", "run on this CPU (default: the last one allowed)"},
        {0, 0, NULL, NULL, NULL},
};

static const struct opt_usage usage = {
        .cmd = CMD,
        .summary =
                "what this host's kernel takes to switch between two tasks, by the state they hold",
        .synopsis = "[ROW...] [options]",
        .about = "ROW is an id as --list has it or its beginning: yield, pipe/thread. Without any\n"
                 "everything is measured. A loop is there and back, two switches; will-it-scale "
                 "prints\n"
                 "these two a second, older figures are loops in two seconds, and both are given.\n"
                 "Effects are against the same two tasks with nothing live.\n",
        .opts = options,
        .examples =
                "xstate bench switch                       everything, a minute\n"
                "xstate bench switch yield -t 5m -o y.json yield alone, longer, kept\n"
                "xstate bench switch --claim 0.2%          could 0.2 % be told from noise now?\n"
                "xstate bench switch --against y.json      after a reboot or on another machine\n",
};

static bool begins(const char *id, const char *name)
{
	size_t n = strlen(name);

	return n && !strncasecmp(id, name, n) && (!id[n] || id[n] == '/' || name[n - 1] == '/');
}

static bool select_rows(struct switch_run *run, const struct bench_args *a)
{
	for (uint32_t i = 0; i < run->row_count; i++)
		run->rows[i].selected = !a->count;
	for (unsigned k = 0; k < a->count; k++) {
		bool any = false;

		for (uint32_t i = 0; i < run->row_count; i++)
			if (begins(run->rows[i].id, a->names[k]))
				run->rows[i].selected = any = true;
		if (!any) {
			ui_error(CMD, UI_USAGE, "no row is called '%s' (--list shows all)",
			         a->names[k]);
			return false;
		}
	}
	return true;
}

static bool analyse(void *of)
{
	struct switch_run *run = of;

	if (!switch_analyse(run))
		return false;
	if (run->against.path && run->s.samples.taken)
		switch_against(run);
	return true;
}

static void json_of(const void *run, struct jw *w)
{
	switch_json(run, w);
}

static void print_of(const void *run, FILE *out)
{
	switch_print(run, out);
}

static void csv_of(const void *run, FILE *out)
{
	switch_csv(run, out);
}

/* Half of the time for the other program, when there is one. */
static bool measure_beside(struct switch_run *run, const struct bench_args *a, const char **why)
{
	struct beside *b = &run->beside;
	const struct switch_row *row = NULL;
	struct pair_work work;
	double blocks = run->s.seconds / BESIDE_SECONDS;

	for (uint32_t i = 0; i < run->row_count; i++)
		if (!strcmp(run->rows[i].id, a->count == 1 ? a->names[0] : BESIDE_ROW))
			row = &run->rows[i];
	*why = "--beside takes one row by its whole id";
	if (!row || a->count > 1)
		return false;
	b->row = row->id;
	b->program = a->beside;
	b->blocks = blocks < STATS_MIN_SERIES ? STATS_MIN_SERIES : (uint32_t)blocks;
	work = switch_work(row);
	bench_total(b->blocks);
	return beside_measure(b, &run->s.rig, row->who, run->s.rig.cpu, &work, run->s.seed,
	                      &bench_stop, bench_done, why);
}

/* Of a name that was asked for, can at least something be measured? A base that only goes with it
 * is not what was asked for. */
static bool can_measure(const struct switch_run *run, const struct bench_args *a)
{
	for (unsigned k = 0; k < a->count; k++) {
		const char *why = NULL;
		bool any = false;

		for (uint32_t i = 0; i < run->row_count; i++) {
			if (!begins(run->rows[i].id, a->names[k]))
				continue;
			any |= !run->rows[i].skipped;
			why = run->rows[i].skipped;
		}
		if (!any) {
			ui_error(CMD, UI_CANNOT, "%s cannot be measured here: %s", a->names[k],
				 why);
			return false;
		}
	}
	return true;
}

static int measure(struct switch_run *run, struct bench_args *a)
{
	const struct bench_answer r = {a, run, &run->s, analyse, json_of, a->csv ? csv_of : print_of, NULL};
	const char *why;
	bool ok;

	if (!can_measure(run, a))
		return UI_CANNOT;
	if (!bench_open_output(a))
		return UI_USAGE;
	if (a->beside) {
		bench_listen();
		ok = measure_beside(run, a, &why);
		bench_bar_end();
		if (!ok)
			return ui_error(CMD, UI_CANNOT, "%s: %s", a->beside, why);
	}
	if (!switch_prepare(run, &why))
		return ui_error(CMD, UI_CANNOT, "two tasks cannot be had here: %s", why);
	return can_measure(run, a) ? bench_course(&r) : UI_CANNOT;
}

static void be_ordinary(struct switch_run *run)
{
	struct sched_param param = {.sched_priority = 0};

	run->ordinary = true;
	if (run->s.rig.realtime)
		sched_setscheduler(0, SCHED_OTHER, &param);
	run->s.rig.realtime = false;
}

static void list(const struct switch_run *run)
{
	struct jw w;

	if (!ui.json) {
		switch_list(run, stdout);
		return;
	}
	jw_begin(&w, stdout, ui.pretty);
	switch_list_json(run, &w);
}

int cmd_bench_switch(int argc, char **argv)
{
	struct bench_args a;
	int status = bench_read_args(&usage, true, argc, argv, &a);
	struct switch_run *run;
	char err[256];

	if (status >= 0)
		return status;
	run = calloc(1, sizeof(*run));
	if (!run)
		return ui_error(CMD, UI_CANNOT, "memory is short");
	run->against.path = a.against;
	if (a.against && !against_read(&run->against, err, sizeof(err))) {
		against_close(&run->against);
		free(run);
		return ui_error(CMD, UI_USAGE, "%s", err);
	}
	status = UI_CANNOT;
	if (!bench_open(&run->s, &a, 60))
		goto out;
	if (a.ordinary)
		be_ordinary(run);
	switch_rows(run);
	status = UI_USAGE;
	if (select_rows(run, &a)) {
		status = UI_OK;
		if (a.list)
			list(run);
		else
			status = measure(run, &a);
	}
	outfile_drop(&a.out);
	switch_close(run);
out:
	free(run);
	return status;
}

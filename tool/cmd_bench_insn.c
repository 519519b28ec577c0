// SPDX-License-Identifier: BSD-2-Clause
/* xstate bench insn: its command line. The run is in bench/insn.h. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bench/insn.h"
#include "cmd_bench.h"
#include "ui/ui.h"

#define CMD_INSN "xstate bench insn"

static const struct opt insn_options[] = {
	{OPT_TIME, 't', "time", "DURATION",
	 "how long to measure: 30s, 5m (default 60s; 45s with\n"
	 "--claim alone)"},
	{OPT_CLAIM, 0, "claim", "SIZE",
	 "is a difference of this size, 0.2% or 0.002, resolvable now?\nexit 1 and the reason when "
	 "it is not"},
	{OPT_LIST, 'l', "list", NULL, "list what can be measured here"},
	{OPT_CONTROLS, 0, "controls", NULL, "measure nothing but the controls"},
	{OPT_OUTPUT, 'o', "output", "FILE", "also write the run as JSON, raw samples included"},
	{OPT_DB, 0, "db", "FILE", "also add the run to an SQLite file"},
	{OPT_SEED, 0, "seed", "N", "repeat the order and placement of a run"},
	{OPT_CPU, 0, "cpu", "N", "run on this CPU (default: the last one allowed)"},
	{0, 0, NULL, NULL, NULL},
};

static const struct opt_usage insn_usage = {
	.cmd = CMD_INSN,
	.summary = "cost of every user-mode instruction that moves or changes extended state",
	.synopsis = "[INSTRUCTION...] [options]",
	.about = "INSTRUCTION is a name as --list has it, XSAVEC, or the beginning of an id,\n"
		 "xsavec/0x7. Without any everything is measured. Every run carries controls of\n"
		 "known effect and says so when they are not found.\n",
	.opts = insn_options,
	.examples = "xstate bench insn                       the whole cost table, a minute\n"
		    "xstate bench insn xsavec xrstor -t 10s  two instructions, quickly\n"
		    "xstate bench insn --claim 0.2%          could 0.2 % be told from noise now?\n"
		    "xstate bench insn -o costs.json         the table for xstate sim --costs\n",
};

static bool names_row(const char *name, const struct insn_row *row)
{
	size_t n = strlen(name);

	if (!strcasecmp(name, row->name))
		return true;
	if (!n || strncasecmp(name, row->id, n))
		return false;
	return strchr(name, '/') || row->id[n] == '/' || row->id[n] == 0;
}

/* Marks the rows to measure; false when a name means nothing. */
static bool select_rows(struct insn_run *run, const struct bench_args *a)
{
	for (uint32_t i = 0; i < run->row_count; i++)
		run->rows[i].selected = !a->count && !run->controls_only;
	for (unsigned k = 0; k < a->count; k++) {
		bool any = false;

		for (uint32_t i = 0; i < run->row_count; i++) {
			if (!names_row(a->names[k], &run->rows[i]))
				continue;
			run->rows[i].selected = any = true;
		}
		if (!any) {
			ui_error(CMD_INSN, UI_USAGE,
				 "no instruction is called '%s' (--list shows all)", a->names[k]);
			return false;
		}
	}
	return true;
}

static bool analyse(void *run)
{
	/* The counters are read in a second pass over the arms. */
	insn_count(run, &bench_stop);
	return insn_analyse(run);
}

static void json_of(const void *run, struct jw *w)
{
	insn_json(run, w);
}

static void print_of(const void *run, FILE *out)
{
	insn_print(run, out);
}

static void list(const struct insn_run *run)
{
	struct jw w;

	if (!ui.json) {
		insn_list(run, stdout);
		return;
	}
	jw_begin(&w, stdout, ui.pretty);
	insn_list_json(run, &w);
}

/* Of a name that was asked for, can at least something be measured? */
static bool can_measure(const struct insn_run *run, const struct bench_args *a)
{
	for (unsigned k = 0; k < a->count; k++) {
		const char *why = NULL;
		bool any = false;

		for (uint32_t i = 0; i < run->row_count; i++) {
			if (!names_row(a->names[k], &run->rows[i]))
				continue;
			any |= !run->rows[i].skipped;
			why = run->rows[i].skipped;
		}
		if (!any) {
			ui_error(CMD_INSN, UI_CANNOT, "%s cannot be measured here: %s", a->names[k],
			         why);
			return false;
		}
	}
	return true;
}

static int measure(struct insn_run *run, struct bench_args *a)
{
	const struct bench_answer r = {a, run, &run->s, analyse, json_of, print_of, NULL};
	const char *why;

	if (!can_measure(run, a))
		return UI_CANNOT;
	if (!insn_prepare(run, &why))
		return ui_error(CMD_INSN, UI_CANNOT, "the controls cannot run here: %s", why);
	return bench_open_output(a) ? bench_course(&r) : UI_USAGE;
}

int cmd_bench_insn(int argc, char **argv)
{
	struct bench_args a;
	int status = bench_read_args(&insn_usage, true, argc, argv, &a);
	struct insn_run *run;

	if (status >= 0)
		return status;
	run = calloc(1, sizeof(*run));
	if (!run)
		return ui_error(CMD_INSN, UI_CANNOT, "memory is short");
	run->controls_only = !a.count && (a.controls || a.claim > 0) && !a.list;
	if (!bench_open(&run->s, &a, run->controls_only ? 45 : 60)) {
		status = UI_CANNOT;
		goto out;
	}
	run->row_count = rows_make(&run->s.rig.state, run->rows);
	run->effect_count = effects_make(&run->s.rig.state, run->rows, run->row_count, run->effects);
	status = UI_USAGE;
	if (select_rows(run, &a)) {
		status = UI_OK;
		if (a.list)
			list(run);
		else
			status = measure(run, &a);
	}
	outfile_drop(&a.out);
	insn_close(run);
out:
	free(run);
	return status;
}

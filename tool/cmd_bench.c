// SPDX-License-Identifier: BSD-2-Clause
/*
 * xstate bench: what things cost on this host, with error bars. This file reads the command line;
 * tool/bench measures and tool/stats judges.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <gsl/gsl_errno.h>

#include "bench/insn.h"
#include "cmd.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/progress.h"
#include "ui/ui.h"

#define CMD_INSN "xstate bench insn"

static volatile sig_atomic_t stop;
static struct progress bar;

static void on_interrupt(int sig)
{
	(void)sig;
	stop = 1;
}

/* The first Ctrl-C ends the run and prints what is known; the second one kills. */
static void listen_for_interrupt(void)
{
	struct sigaction act = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

static void show_total(uint32_t blocks)
{
	progress_begin(&bar, "measuring", blocks);
}

static void show_done(uint32_t blocks)
{
	progress_update(&bar, blocks);
}

enum { OPT_TIME = 1, OPT_CLAIM, OPT_SEED, OPT_CPU, OPT_LIST, OPT_CONTROLS, OPT_OUTPUT };

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

struct insn_args {
	const char *names[64];
	unsigned count;
	const char *output;
	double seconds, claim;
	uint64_t seed;
	int cpu;
	bool list, controls, seeded;
};

/* Returns the exit status of a usage error, or -1 to go on. */
static int read_insn_args(int argc, char **argv, struct insn_args *a)
{
	struct opt_parser p;
	uint64_t v;

	opt_begin(&p, &insn_usage, argc, argv);
	for (;;) {
		int id = opt_next(&p);

		switch (id) {
		case OPT_END:
			return -1;
		case OPT_STOP:
			return p.status;
		case OPT_ARG:
			if (a->count == sizeof(a->names) / sizeof(a->names[0]))
				return ui_error(CMD_INSN, UI_USAGE, "too many instructions named");
			a->names[a->count++] = p.arg;
			break;
		case OPT_TIME:
			if (!opt_get_ms(&p, 100, 3600 * 1000, &v))
				return p.status;
			a->seconds = (double)v / 1000;
			break;
		case OPT_CLAIM:
			if (!opt_f64(p.arg, &a->claim) || !(a->claim > 0 && a->claim < 1)) {
				opt_bad(&p, "a size between 0 and 100 %, such as 0.2%");
				return p.status;
			}
			break;
		case OPT_SEED:
			if (!opt_get_u64(&p, 0, UINT64_MAX, &a->seed))
				return p.status;
			a->seeded = true;
			break;
		case OPT_CPU:
			if (!opt_get_u64(&p, 0, 65535, &v))
				return p.status;
			a->cpu = (int)v;
			break;
		case OPT_LIST:
			a->list = true;
			break;
		case OPT_CONTROLS:
			a->controls = true;
			break;
		case OPT_OUTPUT:
			a->output = p.arg;
			break;
		default:
			return UI_USAGE;
		}
	}
}

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
static bool select_rows(struct insn_run *run, const struct insn_args *a)
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

/* Writes to a file beside @path first, so that a full disk leaves no half result. */
static int write_output(const struct insn_run *run, const char *path)
{
	size_t n = strlen(path) + 16;
	char *part = malloc(n);
	FILE *f;
	struct jw w;
	int status = UI_OK;

	if (!part)
		return ui_error(CMD_INSN, UI_USAGE, "memory is short");
	snprintf(part, n, "%s.%ld", path, (long)getpid());
	f = fopen(part, "we");
	if (f) {
		jw_begin(&w, f, ui.pretty);
		insn_json(run, &w);
	}
	if (!f || fflush(f) || ferror(f) || rename(part, path)) {
		status = ui_error(CMD_INSN, UI_USAGE, "cannot write %s: %s", path, strerror(errno));
		unlink(part);
	}
	if (f)
		fclose(f);
	free(part);
	return status;
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

static int report(const struct insn_run *run, const struct insn_args *a)
{
	struct jw w;
	int status = UI_OK;

	if (a->output)
		status = write_output(run, a->output);
	if (ui.json) {
		jw_begin(&w, stdout, ui.pretty);
		insn_json(run, &w);
	} else {
		insn_print(run, stdout);
	}
	if (status == UI_OK && run->claim > 0 && run->verdict.ruling != STATS_RESOLVED)
		status = UI_NO;
	return status;
}

static int measure_and_report(struct insn_run *run, const struct insn_args *a)
{
	const char *why;

	if (!insn_prepare(run, &why))
		return ui_error(CMD_INSN, UI_CANNOT, "the controls cannot run here: %s", why);
	if (run->rig.realtime)
		ui_note("running as a real-time task on CPU %d, nine tenths of the time",
			run->rig.cpu);
	listen_for_interrupt();
	if (!insn_measure(run, &stop, show_total, show_done) || !insn_analyse(run)) {
		progress_end(&bar);
		return ui_error(CMD_INSN, UI_CANNOT, "memory is short");
	}
	progress_end(&bar);
	if (!run->samples.taken)
		return ui_error(CMD_INSN, UI_NO, "interrupted before the first block was done");
	return report(run, a);
}

static int cmd_insn(int argc, char **argv)
{
	struct insn_args a = {.cpu = -1};
	struct insn_run *run = calloc(1, sizeof(*run));
	char why[160];
	int status = run ? read_insn_args(argc, argv, &a)
			 : ui_error(CMD_INSN, UI_CANNOT, "memory is short");

	if (status >= 0)
		goto out;
	gsl_set_error_handler_off();
	run->claim = a.claim;
	run->controls_only = !a.count && (a.controls || a.claim > 0) && !a.list;
	run->seconds = a.seconds > 0 ? a.seconds : run->controls_only ? 45 : 60;
	run->seed = a.seeded ? a.seed : stats_seed_new();
	if (!rig_open(&run->rig, run->seed, a.cpu, why)) {
		status = ui_error(CMD_INSN, UI_CANNOT, "%s", why);
		goto out;
	}
	machine_read(&run->rig.state.caps, &run->machine);
	run->row_count = rows_make(&run->rig.state, run->rows);
	run->effect_count = effects_make(&run->rig.state, run->rows, run->row_count, run->effects);
	status = UI_USAGE;
	if (select_rows(run, &a)) {
		status = UI_OK;
		if (a.list)
			list(run);
		else
			status = measure_and_report(run, &a);
	}
	insn_close(run);
out:
	free(run);
	return status;
}

static const struct opt_verb bench_verbs[] = {
	{"insn", "cost of the save, restore and control instructions", cmd_insn},
	{NULL, NULL, NULL},
};

static const struct opt bench_options[] = {
	{0, 0, NULL, NULL, NULL},
};

static const struct opt_usage bench_usage = {
	.cmd = "xstate bench",
	.summary = "what extended state costs on this host, with error bars",
	.synopsis = "WHAT ...",
	.about =
		"Everything is measured in pairs, in random order, with controls of known effect;\n"
		"docs/measuring.md says why.\n",
	.opts = bench_options,
};

int cmd_bench(int argc, char **argv)
{
	return opt_dispatch(&bench_usage, bench_verbs, argc, argv);
}

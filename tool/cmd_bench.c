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

#include "bench/fiber.h"
#include "bench/insn.h"
#include "cmd.h"
#include "cmd_bench.h"
#include "read/results_db.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/ui.h"

#define CMD_INSN  "xstate bench insn"
#define CMD_FIBER "xstate bench fiber"

volatile sig_atomic_t bench_stop;
static struct progress bar;

static void on_interrupt(int sig)
{
	(void)sig;
	bench_stop = 1;
}

/* The first Ctrl-C ends the run and prints what is known; the second one kills. */
void bench_listen(void)
{
	struct sigaction act = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

void bench_total(uint32_t blocks)
{
	progress_begin(&bar, "measuring", blocks);
}

void bench_done(uint32_t blocks)
{
	progress_update(&bar, blocks);
}

void bench_bar_end(void)
{
	progress_end(&bar);
}

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

static const struct opt fiber_options[] = {
	{OPT_TIME, 't', "time", "DURATION", "how long to measure: 30s, 5m (default 60s)"},
	{OPT_CLAIM, 0, "claim", "SIZE",
	 "exit 1 and the reason unless a difference of this size, 0.2%\nor 0.002, could be told "
	 "from noise"},
	{OPT_MUST_REACH, 0, "must-reach", NULL,
	 "exit 1 when the library misses what it has to reach"},
	{OPT_OUTPUT, 'o', "output", "FILE", "also write the run as JSON, raw samples included"},
	{OPT_DB, 0, "db", "FILE", "also add the run to an SQLite file"},
	{OPT_SEED, 0, "seed", "N", "repeat the order and placement of a run"},
	{OPT_CPU, 0, "cpu", "N", "run on this CPU (default: the last one allowed)"},
	{0, 0, NULL, NULL, NULL},
};

static const struct opt_usage fiber_usage = {
	.cmd = CMD_FIBER,
	.summary = "cost of a switch between two fibers: the library and its peers",
	.synopsis = "[options]",
	.about = "The library's engine in user mode, by policy, beside a bare save and restore,\n"
		 "glibc's contexts, boost.context, setjmp and a switch written by hand; each with\n"
		 "INIT, SSE, AVX and AVX-512 state live, as ratios to the bare pair.\n",
	.opts = fiber_options,
	.examples = "xstate bench fiber               all of it, a minute\n"
		    "xstate bench fiber -t 5m -j      longer, as JSON\n"
		    "xstate bench fiber --must-reach  exit 1 when a promise is not kept\n",
};

/* Of two that exclude each other none is chosen in silence. */
static int settle(const struct bench_args *a)
{
	const char *alone = a->output      ? "--output"
	                    : a->db        ? "--db"
	                    : a->csv       ? "--csv"
	                    : a->against   ? "--against"
	                    : a->beside    ? "--beside"
	                    : a->claim > 0 ? "--claim"
	                    : a->controls  ? "--controls"
	                                   : NULL;

	if (a->list && alone)
		return ui_error(a->cmd, UI_USAGE,
		                "--list measures nothing, so %s has no meaning "
		                "beside it",
		                alone);
	if (a->csv && ui.json)
		return ui_error(a->cmd, UI_USAGE,
		                "--csv and --json are two forms of one answer: name one");
	if (a->output && a->db && outfile_same(a->output, a->db))
		return ui_error(a->cmd, UI_USAGE, "--output and --db are the same file, %s", a->db);
	if (a->output && a->against && outfile_same(a->output, a->against))
		return ui_error(a->cmd, UI_USAGE,
		                "--output would replace the run that --against reads, %s",
		                a->against);
	return -1;
}

int bench_read_args(const struct opt_usage *usage, bool names, int argc, char **argv,
		    struct bench_args *a)
{
	struct opt_parser p;
	uint64_t v;

	*a = (struct bench_args){.cmd = usage->cmd, .cpu = -1};
	opt_begin(&p, usage, argc, argv);
	for (;;) {
		int id = opt_next(&p);

		switch (id) {
		case OPT_END:
			return settle(a);
		case OPT_STOP:
			return p.status;
		case OPT_ARG:
			if (!names)
				return ui_error(a->cmd, UI_USAGE, "unexpected argument '%s'",
						p.arg);
			if (a->count == sizeof(a->names) / sizeof(a->names[0]))
				return ui_error(a->cmd, UI_USAGE, "too many names");
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
		case OPT_MUST_REACH:
			a->must_reach = true;
			break;
		case OPT_OUTPUT:
			a->output = p.arg;
			break;
		case OPT_AGAINST:
			a->against = p.arg;
			break;
		case OPT_BESIDE:
			a->beside = p.arg;
			break;
		case OPT_DB:
			a->db = p.arg;
			break;
		case OPT_ORDINARY:
			a->ordinary = true;
			break;
		case OPT_CSV:
			a->csv = true;
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

bool bench_open_output(struct bench_args *a)
{
	char err[300];

	if (a->db && results_db_check(a->db, err, sizeof(err))) {
		ui_error(a->cmd, UI_USAGE, "%s", err);
		return false;
	}
	if (!a->output || outfile_open(&a->out, a->output))
		return true;
	ui_error(a->cmd, UI_USAGE, "cannot write %s: %s", a->output, strerror(errno));
	return false;
}

static int write_output(const struct bench_answer *r)
{
	struct jw w;

	jw_begin(&w, r->args->out.f, ui.pretty);
	r->json(r->run, &w);
	if (outfile_commit(&r->args->out))
		return UI_OK;
	return ui_error(r->args->cmd, UI_USAGE, "cannot write %s: %s", r->args->output,
			strerror(errno));
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

/* The run into the SQLite file, through memory: it takes whole documents. */
static int add_to_db(const struct bench_answer *r)
{
	char *text = NULL, err[300];
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	struct jw w;
	int status = UI_OK;

	if (!f)
		return ui_error(r->args->cmd, UI_CANNOT, "memory is short");
	jw_begin(&w, f, false);
	r->json(r->run, &w);
	if (fclose(f))
		status = ui_error(r->args->cmd, UI_CANNOT, "memory is short");
	else if (results_db_add(r->args->db, text, err, sizeof(err)))
		status = ui_error(r->args->cmd, UI_USAGE, "%s", err);
	free(text);
	return status;
}

int bench_report(const struct bench_answer *r)
{
	struct jw w;
	int status = UI_OK;

	if (r->args->output)
		status = write_output(r);
	if (r->args->db && status == UI_OK)
		status = add_to_db(r);
	if (ui.json) {
		jw_begin(&w, stdout, ui.pretty);
		r->json(r->run, &w);
	} else {
		r->print(r->run, stdout);
	}
	return status;
}

int bench_claimed(const struct bench_session *s, int status)
{
	return status == UI_OK && s->claim > 0 && s->verdict.ruling != STATS_RESOLVED ? UI_NO
										      : status;
}

static void insn_json_of(const void *run, struct jw *w)
{
	insn_json(run, w);
}

static void insn_print_of(const void *run, FILE *out)
{
	insn_print(run, out);
}

void bench_note_realtime(const struct bench_session *s)
{
	if (s->rig.realtime)
		ui_note("running as a real-time task on CPU %d, nine tenths of the time",
			s->rig.cpu);
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

static int measure_insn(struct insn_run *run, struct bench_args *a)
{
	const struct bench_answer r = {a, run, insn_json_of, insn_print_of};
	const char *why;
	bool ok;

	if (!can_measure(run, a))
		return UI_CANNOT;
	if (!insn_prepare(run, &why))
		return ui_error(CMD_INSN, UI_CANNOT, "the controls cannot run here: %s", why);
	if (!bench_open_output(a))
		return UI_USAGE;
	bench_note_realtime(&run->s);
	bench_listen();
	ok = insn_measure(run, &bench_stop, bench_total, bench_done) && insn_analyse(run);
	bench_bar_end();
	if (!ok)
		return ui_error(CMD_INSN, UI_CANNOT, "memory is short");
	if (!run->s.samples.taken)
		return ui_error(CMD_INSN, UI_NO, "interrupted before the first block was done");
	return bench_claimed(&run->s, bench_report(&r));
}

bool bench_open(struct bench_session *s, const struct bench_args *a, double seconds)
{
	char why[160];

	gsl_set_error_handler_off();
	s->claim = a->claim;
	s->seconds = a->seconds > 0 ? a->seconds : seconds;
	s->seed = a->seeded ? a->seed : stats_seed_new();
	if (!rig_open(&s->rig, s->seed, a->cpu, why)) {
		ui_error(a->cmd, UI_CANNOT, "%s", why);
		return false;
	}
	machine_read(&s->rig.state.caps, &s->machine);
	return true;
}

static int cmd_insn(int argc, char **argv)
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
			status = measure_insn(run, &a);
	}
	outfile_drop(&a.out);
	insn_close(run);
out:
	free(run);
	return status;
}

static void fiber_json_of(const void *run, struct jw *w)
{
	fiber_json(run, w);
}

static void fiber_print_of(const void *run, FILE *out)
{
	fiber_print(run, out);
}

static int measure_fiber(struct fiber_run *run, struct bench_args *a)
{
	const struct bench_answer r = {a, run, fiber_json_of, fiber_print_of};
	const char *why;
	bool ok;
	int status;

	if (!fiber_prepare(run, &why))
		return ui_error(CMD_FIBER, UI_CANNOT, "the bare pair cannot run here: %s", why);
	if (!bench_open_output(a))
		return UI_USAGE;
	bench_note_realtime(&run->s);
	bench_listen();
	ok = session_measure(&run->s, &bench_stop, bench_total, bench_done) && fiber_analyse(run);
	bench_bar_end();
	if (!ok)
		return ui_error(CMD_FIBER, UI_CANNOT, "memory is short");
	if (!run->s.samples.taken)
		return ui_error(CMD_FIBER, UI_NO, "interrupted before the first block was done");
	status = bench_claimed(&run->s, bench_report(&r));
	return status == UI_OK && a->must_reach && fiber_missed(run) ? UI_NO : status;
}

static int cmd_fiber(int argc, char **argv)
{
	struct bench_args a;
	int status = bench_read_args(&fiber_usage, false, argc, argv, &a);
	struct fiber_run *run;

	if (status >= 0)
		return status;
	run = calloc(1, sizeof(*run));
	if (!run)
		return ui_error(CMD_FIBER, UI_CANNOT, "memory is short");
	status = UI_CANNOT;
	if (bench_open(&run->s, &a, 60)) {
		status = measure_fiber(run, &a);
		outfile_drop(&a.out);
		fiber_close(run);
	}
	free(run);
	return status;
}

static const struct opt_verb bench_verbs[] = {
	{"insn", "cost of the save, restore and control instructions", cmd_insn},
	{"fiber", "cost of a switch in user mode: the library and its peers", cmd_fiber},
	{"kernel", "cost of a section that uses extended registers in a kernel", cmd_bench_kernel},
	{"merge", "many hosts' results joined: which CPUs agree", cmd_bench_merge},
	{"switch", "what this kernel takes to switch tasks, and what their state adds",
	 cmd_bench_switch},
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

// SPDX-License-Identifier: BSD-2-Clause
/*
 * xstate bench: what things cost on this host, with error bars. This file reads the command line;
 * tool/bench measures and tool/stats judges.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>

#include "cmd.h"
#include "cmd_bench.h"
#include "read/results_db.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/ui.h"

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

static int report(const struct bench_answer *r)
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

int bench_course(const struct bench_answer *r)
{
	const char *cmd = r->args->cmd;
	struct bench_session *s = r->s;
	bool ok;
	int status;

	if (s->rig.realtime)
		ui_note("running as a real-time task on CPU %d, nine tenths of the time",
			s->rig.cpu);
	bench_listen();
	ok = session_measure(s, &bench_stop, bench_total, bench_done) && r->analyse(r->run);
	bench_bar_end();
	if (!ok)
		return ui_error(cmd, UI_CANNOT, "memory is short");
	if (!s->samples.taken)
		return ui_error(cmd, UI_NO, "interrupted before the first block was done");
	status = report(r);
	if (status == UI_OK && s->claim > 0 && s->verdict.ruling != STATS_RESOLVED)
		return UI_NO;
	return status == UI_OK && r->args->must_reach && r->missed(r->run) ? UI_NO : status;
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

static const struct opt_verb bench_verbs[] = {
	{"insn", "cost of the save, restore and control instructions", cmd_bench_insn},
	{"fiber", "cost of a switch in user mode: the library and its peers", cmd_bench_fiber},
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

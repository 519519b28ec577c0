/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs of xstate bench share: their options, and how a run is written. */
#ifndef CMD_BENCH_H
#define CMD_BENCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/session.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/outfile.h"
#include "ui/progress.h"

/* Ids of options; a verb's own table says which of them it takes. */
enum {
	OPT_TIME = 1,
	OPT_CLAIM,
	OPT_SEED,
	OPT_CPU,
	OPT_LIST,
	OPT_CONTROLS,
	OPT_OUTPUT,
	OPT_MUST_REACH,
	OPT_AGAINST,
	OPT_BESIDE,
	OPT_ORDINARY,
	OPT_CSV,
	OPT_DB,
	OPT_FURTHER, /* a verb's own */
};

struct bench_args {
	const char *cmd;
	const char *names[64];
	unsigned count;
	const char *output, *against, *beside, *db;
	struct outfile out;
	double seconds, claim;
	uint64_t seed;
	int cpu;
	bool list, controls, seeded, must_reach, ordinary, csv;
};

/**
 * bench_read_args() - the command line.
 * @names: the verb takes plain arguments.
 *
 * Return: the exit status of a usage error or of --help, or -1 to go on.
 */
int bench_read_args(const struct opt_usage *usage, bool names, int argc, char **argv,
		    struct bench_args *a);

/* A run, and what is to be done with it; a run knows its own type. */
struct bench_answer {
	struct bench_args *args;
	void *run;
	struct bench_session *s; /* its session */
	bool (*analyse)(void *run); /* false when memory is short */
	void (*json)(const void *run, struct jw *w);
	void (*print)(const void *run, FILE *out);
	bool (*missed)(const void *run); /* for --must-reach; only verbs that have it */
};

/**
 * bench_open_output() - the file for -o, before the measurement, so that an impossible place is told
 * at once; an impossible --db as well. The caller drops @a->out at the end.
 *
 * Return: false when it cannot be written, which was said.
 */
bool bench_open_output(struct bench_args *a);

/**
 * bench_course() - measure, analyse, and write the run to where it was asked for, of a run that is
 * prepared and whose output is open.
 *
 * Return: exit status, also by --claim and --must-reach.
 */
int bench_course(const struct bench_answer *r);

/**
 * bench_open() - the rig, for what was asked.
 * @seconds: when no time was given.
 *
 * Return: false when it cannot be had, which was said.
 */
bool bench_open(struct bench_session *s, const struct bench_args *a, double seconds);

/**
 * bench_listen() - from now on the first Ctrl-C sets bench_stop, and the second one kills.
 * bench_course() does it too; for what comes before.
 */
void bench_listen(void);
extern volatile sig_atomic_t bench_stop;

/**
 * bench_total(), bench_done() - the progress bar, for session_measure(); bench_bar_end() removes it.
 */
void bench_total(uint32_t blocks);
void bench_done(uint32_t blocks);
void bench_bar_end(void);

/* cmd_bench_insn.c and so on */
int cmd_bench_insn(int argc, char **argv);
int cmd_bench_fiber(int argc, char **argv);
int cmd_bench_kernel(int argc, char **argv);
int cmd_bench_merge(int argc, char **argv);
int cmd_bench_switch(int argc, char **argv);

#endif

// SPDX-License-Identifier: BSD-2-Clause
/* xstate bench fiber: its command line. The run is in bench/fiber.h. */
#include <stdlib.h>

#include "bench/fiber.h"
#include "cmd_bench.h"
#include "ui/ui.h"

#define CMD_FIBER "xstate bench fiber"

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

static bool analyse(void *run)
{
	return fiber_analyse(run);
}

static bool missed(const void *run)
{
	return fiber_missed(run);
}

static void json_of(const void *run, struct jw *w)
{
	fiber_json(run, w);
}

static void print_of(const void *run, FILE *out)
{
	fiber_print(run, out);
}

static int measure(struct fiber_run *run, struct bench_args *a)
{
	const struct bench_answer r = {a, run, &run->s, analyse, json_of, print_of, missed};
	const char *why;

	if (!fiber_prepare(run, &why))
		return ui_error(CMD_FIBER, UI_CANNOT, "the bare pair cannot run here: %s", why);
	return bench_open_output(a) ? bench_course(&r) : UI_USAGE;
}

int cmd_bench_fiber(int argc, char **argv)
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
		status = measure(run, &a);
		outfile_drop(&a.out);
		fiber_close(run);
	}
	free(run);
	return status;
}

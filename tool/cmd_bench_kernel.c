// SPDX-License-Identifier: BSD-2-Clause
/* xstate bench kernel: what a section that uses extended registers costs in a kernel. */
#include <stdlib.h>

#include "bench/section.h"
#include "cmd_bench.h"
#include "ui/opt.h"
#include "ui/ui.h"

#define CMD_KERNEL "xstate bench kernel"

static const struct opt kernel_options[] = {
	{OPT_TIME, 't', "time", "DURATION", "how long to measure: 30s, 5m (default 60s)"},
	{OPT_CLAIM, 0, "claim", "SIZE",
	 "exit 1 and the reason unless a difference of this size, 0.2%\nor 0.002, could be told "
	 "from noise"},
	{OPT_MUST_REACH, 0, "must-reach", NULL,
	 "exit 1 when the library misses what it has to reach"},
	{OPT_OUTPUT, 'o', "output", "FILE", "also write the run as JSON, raw samples included"},
	{OPT_SEED, 0, "seed", "N", "repeat the order and placement of a run"},
	{OPT_CPU, 0, "cpu", "N", "run on this CPU (default: the last one allowed)"},
	{0, 0, NULL, NULL, NULL},
};

static const struct opt_usage kernel_usage = {
	.cmd = CMD_KERNEL,
	.summary = "cost of a section that uses extended registers in a kernel",
	.synopsis = "[options]",
	.about = "The library's xst_kernel_begin() and xst_kernel_end() in user mode, by what a section\n"
		 "declares, beside what kernels executed at begin; and the speed of a RAID parity with\n"
		 "each of them around every 4 KiB block, as ratios to the same without.\n",
	.opts = kernel_options,
	.examples = "xstate bench kernel               all of it, a minute\n"
		    "xstate bench kernel -t 5m -j      longer, as JSON\n"
		    "xstate bench kernel --must-reach  exit 1 when a promise is not kept\n",
};

static bool analyse(void *run)
{
	return section_analyse(run);
}

static bool missed(const void *run)
{
	return section_missed(run);
}

static void json_of(const void *run, struct jw *w)
{
	section_json(run, w);
}

static void print_of(const void *run, FILE *out)
{
	section_print(run, out);
}

static int measure(struct section_run *run, struct bench_args *a)
{
	const struct bench_answer r = {a, run, &run->s, analyse, json_of, print_of, missed};
	const char *why;

	if (!section_prepare(run, &why))
		return ui_error(CMD_KERNEL, UI_CANNOT, "sections cannot run here: %s", why);
	return bench_open_output(a) ? bench_course(&r) : UI_USAGE;
}

int cmd_bench_kernel(int argc, char **argv)
{
	struct bench_args a;
	int status = bench_read_args(&kernel_usage, false, argc, argv, &a);
	struct section_run *run;

	if (status >= 0)
		return status;
	run = calloc(1, sizeof(*run));
	if (!run)
		return ui_error(CMD_KERNEL, UI_CANNOT, "memory is short");
	status = UI_CANNOT;
	if (bench_open(&run->s, &a, 60)) {
		status = measure(run, &a);
		outfile_drop(&a.out);
		section_close(run);
	}
	free(run);
	return status;
}

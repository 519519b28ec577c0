// SPDX-License-Identifier: BSD-2-Clause
/*
 * `pipe`: a byte goes back and forth between two tasks through two pipes, the
 * shape of will-it-scale's context_switch1. Both use their registers. On one CPU
 * they displace each other; on two, the idle thread runs in between and a
 * policy that keeps the owner never loads.
 */
#include "experiment.h"

static bool pipe_phase(unsigned number)
{
	struct task_spec spec = {.program = user_pipe, .loops = args.loops, .use = USE_ALWAYS};

	if (number > 0)
		return false;
	lab_total = 2 * args.loops;
	task_create_user(&spec);
	spec.peer = 1;
	spec.cpu = cpu_count - 1;
	task_create_user(&spec);
	return true;
}

const struct experiment exp_pipe = {
	.name = "pipe",
	.summary = "two FPU tasks pass a byte through two pipes, on one or two CPUs",
	.loops = 2000,
	.min_cpus = 1,
	.max_cpus = 2,
	.phase = pipe_phase,
};

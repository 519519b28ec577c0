// SPDX-License-Identifier: BSD-2-Clause
/*
 * `owner`: a user task and a kernel thread take turns on one CPU. Nobody else touches the registers, so
 * a policy that keeps them loads nothing after the first slot: what is left is the price of finding
 * that out, two switches and one return to user mode a slot.
 */
#include "experiment.h"

static bool owner_phase(unsigned number)
{
	struct task_spec spec = {
		.program = user_worker,
		.loops = args.loops,
		.use = USE_ALWAYS,
	};

	if (number > 0)
		return false;
	lab_total = args.loops;
	task_create_user(&spec);
	experiment_kernel_noise(0);
	return true;
}

const struct experiment exp_owner = {
	.name = "owner",
	.summary = "a user task takes turns with a kernel thread and finds its registers in place",
	.loops = 2000,
	.min_cpus = 1,
	.max_cpus = 1,
	.phase = owner_phase,
};

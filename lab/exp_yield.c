// SPDX-License-Identifier: BSD-2-Clause
/*
 * `yield`: on one CPU, a task that uses its registers in every slot and one that
 * never does. The classic test of lazy restore: only the first may ever cost a load.
 */
#include "experiment.h"

static bool yield_phase(unsigned number)
{
	struct task_spec spec = {.program = user_worker, .loops = args.loops};

	if (number > 0)
		return false;
	lab_total = 2 * args.loops;
	spec.use = USE_ALWAYS;
	task_create_user(&spec);
	spec.use = USE_NEVER;
	task_create_user(&spec);
	return true;
}

const struct experiment exp_yield = {
	.name = "yield",
	.summary = "one FPU and one non-FPU task yield to each other on one CPU",
	.loops = 2000,
	.min_cpus = 1,
	.max_cpus = 1,
	.phase = yield_phase,
};

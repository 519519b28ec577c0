// SPDX-License-Identifier: BSD-2-Clause
/*
 * `slots`: a few tasks take turns, and each slot of each uses the registers with
 * probability p. How many slots in a million must use them before a policy that
 * always loads is cheaper than one that waits for the first use? One phase for each
 * p; the runner puts what the points cost together and finds where the curves cross.
 */
#include "experiment.h"
#include "report.h"

static const uint32_t chances[] = {
	0,      62500,  125000, 187500, 250000, 312500, 375000, 437500,  500000,
	562500, 625000, 687500, 750000, 812500, 875000, 937500, 1000000,
};

#define POINTS (sizeof(chances) / sizeof(chances[0]))

static bool slots_phase(unsigned number)
{
	struct task_spec spec = {
		.program = user_worker,
		.loops = args.loops,
		.use = USE_CHANCE,
		/* What is written is not the question here. */
		.live = LIVE(XST_COMP_X87) | LIVE(XST_COMP_SSE) | LIVE_MXCSR,
	};

	lab_total = POINTS * args.tasks * args.loops;
	if (number == 0) {
		report_point_start();
	} else {
		report_point_begin();
		report_field("use_per_million", chances[number - 1]);
		report_field("tasks", args.tasks);
		report_point_end();
	}
	if (number == POINTS)
		return false;
	spec.use_million = chances[number];
	for (unsigned i = 0; i < args.tasks; i++)
		task_create_user(&spec);
	return true;
}

const struct experiment exp_slots = {
	.name = "slots",
	.summary = "p of a million slots use the registers: where is the break-even?",
	.loops = 250,
	.min_cpus = 1,
	.max_cpus = 1,
	.phase = slots_phase,
};

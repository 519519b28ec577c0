// SPDX-License-Identifier: BSD-2-Clause
/*
 * `preload`: a task uses its registers for `use` slots in a row and then not for
 * a thousand, while another one always does. How long is it still loaded early?
 * Use cannot be seen while preloading, so at the latest after 255 slots the engine
 * must look.
 */
#include "experiment.h"
#include "report.h"

#define UNUSED_SLOTS 1000u
#define MUST_STOP    255u

static const struct task *subject;

static bool preloaded_after_use(void)
{
	return subject->preloads_after_use &&
	       subject->last_preload_slot >= subject->user->used_up_to;
}

static uint64_t slots_until_stop(void)
{
	if (!preloaded_after_use())
		return 0;
	return subject->last_preload_slot - subject->user->used_up_to + 1;
}

static bool preload_phase(unsigned number)
{
	struct task_spec spec = {
		.program = user_worker,
		.loops = args.use + UNUSED_SLOTS,
		.use = USE_FIRST,
		.use_first = args.use,
	};

	if (number > 0)
		return false;
	lab_total = 2 * spec.loops;
	subject = task_create_user(&spec);
	spec.use = USE_ALWAYS;
	task_create_user(&spec);
	return true;
}

static const char *preload_verdict(void)
{
	if (slots_until_stop() > MUST_STOP)
		return "a task was still loaded early more than 255 slots after its last use";
	return NULL;
}

static void preload_report(void)
{
	report_field("use_slots", args.use);
	report_field("preloads_after_last_use",
		     preloaded_after_use() ? subject->preloads_after_use : 0);
	report_field("slots_until_preload_stopped", slots_until_stop());
}

const struct experiment exp_preload = {
	.name = "preload",
	.summary = "how long a task is loaded early after its last use",
	.loops = 1,
	.min_cpus = 1,
	.max_cpus = 1,
	.phase = preload_phase,
	.verdict = preload_verdict,
	.report = preload_report,
};

// SPDX-License-Identifier: BSD-2-Clause
/*
 * `kthread`: two user tasks with registers stay in the kernel and hand the CPU to
 * each other many times. Loading at return to user mode costs nothing here;
 * loading at switch-in costs one restore a hand-over.
 */
#include "experiment.h"
#include "report.h"

#define ROUNDS 100u

static bool kthread_phase(unsigned number)
{
	struct task_spec spec = {
		.program = user_handoff,
		.loops = args.loops / ROUNDS ? args.loops / ROUNDS : 1,
		.use = USE_ALWAYS,
		.use_first = ROUNDS,
	};

	if (number > 0)
		return false;
	lab_total = 2 * spec.loops * (ROUNDS + 1);
	task_create_user(&spec);
	spec.peer = 1;
	spec.cpu = cpu_count - 1;
	task_create_user(&spec);
	return true;
}

static const char *kthread_verdict(void)
{
	if (!kernel_phase_switches)
		return "no hand-over took place";
	for (unsigned i = 0; i < policy_count; i++) {
		if (policies[i]->load == XST_LOAD_SWITCH_IN)
			return NULL;
	}
	/* First use cannot happen in there either. Early loads may. */
	for (unsigned i = 0; i < policy_count; i++) {
		if (policies[i]->preload_after)
			return NULL;
	}
	return kernel_phase_loads ? "registers were loaded for a task that stayed in the kernel"
				  : NULL;
}

static void kthread_report(void)
{
	report_field("switches_in_kernel_phase", kernel_phase_switches);
	report_field("loads_in_kernel_phase", kernel_phase_loads);
}

const struct experiment exp_kthread = {
	.name = "kthread",
	.summary = "two tasks hand over to each other without leaving the kernel",
	.loops = 2000,
	.min_cpus = 1,
	.max_cpus = 2,
	.phase = kthread_phase,
	.verdict = kthread_verdict,
	.report = kthread_report,
};

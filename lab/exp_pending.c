// SPDX-License-Identifier: BSD-2-Clause
/*
 * `pending`: tasks divide by zero in x87 with the exception unmasked and give the CPU
 * away before any waiting instruction. The exception is part of the state that is
 * saved and loaded: it must come to its owner at its next waiting instruction, and
 * to nobody else. A task that gets one without having left one ends the run.
 *
 * Ref: SDM vol. 1, "x87 FPU Exception Synchronization"
 */
#include "experiment.h"
#include "report.h"

#define OWNERS 3u

static uint64_t left, came, arrivals;

static bool pending_phase(unsigned number)
{
	struct task_spec spec = {
		.program = user_pending,
		.loops = args.loops,
		.use = USE_ALWAYS,
		.migrates = cpu_count > 1,
	};

	if (number > 0)
		return false;
	lab_total = (OWNERS + 2) * args.loops;
	for (unsigned i = 0; i < OWNERS; i++) {
		spec.cpu = i % cpu_count;
		task_create_user(&spec);
	}
	/* Those who must not get it: full of waiting instructions. */
	spec.program = user_mixed;
	task_create_user(&spec);
	spec.use = USE_SELDOM;
	spec.cpu = cpu_count - 1;
	task_create_user(&spec);
	for (uint32_t id = 0; id < cpu_count; id++)
		experiment_kernel_noise(id);
	return true;
}

static const char *pending_verdict(void)
{
	for (unsigned i = 0; i < MAX_TASKS; i++) {
		left += user_blocks[i].faults_left;
		came += user_blocks[i].faults_came;
		arrivals += user_blocks[i].fault_arrivals;
	}
	if (!left)
		return "no exception was left pending";
	return left == came ? NULL : "a pending exception did not come";
}

static void pending_report(void)
{
	report_field("faults_left", left);
	report_field("faults_came", came);
	report_field("fault_arrivals", arrivals);
}

const struct experiment exp_pending = {
	.name = "pending",
	.summary = "an x87 exception left pending at a switch comes to its owner alone",
	.loops = 1000,
	.preempt = true,
	.min_cpus = 1,
	.max_cpus = LAB_MAX_CPUS,
	.phase = pending_phase,
	.verdict = pending_verdict,
	.report = pending_report,
};

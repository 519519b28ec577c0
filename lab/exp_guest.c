// SPDX-License-Identifier: BSD-2-Clause
/*
 * `guest`: virtual machines under SVM or VMX.
 *
 * Phase 0, tour: a guest leads through every kind of exit once, in a known order.
 */
#include "experiment.h"
#include "report.h"
#include "ring3_guest.h"

static const struct guest_machine *machine;
static struct vcpu vcpus[GUEST_MAX];
static uint64_t passes;
static const char *failure;

static bool guest_phase(unsigned number)
{
	const char *why;

	if (number > 0)
		return false;
	machine = guest_machine(&why);
	if (!machine)
		report_skipped(why);
	machine->start(&cpus[0]);
	passes = guest_tour_run(machine, &vcpus[0], 0);
	if (passes != (guest_xsetbv_exits() ? TOUR_STEPS : TOUR_XSETBV))
		failure = "a guest did not exit as it must";
	return false;
}

static const char *guest_verdict(void)
{
	return failure;
}

static void guest_report(void)
{
	report_field_text("virtualization", machine->name);
	report_field("passes", passes);
}

const struct experiment exp_guest = {
	.name = "guest",
	.summary = "guests under SVM and VMX: registers on both sides of every exit",
	.loops = 1000,
	.min_cpus = 1,
	.max_cpus = 2,
	.phase = guest_phase,
	.verdict = guest_verdict,
	.report = guest_report,
};

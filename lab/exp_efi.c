// SPDX-License-Identifier: BSD-2-Clause
/*
 * `efi`: system calls call firmware that wants FCW 037F and MXCSR 1F80 and leaves everything as it
 * likes. The tasks check that all of theirs is there again.
 */
#include "experiment.h"
#include "report.h"
#include "sections.h"

static uint32_t calls, complaints;

/* The firmware: it looks, and then it uses what it wants, control words included. */
static void firmware(void *argument)
{
	static const uint16_t other_fcw = 0x0c7f;
	const uint32_t other_mxcsr = 0x7f80;
	uint32_t mxcsr = 0x1f80;
	uint16_t fcw;
	const bool sse = lab_system.caps.sse && lab_system.caps.fxsr;

	(void)argument;
	xst_fnstcw(&fcw);
	if (sse)
		xst_stmxcsr(&mxcsr);
	__atomic_fetch_add(&complaints, fcw != 0x037f || mxcsr != 0x1f80, __ATOMIC_RELAXED);
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	xst_fldcw(&other_fcw);
	if (sse)
		xst_ldmxcsr(&other_mxcsr);
}

static void efi_work(struct cpu *cpu)
{
	section_run(cpu, XST_CONTEXT_TASK, XST_NEED_EFI, firmware, NULL);
}

static bool efi_phase(unsigned number)
{
	struct task_spec spec = {.program = user_mixed, .loops = args.loops, .use = USE_ALWAYS,
				 .migrates = cpu_count > 1, .live_random = true};

	if (number > 0)
		return false;
	lab_total = 3 * args.loops;
	for (unsigned i = 0; i < 3; i++) {
		spec.cpu = i % cpu_count;
		task_create_user(&spec);
		spec.use = USE_SELDOM;
	}
	return true;
}

static const char *efi_verdict(void)
{
	if (!calls)
		return "the firmware was never called";
	return complaints ? "the firmware found other control words" : sections_verdict();
}

static void efi_report(void)
{
	report_field("firmware_calls", calls);
	report_field("firmware_complaints", complaints);
}

const struct experiment exp_efi = {
	.name = "efi",
	.summary = "calls of firmware with FCW 037F and MXCSR 1F80",
	.loops = 1500,
	.preempt = true,
	.min_cpus = 1,
	.max_cpus = LAB_MAX_CPUS,
	.phase = efi_phase,
	.kernel_work = efi_work,
	.verdict = efi_verdict,
	.report = efi_report,
};

// SPDX-License-Identifier: BSD-2-Clause
/*
 * `mask`: what a section costs by what it declares: alone in a stay in the kernel, and one hundred one
 * after the other. The last phase declares less than it uses; a library built to check sections
 * reports each of these, any other none.
 */
#include "engine.h"
#include "experiment.h"
#include "report.h"
#include "sections.h"

#define MANY 100u

static const struct setting {
	const char *name;
	unsigned need, times;
} settings[] = {
	{"none, alone", 0, 1},
	{"MXCSR, alone", XST_NEED_MXCSR, 1},
	{"x87, alone", XST_NEED_X87, 1},
	{"x87+MXCSR, alone", XST_NEED_EFI, 1},
	{"none, back to back", 0, MANY},
	{"MXCSR, back to back", XST_NEED_MXCSR, MANY},
	{"x87, back to back", XST_NEED_X87, MANY},
	{"x87+MXCSR, back to back", XST_NEED_EFI, MANY},
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static const struct setting *now;
static uint64_t misuses;

static void misuse(struct cpu *cpu)
{
	const unsigned need = (unsigned)(misuses % 3) == 0 ? XST_NEED_MXCSR : 0;

	if (xst_kernel_begin(&cpu->fpu, need) != XST_OK)
		panic("a section is refused");
	if (need || !(misuses & 1) || !lab_system.caps.sse)
		simd_x87();
	else
		simd_inexact();
	xst_kernel_end(&cpu->fpu);
	engine_section_ended(cpu);
	misuses++;
}

static void mask_work(struct cpu *cpu)
{
	if (!now) {
		misuse(cpu);
		return;
	}
	for (unsigned i = 0; i < now->times; i++)
		section_run(cpu, XST_CONTEXT_TASK, now->need, NULL, NULL);
}

static bool mask_phase(unsigned number)
{
	struct task_spec spec = {.program = user_worker, .loops = args.loops, .use = USE_ALWAYS};

	lab_total = (SETTINGS + 1) * args.loops;
	if (number == 0) {
		report_point_start();
	} else if (number <= SETTINGS) {
		report_point_begin();
		report_field_text("sections", settings[number - 1].name);
		report_point_end();
	}
	now = number < SETTINGS ? &settings[number] : NULL;
	if (number > SETTINGS)
		return false;
	task_create_user(&spec);
	return true;
}

static const char *mask_verdict(void)
{
	struct section_totals sum;

	sections_sum(&sum);
	if (sum.reported && sum.reported != misuses)
		return "a correct section was reported, or a misuse was not";
	return sections_verdict();
}

static void mask_report(void)
{
	report_field("misuses", misuses);
}

const struct experiment exp_mask = {
	.name = "mask",
	.summary = "sections by what they declare, alone and back to back",
	.loops = 60,
	.min_cpus = 1,
	.max_cpus = 1,
	.phase = mask_phase,
	.kernel_work = mask_work,
	.verdict = mask_verdict,
	.report = mask_report,
};

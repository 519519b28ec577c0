// SPDX-License-Identifier: BSD-2-Clause
/*
 * `irq`: the kernel uses registers in system calls and in interrupts while tasks of every kind run.
 * Interrupts come in the middle of a section (and must do without), right after a task's registers were
 * restored (which must then be restored again), and with two CPUs as NMIs anywhere at all.
 */
#include "experiment.h"
#include "sections.h"

static bool irq_phase(unsigned number)
{
	static const enum use uses[] = {USE_ALWAYS, USE_SELDOM, USE_ALWAYS, USE_NEVER};
	struct task_spec spec = {
		.program = user_mixed,
		.loops = args.loops,
		.migrates = cpu_count > 1,
		.live_random = true,
	};

	if (number > 0)
		return false;
	lab_total = 4 * args.loops;
	for (unsigned i = 0; i < 4; i++) {
		spec.use = uses[i];
		spec.cpu = i % cpu_count;
		spec.no_area = i & 1;
		task_create_user(&spec);
	}
	for (uint32_t id = 0; id < cpu_count; id++)
		experiment_kernel_noise(id);
	return true;
}

static void irq_tick(struct cpu *cpu)
{
	if (cpu_count > 1)
		apic_send_nmi(cpus[(cpu->id + 1) % cpu_count].apic_id);
}

static const char *irq_verdict(void)
{
	struct section_totals sum;

	sections_sum(&sum);
	if (apic_present() && (!sum.irqs_in_section || !sum.irqs_after_restore))
		return "too short: not every kind of interrupt came";
	return sections_verdict();
}

const struct experiment exp_irq = {
	.name = "irq",
	.summary = "sections in system calls and interrupts, in the middle of sections and after restores",
	.loops = 3000,
	.preempt = true,
	.sections = true,
	.min_cpus = 1,
	.max_cpus = LAB_MAX_CPUS,
	.phase = irq_phase,
	.tick = irq_tick,
	.verdict = irq_verdict,
};

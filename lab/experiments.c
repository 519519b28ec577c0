// SPDX-License-Identifier: BSD-2-Clause
/* The list of experiments, and what they have in common. */
#include "experiment.h"
#include "engine.h"
#include "report.h"
#include "sections.h"

#define AWAKE_SPAN   64u /* yields of a CPU's thread between two times off */
#define OFF_SLOTS    64u /* slots that others do while a CPU is off */
#define OFF_PATIENCE 200000u

static const struct experiment *const list[] = {
	&exp_yield,
	&exp_pipe,
	&exp_flip,
	&exp_leak,
	&exp_preload,
	&exp_kthread,
	&exp_owner,
	&exp_slots,
	&exp_live,
	&exp_migrate,
	&exp_pending,
	&exp_signal,
	&exp_mask,
	&exp_irq,
	&exp_efi,
	&exp_mmx,
#ifdef __x86_64__
	&exp_errata,
	&exp_xor,
	&exp_images,
	&exp_replay,
	&exp_guest,
	&exp_cet_s,
#endif
	&exp_selftest_panic,
	&exp_selftest_triple,
	&exp_selftest_hang,
	&exp_selftest_watchdog,
};

const struct experiment *experiment;
static unsigned phase;

void experiment_choose(void)
{
	for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (text_equal(list[i]->name, args.experiment))
			experiment = list[i];
	}
#ifndef __x86_64__
	if (text_equal(args.experiment, "errata") || text_equal(args.experiment, "images") ||
	    text_equal(args.experiment, "replay") || text_equal(args.experiment, "xor") ||
	    text_equal(args.experiment, "guest") || text_equal(args.experiment, "cet-s"))
		report_skipped("this experiment is the 64-bit lab's");
#endif
	if (!experiment) {
		for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++)
			print("%s: %s\n", list[i]->name, list[i]->summary);
		panic("unknown experiment '%s'", args.experiment);
	}
	if (!args.loops)
		args.loops = experiment->loops;
	if (args.preempt < 0)
		args.preempt = experiment->preempt;
	if (args.cpus < experiment->min_cpus)
		report_skipped("this experiment needs more CPUs");
	if (args.cpus > experiment->max_cpus)
		report_skipped("this experiment does not use so many CPUs");
}

void experiment_start(void)
{
	if (!experiment->phase(phase++))
		report_result(experiment->verdict ? experiment->verdict() : NULL);
}

void experiment_tasks_gone(void)
{
	experiment_start();
}

void experiment_tick(struct cpu *cpu)
{
	if (experiment->tick)
		experiment->tick(cpu);
}

void experiment_task_ended(struct task *task)
{
	if (experiment->ended && experiment->ended(task))
		return;
	__atomic_store_n(&task->state, TASK_FREE, __ATOMIC_RELEASE);
	if (__atomic_sub_fetch(&live_tasks, 1, __ATOMIC_SEQ_CST) == 0)
		apic_send_vector(cpus[0].apic_id, VECTOR_WAKEUP);
}

bool experiment_may_fork(const struct task *parent, struct task_spec *spec)
{
	return experiment->may_fork && experiment->may_fork(parent, spec);
}

void experiment_report(void)
{
	if (experiment->report)
		experiment->report();
	if (experiment->sections || experiment->kernel_work)
		sections_report();
}

const char *experiment_status(void)
{
	return experiment->status ? experiment->status() : "ok";
}

static _Noreturn void noise(void)
{
	uint64_t random = args.seed ^ this_cpu()->current->id;

	while (__atomic_load_n(&live_tasks, __ATOMIC_SEQ_CST)) {
		arch_irq_window();
		if ((random_next(&random) & 7) == 0)
			task_move((uint32_t)(random % cpu_count));
		else
			task_yield();
	}
	task_exit();
}

void experiment_kernel_noise(uint32_t cpu)
{
	task_create_kernel(noise, cpu);
}

/* Alone on its CPU with interrupts off: no task, no fetch; then the registers are lost. */
static void off_and_on(struct cpu *cpu)
{
	uint64_t until;

	engine_cpu_offline(cpu);
	/* The boot CPU only sleeps and wakes: tasks need one to go to. */
	if (cpu->id) {
		task_cpu_offline(cpu);
		until = lab_progress() + OFF_SLOTS;
		for (unsigned i = 0; i < OFF_PATIENCE && lab_progress() < until; i++)
			arch_pause();
	}
	engine_cpu_online(cpu);
	task_cpu_online(cpu);
}

static _Noreturn void hotplug(void)
{
	uint64_t state = args.seed ^ 0x0ff ^ this_cpu()->id;

	while (__atomic_load_n(&live_tasks, __ATOMIC_SEQ_CST)) {
		uint32_t awake = 1 + (uint32_t)random_next(&state) % AWAKE_SPAN;

		while (awake-- && __atomic_load_n(&live_tasks, __ATOMIC_SEQ_CST)) {
			arch_irq_window();
			task_yield();
		}
		off_and_on(this_cpu());
	}
	task_exit();
}

void experiment_hotplug(uint32_t cpu)
{
	task_create_kernel(hotplug, cpu);
}

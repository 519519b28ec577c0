// SPDX-License-Identifier: BSD-2-Clause
/*
 * `flip`: the policy knob is turned all the time, on every CPU by itself, under
 * load: by tasks between two slots and by the timer within one. Tasks of every
 * kind run, move between CPUs and are preempted. engine.c looks at CR0.TS at each
 * entry to user mode and counts the #NM, which shows that the mode really changed.
 */
#include "experiment.h"
#include "engine.h"
#include "sections.h"

#define SLOTS_A_FLIP 8u

static bool flip_phase(unsigned number)
{
	static const enum use uses[] = {USE_ALWAYS, USE_ALWAYS, USE_SELDOM,
					USE_ALWAYS, USE_SELDOM, USE_NEVER};
	struct task_spec spec = {
		.program = user_mixed,
		.loops = args.loops,
		.flips = SLOTS_A_FLIP,
		.migrates = cpu_count > 1,
		.live_random = true,
	};
	unsigned tasks_wanted = sizeof(uses) / sizeof(uses[0]);

	if (number > 0)
		return false;
	lab_total = tasks_wanted * args.loops;
	for (unsigned i = 0; i < tasks_wanted; i++) {
		spec.use = uses[i];
		spec.cpu = i % cpu_count;
		spec.no_area = i & 1;
		task_create_user(&spec);
	}
	for (uint32_t id = 0; id < cpu_count; id++)
		experiment_kernel_noise(id);
	return true;
}

static void flip_tick(struct cpu *cpu)
{
	engine_set_policy(cpu, policies[random_next(&cpu->random) % policy_count]);
}

static const char *flip_verdict(void)
{
	struct engine_totals totals;
	bool first_use = false, other = false;

	if (sections_verdict())
		return sections_verdict();
	engine_totals(&totals);
	for (unsigned i = 0; i < policy_count; i++) {
		first_use |= policies[i]->load == XST_LOAD_FIRST_USE;
		other |= policies[i]->load != XST_LOAD_FIRST_USE;
	}
	if (first_use && !totals.epochs_first_use)
		return "no first-use policy was ever in force";
	if (other && !totals.epochs_other)
		return "no policy without CR0.TS was ever in force";
	/* Tasks that always use their registers must trap in first-use epochs. */
	if (first_use && !totals.traps_at_first_use)
		return "no #NM came under the first-use policies";
	return NULL;
}

const struct experiment exp_flip = {
	.name = "flip",
	.summary = "the policy knob is turned under load on every CPU",
	.loops = 4000,
	.preempt = true,
	.sections = true,
	.min_cpus = 1,
	.max_cpus = LAB_MAX_CPUS,
	.phase = flip_phase,
	.tick = flip_tick,
	.verdict = flip_verdict,
};

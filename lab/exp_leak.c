// SPDX-License-Identifier: BSD-2-Clause
/*
 * `leak`: nobody ever sees another's registers.
 *
 * Phase 0, lonely (two CPUs): one task goes from CPU to CPU, changing its
 * registers on the way, and nobody else uses any; so the CPU it comes back to still
 * holds its old ones.
 * Phase 1, crowd: tasks with secrets, tasks that look seldom, fresh tasks on the
 * memory of ended ones, fork, exec, migration, kernel threads and the timer, all at
 * random. A fresh task's first look must show INIT, a child's its parent's values.
 */
#include "crowd.h"
#include "experiment.h"
#include "report.h"

static const struct crowd crowd = {
	.salt = 0x1eaf,
	.uses = {USE_ALWAYS, USE_ALWAYS, USE_SELDOM, USE_NEVER},
	.slots_min = 8,
	.slots_span = 64,
	.size = 6,
	.room = LAB_MAX_CPUS,
};

static uint32_t recreated;

static bool leak_phase(unsigned number)
{
	lab_total = args.loops * 2;
	if (number == 0)
		crowd_lonely(false);
	else if (number == 1)
		crowd_begin(&crowd, args.loops, 0);
	return number < 2;
}

static bool leak_ended(struct task *task)
{
	bool back = crowd_ended(task);

	if (back)
		__atomic_fetch_add(&recreated, 1, __ATOMIC_RELAXED);
	return back;
}

static bool leak_may_fork(const struct task *parent, struct task_spec *spec)
{
	(void)parent;
	return crowd_may_fork(spec);
}

static const char *leak_verdict(void)
{
	uint64_t init_checks = 0, fork_checks = 0;

	for (unsigned i = 0; i < MAX_TASKS; i++) {
		init_checks += user_blocks[i].init_checks;
		fork_checks += user_blocks[i].fork_checks;
	}
	if (!recreated || !exec_count || !init_checks || !fork_checks)
		return "too short: not every kind of check was made";
	return NULL;
}

static void leak_report(void)
{
	report_field("recreated", recreated);
	report_field("forks", fork_count);
	report_field("execs", exec_count);
}

const struct experiment exp_leak = {
	.name = "leak",
	.summary = "nobody ever sees another's registers: fork, exec, exit, migration, preemption",
	.loops = 20000,
	.preempt = true,
	.sections = true,
	.min_cpus = 1,
	.max_cpus = LAB_MAX_CPUS,
	.phase = leak_phase,
	.ended = leak_ended,
	.may_fork = leak_may_fork,
	.verdict = leak_verdict,
	.report = leak_report,
};

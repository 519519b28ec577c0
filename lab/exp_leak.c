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
#include "experiment.h"
#include "report.h"

#define CROWD      6u
#define SLOTS_MIN  8u
#define SLOTS_SPAN 64u

static int32_t lives_left; /* tasks that may still be created, in all */
static uint64_t random;
static struct spinlock random_lock;
static uint32_t recreated;

static uint64_t draw(void)
{
	uint64_t r;

	spin_lock(&random_lock);
	r = random_next(&random);
	spin_unlock(&random_lock);
	return r;
}

static bool take_life(void)
{
	return __atomic_sub_fetch(&lives_left, 1, __ATOMIC_SEQ_CST) >= 0;
}

static struct task_spec crowd_spec(void)
{
	static const enum use uses[4] = {USE_ALWAYS, USE_ALWAYS, USE_SELDOM, USE_NEVER};
	uint64_t r = draw();

	return (struct task_spec){
		.program = user_mixed,
		.loops = SLOTS_MIN + ((uint32_t)r >> 8) % SLOTS_SPAN,
		.use = uses[r & 3],
		.cpu = (uint32_t)(r >> 32) % cpu_count,
		.lifecycle = true,
		.migrates = true,
		.live_random = true,
		.no_area = r & 4,
	};
}

static void lonely(void)
{
	struct task_spec spec = {.program = user_migrator, .loops = args.loops / 8};

	spec.use = USE_ALWAYS;
	task_create_user(&spec);
	spec.program = user_worker;
	spec.use = USE_NEVER;
	for (uint32_t id = 0; id < cpu_count; id++) {
		spec.cpu = id;
		task_create_user(&spec);
		experiment_kernel_noise(id);
	}
}

static bool leak_phase(unsigned number)
{
	random = args.seed ^ 0x1eaf;
	lab_total = args.loops * 2;
	if (number == 0) {
		lonely();
		return true;
	}
	if (number > 1)
		return false;
	lives_left = (int32_t)((uint32_t)args.loops / (SLOTS_MIN + SLOTS_SPAN / 2) + CROWD);
	for (unsigned i = 0; i < CROWD && take_life(); i++) {
		struct task_spec spec = crowd_spec();

		task_create_user(&spec);
	}
	for (uint32_t id = 0; id < cpu_count; id++)
		experiment_kernel_noise(id);
	return true;
}

static bool leak_ended(struct task *task)
{
	struct task_spec spec;

	if (task->program != user_mixed)
		return false;
	/* Children make the crowd larger; it shrinks back, which leaves room for more children. */
	if (__atomic_load_n(&live_tasks, __ATOMIC_SEQ_CST) > CROWD && (draw() & 1))
		return false;
	if (!take_life())
		return false;
	spec = crowd_spec();
	task_recreate(task, &spec);
	__atomic_fetch_add(&recreated, 1, __ATOMIC_RELAXED);
	return true;
}

static bool leak_may_fork(const struct task *parent, struct task_spec *spec)
{
	(void)parent;
	/* Children share the crowd's table, which has room for ended tasks to come back. */
	if (__atomic_load_n(&live_tasks, __ATOMIC_SEQ_CST) >= MAX_TASKS - LAB_MAX_CPUS ||
	    !take_life())
		return false;
	*spec = crowd_spec();
	return true;
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
	.min_cpus = 1,
	.max_cpus = LAB_MAX_CPUS,
	.phase = leak_phase,
	.ended = leak_ended,
	.may_fork = leak_may_fork,
	.verdict = leak_verdict,
	.report = leak_report,
};

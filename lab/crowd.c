// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tasks that come and go at random: see crowd.h.
 */
#include "crowd.h"
#include "experiment.h"

static const struct crowd *now;
static int32_t lives_left; /* tasks that may still be created, in all */
static uint64_t random;
static struct spinlock random_lock;

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

static uint32_t living(void)
{
	return (uint32_t)__atomic_load_n(&live_tasks, __ATOMIC_SEQ_CST);
}

static struct task_spec any_spec(void)
{
	uint64_t r = draw();

	return (struct task_spec){
		.program = user_mixed,
		.loops = now->slots_min + ((uint32_t)r >> 8) % now->slots_span,
		.use = now->uses[r & 3],
		.cpu = (uint32_t)(r >> 32) % cpu_count,
		.lifecycle = true,
		.migrates = true,
		.live_random = true,
		.no_area = r & 4,
	};
}

void crowd_lonely(bool no_area)
{
	struct task_spec spec = {
		.program = user_migrator,
		.loops = args.loops / 8,
		.use = USE_ALWAYS,
		.no_area = no_area,
	};

	task_create_user(&spec);
	spec.program = user_worker;
	spec.use = USE_NEVER;
	for (uint32_t id = 0; id < cpu_count; id++) {
		spec.cpu = id;
		task_create_user(&spec);
		experiment_kernel_noise(id);
	}
}

void crowd_begin(const struct crowd *crowd, uint64_t loops, unsigned number)
{
	now = crowd;
	random = args.seed ^ crowd->salt ^ number;
	lives_left = (int32_t)((uint32_t)loops / (crowd->slots_min + crowd->slots_span / 2) +
			       crowd->size);
	for (unsigned i = 0; i < crowd->size && take_life(); i++) {
		struct task_spec spec = any_spec();

		task_create_user(&spec);
	}
	for (uint32_t id = 0; id < cpu_count; id++)
		experiment_kernel_noise(id);
}

bool crowd_ended(struct task *task)
{
	struct task_spec spec;

	if (task->program != user_mixed)
		return false;
	/* Children make the crowd larger; it shrinks back, which leaves room for more children. */
	if (living() > now->size && (draw() & 1))
		return false;
	if (!take_life())
		return false;
	spec = any_spec();
	task_recreate(task, &spec);
	return true;
}

bool crowd_may_fork(struct task_spec *spec)
{
	/* Children share the crowd's table, which has room for ended tasks to come back. */
	if (living() >= MAX_TASKS - now->room || !take_life())
		return false;
	*spec = any_spec();
	return true;
}

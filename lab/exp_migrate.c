// SPDX-License-Identifier: BSD-2-Clause
/*
 * `migrate`: tasks change CPUs all the time, begin without memory for registers, fork,
 * exec and end, while CPUs go off and come back with garbage in their registers.
 *
 * Under save=displaced a task's only copy may be in the registers of the CPU it left.
 * There are three ways to move it: fetched when it is needed, written to memory when
 * it is marked for the move, or bound to its CPU until it is displaced. A crowd for each;
 * before these one task alone, which nobody displaces, so it is always fetched.
 */
#include "crowd.h"
#include "experiment.h"
#include "engine.h"
#include "report.h"

#define WAYS 3u

static const struct crowd crowd = {
	.salt = 0x316,
	.uses = {USE_ALWAYS, USE_SELDOM, USE_SELDOM, USE_NEVER},
	.slots_min = 16,
	.slots_span = 64,
	.size = 6,
	.room = 2 * LAB_MAX_CPUS, /* a kernel thread or two on each CPU */
};

static uint64_t moved[WAYS], fetches[WAYS], bound[WAYS];
static uint32_t no_area;

static uint64_t migrations(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MAX_TASKS; i++)
		sum += user_blocks[i].migrations;
	return sum;
}

/* What happened since the last call is the doing of @way. */
static void take_totals(enum moving way)
{
	static uint64_t moved_before, fetches_before, bound_before;
	struct engine_totals totals;

	engine_totals(&totals);
	moved[way] += migrations() - moved_before;
	fetches[way] += totals.fetches - fetches_before;
	bound[way] += totals.bound - bound_before;
	moved_before = migrations();
	fetches_before = totals.fetches;
	bound_before = totals.bound;
}

static bool migrate_phase(unsigned number)
{
	lab_total = WAYS * args.loops;
	if (number == 0) {
		crowd_lonely(true);
		return true;
	}
	take_totals(task_moving);
	if (number > WAYS)
		return false;
	task_moving = (enum moving)(number - 1);
	crowd_begin(&crowd, args.loops, number);
	for (uint32_t id = 0; id < cpu_count; id++)
		experiment_hotplug(id);
	return true;
}

static bool migrate_ended(struct task *task)
{
	if (!task->fpu.area)
		__atomic_fetch_add(&no_area, 1, __ATOMIC_RELAXED);
	return crowd_ended(task);
}

static bool migrate_may_fork(const struct task *parent, struct task_spec *spec)
{
	(void)parent;
	return crowd_may_fork(spec);
}

static bool displaces(void)
{
	for (unsigned i = 0; i < policy_count; i++) {
		if (policies[i]->save == XST_SAVE_DISPLACED)
			return true;
	}
	return false;
}

static const char *migrate_verdict(void)
{
	struct engine_totals totals;
	bool fetching = displaces() && cpu_count > 1;

	engine_totals(&totals);
	if (!totals.offlines || !totals.area_traps || !exec_count || !fork_count)
		return "too short: not everything happened";
	if (cpu_count > 1 && !moved[MOVING_FETCHED])
		return "no task changed CPUs";
	if (fetching && !fetches[MOVING_FETCHED])
		return "no registers were fetched from another CPU";
	if (fetching && !bound[MOVING_BOUND])
		return "no task was bound to its registers";
	if (fetches[MOVING_MARKED])
		return "registers were fetched of a task that had been marked for the move";
	if (fetches[MOVING_BOUND])
		return "registers were fetched of a task that should have been bound";
	return NULL;
}

static void migrate_report(void)
{
	struct engine_totals totals;

	engine_totals(&totals);
	report_field("fetches", fetches[MOVING_FETCHED]);
	report_field("bound", bound[MOVING_BOUND]);
	report_field("offlines", totals.offlines);
	report_field("ended_without_area", no_area);
	report_field("forks", fork_count);
	report_field("execs", exec_count);
}

const struct experiment exp_migrate = {
	.name = "migrate",
	.summary = "tasks change CPUs, CPUs go off and on, memory comes at the first use",
	.loops = 6000,
	.preempt = true,
	.min_cpus = 1,
	.max_cpus = LAB_MAX_CPUS,
	.phase = migrate_phase,
	.ended = migrate_ended,
	.may_fork = migrate_may_fork,
	.verdict = migrate_verdict,
	.report = migrate_report,
};

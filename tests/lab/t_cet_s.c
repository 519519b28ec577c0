// SPDX-License-Identifier: BSD-2-Clause
/*
 * CET_S in no task, in guests only, in every task: what the lab counted must have the order that the three
 * cases have, and a library that loses registers must be caught.
 *
 *     t_cet_s GROUP IMAGES    GROUP: cet-s
 */
#include <string.h>

#include "lab_test.h"

enum { NONE, GUESTS, TASKS, CASES };
static const char *const names[CASES] = { "none", "guests", "tasks" };

static const json_t *points[2][CASES]; /* by whether tasks have CET_U */

static uint64_t at(const json_t *p, const char *name)
{
	const json_t *v = json_object_get(p, name);

	if (!json_is_integer(v))
		expect(false, "a point has %s", name);
	return (uint64_t)json_integer_value(v);
}

static void sort_points(const struct lab_job *j)
{
	size_t i;
	json_t *p;

	json_array_foreach (j->result.points, i, p)
		for (unsigned k = 0; k < CASES; k++)
			if (!strcmp(json_string_value(json_object_get(p, "case")), names[k]))
				points[at(p, "tasks_have_cet_u")][k] = p;
	for (unsigned k = 0; k < 2 * CASES; k++)
		if (!points[k / CASES][k % CASES])
			expect(false, "there is a point for %s", names[k % CASES]);
}

static void same(const json_t *a, const json_t *b, const char *name)
{
	expect(at(a, name) == at(b, name), "%s: %llu and %llu", name, (unsigned long long)at(a, name),
	       (unsigned long long)at(b, name));
}

/* For guests only, no task sees anything of it: not one instruction, not one byte. */
static void tasks_pay_nothing(void)
{
	static const char *const what[] = { "task_bytes", "eager_instructions", "eager_moves",
					    "deferred_instructions", "deferred_moves" };

	for (unsigned u = 0; u < 2; u++)
		for (unsigned i = 0; i < sizeof(what) / sizeof(what[0]); i++)
			same(points[u][NONE], points[u][GUESTS], what[i]);
}

/* 24 bytes beside CET_U are 24 bytes; alone they are an image, and two moves more at each switch. */
static void every_task_pays(void)
{
	const json_t *with = points[1][TASKS], *alone = points[0][TASKS];

	expect(at(with, "task_bytes") == at(points[1][NONE], "task_bytes") + 24, "24 bytes more");
	same(with, points[1][NONE], "eager_instructions");
	same(with, points[1][NONE], "eager_moves");
	expect(at(alone, "task_bytes") == at(points[0][NONE], "task_bytes") + 600,
	       "an image more, header and all");
	expect(at(alone, "eager_moves") == at(points[0][NONE], "eager_moves") + 2 * at(alone, "eager_events"),
	       "two moves more for each switch");
	expect(at(alone, "eager_instructions") > at(points[0][NONE], "eager_instructions"),
	       "and instructions");
}

/* Software reads three pointers at an exit and writes them for another guest; XSAVES needs neither. */
static void software_pays_for_guests(void)
{
	for (unsigned u = 0; u < 2; u++) {
		const json_t *none = points[u][NONE], *guests = points[u][GUESTS];

		expect(at(none, "stay_instructions") > at(guests, "stay_instructions"),
		       "an exit has more instructions by software");
		expect(at(none, "visit_msr_writes") == 3 * at(none, "visit_events") &&
			       at(guests, "visit_msr_writes") == 0,
		       "three MSRs are written for another guest");
		expect(at(guests, "guest_bytes") == at(none, "guest_bytes") + 24, "a guest's image");
		expect(!at(none, "stay_moves") && !at(guests, "stay_moves"),
		       "an exit that stays in the kernel moves no state");
	}
}

static void cet_s(const struct lab_machine *machines, size_t count)
{
	struct lab_job jobs[3], broken;
	const struct lab_job *ran = NULL;
	size_t n = 0;

	for (size_t m = 0; m < count; m++)
		jobs[n++] = job("cet-s", "eager", &machines[m]);
	run("lab", jobs, n, QUIET_MS);
	for (size_t i = 0; i < n; i++) {
		if (jobs[i].result.status == LAB_SKIPPED)
			printf("SKIP: %s: %s\n", jobs[i].machine->name, jobs[i].result.reason);
		else if (expect_ok(&jobs[i]))
			ran = &jobs[i];
	}
	if (!ran) {
		release(jobs, n);
		expect(!n || jobs[0].result.status != LAB_FAILED, "skipped with a reason");
		return;
	}
	sort_points(ran);
	expect(lab_result_flag(&ran->result, "counted"), "instructions are counted");
	tasks_pay_nothing();
	every_task_pays();
	software_pays_for_guests();
	broken = job("cet-s", "eager", ran->machine);
	run("twin-skip-restore", &broken, 1, QUIET_MS);
	expect(broken.result.status == LAB_FAILED && strstr(broken.result.reason, "its own"),
	       "without restores it is noticed: %s", broken.result.reason);
	discard(&broken);
	release(jobs, n);
}

static const struct lab_group groups[] = {
	{ "cet-s", cet_s, 2 },
};

int main(int argc, char **argv)
{
	return lab_test_main(argc, argv, groups, sizeof(groups) / sizeof(groups[0]));
}

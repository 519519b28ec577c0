/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the lab's tests share: jobs through the same engine as `xstate lab run`, a line for each case, and
 * groups that are chosen on the command line. A test ends with 77 when no emulator is here.
 */
#ifndef LAB_TEST_H
#define LAB_TEST_H

#include <xst/policy.h>

#include "lab/run.h"

#define SEED     0x1ab5eed
#define SKIPPED  77
#define QUIET_MS 60000

#define POLICIES XST_POLICY_COUNT
extern const char *policies[POLICIES]; /* all that have a name */

extern const char *images;             /* the folder with lab.rom and the broken twins */
extern const char *extra, *sequence;   /* of struct lab_plan, for the runs to come */
extern uint64_t test_seed;

struct lab_group {
	const char *name;
	void (*run)(const struct lab_machine *machines, size_t count);
	size_t machines; /* how many of the three */
};

int lab_test_main(int argc, char **argv, const struct lab_group *groups, size_t group_count);

__attribute__((format(printf, 2, 3))) void expect(bool ok, const char *fmt, ...);

/* Machines to run on; those that are not here are a skip with the reason. */
size_t find_machines(struct lab_machine *m, const char *const *names, size_t count);

struct lab_job job(const char *experiment, const char *policy, const struct lab_machine *machine);
/* Runs @jobs with the image called @name; their results are the caller's to free. */
void run(const char *name, struct lab_job *jobs, size_t count, uint64_t quiet_ms);
void release(struct lab_job *jobs, size_t count);
/* The same for one that failed on purpose: what it left is of no use. */
void discard(struct lab_job *j);

/* A counter, which must be there. */
uint64_t get(const struct lab_job *j, const char *name);
bool expect_ok(const struct lab_job *j);

#endif

// SPDX-License-Identifier: BSD-2-Clause
/* What the lab's tests share; lab_test.h. */
#include "lab_test.h"

#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xst/policy.h>

#define TIMEOUT_MS 300000

const char *policies[POLICIES];
const char *images, *extra, *sequence;
uint64_t test_seed = SEED;
static unsigned passed, failed;

void expect(bool ok, const char *fmt, ...)
{
	va_list ap;

	printf("%s: ", ok ? "PASS" : "FAIL");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	if (ok)
		passed++;
	else
		failed++;
}

/* Machines to run on; those that are not here are a skip with the reason. */
size_t find_machines(struct lab_machine *m, const char *const *names, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		char why[300];

		if (!lab_machine_parse(names[i], &m[n], why, sizeof(why)))
			printf("SKIP: %s: %s\n", names[i], why);
		else if (!m[n].usable)
			printf("SKIP: %s: %s\n", names[i], m[n].reason);
		else
			n++;
	}
	return n;
}

static void load_rom(struct lab_rom *rom, const char *name)
{
	char path[PATH_MAX], why[600];

	snprintf(path, sizeof(path), "%s/%s.rom", images, name);
	if (lab_rom_load(rom, path, why, sizeof(why)))
		return;
	printf("FAIL: %s\n", why);
	exit(1);
}

static unsigned cpus_here(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

struct lab_job job(const char *experiment, const char *policy,
			  const struct lab_machine *machine)
{
	struct lab_job j = { .experiment = lab_experiment_find(experiment), .machine = machine };

	j.cpus = j.experiment->cpus;
	snprintf(j.policy, sizeof(j.policy), "%s", policy);
	return j;
}

/* Runs @jobs with the image called @name; their results are the caller's to free. */
void run(const char *name, struct lab_job *jobs, size_t count, uint64_t quiet_ms)
{
	struct lab_rom rom;
	struct lab_plan plan = { .rom = &rom, .jobs = jobs, .count = count,
				 .parallel = cpus_here(), .seed = test_seed, .extra = extra,
				 .sequence = sequence,
				 .timeout_ms = TIMEOUT_MS, .quiet_ms = quiet_ms };
	char why[600];

	load_rom(&rom, name);
	if (!lab_run(&plan, why, sizeof(why))) {
		printf("FAIL: %s\n", why);
		exit(1);
	}
	lab_rom_free(&rom);
}

void release(struct lab_job *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		lab_result_free(&jobs[i].result);
}

/* The job failed on purpose: what it left is of no use. */
void discard(struct lab_job *j)
{
	char command[PATH_MAX + 16], *slash = strrchr(j->kept, '/');

	if (slash) {
		*slash = '\0';
		snprintf(command, sizeof(command), "rm -rf '%s'", j->kept);
		if (system(command))
			printf("cannot remove %s\n", j->kept);
	}
	release(j, 1);
}

uint64_t get(const struct lab_job *j, const char *name)
{
	uint64_t v = UINT64_MAX;

	if (!lab_result_u64(&j->result, name, &v))
		expect(false, "%s %s on %s has a counter %s", j->experiment->name, j->policy,
		       j->machine->name, name);
	return v;
}

bool expect_ok(const struct lab_job *j)
{
	bool ok = j->result.status == LAB_OK || j->result.status == LAB_KNOWN_FAILURE;

	expect(ok, "%s %s on %s, %u CPUs%s%s", j->experiment->name, j->policy, j->machine->name,
	       j->cpus, *j->result.reason ? ": " : "", j->result.reason);
	return ok;
}

int lab_test_main(int argc, char **argv, const struct lab_group *groups, size_t group_count)
{
	static const char *const names[] = { "qemu:max", "bochs:tigerlake", "bochs:ryzen" };
	struct lab_machine machines[3];
	size_t count;

	if (argc != 3) {
		fprintf(stderr, "usage: %s GROUP IMAGES\n", argv[0]);
		return 2;
	}
	images = argv[2];
	for (unsigned i = 0; i < POLICIES; i++)
		policies[i] = xst_policy_at(i)->name;
	for (size_t g = 0; g < group_count; g++) {
		if (strcmp(argv[1], groups[g].name))
			continue;
		printf("seed 0x%x\n", SEED);
		count = find_machines(machines, names, groups[g].machines);
		if (!count)
			return SKIPPED;
		groups[g].run(machines, count);
		return failed || !passed ? 1 : 0;
	}
	fprintf(stderr, "no group '%s'\n", argv[1]);
	return 2;
}

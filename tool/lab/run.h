/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running the lab: many boots, a few at a time, each in a private folder that is
 * removed when the run was good and kept when it was not.
 */
#ifndef LAB_RUN_H
#define LAB_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/experiment.h"
#include "lab/machine.h"
#include "lab/result.h"
#include "lab/rom.h"

/* One boot: an experiment under a policy on a machine. */
struct lab_job {
	const struct lab_experiment *experiment;
	const struct lab_machine *machine;
	char policy[768]; /* several, with `;` between, where one run goes through them */
	unsigned cpus;
	struct lab_result result;
	char kept[PATH_MAX]; /* folder with everything the run left, when it failed */
};

/* What things cost on some real CPU, in cycles; given, not measured. */
struct lab_costs {
	double save, restore, trap, ts;
};

struct lab_plan {
	const struct lab_rom *rom;
	struct lab_job *jobs;
	size_t count;
	unsigned parallel;
	uint64_t seed;
	uint64_t loops;	      /* 0: the experiment's own number */
	const char *sequence; /* what `replay` executes, or NULL */
	const char *extra;    /* further arguments for the kernel, or NULL */
	uint64_t timeout_ms;  /* for one boot */
	uint64_t quiet_ms;    /* longest silence before a boot counts as hung */
	bool keep_all;	      /* keep the folders of good runs too */
	bool progress;	      /* show a bar */
	struct lab_costs costs;
	void (*give_up)(void *argument); /* called before an interrupt ends this process; or NULL */
	void *give_up_argument;
};

/**
 * lab_run() - carry out the plan; every job has its verdict afterwards.
 *
 * An interrupt (SIGINT, SIGTERM, SIGHUP) kills what was started, removes the
 * folders and then ends this process by the same signal.
 *
 * Return: false with @why when the machine lacks what running needs at all.
 */
bool lab_run(struct lab_plan *plan, char *why, size_t size);

/**
 * lab_probe_kvm() - find out whether KVM really runs the image, once.
 */
void lab_probe_kvm(const struct lab_rom *rom);

/**
 * lab_job_args() - the kernel's command line for a job.
 */
void lab_job_args(const struct lab_plan *plan, const struct lab_job *job, char *buf, size_t size);

#endif

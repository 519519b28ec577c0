/* SPDX-License-Identifier: BSD-2-Clause */
/* The lab's experiments as the command knows them; the kernel in lab/ carries them out. */
#ifndef LAB_EXPERIMENT_H
#define LAB_EXPERIMENT_H

#include <stdbool.h>

struct lab_experiment {
	const char *name;
	const char *summary;
	unsigned cpus;	 /* how many it is meant for */
	bool standard;	 /* part of `xstate lab run` without arguments */
	bool one_policy; /* a run of its own for each policy; else one run goes through all */
	bool hidden;	 /* for testing the runner; not listed */
};

/* Ends with a NULL name. */
extern const struct lab_experiment lab_experiments[];

/**
 * lab_experiment_find() - by name.
 *
 * Return: the experiment, or NULL.
 */
const struct lab_experiment *lab_experiment_find(const char *name);

#endif

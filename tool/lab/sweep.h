/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Experiments that go through a row of settings: what a save writes by the components
 * that are live, and how many slots must use the registers for eager to win over a
 * policy that waits for the first use.
 */
#ifndef LAB_SWEEP_H
#define LAB_SWEEP_H

#include <stdio.h>

#include "lab/run.h"

/* Where eager becomes the cheaper one, in slots of a million that use the registers. */
struct lab_break_even {
	double formula;	     /* u* = (E - c) / (E + T) */
	double measured;     /* where the counted work, at these costs, crosses eager's */
	double traps;	     /* of the other policy there, per million slots */
	double instructions; /* where the engine's own instructions cross */
};

/**
 * lab_break_even() - of a run of `slots` under a policy that waits for the first use.
 *
 * What does not cross within 0 to a million is negative when eager is cheaper all the way, and above a
 * million when it never is.
 *
 * Return: false when @job is no such run, or nothing it can be compared with is in the plan.
 */
bool lab_break_even(const struct lab_plan *plan, const struct lab_job *job,
		    struct lab_break_even *b);

/**
 * lab_costs_parse() - read "save=165,restore=390,trap=600,ts=60"; what is not named stays.
 */
bool lab_costs_parse(const char *text, struct lab_costs *costs);

/**
 * lab_print_sweeps() - tables and sentences on all sweeps of the plan.
 */
void lab_print_sweeps(FILE *out, const struct lab_plan *plan);

#endif

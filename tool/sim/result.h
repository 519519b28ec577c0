/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What came out of one or many traces: sums, under each policy. Results of traces add up to that of
 * all of them, in any order and grouping; costs and words are made from the sums, at the very end.
 */
#ifndef SIM_RESULT_H
#define SIM_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <xst/policy.h>

#include "sim/costs.h"
#include "sim/parts.h"
#include "sim/replay.h"

#define SIM_ROWS_MAX   48
#define SIM_NAME       64
#define SIM_TASKS_SHOW 64
#define SIM_WORDS      1600 /* bytes of a paragraph */

/* One policy, or one hypothesis about it. */
struct sim_row {
	char name[SIM_NAME];      /* the policy by name or fields; xst_policy_parse() */
	char hypothesis[SIM_NAME];/* or empty */
	struct xst_policy policy;
	struct lane_extra extra;
	struct lane_counts n;
	/* what the hypothesis changes about prices */
	bool trap_given, bound;
	struct sim_range trap, more_bytes; /* cycles beside, for each save and each restore */
};

struct sim_cpu_row {
	unsigned cpu;
	struct lane_counts n[SIM_ROWS_MAX];
};

/* Tasks of one name. */
struct sim_task_row {
	char name[16];
	uint64_t tasks, slots, used;
	struct lane_task n[SIM_ROWS_MAX];
};

struct sim_result {
	struct sim_totals total;
	struct sim_row rows[SIM_ROWS_MAX];
	size_t row_count;
	char use[SIM_NAME];     /* as it was asked for, and how these were taken: */
	char signals[16], sections[16];
	uint64_t seed, use_content; /* the latter: of the file of --use by-comm=FILE, or 0 */
	bool programs;          /* counted by program, too */
	struct sim_parts parts; /* of which traces it is */
	struct sim_cpu_row *cpus; /* of the only trace, or NULL */
	size_t cpu_count;
	struct sim_task_row *tasks; /* or NULL */
	size_t task_count, task_room;
	uint32_t *by_name;          /* their numbers and 1, hashed by name; 0: free */
	size_t by_name_room, by_name_count;
};

/* What follows from sums and prices. */
struct sim_even {
	bool known;                        /* eager and lazy are among the policies, and saved anything */
	struct sim_range formula, counted; /* used slots per million: above, eager is cheaper */
	double used, used_least;           /* of this trace; least: where images were compared, else < 0 */
};

/**
 * sim_result_add() - @sum += @more, which must have the same rows and assumptions.
 *
 * Return: false when it has not, with one sentence in @err.
 */
bool sim_result_add(struct sim_result *sum, const struct sim_result *more, char *err, size_t errlen);
void sim_result_free(struct sim_result *r);

/**
 * sim_row_add() - one more policy; false when there is no room.
 */
bool sim_row_add(struct sim_result *r, const char *name, const struct xst_policy *policy,
		 const char *hypothesis);

/**
 * sim_row_counts() - a row's counts at one end of what handlers, and programs behind them, may have
 * touched: nothing until their slot ended, as in @row->n, or with @most all of what
 * totals.signal_turns counts. That differs where a policy waits for the first use.
 */
struct lane_counts sim_row_counts(const struct sim_result *r, const struct sim_row *row, bool most);

/**
 * sim_row_cycles() - over all prices, and all that handlers may have touched.
 * sim_row_between() - what @a costs more than @b, both in the same case.
 */
struct sim_range sim_row_cycles(const struct sim_result *r, const struct sim_costs *c, size_t row);
struct sim_range sim_row_between(const struct sim_result *r, const struct sim_costs *c,
				 const struct sim_row *a, const struct sim_row *b);
const struct sim_row *sim_row_find(const struct sim_result *r, const char *name);
bool sim_result_even(const struct sim_result *r, const struct sim_costs *c, struct sim_even *out);

/**
 * sim_verdict() - the answer in words, one paragraph after the other; NULL beyond the last.
 * @buf: where it may be written.
 */
const char *sim_verdict(const struct sim_result *r, const struct sim_costs *c, unsigned paragraph,
			char *buf, size_t size);

/* Does the verdict hold for the whole trace, over all ranges? */
enum sim_holds { SIM_HOLDS, SIM_DEPENDS, SIM_LOST, SIM_HOLES, SIM_GAPS };
enum sim_holds sim_holds(const struct sim_result *r, const struct sim_costs *c);

void sim_print(FILE *out, const struct sim_result *r, const struct sim_costs *c);
void sim_print_json(FILE *out, const struct sim_result *r, const struct sim_costs *c);

/**
 * sim_result_read() - @sum and all that sim_print_json() wrote into @path ("-": standard input): one
 * document or several, one behind the other.
 *
 * Return: 0; -1 with one sentence in @err.
 */
int sim_result_read(struct sim_result *sum, const char *path, char *err, size_t errlen);

#endif

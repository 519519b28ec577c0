/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of `xstate bench switch`: what this host's kernel takes to switch between two tasks that
 * hold this or that state, as rates people know and as paired effects against tasks that hold none.
 */
#ifndef TOOL_BENCH_SWITCH_H
#define TOOL_BENCH_SWITCH_H

#include "against.h"
#include "beside.h"
#include "pair.h"
#include "session.h"
#include "stats/series.h"

/* What a task does to its registers before it switches. */
struct switch_touch {
	const char *id, *name;
	enum snip snip;
	uint64_t needs; /* components, all of them */
};

#define SWITCH_TOUCHES 9
extern const struct switch_touch switch_touch[SWITCH_TOUCHES];

struct switch_row {
	char id[40]; /* "yield/process/avx/both" */
	enum pair_how how;
	enum pair_who who;
	const struct switch_touch *touch;
	bool both; /* tasks touch, not only the one that is timed */
	bool selected;
	const char *skipped;
	uint32_t arm;    /* the first of its copies */
	uint32_t copies; /* how often a block measures it: the base of many rows more than once */
	uint32_t base;   /* row of the same pair that touches nothing */
	struct pair_count count;
	struct stats_spread ticks;   /* of one loop: a round trip, two switches */
	struct stats_estimate ratio; /* logarithm of the ratio to the base */
	struct stats_estimate extra; /* cycles by which a loop exceeds the base's */
};

#define SWITCH_ROWS   72
#define SWITCH_COPIES 4 /* of a row, at most */

struct switch_run {
	struct bench_session s;
	struct pair pair[PAIR_WHOS];
	const char *pair_missing[PAIR_WHOS];
	bool ordinary;
	struct switch_row rows[SWITCH_ROWS];
	uint32_t row_count;
	struct beside beside;
	struct against against;
};

/**
 * switch_rows() - everything that can be asked for, into @run->rows; rig open.
 */
void switch_rows(struct switch_run *run);

/**
 * switch_prepare() - make the partners that the selected rows need, and size the arms.
 * @why: out, on failure, a clause.
 */
bool switch_prepare(struct switch_run *run, const char **why);

/**
 * switch_work() - what a slice of a row does, but for the number of loops.
 */
struct pair_work switch_work(const struct switch_row *row);

/**
 * switch_analyse() - the rows' results, the controls and the verdict.
 *
 * Return: false when memory is short.
 */
bool switch_analyse(struct switch_run *run);

/**
 * switch_against() - set an analysed run beside the old one that @run->against holds.
 */
void switch_against(struct switch_run *run);

/**
 * switch_ns() - nanoseconds of one loop of a row, median.
 */
double switch_ns(const struct switch_run *run, const struct switch_row *row);

/**
 * switch_per_loop() - switches in one loop, by the kernel's account of them.
 */
double switch_per_loop(const struct switch_row *row);

/**
 * switch_json(), switch_print(), switch_csv() - the run for machines, people and spreadsheets.
 * switch_list(), switch_list_json() - what could be measured.
 */
void switch_json(const struct switch_run *run, struct jw *w);
void switch_print(const struct switch_run *run, FILE *out);
void switch_csv(const struct switch_run *run, FILE *out);
void switch_list(const struct switch_run *run, FILE *out);
void switch_list_json(const struct switch_run *run, struct jw *w);

/**
 * switch_close() - end the partners and give everything back.
 */
void switch_close(struct switch_run *run);

#endif

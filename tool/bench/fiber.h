/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of `xstate bench fiber`: what a switch between two tasks in one address space costs, by the
 * library and by everything else a program could use, as ratios to the bare pair of instructions.
 */
#ifndef TOOL_BENCH_FIBER_H
#define TOOL_BENCH_FIBER_H

#include "library.h"
#include "peers.h"
#include "session.h"
#include "stats/series.h"

/* What a switch keeps apart, for whoever compares and for the test that proves it. */
#define KEEPS_CALLEE_SAVED (1u << 0) /* RBX, RBP, R12 to R15 and the stack */
#define KEEPS_CONTROL      (1u << 1) /* MXCSR and the x87 control word */
#define KEEPS_LEGACY       (1u << 2) /* all of x87 and SSE */
#define KEEPS_ALL          (1u << 3) /* all components enabled */

enum fiber_sort { FIBER_PAIR, FIBER_LIBRARY, FIBER_STACKS };

/* One way to switch. */
struct fiber_switch {
	const char *id;     /* "library-eager" */
	const char *name;   /* "library, eager" */
	const char *policy; /* FIBER_LIBRARY */
	enum fiber_sort sort;
	enum peer_kind peer; /* FIBER_STACKS */
	unsigned keeps;
	bool legacy; /* FIBER_PAIR: FXSAVE whatever else there is */
};

#define FIBER_SWITCHES 10
#define FIBER_LIVES    4
#define FIBER_PER_LOOP 8u /* switches in a turn of the measured loop */

extern const struct fiber_switch fiber_switch[FIBER_SWITCHES];
extern const enum live fiber_live[FIBER_LIVES];

/* A way to switch, ready to be run: code for the way there and back, and what it needs. */
struct fiber_way {
	const struct fiber_switch *what;
	const char *skipped; /* why it cannot run here, or NULL */
	struct library *library;
	struct peer *peer;
	enum snip there, back; /* back is SNIP_NONE where there returns by itself */
	enum snip fill_a, fill_b;
	uint64_t mask;
	const struct peer_call *call;
};

/* One way in one state. */
struct fiber_row {
	const struct fiber_way *way;
	enum live live;
	const char *skipped;
	uint32_t arm;
	struct stats_spread cycles;   /* of one switch */
	struct stats_estimate middle; /* of the same */
	struct stats_estimate ratio;  /* logarithm of the ratio to the bare pair in the same state */
};

/* A promise of the library. */
enum fiber_ruling { FIBER_REACHED, FIBER_MISSED, FIBER_UNDECIDED, FIBER_NOT_MEASURED };

struct fiber_goal {
	const char *id, *text;
	const char *way;
	double limit;
	bool init_only;
};

#define FIBER_GOALS 2
extern const struct fiber_goal fiber_goal[FIBER_GOALS];
extern const char *const fiber_ruling_name[4];

struct fiber_run {
	struct bench_session s;
	const char *pair; /* the bare pair's name: the library's own save form */
	struct fiber_way way[FIBER_SWITCHES];
	struct fiber_row row[FIBER_SWITCHES * FIBER_LIVES];
	uint32_t rows;
};

/**
 * fiber_way_open() - prepare one way.
 * @state:  the state images and areas it will work with.
 * @number: which of fiber_switch.
 * @inside: for ways with a stack of their own: what the fiber does before it comes back, or NULL.
 * @way:    out; on failure @way->skipped says why.
 */
void fiber_way_open(const struct bench_state *state, unsigned number,
		    void (*inside)(void *argument), void *argument, struct fiber_way *way);

/**
 * fiber_way_close() - give everything back.
 */
void fiber_way_close(struct fiber_way *way);

/**
 * fiber_prepare() - arms for all ways in all states beside the controls, tried and sized.
 * @run: rig open.
 * @why: out, on failure, a clause.
 */
bool fiber_prepare(struct fiber_run *run, const char **why);

/**
 * fiber_analyse() - fill in the rows' results, the controls and the verdict.
 *
 * Return: false when memory is short.
 */
bool fiber_analyse(struct fiber_run *run);

/**
 * fiber_goal_row() - the row that decides about a goal in one state.
 *
 * Return: NULL where the goal says nothing about that state.
 */
const struct fiber_row *fiber_goal_row(const struct fiber_run *run, unsigned goal, enum live live);

/**
 * fiber_rule() - is the ratio below the limit, with 95 % confidence?
 */
enum fiber_ruling fiber_rule(const struct fiber_goal *goal, const struct fiber_row *row);

/**
 * fiber_missed() - is any goal missed?
 */
bool fiber_missed(const struct fiber_run *run);

/**
 * fiber_close() - give everything back.
 */
void fiber_close(struct fiber_run *run);

/**
 * fiber_json() - the run as one xstate.bench/1 document.
 */
void fiber_json(const struct fiber_run *run, struct jw *w);

/**
 * fiber_print() - the run as tables.
 */
void fiber_print(const struct fiber_run *run, FILE *out);

#endif

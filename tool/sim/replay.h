/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One recorded machine under many policies in one pass: records are checked, it is settled which
 * slots used the registers, then each policy's lane goes through the batch. The totals are sums,
 * or made of sums, so that those of many traces add up to those of all.
 */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/lane.h"
#include "sim/memo.h"

/* Sums over traces: X(name in JSON). */
#define SIM_TOTALS(X)                                                                              \
	X(traces) X(records) X(switches) X(slots) X(user_slots) X(used_slots) X(digest_slots)      \
	X(blocked_slots)                                                                           \
	X(live_init_slots) X(live_sse_slots) X(live_avx_slots) X(live_avx512_slots)                \
	X(live_amx_slots) X(forks) X(execs) X(exits) X(signals) X(signals_assumed)                 \
	X(sections)                                                                                \
	X(sections_assumed) X(migrations) X(lost_events) X(gaps) X(odd_lines) X(observed_restores)  \
	X(span_ns) X(cpu_ns)                                                                       \
	X(traces_with_fpu) X(traces_with_restores) X(traces_with_signals) X(traces_with_sections)
/* Results of earlier versions do not have these: then they are 0. */
#define SIM_TOTALS_NEW(X)                                                                          \
	X(switches_assumed) X(day_pauses) X(returns_assumed) X(signal_frames) X(signal_turns)   \
	X(sections_inside)

/*
 * returns_assumed: signals the trace has, but not whether their handlers returned.
 * signal_turns: in slots that used the registers, beginnings of handlers and returns from them. After
 * each the registers are others, and may be touched anew; that the engine is told of one touch at the
 * slot's end is the least there can have been. signal_frames: those that begin a handler, for which what
 * was touched before is written. sections_inside: sections of the kernel in such slots of which
 * it is not known that the program came from user mode for them: the engine is told that it went back
 * there when the slot ended, and not before.
 */
struct sim_totals {
#define X(name) uint64_t name;
	SIM_TOTALS(X)
	SIM_TOTALS_NEW(X)
#undef X
};

/*
 * A gap is a contradiction: a task runs on of which no switch told. One in so many switches at most is a
 * remark; where there are more, what is missing may have been anything.
 */
#define SIM_GAPS_FEW 100
static inline bool sim_has_many_gaps(const struct sim_totals *n)
{
	return n->gaps > n->switches / SIM_GAPS_FEW;
}

void sim_totals_add(struct sim_totals *sum, const struct sim_totals *more);

/* Which slots used the registers: what a trace cannot show. */
enum sim_use_kind {
	SIM_USE_LIVE, /* all whose registers were live at their end: the most it can have been */
	SIM_USE_ALL,
	SIM_USE_NONE,
	SIM_USE_SHARE, /* each with probability p */
	SIM_USE_NAMES, /* the same, p by the program's name */
};

struct sim_use_name {
	char name[16];
	double p;
	bool seen; /* a task of the trace has this name */
};

struct sim_use {
	enum sim_use_kind kind;
	double p; /* for SHARE, and for names that are not listed */
	uint64_t seed;
	struct sim_use_name *names;
	size_t name_count;
};

struct replay;

/* A task that exited, or is there at the end. */
struct replay_task {
	int32_t pid;
	char name[16];
	uint64_t slots, used; /* counted only with replay_on_exit() */
	bool ran;     /* it ran when it got the name, which may be in the middle of a slot */
	bool counted; /* replay_count_task() */
};

/**
 * replay_new() - a trace begins. @lanes stay the caller's; they are up to date after replay_end().
 * @limits: what may be remembered of what the engine did (memo.h). NULL: nothing, it runs for every
 *          record. The counts are the same, it takes longer.
 */
struct replay *replay_new(const struct sim_use *use, struct lane **lanes, size_t lane_count,
			  const struct memo_limits *limits);
void replay_free(struct replay *r);

/**
 * replay_batch() - the next records; @recs is changed (REC_USED).
 *
 * Return: 0; -1 when a record contradicts those before, see replay_why().
 */
int replay_batch(struct replay *r, struct rec *recs, size_t count);

/**
 * replay_why() - what is wrong with the records; NULL: nothing.
 * @number: of which one, from 1; 0: of none of them.
 */
const char *replay_why(const struct replay *r, uint64_t *number);

/**
 * replay_end() - totals of this trace.
 *
 * @more: out, a further piece of the trace follows. What the totals say of whole traces, how many they
 *        are and what events they have, is in those of the last piece. Those of all pieces add up to
 *        the whole trace's, to the last record.
 *
 * Return: 0; -1 when no REC_END came: the trace was cut off.
 */
int replay_end(struct replay *r, struct sim_totals *out, bool *more);

unsigned replay_cpus(const struct replay *r);

/**
 * replay_memo() - what remembers the lanes, eight at most in each; NULL beyond the last.
 */
const struct memo *replay_memo(const struct replay *r, size_t i);

/**
 * replay_task() - who task @number is; NULL beyond the last.
 */
const struct replay_task *replay_task(const struct replay *r, uint32_t number);

/**
 * replay_count_task() - is task @number, under the name it has, counted for the first time? It may go
 * on in the next piece, and is one task all the same.
 */
bool replay_count_task(struct replay *r, uint32_t number);

/**
 * replay_on_exit() - @fn is called when a task's number becomes free, before it is, and when a task gets
 * another name: what it did until then was under the old one.
 */
void replay_on_exit(struct replay *r, void (*fn)(void *arg, uint32_t number), void *arg);

/**
 * replay_keep() - what goes on in the next piece of the trace, lanes and all.
 * @place: where that begins.
 * @of:    what was asked, as a checksum: policies and assumptions.
 *
 * Return: false when @out takes no more.
 */
bool replay_keep(const struct replay *r, FILE *out, const struct rec_place *place, uint64_t of);

/**
 * replay_go_on() - a new replay, with new lanes, begins there.
 * @in: at its beginning; it must be possible to go back to that.
 *
 * Return: NULL; why not, when @in is not all of what replay_keep() wrote for the same lanes and @of.
 * Nothing of it was looked at, then, that its checksum does not cover; @r is good for nothing any more.
 */
const char *replay_go_on(struct replay *r, FILE *in, struct rec_place *place, uint64_t of);

#endif

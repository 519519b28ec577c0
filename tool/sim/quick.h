/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memo of one lane alone, where use is always seen and no copy is elsewhere: there are so few
 * states that a transition is 8 bytes in a table without keys, and one number that goes up says both
 * what the engine counted and what slot that was. Whatever is no switch or was not there before is
 * left to the memo, which goes through such records one by one.
 */
#ifndef SIM_QUICK_H
#define SIM_QUICK_H

#include "sim/memo.h"

struct quick;

/* The time of records, and from SUMS_SEEN_SHIFT on the restores seen: one part's. */
#define SUMS_SEEN_SHIFT 44

struct quick *quick_new(void);
void quick_free(struct quick *q);

/**
 * quick_run() - switches, as far as @m knows what they do; @m->quick is there.
 * @sums: what they add up to is added.
 *
 * Return: the first record that is not one of those, or @end.
 */
struct rec *quick_run(const struct memo *m, struct rec *rec, const struct rec *end, uint64_t *sums);

/**
 * quick_stop() - @rec is not done: the memo can do it from here, and if it is what quick_run() can do
 *                it will be known.
 */
void quick_stop(struct memo *m, const struct rec *rec);

/**
 * quick_forget() - the memo's deltas have other numbers from now on.
 */
void quick_forget(struct quick *q);

/**
 * quick_end() - @m goes on without: it has too many states.
 */
void quick_end(struct memo *m);

/**
 * quick_is_small() - are there few enough states for it?
 */
bool quick_is_small(const struct memo *m);

#endif

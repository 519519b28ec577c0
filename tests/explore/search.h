/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Breadth-first search over packed states: every state once, each with the event that first led to
 * it, so that the first violation found is a shortest one.
 */
#ifndef EXPLORE_SEARCH_H
#define EXPLORE_SEARCH_H

#include "events.h"

/* One step: an event on a CPU, with the answers to what the manual leaves open. */
struct step {
	uint8_t event, cpu, arg;
	uint8_t asked;
	uint32_t answers;
};

#define MAX_PATH 4096u

struct search {
	/* in */
	struct machine *m;
	uint32_t max_states, max_depth;
	bool progress;
	/* out */
	uint32_t states, depth; /* distinct states; the depth of the last one */
	bool complete;          /* nothing is left: all that can be reached was */
	uint64_t steps;         /* events run */
	uint64_t run[MAX_EVENTS][MAX_POLICIES]; /* by event and the policy of its CPU */
	uint64_t fresh[MAX_EVENTS];             /* that led to a new state */
	uint64_t tainted;
	enum check broken;
	const char *how;
	struct state root;
	struct step path[MAX_PATH]; /* from root to the violation */
	unsigned path_length;
	double seconds;
};

/**
 * search_run() - explore from the given states.
 * @roots: canonical states to begin with.
 *
 * Return: false when memory is short.
 */
bool search_run(struct search *s, const struct state *roots, unsigned count);

/* Run one step on a machine that was just unpacked. */
enum check search_step(struct machine *m, const struct step *step);

#endif

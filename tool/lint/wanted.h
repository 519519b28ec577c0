/* SPDX-License-Identifier: BSD-2-Clause */
/* Which objects of a run are kept, and which are fetched again (wanted.c). */
#ifndef LINT_WANTED_H
#define LINT_WANTED_H

#include "lint/graph.h"

struct lint_hashes {
	uint64_t *list;
	size_t n, cap;
};

/* Names by their hashes: what objects import and what they define for others. */
struct lint_names {
	struct lint_hashes imports, exports;
};

/**
 * lint_wanted_first() - whether a swept object matters by itself.
 */
bool lint_wanted_first(struct lint_conf *conf, const struct lint_object *obj);

/**
 * lint_names_keep() - what remains of an object that is let go.
 *
 * Return: false when memory ran out.
 */
bool lint_names_keep(struct lint_names *names, const struct lint_object *obj);
void lint_names_free(struct lint_names *names);

/**
 * lint_wanted_find() - which imports and definitions concern what is kept.
 *
 * Return: false when memory ran out.
 */
bool lint_wanted_find(const struct lint_graph *g, struct lint_names *wanted);
bool lint_wanted_again(const struct lint_names *names, const struct lint_names *wanted);

#endif

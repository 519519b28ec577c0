/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Of which traces a result is: each is known by what its records add up to, so that one that is added
 * twice and one that is missing are noticed.
 */
#ifndef SIM_PARTS_H
#define SIM_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A trace, or a piece of one. */
struct sim_part {
	uint64_t before, after; /* rec_sum() where it begins, 0 in a whole trace, and where it ends */
	bool more;              /* a further piece follows */
	bool made_up;           /* by --synthetic */
};

struct sim_parts {
	struct sim_part *part;
	size_t count, room;
};

/**
 * sim_parts_add() - @parts and one more.
 *
 * Return: false when it, or what holds it or is in it, is there already; or when there is no memory.
 */
bool sim_parts_add(struct sim_parts *parts, const struct sim_part *more);
void sim_parts_free(struct sim_parts *parts);

/**
 * sim_parts_holes() - ends of pieces where neither the trace ends nor another piece goes on.
 */
size_t sim_parts_holes(const struct sim_parts *parts);

/**
 * sim_parts_made_up() - is there nothing that was recorded?
 */
bool sim_parts_made_up(const struct sim_parts *parts);

/**
 * sim_parts_mixed() - are there both recorded and made-up ones?
 */
bool sim_parts_mixed(const struct sim_parts *parts);

#endif

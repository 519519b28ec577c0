// SPDX-License-Identifier: BSD-2-Clause
/* Traces and pieces of them, by what their records add up to. */
#include "sim/parts.h"

#include <stdlib.h>

static bool is_empty(const struct sim_part *p)
{
	return p->before == p->after;
}

/* A trace ends with the sum that the last of its pieces ends with. */
static bool overlap(const struct sim_part *a, const struct sim_part *b)
{
	return a->after == b->after && (a->before == b->before || (!is_empty(a) && !is_empty(b)));
}

bool sim_parts_add(struct sim_parts *parts, const struct sim_part *more)
{
	for (size_t i = 0; i < parts->count; i++)
		if (overlap(&parts->part[i], more))
			return false;
	if (parts->count == parts->room) {
		const size_t room = parts->room ? 2 * parts->room : 8;
		struct sim_part *p = realloc(parts->part, room * sizeof(*p));

		if (!p)
			return false;
		parts->part = p;
		parts->room = room;
	}
	parts->part[parts->count++] = *more;
	return true;
}

void sim_parts_free(struct sim_parts *parts)
{
	free(parts->part);
	*parts = (struct sim_parts){ 0 };
}

static bool begins_at(const struct sim_parts *parts, uint64_t sum)
{
	for (size_t i = 0; i < parts->count; i++)
		if (parts->part[i].before == sum)
			return true;
	return false;
}

static bool ends_at(const struct sim_parts *parts, uint64_t sum)
{
	for (size_t i = 0; i < parts->count; i++)
		if (parts->part[i].more && parts->part[i].after == sum)
			return true;
	return false;
}

size_t sim_parts_holes(const struct sim_parts *parts)
{
	size_t n = 0;

	for (size_t i = 0; i < parts->count; i++) {
		const struct sim_part *p = &parts->part[i];

		n += p->before && !ends_at(parts, p->before);
		n += p->more && !begins_at(parts, p->after);
	}
	return n;
}

bool sim_parts_made_up(const struct sim_parts *parts)
{
	return parts->count && parts->part[0].made_up && !sim_parts_mixed(parts);
}

bool sim_parts_mixed(const struct sim_parts *parts)
{
	for (size_t i = 1; i < parts->count; i++)
		if (parts->part[i].made_up != parts->part[0].made_up)
			return true;
	return false;
}

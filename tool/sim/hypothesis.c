// SPDX-License-Identifier: BSD-2-Clause
/* Ideas that were discussed and never built, as data. */
#include "sim/hypothesis.h"

#include <string.h>

struct hypothesis {
	const char *words;
	const char *policies; /* by name, a blank between two */
	struct sim_row change;
};

/*
 * Larger registers: 32 of 1024 bits are 4096 bytes in every live image, which move at 64 bytes a
 * cycle at best and at 16 at worst. A trap of 30 cycles: what a trap gate once cost. Clearing:
 * with all of its registers INIT before a system call that blocks, a task needs neither a save nor
 * a load.
 */
static const struct hypothesis list[] = {
	{ "registers of 1024 bits", "eager lazy deferred auto",
	  { .more_bytes = { 64, 256 } } },
	{ "a trap of 30 cycles", "lazy lazy-keep laziest",
	  { .trap_given = true, .trap = { 30, 30 } } },
	{ "written when it is to migrate", "laziest", { .extra = { .move = LANE_MARK } } },
	{ "bound to its CPU while dirty", "laziest", { .bound = true } },
	{ "cleared before it blocks", "auto", { .extra = { .clear_on_block = true } } },
};

#define COUNT (sizeof(list) / sizeof(list[0]))

static void change(struct sim_row *row, const struct hypothesis *h)
{
	row->extra = h->change.extra;
	row->trap_given = h->change.trap_given;
	row->trap = h->change.trap;
	row->more_bytes = h->change.more_bytes;
	row->bound = h->change.bound;
}

bool sim_hypothesis_fill(struct sim_row *row)
{
	for (size_t i = 0; i < COUNT; i++)
		if (!strcmp(list[i].words, row->hypothesis)) {
			change(row, &list[i]);
			return true;
		}
	return false;
}

void sim_hypothesis_counts(const struct sim_row *row, struct lane_counts *n)
{
	/* Nobody is where his registers are not. */
	if (row->bound)
		n->interrupts = 0;
}

void sim_hypotheses_add(struct sim_result *r)
{
	for (size_t i = 0; i < COUNT; i++) {
		for (const char *p = list[i].policies; p; ) {
			const char *next = strchr(p, ' ');
			const size_t n = next ? (size_t)(next - p) : strlen(p);
			char name[SIM_NAME];
			const struct xst_policy *policy;

			memcpy(name, p, n);
			name[n] = '\0';
			policy = xst_policy_by_name(name);
			if (policy && sim_row_add(r, name, policy, list[i].words))
				change(&r->rows[r->row_count - 1], &list[i]);
			p = next ? next + 1 : NULL;
		}
	}
}

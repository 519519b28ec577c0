/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the counted things cost, in core cycles. Every figure is a range: what user mode can
 * measure is narrow, what only the kernel could (CR0.TS, #NM, interrupts) is wide. A sentence
 * about policies holds only if it does at every point of all ranges; since costs are sums of
 * counts times prices, it is enough to look at their ends.
 */
#ifndef SIM_COSTS_H
#define SIM_COSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/replay.h"

struct sim_range {
	double low, high;
};

#define COSTS_LOUD    (1u << 0) /* the machine was not quiet */
#define COSTS_UNKNOWN (1u << 1) /* nothing says whether it was */
#define COSTS_SHORT   (1u << 2) /* stopped before the end */

struct sim_costs {
	char source[240];
	double ghz;
	bool guest;                    /* trap, ts and interrupt are those of a guest */
	unsigned rough;                /* COSTS_...: why measured prices are not to be relied on */
	unsigned blocks, planned;      /* of the measurement; 0: not known */
	char fallback[120];            /* why not of a better pair of instructions, a clause; or empty */
	struct sim_range save[REC_LIVES], load[REC_LIVES];
	unsigned priced;               /* bit i: of save[i] and load[i]; the others stand in */
	/* One component more in the mask, of a save and a load; high 0: not measured. */
	struct sim_range init_more, live_more; /* in INIT; live, with 256 bytes */
	struct sim_range trap;         /* #NM round trip, without the load */
	struct sim_range ts;           /* a write of CR0.TS */
	struct sim_range interrupt;    /* to another CPU, until its answer */
	struct sim_range msr;          /* a read or a write of a model-specific register */
	struct sim_range init_read;    /* XGETBV with ECX = 1 */
	struct sim_range clear;        /* a program clears its registers before it blocks */
};

/**
 * sim_costs_builtin() - a table that is built in.
 *
 * Return: false when there is none of this name.
 */
bool sim_costs_builtin(struct sim_costs *c, const char *name);

/**
 * sim_costs_names() - the names of those that are, one after the other; NULL at the end.
 */
const char *sim_costs_names(size_t i);

/**
 * sim_costs_read() - from a file of `xstate bench insn -o`.
 *
 * Return: 0; -1 with one sentence in @err.
 */
int sim_costs_read(struct sim_costs *c, const char *path, char *err, size_t errlen);

/**
 * sim_costs_ring0() - the assumed ranges of what only the kernel can measure.
 */
void sim_costs_ring0(struct sim_costs *c, bool guest);

/**
 * sim_costs_save() - a save's price, by how live images were in @n; sim_costs_load() a restore's.
 */
struct sim_range sim_costs_save(const struct sim_costs *c, const struct sim_totals *n);
struct sim_range sim_costs_load(const struct sim_costs *c, const struct sim_totals *n);

/**
 * sim_costs_live() - what is called live, in words: "AVX-512".
 * sim_costs_stand_in() - whose price stands in for that of @live; itself when it has its own.
 */
const char *sim_costs_live(enum rec_live live);
enum rec_live sim_costs_stand_in(const struct sim_costs *c, enum rec_live live);

/**
 * sim_costs_of() - what @counts cost.
 * @clears: how often a program cleared its registers.
 */
struct sim_range sim_costs_of(const struct sim_costs *c, const struct sim_totals *n,
			      const struct lane_counts *counts, double clears);

/**
 * sim_costs_between() - what @a costs more than @b, the same prices for both.
 */
struct sim_range sim_costs_between(const struct sim_costs *c, const struct sim_totals *n,
				   const struct lane_counts *a, const struct lane_counts *b);

#endif

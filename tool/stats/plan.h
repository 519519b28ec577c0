/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run will do, decided before it starts: how many blocks, in which order the arms come in
 * each of them, and where in memory the code of that block lies. Everything follows from one seed.
 */
#ifndef TOOL_STATS_PLAN_H
#define TOOL_STATS_PLAN_H

#include <stdint.h>

struct stats_plan {
	uint64_t seed;
	uint32_t blocks;
	uint32_t arms;
};

/**
 * stats_seed_mix() - an independent seed for the part numbered @part of the work seeded @seed.
 */
uint64_t stats_seed_mix(uint64_t seed, uint64_t part);

/**
 * stats_seed_new() - a seed nobody chose, for runs that were not given one.
 */
uint64_t stats_seed_new(void);

/**
 * stats_plan_block() - order of the arms and place of the code for one block.
 * @plan:  the plan; the answer depends on its seed and @block alone.
 * @block: number of the block.
 * @order: out, @plan->arms entries, a permutation of 0 ... arms - 1.
 *
 * Return: a random number for the placement of this block's code, the same for all its arms.
 */
uint64_t stats_plan_block(const struct stats_plan *plan, uint32_t block, uint32_t *order);

/**
 * stats_plan_blocks_for() - how many blocks fit into a time, decided before looking at results.
 * @seconds:	   time the run may take.
 * @block_seconds: what one block was seen to take.
 *
 * Return: the number, at least 1.
 */
uint32_t stats_plan_blocks_for(double seconds, double block_seconds);

#endif

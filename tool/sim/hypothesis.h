/* SPDX-License-Identifier: BSD-2-Clause */
/* What if: rows beside those of the policies that exist. */
#ifndef SIM_HYPOTHESIS_H
#define SIM_HYPOTHESIS_H

#include "sim/result.h"

/**
 * sim_hypotheses_add() - all of them, as rows of @r.
 */
void sim_hypotheses_add(struct sim_result *r);

/**
 * sim_hypothesis_fill() - what a row's hypothesis means for lanes and prices, by its name.
 *
 * Return: false when there is none of this name.
 */
bool sim_hypothesis_fill(struct sim_row *row);

/**
 * sim_hypothesis_counts() - what of @n there is not under @row's hypothesis is taken away. The engine
 * follows the trace, in which tasks move that would be bound.
 */
void sim_hypothesis_counts(const struct sim_row *row, struct lane_counts *n);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arms that every run carries beside what it measures: a base, the base again, the base with
 * one and with two multiplies more (doses of known cost), and two canaries. What they say decides
 * whether the rest may be believed.
 */
#ifndef TOOL_BENCH_CONTROLS_H
#define TOOL_BENCH_CONTROLS_H

#include <stdbool.h>
#include <stdint.h>

#include "rig.h"
#include "stats/gate.h"
#include "stats/load.h"
#include "ui/json.h"

enum {
	CONTROL_BASE,
	CONTROL_SAME,
	CONTROL_DOSE1,
	CONTROL_DOSE2,
	CONTROL_THROUGHPUT,
	CONTROL_LATENCY,
	CONTROL_ARMS,
	CONTROLS = 3 /* of them have a known effect */
};

struct bench_controls {
	uint32_t first;     /* arm number of CONTROL_BASE */
	double base_cycles; /* of one loop of the base */
	struct stats_control control[CONTROLS];
	struct stats_noise noise;
};

/**
 * controls_add() - append the control arms, tried and with their loops.
 * @arms: room for CONTROL_ARMS at @first.
 * @why:  out, on failure, a clause.
 *
 * The base is a pair of context switches as this CPU does them, padded with a chain of multiplies
 * to about 1500 cycles, so that one multiply more is about 0.2 %. LFENCE keeps the chain from
 * overlapping with the rest: only then is the dose what it is said to be.
 *
 * Return: false when they cannot run here.
 */
bool controls_add(struct bench_rig *rig, struct bench_arm *arms, uint32_t first, const char **why);

/**
 * controls_name() - give the arm its name in a run's samples.
 * @which: CONTROL_BASE to CONTROL_LATENCY.
 */
void controls_name(struct bench_arm *arm, unsigned which);

/**
 * controls_add_canaries() - the two canaries alone, for runs whose base and doses are their own.
 *
 * Room, @why and return as controls_add() has them.
 */
bool controls_add_canaries(struct bench_rig *rig, struct bench_arm *arms, uint32_t first,
			   const char **why);

/**
 * controls_read() - what the control arms of a run say.
 * @s:	     the run.
 * @arms:    as given to controls_add().
 * @company: what else the machine did meanwhile.
 * @seed:    of the bootstrap.
 *
 * Return: false when memory is short.
 */
bool controls_read(const struct bench_rig *rig, const struct stats_samples *s,
		   const struct bench_arm *arms, uint32_t first,
		   const struct stats_company *company, uint64_t seed, struct bench_controls *out);

/**
 * controls_json() - write "controls", "noise" and "noise_limits".
 */
void controls_json(const struct bench_controls *c, struct jw *w);

/**
 * controls_print() - the same for people.
 */
void controls_print(const struct bench_controls *c, FILE *out);

#endif

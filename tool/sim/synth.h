/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A made-up workload: tasks that take CPUs in random order for slots of random length, of which a
 * share uses the registers. What policies cost on it can be reckoned by hand.
 */
#ifndef SIM_SYNTH_H
#define SIM_SYNTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/slots.h"

#define SYNTH_TASKS_MAX 65536u
#define SYNTH_BAD       200 /* bytes of what is wrong */

struct synth {
	uint32_t tasks, cpus;
	uint64_t slots;
	double use;     /* share of slots that use the registers */
	double idle;    /* share of slots that idle time follows, as long as a slot on average */
	double mean_us; /* length of a slot, exponentially distributed */
	uint64_t seed;
};

/**
 * synth_parse() - "tasks=8,cpus=2,slots=1000000,use=0.3,idle=0.1,mean-us=100,seed=1", any of them.
 * @bad: out, what of it is wrong, and what it may be.
 *
 * Return: false when it is something else, names a key twice, or cannot be: fewer tasks than CPUs.
 */
bool synth_parse(const char *text, struct synth *s, char bad[SYNTH_BAD]);

/**
 * synth_run() - all of it to @sink.
 *
 * Return: 0, -1 when the sink said so.
 */
int synth_run(const struct synth *s, const struct slots_sink *sink);

#endif

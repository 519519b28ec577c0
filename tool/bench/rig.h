/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bench that loops are put on: one CPU, a clock whose relation to core cycles is known, code
 * and data at a new place in every block, faults caught. It hands slices to tool/stats.
 */
#ifndef TOOL_BENCH_RIG_H
#define TOOL_BENCH_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "code.h"
#include "state.h"
#include "stats/run.h"

/* One thing to measure. */
struct bench_arm {
	char name[64];
	enum live live;
	uint64_t mask;  /* EDX:EAX */
	uint32_t index; /* ECX */
	enum snip fill_a, fill_b;
	struct code_body body;
	void (*call)(void *argument); /* for SNIP_call */
	void *argument;
	/* Told where the areas will be, before each slice; may be NULL. */
	void (*place)(void *world, void *a, void *b);
	void *world;
	/* A slice counts only while the areas' XSTATE_BV stays what it was in the pilot. */
	bool steady;
	double seconds;   /* what a slice should take; 0: RIG_SLICE_SECONDS */
	uint64_t bv[2];   /* set by rig_pilot() */
	uint32_t loops; /* set by rig_pilot() */
};

#define RIG_WARM_LOOPS    20     /* unmeasured turns at the start of a slice */
#define RIG_STEADY_TRIES  8      /* for a slice whose state did not stay what it should be */
#define RIG_SLICE_SECONDS 0.0004 /* what a slice should take */

struct bench_rig {
	struct bench_state state;
	struct code_buffer code;        /* the slices' */
	struct code_buffer calibration; /* written once */
	code_fn *calibrate;
	double calibration_cycles;
	double overhead_ticks;    /* of taking the time */
	unsigned multiply_cycles; /* latency of IMUL, measured against ADD */
	unsigned dose;            /* multiplies that the controls' first dose is: 1, or more */
	double tick_hz;
	int cpu;
	bool realtime; /* SCHED_FIFO */
	const struct bench_arm *arms;
	double rested;                  /* when it last rested, s */
	uint64_t clock_ns, clock_ticks; /* a pair taken at the start, to know the clock's rate */
};

/**
 * rig_open() - take a CPU and calibrate the clock.
 * @rig:  filled.
 * @seed: of the values in the state images.
 * @cpu:  which CPU, or -1 for the last one this process may use.
 * @why:  out, on failure, one sentence.
 *
 * With the right to do so the thread becomes SCHED_FIFO, but only where another CPU is left to
 * the rest of the system; rig_rest() gives this one away for a tenth of the time.
 *
 * Return: false when the machine cannot do it.
 */
bool rig_open(struct bench_rig *rig, uint64_t seed, int cpu, char why[160]);

/**
 * rig_close() - give everything back; the thread is an ordinary one again.
 */
void rig_close(struct bench_rig *rig);

/**
 * rig_calibrate() - ticks that rig->calibration_cycles take just now.
 *
 * The shortest of three tries: an interrupt in one of them is no change of the clock, and in a
 * virtual machine thousands a second come from outside.
 */
double rig_calibrate(const struct bench_rig *rig);

/**
 * rig_pilot() - try an arm and choose how many loops make a slice.
 * @arm: its @loops is set.
 * @why: out, on failure, a clause: "faults (SIGILL)".
 *
 * Return: false when it cannot run here.
 */
bool rig_pilot(struct bench_rig *rig, struct bench_arm *arm, const char **why);

/**
 * rig_measure() - one slice of rig->arms[@arm], for struct stats_bench.
 */
void rig_measure(void *rig, uint32_t arm, uint64_t placement, struct stats_slice *out);

/**
 * rig_once() - one slice without calibration, for counters.
 *
 * Return: the ticks, or 0 on a fault.
 */
uint64_t rig_once(struct bench_rig *rig, const struct bench_arm *arm, uint64_t placement);

/**
 * rig_rest() - leave the CPU to others for a tenth of the time since the last rest.
 */
void rig_rest(struct bench_rig *rig);

/**
 * rig_clock_update() - look at the clock again; the longer since rig_open(), the better tick_hz.
 */
void rig_clock_update(struct bench_rig *rig);

#endif

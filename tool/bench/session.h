/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of any `xstate bench`: arms beside the controls on the rig, the samples, and whether they
 * may be believed. What the arms are, and what their samples mean, is the caller's.
 */
#ifndef TOOL_BENCH_SESSION_H
#define TOOL_BENCH_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "controls.h"
#include "machine.h"
#include "rig.h"
#include "ui/json.h"

#define SESSION_FEW "too few blocks" /* in place of an interval that there is not */

struct bench_session {
	/* Asked for. */
	double seconds;
	uint64_t seed;
	double claim; /* 0: none */

	/* What there is; the first CONTROL_ARMS arms are the controls. */
	struct bench_rig rig;
	struct bench_machine machine;
	struct bench_arm *arms;
	uint32_t arm_count;
	/* Runs a slice in another way than rig_measure(); NULL: in that way. */
	void (*measure)(void *world, uint32_t arm, uint64_t placement, struct stats_slice *out);
	/* CPU time of other processes that belong to the run; NULL: there are none. */
	double (*partners)(void *world);
	void *world;

	/* What came of it. */
	struct stats_plan plan;
	struct stats_samples samples;
	struct stats_company company;
	struct bench_controls controls;
	struct stats_verdict verdict;
	double cycles_per_tick; /* median */
};

/**
 * session_measure() - fix the number of blocks and run them.
 * @s:	   rig open, arms made and sized.
 * @stop:  ends the run after the current block.
 * @total: called once with the planned number of blocks, then
 * @done:  after each block; both may be NULL.
 *
 * Return: false when memory is short.
 */
bool session_measure(struct bench_session *s, const volatile sig_atomic_t *stop,
		     void (*total)(uint32_t blocks), void (*done)(uint32_t blocks));

/**
 * session_read() - the clock, the controls and the verdict.
 *
 * Return: false when memory is short.
 */
bool session_read(struct bench_session *s);

/**
 * session_ns() - nanoseconds in a core cycle of this run.
 */
double session_ns(const struct bench_session *s);

/**
 * session_close() - give everything back.
 */
void session_close(struct bench_session *s);

/**
 * session_json_head() - begin an xstate.bench/1 document, up to the results.
 *
 * The object stays open.
 */
void session_json_head(const struct bench_session *s, const char *kind, struct jw *w);

/**
 * session_json_samples() - the raw samples, as "samples".
 */
void session_json_samples(const struct bench_session *s, struct jw *w);

/**
 * session_print_head() - what was measured where.
 */
void session_print_head(const struct bench_session *s, FILE *out);

/**
 * session_print_verdict() - the controls, and whether the run may be believed.
 */
void session_print_verdict(const struct bench_session *s, FILE *out);

#endif

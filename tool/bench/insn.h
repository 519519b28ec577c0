/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of `xstate bench insn`: the rows, their arms, and what the samples say about them.
 */
#ifndef TOOL_BENCH_INSN_H
#define TOOL_BENCH_INSN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "counters.h"
#include "rows.h"
#include "session.h"

struct insn_run {
	struct bench_session s;
	bool controls_only; /* no rows */

	struct insn_row rows[ROWS_MAX];
	uint32_t row_count;
	struct insn_effect effects[EFFECTS_MAX];
	uint32_t effect_count;
	char counters_why_not[120]; /* "" when they were read */
};

/**
 * insn_prepare() - arms for all selected rows and the controls, tried and sized.
 * @run: rig open, rows made and selected.
 * @why: out, on failure, a clause.
 *
 * Rows that cannot run get their reason in @skipped; only the controls are indispensable.
 */
bool insn_prepare(struct insn_run *run, const char **why);

/**
 * insn_count() - read the CPU's counters in a pass over the arms of their own, behind the run.
 * @stop: set: leave it.
 */
void insn_count(struct insn_run *run, const volatile sig_atomic_t *stop);

/**
 * insn_analyse() - fill in the rows' results, the effects, the controls and the verdict.
 *
 * Return: false when memory is short.
 */
bool insn_analyse(struct insn_run *run);

/**
 * insn_close() - give everything back.
 */
void insn_close(struct insn_run *run);

/**
 * insn_json() - the run as one xstate.bench/1 document.
 */
void insn_json(const struct insn_run *run, struct jw *w);

/**
 * insn_print() - the run as tables.
 */
void insn_print(const struct insn_run *run, FILE *out);

/**
 * insn_list() - the rows there are, with the reasons for those that cannot be measured.
 */
void insn_list(const struct insn_run *run, FILE *out);

/**
 * insn_list_json() - the same as one xstate.bench-list/1 document.
 */
void insn_list_json(const struct insn_run *run, struct jw *w);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `xstate bench insn` measures: one row per instruction, live state and mask, and the
 * questions that two rows answer together.
 */
#ifndef TOOL_BENCH_ROWS_H
#define TOOL_BENCH_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "state.h"
#include "stats/series.h"

#define ROWS_MAX 256

struct insn_row {
	char id[64];        /* "xsavec/0xe7/avx", "ldmxcsr/changed" */
	const char *name;   /* "XSAVEC" */
	const char *detail; /* "other value", or NULL */
	const char *format; /* "standard", "compacted", "fxsave", "fnsave", or NULL */
	enum live live;
	bool masked;    /* mask means something */
	uint64_t mask;  /* EDX:EAX */
	uint32_t index; /* ECX */
	enum snip fill_a, fill_b;
	enum snip pre, insn, post; /* only insn is counted */
	uint32_t post_times;
	uint32_t per;    /* operations in one insn */
	uint32_t copies; /* of it in a loop; the other arm has twice as many */
	bool selected;
	const char *skipped; /* why it is not measured, or NULL */

	/* Results. */
	uint32_t arm_more, arm_less;
	struct stats_spread cycles;
	struct stats_estimate middle;
	double pmu_cycles, pmu_instructions; /* NAN: not counted */
};

enum effect_kind { EFFECT_RATIO, EFFECT_CYCLES };

/* A question: what does @then differ from @base by? */
struct insn_effect {
	const char *question;
	char base[64], then[64]; /* ids of rows */
	enum effect_kind kind;
	struct stats_estimate estimate; /* log ratio, or cycles */
	bool answered;
};

#define EFFECTS_MAX 24

/**
 * rows_make() - all rows that make sense for this CPU.
 * @state: what it has.
 * @rows:  room for ROWS_MAX.
 *
 * Rows of a family that the CPU does not have are there with @skipped set.
 *
 * Return: how many.
 */
uint32_t rows_make(const struct bench_state *state, struct insn_row *rows);

/**
 * rows_find() - the row with the given id, or NULL.
 */
struct insn_row *rows_find(struct insn_row *rows, uint32_t n, const char *id);

/**
 * effects_make() - the questions for this CPU; those whose rows exist.
 * @effects: room for EFFECTS_MAX.
 *
 * Return: how many.
 */
uint32_t effects_make(const struct bench_state *state, struct insn_row *rows, uint32_t n,
		      struct insn_effect *effects);

#endif

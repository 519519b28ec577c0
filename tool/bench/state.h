/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The states that instructions are measured in: an image of each live set, made for this CPU, and
 * the memory that save and restore work on.
 */
#ifndef TOOL_BENCH_STATE_H
#define TOOL_BENCH_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <xst/caps.h>

#include "code.h"

/* Which components hold values; all others are in their initial configuration. */
enum live {
	LIVE_INIT,
	LIVE_X87,
	LIVE_SSE,
	LIVE_AVX,     /* SSE and AVX, as programs have it */
	LIVE_X87_AVX, /* x87, SSE and AVX */
	LIVE_AVX512,  /* SSE, AVX and AVX-512 */
	LIVE_ALL,     /* all of the above */
	LIVE_AMX,     /* and tiles */
	LIVE_COUNT
};

extern const char *const live_name[LIVE_COUNT];

/* 0(%rdi) and on, see snip.def. */
struct bench_operands {
	uint32_t mxcsr[2];
	uint32_t mxcsr_out;
	uint16_t fcw, fcw_out;
	double x;
	uint64_t turns; /* counted by SNIP_count */
};

struct bench_state {
	struct xst_caps caps;
	uint64_t enabled; /* XCR0 as it is; 0 without XSAVE */
	uint64_t all;     /* user components that images here are about: no PKRU, no MPX; tiles only
			     where the system granted them */
	const char *tiles_why_not; /* NULL when granted */
	bool pkru;
	uint32_t pkru_now;
	size_t area_bytes;
	uint8_t *memory; /* all of the following */
	size_t memory_bytes;
	uint8_t *keep;
	uint8_t *image[LIVE_COUNT]; /* NULL: this CPU has no such state */
	uint64_t live[LIVE_COUNT];  /* components with values */
	uint8_t *area[2];           /* somewhat larger than an area, to move it about in */
	struct bench_operands *operands;
};

#define BENCH_AREA_SLACK 4096u

/**
 * state_open() - find out what this CPU has and prepare everything.
 * @state: filled.
 * @seed:  of the values in the images; never zero.
 * @why:   out, on failure, one clause that says what is missing.
 *
 * Asks the system for AMX tiles; where it refuses, they are left out and said so.
 *
 * Return: false when memory is short or the CPU lacks FXSAVE.
 */
bool state_open(struct bench_state *state, uint64_t seed, const char **why);

/**
 * state_build() - images and areas for any CPU, this one or not.
 * @state: @caps, @enabled and @all are given; the rest is filled.
 *
 * The second half of state_open(). Return and @why as there.
 */
bool state_build(struct bench_state *state, uint64_t seed, const char **why);

/**
 * state_close() - give the memory back.
 */
void state_close(struct bench_state *state);

/**
 * state_setup() - registers and areas for one measured loop.
 * @state:     the state.
 * @live:      what is live at the start; its image must exist.
 * @mask:      EDX:EAX.
 * @placement: moves the areas about in steps of 64 bytes.
 * @out:       filled; fills and index are SNIP_NONE and 0.
 *
 * The areas' headers are cleared, so that nothing of the loop before is taken for an image.
 */
void state_setup(const struct bench_state *state, enum live live, uint64_t mask, uint64_t placement,
		 struct code_setup *out);

#endif

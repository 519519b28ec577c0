/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generated code: a measured loop, put together from snip.def and written to any byte of a buffer.
 * The place where a loop happens to lie changes its speed by up to a percent; a compiler fixes
 * that place for each variant, so the code is generated, and every block of a run has a new place
 * that is the same for all arms.
 */
#ifndef TOOL_BENCH_CODE_H
#define TOOL_BENCH_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snip.h"

#define CODE_STEPS 6

/* The body of a loop: the steps one after the other, all of that @copies times. */
struct code_body {
	struct {
		enum snip snip;
		uint32_t times;
	} step[CODE_STEPS]; /* ends at SNIP_NONE or the last */
	uint32_t copies;
};

/* What the loop finds in the registers, and the state it starts from. */
struct code_setup {
	void *keep;               /* area for the caller's own state */
	const void *start;        /* image of the state to measure in; NULL: leave it */
	uint64_t all;             /* components that keep and start are about; 0: FXSAVE images */
	void *a, *b;              /* areas in RBX and RBP */
	const void *operands;     /* RDI */
	enum snip fill_a, fill_b; /* save the state there first */
	uint64_t mask;            /* EDX:EAX while filling and in the loop */
	uint32_t index;           /* ECX */
	void (*call)(void *argument); /* R14, for SNIP_call; may be NULL */
	void *argument;               /* R15 */
};

struct code_buffer {
	uint8_t *base;
	size_t bytes;
};

/* Ticks that the measured loops took. */
typedef uint64_t code_fn(void);

/**
 * code_open() - a buffer for generated code.
 *
 * Return: false when the system gives none (errno says why).
 */
bool code_open(struct code_buffer *buffer);

/**
 * code_close() - give it back.
 */
void code_close(struct code_buffer *buffer);

/**
 * code_emit() - write one measured loop.
 * @buffer:    where.
 * @placement: chooses the byte where it begins.
 * @setup:     state and registers.
 * @body:      what the loop does.
 * @warm:      turns before the clock starts, at least 1.
 * @loops:     turns measured, at least 1.
 *
 * The buffer is writable only while this runs and executable only afterwards.
 *
 * Return: a function that keeps all registers a C function has to keep, extended state included;
 *	   NULL when the loop is too long or the system refuses executable memory.
 */
code_fn *code_emit(struct code_buffer *buffer, uint64_t placement, const struct code_setup *setup,
		   const struct code_body *body, uint32_t warm, uint32_t loops);

/**
 * code_body_bytes() - how long a body is.
 */
size_t code_body_bytes(const struct code_body *body);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of `replay`: one word stands for each component, in registers and in images. exp_replay.c
 * decides what is to be done with them.
 */
#ifndef LAB_REPLAY_H
#define LAB_REPLAY_H

#include "lab.h"

#define REPLAY_TASKS 3u

enum { REPLAY_X87, REPLAY_SSE, REPLAY_AVX, REPLAY_CET, REPLAY_PKRU, REPLAY_COMPS };
#define REPLAY_GUARDED 3u /* so many of them trap under CR0.TS */

/* What one CPU's registers hold. */
struct registers {
	uint64_t value[REPLAY_COMPS];
	bool ts;
};

extern const char *const replay_comp_names[REPLAY_COMPS];

bool replay_has(unsigned k); /* does the engine switch it here? */
/* A value that register @k can hold and that no other @number gives. */
uint64_t replay_new_value(unsigned k, uint64_t number);
uint64_t replay_initial(unsigned k);

/* Return 0 or the vector that came. */
unsigned replay_write_register(unsigned k, uint64_t value);
unsigned replay_clear_register(unsigned k);
/* All of this CPU's; CR0.TS stays as it is. */
void replay_read_registers(struct registers *r);

void replay_write_image(struct xst_ctx *ctx, unsigned k, uint64_t value);
uint64_t replay_read_image(const struct xst_ctx *ctx, unsigned k);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of env share: names, widths and facts. */
#ifndef LINT_ENV_IMPL_H
#define LINT_ENV_IMPL_H

#include "lint/env.h"

static const uint8_t env_width[4] = {8, 4, 1, 2}; /* bytes by the low bits of a name */
static const struct env_val env_none = {SYM_NONE, 0, 0};
extern const uint8_t env_arg_reg[6]; /* argument registers in their order */

/* Numbers of places, to name values: registers, then one for memory, then arguments. */
enum { LOC_MEMORY = 16, LOC_ENTRY = 17, LOCS = 64 };

static inline uint32_t code_of(uint32_t bytes)
{
	return bytes >= 8 ? 0 : bytes >= 4 ? 1 : bytes >= 2 ? 3 : 2;
}

static inline uint64_t mask_of(uint32_t bytes)
{
	return bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << (bytes * 8)) - 1;
}

static inline uint32_t name(uint32_t at, uint32_t loc)
{
	return ((at + 2) * LOCS + loc) << 2;
}

static inline bool is_name(struct env_val v)
{
	return v.sym >= SYM_FIRST;
}

static inline bool is_stack(struct env_val v)
{
	return v.sym == SYM_STACK || v.sym == SYM_ALIGNED;
}

static inline bool same(struct env_val a, struct env_val b)
{
	return a.sym == b.sym && a.c == b.c && a.bytes == b.bytes;
}

struct env_fact *env_fact_find(struct env *e, uint32_t a, uint32_t b, uint64_t bc);
struct env_fact *env_fact_make(struct env *e, uint32_t a, uint32_t b, uint64_t bc, uint32_t bytes);
void env_fact_forget(struct env *e, uint32_t i);

/* Forget what is known of values that nothing holds any more. */
void env_facts_sweep(struct env *e);

/* Unsigned range of a value. */
void env_range(struct env *e, struct env_val v, uint64_t *lo, uint64_t *hi);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known about values on one path: which registers and stack slots hold the same
 * value, and which comparisons of it came out how. This is what tells apart
 * `if (use_fpu) begin ... if (use_fpu) end` from a forgotten end.
 *
 * A value is a name: two places with the same name hold the same value. A name is made
 * where the value is first seen, so the same place in a loop makes the same name again;
 * whoever held the old value loses it then.
 */
#ifndef LINT_ENV_H
#define LINT_ENV_H

#include "lint/decode.h"

#define ENV_SLOTS 28
#define ENV_FACTS 24

enum {
	SYM_NONE = 0,
	SYM_CONST = 1,   /* c is the value */
	SYM_STACK = 2,   /* c is the offset from the stack pointer at entry */
	SYM_ALIGNED = 3, /* the same, from where the stack was aligned */
	SYM_FIRST = 8,
};

/* The two lowest bits of a name say how many low bytes of the original it means. */
struct env_val {
	uint32_t sym;
	uint32_t bytes; /* low bytes of the register that are known to be it: 8, or 1 and 2 */
	uint64_t c;
};

struct env_slot {
	uint32_t base; /* SYM_STACK or SYM_ALIGNED */
	uint32_t bytes;
	int64_t off;
	struct env_val val;
};

/* What is known of value a alone (b is SYM_NONE), or of how a compares with b. */
struct env_fact {
	uint32_t a, b;
	uint64_t bc;  /* b's value when it is SYM_CONST */
	uint32_t rel; /* REL_ bits that are still possible */
	uint32_t bytes;
	uint64_t lo, hi;      /* unsigned */
	uint64_t zeros, ones; /* bits known to be so */
};

/* The five ways in which two values can compare, unsigned and signed at once. */
enum {
	REL_EQ = 1,
	REL_BELOW_LESS = 2,
	REL_BELOW_GREATER = 4,
	REL_ABOVE_LESS = 8,
	REL_ABOVE_GREATER = 16,
	REL_ANY = 31,
};

enum env_flags_kind { FLAGS_NONE, FLAGS_CMP, FLAGS_TEST, FLAGS_RESULT, FLAGS_BIT };

struct env_flags {
	uint32_t kind;
	uint32_t bytes;
	struct env_val a, b;
};

struct env {
	struct env_val reg[16];
	struct env_slot slot[ENV_SLOTS];
	struct env_fact fact[ENV_FACTS];
	struct env_flags flags;
	uint32_t nslot, nfact;
	int64_t escaped[2]; /* slots from this offset on may be written by others */
};

/**
 * env_entry() - what is known when a function is entered.
 */
void env_entry(struct env *e);

/**
 * env_step() - follow one instruction that is not a branch.
 * @at: its number, which names the values that appear in it.
 * @relocated: its immediate or displacement is an address not yet known.
 */
void env_step(struct env *e, const struct lint_insn *insn, uint32_t at, bool relocated);

/**
 * env_call() - a call returned; @kind: what it may have changed.
 */
enum env_call { ENV_CALL_ANY, ENV_CALL_PROTOCOL /* writes no memory of its caller */ };
void env_call(struct env *e, enum env_call kind);

/**
 * env_branch() - whether the conditional branch may be taken, and learn from it.
 * @taken: the way to go.
 *
 * Return: false when that way is impossible.
 */
bool env_branch(struct env *e, uint8_t cc, bool taken);

/**
 * env_join() - forget what does not hold in both.
 * @block: number of the place where the paths meet; names values that differ.
 * @widen: forget ranges that grow, so that loops come to an end.
 *
 * Return: whether @e changed.
 */
bool env_join(struct env *e, const struct env *other, uint32_t block, bool widen);

/**
 * env_arg() - the value of an argument register in the order of the calling convention.
 *
 * Return: whether it is a constant, then in *@value.
 */
bool env_arg(const struct env *e, unsigned arg, uint64_t *value);

/**
 * env_arg_of() - which of the function's own arguments is still in argument register @arg.
 *
 * Return: 0..5, or -1.
 */
int env_arg_of(const struct env *e, unsigned arg);

/**
 * env_set_arg() - enter the function with a known argument.
 */
void env_set_arg(struct env *e, unsigned arg, uint64_t value);

/**
 * env_describe() - what is known of the function's arguments: "esi in 0x80..0xff".
 */
void env_describe(const struct env *e, char *buf, size_t bytes);

#endif

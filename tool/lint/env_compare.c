// SPDX-License-Identifier: BSD-2-Clause
/*
 * What comparisons tell: each is one of five relations (unsigned and signed order at once), and of
 * a constant also a range. A branch that no relation allows is not taken.
 */
#include <stdio.h>
#include <string.h>

#include "lint/env_impl.h"

struct env_fact *env_fact_find(struct env *e, uint32_t a, uint32_t b, uint64_t bc)
{
	uint32_t i;

	for (i = 0; i < e->nfact; i++)
		if (e->fact[i].a == a && e->fact[i].b == b && e->fact[i].bc == bc)
			return &e->fact[i];
	return NULL;
}

static bool held(const struct env *e, uint32_t sym)
{
	uint32_t i;

	sym &= ~3u;
	for (i = 0; i < 16; i++)
		if ((e->reg[i].sym & ~3u) == sym)
			return true;
	for (i = 0; i < e->nslot; i++)
		if ((e->slot[i].val.sym & ~3u) == sym)
			return true;
	return (e->flags.a.sym & ~3u) == sym || (e->flags.b.sym & ~3u) == sym;
}

/* What is known of values that nothing holds any more is of no use. */
void env_facts_sweep(struct env *e)
{
	uint32_t i, n = 0;

	for (i = 0; i < e->nfact; i++)
		if (held(e, e->fact[i].a) && (e->fact[i].b < SYM_FIRST || held(e, e->fact[i].b)))
			e->fact[n++] = e->fact[i];
	memset(&e->fact[n], 0, (e->nfact - n) * sizeof(e->fact[0]));
	e->nfact = n;
}

struct env_fact *env_fact_make(struct env *e, uint32_t a, uint32_t b, uint64_t bc, uint32_t bytes)
{
	struct env_fact *f = env_fact_find(e, a, b, bc);

	if (f)
		return f;
	if (e->nfact == ENV_FACTS)
		env_facts_sweep(e);
	if (e->nfact == ENV_FACTS)
		env_fact_forget(e, 0);
	f = &e->fact[e->nfact++];
	*f = (struct env_fact){a, b, bc, REL_ANY, bytes, 0, mask_of(env_width[a & 3]), 0, 0};
	return f;
}

void env_range(struct env *e, struct env_val v, uint64_t *lo, uint64_t *hi)
{
	const struct env_fact *f;

	if (v.sym == SYM_CONST) {
		*lo = *hi = v.c;
		return;
	}
	*lo = 0;
	*hi = mask_of(env_width[v.sym & 3]);
	f = env_fact_find(e, v.sym, SYM_NONE, 0);
	if (f) {
		*lo = f->lo;
		*hi = f->hi;
	}
}

/* Ranges of unsigned a that belong to each relation with constant c, at a width. */
static bool rel_range(uint32_t rel, uint64_t c, uint32_t bytes, uint64_t *lo, uint64_t *hi)
{
	uint64_t max = mask_of(bytes), smax = max >> 1;
	bool negative = c > smax;

	switch (rel) {
	case REL_EQ:
		*lo = *hi = c;
		return true;
	case REL_BELOW_LESS:
		*lo = negative ? smax + 1 : 0;
		if (c == *lo)
			return false;
		*hi = c - 1;
		return true;
	case REL_BELOW_GREATER:
		*lo = 0;
		*hi = smax;
		return negative;
	case REL_ABOVE_LESS:
		*lo = smax + 1;
		*hi = max;
		return !negative;
	default:
		*lo = c + 1;
		*hi = negative ? max : smax;
		return c != *hi;
	}
}

/* Relations for which condition @cc holds after CMP. */
static uint32_t rels_of(uint8_t cc)
{
	uint32_t r;

	switch (cc >> 1) {
	case 1:
		r = REL_BELOW_LESS | REL_BELOW_GREATER;
		break;
	case 2:
		r = REL_EQ;
		break;
	case 3:
		r = REL_BELOW_LESS | REL_BELOW_GREATER | REL_EQ;
		break;
	case 6:
		r = REL_BELOW_LESS | REL_ABOVE_LESS;
		break;
	case 7:
		r = REL_BELOW_LESS | REL_ABOVE_LESS | REL_EQ;
		break;
	default:
		return 0;
	}
	return cc & 1 ? REL_ANY & ~r : r;
}

static bool branch_cmp(struct env *e, uint32_t wanted)
{
	struct env_val a = e->flags.a, b = e->flags.b;
	uint32_t bytes = e->flags.bytes, possible = REL_ANY, bit, got = 0;
	uint64_t lo, hi, rlo, rhi, newlo = UINT64_MAX, newhi = 0;
	struct env_fact *f;

	if (a.sym == SYM_CONST && b.sym != SYM_CONST)
		return true;
	f = env_fact_find(e, a.sym, b.sym, b.c);
	if (f && f->bytes == bytes)
		possible = f->rel;
	if (b.sym != SYM_CONST) {
		possible &= wanted;
		if (!possible)
			return false;
		if (is_name(a) && is_name(b))
			env_fact_make(e, a.sym, b.sym, 0, bytes)->rel = possible;
		return true;
	}
	env_range(e, a, &lo, &hi);
	/* Known bits: a set bit excludes 0, and all known clear leave nothing else. */
	f = is_name(a) ? env_fact_find(e, a.sym, SYM_NONE, 0) : NULL;
	if (f && b.c == 0 && f->ones & mask_of(bytes))
		possible &= ~(uint32_t)REL_EQ;
	for (bit = REL_EQ; bit <= REL_ABOVE_GREATER; bit <<= 1) {
		if (!(possible & wanted & bit) || !rel_range(bit, b.c, bytes, &rlo, &rhi))
			continue;
		if (rlo < lo)
			rlo = lo;
		if (rhi > hi)
			rhi = hi;
		if (rlo > rhi)
			continue;
		got |= bit;
		if (rlo < newlo)
			newlo = rlo;
		if (rhi > newhi)
			newhi = rhi;
	}
	if (!got)
		return false;
	if (is_name(a)) {
		env_fact_make(e, a.sym, SYM_CONST, b.c, bytes)->rel = got;
		f = env_fact_make(e, a.sym, SYM_NONE, 0, bytes);
		f->lo = newlo;
		f->hi = newhi;
	}
	return true;
}

/* Whether any (@set) or none of the bits of a mask are set. */
static bool branch_bits(struct env *e, bool set)
{
	struct env_val a = e->flags.a;
	uint64_t mask = e->flags.b.c, lo, hi;
	struct env_fact *f;

	if (a.sym == SYM_CONST)
		return ((a.c & mask) != 0) == set;
	env_range(e, a, &lo, &hi);
	f = env_fact_find(e, a.sym, SYM_NONE, 0);
	if (set) {
		if (hi == 0 || (f && (mask & ~f->zeros) == 0))
			return false;
		f = env_fact_make(e, a.sym, SYM_NONE, 0, e->flags.bytes);
		if ((mask & (mask - 1)) == 0)
			f->ones |= mask;
		if (f->lo == 0)
			f->lo = 1;
		return true;
	}
	if (f && f->ones & mask)
		return false;
	if (lo == hi && lo & mask)
		return false;
	f = env_fact_make(e, a.sym, SYM_NONE, 0, e->flags.bytes);
	f->zeros |= mask;
	return true;
}

bool env_branch(struct env *e, uint8_t cc, bool taken)
{
	if (cc > 15)
		return true;
	if (!taken)
		cc ^= 1;
	switch (e->flags.kind) {
	case FLAGS_CMP:
		/* The sign of a - 0 is the sign of a. */
		if (cc >> 1 == 4 && e->flags.b.sym == SYM_CONST && e->flags.b.c == 0)
			cc = (uint8_t)(12 | (cc & 1));
		return rels_of(cc) ? branch_cmp(e, rels_of(cc)) : true;
	case FLAGS_RESULT:
		return cc >> 1 == 2 ? branch_cmp(e, rels_of(cc)) : true;
	case FLAGS_TEST:
		return cc >> 1 == 2 ? branch_bits(e, cc & 1) : true;
	case FLAGS_BIT:
		return cc >> 1 == 1 ? branch_bits(e, !(cc & 1)) : true;
	default:
		return true;
	}
}

/* The register that a name was first seen in, or NULL for other places. */
static const char *register_of(uint32_t sym)
{
	static const char *const names[16][2] = {
	        {"rax", "eax"},  {"rcx", "ecx"},  {"rdx", "edx"},  {"rbx", "ebx"},
	        {"rsp", "esp"},  {"rbp", "ebp"},  {"rsi", "esi"},  {"rdi", "edi"},
	        {"r8", "r8d"},   {"r9", "r9d"},   {"r10", "r10d"}, {"r11", "r11d"},
	        {"r12", "r12d"}, {"r13", "r13d"}, {"r14", "r14d"}, {"r15", "r15d"},
	};
	uint32_t loc = (sym >> 2) % LOCS;

	if (loc >= LOC_ENTRY && loc < LOC_ENTRY + 6)
		loc = env_arg_reg[loc - LOC_ENTRY];
	return loc < 16 ? names[loc][(sym & 3) != 0] : NULL;
}

void env_describe(const struct env *e, char *buf, size_t bytes)
{
	size_t used = 0;
	uint32_t i;

	buf[0] = '\0';
	for (i = 0; i < e->nfact; i++) {
		const struct env_fact *f = &e->fact[i];
		const char *reg = register_of(f->a), *comma = used ? ", " : "";
		uint64_t max = mask_of(env_width[f->a & 3]);
		int n;

		if (f->b != SYM_NONE || !reg || (f->lo == 0 && f->hi >= max))
			continue;
		if (f->lo == f->hi)
			n = snprintf(buf + used, bytes - used, "%s%s is 0x%llx", comma, reg,
			             (unsigned long long)f->lo);
		else if (f->hi >= max)
			n = snprintf(buf + used, bytes - used, "%s%s is 0x%llx or more", comma, reg,
			             (unsigned long long)f->lo);
		else
			n = snprintf(buf + used, bytes - used, "%s%s is in 0x%llx..0x%llx", comma,
			             reg, (unsigned long long)f->lo, (unsigned long long)f->hi);
		if (n < 0 || (size_t)n >= bytes - used) {
			buf[used] = '\0';
			return;
		}
		used += (size_t)n;
	}
}

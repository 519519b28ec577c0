// SPDX-License-Identifier: BSD-2-Clause
/*
 * Following values through moves, spills and comparisons. Forgetting is always right, so
 * everything unusual forgets. Calls keep the callee-saved registers (Ref: System V ABI,
 * AMD64 supplement, "Registers and the Stack Frame") and stack slots whose address was
 * never taken.
 */
#include "lint/env.h"

#include <stdio.h>
#include <string.h>

static const uint8_t arg_reg[6] = { 7, 6, 2, 1, 8, 9 };
static const uint8_t width_of[4] = { 8, 4, 1, 2 };

/* Numbers of places, to name values: registers, then one for memory. */
enum { LOC_MEMORY = 16, LOC_ENTRY = 17, LOCS = 64 };

static const struct env_val none;

static uint32_t code_of(uint32_t bytes)
{
	return bytes >= 8 ? 0 : bytes >= 4 ? 1 : bytes >= 2 ? 3 : 2;
}

static uint64_t mask_of(uint32_t bytes)
{
	return bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << (bytes * 8)) - 1;
}

static uint32_t name(uint32_t at, uint32_t loc)
{
	return ((at + 2) * LOCS + loc) << 2;
}

static bool is_name(struct env_val v)
{
	return v.sym >= SYM_FIRST;
}

static bool is_stack(struct env_val v)
{
	return v.sym == SYM_STACK || v.sym == SYM_ALIGNED;
}

static bool same(struct env_val a, struct env_val b)
{
	return a.sym == b.sym && a.c == b.c && a.bytes == b.bytes;
}

static void forget_fact(struct env *e, uint32_t i)
{
	e->fact[i] = e->fact[--e->nfact];
	memset(&e->fact[e->nfact], 0, sizeof(e->fact[0]));
}

static void forget_slot(struct env *e, uint32_t i)
{
	e->slot[i] = e->slot[--e->nslot];
	memset(&e->slot[e->nslot], 0, sizeof(e->slot[0]));
}

/* A name is given anew: nobody holds the old value of that name any more. */
static void forget_name(struct env *e, uint32_t sym)
{
	uint32_t i;

	sym &= ~3u;
	for (i = 0; i < 16; i++)
		if (is_name(e->reg[i]) && (e->reg[i].sym & ~3u) == sym)
			e->reg[i] = none;
	for (i = 0; i < e->nslot;)
		if (is_name(e->slot[i].val) && (e->slot[i].val.sym & ~3u) == sym)
			forget_slot(e, i);
		else
			i++;
	for (i = 0; i < e->nfact;)
		if ((e->fact[i].a & ~3u) == sym || (e->fact[i].b >= SYM_FIRST && (e->fact[i].b & ~3u) == sym))
			forget_fact(e, i);
		else
			i++;
	if ((e->flags.a.sym & ~3u) == sym || (e->flags.b.sym & ~3u) == sym)
		memset(&e->flags, 0, sizeof(e->flags));
}

static struct env_val fresh(struct env *e, uint32_t at, uint32_t loc, uint32_t bytes)
{
	struct env_val v = { name(at, loc) | code_of(bytes), 8, 0 };

	forget_name(e, v.sym);
	return v;
}

/* The low @bytes of a value, zero-extended. */
static struct env_val narrow(struct env_val v, uint32_t bytes)
{
	if (v.sym == SYM_NONE || v.bytes < bytes)
		return none;
	if (v.sym == SYM_CONST) {
		v.c &= mask_of(bytes);
	} else if (is_stack(v)) {
		if (bytes < 8)
			return none;
	} else if (width_of[v.sym & 3] > bytes) {
		v.sym = (v.sym & ~3u) | code_of(bytes);
	}
	v.bytes = 8;
	return v;
}

void env_entry(struct env *e)
{
	unsigned i;

	memset(e, 0, sizeof(*e));
	for (i = 0; i < 6; i++)
		e->reg[arg_reg[i]] = (struct env_val){ name(0, LOC_ENTRY + i), 8, 0 };
	e->reg[REG_RSP] = (struct env_val){ SYM_STACK, 8, 0 };
	e->escaped[0] = e->escaped[1] = 0; /* the caller's frame belongs to others */
}

void env_set_arg(struct env *e, unsigned arg, uint64_t value)
{
	e->reg[arg_reg[arg]] = (struct env_val){ SYM_CONST, 8, value };
}

bool env_arg(const struct env *e, unsigned arg, uint64_t *value)
{
	const struct env_val *v = &e->reg[arg_reg[arg]];

	*value = v->c;
	return v->sym == SYM_CONST && v->bytes >= 4;
}

int env_arg_of(const struct env *e, unsigned arg)
{
	uint32_t sym = e->reg[arg_reg[arg]].sym & ~3u;
	int i;

	for (i = 0; i < 6; i++)
		if (sym == name(0, LOC_ENTRY + (uint32_t)i))
			return i;
	return -1;
}

static struct env_val read_reg(struct env *e, uint8_t reg, uint32_t bytes, uint32_t at)
{
	if (reg >= 16)
		return none;
	if (e->reg[reg].sym == SYM_NONE || e->reg[reg].bytes < bytes)
		e->reg[reg] = fresh(e, at, reg, 8);
	return narrow(e->reg[reg], bytes);
}

static void write_reg(struct env *e, uint8_t reg, uint32_t bytes, struct env_val v)
{
	if (reg >= 16)
		return;
	v = narrow(v, bytes);
	if (bytes < 4)
		v.bytes = bytes;
	e->reg[reg] = v.sym ? v : none;
}

/* The stack slot a memory operand means; false when it is anything else. */
static bool stack_slot(const struct env *e, const struct lint_operand *o, int32_t disp, bool segment,
		       uint32_t *base, int64_t *off)
{
	const struct env_val *v;

	if (o->reg >= 16 || o->index || segment)
		return false;
	v = &e->reg[o->reg];
	if (!is_stack(*v))
		return false;
	*base = v->sym;
	*off = (int64_t)v->c + disp;
	return true;
}

static struct env_val read_slot(struct env *e, uint32_t base, int64_t off, uint32_t bytes, uint32_t at)
{
	struct env_val v;
	uint32_t i;

	for (i = 0; i < e->nslot; i++) {
		const struct env_slot *s = &e->slot[i];

		if (s->base == base && s->off == off && s->bytes >= bytes)
			return narrow(s->val, bytes);
		if (s->base == base && s->off < off + (int64_t)bytes && off < s->off + (int64_t)s->bytes)
			return none;
	}
	v = fresh(e, at, LOC_MEMORY, bytes);
	if (e->nslot == ENV_SLOTS)
		forget_slot(e, 0);
	e->slot[e->nslot++] = (struct env_slot){ base, bytes, off, v };
	return v;
}

static void write_slot(struct env *e, uint32_t base, int64_t off, uint32_t bytes, struct env_val v)
{
	uint32_t i;

	for (i = 0; i < e->nslot;) {
		const struct env_slot *s = &e->slot[i];

		if (s->base == base && s->off < off + (int64_t)bytes && off < s->off + (int64_t)s->bytes)
			forget_slot(e, i);
		else
			i++;
	}
	if (!v.sym)
		return;
	if (e->nslot == ENV_SLOTS)
		forget_slot(e, 0);
	e->slot[e->nslot++] = (struct env_slot){ base, bytes, off, v };
}

/* Memory was written through a pointer: only slots whose address nobody has stay. */
static void write_unknown(struct env *e)
{
	uint32_t i;

	for (i = 0; i < e->nslot;)
		if (e->slot[i].off >= e->escaped[e->slot[i].base - SYM_STACK])
			forget_slot(e, i);
		else
			i++;
}

static void escape(struct env *e, struct env_val v)
{
	int64_t *min;

	if (!is_stack(v))
		return;
	min = &e->escaped[v.sym - SYM_STACK];
	if ((int64_t)v.c < *min)
		*min = (int64_t)v.c;
}

static struct env_val read_src(struct env *e, const struct lint_insn *insn, uint32_t bytes, uint32_t at,
			       bool relocated)
{
	uint32_t base;
	int64_t off;

	switch (insn->src.loc) {
	case LOC_IMM:
		if (relocated)
			return none;
		return (struct env_val){ SYM_CONST, 8, (uint64_t)insn->imm & mask_of(bytes) };
	case LOC_REG:
		return insn->src.high ? none : read_reg(e, insn->src.reg, bytes, at);
	case LOC_MEM:
		if (stack_slot(e, &insn->src, insn->disp, insn->segment, &base, &off))
			return read_slot(e, base, off, bytes, at);
		return none;
	default:
		return none;
	}
}

static struct env_val read_dst(struct env *e, const struct lint_insn *insn, uint32_t at)
{
	uint32_t base;
	int64_t off;

	if (insn->dst.loc == LOC_REG)
		return insn->dst.high ? none : read_reg(e, insn->dst.reg, insn->bytes, at);
	if (insn->dst.loc == LOC_MEM &&
	    stack_slot(e, &insn->dst, insn->disp, insn->segment, &base, &off))
		return read_slot(e, base, off, insn->bytes, at);
	return none;
}

/* Nothing known about the value still gives it a name, so that comparisons of it stick. */
static void write_dst(struct env *e, const struct lint_insn *insn, uint32_t at, struct env_val v)
{
	uint32_t base;
	int64_t off;

	if (insn->dst.loc == LOC_REG) {
		if (insn->dst.high) {
			e->reg[insn->dst.reg] = none;
			return;
		}
		if (is_stack(v) && insn->dst.reg != REG_RBP && insn->dst.reg != REG_RSP)
			escape(e, v);
		if (!v.sym)
			v = fresh(e, at, insn->dst.reg, insn->bytes < 4 ? insn->bytes : insn->bytes);
		write_reg(e, insn->dst.reg, insn->bytes, v);
	} else if (insn->dst.loc == LOC_MEM) {
		escape(e, v);
		if (stack_slot(e, &insn->dst, insn->disp, insn->segment, &base, &off))
			write_slot(e, base, off, insn->bytes, v);
		else
			write_unknown(e);
	}
}

static void set_flags(struct env *e, enum env_flags_kind kind, uint32_t bytes, struct env_val a,
		      struct env_val b)
{
	memset(&e->flags, 0, sizeof(e->flags));
	if (!a.sym || !b.sym || is_stack(a) || is_stack(b))
		return;
	e->flags.kind = (uint32_t)kind;
	e->flags.bytes = bytes;
	e->flags.a = a;
	e->flags.b = b;
}

static const struct env_val zero = { SYM_CONST, 8, 0 };

static void arithmetic(struct env *e, const struct lint_insn *insn, uint32_t at, bool relocated)
{
	struct env_val a = read_dst(e, insn, at), b = none, r = none;

	if (insn->src.loc != LOC_NONE)
		b = read_src(e, insn, insn->bytes, at, relocated);
	switch (insn->op) {
	case OP_ADD:
	case OP_SUB:
		if (a.sym && b.sym == SYM_CONST && (is_stack(a) || a.sym == SYM_CONST)) {
			int64_t d = (int64_t)b.c;

			if (insn->bytes < 8)
				d = insn->bytes == 4 ? (int32_t)d : (int64_t)d;
			r = a;
			r.c = insn->op == OP_ADD ? a.c + (uint64_t)d : a.c - (uint64_t)d;
			if (a.sym == SYM_CONST)
				r.c &= mask_of(insn->bytes);
		}
		break;
	case OP_AND:
		if (insn->dst.loc == LOC_REG && insn->dst.reg == REG_RSP && is_stack(a)) {
			r = (struct env_val){ SYM_ALIGNED, 8, 0 };
		} else if (a.sym == SYM_CONST && b.sym == SYM_CONST) {
			r = a;
			r.c &= b.c;
		}
		break;
	case OP_XOR:
		if (insn->src.loc == LOC_REG && insn->dst.loc == LOC_REG &&
		    insn->src.reg == insn->dst.reg && !insn->dst.high && !insn->src.high)
			r = zero;
		break;
	default:
		break;
	}
	write_dst(e, insn, at, r);
	if (insn->op == OP_AND && is_name(a) && b.sym == SYM_CONST) {
		/* The flags say of the old value what TEST would; that outlives the new one. */
		set_flags(e, FLAGS_TEST, insn->bytes, a, b);
	} else {
		r = read_dst(e, insn, at);
		set_flags(e, FLAGS_RESULT, insn->bytes, r, zero);
	}
}

void env_step(struct env *e, const struct lint_insn *insn, uint32_t at, bool relocated)
{
	struct env_val a, b, v = none;
	uint32_t i, base;
	int64_t off;

	switch (insn->op) {
	case OP_NONE:
		return;
	case OP_MOV:
		if (insn->dst.loc == LOC_NONE)
			break; /* segment and control registers */
		v = read_src(e, insn, insn->bytes, at, relocated);
		if (insn->src.loc == LOC_IMM && insn->bytes == 8 && !relocated)
			v.c = (uint64_t)insn->imm;
		write_dst(e, insn, at, v);
		return;
	case OP_MOVZX:
		v = read_src(e, insn, insn->src_bytes, at, relocated);
		write_dst(e, insn, at, v);
		return;
	case OP_LEA:
		if (insn->src.loc == LOC_MEM &&
		    stack_slot(e, &insn->src, insn->disp, insn->segment, &base, &off) && insn->bytes == 8)
			v = (struct env_val){ base, 8, (uint64_t)off };
		else if (insn->src.loc == LOC_MEM && insn->src.reg < 16 && is_stack(e->reg[insn->src.reg]))
			/* An array on the stack: the index may lead anywhere. */
			e->escaped[e->reg[insn->src.reg].sym - SYM_STACK] =
				(int64_t)e->reg[insn->src.reg].c + insn->disp <
						e->escaped[e->reg[insn->src.reg].sym - SYM_STACK] ?
					(int64_t)e->reg[insn->src.reg].c + insn->disp :
					e->escaped[e->reg[insn->src.reg].sym - SYM_STACK];
		write_dst(e, insn, at, v);
		return;
	case OP_ADD:
	case OP_SUB:
	case OP_AND:
	case OP_XOR:
	case OP_ARITH:
		arithmetic(e, insn, at, relocated);
		return;
	case OP_CMP:
	case OP_TEST:
		a = read_dst(e, insn, at);
		b = read_src(e, insn, insn->bytes, at, relocated);
		if (insn->op == OP_TEST && insn->src.loc == LOC_REG && insn->dst.loc == LOC_REG &&
		    insn->src.reg == insn->dst.reg && !insn->dst.high && !insn->src.high)
			set_flags(e, FLAGS_CMP, insn->bytes, a, zero);
		else if (insn->op == OP_CMP)
			set_flags(e, FLAGS_CMP, insn->bytes, a, b);
		else if (b.sym == SYM_CONST)
			set_flags(e, FLAGS_TEST, insn->bytes, a, b);
		else
			set_flags(e, FLAGS_NONE, 0, none, none);
		return;
	case OP_BT:
		a = read_dst(e, insn, at);
		b = read_src(e, insn, insn->bytes, at, relocated);
		if (b.sym == SYM_CONST && b.c < 64) {
			b.c = UINT64_C(1) << b.c;
			set_flags(e, FLAGS_BIT, insn->bytes, a, b);
		} else {
			set_flags(e, FLAGS_NONE, 0, none, none);
		}
		return;
	case OP_PUSH:
		v = read_src(e, insn, 8, at, relocated);
		escape(e, insn->src.loc == LOC_REG && insn->src.reg == REG_RBP ? none : v);
		if (is_stack(e->reg[REG_RSP])) {
			e->reg[REG_RSP].c -= 8;
			write_slot(e, e->reg[REG_RSP].sym, (int64_t)e->reg[REG_RSP].c, 8, v);
		}
		return;
	case OP_POP:
		if (is_stack(e->reg[REG_RSP])) {
			v = read_slot(e, e->reg[REG_RSP].sym, (int64_t)e->reg[REG_RSP].c, 8, at);
			e->reg[REG_RSP].c += 8;
		}
		write_dst(e, insn, at, v);
		return;
	case OP_LEAVE:
		e->reg[REG_RSP] = e->reg[REG_RBP];
		e->reg[REG_RBP] = none;
		if (is_stack(e->reg[REG_RSP]))
			e->reg[REG_RSP].c += 8;
		return;
	case OP_SETCC:
	case OP_CMOV: {
		struct env yes = *e, no = *e;
		bool can = env_branch(&yes, insn->cc, true), cannot = env_branch(&no, insn->cc, false);

		if (insn->op == OP_SETCC)
			v = can == cannot ? none : (struct env_val){ SYM_CONST, 8, can };
		else if (can && !cannot)
			v = read_src(e, insn, insn->bytes, at, relocated);
		else if (!can && cannot)
			v = read_dst(e, insn, at);
		write_dst(e, insn, at, v);
		return;
	}
	case OP_STRING:
	default:
		break;
	}
	for (i = 0; i < 16; i++)
		if (insn->spoils & 1u << i && i != REG_RSP)
			e->reg[i] = none;
	if (insn->spoils & 1u << REG_RSP && insn->kind == INSN_PLAIN)
		e->reg[REG_RSP] = none;
	if (insn->dst.loc == LOC_MEM || insn->stores || insn->op == OP_STRING) {
		if (insn->dst.loc == LOC_MEM && !insn->stores &&
		    stack_slot(e, &insn->dst, insn->disp, insn->segment, &base, &off))
			write_slot(e, base, off, insn->bytes ? insn->bytes : 64, none);
		else
			write_unknown(e);
	}
	if (insn->flags)
		set_flags(e, FLAGS_NONE, 0, none, none);
}

void env_call(struct env *e, enum env_call kind)
{
	static const uint8_t lost[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 };
	size_t i;

	for (i = 0; i < sizeof(lost); i++) {
		/* An address handed over may be kept and written through later. */
		if (kind == ENV_CALL_ANY)
			escape(e, e->reg[lost[i]]);
		e->reg[lost[i]] = none;
	}
	if (kind == ENV_CALL_ANY)
		write_unknown(e);
	set_flags(e, FLAGS_NONE, 0, none, none);
}

/* --- Comparisons --- */

static struct env_fact *fact_find(struct env *e, uint32_t a, uint32_t b, uint64_t bc)
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
static void facts_sweep(struct env *e)
{
	uint32_t i, n = 0;

	for (i = 0; i < e->nfact; i++)
		if (held(e, e->fact[i].a) && (e->fact[i].b < SYM_FIRST || held(e, e->fact[i].b)))
			e->fact[n++] = e->fact[i];
	memset(&e->fact[n], 0, (e->nfact - n) * sizeof(e->fact[0]));
	e->nfact = n;
}

static struct env_fact *fact_make(struct env *e, uint32_t a, uint32_t b, uint64_t bc, uint32_t bytes)
{
	struct env_fact *f = fact_find(e, a, b, bc);

	if (f)
		return f;
	if (e->nfact == ENV_FACTS)
		facts_sweep(e);
	if (e->nfact == ENV_FACTS)
		forget_fact(e, 0);
	f = &e->fact[e->nfact++];
	*f = (struct env_fact){ a, b, bc, REL_ANY, bytes, 0, mask_of(width_of[a & 3]), 0, 0 };
	return f;
}

static void range_of(struct env *e, struct env_val v, uint64_t *lo, uint64_t *hi)
{
	const struct env_fact *f;

	if (v.sym == SYM_CONST) {
		*lo = *hi = v.c;
		return;
	}
	*lo = 0;
	*hi = mask_of(width_of[v.sym & 3]);
	f = fact_find(e, v.sym, SYM_NONE, 0);
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
	case 1: r = REL_BELOW_LESS | REL_BELOW_GREATER; break;
	case 2: r = REL_EQ; break;
	case 3: r = REL_BELOW_LESS | REL_BELOW_GREATER | REL_EQ; break;
	case 6: r = REL_BELOW_LESS | REL_ABOVE_LESS; break;
	case 7: r = REL_BELOW_LESS | REL_ABOVE_LESS | REL_EQ; break;
	default: return 0;
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
	f = fact_find(e, a.sym, b.sym, b.c);
	if (f && f->bytes == bytes)
		possible = f->rel;
	if (b.sym != SYM_CONST) {
		possible &= wanted;
		if (!possible)
			return false;
		if (is_name(a) && is_name(b))
			fact_make(e, a.sym, b.sym, 0, bytes)->rel = possible;
		return true;
	}
	range_of(e, a, &lo, &hi);
	/* Known bits: a set bit excludes 0, and all known clear leave nothing else. */
	f = is_name(a) ? fact_find(e, a.sym, SYM_NONE, 0) : NULL;
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
		fact_make(e, a.sym, SYM_CONST, b.c, bytes)->rel = got;
		f = fact_make(e, a.sym, SYM_NONE, 0, bytes);
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
	range_of(e, a, &lo, &hi);
	f = fact_find(e, a.sym, SYM_NONE, 0);
	if (set) {
		if (hi == 0 || (f && (mask & ~f->zeros) == 0))
			return false;
		f = fact_make(e, a.sym, SYM_NONE, 0, e->flags.bytes);
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
	f = fact_make(e, a.sym, SYM_NONE, 0, e->flags.bytes);
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

/* --- Joining --- */

struct phi {
	struct env_val a, b;
	uint32_t sym;
};

struct phis {
	struct phi list[16 + ENV_SLOTS];
	uint32_t n;
};

static uint32_t width_of_val(struct env_val v)
{
	if (v.sym == SYM_CONST)
		return v.c > UINT32_MAX ? 8 : v.c > 0xffff ? 4 : v.c > 0xff ? 2 : 1;
	return width_of[v.sym & 3];
}

static struct env_val merge(struct phis *p, struct env_val a, struct env_val b, uint32_t block,
			    uint32_t loc)
{
	uint32_t i, bytes;

	if (!a.sym || !b.sym)
		return none;
	/* A name this very place made before may mean different places' values now. */
	if (same(a, b) && !(is_name(a) && (a.sym >> 2) / LOCS == block + 2 && (a.sym >> 2) % LOCS >= 24))
		return a;
	if (is_stack(a) || is_stack(b) || a.bytes != b.bytes)
		return none;
	for (i = 0; i < p->n; i++)
		if (same(p->list[i].a, a) && same(p->list[i].b, b))
			break;
	if (i == p->n) {
		bytes = width_of_val(a) > width_of_val(b) ? width_of_val(a) : width_of_val(b);
		p->list[p->n++] = (struct phi){ a, b, name(block, 24 + (loc < 39 ? loc : 39)) | code_of(bytes) };
		if (loc >= 39)
			p->n--;
	}
	if (loc >= 39 && i == p->n)
		return none;
	return (struct env_val){ p->list[i].sym, a.bytes, 0 };
}

/*
 * Range of one value on both ways. Where it grew since the last time and @widen is asked
 * for, nothing is said of it: a counter would grow for ever.
 */
static void hull(struct env *out, struct env *a, struct env *b, const struct phi *p, bool widen)
{
	uint64_t alo, ahi, blo, bhi, max = mask_of(width_of[p->sym & 3]);
	struct env_fact *f;

	range_of(a, p->a, &alo, &ahi);
	range_of(b, p->b, &blo, &bhi);
	if (widen && p->a.sym == p->sym && (blo < alo || bhi > ahi))
		return;
	if (blo < alo)
		alo = blo;
	if (bhi > ahi)
		ahi = bhi;
	if ((alo == 0 && ahi >= max) || out->nfact == ENV_FACTS)
		return;
	f = fact_make(out, p->sym, SYM_NONE, 0, width_of[p->sym & 3]);
	f->lo = alo;
	f->hi = ahi;
}

bool env_join(struct env *e, const struct env *other, uint32_t block, bool widen)
{
	struct env old = *e, in = *other, out;
	struct phis phis = { .n = 0 };
	uint32_t i, k;

	memset(&out, 0, sizeof(out));
	for (i = 0; i < 16; i++)
		out.reg[i] = merge(&phis, old.reg[i], other->reg[i], block, i);
	for (i = 0; i < old.nslot; i++) {
		const struct env_slot *s = &old.slot[i];

		for (k = 0; k < other->nslot; k++)
			if (other->slot[k].base == s->base && other->slot[k].off == s->off &&
			    other->slot[k].bytes == s->bytes)
				break;
		if (k < other->nslot) {
			struct env_slot both = *s;

			both.val = merge(&phis, s->val, other->slot[k].val, block, 16 + out.nslot);
			if (both.val.sym)
				out.slot[out.nslot++] = both;
		}
	}
	for (i = 0; i < old.nfact; i++) {
		const struct env_fact *f = &old.fact[i];
		const struct env_fact *g = fact_find(&in, f->a, f->b, f->bc);
		struct env_fact both = *f;

		if (!g || g->bytes != f->bytes)
			continue;
		/* A name of this place stands for the merged value now: hull() below. */
		if ((f->a >> 2) / LOCS == block + 2 && (f->a >> 2) % LOCS >= 24)
			continue;
		both.rel |= g->rel;
		both.lo = g->lo < f->lo ? g->lo : f->lo;
		both.hi = g->hi > f->hi ? g->hi : f->hi;
		both.zeros &= g->zeros;
		both.ones &= g->ones;
		if (widen && (both.lo != f->lo || both.hi != f->hi)) {
			both.lo = 0;
			both.hi = mask_of(width_of[f->a & 3]);
		}
		if (both.rel == REL_ANY && both.lo == 0 && both.hi >= mask_of(width_of[f->a & 3]) &&
		    !both.zeros && !both.ones)
			continue;
		out.fact[out.nfact++] = both;
	}
	for (i = 0; i < phis.n; i++)
		hull(&out, &old, &in, &phis.list[i], widen);
	if (!memcmp(&old.flags, &other->flags, sizeof(old.flags)))
		out.flags = old.flags;
	for (i = 0; i < 2; i++)
		out.escaped[i] = other->escaped[i] < old.escaped[i] ? other->escaped[i] : old.escaped[i];
	facts_sweep(&out);
	*e = out;
	return memcmp(&old, &out, sizeof(out)) != 0;
}

/* The register that a name was first seen in, or NULL for other places. */
static const char *register_of(uint32_t sym)
{
	static const char *const names[16][2] = {
		{ "rax", "eax" }, { "rcx", "ecx" },  { "rdx", "edx" },	 { "rbx", "ebx" },
		{ "rsp", "esp" }, { "rbp", "ebp" },  { "rsi", "esi" },	 { "rdi", "edi" },
		{ "r8", "r8d" },  { "r9", "r9d" },   { "r10", "r10d" }, { "r11", "r11d" },
		{ "r12", "r12d" }, { "r13", "r13d" }, { "r14", "r14d" }, { "r15", "r15d" },
	};
	uint32_t loc = (sym >> 2) % LOCS;

	if (loc >= LOC_ENTRY && loc < LOC_ENTRY + 6)
		loc = arg_reg[loc - LOC_ENTRY];
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
		uint64_t max = mask_of(width_of[f->a & 3]);
		int n;

		if (f->b != SYM_NONE || !reg || (f->lo == 0 && f->hi >= max))
			continue;
		if (f->lo == f->hi)
			n = snprintf(buf + used, bytes - used, "%s%s is 0x%llx", comma, reg, (unsigned long long)f->lo);
		else if (f->hi >= max)
			n = snprintf(buf + used, bytes - used, "%s%s is 0x%llx or more", comma, reg,
				     (unsigned long long)f->lo);
		else
			n = snprintf(buf + used, bytes - used, "%s%s is in 0x%llx..0x%llx", comma, reg,
				     (unsigned long long)f->lo, (unsigned long long)f->hi);
		if (n < 0 || (size_t)n >= bytes - used) {
			buf[used] = '\0';
			return;
		}
		used += (size_t)n;
	}
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Following values through moves, spills and comparisons. Forgetting is always right, so
 * everything unusual forgets. Calls keep the callee-saved registers (Ref: System V ABI,
 * AMD64 supplement, "Registers and the Stack Frame") and stack slots whose address was
 * never taken.
 */
#include "lint/env_impl.h"

#include <string.h>

const uint8_t env_arg_reg[6] = {7, 6, 2, 1, 8, 9};

void env_fact_forget(struct env *e, uint32_t i)
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
			e->reg[i] = env_none;
	for (i = 0; i < e->nslot;)
		if (is_name(e->slot[i].val) && (e->slot[i].val.sym & ~3u) == sym)
			forget_slot(e, i);
		else
			i++;
	for (i = 0; i < e->nfact;)
		if ((e->fact[i].a & ~3u) == sym ||
		    (e->fact[i].b >= SYM_FIRST && (e->fact[i].b & ~3u) == sym))
			env_fact_forget(e, i);
		else
			i++;
	if ((e->flags.a.sym & ~3u) == sym || (e->flags.b.sym & ~3u) == sym)
		memset(&e->flags, 0, sizeof(e->flags));
}

static struct env_val fresh(struct env *e, uint32_t at, uint32_t loc, uint32_t bytes)
{
	struct env_val v = {name(at, loc) | code_of(bytes), 8, 0};

	forget_name(e, v.sym);
	return v;
}

/* The low @bytes of a value, zero-extended. */
static struct env_val narrow(struct env_val v, uint32_t bytes)
{
	if (v.sym == SYM_NONE || v.bytes < bytes)
		return env_none;
	if (v.sym == SYM_CONST) {
		v.c &= mask_of(bytes);
	} else if (is_stack(v)) {
		if (bytes < 8)
			return env_none;
	} else if (env_width[v.sym & 3] > bytes) {
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
		e->reg[env_arg_reg[i]] = (struct env_val){name(0, LOC_ENTRY + i), 8, 0};
	e->reg[REG_RSP] = (struct env_val){SYM_STACK, 8, 0};
	e->escaped[0] = e->escaped[1] = 0; /* the caller's frame belongs to others */
}

void env_set_arg(struct env *e, unsigned arg, uint64_t value)
{
	e->reg[env_arg_reg[arg]] = (struct env_val){SYM_CONST, 8, value};
}

bool env_arg(const struct env *e, unsigned arg, uint64_t *value)
{
	const struct env_val *v = &e->reg[env_arg_reg[arg]];

	*value = v->c;
	return v->sym == SYM_CONST && v->bytes >= 4;
}

int env_arg_of(const struct env *e, unsigned arg)
{
	uint32_t sym = e->reg[env_arg_reg[arg]].sym & ~3u;
	int i;

	for (i = 0; i < 6; i++)
		if (sym == name(0, LOC_ENTRY + (uint32_t)i))
			return i;
	return -1;
}

static struct env_val read_reg(struct env *e, uint8_t reg, uint32_t bytes, uint32_t at)
{
	if (reg >= 16)
		return env_none;
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
	e->reg[reg] = v.sym ? v : env_none;
}

/* The stack slot a memory operand means; false when it is anything else. */
static bool stack_slot(const struct env *e, const struct lint_operand *o, int32_t disp,
                       bool segment, uint32_t *base, int64_t *off)
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

static struct env_val read_slot(struct env *e, uint32_t base, int64_t off, uint32_t bytes,
                                uint32_t at)
{
	struct env_val v;
	uint32_t i;

	for (i = 0; i < e->nslot; i++) {
		const struct env_slot *s = &e->slot[i];

		if (s->base == base && s->off == off && s->bytes >= bytes)
			return narrow(s->val, bytes);
		if (s->base == base && s->off < off + (int64_t)bytes &&
		    off < s->off + (int64_t)s->bytes)
			return env_none;
	}
	v = fresh(e, at, LOC_MEMORY, bytes);
	if (e->nslot == ENV_SLOTS)
		forget_slot(e, 0);
	e->slot[e->nslot++] = (struct env_slot){base, bytes, off, v};
	return v;
}

static void write_slot(struct env *e, uint32_t base, int64_t off, uint32_t bytes, struct env_val v)
{
	uint32_t i;

	for (i = 0; i < e->nslot;) {
		const struct env_slot *s = &e->slot[i];

		if (s->base == base && s->off < off + (int64_t)bytes &&
		    off < s->off + (int64_t)s->bytes)
			forget_slot(e, i);
		else
			i++;
	}
	if (!v.sym)
		return;
	if (e->nslot == ENV_SLOTS)
		forget_slot(e, 0);
	e->slot[e->nslot++] = (struct env_slot){base, bytes, off, v};
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

static struct env_val read_src(struct env *e, const struct lint_insn *insn, uint32_t bytes,
                               uint32_t at, bool relocated)
{
	uint32_t base;
	int64_t off;

	switch (insn->src.loc) {
	case LOC_IMM:
		if (relocated)
			return env_none;
		return (struct env_val){SYM_CONST, 8, (uint64_t)insn->imm & mask_of(bytes)};
	case LOC_REG:
		return insn->src.high ? env_none : read_reg(e, insn->src.reg, bytes, at);
	case LOC_MEM:
		if (stack_slot(e, &insn->src, insn->disp, insn->segment, &base, &off))
			return read_slot(e, base, off, bytes, at);
		return env_none;
	default:
		return env_none;
	}
}

static struct env_val read_dst(struct env *e, const struct lint_insn *insn, uint32_t at)
{
	uint32_t base;
	int64_t off;

	if (insn->dst.loc == LOC_REG)
		return insn->dst.high ? env_none : read_reg(e, insn->dst.reg, insn->bytes, at);
	if (insn->dst.loc == LOC_MEM &&
	    stack_slot(e, &insn->dst, insn->disp, insn->segment, &base, &off))
		return read_slot(e, base, off, insn->bytes, at);
	return env_none;
}

/* Nothing known about the value still gives it a name, so that comparisons of it stick. */
static void write_dst(struct env *e, const struct lint_insn *insn, uint32_t at, struct env_val v)
{
	uint32_t base;
	int64_t off;

	if (insn->dst.loc == LOC_REG) {
		if (insn->dst.high) {
			e->reg[insn->dst.reg] = env_none;
			return;
		}
		if (is_stack(v) && insn->dst.reg != REG_RBP && insn->dst.reg != REG_RSP)
			escape(e, v);
		if (!v.sym)
			v = fresh(e, at, insn->dst.reg,
			          insn->bytes < 4 ? insn->bytes : insn->bytes);
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

static const struct env_val zero = {SYM_CONST, 8, 0};

static void arithmetic(struct env *e, const struct lint_insn *insn, uint32_t at, bool relocated)
{
	struct env_val a = read_dst(e, insn, at), b = env_none, r = env_none;

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
			r = (struct env_val){SYM_ALIGNED, 8, 0};
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
	struct env_val a, b, v = env_none;
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
		    stack_slot(e, &insn->src, insn->disp, insn->segment, &base, &off) &&
		    insn->bytes == 8)
			v = (struct env_val){base, 8, (uint64_t)off};
		else if (insn->src.loc == LOC_MEM && insn->src.reg < 16 &&
		         is_stack(e->reg[insn->src.reg]))
			/* An array on the stack: the index may lead anywhere. */
			e->escaped[e->reg[insn->src.reg].sym - SYM_STACK] =
			        (int64_t)e->reg[insn->src.reg].c + insn->disp <
			                        e->escaped[e->reg[insn->src.reg].sym - SYM_STACK]
			                ? (int64_t)e->reg[insn->src.reg].c + insn->disp
			                : e->escaped[e->reg[insn->src.reg].sym - SYM_STACK];
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
			set_flags(e, FLAGS_NONE, 0, env_none, env_none);
		return;
	case OP_BT:
		a = read_dst(e, insn, at);
		b = read_src(e, insn, insn->bytes, at, relocated);
		if (b.sym == SYM_CONST && b.c < 64) {
			b.c = UINT64_C(1) << b.c;
			set_flags(e, FLAGS_BIT, insn->bytes, a, b);
		} else {
			set_flags(e, FLAGS_NONE, 0, env_none, env_none);
		}
		return;
	case OP_PUSH:
		v = read_src(e, insn, 8, at, relocated);
		escape(e, insn->src.loc == LOC_REG && insn->src.reg == REG_RBP ? env_none : v);
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
		e->reg[REG_RBP] = env_none;
		if (is_stack(e->reg[REG_RSP]))
			e->reg[REG_RSP].c += 8;
		return;
	case OP_SETCC:
	case OP_CMOV: {
		struct env yes = *e, no = *e;
		bool can = env_branch(&yes, insn->cc, true),
		     cannot = env_branch(&no, insn->cc, false);

		if (insn->op == OP_SETCC)
			v = can == cannot ? env_none : (struct env_val){SYM_CONST, 8, can};
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
			e->reg[i] = env_none;
	if (insn->spoils & 1u << REG_RSP && insn->kind == INSN_PLAIN)
		e->reg[REG_RSP] = env_none;
	if (insn->dst.loc == LOC_MEM || insn->stores || insn->op == OP_STRING) {
		if (insn->dst.loc == LOC_MEM && !insn->stores &&
		    stack_slot(e, &insn->dst, insn->disp, insn->segment, &base, &off))
			write_slot(e, base, off, insn->bytes ? insn->bytes : 64, env_none);
		else
			write_unknown(e);
	}
	if (insn->flags)
		set_flags(e, FLAGS_NONE, 0, env_none, env_none);
}

void env_call(struct env *e, enum env_call kind)
{
	static const uint8_t lost[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};
	size_t i;

	for (i = 0; i < sizeof(lost); i++) {
		/* An address handed over may be kept and written through later. */
		if (kind == ENV_CALL_ANY)
			escape(e, e->reg[lost[i]]);
		e->reg[lost[i]] = env_none;
	}
	if (kind == ENV_CALL_ANY)
		write_unknown(e);
	set_flags(e, FLAGS_NONE, 0, env_none, env_none);
}

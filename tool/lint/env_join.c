// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where paths meet: what holds on both stays. Places that held one value on the one path and one on
 * the other still hold the same as each other, under a name of the place of meeting.
 */
#include <string.h>

#include "lint/env_impl.h"

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
	return env_width[v.sym & 3];
}

static struct env_val merge(struct phis *p, struct env_val a, struct env_val b, uint32_t block,
                            uint32_t loc)
{
	uint32_t i, bytes;

	if (!a.sym || !b.sym)
		return env_none;
	/* A name this very place made before may mean different places' values now. */
	if (same(a, b) &&
	    !(is_name(a) && (a.sym >> 2) / LOCS == block + 2 && (a.sym >> 2) % LOCS >= 24))
		return a;
	if (is_stack(a) || is_stack(b) || a.bytes != b.bytes)
		return env_none;
	for (i = 0; i < p->n; i++)
		if (same(p->list[i].a, a) && same(p->list[i].b, b))
			break;
	if (i == p->n) {
		bytes = width_of_val(a) > width_of_val(b) ? width_of_val(a) : width_of_val(b);
		p->list[p->n++] = (struct phi){
		        a, b, name(block, 24 + (loc < 39 ? loc : 39)) | code_of(bytes)};
		if (loc >= 39)
			p->n--;
	}
	if (loc >= 39 && i == p->n)
		return env_none;
	return (struct env_val){p->list[i].sym, a.bytes, 0};
}

/*
 * Range of one value on both ways. Where it grew since the last time and @widen is asked
 * for, nothing is said of it: a counter would grow for ever.
 */
static void hull(struct env *out, struct env *a, struct env *b, const struct phi *p, bool widen)
{
	uint64_t alo, ahi, blo, bhi, max = mask_of(env_width[p->sym & 3]);
	struct env_fact *f;

	env_range(a, p->a, &alo, &ahi);
	env_range(b, p->b, &blo, &bhi);
	if (widen && p->a.sym == p->sym && (blo < alo || bhi > ahi))
		return;
	if (blo < alo)
		alo = blo;
	if (bhi > ahi)
		ahi = bhi;
	if ((alo == 0 && ahi >= max) || out->nfact == ENV_FACTS)
		return;
	f = env_fact_make(out, p->sym, SYM_NONE, 0, env_width[p->sym & 3]);
	f->lo = alo;
	f->hi = ahi;
}

bool env_join(struct env *e, const struct env *other, uint32_t block, bool widen)
{
	struct env old = *e, in = *other, out;
	struct phis phis = {.n = 0};
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
		const struct env_fact *g = env_fact_find(&in, f->a, f->b, f->bc);
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
			both.hi = mask_of(env_width[f->a & 3]);
		}
		if (both.rel == REL_ANY && both.lo == 0 &&
		    both.hi >= mask_of(env_width[f->a & 3]) && !both.zeros && !both.ones)
			continue;
		out.fact[out.nfact++] = both;
	}
	for (i = 0; i < phis.n; i++)
		hull(&out, &old, &in, &phis.list[i], widen);
	if (!memcmp(&old.flags, &other->flags, sizeof(old.flags)))
		out.flags = old.flags;
	for (i = 0; i < 2; i++)
		out.escaped[i] =
		        other->escaped[i] < old.escaped[i] ? other->escaped[i] : old.escaped[i];
	env_facts_sweep(&out);
	*e = out;
	return memcmp(&old, &out, sizeof(out)) != 0;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * The code of one function, ready to be followed: its instructions, the places where paths meet,
 * and the edges that no instruction shows.
 */
#include <stdlib.h>

#include "lint/flow.h"
#include "lint/sweep.h"

const struct fragment *flow_fragment(const struct flow *f, uint32_t i)
{
	return f->nfrag > 1 && i >= f->frag[1].first ? &f->frag[1] : &f->frag[0];
}

const char *flow_mnemonic(const struct flow *f, uint32_t i)
{
	const struct fragment *fr = flow_fragment(f, i);

	return lint_fp_name(f->n->obj, fr->sec, f->insn[i].off);
}

uint32_t flow_replaced_end(const struct flow *f, uint32_t i)
{
	const struct lint_object *obj = f->n->obj;
	uint32_t sec = flow_fragment(f, i)->sec, off = f->insn[i].off, end = off;
	size_t a = flow_place(obj->alt, obj->nalt, sizeof(*obj->alt), sec, off);

	for (; a < obj->nalt && obj->alt[a].sec == sec && obj->alt[a].off == off; a++)
		if (off + obj->alt[a].len > end)
			end = off + obj->alt[a].len;
	return end;
}

uint32_t flow_insn_at(const struct flow *f, uint32_t sec, uint32_t off)
{
	uint32_t k;

	for (k = 0; k < f->nfrag; k++) {
		const struct fragment *fr = &f->frag[k];

		if (fr->sec == sec && off >= fr->off && off - fr->off < fr->size)
			return fr->index[off - fr->off] ? fr->index[off - fr->off] - 1 : NO_FUNC;
	}
	return NO_FUNC;
}

size_t flow_place(const void *list, size_t n, size_t item, uint32_t sec, uint32_t off)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct lint_place *p = (const void *)((const char *)list + mid * item);

		if (p->sec < sec || (p->sec == sec && p->off < off))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void leader_set(struct flow *f, uint32_t i)
{
	if (i != NO_FUNC && !f->leader[i])
		f->leader[i] = ++f->nblock;
}

/* Alternatives: what code may be patched to does what it does, at the place it goes to. */
static void alternatives(struct flow *f, const struct fragment *fr)
{
	struct lint_object *obj = f->n->obj;
	size_t a = flow_place(obj->alt, obj->nalt, sizeof(*obj->alt), fr->sec, fr->off);

	for (; a < obj->nalt && obj->alt[a].sec == fr->sec && obj->alt[a].off - fr->off < fr->size;
	     a++) {
		const struct lint_alt *alt = &obj->alt[a];
		uint32_t i = flow_insn_at(f, alt->sec, alt->off), off = 0;
		struct lint_insn insn;

		if (i == NO_FUNC)
			continue;
		f->mark[i] |= MARK_EXTRA;
		if (f->insn[i].kind == INSN_JMP)
			f->mark[i] |= MARK_FALLS;
		while (off < alt->rep_len) {
			lint_decode(obj->sec[alt->rep_sec].data + alt->rep_off + off,
			            alt->rep_len - off, alt->rep_off + off, &insn);
			f->insn[i].fp |= insn.fp;
			if (insn.kind == INSN_CALL)
				leader_set(f, flow_insn_at(f, alt->sec, flow_replaced_end(f, i)));
			off += insn.len;
		}
	}
}

bool flow_prepare(struct flow *f)
{
	struct lint_object *obj = f->n->obj;
	uint32_t k, off, i = 0, total = 0;
	size_t e;

	f->frag[0].node = f->id;
	f->frag[1].node = f->n->cold;
	f->nfrag = f->n->cold == NO_NODE ? 1 : 2;
	for (k = 0; k < f->nfrag; k++) {
		const struct lint_func *fn = lint_node_func(&f->g->node[f->frag[k].node]);

		f->frag[k].sec = fn->sec;
		f->frag[k].off = fn->off;
		f->frag[k].size = fn->size;
		f->frag[k].index = calloc(fn->size ? fn->size : 1, sizeof(uint32_t));
		if (!f->frag[k].index)
			return false;
		total += fn->size;
	}
	/* At most one instruction a byte; most have four. */
	f->insn = malloc((total ? total : 1) * sizeof(*f->insn));
	if (!f->insn)
		return false;
	for (k = 0; k < f->nfrag; k++) {
		struct fragment *fr = &f->frag[k];
		const struct lint_section *s = &obj->sec[fr->sec];

		fr->first = i;
		for (off = 0; off < fr->size;) {
			lint_decode(s->data + fr->off + off, (size_t)(s->size - fr->off - off),
			            fr->off + off, &f->insn[i]);
			fr->index[off] = i + 1;
			off += f->insn[i].len;
			i++;
		}
	}
	f->ninsn = i;
	{
		struct lint_insn *fit = realloc(f->insn, (i ? i : 1) * sizeof(*fit));

		if (fit)
			f->insn = fit;
	}
	f->mark = calloc(i + 1, 1);
	f->leader = calloc(i + 1, sizeof(*f->leader));
	if (!f->mark || !f->leader)
		return false;
	for (k = 0; k < f->nfrag; k++) {
		const struct fragment *fr = &f->frag[k];
		const struct lint_section *s = &obj->sec[fr->sec];
		size_t r = lint_rel_find(s, fr->off);
		uint32_t last = k + 1 < f->nfrag ? f->frag[k + 1].first : f->ninsn;

		for (i = fr->first; i < last; i++) {
			while (r < s->nrel && s->rel[r].r_offset < f->insn[i].off)
				r++;
			if (r < s->nrel && s->rel[r].r_offset < f->insn[i].off + f->insn[i].len)
				f->mark[i] |= MARK_RELOC;
			if ((f->insn[i].kind == INSN_JMP || f->insn[i].kind == INSN_JCC)) {
				size_t cursor = r;
				struct lint_target t = lint_branch_target(
				        obj, fr->sec, f->insn[i].off, f->insn[i].len, &cursor);

				if (t.kind == TARGET_CODE)
					leader_set(f, flow_insn_at(f, t.sec, t.off));
			}
		}
		alternatives(f, fr);
		e = flow_place(obj->edge, obj->nedge, sizeof(*obj->edge), fr->sec, fr->off);
		for (; e < obj->nedge && obj->edge[e].sec == fr->sec &&
		       obj->edge[e].from - fr->off < fr->size;
		     e++) {
			i = flow_insn_at(f, fr->sec, obj->edge[e].from);
			if (i == NO_FUNC)
				continue;
			f->mark[i] |= MARK_EXTRA;
			if (f->insn[i].kind == INSN_JMP)
				f->mark[i] |= MARK_FALLS;
			leader_set(f, flow_insn_at(f, fr->sec, obj->edge[e].to));
		}
		e = flow_place(obj->warn, obj->nwarn, sizeof(*obj->warn), fr->sec, fr->off);
		for (; e < obj->nwarn && obj->warn[e].sec == fr->sec &&
		       obj->warn[e].off - fr->off < fr->size;
		     e++) {
			i = flow_insn_at(f, fr->sec, obj->warn[e].off);
			if (i != NO_FUNC)
				f->mark[i] |= MARK_WARN;
		}
	}
	/* Jumps that alternatives may put in. */
	for (k = 0; k < f->nfrag; k++) {
		const struct fragment *fr = &f->frag[k];
		size_t a = flow_place(obj->alt, obj->nalt, sizeof(*obj->alt), fr->sec, fr->off);

		for (; a < obj->nalt && obj->alt[a].sec == fr->sec &&
		       obj->alt[a].off - fr->off < fr->size;
		     a++) {
			const struct lint_alt *alt = &obj->alt[a];
			const uint8_t *p = obj->sec[alt->rep_sec].data + alt->rep_off;
			size_t cursor = lint_rel_find(&obj->sec[alt->rep_sec], alt->rep_off);

			if (alt->rep_len >= 5 && *p == 0xe9) {
				struct lint_target t = lint_branch_target(obj, alt->rep_sec,
				                                          alt->rep_off, 5, &cursor);

				if (t.kind == TARGET_CODE)
					leader_set(f, flow_insn_at(f, t.sec, t.off));
			}
		}
	}
	leader_set(f, 0);
	f->block = calloc(f->nblock + 1, sizeof(*f->block));
	return f->block != NULL;
}

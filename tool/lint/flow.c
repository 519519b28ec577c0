// SPDX-License-Identifier: BSD-2-Clause
/*
 * Following one function path by path. Paths that meet in the same protocol state are
 * joined, paths in different states are kept apart with what is known on each (the way of
 * ESP, Das, Lerner and Seigle 2002): `if (use_fpu)` twice then costs two states, not an
 * error. The states:
 *
 *   entry      as the caller left it: in a section or not is the caller's business
 *   in         a section begun here
 *   ended      a section begun here has been ended
 *   released   the caller's section has been ended
 *
 * Pairs that nest count their depth on top of it and come back to the state before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lint/env.h"
#include "lint/graph.h"
#include "lint/sweep.h"

#define STATES_MAX   24	 /* protocol states kept apart at one place */
#define WIDEN_AFTER  4	 /* joins at one place before ranges are given up */
#define STEPS_MAX    4000000
#define FRAGMENTS    2
#define MEMO_MAX     4096

enum base { BASE_ENTRY, BASE_IN, BASE_ENDED, BASE_RELEASED };

struct proto {
	uint8_t base;
	uint8_t nest;
	uint8_t set; /* NEED_ bits that the code itself has established */
	uint8_t site;	/* of base IN */
	uint8_t nested; /* site of the outermost nestable begin */
};

struct state {
	struct proto p;
	struct env env;
	uint32_t joins;
	bool todo;
};

struct block {
	struct state *list[STATES_MAX];
	uint32_t n;
};

struct fragment {
	uint32_t node;
	uint32_t sec, off, size;
	uint32_t first; /* index of its first instruction */
	uint32_t *index; /* offset to instruction + 1 */
};

struct flow {
	struct lint_graph *g;
	struct lint_node *n;
	uint32_t id;
	bool emit, quiet;
	struct fragment frag[FRAGMENTS];
	uint32_t nfrag;
	struct lint_insn *insn;
	uint8_t *mark; /* MARK_ bits of each instruction */
	uint32_t *leader; /* instruction to block + 1 */
	uint32_t ninsn;
	struct block *block;
	uint32_t nblock;
	uint32_t *work;
	uint32_t nwork, work_cap;
	uint64_t steps;
	bool over;
	/* results */
	uint32_t sum, need, fp, set_exits;
	bool exited;
	uint32_t first_use, uses, first_end;
	struct lint_site *site;
	uint32_t nsite;
	struct state *table_jump; /* states at a computed jump */
	uint32_t ntable_jump;
};

enum {
	MARK_EXTRA = 1,	 /* has edges that the instruction does not show */
	MARK_FALLS = 2,	 /* a jump that may be patched into nothing */
	MARK_RELOC = 4,	 /* an immediate or displacement is relocated */
	MARK_SEEN = 8,
	MARK_COUNTED = 16,
	MARK_WARN = 32,	 /* a trap that execution continues after */
};

struct lint_flow_memo {
	uint32_t node, version, known, sum;
	uint64_t args[6];
};

struct lint_finding lint_finding_at(const struct lint_graph *g, enum lint_rule rule, uint32_t node,
				    uint32_t off)
{
	const struct lint_node *n = &g->node[node];
	const struct lint_func *f = lint_node_func(n);
	uint8_t set = g->conf->severity[rule];

	return (struct lint_finding){
		.rule = rule,
		.severity = set ? (enum lint_severity)(set - 1) : lint_rules[rule].severity,
		.object = n->obj->path,
		.module = n->obj->module,
		.function = f->name,
		.sec = f->sec,
		.off = off,
		.func_off = off - f->off,
		.lint_object = n->obj,
	};
}

static const struct fragment *fragment_of(const struct flow *f, uint32_t i)
{
	return f->nfrag > 1 && i >= f->frag[1].first ? &f->frag[1] : &f->frag[0];
}

static const char *mnemonic(const struct flow *f, uint32_t i)
{
	const struct fragment *fr = fragment_of(f, i);
	const struct lint_section *s = &f->n->obj->sec[fr->sec];

	return lint_mnemonic(s->data + f->insn[i].off, (size_t)(s->size - f->insn[i].off));
}

/* Note a finding at instruction @i. */
#define REPORT(f, rule, i, what, ...)                                                              \
	do {                                                                                       \
		if ((f)->emit) {                                                                   \
			struct lint_finding at_ = lint_finding_at(                                 \
				(f)->g, rule, fragment_of(f, i)->node, (f)->insn[i].off);          \
			at_.callee = (char *)(uintptr_t)(what);                                    \
			lint_finding_add(&(f)->g->found, &at_, NULL, __VA_ARGS__);                 \
		}                                                                                  \
	} while (0)

static bool in_section(const struct proto *p)
{
	return p->base == BASE_IN || p->nest > 0;
}

static struct lint_site *site_of(struct flow *f, const struct proto *p)
{
	return &f->site[p->nest ? p->nested : p->site];
}

static uint8_t site_make(struct flow *f, uint32_t off, uint32_t pair, int mask)
{
	struct lint_site *list;
	uint32_t i;

	for (i = 0; i < f->nsite; i++)
		if (f->site[i].off == off) {
			if (f->site[i].mask != mask)
				f->site[i].mask = -1;
			return (uint8_t)i;
		}
	if (f->nsite == 255)
		return 254;
	list = realloc(f->site, (f->nsite + 1) * sizeof(*list));
	if (!list) {
		f->over = true;
		return 0;
	}
	f->site = list;
	list[f->nsite] = (struct lint_site){ .off = off, .pair = pair, .mask = mask };
	return (uint8_t)f->nsite++;
}

/* --- Preparing the instructions --- */

static uint32_t insn_at(const struct flow *f, uint32_t sec, uint32_t off)
{
	uint32_t k;

	for (k = 0; k < f->nfrag; k++) {
		const struct fragment *fr = &f->frag[k];

		if (fr->sec == sec && off >= fr->off && off - fr->off < fr->size)
			return fr->index[off - fr->off] ? fr->index[off - fr->off] - 1 : NO_FUNC;
	}
	return NO_FUNC;
}

static size_t place_find(const void *list, size_t n, size_t item, uint32_t sec, uint32_t off)
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
	size_t a = place_find(obj->alt, obj->nalt, sizeof(*obj->alt), fr->sec, fr->off);

	for (; a < obj->nalt && obj->alt[a].sec == fr->sec && obj->alt[a].off - fr->off < fr->size; a++) {
		const struct lint_alt *alt = &obj->alt[a];
		uint32_t i = insn_at(f, alt->sec, alt->off), off = 0;
		struct lint_insn insn;

		if (i == NO_FUNC)
			continue;
		f->mark[i] |= MARK_EXTRA;
		if (f->insn[i].kind == INSN_JMP)
			f->mark[i] |= MARK_FALLS;
		while (off < alt->rep_len) {
			lint_decode(obj->sec[alt->rep_sec].data + alt->rep_off + off, alt->rep_len - off,
				    alt->rep_off + off, &insn);
			f->insn[i].fp |= insn.fp;
			off += insn.len;
		}
	}
}

static bool prepare(struct flow *f)
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
			lint_decode(s->data + fr->off + off, (size_t)(s->size - fr->off - off), fr->off + off,
				    &f->insn[i]);
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
				struct lint_target t = lint_branch_target(obj, fr->sec, f->insn[i].off,
									  f->insn[i].len, &cursor);

				if (t.kind == TARGET_CODE)
					leader_set(f, insn_at(f, t.sec, t.off));
			}
		}
		alternatives(f, fr);
		e = place_find(obj->edge, obj->nedge, sizeof(*obj->edge), fr->sec, fr->off);
		for (; e < obj->nedge && obj->edge[e].sec == fr->sec && obj->edge[e].from - fr->off < fr->size;
		     e++) {
			i = insn_at(f, fr->sec, obj->edge[e].from);
			if (i == NO_FUNC)
				continue;
			f->mark[i] |= MARK_EXTRA;
			if (f->insn[i].kind == INSN_JMP)
				f->mark[i] |= MARK_FALLS;
			leader_set(f, insn_at(f, fr->sec, obj->edge[e].to));
		}
		e = place_find(obj->warn, obj->nwarn, sizeof(*obj->warn), fr->sec, fr->off);
		for (; e < obj->nwarn && obj->warn[e].sec == fr->sec && obj->warn[e].off - fr->off < fr->size;
		     e++) {
			i = insn_at(f, fr->sec, obj->warn[e].off);
			if (i != NO_FUNC)
				f->mark[i] |= MARK_WARN;
		}
	}
	/* Jumps that alternatives may put in. */
	for (k = 0; k < f->nfrag; k++) {
		const struct fragment *fr = &f->frag[k];
		size_t a = place_find(obj->alt, obj->nalt, sizeof(*obj->alt), fr->sec, fr->off);

		for (; a < obj->nalt && obj->alt[a].sec == fr->sec && obj->alt[a].off - fr->off < fr->size; a++) {
			const struct lint_alt *alt = &obj->alt[a];
			const uint8_t *p = obj->sec[alt->rep_sec].data + alt->rep_off;
			size_t cursor = lint_rel_find(&obj->sec[alt->rep_sec], alt->rep_off);

			if (alt->rep_len >= 5 && *p == 0xe9) {
				struct lint_target t = lint_branch_target(obj, alt->rep_sec, alt->rep_off, 5, &cursor);

				if (t.kind == TARGET_CODE)
					leader_set(f, insn_at(f, t.sec, t.off));
			}
		}
	}
	leader_set(f, 0);
	f->block = calloc(f->nblock + 1, sizeof(*f->block));
	return f->block != NULL;
}

/* --- States and blocks --- */

static void work_push(struct flow *f, uint32_t i)
{
	if (f->nwork == f->work_cap) {
		uint32_t more = f->work_cap ? f->work_cap * 2 : 64;
		uint32_t *list = realloc(f->work, more * sizeof(*list));

		if (!list) {
			f->over = true;
			return;
		}
		f->work = list;
		f->work_cap = more;
	}
	f->work[f->nwork++] = i;
}

/* A path arrives at leader @i. */
static void arrive(struct flow *f, uint32_t i, const struct proto *p, const struct env *env)
{
	struct block *b = &f->block[f->leader[i] - 1];
	struct state *s;
	uint32_t k;

	for (k = 0; k < b->n; k++)
		if (!memcmp(&b->list[k]->p, p, sizeof(*p)))
			break;
	if (k == b->n && b->n == STATES_MAX) {
		f->over = true;
		return;
	}
	if (k == b->n) {
		s = malloc(sizeof(*s));
		if (!s) {
			f->over = true;
			return;
		}
		s->p = *p;
		s->env = *env;
		s->joins = 0;
		s->todo = true;
		b->list[b->n++] = s;
		work_push(f, i);
		return;
	}
	s = b->list[k];
	if (s->joins > 40) {
		struct env bare;

		/* It has not come to rest: give up all that is known here. */
		memset(&bare, 0, sizeof(bare));
		bare.escaped[0] = bare.escaped[1] = INT64_MIN;
		if (!memcmp(&s->env, &bare, sizeof(bare)))
			return;
		s->env = bare;
	} else {
		if (!env_join(&s->env, env, f->leader[i], s->joins >= WIDEN_AFTER))
			return;
		s->joins++;
	}
	if (!s->todo) {
		s->todo = true;
		work_push(f, i);
	}
}

/* --- What instructions and calls do to the protocol state --- */

static void use_fp(struct flow *f, uint32_t i, struct proto *p)
{
	const struct lint_insn *insn = &f->insn[i];
	uint32_t need = lint_needs(insn->fp) & ~(uint32_t)p->set;
	bool owner = f->n->role && (f->n->role->kind == ROLE_OWNER || f->n->role->kind == ROLE_BEGIN ||
				    f->n->role->kind == ROLE_END || f->n->role->kind == ROLE_BEGINS ||
				    f->n->role->kind == ROLE_ENDS || f->n->role->kind == ROLE_FOREIGN);
	bool counted = f->mark[i] & MARK_COUNTED;

	if (f->g->conf->inline_sections && insn->fp & (FP_SAVES | FP_RESTORES) && !owner) {
		if (insn->fp & FP_SAVES && !in_section(p)) {
			p->base = BASE_IN;
			p->site = site_make(f, insn->off, UINT32_MAX, 7);
			p->set = NEED_X87 | NEED_MXCSR;
		} else if (insn->fp & FP_RESTORES && p->base == BASE_IN) {
			p->base = BASE_ENDED;
		}
		f->mark[i] |= MARK_COUNTED;
		return;
	}
	if (in_section(p)) {
		struct lint_site *s = site_of(f, p);

		s->need |= need;
		s->fp |= insn->fp;
		s->unknown |= (insn->fp & FP_UNKNOWN) != 0;
		if (!counted && insn->fp & FP_USE)
			s->insns++;
	} else if (owner) {
		f->n->role->used++;
	} else if (p->base == BASE_ENTRY) {
		if (!f->uses || insn->off < f->first_use)
			f->first_use = insn->off;
		if (!counted)
			f->uses++;
		f->sum |= insn->fp & FP_USE ? SUM_REQUIRES : SUM_REQUIRES | SUM_STATE;
		f->need |= need;
		f->fp |= insn->fp;
	} else {
		REPORT(f, RULE_FP_AFTER_END, i, mnemonic(f, i),
		       "%s runs after the section was ended on this path", mnemonic(f, i));
	}
	f->mark[i] |= MARK_COUNTED;
	if (insn->fp & FP_SETS_X87)
		p->set |= NEED_X87;
	if (insn->fp & FP_SETS_MXCSR)
		p->set |= NEED_MXCSR;
}

static void begin(struct flow *f, uint32_t i, struct proto *p, const struct env *env, uint32_t pair,
		  const char *what)
{
	const struct lint_pair *pr = &f->g->conf->pair[pair];
	int mask = pr->mask_arg < 0 ? (pr->mask == UINT32_MAX ? -1 : (int)pr->mask) : -1;
	uint64_t v;

	if (pr->mask_arg >= 0 && env_arg(env, (unsigned)pr->mask_arg, &v))
		mask = (int)(v & 7);
	if (pr->nestable) {
		if (!in_section(p)) {
			p->nested = site_make(f, f->insn[i].off, pair, mask);
			p->set = 0;
		} else if (p->nest == 0) {
			p->nested = p->site;
		}
		if (p->nest < 8)
			p->nest++;
		return;
	}
	if (in_section(p)) {
		REPORT(f, RULE_NESTED_BEGIN, i, what, "%s is called in a section that was begun at +0x%x", what,
		       site_of(f, p)->off - f->frag[0].off);
		return;
	}
	if (p->base == BASE_ENTRY)
		f->sum |= SUM_BEGINS;
	p->base = p->base == BASE_RELEASED ? BASE_ENTRY : BASE_IN;
	if (p->base == BASE_IN)
		p->site = site_make(f, f->insn[i].off, pair, mask);
	p->set = 0;
}

static void end(struct flow *f, uint32_t i, struct proto *p, bool nestable, const char *what)
{
	if (p->nest) {
		if (nestable) {
			p->nest--;
			if (!p->nest)
				p->nested = 0;
			return;
		}
		p->nest = 0;
		p->nested = 0;
		p->base = BASE_ENDED;
		return;
	}
	switch (p->base) {
	case BASE_IN:
		p->base = BASE_ENDED;
		p->site = 0;
		break;
	case BASE_ENTRY:
		if (!(f->sum & SUM_ENDS))
			f->first_end = f->insn[i].off;
		f->sum |= SUM_ENDS;
		p->base = BASE_RELEASED;
		break;
	default:
		REPORT(f, RULE_END_WITHOUT_BEGIN, i, what, "%s is called where the section has been ended already",
		       what);
		break;
	}
	p->set = 0;
}

static const struct lint_link *link_at(const struct flow *f, uint32_t i)
{
	const struct lint_node *n = &f->g->node[fragment_of(f, i)->node];
	size_t lo = n->link, hi = n->link + n->nlink;
	uint32_t off = f->insn[i].off;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->g->link[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n->link + n->nlink && f->g->link[lo].off == off ? &f->g->link[lo] : NULL;
}

static const struct lint_role *link_role(const struct flow *f, const struct lint_link *l)
{
	if (!l)
		return NULL;
	if (l->node != NO_NODE && f->g->node[l->node].role)
		return f->g->node[l->node].role;
	return l->ext ? l->ext->role : NULL;
}

static void seen(struct flow *f, const struct lint_link *l, const struct proto *p)
{
	struct lint_link *w = &f->g->link[l - f->g->link];

	if (!f->quiet)
		w->seen |= in_section(p) ? SEEN_IN : p->base == BASE_ENTRY ? SEEN_ENTRY : SEEN_OUT;
}

/* One level down: does the function called call something that may sleep? */
static const char *sleeps(const struct flow *f, const struct lint_node *n)
{
	uint32_t k;

	for (k = 0; k < n->nlink; k++) {
		const struct lint_role *r = link_role(f, &f->g->link[n->link + k]);

		if (r && r->kind == ROLE_SLEEP && r->gfp_arg < 0)
			return r->name;
	}
	return NULL;
}

/* Whether a function calls through a pointer, itself or a little further down. */
static bool reaches_pointer(const struct lint_graph *g, const struct lint_node *n, unsigned depth)
{
	uint32_t k;

	if (n->analysed)
		return n->sum & SUM_INDIRECT;
	for (k = 0; k < n->nlink; k++) {
		const struct lint_link *l = &g->link[n->link + k];

		if (l->kind == EV_INDIRECT)
			return true;
		if (depth && l->node != NO_NODE &&
		    reaches_pointer(g, &g->node[g->node[l->node].whole], depth - 1))
			return true;
	}
	return false;
}

/* A function that is given constants may not take the paths that use FP. */
static uint32_t sum_with(struct flow *f, const struct env *env, const struct lint_node *n, uint32_t id)
{
	uint64_t args[6];
	unsigned known = 0, a;

	for (a = 0; a < 6; a++)
		if (env_arg(env, a, &args[a]))
			known |= 1u << a;
		else
			args[a] = 0;
	if (!known || f->quiet || id == f->id || !n->analysed)
		return n->sum;
	return lint_flow_with(f->g, id, args, known);
}

static void call_node(struct flow *f, uint32_t i, struct proto *p, const struct env *env,
		      const struct lint_link *l)
{
	uint32_t id = f->g->node[l->node].whole;
	const struct lint_node *n = &f->g->node[id];
	const char *name = lint_node_name(n), *sleep;
	uint32_t sum = n->sum;

	if (in_section(p)) {
		struct lint_site *s = site_of(f, p);

		if (sum & SUM_REQUIRES) {
			s->need |= n->need & ~(uint32_t)p->set;
			s->fp |= n->fp;
			s->calls_fp = true;
			s->unknown |= (n->fp & FP_UNKNOWN) != 0;
		}
		if (reaches_pointer(f->g, n, 2))
			s->indirect = true;
		if (sum & (SUM_BEGINS | SUM_BEGINS_VIA) && id != f->id)
			REPORT(f, RULE_NESTED_BEGIN, i, name, "%s begins a section of its own; one was begun at +0x%x",
			       name, s->off - f->frag[0].off);
		sleep = f->emit ? sleeps(f, n) : NULL;
		if (sleep)
			REPORT(f, RULE_SLEEP_VIA, i, name, "%s, called in the section, calls %s", name, sleep);
		if (sum & SUM_LEAVES && !(sum & SUM_KEEPS))
			end(f, i, p, false, name);
	} else {
		if (sum & SUM_REQUIRES)
			sum = sum_with(f, env, n, id) | (sum & ~(uint32_t)(SUM_REQUIRES | SUM_STATE));
		if (sum & SUM_REQUIRES && p->base == BASE_ENTRY) {
			f->sum |= SUM_REQUIRES;
			f->need |= n->need & ~(uint32_t)p->set;
			f->fp |= n->fp;
		} else if (sum & SUM_REQUIRES) {
			REPORT(f, RULE_CALL_FP_AFTER_END, i, name,
			       "%s uses FP registers and is called after the section was ended on this path", name);
		}
		if (sum & SUM_BEGINS && p->base == BASE_ENTRY)
			f->sum |= SUM_BEGINS_VIA;
		if (sum & SUM_LEAVES && !(sum & SUM_KEEPS) && p->base == BASE_ENTRY)
			end(f, i, p, false, name);
		/* Not needed here: the call is harmless with these arguments. */
		if (!(sum & SUM_REQUIRES) && n->sum & SUM_REQUIRES)
			return;
	}
	seen(f, l, p);
	if (sum & SUM_SETS_X87)
		p->set |= NEED_X87;
	if (sum & SUM_SETS_MXCSR)
		p->set |= NEED_MXCSR;
}

/* A jump with something still on the stack stays in the function: a jump table. */
static bool inner_jump(const struct env *env)
{
	const struct env_val *sp = &env->reg[REG_RSP];

	return sp->sym == SYM_ALIGNED || (sp->sym == SYM_STACK && sp->c != 0);
}

static void indirect(struct flow *f, uint32_t i, struct proto *p)
{
	const struct lint_link *l = link_at(f, i);

	if (l)
		seen(f, l, p);
	if (in_section(p))
		site_of(f, p)->indirect = true;
	else
		f->sum |= SUM_INDIRECT;
}

enum after { AFTER_GO, AFTER_STOP, AFTER_RETURN };

/* A direct call or a jump to another function. */
static enum after call(struct flow *f, uint32_t i, struct proto *p, struct env *env, bool jump)
{
	const struct lint_link *l = link_at(f, i);
	const struct lint_role *r = link_role(f, l);
	const char *what = l && l->ext ? l->ext->name : l && l->node != NO_NODE ?
						       lint_node_name(&f->g->node[l->node]) : "?";
	enum env_call effect = ENV_CALL_ANY;
	uint64_t v;

	switch (r ? r->kind : ROLE_NONE) {
	case ROLE_BEGIN:
		seen(f, l, p);
		begin(f, i, p, env, r->pair, what);
		effect = ENV_CALL_PROTOCOL;
		break;
	case ROLE_END:
		seen(f, l, p);
		end(f, i, p, f->g->conf->pair[r->pair].nestable, what);
		effect = ENV_CALL_PROTOCOL;
		break;
	case ROLE_BEGINS:
		seen(f, l, p);
		if (in_section(p))
			REPORT(f, RULE_NESTED_BEGIN, i, what, "%s begins a section; one was begun at +0x%x", what,
			       site_of(f, p)->off - f->frag[0].off);
		else {
			p->base = BASE_IN;
			p->site = site_make(f, f->insn[i].off, UINT32_MAX, -1);
			f->site[p->site].external = true;
		}
		break;
	case ROLE_ENDS:
		seen(f, l, p);
		if (in_section(p))
			end(f, i, p, false, what);
		break;
	case ROLE_NORETURN:
		return AFTER_STOP;
	case ROLE_NOTHING:
		return jump ? AFTER_RETURN : AFTER_GO;
	case ROLE_RETURN:
		if (jump)
			return AFTER_RETURN;
		break;
	case ROLE_SLEEP:
		if (in_section(p) && (r->gfp_arg < 0 || (env_arg(env, (unsigned)r->gfp_arg, &v) &&
							 v & f->g->conf->gfp_sleep)))
			REPORT(f, RULE_MAY_SLEEP, i, what, "%s%s in the section that was begun at +0x%x", what,
			       r->gfp_arg < 0 ? " may sleep and is called" :
						" is asked for memory with flags that allow sleeping",
			       site_of(f, p)->off - f->frag[0].off);
		break;
	case ROLE_OWNER:
		break;
	case ROLE_INDIRECT:
		indirect(f, i, p);
		break;
	default:
		if (l && l->node != NO_NODE)
			call_node(f, i, p, env, l);
		else if (l && in_section(p))
			site_of(f, p)->external = true;
		break;
	}
	env_call(env, effect);
	return jump ? AFTER_RETURN : AFTER_GO;
}

static void leave(struct flow *f, uint32_t i, const struct proto *p, const struct env *env)
{
	const struct lint_role *role = f->n->role;
	char when[160];

	f->set_exits = f->exited ? f->set_exits & p->set : p->set;
	f->exited = true;
	f->sum |= p->base == BASE_RELEASED ? SUM_LEAVES : SUM_KEEPS;
	if (!in_section(p))
		return;
	if (role && (role->kind == ROLE_BEGINS || role->kind == ROLE_BEGIN || role->kind == ROLE_OWNER ||
		     role->kind == ROLE_END || role->kind == ROLE_ENDS)) {
		f->n->role->used++;
		return;
	}
	env_describe(env, when, sizeof(when));
	{
		const struct lint_site *s = site_of(f, p);
		const char *what = s->pair == UINT32_MAX ? "a section" : f->g->conf->pair[s->pair].begin;

		REPORT(f, RULE_RETURN_IN_SECTION, i, what, "returns without end for %s at +0x%x%s%s", what,
		       s->off - f->frag[0].off, when[0] ? ", when " : "", when);
	}
}

/* --- Following --- */

/* Go on at instruction @i: a leader joins, and anything else is followed at once. */
static void extra_edges(struct flow *f, uint32_t i, const struct proto *p, const struct env *env)
{
	struct lint_object *obj = f->n->obj;
	const struct fragment *fr = fragment_of(f, i);
	uint32_t off = f->insn[i].off, to;
	size_t e = place_find(obj->edge, obj->nedge, sizeof(*obj->edge), fr->sec, off);
	size_t a = place_find(obj->alt, obj->nalt, sizeof(*obj->alt), fr->sec, off);

	for (; e < obj->nedge && obj->edge[e].sec == fr->sec && obj->edge[e].from == off; e++) {
		to = insn_at(f, fr->sec, obj->edge[e].to);
		if (to != NO_FUNC)
			arrive(f, to, p, env);
	}
	for (; a < obj->nalt && obj->alt[a].sec == fr->sec && obj->alt[a].off == off; a++) {
		const struct lint_alt *alt = &obj->alt[a];
		size_t cursor = lint_rel_find(&obj->sec[alt->rep_sec], alt->rep_off);
		struct lint_target t;

		if (alt->rep_len < 5 || obj->sec[alt->rep_sec].data[alt->rep_off] != 0xe9)
			continue;
		t = lint_branch_target(obj, alt->rep_sec, alt->rep_off, 5, &cursor);
		to = t.kind == TARGET_CODE ? insn_at(f, t.sec, t.off) : NO_FUNC;
		if (to != NO_FUNC)
			arrive(f, to, p, env);
	}
}

static void table_jump(struct flow *f, const struct proto *p, const struct env *env)
{
	struct state *list;
	uint32_t k;

	for (k = 0; k < f->ntable_jump; k++)
		if (!memcmp(&f->table_jump[k].p, p, sizeof(*p)))
			return;
	list = realloc(f->table_jump, (f->ntable_jump + 1) * sizeof(*list));
	if (!list) {
		f->over = true;
		return;
	}
	f->table_jump = list;
	list[f->ntable_jump].p = *p;
	list[f->ntable_jump++].env = *env;
}

static void follow(struct flow *f, uint32_t i, struct proto p, struct env env)
{
	const struct lint_link *l;
	const struct lint_role *r;
	uint32_t first = i, to;

	for (;; i++) {
		const struct lint_insn *insn;
		const struct fragment *fr;
		uint32_t end_of;

		if (i >= f->ninsn)
			return;
		fr = fragment_of(f, i);
		end_of = fr == &f->frag[0] && f->nfrag > 1 ? f->frag[1].first : f->ninsn;
		if (i != first && f->leader[i]) {
			arrive(f, i, &p, &env);
			return;
		}
		if (++f->steps > STEPS_MAX) {
			f->over = true;
			return;
		}
		insn = &f->insn[i];
		f->mark[i] |= MARK_SEEN;
		if (f->mark[i] & MARK_EXTRA)
			extra_edges(f, i, &p, &env);
		if (insn->fp)
			use_fp(f, i, &p);
		switch (insn->kind) {
		case INSN_CALL:
			/* CALL to the next instruction only reads the instruction pointer. */
			if (call(f, i, &p, &env, false) == AFTER_STOP)
				return;
			if (i + 1 == end_of)
				return;
			break;
		case INSN_CALL_IND:
			indirect(f, i, &p);
			env_call(&env, ENV_CALL_ANY);
			break;
		case INSN_JMP:
		case INSN_JCC: {
			struct env other = env;
			size_t cursor = lint_rel_find(&f->n->obj->sec[fr->sec], insn->off);
			struct lint_target t = lint_branch_target(f->n->obj, fr->sec, insn->off, insn->len, &cursor);

			to = t.kind == TARGET_CODE ? insn_at(f, t.sec, t.off) : NO_FUNC;
			if (insn->kind == INSN_JMP || env_branch(&other, insn->cc, true)) {
				if (to != NO_FUNC) {
					arrive(f, to, &p, &other);
				} else {
					struct proto there = p;

					l = link_at(f, i);
					r = link_role(f, l);
					if (r && r->kind == ROLE_INDIRECT) {
						if (!inner_jump(&other))
							indirect(f, i, &there);
						table_jump(f, &there, &other);
					} else if (call(f, i, &there, &other, true) == AFTER_RETURN) {
						leave(f, i, &there, &other);
					}
				}
			}
			if (insn->kind == INSN_JMP && !(f->mark[i] & MARK_FALLS))
				return;
			if (insn->kind == INSN_JCC && !env_branch(&env, insn->cc, false))
				return;
			break;
		}
		case INSN_JMP_IND:
			if (!inner_jump(&env))
				indirect(f, i, &p);
			table_jump(f, &p, &env);
			return;
		case INSN_RET:
			leave(f, i, &p, &env);
			return;
		case INSN_TRAP:
			if (!(f->mark[i] & MARK_WARN))
				return;
			break;
		case INSN_STOP:
		case INSN_BAD:
			return;
		default:
			if (!insn->fp || insn->spoils || insn->dst.loc == LOC_MEM || insn->stores || insn->flags)
				env_step(&env, insn, i, f->mark[i] & MARK_RELOC);
			break;
		}
		/* Running into the next function: the sweep noted that as a jump of no length. */
		if (i + 1 == end_of) {
			l = link_at(f, i);
			if (l && l->kind == EV_JUMP && insn->kind == INSN_PLAIN &&
			    call(f, i, &p, &env, true) == AFTER_RETURN)
				leave(f, i, &p, &env);
			return;
		}
	}
}

static void follow_all(struct flow *f)
{
	while (f->nwork && !f->over) {
		uint32_t i = f->work[--f->nwork], k;
		struct block *b = &f->block[f->leader[i] - 1];

		for (k = 0; k < b->n; k++) {
			struct state *s = b->list[k];

			if (!s->todo)
				continue;
			s->todo = false;
			follow(f, i, s->p, s->env);
		}
	}
}

/*
 * After a computed jump: FP code that nothing else reaches is where it leads. A jump
 * without such code is a call through a pointer in the last place.
 */
static void follow_table(struct flow *f)
{
	uint32_t i, k, n = f->ntable_jump;
	bool any = false;
	struct env bare;

	memset(&bare, 0, sizeof(bare));
	bare.escaped[0] = bare.escaped[1] = INT64_MIN;
	for (i = 0; n && i < f->ninsn; i++) {
		if (f->mark[i] & MARK_SEEN || f->insn[i].kind == INSN_STOP || f->insn[i].op == OP_NONE)
			continue;
		any = true;
		for (k = 0; k < n; k++)
			follow(f, i, f->table_jump[k].p, bare);
		follow_all(f);
	}
	if (any)
		f->sum &= ~(uint32_t)SUM_INDIRECT;
	for (k = 0; k < n && !any; k++)
		if (!inner_jump(&f->table_jump[k].env))
			leave(f, f->ninsn - 1, &f->table_jump[k].p, &f->table_jump[k].env);
}

static void run(struct flow *f, const uint64_t *args, unsigned known)
{
	struct env env;
	struct proto p;
	unsigned a;

	if (!prepare(f)) {
		f->over = true;
		return;
	}
	env_entry(&env);
	memset(&p, 0, sizeof(p));
	for (a = 0; a < 6; a++)
		if (known & 1u << a)
			env_set_arg(&env, a, args[a]);
	if (f->ninsn)
		arrive(f, 0, &p, &env);
	follow_all(f);
	if (f->ntable_jump && !f->over)
		follow_table(f);
	if (f->set_exits & NEED_X87)
		f->sum |= SUM_SETS_X87;
	if (f->set_exits & NEED_MXCSR)
		f->sum |= SUM_SETS_MXCSR;
	f->g->flows++;
}

static void flow_free(struct flow *f)
{
	uint32_t b, k;

	for (b = 0; f->block && b < f->nblock; b++)
		for (k = 0; k < f->block[b].n; k++)
			free(f->block[b].list[k]);
	for (k = 0; k < f->nfrag; k++)
		free(f->frag[k].index);
	free(f->block);
	free(f->insn);
	free(f->mark);
	free(f->leader);
	free(f->work);
	free(f->site);
	free(f->table_jump);
}

/* What a function without any protocol of its own asks is the sum of what is in it. */
static bool leaf(struct lint_graph *g, struct lint_node *n)
{
	const struct lint_func *f = lint_node_func(n);
	uint32_t k, first = f->off;

	if (n->protocol || n->cold != NO_NODE || n->role || g->conf->inline_sections ||
	    f->fp & (FP_SETS_X87 | FP_SETS_MXCSR))
		return false;
	for (k = 0; k < n->nlink; k++) {
		const struct lint_link *l = &g->link[n->link + k];
		const struct lint_node *to = l->node == NO_NODE ? NULL : &g->node[g->node[l->node].whole];

		if (l->kind == EV_INDIRECT)
			return false;
		if (to && (to->sum & ~(uint32_t)SUM_KEEPS))
			return false;
	}
	for (k = 0; k < f->nev; k++)
		if (n->obj->ev[f->ev + k].kind == EV_FP) {
			first = n->obj->ev[f->ev + k].off;
			break;
		}
	n->sum = SUM_KEEPS;
	if (f->fp_insns || f->state_insns)
		n->sum |= SUM_REQUIRES | (f->state_insns ? SUM_STATE : 0);
	n->need = lint_needs(f->fp);
	n->fp = f->fp;
	n->uses = f->fp_insns + f->state_insns;
	n->first_use = first;
	for (k = 0; k < n->nlink; k++)
		g->link[n->link + k].seen |= SEEN_ENTRY;
	return true;
}

bool lint_flow(struct lint_graph *g, uint32_t id, bool emit)
{
	struct lint_node *n = &g->node[id];
	uint32_t sum = n->sum, need = n->need, fp = n->fp;
	struct flow f = { .g = g, .n = n, .id = id, .emit = emit };
	bool changed;

	n->analysed = true;
	if (!leaf(g, n)) {
		run(&f, NULL, 0);
		n->sum = f.sum;
		n->need = f.need;
		n->fp = f.fp;
		n->uses = f.uses;
		n->first_use = f.first_use;
		n->first_end = f.first_end;
		free(n->site);
		n->site = f.site;
		n->nsite = f.nsite;
		f.site = NULL;
		if (f.over) {
			struct lint_finding at = lint_finding_at(g, RULE_LIMIT, id, lint_node_func(n)->off);

			n->sum |= SUM_LIMIT;
			if (emit)
				lint_finding_add(&g->found, &at, NULL, "not all paths were followed");
		}
		flow_free(&f);
	}
	changed = n->sum != sum || n->need != need || n->fp != fp;
	n->version += changed;
	return changed;
}

uint32_t lint_flow_with(struct lint_graph *g, uint32_t id, const uint64_t *args, unsigned known)
{
	struct lint_node *n = &g->node[id];
	struct flow f = { .g = g, .n = n, .id = id, .quiet = true };
	struct lint_flow_memo *m;
	uint64_t h = (uint64_t)id * 0x9e3779b97f4a7c15u + known;
	unsigned a;

	if (!g->memo)
		g->memo = calloc(MEMO_MAX, sizeof(*g->memo));
	if (!g->memo)
		return n->sum;
	for (a = 0; a < 6; a++)
		h = (h ^ args[a]) * 0x9e3779b97f4a7c15u;
	m = &g->memo[h >> 52 & (MEMO_MAX - 1)];
	if (m->known == known && m->node == id && m->version == n->version + 1 &&
	    !memcmp(m->args, args, sizeof(m->args)))
		return m->sum;
	run(&f, args, known);
	m->node = id;
	m->version = n->version + 1;
	m->known = known;
	memcpy(m->args, args, sizeof(m->args));
	m->sum = f.over ? n->sum : f.sum;
	flow_free(&f);
	return m->sum;
}

void lint_flow_forget(struct lint_graph *g)
{
	free(g->memo);
	g->memo = NULL;
}

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
#include <stdlib.h>
#include <string.h>

#include "lint/flow.h"
#include "lint/sweep.h"

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

/* Calls in code that may be patched over instruction @i, going on behind what they replace. */
static void alternative_calls(struct flow *f, uint32_t i, const struct proto *p,
                              const struct env *env)
{
	const struct lint_node *n = &f->g->node[flow_fragment(f, i)->node];
	uint32_t k, off = f->insn[i].off, end, to;

	for (k = flow_link_first(f, i); k < n->link + n->nlink && f->g->link[k].off == off; k++) {
		const struct lint_link *l = &f->g->link[k];
		struct proto there = *p;
		struct env other = *env;

		if (!l->alt)
			continue;
		if (l->kind == EV_JUMP) {
			if (flow_call(f, i, l, &there, &other, true) == AFTER_RETURN)
				flow_leave(f, i, &there, &other);
			continue;
		}
		if (flow_call(f, i, l, &there, &other, false) == AFTER_STOP)
			continue;
		end = flow_replaced_end(f, i);
		to = flow_insn_at(f, flow_fragment(f, i)->sec, end);
		if (to != NO_FUNC)
			arrive(f, to, &there, &other);
	}
}

/* Go on at instruction @i: a leader joins, and anything else is followed at once. */
static void extra_edges(struct flow *f, uint32_t i, const struct proto *p, const struct env *env)
{
	struct lint_object *obj = f->n->obj;
	const struct fragment *fr = flow_fragment(f, i);
	uint32_t off = f->insn[i].off, to;
	size_t e = flow_place(obj->edge, obj->nedge, sizeof(*obj->edge), fr->sec, off);
	size_t a = flow_place(obj->alt, obj->nalt, sizeof(*obj->alt), fr->sec, off);

	for (; e < obj->nedge && obj->edge[e].sec == fr->sec && obj->edge[e].from == off; e++) {
		to = flow_insn_at(f, fr->sec, obj->edge[e].to);
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
		to = t.kind == TARGET_CODE ? flow_insn_at(f, t.sec, t.off) : NO_FUNC;
		if (to != NO_FUNC)
			arrive(f, to, p, env);
	}
	alternative_calls(f, i, p, env);
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
		fr = flow_fragment(f, i);
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
			flow_use_fp(f, i, &p);
		switch (insn->kind) {
		case INSN_CALL:
			/* CALL to the next instruction only reads the instruction pointer. */
			if (flow_call(f, i, flow_link(f, i), &p, &env, false) == AFTER_STOP)
				return;
			if (i + 1 == end_of)
				return;
			break;
		case INSN_CALL_IND:
			/* Through the linker's table it is a call by name. */
			l = flow_link(f, i);
			if (l && l->kind == EV_CALL) {
				if (flow_call(f, i, l, &p, &env, false) == AFTER_STOP)
					return;
				break;
			}
			flow_indirect(f, i, &p);
			env_call(&env, ENV_CALL_ANY);
			break;
		case INSN_JMP:
		case INSN_JCC: {
			struct env other = env;
			size_t cursor = lint_rel_find(&f->n->obj->sec[fr->sec], insn->off);
			struct lint_target t = lint_branch_target(f->n->obj, fr->sec, insn->off,
			                                          insn->len, &cursor);

			to = t.kind == TARGET_CODE ? flow_insn_at(f, t.sec, t.off) : NO_FUNC;
			if (insn->kind == INSN_JMP || env_branch(&other, insn->cc, true)) {
				if (to != NO_FUNC) {
					arrive(f, to, &p, &other);
				} else {
					struct proto there = p;

					l = flow_link(f, i);
					r = flow_role(f, l);
					if (r && r->kind == ROLE_INDIRECT) {
						if (!flow_inner_jump(&other))
							flow_indirect(f, i, &there);
						table_jump(f, &there, &other);
					} else if (flow_call(f, i, l, &there, &other, true) ==
					           AFTER_RETURN) {
						flow_leave(f, i, &there, &other);
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
			l = flow_link(f, i);
			if (l && l->kind == EV_JUMP) {
				if (flow_call(f, i, l, &p, &env, true) == AFTER_RETURN)
					flow_leave(f, i, &p, &env);
				return;
			}
			if (!flow_inner_jump(&env))
				flow_indirect(f, i, &p);
			table_jump(f, &p, &env);
			return;
		case INSN_RET:
			flow_leave(f, i, &p, &env);
			return;
		case INSN_TRAP:
			if (!(f->mark[i] & MARK_WARN))
				return;
			break;
		case INSN_STOP:
		case INSN_BAD:
			return;
		default:
			if (!insn->fp || insn->spoils || insn->dst.loc == LOC_MEM || insn->stores ||
			    insn->flags)
				env_step(&env, insn, i, f->mark[i] & MARK_RELOC);
			break;
		}
		/* Running into the next function: the sweep noted that as a jump of no length. */
		if (i + 1 == end_of) {
			l = flow_link(f, i);
			if (l && l->kind == EV_JUMP && insn->kind == INSN_PLAIN &&
			    flow_call(f, i, l, &p, &env, true) == AFTER_RETURN)
				flow_leave(f, i, &p, &env);
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
		if (f->mark[i] & MARK_SEEN || f->insn[i].kind == INSN_STOP ||
		    f->insn[i].op == OP_NONE)
			continue;
		any = true;
		for (k = 0; k < n; k++)
			follow(f, i, f->table_jump[k].p, bare);
		follow_all(f);
	}
	if (any)
		f->sum &= ~(uint32_t)SUM_INDIRECT;
	for (k = 0; k < n && !any; k++)
		if (!flow_inner_jump(&f->table_jump[k].env))
			flow_leave(f, f->ninsn - 1, &f->table_jump[k].p, &f->table_jump[k].env);
}

static void run(struct flow *f, const uint64_t *args, unsigned known)
{
	struct env env;
	struct proto p;
	unsigned a;

	if (!flow_prepare(f)) {
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
	for (k = 0; k < 255; k++)
		free(f->used[k]);
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
		const struct lint_node *to =
		        l->node == NO_NODE ? NULL : &g->node[g->node[l->node].whole];

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
	struct flow f = {.g = g, .n = n, .id = id, .emit = emit};
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
			struct lint_finding at =
			        lint_finding_at(g, RULE_LIMIT, id, lint_node_func(n)->off);

			n->sum |= SUM_LIMIT;
			if (emit)
				lint_finding_add(&g->found, &at, NULL,
				                 "not all paths were followed");
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
	struct flow f = {.g = g, .n = n, .id = id, .quiet = true};
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

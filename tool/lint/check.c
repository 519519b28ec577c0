// SPDX-License-Identifier: BSD-2-Clause
/*
 * Judging the graph: which functions that ask for a section are entered without one, and
 * whether each section declared what it needs. A violation is told once, at the boundary:
 * where a function without FP code of its own calls one that has some.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lint/run.h"
#include "lint/sweep.h"

#define CHAIN_MAX 24

static bool excused(const struct lint_node *n)
{
	return n->role && (n->role->kind == ROLE_OWNER || n->role->kind == ROLE_BEGIN ||
	                   n->role->kind == ROLE_END || n->role->kind == ROLE_BEGINS ||
	                   n->role->kind == ROLE_ENDS || n->role->kind == ROLE_FOREIGN);
}

static const char *insn_name(const struct lint_node *n, uint32_t off)
{
	/* The first use may be in the cold part, which is another section's. */
	if (off - lint_node_func(n)->off >= lint_node_func(n)->size)
		return "FP code";
	return lint_fp_name(n->obj, lint_node_func(n)->sec, off);
}

/*
 * Which functions are called in a section by anybody in the files given: directly, or from a
 * function that is itself and calls on as it was entered.
 */
static bool inside_mark(const struct lint_graph *g, uint8_t *inside)
{
	uint32_t *list = malloc((g->nnode ? g->nnode : 1) * sizeof(*list)), n = 0, i, k, part;
	size_t l;

	if (!list)
		return false;
	for (l = 0; l < g->nlink; l++) {
		const struct lint_link *link = &g->link[l];
		uint32_t to = link->node == NO_NODE ? NO_NODE : g->node[link->node].whole;

		if (to == NO_NODE || inside[to])
			continue;
		if (link->seen & SEEN_IN ||
		    (link->seen & SEEN_ENTRY && !g->node[g->node[link->from].whole].out)) {
			inside[to] = 1;
			list[n++] = to;
		}
	}
	for (i = 0; i < n; i++)
		for (part = list[i]; part != NO_NODE;
		     part = part == list[i] ? g->node[part].cold : NO_NODE)
			for (k = 0; k < g->node[part].nlink; k++) {
				const struct lint_link *link = &g->link[g->node[part].link + k];
				uint32_t to =
				        link->node == NO_NODE ? NO_NODE : g->node[link->node].whole;

				if (to == NO_NODE || inside[to] || !(link->seen & SEEN_ENTRY))
					continue;
				inside[to] = 1;
				list[n++] = to;
			}
	free(list);
	return true;
}

struct walk {
	struct lint_graph *g;
	uint32_t stack[CHAIN_MAX];
	uint32_t depth;
	uint8_t *done;
	uint8_t *inside; /* called in a section, by function */
	uint8_t *told;   /* an error at a boundary names it */
	const char *why; /* how the root is entered */
	bool perhaps;    /* it may be entered in a section after all */
};

/* An earlier call of the same function from the same one: the boundary was told already. */
static bool called_before(const struct lint_graph *g, const struct lint_node *n, uint32_t k)
{
	uint32_t i;

	for (i = 0; i < k; i++)
		if (g->link[n->link + i].node == g->link[n->link + k].node &&
		    g->link[n->link + i].seen & SEEN_ENTRY)
			return true;
	return false;
}

static void chain_text(const struct walk *w, const char *last, char *buf, size_t bytes)
{
	size_t used = 0;
	uint32_t i;
	int n;

	buf[0] = '\0';
	for (i = 0; i <= w->depth; i++) {
		const char *name = i < w->depth ? lint_node_name(&w->g->node[w->stack[i]]) : last;

		if (!name)
			break;
		n = snprintf(buf + used, bytes - used, "%s%s", i ? " > " : "", name);
		if (n < 0 || (size_t)n >= bytes - used)
			return;
		used += (size_t)n;
	}
}

/* From a root that is entered outside: all boundaries that its calls lead over. */
static void boundaries(struct walk *w, uint32_t id)
{
	struct lint_graph *g = w->g;
	struct lint_node *n = &g->node[id];
	char chain[1024];
	uint32_t part, k;

	if (w->done[id] || w->depth == CHAIN_MAX)
		return;
	w->done[id] = 1;
	w->stack[w->depth++] = id;
	if (n->uses) {
		bool state = n->sum & SUM_STATE && !(n->fp & FP_USE);
		struct lint_finding at = lint_finding_at(
		        g, state ? RULE_STATE_INSN : RULE_FP_OUTSIDE, id, n->first_use);

		at.callee = (char *)(uintptr_t)insn_name(n, n->first_use);
		chain_text(w, NULL, chain, sizeof(chain));
		lint_finding_add(&g->found, &at, w->depth > 1 ? chain : NULL,
		                 "%s%s runs with no section begun; %s", at.callee,
		                 n->uses > 1 ? " (the first of several)" : "", w->why);
	} else {
		for (part = id; part != NO_NODE; part = part == id ? n->cold : NO_NODE)
			for (k = 0; k < g->node[part].nlink; k++) {
				const struct lint_link *l = &g->link[g->node[part].link + k];
				uint32_t to = l->node == NO_NODE ? NO_NODE : g->node[l->node].whole;

				if (to == NO_NODE || !(l->seen & SEEN_ENTRY) ||
				    excused(&g->node[to]) || !(g->node[to].sum & SUM_REQUIRES) ||
				    called_before(g, &g->node[part], k))
					continue;
				if (!g->node[to].uses) {
					boundaries(w, to);
					continue;
				}
				struct lint_finding at =
				        lint_finding_at(g, RULE_CALL_FP_OUTSIDE, part, l->off);

				if (w->perhaps && at.severity == SEV_ERROR)
					at.severity = SEV_WARNING;
				w->told[to] |= at.severity == SEV_ERROR;
				at.callee = (char *)(uintptr_t)lint_node_name(&g->node[to]);
				chain_text(w, at.callee, chain, sizeof(chain));
				lint_finding_add(&g->found, &at, w->depth > 1 ? chain : NULL,
				                 "%s uses FP registers and is called with no "
				                 "section begun; %s",
				                 at.callee, w->why);
			}
	}
	w->depth--;
}

/* Every pointer call of an object is made inside a section. */
static bool pointers_inside(const struct lint_graph *g, const struct lint_object *obj)
{
	bool any = false;
	size_t k;

	for (k = 0; k < g->nlink; k++) {
		const struct lint_link *l = &g->link[k];
		const struct lint_node *from = &g->node[g->node[l->from].whole];

		if (l->kind != EV_INDIRECT || from->obj != obj)
			continue;
		any = true;
		if (l->seen == SEEN_IN ||
		    ((l->seen == SEEN_ENTRY || !from->analysed) && !from->out))
			continue;
		return false;
	}
	return any;
}

static void requirement(struct walk *w, uint32_t id)
{
	struct lint_graph *g = w->g;
	struct lint_node *n = &g->node[id];
	uint32_t flags = lint_node_func(n)->flags;
	struct lint_finding at;
	char why[128];

	w->depth = 0;
	if (n->role && n->role->kind == ROLE_POINTER) {
		n->role->used++;
		return;
	}
	if (flags & FUNC_ENTRY) {
		w->why = "the kernel calls it when the module is loaded or removed";
		boundaries(w, id);
		return;
	}
	if (flags & FUNC_POINTER) {
		if (pointers_inside(g, n->obj)) {
			g->resolved++;
			return;
		}
		/* Without FP code of its own it hardly has a contract: show what it leads to. */
		if (!n->uses && !(n->sum & SUM_STATE)) {
			w->why = "it is reached through a pointer, perhaps from a section";
			w->perhaps = true;
			boundaries(w, id);
			w->perhaps = false;
			return;
		}
		at = lint_finding_at(g, RULE_UNRESOLVED_POINTER, id,
		                     n->uses ? n->first_use : lint_node_func(n)->off);
		at.callee = (char *)(uintptr_t) "-";
		lint_finding_add(
		        &g->found, &at, NULL,
		        "%s needs a section of its caller and is reached through a pointer",
		        lint_node_name(n));
		return;
	}
	if (flags & FUNC_EXPORTED) {
		const char *called = n->obj->kernel_module ? "exported" : "global";

		if (w->inside[id]) {
			at = lint_finding_at(g, RULE_EXPORTED, id,
			                     n->uses ? n->first_use : lint_node_func(n)->off);
			at.callee = (char *)(uintptr_t) "-";
			lint_finding_add(&g->found, &at, NULL,
			                 "%s is %s and needs a section of its caller",
			                 lint_node_name(n), called);
			return;
		}
		/* One violation, one error: where its callers call it, if that is one. */
		if (w->told[id])
			return;
		snprintf(why, sizeof(why), "it is %s, and %s", called,
		         n->callers == UINT32_MAX ? "nothing in the files given calls it in one"
		                                  : "no caller in the files given has begun one");
		w->why = why;
		boundaries(w, id);
		return;
	}
	if (n->callers == UINT32_MAX) {
		if (n->obj->relocatable && !n->obj->kernel_module && flags & FUNC_GLOBAL) {
			w->why = "anybody may call it";
			boundaries(w, id);
			return;
		}
		at = lint_finding_at(g, RULE_UNREACHED, id,
		                     n->uses ? n->first_use : lint_node_func(n)->off);
		at.callee = (char *)(uintptr_t) "-";
		lint_finding_add(&g->found, &at, NULL, "%s needs a section, but nothing calls it",
		                 lint_node_name(n));
	}
}

static void sites(struct lint_graph *g, uint32_t id)
{
	struct lint_node *n = &g->node[id];
	bool inside = pointers_inside(g, n->obj);
	char a[32], b[32];
	size_t i;

	for (i = 0; i < n->nsite; i++) {
		struct lint_site *s = &n->site[i];
		const char *what = s->pair == UINT32_MAX ? "section" : g->conf->pair[s->pair].begin;
		struct lint_finding at = lint_finding_at(g, RULE_MASK_OVER, id, s->off);
		uint32_t declared = (uint32_t)s->mask, k;

		if (s->pair == UINT32_MAX)
			continue;
		/* What pointers of this object can reach is a candidate for its calls. */
		if (s->indirect && inside) {
			uint32_t found = 0;

			for (k = 0; k < g->nnode; k++) {
				const struct lint_node *c = &g->node[k];

				if (c->obj == n->obj && lint_node_func(c)->flags & FUNC_POINTER &&
				    c->sum & SUM_REQUIRES) {
					s->need |= c->need;
					s->fp |= c->fp;
					s->calls_fp = true;
					found++;
				}
			}
			s->indirect = !found;
		}
		at.callee = (char *)(uintptr_t)what;
		lint_needs_text(s->need, a, sizeof(a));
		if (s->mask < 0 || s->indirect || s->unknown) {
			at = lint_finding_at(g, RULE_MASK_UNKNOWN, id, s->off);
			at.callee = (char *)(uintptr_t)what;
			s->verdict = VERDICT_UNKNOWN;
			if (s->mask >= 0 && s->need & ~declared)
				goto under;
			lint_finding_add(&g->found, &at, NULL,
			                 s->mask < 0  ? "the mask is not a constant"
			                 : s->unknown ? "the section holds instructions this "
			                                "decoder does not know"
			                              : "the section calls through a pointer");
			continue;
		}
		if (!s->insns && !s->calls_fp && !(s->fp & FP_STATE)) {
			s->verdict = VERDICT_EMPTY;
			at = lint_finding_at(g, RULE_NO_FP, id, s->off);
			at.callee = (char *)(uintptr_t)what;
			lint_finding_add(
			        &g->found, &at, NULL, "nothing in the section uses FP registers%s",
			        s->external ? ", unless functions outside the files given do" : "");
			continue;
		}
		s->verdict = declared == s->need ? VERDICT_EXACT : VERDICT_OVER;
	under:
		if (s->need & ~declared) {
			s->verdict = VERDICT_UNDER;
			at = lint_finding_at(g, RULE_MASK_UNDER, id, s->off);
			at.callee = (char *)(uintptr_t)what;
			lint_needs_text(declared, b, sizeof(b));
			lint_finding_add(&g->found, &at, NULL, "declares %s, needs %s", b, a);
		}
		if (declared & ~s->need && !s->unknown && !s->indirect) {
			lint_needs_text(declared & ~s->need, b, sizeof(b));
			at = lint_finding_at(g, RULE_MASK_OVER, id, s->off);
			at.callee = (char *)(uintptr_t)what;
			lint_finding_add(&g->found, &at, NULL,
			                 "declares %s without need: %s%s%s at each begin", b,
			                 declared & ~s->need & NEED_X87 ? "an FNINIT" : "",
			                 (declared & ~s->need & (NEED_X87 | NEED_MXCSR)) ==
			                                 (NEED_X87 | NEED_MXCSR)
			                         ? " and "
			                         : "",
			                 declared & ~s->need & NEED_MXCSR ? "an LDMXCSR" : "");
		}
	}
}

static void undecodable(struct lint_graph *g, uint32_t id)
{
	struct lint_node *n = &g->node[id];
	const struct lint_func *f = lint_node_func(n);
	uint32_t k, first = 0, count = 0;

	if (n->role && n->role->kind == ROLE_FOREIGN)
		return;
	for (k = 0; k < f->nev; k++)
		if (n->obj->ev[f->ev + k].kind == EV_BAD && !count++)
			first = n->obj->ev[f->ev + k].off;
	if (count) {
		struct lint_finding at = lint_finding_at(g, RULE_UNDECODABLE, id, first);

		at.callee = (char *)(uintptr_t) "-";
		lint_finding_add(&g->found, &at, NULL, "%u byte%s that %s no instruction", count,
		                 count == 1 ? "" : "s", count == 1 ? "is" : "are");
	}
}

/* With FP forbidden altogether, who calls whom does not matter. */
static void forbidden(struct lint_graph *g, uint32_t id)
{
	struct lint_node *n = &g->node[id];
	const struct lint_func *f = lint_node_func(n);
	bool core = lint_conf_object(g->conf, n->obj->module);
	uint32_t k, state = 0;

	if (!f->fp_insns && !f->state_insns)
		return;
	if (excused(n)) {
		n->role->used++;
		return;
	}
	for (k = 0; k < f->nev; k++) {
		const struct lint_event *ev = &n->obj->ev[f->ev + k];
		struct lint_finding at;

		if (ev->kind != EV_FP)
			continue;
		/* Managing the state takes no vector register; x87 and MMX scrub its pointers. */
		if (core && !(ev->arg & FP_VECTOR))
			continue;
		if (!(ev->arg & FP_USE) && state++)
			continue;
		at = lint_finding_at(g, ev->arg & FP_USE ? RULE_FP_OUTSIDE : RULE_STATE_INSN, id,
		                     ev->off);
		at.callee = (char *)(uintptr_t)insn_name(n, ev->off);
		lint_finding_add(&g->found, &at, NULL,
		                 "%s, where no FP instruction may be (%u in this function)",
		                 at.callee, f->fp_insns + f->state_insns);
		if (ev->arg & FP_USE)
			return;
	}
}

static bool forbid_walk(struct walk *w, uint32_t id)
{
	struct lint_graph *g = w->g;
	struct lint_node *n = &g->node[id];
	const struct lint_func *f = lint_node_func(n);
	char chain[1024];
	uint32_t k;

	if (w->done[id] || w->depth == CHAIN_MAX)
		return false;
	w->done[id] = 1;
	w->stack[w->depth++] = id;
	if (f->fp_insns || f->state_insns || n->protocol) {
		struct lint_finding at = lint_finding_at(
		        g, RULE_FORBIDDEN, w->stack[0], lint_node_func(&g->node[w->stack[0]])->off);

		at.callee = (char *)(uintptr_t)f->name;
		chain_text(w, NULL, chain, sizeof(chain));
		lint_finding_add(&g->found, &at, chain, "reaches FP code in %s (%s)", f->name,
		                 g->node[w->stack[0]].role->reason);
		return true;
	}
	for (k = 0; k < n->nlink; k++) {
		const struct lint_link *l = &g->link[n->link + k];

		if (l->node != NO_NODE && forbid_walk(w, g->node[l->node].whole))
			return true;
	}
	w->depth--;
	return false;
}

bool lint_graph_check(struct lint_graph *g)
{
	struct walk w = {.g = g};
	uint32_t id, pass;
	bool ok = false;

	w.done = calloc(g->nnode + 1, 1);
	w.inside = calloc(g->nnode + 1, 1);
	w.told = calloc(g->nnode + 1, 1);
	if (!w.done || !w.inside || !w.told)
		goto out;
	for (id = 0; id < g->nnode; id++) {
		struct lint_node *n = &g->node[id];

		if (n->instead != NO_NODE)
			continue;
		undecodable(g, id);
		if (g->conf->forbidden) {
			forbidden(g, id);
			continue;
		}
		if (n->whole != id)
			continue;
		if (n->analysed && !excused(n)) {
			lint_flow(g, id, true);
			sites(g, id);
			if (n->sum & SUM_ENDS && n->out) {
				struct lint_finding at = lint_finding_at(g, RULE_END_WITHOUT_BEGIN,
				                                         id, n->first_end);

				at.callee = (char *)(uintptr_t) "-";
				lint_finding_add(&g->found, &at, NULL,
				                 "ends a section that it did not begin; it may be "
				                 "entered outside one");
			}
		} else if (n->analysed) {
			n->role->used++;
		}
	}
	if (!inside_mark(g, w.inside))
		goto out;
	/* Those that are called by others given come last: a boundary may have told of them. */
	for (pass = 0; pass < 3 && !g->conf->forbidden; pass++)
		for (id = 0; id < g->nnode; id++) {
			struct lint_node *n = &g->node[id];
			uint32_t flags = lint_node_func(n)->flags;

			if (n->whole == id && n->sum & SUM_REQUIRES && !excused(n) &&
			    (n->callers == UINT32_MAX ||
			     flags & (FUNC_EXPORTED | FUNC_POINTER | FUNC_ENTRY)) &&
			    (n->callers == UINT32_MAX ? 0u
			     : n->uses                ? 2u
			                              : 1u) == pass)
				requirement(&w, id);
		}
	for (id = 0; id < g->nnode; id++) {
		struct lint_node *n = &g->node[id];

		if (n->role && n->role->kind == ROLE_FORBID) {
			n->role->used++;
			memset(w.done, 0, g->nnode);
			w.depth = 0;
			forbid_walk(&w, id);
		}
	}
	lint_findings_sort(&g->found);
	ok = !g->found.lost;
out:
	free(w.done);
	free(w.inside);
	free(w.told);
	return ok;
}

enum lint_answer lint_graph_answer(const struct lint_graph *g, uint32_t id)
{
	uint32_t *list, n = 0, i, l;
	uint8_t *seen;
	enum lint_answer best = ANSWER_NOCALLER;
	bool direct = false;

	if (!(g->node[id].sum & SUM_REQUIRES) && !excused(&g->node[id]))
		return ANSWER_SELF;
	list = malloc(g->nnode * sizeof(*list));
	seen = calloc(g->nnode, 1);
	if (!list || !seen)
		goto out;
	list[n++] = id;
	seen[id] = 1;
	for (i = 0; i < n; i++) {
		const struct lint_node *node = &g->node[list[i]];
		uint32_t flags = lint_node_func(node)->flags;

		if (flags & FUNC_EXPORTED) {
			best = ANSWER_EXPORTED;
			break;
		}
		if (flags & FUNC_POINTER)
			best = ANSWER_POINTER;
		for (l = node->callers; l != UINT32_MAX; l = g->link[l].next_caller) {
			const struct lint_link *k = &g->link[l];
			uint32_t from = g->node[k->from].whole;

			direct |= (k->seen & SEEN_IN) != 0;
			if ((k->seen & SEEN_ENTRY || !g->node[from].analysed || excused(node)) &&
			    !seen[from]) {
				seen[from] = 1;
				list[n++] = from;
			}
		}
	}
	if (best == ANSWER_NOCALLER && direct)
		best = ANSWER_DIRECT;
out:
	free(list);
	free(seen);
	return best;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Building the graph over all objects and letting the summaries settle. A function is
 * followed when it holds FP code or speaks the protocol itself, and again whenever what it
 * calls turned out to ask more of its callers. Summaries only grow, so this ends.
 */
#include "lint/graph.h"

#include <stdlib.h>
#include <string.h>

#include "lint/sweep.h"

static size_t hash(const char *s)
{
	size_t h = 1469598103934665603u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return h ^ h >> 29;
}

static struct lint_extern *extern_find(const struct lint_graph *g, const char *name)
{
	struct lint_extern *e;

	for (e = g->bucket[hash(name) & (g->nbucket - 1)]; e; e = e->next)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

static struct lint_extern *extern_get(struct lint_graph *g, const char *name)
{
	struct lint_extern **at = &g->bucket[hash(name) & (g->nbucket - 1)],
	                   *e = extern_find(g, name);

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->name = name;
	e->node = NO_NODE;
	e->role = lint_conf_role(g->conf, name, NULL);
	if (e->role)
		e->role->matched = true;
	e->next = *at;
	*at = e;
	return e;
}

/* Of several definitions of a name the exported one counts, else the strong, else the first. */
static int binding(const struct lint_graph *g, uint32_t id)
{
	uint32_t flags = lint_node_func(&g->node[id])->flags;

	return (flags & FUNC_EXPORTED ? 2 : 0) + (flags & FUNC_WEAK ? 0 : 1);
}

/* A linker drops weak functions that another object defines strongly; modules are linked. */
static void overrides_mark(struct lint_graph *g)
{
	uint32_t id;

	for (id = 0; id < g->nnode; id++) {
		struct lint_node *n = &g->node[id];
		const struct lint_extern *e;

		if (!(lint_node_func(n)->flags & FUNC_WEAK) || !n->obj->relocatable ||
		    n->obj->kernel_module)
			continue;
		e = extern_find(g, lint_node_name(n));
		if (!e || e->node == NO_NODE || e->node == id ||
		    g->node[e->node].obj->kernel_module)
			continue;
		n->instead = e->node;
	}
}

static bool define(struct lint_graph *g, const char *name, uint32_t id)
{
	struct lint_extern *e = extern_get(g, name);

	if (!e)
		return false;
	if (e->node == NO_NODE || binding(g, id) > binding(g, e->node))
		e->node = id;
	return true;
}

/* Other names of functions: calls by them, and facts about them. */
static bool aliases_define(struct lint_graph *g)
{
	size_t o, i;

	for (o = 0; o < g->nobj; o++)
		for (i = 0; i < g->obj[o]->nalias; i++) {
			const struct lint_alias *a = &g->obj[o]->alias[i];
			struct lint_node *n = &g->node[g->base[o] + a->func];

			if (!define(g, a->name, g->base[o] + a->func))
				return false;
			if (n->role)
				continue;
			n->role = lint_conf_role(g->conf, a->name, g->obj[o]);
			if (n->role)
				n->role->matched = true;
		}
	return true;
}

static bool nodes_make(struct lint_graph *g)
{
	size_t o, i, n = 0;

	g->base = calloc(g->nobj + 1, sizeof(*g->base));
	if (!g->base)
		return false;
	for (o = 0; o < g->nobj; o++) {
		g->base[o] = (uint32_t)n;
		n += g->obj[o]->nfunc;
	}
	g->base[o] = (uint32_t)n;
	if (n >= NO_NODE)
		return false;
	g->node = calloc(n ? n : 1, sizeof(*g->node));
	if (!g->node)
		return false;
	g->nnode = n;
	for (o = 0; o < g->nobj; o++)
		for (i = 0; i < g->obj[o]->nfunc; i++) {
			uint32_t id = g->base[o] + (uint32_t)i;
			struct lint_node *node = &g->node[id];
			struct lint_func *f = &g->obj[o]->func[i];

			node->obj = g->obj[o];
			node->func = (uint32_t)i;
			node->whole = id;
			node->cold = NO_NODE;
			node->instead = NO_NODE;
			node->callers = UINT32_MAX;
			node->role = lint_conf_role(g->conf, f->name, g->obj[o]);
			if (node->role)
				node->role->matched = true;
			if (f->flags & (FUNC_EXPORTED | FUNC_GLOBAL) && !define(g, f->name, id))
				return false;
		}
	return true;
}

static int cold_order(const void *a, const void *b)
{
	const struct lint_func *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* "f.cold" is where the compiler put the unlikely part of f. */
static bool cold_join(struct lint_graph *g, size_t o)
{
	struct lint_object *obj = g->obj[o];
	struct lint_func **list = malloc((obj->nfunc ? obj->nfunc : 1) * sizeof(*list));
	char name[512];
	size_t i, n = 0;

	if (!list)
		return false;
	for (i = 0; i < obj->nfunc; i++) {
		size_t len = strlen(obj->func[i].name);

		if (len > 5 && len < sizeof(name) && !strcmp(obj->func[i].name + len - 5, ".cold"))
			list[n++] = &obj->func[i];
	}
	if (n) {
		qsort(list, n, sizeof(*list), cold_order);
		for (i = 0; i < obj->nfunc; i++) {
			struct lint_func key = {.name = name}, *k = &key, **hit;
			size_t len = strlen(obj->func[i].name);
			uint32_t cold;

			if (len + 6 > sizeof(name))
				continue;
			memcpy(name, obj->func[i].name, len);
			memcpy(name + len, ".cold", 6);
			hit = bsearch(&k, list, n, sizeof(*list), cold_order);
			if (!hit)
				continue;
			/* Several static functions of one name: the part nobody has taken yet. */
			while (hit > list && !strcmp(hit[-1]->name, name))
				hit--;
			while (hit < list + n && !strcmp((*hit)->name, name) &&
			       g->node[g->base[o] + (size_t)(*hit - obj->func)].whole !=
			               g->base[o] + (size_t)(*hit - obj->func))
				hit++;
			if (hit == list + n || strcmp((*hit)->name, name) != 0)
				continue;
			cold = g->base[o] + (uint32_t)(*hit - obj->func);
			g->node[cold].whole = g->base[o] + (uint32_t)i;
			g->node[g->base[o] + i].cold = cold;
		}
	}
	free(list);
	return true;
}

static uint32_t node_at(const struct lint_graph *g, size_t o, uint32_t sec, uint32_t off)
{
	uint32_t f = lint_func_at(g->obj[o], sec, off);

	return f == NO_FUNC ? NO_NODE : g->base[o] + f;
}

static bool link_make(struct lint_graph *g, size_t *cap, size_t o, uint32_t from,
                      const struct lint_event *ev, size_t *cursor)
{
	bool call = ev->kind == EV_CALL || ev->kind == EV_ALT_CALL;
	bool jump = ev->kind == EV_JUMP || ev->kind == EV_ALT_JUMP;
	struct lint_link l = {.off = ev->off,
	                      .node = NO_NODE,
	                      .kind = call   ? EV_CALL
	                              : jump ? EV_JUMP
	                                     : EV_INDIRECT,
	                      .alt = ev->kind == EV_ALT_CALL || ev->kind == EV_ALT_JUMP,
	                      .from = from,
	                      .next_caller = UINT32_MAX};
	uint32_t sec = lint_node_func(&g->node[from])->sec;

	if (ev->kind != EV_INDIRECT) {
		const struct lint_func *f = lint_node_func(&g->node[from]);
		struct lint_target t = {TARGET_CODE, sec, f->off + f->size, NULL};

		if (l.alt)
			t = lint_replaced_target(g->obj[o], ev->arg);
		else if (ev->arg)
			t = lint_branch_target(g->obj[o], sec, ev->off, ev->arg, cursor);

		if (t.kind == TARGET_EXTERN) {
			l.ext = extern_get(g, t.name);
			if (!l.ext)
				return false;
			l.node = l.ext->node;
			if (l.ext->role && l.ext->role->kind == ROLE_INDIRECT)
				l.kind = EV_INDIRECT;
		} else if (t.kind == TARGET_CODE) {
			l.node = node_at(g, o, t.sec, t.off);
			if (l.node != NO_NODE && g->node[l.node].instead != NO_NODE)
				l.node = g->node[l.node].instead;
			/* A call to the next instruction is how code finds its own address. */
			if (l.node == NO_NODE || (l.node == from && call &&
			                          t.off != lint_node_func(&g->node[from])->off))
				return true;
			if (jump && g->node[l.node].whole == g->node[from].whole)
				return true;
			if (g->node[l.node].role && g->node[l.node].role->kind == ROLE_INDIRECT)
				l.kind = EV_INDIRECT;
		} else {
			return true;
		}
	}
	if (g->nlink == *cap) {
		size_t more = *cap ? *cap * 2 : 1024;
		struct lint_link *list = realloc(g->link, more * sizeof(*list));

		if (!list || more >= UINT32_MAX) {
			if (list)
				g->link = list;
			return false;
		}
		g->link = list;
		*cap = more;
	}
	g->link[g->nlink++] = l;
	return true;
}

static bool links_make(struct lint_graph *g)
{
	size_t o, i, k, cap = 0;

	for (o = 0; o < g->nobj; o++) {
		struct lint_object *obj = g->obj[o];
		uint32_t sec = NO_SECTION;
		size_t cursor = 0;

		for (i = 0; i < obj->nfunc; i++) {
			struct lint_func *f = &obj->func[i];
			uint32_t id = g->base[o] + (uint32_t)i;
			struct lint_node *n = &g->node[id];

			if (f->sec != sec)
				cursor = 0;
			sec = f->sec;
			n->link = (uint32_t)g->nlink;
			for (k = 0; k < f->nev; k++) {
				const struct lint_event *ev = &obj->ev[f->ev + k];

				if (ev->kind == EV_FP || ev->kind == EV_POINTER ||
				    ev->kind == EV_BAD)
					continue;
				if (!link_make(g, &cap, o, id, ev, &cursor))
					return false;
			}
			n->nlink = (uint32_t)g->nlink - n->link;
		}
	}
	/* Definitions may come after uses, so names are resolved now. */
	for (k = 0; k < g->nlink; k++) {
		struct lint_link *l = &g->link[k];
		const struct lint_role *r;

		if (l->ext && l->node == NO_NODE)
			l->node = l->ext->node;
		r = l->ext && l->ext->role ? l->ext->role
		    : l->node != NO_NODE   ? g->node[l->node].role
		                           : NULL;
		if (r && (r->kind == ROLE_BEGIN || r->kind == ROLE_END || r->kind == ROLE_BEGINS ||
		          r->kind == ROLE_ENDS))
			g->node[g->node[l->from].whole].protocol = true;
		if (l->node != NO_NODE) {
			struct lint_node *to = &g->node[g->node[l->node].whole];

			l->next_caller = to->callers;
			to->callers = (uint32_t)k;
		}
	}
	return true;
}

/* Functions of other objects whose addresses are stored in data or loaded as values. */
static void extern_pointers(struct lint_graph *g)
{
	size_t o, i, k;

	for (o = 0; g->nobj > 1 && o < g->nobj; o++)
		for (i = 0; i < g->obj[o]->nsec; i++) {
			const struct lint_section *s = &g->obj[o]->sec[i];

			if (!lint_holds_pointers(s))
				continue;
			for (k = 0; k < s->nrel; k++) {
				struct lint_target t = lint_rel_target(g->obj[o], &s->rel[k], 0);
				struct lint_extern *e =
				        t.kind == TARGET_EXTERN ? extern_find(g, t.name) : NULL;

				if (e && e->node != NO_NODE)
					lint_node_func(&g->node[e->node])->flags |= FUNC_POINTER;
			}
		}
}

struct queue {
	uint32_t *list;
	size_t n, cap;
};

static bool queue_push(struct queue *q, struct lint_graph *g, uint32_t id)
{
	if (g->node[id].queued)
		return true;
	if (q->n == q->cap) {
		size_t more = q->cap ? q->cap * 2 : 256;
		uint32_t *list = realloc(q->list, more * sizeof(*list));

		if (!list)
			return false;
		q->list = list;
		q->cap = more;
	}
	g->node[id].queued = true;
	q->list[q->n++] = id;
	return true;
}

static bool settle(struct lint_graph *g)
{
	struct queue now = {0}, next = {0}, swap;
	uint32_t id, l;
	size_t i;
	bool ok = true;

	for (id = 0; id < g->nnode && ok; id++) {
		const struct lint_func *f = lint_node_func(&g->node[id]);

		if (g->node[id].instead != NO_NODE)
			continue;
		if (f->fp_insns || f->state_insns || g->node[id].protocol)
			ok = queue_push(&now, g, g->node[id].whole);
	}
	while (now.n && ok) {
		for (i = 0; i < now.n && ok; i++) {
			struct lint_node *n = &g->node[now.list[i]];

			n->queued = false;
			if (!lint_flow(g, now.list[i], false))
				continue;
			/* Owners and the protocol's own functions ask nothing of anybody. */
			if (!(n->sum &
			      ~(uint32_t)(SUM_KEEPS | SUM_INDIRECT | SUM_LIMIT | SUM_BEGINS_VIA)))
				continue;
			for (l = n->callers; l != UINT32_MAX && ok; l = g->link[l].next_caller)
				ok = queue_push(&next, g, g->node[g->link[l].from].whole);
		}
		now.n = 0;
		swap = now;
		now = next;
		next = swap;
	}
	free(now.list);
	free(next.list);
	return ok;
}

/* Which functions may be entered outside any section. */
static void outside(struct lint_graph *g)
{
	bool changed = true;
	uint32_t id, l;

	for (id = 0; id < g->nnode; id++) {
		struct lint_node *n = &g->node[id];

		n->out = n->whole == id &&
		         (n->callers == UINT32_MAX ||
		          lint_node_func(n)->flags & (FUNC_EXPORTED | FUNC_POINTER | FUNC_ENTRY));
	}
	while (changed) {
		changed = false;
		for (id = 0; id < g->nnode; id++) {
			struct lint_node *n = &g->node[id];

			for (l = n->callers; l != UINT32_MAX && !n->out;
			     l = g->link[l].next_caller) {
				const struct lint_link *k = &g->link[l];
				const struct lint_node *from = &g->node[g->node[k->from].whole];

				if (k->seen & SEEN_OUT ||
				    ((!from->analysed || k->seen & SEEN_ENTRY) && from->out)) {
					n->out = true;
					changed = true;
				}
			}
		}
	}
}

struct lint_graph *lint_graph_new(struct lint_conf *conf, struct lint_object **obj, size_t nobj)
{
	struct lint_graph *g = calloc(1, sizeof(*g));
	size_t o, n = 0;

	if (!g)
		return NULL;
	g->conf = conf;
	g->obj = obj;
	g->nobj = nobj;
	for (o = 0; o < nobj; o++)
		n += obj[o]->nfunc + obj[o]->nsym / 4;
	for (g->nbucket = 1024; g->nbucket < n; g->nbucket *= 2)
		;
	g->bucket = calloc(g->nbucket, sizeof(*g->bucket));
	if (!g->bucket || !nodes_make(g) || !aliases_define(g))
		goto fail;
	for (o = 0; o < nobj; o++)
		if (!cold_join(g, o))
			goto fail;
	overrides_mark(g);
	extern_pointers(g);
	if (!links_make(g) || !settle(g))
		goto fail;
	outside(g);
	return g;
fail:
	lint_graph_free(g);
	return NULL;
}

void lint_graph_free(struct lint_graph *g)
{
	struct lint_extern *e, *next;
	size_t i;

	if (!g)
		return;
	for (i = 0; g->bucket && i < g->nbucket; i++)
		for (e = g->bucket[i]; e; e = next) {
			next = e->next;
			free(e);
		}
	for (i = 0; g->node && i < g->nnode; i++)
		free(g->node[i].site);
	lint_findings_free(&g->found);
	lint_flow_forget(g);
	free(g->bucket);
	free(g->node);
	free(g->link);
	free(g->base);
	free(g);
}

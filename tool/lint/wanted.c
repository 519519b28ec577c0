// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which objects of a large run are kept. Most modules neither hold FP code nor speak the
 * protocol, and of them only names remain. One is fetched again when what is kept turns out
 * to concern it: it calls a function that asks something of its callers, or it defines one that
 * is called in a section or takes the place of a weak one. What is fetched may concern others,
 * so this goes on until nothing does.
 */
#include "lint/wanted.h"

#include <stdlib.h>
#include <string.h>

#include "lint/conf.h"

/* How far below a call in a section the checker looks: sleeping and pointer calls. */
#define DEPTH 2

static uint64_t name_hash(const char *s)
{
	uint64_t h = 1469598103934665603u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return h;
}

bool lint_wanted_first(struct lint_conf *conf, const struct lint_object *obj)
{
	size_t i;

	if (obj->fp_insns)
		return true;
	for (i = 0; i < obj->nfunc; i++)
		if (obj->func[i].fp)
			return true;
	for (i = 0; i < obj->nev; i++)
		if (obj->ev[i].kind == EV_BAD)
			return true;
	/* A root that must not reach FP code may be many calls away from it. */
	if (lint_conf_has(conf, ROLE_FORBID))
		return true;
	for (i = 1; i < obj->nsym; i++) {
		const Elf64_Sym *sym = &obj->sym[i];
		const struct lint_role *r;

		if (sym->st_shndx != SHN_UNDEF || sym->st_name >= obj->str_bytes)
			continue;
		r = lint_conf_role(conf, obj->str + sym->st_name, NULL);
		if (r && (r->kind == ROLE_BEGIN || r->kind == ROLE_END || r->kind == ROLE_BEGINS ||
		          r->kind == ROLE_ENDS))
			return true;
	}
	return false;
}

static bool hash_push(struct lint_hashes *h, uint64_t hash)
{
	if (h->n == h->cap) {
		size_t more = h->cap ? h->cap * 2 : 64;
		uint64_t *list = realloc(h->list, more * sizeof(*list));

		if (!list)
			return false;
		h->list = list;
		h->cap = more;
	}
	h->list[h->n++] = hash;
	return true;
}

bool lint_names_keep(struct lint_names *names, const struct lint_object *obj)
{
	bool ok = true;
	size_t i;

	for (i = 1; ok && i < obj->nsym; i++)
		if (obj->sym[i].st_shndx == SHN_UNDEF && obj->sym[i].st_name < obj->str_bytes &&
		    obj->str[obj->sym[i].st_name])
			ok = hash_push(&names->imports, name_hash(obj->str + obj->sym[i].st_name));
	for (i = 0; ok && i < obj->nfunc; i++) {
		if (obj->func[i].flags & FUNC_EXPORTED)
			ok = hash_push(&names->exports, name_hash(obj->func[i].name));
		/* Its own calls of a weak function may lead to another object's. */
		if (ok && obj->func[i].flags & FUNC_WEAK)
			ok = hash_push(&names->imports, name_hash(obj->func[i].name));
	}
	for (i = 0; ok && i < obj->nalias; i++)
		if (obj->func[obj->alias[i].func].flags & FUNC_EXPORTED)
			ok = hash_push(&names->exports, name_hash(obj->alias[i].name));
	return ok;
}

void lint_names_free(struct lint_names *names)
{
	free(names->imports.list);
	free(names->exports.list);
}

static int hash_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool any_of(const struct lint_hashes *some, const struct lint_hashes *sorted)
{
	size_t i;

	for (i = 0; sorted->n && i < some->n; i++)
		if (bsearch(&some->list[i], sorted->list, sorted->n, sizeof(*sorted->list),
		            hash_order))
			return true;
	return false;
}

/* Names that a call inside a section leads to and that nothing kept defines. */
static bool inside(const struct lint_graph *g, struct lint_hashes *out, uint32_t id, unsigned depth)
{
	const struct lint_node *n = &g->node[id];
	bool ok = true;
	uint32_t k;

	for (k = 0; ok && k < n->nlink; k++) {
		const struct lint_link *l = &g->link[n->link + k];

		if (l->node != NO_NODE)
			ok = !depth || inside(g, out, g->node[l->node].whole, depth - 1);
		else if (l->ext && !l->ext->role)
			ok = hash_push(out, name_hash(l->ext->name));
	}
	return ok;
}

static bool node_wanted(struct lint_names *wanted, const struct lint_node *node, const char *name)
{
	bool ok = true;

	if (lint_node_func(node)->flags & (FUNC_EXPORTED | FUNC_GLOBAL) &&
	    node->sum & (SUM_REQUIRES | SUM_BEGINS | SUM_BEGINS_VIA | SUM_ENDS | SUM_LEAVES) &&
	    !(node->role && node->role->kind != ROLE_NONE))
		ok = hash_push(&wanted->imports, name_hash(name));
	if (ok && lint_node_func(node)->flags & FUNC_WEAK)
		ok = hash_push(&wanted->exports, name_hash(name));
	return ok;
}

bool lint_wanted_find(const struct lint_graph *g, struct lint_names *wanted)
{
	bool ok = true;
	size_t o, i;

	memset(wanted, 0, sizeof(*wanted));
	for (i = 0; ok && i < g->nnode; i++)
		ok = node_wanted(wanted, &g->node[i], lint_node_name(&g->node[i]));
	for (o = 0; o < g->nobj; o++)
		for (i = 0; ok && i < g->obj[o]->nalias; i++) {
			const struct lint_alias *a = &g->obj[o]->alias[i];

			ok = node_wanted(wanted, &g->node[g->base[o] + a->func], a->name);
		}
	for (i = 0; ok && i < g->nlink; i++) {
		const struct lint_link *l = &g->link[i];

		if (!(l->seen & SEEN_IN))
			continue;
		if (l->node != NO_NODE)
			ok = inside(g, &wanted->exports, g->node[l->node].whole, DEPTH - 1);
		else if (l->ext && !l->ext->role)
			ok = hash_push(&wanted->exports, name_hash(l->ext->name));
	}
	if (wanted->imports.n)
		qsort(wanted->imports.list, wanted->imports.n, sizeof(uint64_t), hash_order);
	if (wanted->exports.n)
		qsort(wanted->exports.list, wanted->exports.n, sizeof(uint64_t), hash_order);
	return ok;
}

bool lint_wanted_again(const struct lint_names *names, const struct lint_names *wanted)
{
	return any_of(&names->imports, &wanted->imports) ||
	       any_of(&names->exports, &wanted->exports);
}

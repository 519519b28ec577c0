// SPDX-License-Identifier: BSD-2-Clause
/*
 * The summary of each object: what FP code it holds, its sections, and who answers for them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lint/run.h"

void lint_families_text(uint32_t fp, char *buf, size_t bytes)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
	        {FP_X87, "x87"},    {FP_MMX, "mmx"},     {FP_XMM, "xmm"}, {FP_YMM, "ymm"},
	        {FP_ZMM, "zmm"},    {FP_K, "k"},         {FP_TMM, "tmm"}, {FP_VZERO, "vz"},
	        {FP_WAIT, "fwait"}, {FP_STATE, "state"},
	};
	size_t used = 0, i;

	snprintf(buf, bytes, "-");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fp & names[i].bit && used + 8 < bytes)
			used += (size_t)snprintf(buf + used, bytes - used, "%s%s", used ? "," : "",
			                         names[i].name);
}

void lint_needs_text(uint32_t need, char *buf, size_t bytes)
{
	snprintf(buf, bytes, "%s%s%s%s%s", need & NEED_X87 ? "x87" : "",
	         need & NEED_X87 && need & (NEED_MXCSR | NEED_TILES) ? "|" : "",
	         need & NEED_MXCSR ? "MXCSR" : "",
	         need & NEED_MXCSR && need & NEED_TILES ? "|" : "",
	         need & NEED_TILES ? "tiles" : "");
	if (!(need & (NEED_X87 | NEED_MXCSR | NEED_TILES)))
		snprintf(buf, bytes, "nothing");
}

static void node_row(const struct lint_graph *g, uint32_t id, struct lint_row *row)
{
	const struct lint_node *n = &g->node[id];
	const struct lint_func *f = lint_node_func(n);
	size_t k;

	row->fp_insns += f->fp_insns;
	row->state_insns += f->state_insns;
	row->fp |= f->fp;
	if (f->fp_insns) {
		enum lint_answer a = lint_graph_answer(g, n->whole);

		row->answer_functions[a]++;
		row->answer_insns[a] += f->fp_insns;
	}
	for (k = 0; k < n->nlink; k++) {
		const struct lint_link *l = &g->link[n->link + k];
		const struct lint_role *r = l->ext && l->ext->role ? l->ext->role
		                            : l->node != NO_NODE   ? g->node[l->node].role
		                                                   : NULL;

		row->begins += r && r->kind == ROLE_BEGIN;
		row->ends += r && r->kind == ROLE_END;
	}
	for (k = 0; k < n->nsite; k++) {
		row->need |= n->site[k].need;
		row->exact += n->site[k].verdict == VERDICT_EXACT;
		row->under += n->site[k].verdict == VERDICT_UNDER;
		row->over += n->site[k].verdict == VERDICT_OVER;
		row->unknown += n->site[k].verdict == VERDICT_UNKNOWN;
		row->empty += n->site[k].verdict == VERDICT_EMPTY;
	}
}

struct lint_row *lint_rows(const struct lint_run *run)
{
	struct lint_row *rows = calloc(run->nobj ? run->nobj : 1, sizeof(*rows));
	const struct lint_graph *g = run->graph;
	size_t o, i;

	if (!rows)
		return NULL;
	for (o = 0; o < run->nobj; o++) {
		uint32_t id;

		rows[o].obj = run->obj[o];
		for (id = g->base[o]; id < g->base[o + 1]; id++)
			node_row(g, id, &rows[o]);
		for (i = 0; i < g->found.n; i++) {
			const struct lint_finding *f = &g->found.list[i];

			if (f->lint_object != run->obj[o] || f->known)
				continue;
			rows[o].errors += f->severity == SEV_ERROR;
			rows[o].warnings += f->severity == SEV_WARNING;
			rows[o].notes += f->severity == SEV_NOTE;
		}
	}
	return rows;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * What instructions, begins, ends, calls and returns do to the protocol state of a path, and the
 * findings that come of it.
 */
#include <stdlib.h>

#include "lint/flow.h"

/* Note a finding at instruction @i. */
#define REPORT(f, rule, i, what, ...)                                                              \
	do {                                                                                       \
		if ((f)->emit) {                                                                   \
			struct lint_finding at_ = lint_finding_at(                                 \
			        (f)->g, rule, flow_fragment(f, i)->node, (f)->insn[i].off);        \
			at_.callee = (char *)(uintptr_t)(what);                                    \
			lint_finding_add(&(f)->g->found, &at_, NULL, __VA_ARGS__);                 \
		}                                                                                  \
	} while (0)

static bool flow_in_section(const struct proto *p)
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
	if (f->nsite == 255) {
		f->over = true;
		return 254;
	}
	list = realloc(f->site, (f->nsite + 1) * sizeof(*list));
	if (!list) {
		f->over = true;
		return 0;
	}
	f->site = list;
	list[f->nsite] = (struct lint_site){.off = off, .pair = pair, .mask = mask};
	return (uint8_t)f->nsite++;
}

/* 1 when an instruction is met in a section for the first time; others may run it too. */
static uint32_t use_count(struct flow *f, uint32_t site, uint32_t i)
{
	uint8_t bit = (uint8_t)(1u << (i & 7));

	if (!f->used[site])
		f->used[site] = calloc(f->ninsn / 8 + 1, 1);
	if (!f->used[site] || f->used[site][i / 8] & bit)
		return !f->used[site];
	f->used[site][i / 8] |= bit;
	return 1;
}

void flow_use_fp(struct flow *f, uint32_t i, struct proto *p)
{
	const struct lint_insn *insn = &f->insn[i];
	uint32_t need = lint_needs(insn->fp) & ~(uint32_t)p->set;
	bool owner =
	        f->n->role && (f->n->role->kind == ROLE_OWNER || f->n->role->kind == ROLE_BEGIN ||
	                       f->n->role->kind == ROLE_END || f->n->role->kind == ROLE_BEGINS ||
	                       f->n->role->kind == ROLE_ENDS || f->n->role->kind == ROLE_FOREIGN);
	if (f->g->conf->inline_sections && insn->fp & (FP_SAVES | FP_RESTORES) && !owner) {
		if (insn->fp & FP_SAVES && !flow_in_section(p)) {
			p->base = BASE_IN;
			p->site = site_make(f, insn->off, UINT32_MAX, 7);
			p->set = NEED_X87 | NEED_MXCSR;
		} else if (insn->fp & FP_RESTORES && p->base == BASE_IN) {
			p->base = BASE_ENDED;
		}
		return;
	}
	if (flow_in_section(p)) {
		struct lint_site *s = site_of(f, p);

		s->need |= need;
		s->fp |= insn->fp;
		s->unknown |= (insn->fp & FP_UNKNOWN) != 0;
		if (insn->fp & FP_USE)
			s->insns += use_count(f, (uint32_t)(s - f->site), i);
		if (insn->fp & (FP_SAVES | FP_RESTORES) && !owner)
			REPORT(f, RULE_STATE_INSN, i, flow_mnemonic(f, i),
			       "%s goes behind the back of the section that was begun at +0x%x",
			       flow_mnemonic(f, i), s->off - f->frag[0].off);
	} else if (owner) {
		f->n->role->used++;
	} else if (p->base == BASE_ENTRY) {
		if (!f->uses || insn->off < f->first_use)
			f->first_use = insn->off;
		if (!(f->mark[i] & MARK_USED))
			f->uses++;
		f->mark[i] |= MARK_USED;
		f->sum |= insn->fp & FP_USE ? SUM_REQUIRES : SUM_REQUIRES | SUM_STATE;
		f->need |= need;
		f->fp |= insn->fp;
	} else {
		REPORT(f, RULE_FP_AFTER_END, i, flow_mnemonic(f, i),
		       "%s runs after the section was ended on this path", flow_mnemonic(f, i));
	}
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
		/* What the caller had begun, and this function ended, is open again. */
		if (!flow_in_section(p) && p->base == BASE_RELEASED) {
			p->base = BASE_ENTRY;
			p->set = 0;
			return;
		}
		if (!flow_in_section(p)) {
			p->nested = site_make(f, f->insn[i].off, pair, mask);
			p->set = 0;
		} else if (p->nest == 0) {
			p->nested = p->site;
		}
		if (p->nest < 8)
			p->nest++;
		return;
	}
	if (flow_in_section(p)) {
		REPORT(f, RULE_NESTED_BEGIN, i, what,
		       "%s is called in a section that was begun at +0x%x", what,
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
		REPORT(f, RULE_END_WITHOUT_BEGIN, i, what,
		       "%s is called where the section has been ended already", what);
		break;
	}
	p->set = 0;
}

uint32_t flow_link_first(const struct flow *f, uint32_t i)
{
	const struct lint_node *n = &f->g->node[flow_fragment(f, i)->node];
	uint32_t lo = n->link, hi = n->link + n->nlink, off = f->insn[i].off;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (f->g->link[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct lint_link *flow_link(const struct flow *f, uint32_t i)
{
	const struct lint_node *n = &f->g->node[flow_fragment(f, i)->node];
	uint32_t k = flow_link_first(f, i), end = n->link + n->nlink;

	while (k < end && f->g->link[k].off == f->insn[i].off && f->g->link[k].alt)
		k++;
	return k < end && f->g->link[k].off == f->insn[i].off ? &f->g->link[k] : NULL;
}

const struct lint_role *flow_role(const struct flow *f, const struct lint_link *l)
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
		w->seen |= flow_in_section(p)      ? SEEN_IN
		           : p->base == BASE_ENTRY ? SEEN_ENTRY
		                                   : SEEN_OUT;
}

/* One level down: does the function called call something that may sleep? */
static const char *sleeps(const struct flow *f, const struct lint_node *n)
{
	uint32_t k;

	for (k = 0; k < n->nlink; k++) {
		const struct lint_link *l = &f->g->link[n->link + k];
		const struct lint_role *r = flow_role(f, l);

		/* It may end the section before, and begin it again after. */
		if (n->analysed && !(l->seen & (SEEN_ENTRY | SEEN_IN)))
			continue;
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
static uint32_t sum_with(struct flow *f, const struct env *env, const struct lint_node *n,
                         uint32_t id)
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

	if (flow_in_section(p)) {
		struct lint_site *s = site_of(f, p);

		if (sum & SUM_REQUIRES) {
			s->need |= n->need & ~(uint32_t)p->set;
			s->fp |= n->fp;
			s->calls_fp = true;
			s->unknown |= (n->fp & FP_UNKNOWN) != 0;
			if (n->fp & (FP_SAVES | FP_RESTORES))
				REPORT(f, RULE_STATE_INSN, i, name,
				       "%s saves or loads the state itself, behind the back of the "
				       "section that was begun at +0x%x",
				       name, s->off - f->frag[0].off);
		}
		if (reaches_pointer(f->g, n, 2))
			s->indirect = true;
		if (sum & (SUM_BEGINS | SUM_BEGINS_VIA) && id != f->id)
			REPORT(f, RULE_NESTED_BEGIN, i, name,
			       "%s begins a section of its own; one was begun at +0x%x", name,
			       s->off - f->frag[0].off);
		sleep = f->emit ? sleeps(f, n) : NULL;
		if (sleep)
			REPORT(f, RULE_SLEEP_VIA, i, name, "%s, called in the section, calls %s",
			       name, sleep);
		if (sum & SUM_LEAVES && !(sum & SUM_KEEPS))
			end(f, i, p, false, name);
	} else {
		if (sum & SUM_REQUIRES)
			sum = sum_with(f, env, n, id) |
			      (sum & ~(uint32_t)(SUM_REQUIRES | SUM_STATE));
		if (sum & SUM_REQUIRES && p->base == BASE_ENTRY) {
			f->sum |= SUM_REQUIRES;
			f->need |= n->need & ~(uint32_t)p->set;
			f->fp |= n->fp;
		} else if (sum & SUM_REQUIRES) {
			REPORT(f, RULE_CALL_FP_AFTER_END, i, name,
			       "%s uses FP registers and is called after the section was ended on "
			       "this path",
			       name);
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
bool flow_inner_jump(const struct env *env)
{
	const struct env_val *sp = &env->reg[REG_RSP];

	return sp->sym == SYM_ALIGNED || (sp->sym == SYM_STACK && sp->c != 0);
}

void flow_indirect(struct flow *f, uint32_t i, struct proto *p)
{
	const struct lint_link *l = flow_link(f, i);

	if (l)
		seen(f, l, p);
	if (flow_in_section(p))
		site_of(f, p)->indirect = true;
	else
		f->sum |= SUM_INDIRECT;
}

/* A direct call or a jump to another function. */
enum after flow_call(struct flow *f, uint32_t i, const struct lint_link *l, struct proto *p,
                     struct env *env, bool jump)
{
	const struct lint_role *r = flow_role(f, l);
	const char *what = l && l->ext               ? l->ext->name
	                   : l && l->node != NO_NODE ? lint_node_name(&f->g->node[l->node])
	                                             : "?";
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
		if (flow_in_section(p))
			REPORT(f, RULE_NESTED_BEGIN, i, what,
			       "%s begins a section; one was begun at +0x%x", what,
			       site_of(f, p)->off - f->frag[0].off);
		else {
			p->base = BASE_IN;
			p->site = site_make(f, f->insn[i].off, UINT32_MAX, -1);
			f->site[p->site].external = true;
		}
		break;
	case ROLE_ENDS:
		seen(f, l, p);
		if (flow_in_section(p))
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
		if (l)
			seen(f, l, p);
		if (flow_in_section(p) &&
		    (r->gfp_arg < 0 ||
		     (env_arg(env, (unsigned)r->gfp_arg, &v) && v & f->g->conf->gfp_sleep)))
			REPORT(f, RULE_MAY_SLEEP, i, what,
			       "%s%s in the section that was begun at +0x%x", what,
			       r->gfp_arg < 0
			               ? " may sleep and is called"
			               : " is asked for memory with flags that allow sleeping",
			       site_of(f, p)->off - f->frag[0].off);
		break;
	case ROLE_OWNER:
		break;
	case ROLE_INDIRECT:
		flow_indirect(f, i, p);
		break;
	default:
		if (l && l->node != NO_NODE)
			call_node(f, i, p, env, l);
		else if (l && flow_in_section(p)) {
			seen(f, l, p);
			site_of(f, p)->external = true;
		}
		break;
	}
	env_call(env, effect);
	return jump ? AFTER_RETURN : AFTER_GO;
}

void flow_leave(struct flow *f, uint32_t i, const struct proto *p, const struct env *env)
{
	const struct lint_role *role = f->n->role;
	char when[160];

	f->set_exits = f->exited ? f->set_exits & p->set : p->set;
	f->exited = true;
	f->sum |= p->base == BASE_RELEASED ? SUM_LEAVES : SUM_KEEPS;
	if (!flow_in_section(p))
		return;
	if (role &&
	    (role->kind == ROLE_BEGINS || role->kind == ROLE_BEGIN || role->kind == ROLE_OWNER ||
	     role->kind == ROLE_END || role->kind == ROLE_ENDS)) {
		f->n->role->used++;
		return;
	}
	env_describe(env, when, sizeof(when));
	{
		const struct lint_site *s = site_of(f, p);
		const char *what =
		        s->pair == UINT32_MAX ? "a section" : f->g->conf->pair[s->pair].begin;

		REPORT(f, RULE_RETURN_IN_SECTION, i, what,
		       "returns without end for %s at +0x%x%s%s", what, s->off - f->frag[0].off,
		       when[0] ? ", when " : "", when);
	}
}

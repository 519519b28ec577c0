// SPDX-License-Identifier: BSD-2-Clause
/* Guests in a packed state: two words for each, and one for what they bring to tasks and CPUs. */
#include "pack.h"

/* What lies in a guest's image. */
static const uint8_t in_image[] = {C_X87, C_SSE, C_AVX, C_TILE, C_CET, C_CET_S};
#define IN_IMAGE (sizeof(in_image) / sizeof(in_image[0]))

unsigned pack_ways(const struct machine *m, unsigned c)
{
	const uint32_t other = pack_other(m, c);

	if (!m->cfg->guests || (other & ~(XST_B_MASK | WAY_BITS)) ||
	    ((other & WAY_BITS) && (m->cpu[c].bits & WAY_BITS)))
		return 0;
	return (other & XST_B_MASK ? 1u : 0) | (other & WAY_BITS ? 2u : 0);
}

static uint64_t guest_key(struct machine *m, unsigned g, const struct naming *names)
{
	const unsigned t = TASKS + g;
	const struct xst_guest *guest = &m->guest[g];
	const struct xst_ctx *ctx = &guest->ctx;
	const unsigned user = machine_task(m, guest->user);
	uint64_t key = m->alive[t];
	unsigned i, k;

	for (i = 0; i < CPUS; i++) {
		const unsigned c = names->cpu[i];

		key = key << 1 | (m->cpu[c].cur == ctx);
		key = key << 1 | (m->cpu[c].owner == ctx);
		key = key << 1 | (m->in_place[c] == t);
		key = key << 1 | (m->cpu[c].ssp_of == guest);
		if (!m->alive[t])
			continue;
		if (m->sys.insn >= XST_INSN_XSAVE)
			key = key << 1 | (m->hw[c].info.area == (uintptr_t)m->area[t]);
		key = key << 1 | (ctx->last_cpu == c);
		key = key << 1 | (ctx->home == c);
		if (machine_has(m, C_SSE))
			key = key << 2 | relation(m->hw[c].regs.SSE[0], m->want[t][C_SSE]);
	}
	if (!m->alive[t])
		return key << 40;
	for (i = 0; i < TASKS && names->task[i] != user; i++)
		;
	key = key << 3 | (guest->loaded ? i : NONE);
	key = key << 4 | ctx->use_row;
	key = key << 3 | ctx->blind;
	key = key << 2 | m->blind_row[t];
	key = key << 1 | tile_of(guest->mask);
	key = key << 3 | (guest->xcr0 & 7u);
	key = key << 1 | tile_of(guest->xfd);
	for (k = 0; k < C_TILE; k++)
		if (machine_has(m, k))
			key = key << 2 | relation(*machine_byte(m, t, k), m->want[t][k]);
	if (m->sys.insn >= XST_INSN_XSAVE)
		key = key << 3 | (m->area[t][XST_HEADER_OFFSET] & 7u);
	return key << 2 | relation((uint8_t)guest->pkru, m->want[t][C_PKRU]);
}

void order_guests(struct machine *m, struct naming *names)
{
	const bool swap = m->cfg->guests > 1 && guest_key(m, 0, names) < guest_key(m, 1, names);
	unsigned g;

	for (g = 0; g < GUESTS; g++)
		names->task[TASKS + g] = (uint8_t)(TASKS + (swap ? 1 - g : g));
}

/* Of XCR0 and IA32_XSS what can change, beside x87. */
static unsigned xcr0_bits(uint64_t v)
{
	return (unsigned)(v >> XST_COMP_SSE & 3u) | tile_of(v) << 2 |
	       (unsigned)(v >> XST_COMP_PKRU & 1u) << 3;
}

static uint64_t xcr0_mask(unsigned bits)
{
	return XST_MASK_X87 | (uint64_t)(bits & 3u) << XST_COMP_SSE |
	       (bits & 4u ? XST_MASK_AMX : 0) | (bits & 8u ? XST_MASK_PKRU : 0);
}

static uint64_t pack_guest(const struct machine *m, unsigned g, const struct renaming *r)
{
	const unsigned t = TASKS + g;
	const struct xst_guest *guest = &m->guest[g];
	const struct xst_ctx *ctx = &guest->ctx;
	struct bits b = {0, 0};
	unsigned k;

	put(&b, 1, m->alive[t]);
	if (!m->alive[t])
		return b.word;
	put(&b, 1, tile_of(guest->mask));
	put(&b, 2, r->cpu[saturate(ctx->last_cpu, NOWHERE)]);
	put(&b, 2, r->cpu[saturate(ctx->home, NOWHERE)]);
	put(&b, 3, saturate(ctx->use_row, m->most_rows));
	put(&b, 2, ctx->blind);
	put(&b, 2, m->blind_row[t]);
	put(&b, 1, guest->loaded);
	put(&b, 3, guest->loaded ? r->task[machine_task(m, guest->user)] : NONE);
	put(&b, 4, guest->loaded ? r->class[C_PKRU][ctx->pkru & 15u] : 0u);
	for (k = 0; k < COMPS; k++)
		if (machine_has(m, k))
			put(&b, 4, r->class[k][m->want[t][k]]);
	put(&b, 4, xcr0_bits(guest->xcr0));
	put(&b, 2, guest->xss >> XST_COMP_CET_U & 3u);
	put(&b, 1, tile_of(guest->xfd));
	put(&b, 1, tile_of(guest->xfd_err));
	put(&b, 4, r->class[C_CET_S][guest->ssp[0] >> 2 & 15u]);
	put(&b, 2, r->cpu[saturate(guest->ssp_cpu, NOWHERE)]);
	return b.word;
}

static uint64_t pack_image(struct machine *m, unsigned g, const struct renaming *r)
{
	const unsigned t = TASKS + g;
	const bool xsave = m->sys.insn >= XST_INSN_XSAVE;
	struct bits b = {0, 0};
	unsigned i;

	if (!m->alive[t])
		return 0;
	put(&b, 4, r->class[C_PKRU][m->guest[g].pkru & 15u]);
	for (i = 0; i < IN_IMAGE; i++) {
		const unsigned k = in_image[i], id = comp_id[k];
		const bool has = machine_in_image(m, g, k);

		if (!machine_has(m, k))
			continue;
		put(&b, 4, has ? r->class[k][*machine_byte(m, t, k)] : 0u);
		put(&b, 1, has && xsave && (machine_header(m, t, false)[0] >> id & 1u));
		put(&b, 1, has && xsave && (machine_header(m, t, false)[1] >> id & 1u));
	}
	return b.word;
}

static unsigned in_mask(uint64_t mask, unsigned component)
{
	return mask >> component & 1u;
}

static uint64_t pack_beside(struct machine *m, const struct naming *names, const struct renaming *r)
{
	struct bits b = {0, 0};
	unsigned i, g;

	for (i = 0; i < TASKS; i++) {
		const unsigned t = names->task[i];

		put(&b, 1, m->alive[t] && tile_of(m->perm[t].guest));
		put(&b, 1, m->alive[t] && m->perm[t].guest_locked);
	}
	for (i = 0; i < CPUS; i++) {
		const unsigned c = names->cpu[i];
		const struct xst_cpu *cpu = &m->cpu[c];
		const struct mdl_cpu *hw = &m->hw[c];
		const bool on = m->mode[c] != OFFLINE && machine_has(m, C_CET_S);

		for (g = 0; g < m->cfg->guests && cpu->ssp_of != &m->guest[g]; g++)
			;
		put(&b, 2, g < m->cfg->guests ? 1u + r->task[TASKS + g] - TASKS : 0u);
		put(&b, 2, pack_ways(m, c));
		put(&b, 1, in_mask(cpu->mask, XST_COMP_CET_U));
		put(&b, 1, in_mask(cpu->mask, XST_COMP_CET_S));
		put(&b, 4, on ? r->class[C_CET_S][*machine_reg(m, c, C_CET_S)] : 0u);
		put(&b, 1, on && in_mask(hw->xinuse, XST_COMP_CET_S));
		put(&b, 1, on && hw->info.area && in_mask(hw->xmodified, XST_COMP_CET_S));
	}
	return b.word;
}

void pack_guests(struct machine *m, struct state *s, const struct naming *names,
		 const struct renaming *r)
{
	unsigned g;

	s->beside = pack_beside(m, names, r);
	for (g = 0; g < m->cfg->guests; g++) {
		s->guest[g][0] = pack_guest(m, names->task[TASKS + g] - TASKS, r);
		s->guest[g][1] = pack_image(m, names->task[TASKS + g] - TASKS, r);
	}
}

static void unpack_image(struct machine *m, uint64_t word, unsigned g)
{
	const unsigned t = TASKS + g;
	struct bits b = {word, 0};
	uint64_t bv = 0, xcomp_bv = 0;
	unsigned i;

	m->guest[g].pkru = get(&b, 4);
	for (i = 0; i < IN_IMAGE; i++) {
		const unsigned k = in_image[i];
		unsigned token;

		if (!machine_has(m, k))
			continue;
		token = get(&b, 4);
		if (machine_in_image(m, g, k))
			*machine_byte(m, t, k) = (uint8_t)token;
		bv |= (uint64_t)get(&b, 1) << comp_id[k];
		xcomp_bv |= (uint64_t)get(&b, 1) << comp_id[k];
	}
	if (m->sys.insn < XST_INSN_XSAVE)
		return;
	if (m->sys.insn >= XST_INSN_XSAVEC)
		xcomp_bv |= XST_XCOMP_COMPACT | (m->sys.mask & XST_MASK_TILECFG);
	machine_header(m, t, false)[0] = bv;
	machine_header(m, t, false)[1] = xcomp_bv;
}

void unpack_guest(struct machine *m, const uint64_t word[2], unsigned g)
{
	const unsigned t = TASKS + g;
	struct xst_guest *guest = &m->guest[g];
	struct xst_ctx *ctx = &guest->ctx;
	struct bits b = {word[0], 0};
	unsigned v, k;

	m->alive[t] = get(&b, 1);
	if (!m->alive[t]) {
		machine_make_guest(m, g, false);
		machine_bury(m, g);
		return;
	}
	v = get(&b, 1);
	if (guest->mask != m->made[v].mask)
		machine_make_guest(m, g, v);
	v = get(&b, 2);
	ctx->last_cpu = v == NOWHERE ? XST_NO_CPU : v;
	v = get(&b, 2);
	ctx->home = v == NOWHERE ? XST_NO_AREA : v;
	ctx->use_row = (uint8_t)get(&b, 3);
	ctx->blind = (uint8_t)get(&b, 2);
	ctx->fault = 0;
	m->blind_row[t] = (uint8_t)get(&b, 2);
	guest->loaded = get(&b, 1);
	guest->running = false;
	v = get(&b, 3);
	guest->user = v == NONE ? NULL : m->ctx[v];
	ctx->pkru = get(&b, 4);
	for (k = 0; k < COMPS; k++)
		if (machine_has(m, k))
			m->want[t][k] = (uint8_t)get(&b, 4);
	guest->xcr0 = xcr0_mask(get(&b, 4));
	guest->xss = (uint64_t)get(&b, 2) << XST_COMP_CET_U;
	guest->xfd = (uint64_t)get(&b, 1) << XST_COMP_TILEDATA;
	guest->xfd_err = (uint64_t)get(&b, 1) << XST_COMP_TILEDATA;
	guest->ssp[0] = guest->ssp[1] = guest->ssp[2] = (uint64_t)get(&b, 4) << 2;
	v = get(&b, 2);
	guest->ssp_cpu = v == NOWHERE ? XST_NO_CPU : v;
	unpack_image(m, word[1], g);
}

static void unpack_beside_cpu(struct machine *m, struct bits *b, unsigned c)
{
	struct xst_cpu *cpu = &m->cpu[c];
	struct mdl_cpu *hw = &m->hw[c];
	const unsigned ssp_of = get(b, 2), ways = get(b, 2);
	unsigned token, in_use, modified;

	cpu->ssp_of = ssp_of ? &m->guest[ssp_of - 1] : NULL;
	if (ways & 1u)
		cpu->bits ^= XST_B_MASK;
	if (ways & 2u)
		cpu->bits &= ~WAY_BITS;
	cpu->mask = m->sys.mask | (machine_has(m, C_TILE) ? cpu->mask & XST_MASK_TILEDATA : 0);
	cpu->mask |= (uint64_t)get(b, 2) << XST_COMP_CET_U;
	token = get(b, 4);
	in_use = get(b, 1);
	modified = get(b, 1);
	hw->xcr0 = m->sys.xcr0;
	hw->xss = m->sys.xss;
	if (m->mode[c] == OFFLINE || !machine_has(m, C_CET_S))
		return;
	*machine_reg(m, c, C_CET_S) = (uint8_t)token;
	hw->xinuse |= (uint64_t)in_use << XST_COMP_CET_S;
	hw->xmodified |= (uint64_t)modified << XST_COMP_CET_S;
}

void unpack_beside(struct machine *m, uint64_t word)
{
	struct bits b = {word, 0};
	unsigned i;

	for (i = 0; i < TASKS; i++) {
		if (!machine_has(m, C_TILE))
			xst_perm_init(&m->sys, &m->perm[i]);
		m->perm[i].guest |= (uint64_t)get(&b, 1) << XST_COMP_TILEDATA;
		m->perm[i].guest_locked = get(&b, 1);
	}
	for (i = 0; i < CPUS; i++)
		unpack_beside_cpu(m, &b, i);
}

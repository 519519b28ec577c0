// SPDX-License-Identifier: BSD-2-Clause
/* The machine's state as a few words, independent of the names of tasks and CPUs, and back. */
#include "pack.h"

/* What XRSTOR_INFO names, seen as: 0 nothing that is ever saved to, 1 + task, 4 + task for the
 * second image, or 7 + guest. */
static unsigned pack_info(const struct machine *m, unsigned c)
{
	const uintptr_t area = m->hw[c].info.area;
	unsigned t;

	if (m->sys.insn == XST_INSN_XSAVE || m->sys.insn == XST_INSN_XSAVEC || m->hw[c].info.nonroot)
		return 0; /* these never skip */
	for (t = 0; t < TASKS; t++) {
		if (area == (uintptr_t)m->area[t])
			return 1 + t;
		if (m->sys.apart && area == (uintptr_t)m->area[t] + machine_apart(m, t))
			return 4 + t;
	}
	for (; t < m->ctxs; t++)
		if (area == (uintptr_t)m->area[t])
			return 7 + t - TASKS;
	return 0;
}

static unsigned comp_bits(uint64_t mask)
{
	return (unsigned)(mask & 7u) | (mask & XST_MASK_CET_U ? 8u : 0);
}

static uint64_t comp_mask(unsigned bits)
{
	return (bits & 7u) | (bits & 8u ? XST_MASK_CET_U : 0);
}

/* What does not fit into a CPU's word lies in the upper bits of the task's word of that number. */
#define SPARE_SHIFT 61u

static unsigned pack_section(const struct machine *m, unsigned c)
{
	const bool section = m->mode[c] == SECTION;

	if (m->mode[c] == OFFLINE || !(section || machine_kernels(m, c)))
		return 0;
	return (unsigned)(m->caps.sse && m->hw[c].mxcsr != MDL_MXCSR_INIT) |
	       (section ? xst_section_need(&m->cpu[c].sections) & 3u : 0u) << 1;
}

/* A number that does not depend on names, to put CPUs and tasks in order. */
static uint64_t cpu_key(const struct machine *m, unsigned c)
{
	const struct xst_cpu *cpu = &m->cpu[c];
	const bool xsave = m->sys.insn >= XST_INSN_XSAVE;

	return (uint64_t)m->policy[c] << 60 | (uint64_t)m->mode[c] << 58 |
	       (uint64_t)(cpu->cur != NULL) << 57 | (uint64_t)(cpu->owner != NULL) << 56 |
	       (uint64_t)cpu->slot << 52 | (uint64_t)(cpu->bits & STATE_BITS & ~XST_B_TILES) << 36 |
	       (uint64_t)(cpu->bits & XST_B_TILES) << 39 |
	       (uint64_t)machine_kernels(m, c) << 44 |
	       (uint64_t)(machine_kernels(m, c) ? cpu->sections.in_place : 0u) << 42 |
	       (uint64_t)pack_section(m, c) << 39 |
	       (uint64_t)(cpu->cur == cpu->owner) << 35 |
	       (uint64_t)(xsave ? comp_bits(m->hw[c].xinuse) : 0) << 28 |
	       (uint64_t)(machine_has(m, C_SSE) && m->hw[c].regs.SSE[0]) << 24 |
	       (uint64_t)(xsave ? comp_bits(m->hw[c].xmodified) : 0);
}

static uint64_t task_key(struct machine *m, unsigned t, const uint8_t *cpus)
{
	const struct xst_ctx *ctx = &m->task[t];
	uint64_t key = m->alive[t];
	unsigned i, k;

	for (i = 0; i < CPUS; i++) {
		const unsigned c = cpus[i];

		key = key << 1 | (m->cpu[c].cur == ctx);
		key = key << 1 | (m->cpu[c].owner == ctx);
		key = key << 1 | (m->in_place[c] == t);
		if (m->sys.insn >= XST_INSN_XSAVE)
			key = key << 1 | (m->hw[c].info.area == (uintptr_t)m->area[t]);
		key = key << 1 | (ctx->last_cpu == c);
		if (machine_has(m, C_SSE))
			key = key << 2 | relation(m->hw[c].regs.SSE[0], m->want[t][C_SSE]);
		if (machine_has(m, C_PKRU))
			key = key << 1 | (m->hw[c].regs.PKRU[0] == m->want[t][C_PKRU]);
	}
	if (!m->alive[t])
		return key << 40;
	key = key << 4 | ctx->use_row;
	key = key << 3 | ctx->blind;
	key = key << 2 | m->blind_row[t];
	key = key << 1 | (ctx->area != NULL);
	if (machine_has(m, C_TILE)) {
		key = key << 1 | (ctx->dynamic != 0);
		key = key << 1 | (m->perm[t].host >> XST_COMP_TILEDATA & 1u);
	}
	if (m->cfg->guests)
		key = key << 2 | tile_of(m->perm[t].guest) << 1 | m->perm[t].guest_locked;
	/* What lies in memory that is no task's area tells nothing. */
	for (k = 0; k < GUARDED && ctx->area; k++)
		if (machine_has(m, k) && (k != C_TILE || ctx->dynamic))
			key = key << 2 | relation(*machine_byte(m, t, k), m->want[t][k]);
	if (m->sys.insn >= XST_INSN_XSAVE && ctx->area)
		key = key << 3 | (m->area[t][XST_HEADER_OFFSET] & 7u);
	key = key << 2 | relation((uint8_t)ctx->pkru, m->want[t][C_PKRU]);
	return key;
}

static void order_tasks(struct machine *m, struct naming *names)
{
	uint64_t key[TASKS];
	unsigned i, j;

	for (i = 0; i < TASKS; i++) {
		const uint64_t mine = task_key(m, i, names->cpu);

		for (j = i; j > 0 && key[j - 1] < mine; j--) {
			key[j] = key[j - 1];
			names->task[j] = names->task[j - 1];
		}
		key[j] = mine;
		names->task[j] = (uint8_t)i;
	}
}

/* The tokens of one component; what the machine does not have is INIT everywhere. */
static inline void name_component(const struct machine *m, const struct naming *names,
				  struct renaming *r, unsigned k, unsigned ctxs)
{
	uint8_t *class = r->class[k], n = 0;
	unsigned i;

	memset(class, TOKEN_GARBAGE, sizeof(r->class[k]));
	class[TOKEN_INIT] = TOKEN_INIT;
	class[MDL_TOKEN_FNINIT] = MDL_TOKEN_FNINIT;
	if (!machine_has(m, k))
		return;
	for (i = 0; i < ctxs; i++) {
		const uint8_t want = m->want[names->task[i]][k];

		if (m->alive[names->task[i]] && class[want] == TOKEN_GARBAGE)
			class[want] = ++n;
	}
	for (i = 0; i < TASKS && m->cfg->signals; i++) {
		const uint8_t held = m->frame[names->task[i]][k];

		if (m->has_frame[names->task[i]] && class[held] == TOKEN_GARBAGE)
			class[held] = ++n;
	}
}

static inline void name_all(const struct machine *m, const struct naming *names, struct renaming *r,
			    unsigned ctxs, unsigned comps)
{
	unsigned i, k;

	for (k = 0; k < comps; k++)
		name_component(m, names, r, k, ctxs);
	for (i = 0; i < ctxs; i++)
		r->task[names->task[i]] = (uint8_t)i;
	for (i = 0; i < CPUS; i++)
		r->cpu[names->cpu[i]] = (uint8_t)i;
	r->task[NONE] = NONE;
	r->cpu[NOWHERE] = r->cpu[2] = NOWHERE;
}

static uint64_t pack_task(struct machine *m, unsigned t, const struct renaming *r)
{
	const struct xst_ctx *ctx = &m->task[t];
	const bool xsave = m->sys.insn >= XST_INSN_XSAVE;
	struct bits b = {0, 0};
	unsigned k;

	put(&b, 1, m->alive[t]);
	put(&b, 2, r->cpu[saturate(ctx->last_cpu, NOWHERE)]);
	if (!m->alive[t])
		return b.word;
	put(&b, 2, r->cpu[saturate(ctx->home, NOWHERE)]);
	put(&b, 3, saturate(ctx->use_row, m->most_rows));
	put(&b, 2, ctx->blind);
	put(&b, 2, m->blind_row[t]);
	put(&b, 1, ctx->area != NULL);
	put(&b, 4, r->class[C_PKRU][ctx->pkru & 15u]);
	for (k = 0; k < TASK_COMPS; k++)
		if (k != C_TILE && machine_has(m, k))
			put(&b, 4, r->class[k][m->want[t][k]]);
	if (!ctx->area)
		return b.word;
	for (k = 0; k < C_TILE; k++)
		if (machine_has(m, k))
			put(&b, 4, r->class[k][*machine_byte(m, t, k)]);
	if (!xsave)
		return b.word;
	put(&b, 3, machine_header(m, t, false)[0] & 7u);
	put(&b, 1, machine_header(m, t, false)[2] & 1u);
	put(&b, 3, machine_header(m, t, false)[1] & 7u);
	put(&b, 4, m->sys.apart ? r->class[C_CET][*machine_byte(m, t, C_CET)] : 0u);
	put(&b, 1, m->sys.apart && (machine_header(m, t, true)[0] & XST_MASK_CET_U));
	return b.word;
}

static unsigned rename_info(unsigned info, const struct renaming *r)
{
	if (info >= 7)
		return 7u + r->task[TASKS + info - 7] - TASKS;
	return info ? (info < 4 ? 1u : 4u) + r->task[(info - 1) % 3] : 0;
}

/* The last of its sixty-four bits is used. */
static uint64_t pack_cpu(struct machine *m, unsigned c, const struct renaming *r)
{
	const struct xst_cpu *cpu = &m->cpu[c];
	const struct mdl_cpu *hw = &m->hw[c];
	const bool offline = m->mode[c] == OFFLINE;
	const uint64_t mask = m->sys.mask | m->sys.apart | (m->cfg->guests ? m->sys.guest.max : 0);
	const unsigned info = pack_info(m, c);
	struct bits b = {0, 0};
	unsigned k;

	if (pack_other(m, c) && !pack_ways(m, c))
		abort(); /* the engine keeps something that is not packed */
	put(&b, 4, m->policy[c]);
	put(&b, 2, m->mode[c]);
	put(&b, 3, r->task[machine_task(m, cpu->cur)]);
	put(&b, 7, (cpu->bits & STATE_BITS & ~XST_B_TILES) >> STATE_SHIFT);
	put(&b, 3, cpu->slot);
	if (offline)
		return b.word;
	put(&b, 3, machine_kernels(m, c) ? NONE + 1u : r->task[machine_task(m, cpu->owner)]);
	put(&b, 2, machine_kernels(m, c) ? cpu->sections.in_place : 0u);
	put(&b, 3, r->task[m->in_place[c]]);
	put(&b, 1, (hw->cr0 & MDL_CR0_TS) != 0);
	for (k = 0; k < TASK_COMPS; k++)
		if (k != C_TILE && machine_has(m, k))
			put(&b, 4, r->class[k][*machine_reg(m, c, k)]);
	if (m->sys.insn < XST_INSN_XSAVE)
		return b.word;
	put(&b, 4, comp_bits(hw->xinuse & mask));
	put(&b, 4, rename_info(info, r));
	put(&b, 4, info ? comp_bits(hw->xmodified & mask) : 0);
	return b.word;
}

/* Thirteen bits for a task, ten for a CPU. */
static uint64_t pack_tiles(struct machine *m, const struct naming *names, const struct renaming *r)
{
	struct bits b = {0, 0};
	unsigned i;

	if (!machine_has(m, C_TILE))
		return 0;
	for (i = 0; i < TASKS; i++) {
		const unsigned t = names->task[i];
		const bool alive = m->alive[t], room = alive && m->task[t].dynamic;

		put(&b, 4, alive ? r->class[C_TILE][m->want[t][C_TILE]] : 0u);
		put(&b, 1, alive && tile_of(m->perm[t].host));
		put(&b, 1, alive && (m->sys.xss & ~m->perm[t].host));
		put(&b, 1, room);
		put(&b, 4, room ? r->class[C_TILE][*machine_byte(m, t, C_TILE)] : 0u);
		put(&b, 1, room && tile_of(machine_header(m, t, false)[0]));
		put(&b, 1, room && tile_of(machine_header(m, t, false)[1]));
	}
	for (i = 0; i < CPUS; i++) {
		const unsigned c = names->cpu[i];
		const struct mdl_cpu *hw = &m->hw[c];
		const bool on = m->mode[c] != OFFLINE, info = on && pack_info(m, c);

		put(&b, 1, tile_of(m->cpu[c].mask));
		put(&b, 1, (m->cpu[c].bits & XST_B_TILES) != 0);
		put(&b, 1, on && tile_of(hw->xfd));
		put(&b, 4, on ? r->class[C_TILE][*machine_reg(m, c, C_TILE)] : 0u);
		put(&b, 1, on && tile_of(hw->xinuse));
		put(&b, 1, info && tile_of(hw->xmodified));
		put(&b, 1, info && tile_of(hw->info.xcomp_bv));
	}
	return b.word;
}

/* A frame holds values that were a task's: one of six, or INIT. */
static uint64_t pack_frames(const struct machine *m, const struct naming *names,
			    const struct renaming *r)
{
	struct bits b = {0, 0};
	unsigned i, k;

	for (i = 0; i < TASKS; i++) {
		const unsigned t = names->task[i];

		put(&b, 1, m->has_frame[t]);
		for (k = 0; k < TASK_COMPS; k++)
			put(&b, 3, m->has_frame[t] ? r->class[k][m->frame[t][k]] & 7u : 0u);
	}
	return b.word;
}

static void unpack_frames(struct machine *m, uint64_t word)
{
	struct bits b = {word, 0};
	unsigned i, k;

	for (i = 0; i < TASKS; i++) {
		m->has_frame[i] = get(&b, 1);
		for (k = 0; k < TASK_COMPS; k++)
			m->frame[i][k] = (uint8_t)get(&b, 3);
	}
}

void machine_pack(const struct machine *m, struct state *s, struct naming *names)
{
	struct machine *w = (struct machine *)(uintptr_t)m; /* for the accessors; nothing is written */
	struct renaming r;
	unsigned i;

	names->cpu[0] = cpu_key(m, 0) < cpu_key(m, 1);
	names->cpu[1] = !names->cpu[0];
	order_tasks(w, names);
	if (m->cfg->guests) {
		order_guests(w, names);
		name_all(m, names, &r, m->ctxs, COMPS);
	} else {
		name_all(m, names, &r, TASKS, TASK_COMPS);
	}
	for (i = 0; i < TASKS; i++)
		s->task[i] = pack_task(w, names->task[i], &r);
	for (i = 0; i < CPUS; i++) {
		s->cpu[i] = pack_cpu(w, names->cpu[i], &r);
		s->task[i] |= (uint64_t)pack_section(m, names->cpu[i]) << SPARE_SHIFT;
	}
	s->tiles = pack_tiles(w, names, &r);
	s->frames = m->cfg->signals ? pack_frames(m, names, &r) : 0;
	if (m->cfg->guests)
		pack_guests(w, s, names, &r);
}

static void unpack_task(struct machine *m, uint64_t word, unsigned t)
{
	struct xst_ctx *ctx = &m->task[t];
	struct bits b = {word, 0};
	unsigned v, k;

	m->alive[t] = get(&b, 1);
	v = get(&b, 2);
	ctx->last_cpu = v == NOWHERE ? XST_NO_CPU : v;
	ctx->fault = 0;
	ctx->area = m->area[t];
	if (!m->alive[t]) {
		/* Memory that somebody may use for something else. */
		for (k = 0; k < COMPS; k++)
			m->want[t][k] = TOKEN_INIT;
		for (k = 0; k < C_TILE; k++)
			*machine_byte(m, t, k) = TOKEN_GARBAGE;
		ctx->home = XST_NO_CPU;
		return;
	}
	v = get(&b, 2);
	ctx->home = v == NOWHERE ? XST_NO_CPU : v;
	ctx->use_row = (uint8_t)get(&b, 3);
	ctx->blind = (uint8_t)get(&b, 2);
	m->blind_row[t] = (uint8_t)get(&b, 2);
	if (!get(&b, 1)) {
		ctx->area = NULL;
		ctx->home = XST_NO_AREA;
	}
	ctx->pkru = get(&b, 4);
	for (k = 0; k < TASK_COMPS; k++)
		if (k != C_TILE && machine_has(m, k))
			m->want[t][k] = (uint8_t)get(&b, 4);
	if (!ctx->area)
		return;
	for (k = 0; k < C_TILE; k++)
		if (machine_has(m, k))
			*machine_byte(m, t, k) = (uint8_t)get(&b, 4);
	if (m->sys.insn < XST_INSN_XSAVE)
		return;
	machine_header(m, t, false)[0] = get(&b, 3);
	machine_header(m, t, false)[2] = get(&b, 1);
	v = get(&b, 3);
	if (m->sys.insn < XST_INSN_XSAVEC)
		machine_header(m, t, false)[1] = 0;
	else
		machine_header(m, t, false)[1] = XST_XCOMP_COMPACT | v | (m->sys.mask & XST_MASK_TILECFG);
	if (!m->sys.apart)
		return;
	*machine_byte(m, t, C_CET) = (uint8_t)get(&b, 4);
	machine_header(m, t, true)[0] = get(&b, 1) ? XST_MASK_CET_U : 0;
	machine_header(m, t, true)[1] = XST_XCOMP_COMPACT | m->sys.apart;
	/* Tiles are so small here that an image that grew leaves its legacy region where this lies. */
	memset(&machine_header(m, t, true)[2], 0, 48);
}

static struct xst_ctx *task_of(struct machine *m, unsigned t)
{
	return t == NONE ? NULL : m->ctx[t];
}

static void unpack_info(struct machine *m, unsigned c, unsigned v)
{
	struct mdl_xrstor_info *info = &m->hw[c].info;

	info->nonroot = false;
	info->area = v >= 7 ? (uintptr_t)m->area[TASKS + v - 7]
		     : v >= 4 ? (uintptr_t)m->area[v - 4] + machine_apart(m, v - 4)
		     : v	  ? (uintptr_t)m->area[v - 1]
			  : 0;
	info->xcomp_bv = 0;
	if (m->sys.insn >= XST_INSN_XSAVEC)
		info->xcomp_bv = XST_XCOMP_COMPACT | (v >= 7   ? m->guest[v - 7].layout.mask
						      : v >= 4 ? m->sys.apart
							       : m->sys.mask);
}

static void unpack_cpu(struct machine *m, uint64_t word, unsigned c)
{
	struct xst_cpu *cpu = &m->cpu[c];
	struct mdl_cpu *hw = &m->hw[c];
	struct bits b = {word, 0};
	unsigned v, k;

	m->policy[c] = (uint8_t)get(&b, 4);
	cpu->policy = m->cfg->policy[m->policy[c]];
	m->mode[c] = (uint8_t)get(&b, 2);
	cpu->cur = task_of(m, get(&b, 3));
	cpu->fixed = m->fixed_bits[m->policy[c]];
	cpu->bits = cpu->fixed | get(&b, 7) << STATE_SHIFT;
	cpu->slot = (uint8_t)get(&b, 3);
	cpu->n = (struct xst_counters){0};
	hw->surprise = 0;
	/* The model's port has a clock. */
	cpu->sections.run = m->mode[c] == OFFLINE ? XST_SECTION_DOWN : XST_SECTION_WATCHED;
	if (m->mode[c] == OFFLINE) {
		machine_sleep(m, c);
		return;
	}
	v = get(&b, 3);
	cpu->owner = v > NONE ? (struct xst_ctx *)(void *)cpu : task_of(m, v);
	cpu->sections.in_place = (uint8_t)get(&b, 2);
	m->in_place[c] = (uint8_t)get(&b, 3);
	hw->cr0 = MDL_CR0_MP | (get(&b, 1) ? MDL_CR0_TS : 0);
	for (k = 0; k < TASK_COMPS; k++)
		if (k != C_TILE && machine_has(m, k))
			*machine_reg(m, c, k) = (uint8_t)get(&b, 4);
	if (m->sys.insn < XST_INSN_XSAVE)
		return;
	hw->xinuse = comp_mask(get(&b, 4)) | XST_MASK_PKRU;
	v = get(&b, 4);
	hw->xmodified = v ? comp_mask(get(&b, 4)) : ~0ULL;
	unpack_info(m, c, v);
}

/* Before the rest of a task: where its second image lies depends on it. The first image's part is
 * returned: token, XSTATE_BV, XCOMP_BV. */
static unsigned unpack_room(struct machine *m, struct bits *b, unsigned t)
{
	m->want[t][C_TILE] = (uint8_t)get(b, 4);
	xst_perm_init(&m->sys, &m->perm[t]);
	if (get(b, 1))
		m->perm[t].host |= XST_MASK_TILEDATA;
	if (get(b, 1))
		m->perm[t].host &= XST_MASK_USER;
	m->task[t].dynamic = get(b, 1) ? XST_MASK_TILEDATA : 0;
	return get(b, 6);
}

static void unpack_tile(struct machine *m, unsigned image, unsigned t)
{
	if (!m->task[t].dynamic)
		return;
	*machine_byte(m, t, C_TILE) = image & 15u;
	machine_header(m, t, false)[0] |= (uint64_t)(image >> 4 & 1u) << XST_COMP_TILEDATA;
	machine_header(m, t, false)[1] |= (uint64_t)(image >> 5) << XST_COMP_TILEDATA;
}

static void unpack_xfd(struct machine *m, struct bits *b, unsigned c)
{
	struct xst_cpu *cpu = &m->cpu[c];
	struct mdl_cpu *hw = &m->hw[c];
	uint64_t info;

	cpu->mask = m->sys.mask | (uint64_t)get(b, 1) << XST_COMP_TILEDATA;
	cpu->xfd = m->sys.dynamic & ~cpu->mask;
	if (get(b, 1))
		cpu->bits = (cpu->bits & ~WAY_BITS) | XST_B_TILES;
	hw->xfd = (uint64_t)get(b, 1) << XST_COMP_TILEDATA;
	hw->xfd_err = 0;
	*machine_reg(m, c, C_TILE) = (uint8_t)get(b, 4);
	hw->xinuse |= (uint64_t)get(b, 1) << XST_COMP_TILEDATA;
	hw->xmodified |= (uint64_t)get(b, 1) << XST_COMP_TILEDATA;
	info = (uint64_t)get(b, 1) << XST_COMP_TILEDATA;
	if (m->mode[c] == OFFLINE)
		*machine_reg(m, c, C_TILE) = TOKEN_GARBAGE;
	else
		hw->info.xcomp_bv = (hw->info.xcomp_bv & ~XST_MASK_TILEDATA) | info;
}

void machine_unpack(struct machine *m, const struct state *s)
{
	struct bits tiles = {s->tiles, 0};
	unsigned i, image[TASKS] = {0};

	for (i = 0; i < TASKS && machine_has(m, C_TILE); i++)
		image[i] = unpack_room(m, &tiles, i);
	for (i = 0; i < TASKS; i++) {
		unpack_task(m, s->task[i], i);
		unpack_tile(m, image[i], i);
	}
	for (i = 0; i < m->cfg->guests; i++)
		unpack_guest(m, s->guest[i], i);
	for (i = 0; i < CPUS; i++) {
		const unsigned extra = (unsigned)(s->task[i] >> SPARE_SHIFT);

		unpack_cpu(m, s->cpu[i], i);
		if (m->mode[i] == SECTION)
			m->cpu[i].sections.run =
				XST_SECTION_RUN(XST_SECTION_WATCHED_BUSY, extra >> 1, 0);
		if (m->mode[i] == SECTION || machine_kernels(m, i))
			m->hw[i].mxcsr = extra & 1u ? MXCSR_OTHER : MDL_MXCSR_INIT;
		else
			machine_set_mxcsr(m, i);
		if (machine_has(m, C_TILE))
			unpack_xfd(m, &tiles, i);
	}
	if (m->cfg->signals)
		unpack_frames(m, s->frames);
	if (m->cfg->guests)
		unpack_beside(m, s->beside);
	m->broken = CHECK_NONE;
	m->tainted = false;
	m->choices.asked = 0;
}

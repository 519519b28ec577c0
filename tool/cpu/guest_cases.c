// SPDX-License-Identifier: BSD-2-Clause
/*
 * Computes the three cases of guest_cases.h. Bytes that move are counted by a software CPU which
 * executes the saves and loads of a switch in the engine's order, all state in use.
 */
#include "cpu/guest_cases.h"

#include <string.h>

#include <xst/image.h>

#include "every_task.h"
#include "mdl.h"
#include "ui/ui.h"

#define LINE_BYTES  64u
#define AREA_BYTES  16384u
#define MXCSR_OTHER (MDL_MXCSR_INIT | 0x20u)
#define SSPS        3u /* PL0_SSP to PL2_SSP are CET_S */

/* --- which state, and how large --- */

/* The architecture's size: what a CPU without the component would have. */
static void add_cet_s(struct guest_cases *g)
{
	const struct xst_comp_info *info = xst_comp_info(XST_COMP_CET_S);

	if (g->caps.xss & XST_MASK_CET_S)
		return;
	g->as_if = true;
	g->caps.xss |= XST_MASK_CET_S;
	g->caps.comp[XST_COMP_CET_S].bytes = info->bytes;
	g->caps.comp[XST_COMP_CET_S].align64 = info->align64;
	g->caps.comp[XST_COMP_CET_S].supervisor = true;
	g->caps.cet_ss = true;
}

static int compute_system(struct guest_cases *g, enum guest_case_id id, struct xst_system *sys)
{
	const uint64_t user = XST_WANT_ALL_USER | g->task_super;
	struct xst_caps caps = g->caps;

	switch (id) {
	case CASE_TASKS:
		return every_task_system_compute(&caps, user | XST_MASK_CET_S, 0, sys, NULL);
	case CASE_NONE:
		/* Guests have the registers all the same: software switches them. */
		caps.xss &= ~XST_MASK_CET_S;
		return xst_system_compute(&caps, user | XST_WANT_GUEST_CET, 0, sys, NULL);
	default:
		return xst_system_compute(&caps, user | XST_WANT_GUEST_CET, 0, sys, NULL);
	}
}

/* --- what moves --- */

struct image {
	struct xst_layout layout;
	uint8_t *area;
};

static unsigned lines_of(const struct image *m, uint64_t live)
{
	bool line[AREA_BYTES / LINE_BYTES] = {false};
	unsigned n = 0, i;
	uint64_t rest;

	line[XST_HEADER_OFFSET / LINE_BYTES] = true;
	for (rest = live & m->layout.mask; rest; rest &= rest - 1) {
		const unsigned c = xst_mask_first(rest);
		const uint32_t from = m->layout.offset[c];

		for (i = from; i < from + m->layout.size[c]; i++)
			line[i / LINE_BYTES] = true;
	}
	for (i = 0; i < AREA_BYTES / LINE_BYTES; i++)
		n += line[i];
	return n;
}

/* The task used all its state but, perhaps, CET_S, which no instruction of user mode writes. */
static void use(struct mdl_cpu *c, uint64_t mask, bool with_cet_s)
{
	uint64_t rest = with_cet_s ? mask : mask & ~XST_MASK_CET_S;

	c->mxcsr = MXCSR_OTHER;
	for (; rest; rest &= rest - 1) {
		const unsigned i = xst_mask_first(rest);

		/* Small numbers: no exception flag of x87 is set, a pointer is canonical. */
		memset(mdl_reg(c, i), i == XST_COMP_X87 ? 0x00 : 0x10, mdl_reg_bytes(c, i));
		if (i == XST_COMP_X87)
			mdl_reg(c, i)[32] = 0x11;
		mdl_wrote(c, i);
	}
}

/* In the engine's order: a load of the second image comes before that of the first. */
static void save_all(struct mdl_cpu *c, const struct image *m, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		(void)mdl_save(c, XST_INSN_XSAVES, m[i].area, m[i].layout.mask);
}

static void load_all(struct mdl_cpu *c, const struct image *m, unsigned n)
{
	while (n--)
		(void)mdl_load(c, XST_INSN_XSAVES, m[n].area, m[n].layout.mask);
}

static void move(const struct xst_system *sys, const struct image *m, unsigned n, enum cet_s_is cet_s,
		 struct guest_moved *out)
{
	static struct mdl_cpu c;
	uint64_t mask = 0;
	unsigned i;

	for (i = 0; i < n; i++) {
		mask |= m[i].layout.mask;
		xst_fresh_image(XST_INSN_XSAVES, m[i].layout.mask, m[i].area, XST_EXT_OFFSET);
	}
	mdl_reset(&c, &sys->caps);
	c.cr4 = MDL_CR4_OSFXSR | MDL_CR4_OSXSAVE | MDL_CR4_PKE;
	(void)mdl_xsetbv(&c, sys->xcr0);
	(void)mdl_wrmsr_xss(&c, sys->xss);
	c.xfd = sys->dynamic;
	/* A slot before, so that the area is the one that was restored from. */
	use(&c, mask, cet_s != CET_S_INIT);
	save_all(&c, m, n);
	load_all(&c, m, n);
	use(&c, mask, cet_s == CET_S_CHANGED);
	c.read_bytes = c.written_bytes = 0;
	save_all(&c, m, n);
	load_all(&c, m, n);
	out->written_bytes = c.written_bytes;
	out->read_bytes = c.read_bytes;
	out->lines = 0;
	for (i = 0; i < n; i++)
		out->lines += lines_of(&m[i], cet_s == CET_S_INIT ? ~XST_MASK_CET_S : ~0ULL);
}

static int count_moves(struct guest_case *k)
{
	static uint8_t areas[2][AREA_BYTES] __attribute__((aligned(64)));
	const struct xst_system *sys = &k->sys;
	struct image one = {.area = areas[0]};
	const struct image own[2] = {{sys->layout, areas[0]}, {sys->apart_layout, areas[1]}};
	int err = xst_layout_compute(&sys->caps, k->image_mask, XST_COMPACTED, &one.layout, NULL);

	k->image_bytes = one.layout.bytes;
	k->image_lines_bytes = (k->image_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
	if (err || one.layout.bytes > AREA_BYTES || sys->ctx_bytes > AREA_BYTES)
		return XST_ERR_NEED_BYTES;
	k->ways = k->image_mask & XST_MASK_CET_S ? CET_S_WAYS : 1;
	for (unsigned way = 0; way < k->ways; way++) {
		move(sys, &one, 1, (enum cet_s_is)way, &k->image[way]);
		move(sys, own, sys->apart ? 2 : 1, (enum cet_s_is)way, &k->area[way]);
	}
	return XST_OK;
}

static int compute_case(struct guest_cases *g, enum guest_case_id id)
{
	static const char *const names[GUEST_CASES][2] = {
		[CASE_NONE] = {"none", "no CET_S"},
		[CASE_GUESTS] = {"guests", "guests only"},
		[CASE_TASKS] = {"tasks", "every task"},
	};
	struct guest_case *k = &g->at[id];
	int err = compute_system(g, id, &k->sys);

	k->id = names[id][0];
	k->name = names[id][1];
	if (err)
		return err;
	if (k->sys.insn != XST_INSN_XSAVES)
		return XST_ERR_UNSUPPORTED;
	k->image_mask = k->sys.host.mask;
	k->area_bytes = k->sys.host.bytes;
	k->guest_bytes = k->sys.guest.bytes;
	if (k->sys.guest_cet_s) {
		k->swap_bytes = sizeof(uint64_t) * SSPS;
		k->swap_reads = k->swap_writes = SSPS;
	}
	return count_moves(k);
}

/* --- what it costs --- */

static bool find_costs(const struct cpu_source *src, const struct cpu_request *req,
		       struct guest_cases *g, char *err, size_t size)
{
	const char *name = req->costs;

	if (!name)
		name = !strcmp(src->caps.vendor, "GenuineIntel") ? "emerald-rapids" : "zen3";
	if (!sim_costs_builtin(&g->costs, name) && sim_costs_read(&g->costs, name, err, size))
		return false;
	/* Who has guests is not one itself. */
	sim_costs_ring0(&g->costs, false);
	return true;
}

static double at_least_0(double v)
{
	return v > 0 ? v : 0;
}

/*
 * Nobody has timed CET_S: XSAVES needs ring 0. But what one component more costs lies between nothing and
 * what one of ten times the size does. Where that was measured in pairs, in INIT and live, it is taken;
 * else what AVX costs beside SSE by the table, or what a restore of INIT costs beside one of live
 * registers where that is more, as on some CPUs it is.
 */
static void one_more(struct guest_cases *g)
{
	const struct sim_costs *c = &g->costs;
	const double save = c->save[REC_AVX].high - c->save[REC_SSE].low;
	const double live = c->load[REC_AVX].high - c->load[REC_SSE].low;
	const double init = c->load[REC_INIT].high - c->load[REC_SSE].low;

	g->extra_measured = c->init_more.high > 0 && c->live_more.high > 0;
	g->extra_live.high = at_least_0(save) + at_least_0(live > init ? live : init);
	g->extra_init = g->extra_live;
	if (g->extra_measured) {
		g->extra_init = c->init_more;
		g->extra_live.high = c->live_more.high;
	}
}

/* A save and a load of state that is live up to @live. */
static struct sim_range pair(const struct sim_costs *c, enum rec_live live)
{
	return (struct sim_range){c->save[live].low + c->load[live].low,
				  c->save[live].high + c->load[live].high};
}

static void add(struct sim_range *to, double low, double high)
{
	to->low += low;
	to->high += high;
}

static void price_case(const struct guest_cases *g, struct guest_case *k, enum rec_live live)
{
	const struct sim_costs *c = &g->costs;

	k->image_cycles = k->image_live_cycles = k->area_cycles = pair(c, live);
	if (k->image_mask & XST_MASK_CET_S) {
		add(&k->image_cycles, g->extra_init.low, g->extra_init.high);
		add(&k->image_live_cycles, g->extra_live.low, g->extra_live.high);
	}
	/* Some tens of bytes: like INIT at least, like all of SSE at most. */
	if (k->sys.apart)
		add(&k->area_cycles, pair(c, REC_INIT).low, pair(c, REC_SSE).high);
}

static void price(struct guest_cases *g)
{
	const struct guest_case *none = &g->at[CASE_NONE];
	const struct sim_costs *c = &g->costs;
	const enum rec_live live = none->image_mask & XST_MASK_AVX512 ? REC_AVX512
				   : none->image_mask & XST_MASK_AVX  ? REC_AVX
								      : REC_SSE;

	one_more(g);
	for (unsigned i = 0; i < GUEST_CASES; i++)
		price_case(g, &g->at[i], live);
	g->swap_exit = (struct sim_range){none->swap_reads * c->msr.low,
					  none->swap_reads * c->msr.high};
	g->swap_enter = (struct sim_range){none->swap_writes * c->msr.low,
					   none->swap_writes * c->msr.high};
}

int guest_cases_compute(const struct cpu_source *src, const struct cpu_request *req,
			struct guest_cases *g)
{
	struct slab slab;
	struct xst_diag d;
	char why[512];
	int status = cpu_find_slab(req, &slab);

	memset(g, 0, sizeof(*g));
	g->src = src;
	g->caps = src->caps;
	g->tasks = req->tasks ? req->tasks : CPU_TASKS_DEFAULT;
	if (status)
		return status;
	if (!find_costs(src, req, g, why, sizeof(why)))
		return ui_error(CPU_CMD, UI_USAGE, "%s", why);
	if (req->xcr0_given && xst_xcr0_check(req->xcr0, src->caps.xcr0, &d))
		return ui_error(CPU_CMD, UI_NO, "XSETBV %#llx: #GP: %s",
				(unsigned long long)req->xcr0, d.rule);
	if (req->xss_given && xst_xss_check(req->xss, src->caps.xss & XST_MASK_TASK_SUPER, &d))
		return ui_error(CPU_CMD, UI_NO, "tasks cannot have %#llx of IA32_XSS here: %s",
				(unsigned long long)req->xss, d.rule);
	if (req->xcr0_given)
		g->caps.xcr0 = req->xcr0;
	g->task_super = src->caps.xss & XST_MASK_TASK_SUPER;
	if (req->xss_given)
		g->task_super = req->xss;
	add_cet_s(g);
	for (unsigned id = 0; id < GUEST_CASES; id++) {
		struct guest_case *k = &g->at[id];
		int err = compute_case(g, (enum guest_case_id)id);

		if (err == XST_ERR_UNSUPPORTED)
			return ui_error(CPU_CMD, UI_NO, "no XSAVES to rely on here, so no image can hold "
					"supervisor state: only software can switch it");
		if (err)
			return ui_error(CPU_CMD, UI_NO, "%s", xst_strerror(err));
		k->slab = slab;
		k->slab.object_bytes += k->image_bytes - g->at[CASE_NONE].image_bytes;
		slab_use(&k->slab, &k->use);
	}
	price(g);
	return UI_OK;
}

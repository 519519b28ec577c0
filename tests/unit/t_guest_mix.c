// SPDX-License-Identifier: BSD-2-Clause
/*
 * Guests and tasks in random order on two CPUs that take the manual's freedoms at random, every
 * policy, flips, sections, CPUs that go and come back: whatever a guest or a user can see is its
 * own, and in user mode nothing of a guest's is in force.
 *
 *	t_guest_mix [STEPS] [SEED]
 *
 * Then the same with the engine broken in one place after the other, which must be seen.
 */
#include <time.h>

#include <xst/kernel.h>

#include "guests.h"

enum { I_CET_U = 3, I_TILE = 5, COMPS = 7 };
static const unsigned comps[COMPS] = {XST_COMP_X87,   XST_COMP_SSE,   XST_COMP_AVX,
				         XST_COMP_CET_U,
				      XST_COMP_CET_S, TILE,	      XST_COMP_BNDREGS};

/* What everybody's registers hold: kept where the engine cannot write. */
struct truth {
	uint8_t comp[COMPS];
	uint32_t pkru;
};

static struct guests g;
static XST_AREA(large[RIG_TASKS], GUEST_BYTES); /* of tasks that use tiles */
static struct truth task[RIG_TASKS], vcpu[GUESTS];
static int stay[RIG_TASKS];   /* the guest that the thread runs, or -1 */
static int where[RIG_TASKS];  /* the CPU it is on, or -1 */
static int runs[RIG_CPUS];    /* the thread there, or -1 */
static struct mdl_choices choices[RIG_CPUS];
static uint64_t state, step;
static const char *wrong;     /* the first thing that was */

static unsigned below(unsigned n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % n;
}

static uint8_t value(void)
{
	return (uint8_t)(1 + below(255));
}

/* What the manual leaves open: INIT that is tracked as in use, unmodified components that are
 * saved. */
static void choose(void)
{
	unsigned c;

	for (c = 0; c < RIG_CPUS; c++) {
		choices[c] = (struct mdl_choices){.about = (uint64_t)below(1u << 30) << below(30),
						  .bits = below(1u << 30) << below(3),
						  .about_skips = below(2)};
		g.r.hw[c].choices = &choices[c];
	}
}

static void expect(bool cond, const char *what)
{
	if (!cond && !wrong)
		wrong = what;
}

static struct xst_ctx *ctx_of(int t)
{
	if (t < 0)
		return NULL;
	return stay[t] < 0 ? &g.r.task[t] : &g.vcpu[stay[t]].ctx;
}

static uint32_t pkru_held(unsigned c)
{
	uint32_t v;

	memcpy(&v, g.r.hw[c].regs.PKRU, 4);
	return v;
}

/* Without XSAVE there is no XCR0. */
static bool xcr0_is(const struct mdl_cpu *hw, uint64_t xcr0)
{
	return hw->xcr0 == xcr0 || g.r.sys.insn < XST_INSN_XSAVE;
}

static bool has(uint64_t mask, unsigned i)
{
	return mask & XST_MASK(comps[i]);
}

/* --- what a CPU does --- */

static void go(unsigned c, int t)
{
	xst_switch(&g.r.cpu[c], g.r.cpu[c].cur, ctx_of(t));
	if (runs[c] >= 0)
		where[runs[c]] = -1;
	runs[c] = t;
	if (t >= 0)
		where[t] = (int)c;
}

static void schedule(unsigned c)
{
	int t = (int)below(RIG_TASKS + 1) - 1;

	if (t < 0 || where[t] < 0)
		go(c, t);
}

/* In user mode the control registers are the host's, and nothing of a guest's is left that
 * counts. */
static void use_task(unsigned c)
{
	const int t = runs[c];
	const struct xst_system *sys = &g.r.sys;
	struct mdl_cpu *hw = &g.r.hw[c];
	const unsigned i = below(COMPS);
	const struct xst_ctx *ctx = &g.r.task[t];
	const uint64_t mine = sys->host.mask | ctx->dynamic;

	xst_return_to_user(&g.r.cpu[c]);
	expect(xcr0_is(hw, sys->xcr0), "XCR0 in user mode");
	expect(hw->xss == sys->xss, "IA32_XSS in user mode");
	/* Behind CR0.TS it is still the owner's. */
	expect(!hw->xfd_err && (hw->cr0 & MDL_CR0_TS || hw->xfd == (sys->dynamic & ~mine)),
	       "IA32_XFD in user mode");
	expect(!(hw->xfd & XST_MASK_TILEDATA) || mdl_is_init(hw, TILE), "tiles behind IA32_XFD");
	expect(pkru_held(c) == task[t].pkru || !sys->pkru, "a task's PKRU");
	expect(held(hw, XST_COMP_CET_U) == (mine & XST_MASK_CET_U ? task[t].comp[I_CET_U] : 0u),
	       "CET_U in user mode");
	/* Half of them use tiles, some day. */
	if (t % 2 && comps[i] == TILE && sys->dynamic && !ctx->dynamic && !below(4)) {
		expect(!rig_use(&g.r, c, TILE), "tiles before there is room");
		/* Where CR0.TS was set, IA32_XFD is the second reason. */
		expect(!hw->xfd_err || xst_device_not_available(&g.r.cpu[c]) == XST_ERR_DYNAMIC,
		       "another reason for #NM");
		expect(!xst_ctx_grow(&g.r.cpu[c], &g.r.task[t], &g.perm, large[t], GUEST_BYTES,
				     NULL),
		       "no room");
		return;
	}
	if (!has(mine, i))
		return;
	if (comps[i] != XST_COMP_CET_U && !rig_use(&g.r, c, comps[i])) {
		expect(false, "a task's component traps");
		return;
	}
	expect(held(hw, comps[i]) == task[t].comp[i], "a task's registers");
	if (below(2)) {
		task[t].comp[i] = value();
		fill(hw, comps[i], task[t].comp[i]);
	}
	if (sys->pkru && !below(3)) {
		task[t].pkru = below(1u << 30) << 2;
		rig_put_pkru(&g.r, c, task[t].pkru);
	}
}

/* Does guest @v have component @i, and is it enabled? */
static bool guest_has(const struct xst_guest *v, unsigned i)
{
	if (comps[i] == XST_COMP_CET_S && g.r.sys.guest_cet_s)
		return true;
	return has(v->mask & ~v->xfd & (v->xcr0 | XST_MASK_SUPER | XST_MASK_LEGACY), i);
}

/* All that XINUSE tells of becomes INIT: a program has ended. */
static void clear(unsigned c, struct truth *t)
{
	unsigned i;

	for (i = 0; i < COMPS; i++) {
		if (!has(g.r.hw[c].xcr0 & XST_MASK_TS_GUARDED & ~g.r.hw[c].xfd, i))
			continue;
		mdl_init(&g.r.hw[c], comps[i]);
		t->comp[i] = 0;
	}
}

static void use_guest(unsigned c)
{
	const unsigned n = (unsigned)stay[runs[c]];
	struct xst_guest *v = &g.vcpu[n];
	struct mdl_cpu *hw = &g.r.hw[c];
	unsigned i;

	xst_guest_enter(&g.r.cpu[c], v);
	hw->nonroot = true;
	expect(xcr0_is(hw, v->xcr0) && (!hw->caps->xsaves || hw->xss == v->xss), "a guest's XCR0");
	expect(!(v->mask & TILE) || hw->xfd == v->xfd, "a guest's IA32_XFD");
	for (i = 0; i < COMPS; i++)
		if (guest_has(v, i))
			expect(held(hw, comps[i]) == vcpu[n].comp[i], "a guest's registers");
	i = below(COMPS);
	if (guest_has(v, i) && below(2)) {
		vcpu[n].comp[i] = value();
		fill(hw, comps[i], vcpu[n].comp[i]);
	}
	if (g.r.sys.insn >= XST_INSN_XSAVE && !below(6))
		clear(c, &vcpu[n]);
	if (g.r.sys.pkru) {
		expect(pkru_held(c) == vcpu[n].pkru, "a guest's PKRU");
		if (!below(3)) {
			vcpu[n].pkru = below(1u << 30) << 2;
			rig_put_pkru(&g.r, c, vcpu[n].pkru);
		}
	}
	hw->nonroot = false;
	xst_guest_exit(&g.r.cpu[c], v);
	expect(xcr0_is(hw, g.r.sys.xcr0) && hw->xss == g.r.sys.xss,
	       "the host's XCR0 after an exit");
	/* The kernel's accesses to the thread's memory obey it. */
	expect(pkru_held(c) == task[runs[c]].pkru || !g.r.sys.pkru,
	       "the thread's PKRU after an exit");
}

static void load(unsigned c)
{
	const int n = (int)below(GUESTS);
	int t;

	for (t = 0; t < RIG_TASKS; t++)
		if (stay[t] == n)
			return;
	xst_guest_load(&g.r.cpu[c], &g.vcpu[n]);
	stay[runs[c]] = n;
}

static void put(unsigned c)
{
	xst_guest_put(&g.r.cpu[c], &g.vcpu[stay[runs[c]]]);
	stay[runs[c]] = -1;
}

/* The guest's kernel turns tiles off or on; what it turns off is lost. */
static void turn_xfd(unsigned c)
{
	struct xst_guest *v = &g.vcpu[stay[runs[c]]];
	const uint64_t xfd = below(2) ? XST_MASK_TILEDATA : 0;

	if (!(v->mask & XST_MASK_TILEDATA))
		return;
	if (xfd & ~v->xfd)
		vcpu[stay[runs[c]]].comp[I_TILE] = 0;
	expect(!xst_guest_set_xfd(&g.r.cpu[c], v, xfd, NULL), "IA32_XFD is refused");
}

/* It enables less or more; what is new begins as INIT. */
static void turn_xcr0(unsigned c)
{
	struct xst_guest *v = &g.vcpu[stay[runs[c]]];
	const uint64_t all = v->mask & XST_MASK_USER, few[] = {XST_MASK_X87, 7, all};
	const uint64_t xcr0 = few[below(3)] & all;
	unsigned i;

	if (g.r.sys.insn < XST_INSN_XSAVE)
		return;
	for (i = 0; i < COMPS; i++)
		if (has(xcr0 & ~v->xcr0 & ~XST_MASK_LEGACY, i))
			vcpu[stay[runs[c]]].comp[i] = 0;
	expect(!xst_guest_set_xcr0(&g.r.cpu[c], v, xcr0, NULL), "XCR0 is refused");
	expect(!xst_guest_set_xss(v, v->mask & (below(2) ? XST_MASK_SUPER : 0), NULL),
	       "IA32_XSS is refused");
}

/* The kernel uses registers itself, tiles too where there are any. */
static void section(unsigned c)
{
	static XST_AREA(tiles[RIG_CPUS], XST_TILES_BYTES);
	const bool amx = !below(3) && !xst_kernel_give_tiles(&g.r.cpu[c], tiles[c], sizeof(tiles[c]));

	if (xst_kernel_begin(&g.r.cpu[c], XST_NEED_EFI | (amx ? XST_NEED_TILES : 0))) {
		expect(false, "a section is refused");
		return;
	}
	fill(&g.r.hw[c], XST_COMP_SSE, 0x99);
	fill(&g.r.hw[c], XST_COMP_AVX, 0x99);
	if (amx)
		fill(&g.r.hw[c], TILE, 0x99);
	xst_kernel_end(&g.r.cpu[c]);
}

static void off_and_on(unsigned c)
{
	xst_cpu_offline(&g.r.cpu[c]);
	if (below(2)) {
		const int surprise = g.r.hw[c].surprise;

		mdl_reset(&g.r.hw[c], &g.r.caps);
		g.r.hw[c].surprise = surprise;
	}
	expect(!xst_cpu_online(&g.r.cpu[c], NULL), "a CPU does not come up");
}

static void flip(unsigned c)
{
	(void)xst_cpu_set_policy(&g.r.cpu[c], xst_policy_at(below(XST_POLICY_COUNT)), XST_FORCE,
				 NULL);
}

static void one(void)
{
	const unsigned c = below(RIG_CPUS), what = below(100);
	const bool in = runs[c] >= 0 && stay[runs[c]] >= 0;

	choose();
	if (what < 20)
		schedule(c);
	else if (what < 25)
		section(c);
	else if (what < 28)
		flip(c);
	else if (what < 29)
		off_and_on(c);
	else if (runs[c] < 0)
		return;
	else if (in && what < 45)
		put(c);
	else if (in && what < 50)
		turn_xfd(c);
	else if (in && what < 54)
		turn_xcr0(c);
	else if (in)
		use_guest(c);
	else if (what < 60)
		load(c);
	else
		use_task(c);
}

/* --- machines --- */

static const struct {
	const char *name;
	enum xst_insn insn;
	uint64_t xcr0, xss, want;
	bool soft;
} machines[] = {
	{"XSAVES, AMX, CET for guests", XST_INSN_XSAVES, SPR, CET, WANT, false},
	{"XSAVES, CET for all", XST_INSN_XSAVES, INTEL, CET, WANT | XST_MASK_CET_U, false},
	{"XSAVES, CET for guests", XST_INSN_XSAVES, INTEL, CET, WANT, false},
	{"XSAVES, CET_S by software", XST_INSN_XSAVES, INTEL, XST_MASK_CET_U, WANT, true},
	{"XSAVEC, AMX", XST_INSN_XSAVEC, SPR, 0, WANT, false},
	{"XSAVEOPT, MPX, CET_S by software", XST_INSN_XSAVEOPT, 0x21f, 0, WANT, true},
	{"FXSAVE", XST_INSN_FXSAVE, 0, 0, WANT, false},
};
#define MACHINES (sizeof(machines) / sizeof(machines[0]))

static void up(unsigned m)
{
	unsigned i;

	if (rig_up_want(&g.r, machines[m].insn, machines[m].xcr0, machines[m].xss, machines[m].want,
			"auto"))
		abort();
	if (machines[m].soft) {
		/* Known only after a look at CPUID's leaf 7. */
		g.r.caps.cet_ss = true;
		mdl_current = &g.r.hw[0];
		if (xst_system_init(&g.r.sys, machines[m].want) || !g.r.sys.guest_cet_s)
			abort();
	}
	xst_perm_init(&g.r.sys, &g.perm);
	if (g.r.sys.dynamic &&
	    (xst_perm_request(&g.r.sys, &g.perm, XST_PERM_GUEST, TILE, NULL, NULL) ||
	     xst_perm_request(&g.r.sys, &g.perm, XST_PERM_HOST, TILE, NULL, NULL)))
		abort();
	memset(task, 0, sizeof(task));
	memset(vcpu, 0, sizeof(vcpu));
	for (i = 0; i < RIG_TASKS; i++) {
		task[i].pkru = g.r.sys.init_pkru;
		stay[i] = where[i] = -1;
	}
	for (i = 0; i < RIG_CPUS; i++)
		runs[i] = -1;
	for (i = 0; i < GUESTS; i++) {
		if (xst_guest_init(&g.r.sys, &g.perm, &g.vcpu[i], g.area[i], GUEST_BYTES, NULL) ||
		    xst_guest_set_direct(&g.r.sys, &g.vcpu[i], XST_DIRECT_SSP, NULL))
			abort();
		guest_enable(&g, 0, i);
	}
}

/* Returns what was wrong, or NULL. */
static const char *mix(unsigned m, uint64_t steps, uint64_t seed)
{
	unsigned i;

	wrong = NULL;
	state = seed * 0x9e3779b97f4a7c15ULL + m;
	up(m);
	for (step = 0; step < steps && !wrong; step++) {
		one();
		for (i = 0; i < RIG_CPUS; i++) {
			expect(!g.r.hw[i].surprise, "an instruction of the engine faults");
			expect(xst_counters_balanced(&g.r.cpu[i].n), "the counters");
			expect(!g.r.cpu[i].n.loads_failed, "a restore fails");
			expect(!(g.r.cpu[i].mask & ~(g.r.sys.mask | g.r.sys.dynamic)) ||
				       g.r.cpu[i].bits & XST_B_MASK,
			       "a guest's mask that nobody looks at");
		}
	}
	return wrong;
}

/* What is broken, and the machine on which it shows. */
static const struct {
	const char *name;
	unsigned machine;
} twins[] = {
	{"GUEST_LEFT", 2},  {"GUEST_KEPT", 1},  {"GUEST_KEPT", 2}, {"GUEST_ELIDED", 2},
	{"GUEST_XCR0", 4},  {"GUEST_XSS", 2},   {"GUEST_PKRU", 4}, {"GUEST_GROWN", 4},
	{"GUEST_SSP", 3},   {"GUEST_SSP", 5},   {"XFD_CACHED", 0}, {"XFD_LATE", 0},
	{"GUEST_KEPT", 5},  {"TILES_LEFT", 4},  {"STALE_OWNER", 2}, {"NO_FETCH", 2},
};

int main(int argc, char **argv)
{
	const uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000;
	const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	unsigned i, m;

	printf("seed %llu\n", (unsigned long long)seed);
	for (m = 0; m < MACHINES; m++) {
		if (mix(m, steps, seed)) {
			printf("%s: %s, at step %llu\n", machines[m].name, wrong,
			       (unsigned long long)step);
			return 1;
		}
		printf("%s: %llu steps\n", machines[m].name, (unsigned long long)steps);
	}
	for (i = 0; i < sizeof(twins) / sizeof(twins[0]); i++) {
		guest_twin = twins[i].name;
		m = twins[i].machine;
		if (!mix(m, 20 * steps, seed)) {
			printf("%s: not seen on %s\n", guest_twin, machines[m].name);
			return 1;
		}
		printf("%s: %s on %s, at step %llu\n", guest_twin, wrong, machines[m].name,
		       (unsigned long long)step);
	}
	return 0;
}

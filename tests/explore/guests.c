// SPDX-License-Identifier: BSD-2-Clause
/* Events of virtual CPUs: made and destroyed, a thread that turns to one, what it does there. */
#include "steps.h"

/* Is there room for a guest of this number? */
static bool is_number(const struct machine *m, unsigned g)
{
	return g < m->cfg->guests;
}

static bool runs_guest(const struct machine *m, unsigned c)
{
	return is_free(m, c) && cur(m, c) >= TASKS && cur(m, c) != NONE;
}

bool can_vcpu(const struct machine *m, unsigned c, unsigned g)
{
	return is_number(m, g) && is_free(m, c) && cur(m, c) < TASKS && !m->alive[TASKS + g];
}

void run_vcpu(struct machine *m, unsigned c, unsigned g)
{
	struct xst_perm *perm = &m->perm[cur(m, c)];
	const bool tiles = perm->guest & XST_MASK_TILEDATA;
	const struct xst_guest *made = &m->made[tiles];
	struct xst_guest *guest = &m->guest[g];
	unsigned k;

	m->mode[c] = KERNEL;
	if (xst_guest_init(&m->sys, perm, guest, m->area[TASKS + g], sizeof(m->area[0]), NULL))
		breaks(m, CHECK_WORLD, "a virtual CPU cannot begin");
	if (!perm->guest_locked || guest->mask != made->mask)
		breaks(m, CHECK_PERM, "a virtual CPU has not what its process asked for");
	if (xst_guest_set_direct(&m->sys, guest, made->direct, NULL) ||
	    ((made->direct & XST_DIRECT_XCR0) && (m->caps.xcr0 & ~guest->mask)) ||
	    ((made->direct & XST_DIRECT_XFD) && (m->sys.dynamic & ~guest->mask)))
		breaks(m, CHECK_PERM, "a guest could reach what it may not have");
	m->alive[TASKS + g] = true;
	m->blind_row[TASKS + g] = 0;
	for (k = 0; k < COMPS; k++)
		m->want[TASKS + g][k] = TOKEN_INIT;
	forget(m, TASKS + g);
}

bool can_destroy(const struct machine *m, unsigned c, unsigned g)
{
	return is_number(m, g) && is_free(m, c) && m->alive[TASKS + g] && !m->guest[g].loaded;
}

void run_destroy(struct machine *m, unsigned c, unsigned g)
{
	m->mode[c] = KERNEL;
	if (xst_guest_destroy(&m->cpu[c], &m->guest[g]))
		breaks(m, CHECK_WORLD, "a virtual CPU cannot end");
	m->alive[TASKS + g] = false;
	machine_bury(m, g);
	forget(m, TASKS + g);
}

/* A turn of the thread is a switch to the engine: it may save once and load once. */
static void turned(struct machine *m, unsigned c)
{
	const struct xst_counters *n = &m->cpu[c].n;

	if (n->saves > 1 || n->apart_saves > 1 || n->loads > 1 || n->apart_loads > 1)
		breaks(m, CHECK_P_GUEST, "a thread that turns saves or loads twice");
	switched(m, c, cur(m, c));
}

bool can_load(const struct machine *m, unsigned c, unsigned g)
{
	return is_number(m, g) && is_free(m, c) && !runs_guest(m, c) && m->alive[TASKS + g] &&
	       !m->guest[g].loaded;
}

void run_load(struct machine *m, unsigned c, unsigned g)
{
	const unsigned t = cur(m, c);

	xst_guest_load(&m->cpu[c], &m->guest[g]);
	turned(m, c);
	if (t != NONE && m->task[t].area && xst_ctx_home(&m->task[t]) == XST_NO_CPU &&
	    !spoiled(m, t) && !is_whole(m, t))
		breaks(m, CHECK_I1, "a thread turns to a guest and its own state is lost");
	if (xst_guest_destroy(&m->cpu[c], &m->guest[g]) != XST_ERR_INVALID)
		breaks(m, CHECK_WORLD, "a virtual CPU that a thread runs is destroyed");
}

bool can_put(const struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	return runs_guest(m, c);
}

void run_put(struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	xst_guest_put(&m->cpu[c], &m->guest[cur(m, c) - TASKS]);
	turned(m, c);
}

/* Without permission for tiles the other half of AMX cannot be enabled either. */
uint64_t xcr0_of(const struct xst_guest *guest, unsigned v)
{
	const uint64_t mask = guest->mask & XST_MASK_USER;

	if (v == 2)
		return mask & XST_MASK_TILEDATA ? mask : mask & ~XST_MASK_AMX;
	return mask & (v ? XST_MASK_LEGACY : XST_MASK_X87);
}

uint64_t xss_of(const struct xst_guest *guest, unsigned v)
{
	return v ? guest->mask & XST_MASK_SUPER : 0;
}

uint64_t xfd_of(unsigned v)
{
	return v ? XST_MASK_TILEDATA : 0;
}

static bool can_write(const struct machine *m, unsigned g, unsigned k)
{
	const struct xst_guest *guest = &m->guest[g];

	if (!(m->cfg->comps >> k & 1u) || !machine_owns(m, TASKS + g, k))
		return false;
	if (machine_swaps(m, k))
		return guest->direct & XST_DIRECT_SSP;
	return (k != C_AVX && k != C_TILE) || (guest->xcr0 & XST_MASK(comp_id[k]));
}

bool can_run(const struct machine *m, unsigned c, unsigned deed)
{
	const unsigned t = cur(m, c);
	const struct xst_guest *guest;
	unsigned k;

	if (!runs_guest(m, c))
		return false;
	guest = &m->guest[t - TASKS];
	if (deed >= DEED_CLEAR) {
		k = deed - DEED_CLEAR;
		return can_write(m, t - TASKS, k) && m->want[t][k] &&
		       !(guest->xfd & XST_MASK(comp_id[k]));
	}
	if (deed >= DEED_WRITE)
		return can_write(m, t - TASKS, deed - DEED_WRITE);
	if (deed >= DEED_XCR0)
		return (guest->direct & XST_DIRECT_XCR0) && m->sys.insn >= XST_INSN_XSAVE &&
		       guest->xcr0 != xcr0_of(guest, deed - DEED_XCR0);
	if (deed >= DEED_XSS)
		return (guest->direct & XST_DIRECT_XSS) && m->caps.xsaves &&
		       guest->xss != xss_of(guest, deed - DEED_XSS);
	if (deed >= DEED_XFD_ERR && !((guest->direct & XST_DIRECT_XFD) &&
				      (guest->mask & XST_MASK_TILEDATA)))
		return false;
	if (deed >= DEED_XFD)
		return guest->xfd != xfd_of(deed - DEED_XFD);
	if (deed == DEED_XFD_ERR)
		return guest->xfd_err;
	return deed == DEED_NOTHING || m->sys.insn == XST_INSN_XSAVEOPT ||
	       m->sys.insn == XST_INSN_XSAVES;
}

/* The control registers that a guest has, as it left them. */
struct controls {
	uint64_t xcr0, xss, xfd, xfd_err;
};

static struct controls controls_of(const struct xst_guest *guest)
{
	return (struct controls){guest->xcr0, guest->xss, guest->xfd, guest->xfd_err};
}

static bool same_controls(const struct controls *a, const struct controls *b)
{
	return a->xcr0 == b->xcr0 && a->xss == b->xss && a->xfd == b->xfd && a->xfd_err == b->xfd_err;
}

/* Between enter and exit everything is the guest's. */
static void check_inside(struct machine *m, unsigned c, unsigned t)
{
	const struct xst_guest *guest = &m->guest[t - TASKS];
	const bool tiles = guest->mask & XST_MASK_TILEDATA;
	const struct mdl_cpu *hw = &m->hw[c];
	unsigned k;

	for (k = 0; k < COMPS; k++) {
		const uint8_t reg = *machine_reg(m, c, k);

		if (!machine_has(m, k))
			continue;
		if (machine_owns(m, t, k) && reg != m->want[t][k])
			breaks(m, CHECK_I1, "a guest would see another value than its own");
		if (!machine_owns(m, t, k) && reg != TOKEN_INIT)
			breaks(m, CHECK_I2, "another's value is where a guest is not to look");
	}
	if ((m->sys.insn >= XST_INSN_XSAVE && hw->xcr0 != guest->xcr0) ||
	    (m->caps.xsaves && hw->xss != guest->xss))
		breaks(m, CHECK_CONTROL, "a guest runs on another XCR0 or IA32_XSS than its own");
	if (hw->xfd != (tiles ? guest->xfd : m->sys.dynamic) || hw->xfd_err != guest->xfd_err)
		breaks(m, CHECK_CONTROL, "a guest runs on another IA32_XFD or XFD_ERR than its own");
}

static void do_write(struct machine *m, unsigned c, unsigned t, unsigned k, uint8_t token)
{
	if (token || k == C_PKRU || machine_swaps(m, k)) {
		*machine_reg(m, c, k) = token;
		mdl_wrote(&m->hw[c], comp_id[k]);
	} else {
		mdl_init(&m->hw[c], comp_id[k]);
	}
	m->want[t][k] = token;
	machine_set_mxcsr(m, c);
}

/* What the guest does; @after gets what its control registers ought to hold then. */
static void do_deed(struct machine *m, unsigned c, unsigned t, unsigned deed,
		    struct controls *after)
{
	const struct xst_guest *guest = &m->guest[t - TASKS];
	struct mdl_cpu *hw = &m->hw[c];

	if (deed >= DEED_CLEAR) {
		do_write(m, c, t, deed - DEED_CLEAR, TOKEN_INIT);
	} else if (deed == DEED_WRITE + C_TILE && mdl_access(hw, XST_COMP_TILEDATA, true)) {
		after->xfd_err = XST_MASK_TILEDATA; /* #NM */
	} else if (deed >= DEED_WRITE) {
		do_write(m, c, t, deed - DEED_WRITE, TOKEN_NEW);
	} else if (deed >= DEED_XCR0) {
		hw->xcr0 = after->xcr0 = xcr0_of(guest, deed - DEED_XCR0);
	} else if (deed >= DEED_XSS) {
		hw->xss = after->xss = xss_of(guest, deed - DEED_XSS);
	} else if (deed >= DEED_XFD) {
		hw->xfd = after->xfd = xfd_of(deed - DEED_XFD);
	} else if (deed == DEED_XFD_ERR) {
		hw->xfd_err = after->xfd_err = 0;
	} else if (deed == DEED_RESTORE) {
		/* Of values that it has already: what the CPU remembers of it is all that changes. */
		hw->info = (struct mdl_xrstor_info){(uintptr_t)m->area[t], 0, 0, true};
		if (m->sys.insn == XST_INSN_XSAVES)
			hw->info.xcomp_bv = XST_XCOMP_COMPACT | guest->layout.mask;
		hw->xmodified = 0;
	}
}

static uint64_t moves(const struct xst_counters *n)
{
	return n->saves + n->saves_elided + n->loads + n->loads_elided_init + n->apart_saves +
	       n->apart_loads + n->kernel_saves + n->clears;
}

/* An exit that the kernel handles by itself: nothing moves, and no register is written in vain. */
static void check_bounce(struct machine *m, unsigned c, unsigned t)
{
	struct xst_guest *guest = &m->guest[t - TASKS];
	const uint64_t moved = moves(&m->cpu[c].n);
	const struct xst_guest_counters before = guest->n;

	xst_guest_enter(&m->cpu[c], guest);
	check_inside(m, c, t);
	xst_guest_exit(&m->cpu[c], guest);
	if (moves(&m->cpu[c].n) != moved)
		breaks(m, CHECK_P_GUEST, "an exit that stays in the kernel saves or loads");
	if (guest->n.xcr0_writes - before.xcr0_writes > 2u * (guest->xcr0 != m->sys.xcr0) ||
	    guest->n.xss_writes - before.xss_writes > 2u * (guest->xss != m->sys.xss) ||
	    guest->n.ssp_writes != before.ssp_writes)
		breaks(m, CHECK_P_GUEST, "a control register is written though nothing differs");
}

void run_run(struct machine *m, unsigned c, unsigned deed)
{
	struct xst_cpu *cpu = &m->cpu[c];
	const unsigned t = cur(m, c);
	struct xst_guest *guest = &m->guest[t - TASKS];
	struct controls want = controls_of(guest), got;
	uint64_t moved;

	m->mode[c] = KERNEL;
	xst_guest_enter(cpu, guest);
	if (cpu->n.validations)
		m->blind_row[t] = 0;
	if (cpu->n.saves > 1 || cpu->n.loads > 1)
		breaks(m, CHECK_P_GUEST, "an entry saves or loads twice");
	check_inside(m, c, t);
	moved = moves(&cpu->n);
	do_deed(m, c, t, deed, &want);
	xst_guest_exit(cpu, guest);
	got = controls_of(guest);
	if (!same_controls(&want, &got))
		breaks(m, CHECK_CONTROL, "what a guest wrote to its control registers is lost");
	if (moves(&cpu->n) != moved)
		breaks(m, CHECK_P_GUEST, "an exit saves or loads");
	if (deed == DEED_WRITE + C_TILE && (guest->xfd & XST_MASK_TILEDATA) &&
	    xst_guest_device_not_available(guest) != XST_ERR_DYNAMIC)
		breaks(m, CHECK_CONTROL, "nobody knows the #NM that a guest's IA32_XFD caused");
	check_bounce(m, c, t);
}

bool can_gpermit(const struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	return m->cfg->guests && machine_has(m, C_TILE) && is_free(m, c) && cur(m, c) < TASKS &&
	       !(m->perm[cur(m, c)].guest & XST_MASK_TILEDATA);
}

void run_gpermit(struct machine *m, unsigned c, unsigned a)
{
	struct xst_perm *perm = &m->perm[cur(m, c)];
	const struct xst_perm had = *perm;
	const int err =
		xst_perm_request(&m->sys, perm, XST_PERM_GUEST, XST_COMP_TILEDATA, NULL, NULL);

	(void)a;
	m->mode[c] = KERNEL;
	if (err != (had.guest_locked ? XST_ERR_LOCKED : XST_OK) || perm->host != had.host ||
	    perm->guest != (had.guest | (err ? 0 : XST_MASK_TILEDATA)))
		breaks(m, CHECK_PERM, "what guests may have changes after the first, or not before");
}

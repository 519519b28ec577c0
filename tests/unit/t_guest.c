// SPDX-License-Identifier: BSD-2-Clause
/*
 * Guests beside tasks on two software CPUs: whose registers are where, what is saved and loaded for
 * it, and what the control registers hold when.
 */
#include "t.h"

#include <xst/kernel.h>

#include "cases.h"
#include "guests.h"

static struct guests g;

static void up(enum xst_insn insn, uint64_t xcr0, uint64_t xss, uint64_t want, const char *policy)
{
	assert_int_equal(guests_up(&g, insn, xcr0, xss, want, policy), XST_OK);
}

/* --- a stay in the kernel --- */

/* Whatever the policy: the thread's registers are saved once at most, and exits that the kernel
 * handles move nothing. */
static void exits_move_nothing(void **state)
{
	unsigned p;
	int n;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		const struct xst_counters *c = &g.r.cpu[0].n;
		struct xst_counters before;

		up(XST_INSN_XSAVES, INTEL, CET, WANT, xst_policy_at(p)->name);
		rig_go(&g.r, 0, &g.r.task[0]);
		rig_put(&g.r, 0, XST_COMP_AVX, 0x11);
		before = *c;
		guest_enable(&g, 0, 0);
		xst_guest_load(&g.r.cpu[0], &g.vcpu[0]);
		guest_put(&g, 0, 0, XST_COMP_AVX, 0x21);
		assert_true(c->saves - before.saves <= 1);
		assert_true(c->loads - before.loads <= 1);
		before = *c;
		for (n = 0; n < 100; n++)
			guest_bounce(&g, 0, 0);
		assert_int_equal(c->saves, before.saves);
		assert_int_equal(c->loads, before.loads);
		assert_int_equal(c->apart_saves + c->apart_loads, 0);
		assert_int_equal(guest_see(&g, 0, 0, XST_COMP_AVX), 0x21);
		xst_guest_put(&g.r.cpu[0], &g.vcpu[0]);
		assert_int_equal(rig_see(&g.r, 0, XST_COMP_AVX), 0x11);
		assert_true(c->saves - before.saves <= 1);
		assert_true(xst_counters_balanced(c));
		assert_int_equal(g.r.hw[0].surprise, 0);
	}
}

/* A thread that loses the CPU in its stay: one save at most, and under the policies that keep
 * registers no load when nobody touched them. */
static void kernel_threads_cost_nothing(void **state)
{
	unsigned p, n;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		const struct xst_policy *policy = xst_policy_at(p);
		const struct xst_counters *c = &g.r.cpu[0].n;
		uint64_t loads, saves;

		up(XST_INSN_XSAVES, SPR, CET, WANT, policy->name);
		guest_enable(&g, 0, 0);
		xst_guest_load(&g.r.cpu[0], &g.vcpu[0]);
		guest_put(&g, 0, 0, XST_COMP_CET_S, 0x31);
		loads = c->loads;
		saves = c->saves;
		for (n = 1; n <= 10; n++) {
			xst_switch(&g.r.cpu[0], &g.vcpu[0].ctx, NULL);
			xst_switch(&g.r.cpu[0], NULL, &g.vcpu[0].ctx);
			assert_int_equal(guest_see(&g, 0, 0, XST_COMP_CET_S), 0x31);
			assert_true(c->saves - saves <= n);
		}
		assert_int_equal(c->loads - loads, policy->keep_owner ? 0 : 10);
	}
}

/* A section that may be preempted, in a stay: the guest's context is what it comes back to. */
static void a_preemptible_section(void **state)
{
	static XST_AREA(area, RIG_BYTES);
	struct xst_section section;
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		up(XST_INSN_XSAVES, INTEL, CET, WANT, xst_policy_at(p)->name);
		guest_enable(&g, 0, 0);
		assert_int_equal(xst_section_init(&g.r.sys, &section, area, sizeof(area)), XST_OK);
		rig_go(&g.r, 0, &g.r.task[0]);
		rig_put(&g.r, 0, XST_COMP_AVX, 0x11);
		xst_guest_load(&g.r.cpu[0], &g.vcpu[0]);
		guest_put(&g, 0, 0, XST_COMP_AVX, 0x21);
		guest_put(&g, 0, 0, XST_COMP_CET_U, 0x22);
		assert_int_equal(xst_section_begin(&g.r.cpu[0], &section), XST_OK);
		assert_int_equal(held(&g.r.hw[0], XST_COMP_AVX), 0);
		fill(&g.r.hw[0], XST_COMP_AVX, 0x99);
		/* Preempted, by a task that enters user mode. */
		xst_switch(&g.r.cpu[0], &section.ctx, &g.r.task[1]);
		assert_int_equal(rig_see(&g.r, 0, XST_COMP_AVX), 0);
		assert_int_equal(held(&g.r.hw[0], XST_COMP_CET_U), 0);
		xst_switch(&g.r.cpu[0], &g.r.task[1], &section.ctx);
		xst_section_resume(&g.r.cpu[0], &section);
		assert_int_equal(held(&g.r.hw[0], XST_COMP_AVX), 0x99);
		xst_section_end(&g.r.cpu[0], &section);
		assert_int_equal(guest_see(&g, 0, 0, XST_COMP_AVX), 0x21);
		assert_int_equal(guest_see(&g, 0, 0, XST_COMP_CET_U), 0x22);
		xst_guest_put(&g.r.cpu[0], &g.vcpu[0]);
		assert_int_equal(rig_see(&g.r, 0, XST_COMP_AVX), 0x11);
		assert_int_equal(g.r.hw[0].surprise, 0);
	}
}

/* --- who may have what --- */

static void profiles(void **state)
{
	static XST_AREA(area, 2560);
	struct xst_system *sys = &g.r.sys;
	struct xst_perm perm;
	struct xst_guest v;
	struct xst_diag d;

	(void)state;
	up(XST_INSN_XSAVES, SPR, CET, WANT, "auto");
	assert_int_equal(sys->host.mask, 0x202e7);
	assert_int_equal(sys->host.max, SPR);
	assert_int_equal(sys->host.bytes, sys->ctx_bytes);
	assert_int_equal(sys->host.max_bytes, sys->grown_bytes);
	assert_int_equal(sys->user.mask, 0x202e7);
	assert_int_equal(sys->user.max, SPR);
	assert_int_equal(sys->user.bytes, 2816);
	assert_int_equal(sys->user.max_bytes, 11008);
	/* Without TILEDATA no XCR0 has TILECFG, and a guest may have what an XCR0 may hold. */
	xst_perm_init(sys, &perm);
	assert_int_equal(xst_guest_init(sys, &perm, &v, area, sizeof(area), &d), XST_OK);
	assert_int_equal(v.mask, 0x2e7 | CET);
	assert_int_equal(xst_guest_set_xcr0(&g.r.cpu[0], &v, v.mask & sys->xcr0, &d), XST_OK);
	assert_int_equal(sys->guest.mask, 0x202e7 | CET);
	assert_int_equal(sys->guest.max, SPR | CET);
	/* 576, AVX 256, AVX-512 64 + 512 + 1024, CET 16 + 24, TILECFG at 2496, TILEDATA at 2560 */
	assert_int_equal(sys->guest.bytes, 2560);
	assert_int_equal(sys->guest.max_bytes, 2560 + 8192);
	/* IA32_XSS has what either has; no task's mask has any of it. */
	assert_int_equal(sys->xss, CET);
	assert_int_equal((sys->mask | sys->apart | sys->dynamic) & XST_MASK_SUPER, 0);
	assert_int_equal(xst_profile_check(sys, &sys->guest, CET, &d), XST_OK);
	assert_int_equal(xst_profile_check(sys, &sys->host, CET, &d), XST_ERR_GUEST_ONLY);
	assert_int_equal(d.component, XST_COMP_CET_S);
	assert_int_equal(xst_profile_check(sys, &sys->user, CET, &d), XST_ERR_GUEST_ONLY);
	assert_int_equal(xst_profile_check(sys, &sys->host, XST_MASK_CET_U, &d),
			 XST_ERR_ILLEGAL_MASK);
	assert_int_equal(xst_profile_check(sys, &sys->guest, XST_MASK_PT, &d),
			 XST_ERR_ILLEGAL_MASK);

	/* Tasks with CET_U and no guests with CET: nothing changes for a host. */
	up(XST_INSN_XSAVES, INTEL, CET, XST_WANT_ALL_USER | XST_MASK_CET_U, "auto");
	assert_int_equal(sys->xss, XST_MASK_CET_U);
	assert_int_equal(sys->guest.max, INTEL | XST_MASK_CET_U);
	/* A machine from before XSAVE. */
	up(XST_INSN_FXSAVE, 0, 0, WANT, "auto");
	assert_int_equal(sys->host.max, 3);
	assert_int_equal(sys->guest.max, 3);
	assert_int_equal(sys->guest.bytes, 512);
	assert_int_equal(sys->user.bytes, 576);
	assert_false(sys->guest_cet_s);
}

static void making_one(void **state)
{
	static XST_AREA(area, GUEST_BYTES);
	struct xst_guest guest;
	struct xst_perm perm;
	struct xst_diag d;

	(void)state;
	up(XST_INSN_XSAVES, SPR, CET, WANT, "auto");
	xst_perm_init(&g.r.sys, &perm);
	/* Nothing but the size is told, and nothing locked, until there is memory. */
	assert_int_equal(xst_guest_init(&g.r.sys, &perm, &guest, NULL, 0, &d), XST_ERR_NEED_BYTES);
	assert_int_equal(d.want, g.r.sys.guest.bytes);
	assert_false(perm.guest_locked);
	assert_int_equal(xst_perm_request(&g.r.sys, &perm, XST_PERM_GUEST, TILE, NULL, NULL),
			 XST_OK);
	assert_int_equal(xst_guest_init(&g.r.sys, &perm, &guest, area, 4096, &d),
			 XST_ERR_NEED_BYTES);
	assert_int_equal(d.want, g.r.sys.guest.max_bytes);
	assert_int_equal(xst_guest_init(&g.r.sys, &perm, &guest, area + 32, GUEST_BYTES - 32, &d),
			 XST_ERR_ALIGN);
	assert_int_equal(xst_guest_init(&g.r.sys, &perm, &guest, area, g.r.sys.guest.max_bytes, &d),
			 XST_OK);
	assert_true(perm.guest_locked);
	assert_int_equal(guest.mask, SPR | CET);
	/* The process's own tasks are another matter; what only guests have they cannot be
	 * given. */
	assert_int_equal(xst_perm_request(&g.r.sys, &perm, XST_PERM_HOST, TILE, NULL, NULL),
			 XST_OK);
	perm.host |= XST_MASK_CET_S;
	assert_int_equal(xst_guest_init(&g.r.sys, &perm, &guest, area, GUEST_BYTES, &d),
			 XST_ERR_GUEST_ONLY);
	assert_int_equal(d.component, XST_COMP_CET_S);
	perm.host = g.r.sys.host.mask;
	perm.guest |= XST_MASK_PT;
	assert_int_equal(xst_guest_init(&g.r.sys, &perm, &guest, area, GUEST_BYTES, &d),
			 XST_ERR_ILLEGAL_MASK);
}

/* Where tiles cannot be had a hypervisor goes on without: XCR0 2E7H, 2696 bytes. */
static void no_tiles_to_be_had(void **state)
{
	static XST_AREA(area, GUEST_BYTES);
	struct xst_guest guest;
	struct xst_perm perm;
	struct xst_diag d;

	(void)state;
	up(XST_INSN_XSAVES, INTEL, 0, WANT, "auto");
	xst_perm_init(&g.r.sys, &perm);
	assert_int_equal(xst_perm_request(&g.r.sys, &perm, XST_PERM_GUEST, TILE, NULL, &d),
			 XST_ERR_UNSUPPORTED);
	assert_int_equal(xst_guest_init(&g.r.sys, &perm, &guest, area, GUEST_BYTES, &d), XST_OK);
	assert_int_equal(guest.mask & XST_MASK_USER, 0x2e7);
	assert_int_equal(xst_uabi_bytes(&g.r.sys, guest.mask & XST_MASK_USER, NULL), 2696);
	assert_int_equal(xst_guest_set_xcr0(&g.r.cpu[0], &guest, SPR, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(xst_guest_copy_bytes(&g.r.sys, &guest), 4096);
}

/* --- control registers --- */

/* Equal values are not written, and others once each way. */
static void written_when_they_differ(void **state)
{
	struct xst_guest *v = &g.vcpu[0];
	struct mdl_cpu *hw = &g.r.hw[0];
	uint64_t writes, xfd;

	(void)state;
	up(XST_INSN_XSAVES, SPR, CET, WANT, "auto");
	rig_go(&g.r, 0, &g.r.task[0]);
	xst_guest_load(&g.r.cpu[0], v);
	guest_enable(&g, 0, 0);
	v->pkru = v->ctx.pkru;
	guest_bounce(&g, 0, 0); /* IA32_XFD went with the owner */
	writes = hw->guest_writes;
	xfd = hw->xfd_writes;
	guest_bounce(&g, 0, 0);
	assert_int_equal(hw->guest_writes, writes);
	assert_int_equal(hw->xfd_writes, xfd);

	assert_int_equal(xst_guest_set_xcr0(&g.r.cpu[0], v, 7, NULL), XST_OK);
	guest_bounce(&g, 0, 0);
	assert_int_equal(hw->guest_writes, writes + 2);
	assert_int_equal(v->n.xcr0_writes, 2);
	assert_int_equal(xst_guest_set_xss(v, XST_MASK_CET_U, NULL), XST_OK);
	guest_bounce(&g, 0, 0);
	assert_int_equal(hw->guest_writes, writes + 6);
	assert_int_equal(v->n.xss_writes, 2);
	assert_int_equal(xst_guest_set_xfd(&g.r.cpu[0], v, XST_MASK_TILEDATA, NULL), XST_OK);
	guest_bounce(&g, 0, 0);
	assert_int_equal(hw->xfd_writes, xfd + 2);
	assert_int_equal(v->n.enters, 5);
	assert_int_equal(hw->surprise, 0);
}

/* A guest that may not have protection keys costs no WRPKRU. */
static void without_pkru(void **state)
{
	static XST_AREA(area, GUEST_BYTES);
	struct xst_guest guest;
	struct xst_perm perm;

	(void)state;
	up(XST_INSN_XSAVES, INTEL, CET, WANT, "auto");
	xst_perm_init(&g.r.sys, &perm);
	perm.guest &= ~XST_MASK_PKRU;
	assert_int_equal(xst_guest_init(&g.r.sys, &perm, &guest, area, GUEST_BYTES, NULL), XST_OK);
	rig_go(&g.r, 0, &g.r.task[0]);
	rig_put_pkru(&g.r, 0, 0x54);
	xst_guest_load(&g.r.cpu[0], &guest);
	xst_guest_enter(&g.r.cpu[0], &guest);
	assert_int_equal(g.r.hw[0].regs.PKRU[0], 0x54);
	xst_guest_exit(&g.r.cpu[0], &guest);
	assert_int_equal(guest.n.pkru_writes, 0);
	assert_int_equal(guest.pkru, 0);
	assert_int_equal(xst_guest_set_xcr0(&g.r.cpu[0], &guest, INTEL, NULL),
			 XST_ERR_ILLEGAL_MASK);
}

/* What XSETBV and WRMSR refuse, and what this guest may not have. */
static void illegal_values(void **state)
{
	static const uint64_t bad[] = {0,	   2,     4,       5,     0x12, 0x27,
				       0x67,	   0xa7,  0x20007, 0x40007, 0x800e7, 1ULL << 62,
				       1ULL << 63, 0x1007};
	struct xst_guest *v = &g.vcpu[0];
	struct xst_diag d;
	unsigned i;

	(void)state;
	up(XST_INSN_XSAVES, SPR, CET, WANT, "auto");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(xst_guest_set_xcr0(&g.r.cpu[0], v, bad[i], &d),
				 XST_ERR_ILLEGAL_MASK);
		assert_int_equal(v->xcr0, 1);
	}
	assert_int_equal(xst_guest_set_xcr0(&g.r.cpu[0], v, 0x602e7, &d), XST_OK);
	assert_int_equal(xst_guest_set_xss(v, XST_MASK_PT, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(xst_guest_set_xss(v, XST_MASK_AVX, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(xst_guest_set_xfd(&g.r.cpu[0], v, XST_MASK_AVX, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(xst_guest_set_xfd_err(v, XST_MASK_TILECFG, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(v->xss | v->xfd | v->xfd_err, 0);
}

/* KVM_SET_XCRS with E7H on a host that has 7: no, and which bits are missing. */
static void xcrs_beyond_the_host(void **state)
{
	struct xst_diag d;

	(void)state;
	up(XST_INSN_XSAVES, 7, 0, WANT, "auto");
	assert_int_equal(xst_guest_set_xcr0(&g.r.cpu[0], &g.vcpu[0], 0xe7, &d),
			 XST_ERR_ILLEGAL_MASK);
	assert_int_equal(d.got & ~d.want, 0xe0);
	assert_int_equal(g.vcpu[0].xcr0, 1);
}

/* Upper halves in the registers are another guest's, or its own from before: INIT either way. */
static void growing_xcr0(void **state)
{
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		up(XST_INSN_XSAVES, INTEL, CET, WANT, xst_policy_at(p)->name);
		guest_enable(&g, 0, 1);
		xst_guest_load(&g.r.cpu[0], &g.vcpu[1]);
		guest_put(&g, 0, 1, XST_COMP_AVX, 0x77);
		xst_guest_put(&g.r.cpu[0], &g.vcpu[1]);
		xst_guest_load(&g.r.cpu[0], &g.vcpu[0]);
		assert_int_equal(xst_guest_set_xcr0(&g.r.cpu[0], &g.vcpu[0], 3, NULL), XST_OK);
		assert_int_equal(guest_see(&g, 0, 0, XST_COMP_AVX), 0xffff);
		guest_put(&g, 0, 0, XST_COMP_SSE, 0x66);
		assert_int_equal(xst_guest_set_xcr0(&g.r.cpu[0], &g.vcpu[0], 7, NULL), XST_OK);
		assert_int_equal(guest_see(&g, 0, 0, XST_COMP_AVX), 0);
		guest_put(&g, 0, 0, XST_COMP_AVX, 0x55);
		assert_int_equal(xst_guest_set_xcr0(&g.r.cpu[0], &g.vcpu[0], 3, NULL), XST_OK);
		guest_bounce(&g, 0, 0);
		assert_int_equal(xst_guest_set_xcr0(&g.r.cpu[0], &g.vcpu[0], 7, NULL), XST_OK);
		assert_int_equal(guest_see(&g, 0, 0, XST_COMP_AVX), 0);
		/* XCR0 does not guard SSE: it was in use before. */
		assert_int_equal(guest_see(&g, 0, 0, XST_COMP_SSE), 0x66);
	}
}

/* The hypervisor lets it: what was written is found at the exit, and the host's is back. */
static void direct_writes(void **state)
{
	struct xst_guest *v = &g.vcpu[0];
	struct mdl_cpu *hw = &g.r.hw[0];
	struct xst_diag d;

	(void)state;
	/* Hardware would let it enable what it may not have. */
	up(XST_INSN_XSAVES, SPR, CET | XST_MASK_PASID, WANT, "auto");
	assert_int_equal(xst_guest_set_direct(&g.r.sys, v, XST_DIRECT_XSS, &d), XST_ERR_DENIED);
	assert_int_equal(d.component, XST_COMP_PASID);
	assert_int_equal(xst_guest_set_direct(&g.r.sys, v, 1u << 7, &d), XST_ERR_INVALID);
	v->mask &= ~XST_MASK_AMX;
	assert_int_equal(xst_guest_set_direct(&g.r.sys, v, XST_DIRECT_XCR0, &d), XST_ERR_DENIED);
	assert_int_equal(xst_guest_set_direct(&g.r.sys, v, XST_DIRECT_XFD, &d), XST_ERR_DENIED);
	assert_int_equal(d.component, TILE);
	v->mask &= ~XST_MASK_CET_S;
	assert_int_equal(xst_guest_set_direct(&g.r.sys, v, XST_DIRECT_SSP, &d), XST_ERR_DENIED);
	assert_int_equal(d.component, XST_COMP_CET_S);
	assert_int_equal(v->direct, 0);

	up(XST_INSN_XSAVES, SPR, CET, WANT, "auto");
	assert_int_equal(xst_guest_set_direct(&g.r.sys, v,
					      XST_DIRECT_XCR0 | XST_DIRECT_XSS | XST_DIRECT_XFD,
					      &d),
			 XST_OK);
	xst_guest_load(&g.r.cpu[0], v);
	xst_guest_enter(&g.r.cpu[0], v);
	assert_int_equal(hw->xcr0, 1);
	assert_int_equal(mdl_xsetbv(hw, SPR) | mdl_wrmsr_xss(hw, XST_MASK_CET_S), 0);
	hw->xfd = XST_MASK_TILEDATA;
	assert_int_equal(mdl_access(hw, TILE, true), MDL_NM);
	xst_guest_exit(&g.r.cpu[0], v);
	assert_int_equal(v->xcr0, SPR);
	assert_int_equal(v->xss, XST_MASK_CET_S);
	assert_int_equal(v->xfd, XST_MASK_TILEDATA);
	assert_int_equal(v->xfd_err, XST_MASK_TILEDATA);
	assert_int_equal(hw->xcr0, g.r.sys.xcr0);
	assert_int_equal(hw->xss, g.r.sys.xss);
	assert_int_equal(hw->xfd | hw->xfd_err, 0);
	xst_guest_enter(&g.r.cpu[0], v);
	assert_int_equal(hw->xfd_err, XST_MASK_TILEDATA);
	hw->xfd_err = hw->xfd = 0;
	xst_guest_exit(&g.r.cpu[0], v);
	assert_int_equal(v->xfd | v->xfd_err, 0);
	assert_int_equal(hw->surprise, 0);
}

/* An image of a guest's under the XCR0 that the guest had is #GP: the host's is back before. */
static void host_xcr0_before_the_restore(void **state)
{
	static XST_AREA(image, 4096);
	struct xst_restore how = {.by = XST_BY_XRSTORS, .xcr0 = 0xff, .rfbm = ~0ULL};
	struct xst_caps caps;
	struct xst_diag d;

	(void)state;
	mdl_caps_make(&caps, 0x2ff, CET, XST_INSN_XSAVES);
	how.caps = &caps;
	xst_put64(image, XST_OFF_XCOMP_BV, 0x80000000000002ffULL);
	assert_int_equal(xst_image_check(&how, image, sizeof(image), NULL, &d), XST_ERR_FAULT);
	assert_int_equal(d.component, XST_COMP_PKRU);

	up(XST_INSN_XSAVES, INTEL, CET, WANT, "deferred");
	rig_go(&g.r, 0, &g.r.task[0]);
	rig_put(&g.r, 0, XST_COMP_AVX, 0x11);
	xst_guest_load(&g.r.cpu[0], &g.vcpu[0]);
	guest_bounce(&g, 0, 0); /* its XCR0 is 1 */
	xst_guest_put(&g.r.cpu[0], &g.vcpu[0]);
	assert_int_equal(rig_see(&g.r, 0, XST_COMP_AVX), 0x11);
	assert_int_equal(g.r.cpu[0].n.loads_failed, 0);
	/* The twin: the same image of a task's faults. */
	guest_twin = "GUEST_XCR0";
	xst_guest_load(&g.r.cpu[0], &g.vcpu[0]);
	guest_bounce(&g, 0, 0);
	xst_guest_put(&g.r.cpu[0], &g.vcpu[0]);
	guest_twin = NULL;
	assert_int_not_equal(g.r.hw[0].xcr0, g.r.sys.xcr0);
	assert_int_equal(mdl_load(&g.r.hw[0], XST_INSN_XSAVES, g.r.task[0].area, g.r.sys.mask),
			 MDL_GP);
}

/* --- CPUs that go and come back, guests too --- */

/* A stay that a suspend interrupts: IA32_XFD is what the next restore needs, whatever it was. */
static void xfd_after_resume(void **state)
{
	unsigned on, reset;

	(void)state;
	for (on = 0; on < 2; on++) {
		for (reset = 0; reset < 2; reset++) {
			const uint64_t xfd = on ? 0 : XST_MASK_TILEDATA;

			up(XST_INSN_XSAVES, SPR, CET, WANT, "auto");
			guest_enable(&g, 0, 0);
			xst_guest_load(&g.r.cpu[0], &g.vcpu[0]);
			guest_put(&g, 0, 0, TILE, 0x44);
			assert_int_equal(xst_guest_set_xfd(&g.r.cpu[0], &g.vcpu[0], xfd, NULL),
					 XST_OK);
			guests_resume(&g, 0, reset);
			g.r.hw[0].xfd_err = 0;
			assert_int_equal(g.r.hw[0].xfd, g.r.cpu[0].xfd);
			assert_int_equal(guest_see(&g, 0, 0, TILE), on ? 0x44 : 0xffff);
			xst_guest_put(&g.r.cpu[0], &g.vcpu[0]);
			rig_go(&g.r, 0, &g.r.task[0]);
			assert_null(rig_use(&g.r, 0, TILE));
			assert_int_equal(g.r.cpu[0].n.loads_failed + (unsigned)g.r.hw[0].surprise,
					 0);
		}
	}
}

/* A new guest at a dead one's address, in its memory: nothing of it. */
static void memory_of_a_dead_one(void **state)
{
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		up(XST_INSN_XSAVES, SPR, CET, WANT, xst_policy_at(p)->name);
		guest_enable(&g, 0, 0);
		xst_guest_load(&g.r.cpu[0], &g.vcpu[0]);
		guest_put(&g, 0, 0, XST_COMP_CET_S, 0x21);
		guest_put(&g, 0, 0, TILE, 0x22);
		assert_int_equal(xst_guest_destroy(&g.r.cpu[0], &g.vcpu[0]), XST_ERR_INVALID);
		xst_guest_put(&g.r.cpu[0], &g.vcpu[0]);
		assert_int_equal(xst_guest_destroy(&g.r.cpu[0], &g.vcpu[0]), XST_OK);
		assert_int_equal(xst_guest_init(&g.r.sys, &g.perm, &g.vcpu[0], g.area[0],
						GUEST_BYTES,
						NULL),
				 XST_OK);
		guest_enable(&g, 0, 0);
		xst_guest_load(&g.r.cpu[0], &g.vcpu[0]);
		assert_int_equal(guest_see(&g, 0, 0, XST_COMP_CET_S), 0);
		assert_int_equal(guest_see(&g, 0, 0, TILE), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exits_move_nothing),
		cmocka_unit_test(kernel_threads_cost_nothing),
		cmocka_unit_test(a_preemptible_section),
		cmocka_unit_test(profiles),
		cmocka_unit_test(making_one),
		CASE("ABI-11", no_tiles_to_be_had),
		cmocka_unit_test(written_when_they_differ),
		cmocka_unit_test(without_pkru),
		cmocka_unit_test(illegal_values),
		CASE("ABI-19", xcrs_beyond_the_host),
		CASE("SEC-07", growing_xcr0),
		cmocka_unit_test(direct_writes),
		CASE("ABI-21", host_xcr0_before_the_restore),
		CASE("SEC-12", xfd_after_resume),
		cmocka_unit_test(memory_of_a_dead_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

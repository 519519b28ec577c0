// SPDX-License-Identifier: BSD-2-Clause
/*
 * Shadow stacks of guests: CET_S in their images and never in a host's, by XSAVES or by software;
 * the registers one by one; and CPUs that forget them.
 */
#include "t.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "guests.h"

static struct guests g;
static uint8_t copy[XST_KVM_XSAVE_BYTES];
static struct xst_diag d;

static void up(uint64_t xcr0, uint64_t xss, const char *policy)
{
	assert_int_equal(guests_up(&g, XST_INSN_XSAVES, xcr0, xss, WANT, policy), XST_OK);
	guest_enable(&g, 0, 0);
	guest_enable(&g, 0, 1);
}

/* --- CET_S --- */

/* In the guest's image, named in XSTATE_BV and XCOMP_BV; never in a host's. */
static void cet_s_in_the_image(void **state)
{
	const uint8_t *image = g.area[0];
	unsigned p, t;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		up(INTEL, CET, xst_policy_at(p)->name);
		rig_go(&g.r, 0, &g.r.task[0]);
		rig_put(&g.r, 0, XST_COMP_AVX, 1);
		xst_guest_load(&g.r.cpu[0], &g.vcpu[0]);
		guest_put(&g, 0, 0, XST_COMP_CET_S, 0x21);
		xst_ctx_flush(&g.r.cpu[0], &g.vcpu[0].ctx);
		assert_true(xst_get64(image, XST_OFF_XSTATE_BV) & XST_MASK_CET_S);
		assert_true(xst_get64(image, XST_OFF_XCOMP_BV) & XST_MASK_CET_S);
		assert_int_equal(xst_get64(image, g.vcpu[0].layout.offset[XST_COMP_CET_S]),
				 0x21000);
		xst_guest_put(&g.r.cpu[0], &g.vcpu[0]);
		/* Another guest has its own, and on another CPU the first one's is still there. */
		xst_guest_load(&g.r.cpu[0], &g.vcpu[1]);
		assert_int_equal(guest_see(&g, 0, 1, XST_COMP_CET_S), 0);
		guest_put(&g, 0, 1, XST_COMP_CET_S, 0x31);
		xst_guest_put(&g.r.cpu[0], &g.vcpu[1]);
		xst_guest_load(&g.r.cpu[1], &g.vcpu[0]);
		assert_int_equal(guest_see(&g, 1, 0, XST_COMP_CET_S), 0x21);
		assert_int_equal(rig_see(&g.r, 0, XST_COMP_AVX), 1);
		for (t = 0; t < RIG_TASKS; t++) {
			xst_ctx_flush(&g.r.cpu[0], &g.r.task[t]);
			assert_int_equal((xst_get64(g.r.area[t], XST_OFF_XSTATE_BV) |
					  xst_get64(g.r.area[t], XST_OFF_XCOMP_BV)) &
						 XST_MASK_SUPER,
					 0);
		}
	}
}

/* Software moves the pointers only when another guest's are there. */
static void cet_s_by_software(void **state)
{
	struct xst_guest *a = &g.vcpu[0], *b = &g.vcpu[1];
	unsigned n;

	(void)state;
	up(INTEL, XST_MASK_CET_U, "auto");
	assert_int_equal(xst_guest_set_direct(&g.r.sys, a, XST_DIRECT_SSP, NULL), XST_OK);
	assert_int_equal(a->mask & XST_MASK_CET_S, 0);
	xst_guest_load(&g.r.cpu[0], a);
	guest_put(&g, 0, 0, XST_COMP_CET_S, 0x21);
	for (n = 0; n < 5; n++)
		guest_bounce(&g, 0, 0);
	xst_guest_put(&g.r.cpu[0], a);
	rig_go(&g.r, 0, &g.r.task[0]);
	rig_put(&g.r, 0, XST_COMP_AVX, 1);
	xst_guest_load(&g.r.cpu[0], a);
	assert_int_equal(guest_see(&g, 0, 0, XST_COMP_CET_S), 0x21);
	assert_int_equal(a->n.ssp_writes, 3);
	xst_guest_put(&g.r.cpu[0], a);
	xst_guest_load(&g.r.cpu[0], b);
	assert_int_equal(guest_see(&g, 0, 1, XST_COMP_CET_S), 0);
	xst_guest_put(&g.r.cpu[0], b);
	xst_guest_load(&g.r.cpu[0], a);
	assert_int_equal(guest_see(&g, 0, 0, XST_COMP_CET_S), 0x21);
	assert_int_equal(a->n.ssp_writes, 6);
	assert_int_equal(g.r.hw[0].surprise, 0);
}

/* --- a host's state with what only guests have --- */

static uint64_t saves_before;

static void on_abort(int sig)
{
	(void)sig;
	_exit(g.r.hw[0].saves == saves_before ? 42 : 43);
}

/* What the port's hook hears of in a child process; 42: before XSAVES ran. */
static int heard(void (*what)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		signal(SIGABRT, on_abort);
		saves_before = g.r.hw[0].saves;
		what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void own_with_cet_s(void)
{
	g.r.task[1].dynamic |= XST_MASK_CET_S;
	rig_go(&g.r, 0, NULL);
	saves_before = g.r.hw[0].saves;
	rig_go(&g.r, 0, &g.r.task[1]);
}

static void edit_with_cet_s(void)
{
	uint8_t *xcomp_bv = g.r.area[1] + XST_OFF_XCOMP_BV;

	xst_put64(xcomp_bv, 0, xst_get64(xcomp_bv, 0) | XST_MASK_CET_S);
	xst_ctx_changed(&g.r.cpu[0], &g.r.task[1]);
}

static void guest_only_in_a_host(void **state)
{
	uint8_t *bv = g.r.area[0] + XST_OFF_XSTATE_BV;

	(void)state;
	up(SPR, CET, "eager");
	rig_go(&g.r, 0, &g.r.task[0]);
	rig_put(&g.r, 0, XST_COMP_AVX, 1);
	assert_int_equal(heard(own_with_cet_s), 42);
	assert_int_equal(heard(edit_with_cet_s), 42);
	/* The same for who asks. */
	rig_go(&g.r, 0, NULL);
	assert_int_equal(xst_ctx_check(&g.r.sys, &g.r.task[0], &d), XST_OK);
	assert_int_equal(xst_ctx_check(&g.r.sys, &g.vcpu[0].ctx, &d), XST_OK);
	xst_put64(bv, 0, XST_MASK_CET_S);
	assert_int_equal(xst_ctx_check(&g.r.sys, &g.r.task[0], &d), XST_ERR_GUEST_ONLY);
	assert_int_equal(d.component, XST_COMP_CET_S);
	xst_put64(bv, 0, XST_MASK_PT);
	assert_int_equal(xst_ctx_check(&g.r.sys, &g.r.task[0], &d), XST_ERR_ILLEGAL_MASK);
	g.r.task[1].dynamic = XST_MASK_CET_S;
	assert_int_equal(xst_ctx_check(&g.r.sys, &g.r.task[1], &d), XST_ERR_GUEST_ONLY);
}

/* IA32_XSS and software's shadow-stack pointers: the first entry after a resume writes them. */
static void xss_after_resume(void **state)
{
	struct xst_guest *v = &g.vcpu[0];
	unsigned soft;

	(void)state;
	for (soft = 0; soft < 2; soft++) {
		up(INTEL, soft ? XST_MASK_CET_U : CET, "auto");
		assert_int_equal(g.r.sys.guest_cet_s, soft);
		assert_int_equal(xst_guest_set_direct(&g.r.sys, v, XST_DIRECT_SSP, NULL), XST_OK);
		xst_guest_load(&g.r.cpu[0], v);
		guest_put(&g, 0, 0, XST_COMP_CET_U, 0x11);
		guest_put(&g, 0, 0, XST_COMP_CET_S, 0x12);
		guests_resume(&g, 0, true);
		assert_int_equal(g.r.hw[0].xss, g.r.sys.xss);
		assert_true(mdl_is_init(&g.r.hw[0], XST_COMP_CET_S));
		xst_guest_enter(&g.r.cpu[0], v);
		assert_int_equal(g.r.hw[0].xss, v->xss);
		xst_guest_exit(&g.r.cpu[0], v);
		assert_int_equal(guest_see(&g, 0, 0, XST_COMP_CET_U), 0x11);
		assert_int_equal(guest_see(&g, 0, 0, XST_COMP_CET_S), 0x12);
		assert_int_equal(g.r.hw[0].surprise, 0);
	}
}

/* --- shadow-stack registers --- */

static void cet_registers(void **state)
{
	static const struct xst_cet cet = {0x12003, {0x1000, 0x2004, 0x3008, 0xffff800000004000}};
	static const struct xst_cet bad[] = {
		{0x40, {0}},
		{0xc00, {0}},
		{0x800000000003, {0}},
		{0, {2}},
		{0, {0, 0x800000000000}},
		{0, {0, 0, 1}},
		{0, {0, 0, 0, 3}},
	};
	static const struct xst_cet plain = {0x3, {0, 0, 0, 0x4000}};
	struct xst_cet got;
	uint64_t moved;
	unsigned soft, i;

	(void)state;
	for (soft = 0; soft < 2; soft++) {
		up(INTEL, soft ? XST_MASK_CET_U : CET, "auto");
		xst_guest_load(&g.r.cpu[0], &g.vcpu[0]);
		assert_int_equal(xst_guest_set_cet(&g.r.cpu[0], &g.vcpu[0], &cet, &d), XST_OK);
		for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			assert_int_equal(xst_guest_set_cet(&g.r.cpu[0], &g.vcpu[0], &bad[i], &d),
					 XST_ERR_INVALID);
		xst_guest_enter(&g.r.cpu[0], &g.vcpu[0]);
		for (i = 0; i < 3; i++)
			assert_int_equal(xst_w_ssp(&g.r.hw[0], i), cet.ssp[i]);
		assert_int_equal(xst_get64(g.r.hw[0].regs.CET_U, 0), cet.u_cet);
		xst_guest_exit(&g.r.cpu[0], &g.vcpu[0]);
		/* User state that comes in leaves them alone. */
		assert_int_equal(xst_guest_copy_out(&g.r.cpu[0], &g.vcpu[1], copy, sizeof(copy),
						    &d), XST_OK);
		assert_int_equal(xst_guest_copy_in(&g.r.cpu[0], &g.vcpu[0], copy, sizeof(copy),
						   &d), XST_OK);
		xst_guest_get_cet(&g.r.cpu[0], &g.vcpu[0], &got);
		assert_memory_equal(&got, &cet, sizeof(cet));
		xst_guest_put(&g.r.cpu[0], &g.vcpu[0]);
		xst_guest_get_cet(&g.r.cpu[1], &g.vcpu[0], &got);
		assert_memory_equal(&got, &cet, sizeof(cet));
		assert_int_equal(g.r.hw[0].surprise, 0);
		/* What they are already moves nothing. */
		xst_guest_load(&g.r.cpu[0], &g.vcpu[0]);
		xst_guest_enter(&g.r.cpu[0], &g.vcpu[0]);
		xst_guest_exit(&g.r.cpu[0], &g.vcpu[0]);
		moved = g.r.cpu[0].n.loads;
		assert_int_equal(xst_guest_set_cet(&g.r.cpu[0], &g.vcpu[0], &cet, &d), XST_OK);
		xst_guest_enter(&g.r.cpu[0], &g.vcpu[0]);
		xst_guest_exit(&g.r.cpu[0], &g.vcpu[0]);
		assert_int_equal(g.r.cpu[0].n.loads, moved);
		/* Once loaded, and put only where it is. */
		assert_int_equal(xst_guest_load(&g.r.cpu[0], &g.vcpu[0]), XST_ERR_INVALID);
		assert_int_equal(xst_guest_put(&g.r.cpu[0], &g.vcpu[1]), XST_ERR_INVALID);
		assert_int_equal(xst_guest_put(&g.r.cpu[1], &g.vcpu[0]), XST_ERR_INVALID);
		assert_int_equal(xst_guest_put(&g.r.cpu[0], &g.vcpu[0]), XST_OK);
		assert_int_equal(xst_guest_put(&g.r.cpu[0], &g.vcpu[0]), XST_ERR_INVALID);
	}
	/* A CPU without indirect branch tracking (AMD) reserves its bits. */
	up(INTEL, CET, "auto");
	g.r.sys.caps.cet_ibt = false;
	assert_int_equal(xst_guest_set_cet(&g.r.cpu[0], &g.vcpu[0], &cet, &d), XST_ERR_INVALID);
	assert_int_equal(xst_guest_set_cet(&g.r.cpu[0], &g.vcpu[0], &plain, &d), XST_OK);
	/* A guest that has none. */
	up(INTEL, 0, "auto");
	assert_int_equal(xst_guest_set_cet(&g.r.cpu[0], &g.vcpu[0], &cet, &d), XST_ERR_DENIED);
	xst_guest_get_cet(&g.r.cpu[0], &g.vcpu[0], &got);
	assert_int_equal(got.u_cet | got.ssp[0] | got.ssp[3], 0);
	assert_int_equal(xst_guest_set_cet(&g.r.cpu[0], &g.vcpu[0], &got, &d), XST_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cet_s_in_the_image),
		cmocka_unit_test(cet_s_by_software),
		cmocka_unit_test(guest_only_in_a_host),
		CASE("MIG-17", xss_after_resume),
		cmocka_unit_test(cet_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

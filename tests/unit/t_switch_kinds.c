// SPDX-License-Identifier: BSD-2-Clause
/*
 * The engine's less common ways: saving on displacement only, eliding INIT, an area at first use,
 * components that CR0.TS does not guard, AMD's pointers, CPUs that come and go.
 */
#include "t.h"

#include "cases.h"
#include "rig.h"

#include <xst/image.h>

static struct rig rig;

#define A (&rig.task[0])
#define B (&rig.task[1])

static struct xst_counters *counters(unsigned cpu)
{
	assert_true(xst_counters_balanced(&rig.cpu[cpu].n));
	assert_int_equal(rig.hw[cpu].surprise, 0);
	return &rig.cpu[cpu].n;
}

/* Alone on its CPU a task is never saved, however often it leaves. */
static void laziest_saves_when_displaced(void **state)
{
	unsigned i;

	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x207, "laziest"), XST_OK);
	rig_go(&rig, 0, A);
	rig_put(&rig, 0, XST_COMP_AVX, 0x11);
	for (i = 0; i < 20; i++) {
		rig_go(&rig, 0, B); /* does not touch a register */
		xst_return_to_user(&rig.cpu[0]);
		rig_go(&rig, 0, A);
	}
	assert_int_equal(counters(0)->saves, 0);
	assert_int_equal(counters(0)->traps, 1);
	assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x11);
	rig_go(&rig, 0, B);
	rig_put(&rig, 0, XST_COMP_AVX, 0x22);
	assert_int_equal(counters(0)->saves, 1);
	rig_go(&rig, 0, A);
	assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x11);
	assert_int_equal(counters(0)->saves, 2);
}

/* Its registers are fetched from the other CPU when they are needed, and not before. */
static void laziest_fetches(void **state)
{
	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x207, "laziest"), XST_OK);
	rig_go(&rig, 0, A);
	rig_put(&rig, 0, XST_COMP_AVX, 0x11);
	rig_go(&rig, 0, NULL);
	assert_int_equal(xst_ctx_home(A), 0);
	rig_go(&rig, 1, A);
	xst_return_to_user(&rig.cpu[1]);
	assert_int_equal(counters(0)->saves, 0);
	assert_int_equal(rig_see(&rig, 1, XST_COMP_AVX), 0x11);
	assert_int_equal(counters(0)->saves, 1);
	rig_put(&rig, 1, XST_COMP_AVX, 0x12);
	/* Reading it from the other CPU while it does not run: fetched too. */
	rig_go(&rig, 1, NULL);
	xst_ctx_flush(&rig.cpu[0], A);
	assert_int_equal(A->area[576], 0x12);
	assert_int_equal(xst_ctx_home(A), XST_NO_CPU);
	rig_go(&rig, 0, A);
	assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x12);
	(void)counters(1);
}

/* Marked for migration beforehand, nothing is left to fetch. */
static void laziest_migrates(void **state)
{
	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x7, "laziest"), XST_OK);
	rig_go(&rig, 0, A);
	rig_put(&rig, 0, XST_COMP_SSE, 0x31);
	rig_go(&rig, 0, NULL);
	xst_ctx_migrate(&rig.cpu[0], A);
	assert_int_equal(xst_ctx_home(A), XST_NO_CPU);
	assert_int_equal(counters(0)->saves, 1);
	xst_ctx_migrate(&rig.cpu[0], A);
	assert_int_equal(counters(0)->saves, 1);
	rig_go(&rig, 1, A);
	assert_int_equal(rig_see(&rig, 1, XST_COMP_SSE), 0x31);
}

/* skip_init: a task that clears its registers costs neither a save nor a load. */
static void init_is_elided(void **state)
{
	unsigned i;

	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x7, "load=in,skip-init"), XST_OK);
	for (i = 0; i < 10; i++) {
		rig_go(&rig, 0, A);
		xst_return_to_user(&rig.cpu[0]);
		rig_go(&rig, 0, B);
		xst_return_to_user(&rig.cpu[0]);
	}
	assert_int_equal(counters(0)->saves, 0);
	assert_int_equal(counters(0)->loads, 0);
	assert_int_equal(counters(0)->loads_elided_init, 20);
	assert_int_equal(counters(0)->saves_elided, 19);

	rig_put(&rig, 0, XST_COMP_AVX, 0x41);
	rig_go(&rig, 0, A);
	assert_int_equal(counters(0)->saves, 1);
	assert_int_equal(counters(0)->loads, 1); /* the registers were B's */
	assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0);
	rig_go(&rig, 0, B);
	assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x41);
	/* B clears AVX, and gets it back as INIT. */
	assert_int_equal(mdl_vzeroall(&rig.hw[0]), 0);
	rig_go(&rig, 0, A);
	rig_go(&rig, 0, B);
	assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0);
	(void)counters(0);
}

/* Found by the explorer: an INIT image that a restore refuses was taken for INIT, the load elided; the
 * task then ran and was saved into the bad image, and the next load lost its registers. */
static void refused_init_image_is_not_elided(void **state)
{
	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x7, "auto"), XST_OK);
	rig_go(&rig, 0, A);
	xst_ctx_flush(&rig.cpu[0], A);
	A->area[XST_HEADER_OFFSET + 16] = 1;
	xst_ctx_changed(&rig.cpu[0], A);
	rig_put(&rig, 0, XST_COMP_SSE, 0x11);
	assert_int_equal(A->fault, MDL_GP);
	assert_int_equal(counters(0)->loads_failed, 1);
	rig_go(&rig, 0, B);
	rig_go(&rig, 1, A);
	assert_int_equal(rig_see(&rig, 1, XST_COMP_SSE), 0x11);
	assert_int_equal(counters(1)->loads_failed, 0);
}

/*
 * The contract of xst_ctx_changed(). Told of an edit, the engine never takes a header that the restore
 * refuses for INIT, whatever the policy, the form and the reserved byte: the task gets fresh state. Not
 * told, it may go on without the load; the bad header is still found at the next load that is made, by
 * the restore and its fix-up, and never by a fault elsewhere or with another task's values.
 */
static void edits_are_told(void **state)
{
	static const char *const names[] = {"eager", "lazy", "deferred", "auto", "load=in,skip-init"};
	static const unsigned offsets[] = {16, 23, 24, 40, 63};
	unsigned insn, p, o, told;

	(void)state;
	for (insn = XST_INSN_XSAVE; insn <= XST_INSN_XSAVES; insn++)
		for (p = 0; p < sizeof(names) / sizeof(names[0]); p++)
			for (o = 0; o < sizeof(offsets) / sizeof(offsets[0]); o++)
				for (told = 0; told < 2; told++) {
					/* The standard form looks at the first 16 reserved bytes only. */
					const bool refused = insn >= XST_INSN_XSAVEC || offsets[o] < 24;

					assert_int_equal(rig_up(&rig, (enum xst_insn)insn, 0x7, names[p]),
							 XST_OK);
					rig_go(&rig, 0, B);
					rig_put(&rig, 0, XST_COMP_SSE, 0x22);
					rig_go(&rig, 0, A);
					assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0);
					xst_ctx_flush(&rig.cpu[0], A);
					A->area[XST_HEADER_OFFSET + offsets[o]] = 1;
					if (told)
						xst_ctx_changed(&rig.cpu[0], A);
					assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0);
					assert_int_equal(A->fault, told && refused ? MDL_GP : 0);
					/* By way of another CPU there is a load, or an image to look at. */
					rig_put(&rig, 0, XST_COMP_SSE, 0x11);
					rig_go(&rig, 0, B);
					assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0x22);
					rig_go(&rig, 1, A);
					assert_int_equal(rig_see(&rig, 1, XST_COMP_SSE),
							 told || !refused ? 0x11 : 0);
					assert_int_equal(A->fault, refused ? MDL_GP : 0);
					assert_int_equal(counters(0)->loads_failed, told && refused);
					assert_int_equal(counters(1)->loads_failed, !told && refused);
				}
}

/* MXCSR counts: registers with another MXCSR are not INIT, whatever XINUSE says. */
static void mxcsr_is_not_init(void **state)
{
	unsigned insn;

	(void)state;
	for (insn = XST_INSN_XSAVEC; insn <= XST_INSN_XSAVES; insn++) {
		assert_int_equal(rig_up(&rig, (enum xst_insn)insn, 0x7, "load=in,skip-init"), XST_OK);
		rig_go(&rig, 0, A);
		assert_int_equal(mdl_ldmxcsr(&rig.hw[0], 0x9fc0), 0);
		rig_go(&rig, 0, B);
		assert_int_equal(rig.hw[0].mxcsr, MDL_MXCSR_INIT);
		assert_int_equal(mdl_ldmxcsr(&rig.hw[0], 0x5f80), 0);
		rig_go(&rig, 0, A);
		assert_int_equal(rig.hw[0].mxcsr, 0x9fc0);
		rig_go(&rig, 0, B);
		assert_int_equal(rig.hw[0].mxcsr, 0x5f80);
		(void)counters(0);
	}
}

/* On CPUs whose XINUSE[1] counts MXCSR it is not asked apart; a CPU is believed what it does, and a
 * belief that is false loses MXCSR. */
static void mxcsr_in_xinuse(void **state)
{
	static const struct {
		bool counts, in_use, believed, wrongly;
	} cases[] = {
		{ false, false, false, false }, { true, false, true, false }, { true, true, false, false },
		{ false, true, false, false },  { false, false, true, true },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(rig_up(&rig, XST_INSN_XSAVEC, 0x7, "load=return,keep,skip-init"), XST_OK);
		assert_false(rig.cpu[0].xinuse_mxcsr);
		rig.hw[0].mxcsr_counts = cases[i].counts;
		/* In use all the time, as SSE is below some hypervisors. */
		rig.hw[0].always_in_use = cases[i].in_use ? XST_MASK_SSE : 0;
		assert_int_equal(xst_cpu_online(&rig.cpu[0], NULL), XST_OK);
		assert_int_equal(rig.hw[0].mxcsr, MDL_MXCSR_INIT);
		rig.cpu[0].xinuse_mxcsr |= cases[i].wrongly;
		assert_int_equal(rig.cpu[0].xinuse_mxcsr, cases[i].believed);
		rig_go(&rig, 0, A);
		xst_return_to_user(&rig.cpu[0]);
		assert_int_equal(mdl_ldmxcsr(&rig.hw[0], 0x9fc0), 0);
		rig_go(&rig, 0, B);
		xst_return_to_user(&rig.cpu[0]);
		rig_put(&rig, 0, XST_COMP_SSE, 7);
		assert_int_equal(mdl_ldmxcsr(&rig.hw[0], 0x5f80), 0);
		rig_go(&rig, 0, A);
		xst_return_to_user(&rig.cpu[0]);
		assert_int_equal(rig.hw[0].mxcsr == 0x9fc0, !cases[i].wrongly);
		rig_go(&rig, 0, B);
		xst_return_to_user(&rig.cpu[0]);
		assert_int_equal(rig.hw[0].mxcsr, 0x5f80);
		(void)counters(0);
	}
}

/* A task without memory runs until it touches a register, under every policy; a policy that is not
 * leaky shows INIT behind TS. */
static void area_at_first_use(void **state)
{
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x207, xst_policy_at(p)->name), XST_OK);
		assert_int_equal(xst_ctx_init(&rig.sys, B, NULL, 0), XST_OK);
		rig_go(&rig, 0, A);
		rig_put(&rig, 0, XST_COMP_AVX, 0x11);
		rig_go(&rig, 0, B);
		xst_return_to_user(&rig.cpu[0]);
		rig_put_pkru(&rig, 0, 0x44);
		assert_int_equal(mdl_access(&rig.hw[0], XST_COMP_AVX, true), MDL_NM);
		if (!xst_policy_leaky(xst_policy_at(p)))
			assert_true(mdl_is_init(&rig.hw[0], XST_COMP_AVX));
		assert_int_equal(xst_device_not_available(&rig.cpu[0]), XST_ERR_NEED_BYTES);
		assert_int_equal(xst_ctx_attach(&rig.cpu[0], B, rig.area[1], 576), XST_ERR_NEED_BYTES);
		assert_int_equal(xst_ctx_attach(&rig.cpu[0], B, rig.area[1], RIG_BYTES), XST_OK);
		assert_int_equal(xst_ctx_attach(&rig.cpu[0], B, rig.area[1], RIG_BYTES),
				 XST_ERR_INVALID);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0);
		rig_put(&rig, 0, XST_COMP_AVX, 0x22);
		rig_go(&rig, 0, A);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x11);
		rig_go(&rig, 0, B);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x22);
		assert_int_equal(xst_w_rdpkru(&rig.hw[0]), 0x44);
		assert_int_equal(counters(0)->first_uses, 1);
	}
}

/* CET_U is not guarded by TS: it is never left to first use. */
static void unguarded_is_always_in_place(void **state)
{
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		assert_int_equal(rig_up_xss(&rig, XST_INSN_XSAVES, 0x207, XST_MASK_CET_U,
					    xst_policy_at(p)->name),
				 XST_OK);
		assert_int_equal(rig.sys.apart, XST_MASK_CET_U);
		rig_go(&rig, 0, A);
		rig_put(&rig, 0, XST_COMP_CET_U, 0x11);
		rig_put(&rig, 0, XST_COMP_AVX, 0x12);
		rig_go(&rig, 0, B);
		xst_return_to_user(&rig.cpu[0]);
		assert_true(mdl_is_init(&rig.hw[0], XST_COMP_CET_U));
		rig_put(&rig, 0, XST_COMP_CET_U, 0x21);
		rig_go(&rig, 0, A);
		xst_return_to_user(&rig.cpu[0]);
		assert_int_equal(rig.hw[0].regs.CET_U[0], 0x11);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x12);
		rig_go(&rig, 0, NULL);
		rig_go(&rig, 1, B);
		xst_return_to_user(&rig.cpu[1]);
		assert_int_equal(rig.hw[1].regs.CET_U[0], 0x21);
		(void)counters(0);
		(void)counters(1);
	}
}

/* A second image that a restore refuses costs the task that state once, and no more: it is fresh in
 * memory too, where a save would never mend all of the header. */
static void bad_second_image_is_replaced(void **state)
{
	static const enum xst_insn insns[] = {XST_INSN_XSAVE, XST_INSN_XSAVEOPT, XST_INSN_XSAVEC,
					      XST_INSN_XSAVES};
	unsigned p, i, byte;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		for (i = 0; i < 4; i++) {
			for (byte = 0; byte < 24; byte += 7) {
				/* The user's bounds are the second image here. */
				assert_int_equal(rig_up(&rig, insns[i], 0x1f, xst_policy_at(p)->name), XST_OK);
				assert_int_equal(rig.sys.apart, XST_MASK_BNDREGS | XST_MASK_BNDCSR);
				rig_go(&rig, 0, A);
				xst_return_to_user(&rig.cpu[0]);
				rig_put(&rig, 0, XST_COMP_BNDREGS, 0x11);
				rig_go(&rig, 0, NULL);
				xst_ctx_apart(&rig.sys, A)[XST_HEADER_OFFSET + byte] |= 0x80;
				xst_ctx_changed(&rig.cpu[0], A);
				rig_go(&rig, 0, A);
				xst_return_to_user(&rig.cpu[0]);
				if (!rig.cpu[0].n.apart_failed)
					continue; /* a byte that no restore looks at */
				assert_true(mdl_is_init(&rig.hw[0], XST_COMP_BNDREGS));
				rig_put(&rig, 0, XST_COMP_BNDREGS, 0x12);
				rig_go(&rig, 0, B);
				xst_return_to_user(&rig.cpu[0]);
				rig_go(&rig, 0, A);
				xst_return_to_user(&rig.cpu[0]);
				assert_int_equal(rig.hw[0].regs.BNDREGS[0], 0x12);
				assert_int_equal(counters(0)->apart_failed, 1);
			}
		}
	}
}

/* SEC-03, SEC-04: on AMD CPUs that do not always restore FOP, FIP and FDP, the next task must not see
 * those of the one before. */
static void pointers_do_not_leak(void **state)
{
	static const struct {
		enum xst_insn insn;
		uint8_t fcw, fsw;
	} cases[] = {
		{XST_INSN_FXSAVE, 0x7f, 0x00}, {XST_INSN_XSAVE, 0x7f, 0x00},
		{XST_INSN_XSAVEOPT, 0x7f, 0x01},
	};
	unsigned i, n;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(rig_up(&rig, cases[i].insn, 0x7, "eager"), XST_OK);
		rig.sys.fip_leak = true;
		for (n = 0; n < RIG_CPUS; n++) {
			rig.hw[n].fip = MDL_FIP_LEAK;
			assert_int_equal(xst_cpu_init(&rig.sys, &rig.cpu[n], n), XST_OK);
		}
		/* B has used x87, so that its image loads it. */
		rig_go(&rig, 0, B);
		rig_put(&rig, 0, XST_COMP_X87, 0x22);
		rig.hw[0].regs.X87[0] = cases[i].fcw;
		rig.hw[0].regs.X87[2] = cases[i].fsw;
		rig_go(&rig, 0, A);
		rig_put(&rig, 0, XST_COMP_X87, 0x11);
		memset(rig.hw[0].regs.X87 + 6, 0x5a, 18);
		rig_go(&rig, 0, B);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_X87), 0x22);
		for (n = 6; n < 24; n++)
			assert_int_not_equal(rig.hw[0].regs.X87[n], 0x5a);
		(void)counters(0);
	}
}

/* Suspend with a task running: it goes on with its registers after the CPU lost them. */
static void cpu_goes_and_comes(void **state)
{
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x207, xst_policy_at(p)->name), XST_OK);
		rig_go(&rig, 0, B);
		rig_put(&rig, 0, XST_COMP_AVX, 0x22);
		rig_go(&rig, 0, A);
		rig_put(&rig, 0, XST_COMP_AVX, 0x11);
		rig_put_pkru(&rig, 0, 0x30);
		xst_cpu_offline(&rig.cpu[0]);
		mdl_reset(&rig.hw[0], &rig.caps);
		memset(&rig.hw[0].regs, 0xee, sizeof(rig.hw[0].regs));
		assert_int_equal(xst_cpu_online(&rig.cpu[0], NULL), XST_OK);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x11);
		assert_int_equal(xst_w_rdpkru(&rig.hw[0]), 0x30);
		rig_go(&rig, 0, B);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x22);
		(void)counters(0);
	}
}

/* A hypervisor leaves a guest whose registers are live: whatever the host does with SSE afterwards, and
 * however lazily it is done, the guest's are written to its area first. */
static void rtl_07(void **state)
{
	struct xst_ctx *guest = A, *host = B;

	(void)state;
	for (unsigned p = 0; p < XST_POLICY_COUNT; p++) {
		assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x207, xst_policy_at(p)->name), XST_OK);
		rig_go(&rig, 0, guest);
		rig_put(&rig, 0, XST_COMP_SSE, 0x6e);
		rig_go(&rig, 0, host);
		rig_put(&rig, 0, XST_COMP_SSE, 0x11);
		assert_int_equal(guest->area[XST_OFF_XMM], 0x6e);
		assert_true(guest->area[XST_OFF_XSTATE_BV] & XST_MASK_SSE);
		rig_go(&rig, 0, guest);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0x6e);
		counters(0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE("RTL-07", rtl_07),
		cmocka_unit_test(laziest_saves_when_displaced),
		cmocka_unit_test(laziest_fetches),
		cmocka_unit_test(laziest_migrates),
		cmocka_unit_test(init_is_elided),
		cmocka_unit_test(refused_init_image_is_not_elided),
		cmocka_unit_test(edits_are_told),
		cmocka_unit_test(mxcsr_is_not_init),
		cmocka_unit_test(mxcsr_in_xinuse),
		cmocka_unit_test(area_at_first_use),
		cmocka_unit_test(unguarded_is_always_in_place),
		cmocka_unit_test(bad_second_image_is_replaced),
		cmocka_unit_test(pointers_do_not_leak),
		cmocka_unit_test(cpu_goes_and_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

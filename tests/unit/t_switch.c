// SPDX-License-Identifier: BSD-2-Clause
/* The engine's promises, one test each, on the software CPU. */
#include "t.h"

#include "rig.h"

static struct rig rig;

#define A (&rig.task[0])
#define B (&rig.task[1])

static void up(const char *policy)
{
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x207, policy), XST_OK);
}

static struct xst_counters *counters(unsigned cpu)
{
	assert_true(xst_counters_balanced(&rig.cpu[cpu].n));
	assert_int_equal(rig.hw[cpu].surprise, 0);
	return &rig.cpu[cpu].n;
}

/* One slot of @task on CPU 0 in which it uses SSE or does not. */
static void slot(struct xst_ctx *task, bool use)
{
	rig_go(&rig, 0, task);
	xst_return_to_user(&rig.cpu[0]);
	if (use)
		rig_put(&rig, 0, XST_COMP_SSE, 0x42);
	rig_go(&rig, 0, NULL);
}

static void two_tasks_every_policy(void **state)
{
	enum xst_insn insn;
	unsigned p, i;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++)
		for (insn = XST_INSN_FNSAVE; insn <= XST_INSN_XSAVES; insn++) {
			unsigned comp = insn == XST_INSN_FNSAVE ? XST_COMP_X87 : XST_COMP_SSE;

			assert_int_equal(rig_up(&rig, insn, 0x207, xst_policy_at(p)->name), XST_OK);
			for (i = 1; i < 40; i++) {
				rig_go(&rig, 0, A);
				if (i > 1)
					assert_int_equal(rig_see(&rig, 0, comp), i - 1);
				rig_put(&rig, 0, comp, (uint8_t)i);
				rig_go(&rig, 0, B);
				if (i > 1)
					assert_int_equal(rig_see(&rig, 0, comp), 100 + i - 1);
				rig_put(&rig, 0, comp, (uint8_t)(100 + i));
			}
			(void)counters(0);
		}
}

/* POL-02: with threshold 5 the sixth use leads to a preload, and it stops after 255 blind slots. */
static void preload_exact(void **state)
{
	struct xst_counters *n;
	unsigned i;

	(void)state;
	up("lazy-preload");
	for (i = 0; i < 6; i++)
		slot(A, true);
	n = counters(0);
	assert_int_equal(n->traps, 6);
	assert_int_equal(n->preloads, 0);
	slot(A, true);
	assert_int_equal(n->traps, 6);
	assert_int_equal(n->preloads, 1);
	/* From now on it never uses the registers again: 254 more blind slots, then a probe. */
	for (i = 0; i < 254; i++)
		slot(A, false);
	assert_int_equal(n->preloads, 255);
	assert_int_equal(n->probes, 0);
	slot(A, false);
	assert_int_equal(n->preloads, 255);
	assert_int_equal(n->probes, 1);
	for (i = 0; i < 300; i++)
		slot(A, false);
	assert_int_equal(n->preloads, 255);
	assert_int_equal(n->probes, 1);
	assert_int_equal(n->traps, 6);
	assert_int_equal(counters(0)->validations, 6 + 255);
}

/* The probe sees use: preloading goes on at once. */
static void probe_that_hits(void **state)
{
	struct xst_counters *n;
	unsigned i;

	(void)state;
	up("lazy-preload");
	for (i = 0; i < 6 + 255; i++)
		slot(A, true);
	n = counters(0);
	assert_int_equal(n->preloads, 255);
	assert_int_equal(n->probes, 0);
	slot(A, true);
	assert_int_equal(n->probes, 1);
	assert_int_equal(n->traps, 7);
	slot(A, true);
	assert_int_equal(n->preloads, 256);
	assert_int_equal(counters(0)->traps, 7);
}

/* Five uses are not more than five: no preload after a break. */
static void row_is_consecutive(void **state)
{
	unsigned i;

	(void)state;
	up("lazy-preload");
	for (i = 0; i < 60; i++)
		slot(A, i % 6 != 5);
	assert_int_equal(counters(0)->preloads, 0);
	assert_int_equal(counters(0)->traps, 50);
}

/* POL-03: on the same CPU after a kernel thread the load is skipped; after another CPU it is not,
 * although the first CPU's owner is still that task. */
static void keep_and_migration(void **state)
{
	static const char *const policies[] = {"lazy-keep", "eager-keep", "deferred"};
	unsigned p;

	(void)state;
	for (p = 0; p < 3; p++) {
		up(policies[p]);
		rig_go(&rig, 0, A);
		rig_put(&rig, 0, XST_COMP_AVX, 0x11);
		rig_go(&rig, 0, NULL);
		assert_int_equal(counters(0)->loads, 1);
		rig_go(&rig, 0, A);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x11);
		assert_int_equal(counters(0)->loads, 1);
		assert_int_equal(counters(0)->loads_skipped_owner, 1);
		rig_go(&rig, 0, NULL);

		rig_go(&rig, 1, A);
		assert_int_equal(rig_see(&rig, 1, XST_COMP_AVX), 0x11);
		rig_put(&rig, 1, XST_COMP_AVX, 0x22);
		rig_go(&rig, 1, NULL);
		assert_int_equal(counters(1)->loads, 1);
		assert_int_equal(counters(1)->loads_skipped_owner, 0);

		assert_ptr_equal(rig.cpu[0].owner, A);
		rig_go(&rig, 0, A);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x22);
		assert_int_equal(counters(0)->loads, 2);
		assert_int_equal(counters(0)->loads_skipped_owner, 1);
	}
}

/* SEC-05: an image with a reserved header byte set is refused by the CPU; the task gets fresh state. */
static void refused_image(void **state)
{
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		assert_int_equal(rig_up(&rig, XST_INSN_XSAVE, 0x7, xst_policy_at(p)->name), XST_OK);
		rig_go(&rig, 0, A);
		rig_put(&rig, 0, XST_COMP_AVX, 0x11);
		xst_ctx_flush(&rig.cpu[0], A);
		A->area[XST_HEADER_OFFSET] = 7;
		A->area[XST_HEADER_OFFSET + 16] = 1;
		xst_ctx_changed(&rig.cpu[0], A);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0);
		assert_int_equal(A->fault, MDL_GP);
		assert_int_equal(rig.hw[0].mxcsr, MDL_MXCSR_INIT);
		assert_int_equal(counters(0)->loads_failed, 1);
		/* It lives on. */
		rig_put(&rig, 0, XST_COMP_AVX, 0x33);
		rig_go(&rig, 0, B);
		rig_put(&rig, 0, XST_COMP_AVX, 0x44);
		rig_go(&rig, 0, A);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x33);
		(void)counters(0);
	}
}

static void deferred_spares_kernel_stays(void **state)
{
	unsigned i;

	(void)state;
	up("deferred");
	rig_go(&rig, 0, A);
	rig_put(&rig, 0, XST_COMP_SSE, 0x11);
	for (i = 0; i < 50; i++) {
		rig_go(&rig, 0, B); /* B never leaves the kernel */
		rig_go(&rig, 0, NULL);
	}
	rig_go(&rig, 0, A);
	assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0x11);
	assert_int_equal(counters(0)->loads, 1);
	assert_int_equal(counters(0)->loads_skipped_owner, 1);
	assert_int_equal(counters(0)->saves, 1);
	assert_int_equal(counters(0)->traps, 0);
}

static void eager_never_traps(void **state)
{
	static const char *const policies[] = {"eager", "eager-keep", "deferred"};
	unsigned p, i;

	(void)state;
	for (p = 0; p < 3; p++) {
		up(policies[p]);
		for (i = 0; i < 30; i++) {
			rig_go(&rig, 0, i % 3 ? A : B);
			xst_return_to_user(&rig.cpu[0]);
			assert_int_equal(rig.hw[0].cr0 & MDL_CR0_TS, 0);
			if (i % 2)
				rig_put(&rig, 0, XST_COMP_X87, 0x77);
		}
		assert_int_equal(counters(0)->traps, 0);
		assert_int_equal(xst_device_not_available(&rig.cpu[0]), XST_ERR_NOT_OURS);
		assert_int_equal(counters(0)->traps, 0);
	}
}

/* Eager loads each time, whatever is in the registers. */
static void eager_loads_always(void **state)
{
	unsigned i;

	(void)state;
	up("eager");
	for (i = 0; i < 10; i++)
		slot(A, true);
	assert_int_equal(counters(0)->loads, 10);
	assert_int_equal(counters(0)->saves, 10);
	assert_int_equal(counters(0)->switches, 20);
}

/* POL-06: the knob between all pairs of policies, with the registers in place, saved, or trapping. */
static void knob_at_every_point(void **state)
{
	unsigned from, to, where;

	(void)state;
	for (from = 0; from < XST_POLICY_COUNT; from++)
		for (to = 0; to < XST_POLICY_COUNT; to++)
			for (where = 0; where < 6; where++) {
				struct xst_reading before, after;
				bool evicts;

				up(xst_policy_at(from)->name);
				rig_go(&rig, 0, A);
				rig_put(&rig, 0, XST_COMP_AVX, 0x11);
				rig_put_pkru(&rig, 0, 0x10);
				if (where >= 1)
					rig_go(&rig, 0, NULL);
				if (where >= 2)
					rig_go(&rig, 0, B);
				if (where >= 3)
					xst_return_to_user(&rig.cpu[0]);
				if (where >= 4)
					rig_put(&rig, 0, XST_COMP_AVX, 0x22);
				if (where >= 5)
					rig_go(&rig, 0, A);
				evicts = rig.cpu[0].bits & XST_B_DIRTY;
				xst_cpu_read_counters(&rig.cpu[0], &before);
				assert_int_equal(xst_cpu_set_policy(&rig.cpu[0], xst_policy_at(to),
								    XST_FORCE, NULL),
						 XST_OK);
				xst_cpu_read_counters(&rig.cpu[0], &after);
				assert_int_equal(after.epoch, before.epoch + 1);
				assert_int_equal(after.n.flips, before.n.flips + 1);
				/* Only registers that are the sole copy of a task are saved. */
				assert_int_equal(after.n.saves - before.n.saves,
						 evicts && xst_policy_at(to)->save !=
								   XST_SAVE_DISPLACED);
				assert_int_equal(after.bytes_nominal,
						 after.n.saves * rig.sys.layout.bytes);
				if (rig.cpu[0].cur == B && where >= 4)
					assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x22);
				rig_go(&rig, 0, A);
				assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x11);
				assert_int_equal(xst_w_rdpkru(&rig.hw[0]), 0x10);
				if (!xst_policy_leaky(xst_policy_at(to)))
					assert_int_equal(rig.hw[0].cr0 & MDL_CR0_TS, 0);
				(void)counters(0);
			}
}

static void leaky_needs_force(void **state)
{
	struct xst_diag d;

	(void)state;
	up("eager");
	rig.sys.leaky_cpu = true;
	assert_int_equal(xst_cpu_set_policy(&rig.cpu[0], xst_policy_by_name("lazy"), 0, &d),
			 XST_ERR_LEAKY);
	assert_string_equal(rig.cpu[0].policy.name, "eager");
	assert_int_equal(rig.cpu[0].epoch, 1);
	assert_int_equal(xst_cpu_set_policy(&rig.cpu[0], xst_policy_by_name("lazy"), XST_FORCE, &d),
			 XST_OK);
	rig.sys.leaky_cpu = false;
	assert_int_equal(xst_cpu_set_policy(&rig.cpu[0], xst_policy_by_name("lazy-keep"), 0, &d),
			 XST_OK);
}

/* A fork copies registers once, exec gives fresh ones, exit forgets. */
static void life_of_tasks(void **state)
{
	unsigned p, insn;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++)
		for (insn = XST_INSN_FNSAVE; insn <= XST_INSN_XSAVES; insn++) {
			struct xst_counters *n;
			uint64_t saves, loads;

			assert_int_equal(rig_up(&rig, (enum xst_insn)insn, 0x207,
						xst_policy_at(p)->name),
					 XST_OK);
			rig_go(&rig, 0, A);
			rig_put(&rig, 0, XST_COMP_X87, 0x11);
			if (rig.sys.pkru)
				rig_put_pkru(&rig, 0, 0x30);
			n = counters(0);
			saves = n->saves;
			loads = n->loads;
			xst_ctx_fork(&rig.cpu[0], A, B);
			assert_int_equal(n->saves, saves + 1);
			assert_int_equal(n->loads, loads);
			assert_int_equal(rig_see(&rig, 0, XST_COMP_X87), 0x11);
			rig_put(&rig, 0, XST_COMP_X87, 0x12);
			rig_go(&rig, 0, B);
			assert_int_equal(rig_see(&rig, 0, XST_COMP_X87), 0x11);
			if (rig.sys.pkru)
				assert_int_equal(xst_w_rdpkru(&rig.hw[0]), 0x30);
			xst_ctx_exec(&rig.cpu[0], B);
			assert_int_equal(rig_see(&rig, 0, XST_COMP_X87), 0);
			if (rig.sys.pkru)
				assert_int_equal(xst_w_rdpkru(&rig.hw[0]), XST_PKRU_DEFAULT);
			xst_ctx_exit(&rig.cpu[0], B);
			/* The same memory becomes a new task, which must not find the dead one's. */
			memset(rig.area[1], 0xee, RIG_BYTES);
			assert_int_equal(xst_ctx_init(&rig.sys, B, rig.area[1], RIG_BYTES), XST_OK);
			rig_go(&rig, 0, B);
			assert_int_equal(rig_see(&rig, 0, XST_COMP_X87), 0);
			rig_go(&rig, 0, A);
			assert_int_equal(rig_see(&rig, 0, XST_COMP_X87), 0x12);
			(void)counters(0);
		}
}

/* ptrace: read the area after a flush, change it, and the task sees the change. */
static void flush_and_change(void **state)
{
	unsigned p, insn;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++)
		for (insn = XST_INSN_FXSAVE; insn <= XST_INSN_XSAVES; insn++) {
			assert_int_equal(rig_up(&rig, (enum xst_insn)insn, 0x7,
						xst_policy_at(p)->name),
					 XST_OK);
			rig_go(&rig, 0, A);
			rig_put(&rig, 0, XST_COMP_SSE, 0x11);
			xst_ctx_flush(&rig.cpu[0], A);
			assert_int_equal(A->area[160], 0x11);
			assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0x11);
			xst_ctx_flush(&rig.cpu[0], A);
			memset(A->area + 160, 0x22, 256);
			xst_ctx_changed(&rig.cpu[0], A);
			assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0x22);
			/* Edited while it does not run. */
			rig_go(&rig, 0, NULL);
			memset(A->area + 160, 0x33, 256);
			xst_ctx_changed(&rig.cpu[0], A);
			rig_go(&rig, 0, A);
			assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0x33);
			(void)counters(0);
		}
}

static void area_is_checked(void **state)
{
	struct xst_ctx ctx;

	(void)state;
	up("eager");
	assert_int_equal(xst_ctx_init(&rig.sys, &ctx, rig.area[0], rig.sys.ctx_bytes - 1),
			 XST_ERR_NEED_BYTES);
	assert_int_equal(xst_ctx_init(&rig.sys, &ctx, rig.area[0] + 16, rig.sys.ctx_bytes),
			 XST_ERR_ALIGN);
	memset(rig.area[0], 0x5a, RIG_BYTES);
	assert_int_equal(xst_ctx_init(&rig.sys, &ctx, rig.area[0], RIG_BYTES), XST_OK);
	assert_int_equal(rig.area[0][rig.sys.ctx_bytes], 0x5a);
}

/* HDR-05, HDR-08: a fresh image can be restored and gives MXCSR 1F80H. */
static void fresh_is_fresh(void **state)
{
	uint64_t xcomp_bv;
	unsigned insn;

	(void)state;
	up("eager");
	memcpy(&xcomp_bv, A->area + XST_HEADER_OFFSET + 8, 8);
	assert_int_equal(xcomp_bv, XST_XCOMP_COMPACT | rig.sys.mask);
	for (insn = XST_INSN_FNSAVE; insn <= XST_INSN_XSAVES; insn++) {
		assert_int_equal(rig_up(&rig, (enum xst_insn)insn, 0x7, "eager"), XST_OK);
		rig.hw[0].mxcsr = 0;
		rig_go(&rig, 0, A);
		if (insn > XST_INSN_FNSAVE)
			assert_int_equal(rig.hw[0].mxcsr, MDL_MXCSR_INIT);
		assert_int_equal(counters(0)->loads_failed, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_tasks_every_policy),
		cmocka_unit_test(preload_exact),
		cmocka_unit_test(probe_that_hits),
		cmocka_unit_test(row_is_consecutive),
		cmocka_unit_test(keep_and_migration),
		cmocka_unit_test(refused_image),
		cmocka_unit_test(deferred_spares_kernel_stays),
		cmocka_unit_test(eager_never_traps),
		cmocka_unit_test(eager_loads_always),
		cmocka_unit_test(knob_at_every_point),
		cmocka_unit_test(leaky_needs_force),
		cmocka_unit_test(life_of_tasks),
		cmocka_unit_test(flush_and_change),
		cmocka_unit_test(area_is_checked),
		cmocka_unit_test(fresh_is_fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

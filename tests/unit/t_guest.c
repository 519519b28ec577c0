// SPDX-License-Identifier: BSD-2-Clause
/*
 * Guests beside tasks on two software CPUs: whose registers are where, what is saved and loaded for it,
 * and what the control registers hold when.
 */
#include "t.h"

#include "guests.h"

static struct guests g;

static void up(enum xst_insn insn, uint64_t xcr0, uint64_t xss, uint64_t want, const char *policy)
{
	assert_int_equal(guests_up(&g, insn, xcr0, xss, want, policy), XST_OK);
}

/* --- a stay in the kernel --- */

/* Whatever the policy: the thread's registers are saved once at most, and exits that the kernel handles
 * move nothing. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exits_move_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a machine enables for whom, on every CPU of the collection: a wish for guests changes
 * nothing of what a task has, guests have all that tasks have, and only they have CET_S.
 */
#include "../unit/t.h"

#include <xst/system.h>

#include "fleet.h"

static struct fleet *fleet;
static struct xst_system plain, guests;

/* Both machines, or false where this CPU has none (no FPU). */
static bool compute(unsigned n)
{
	const uint64_t want = XST_WANT_ALL_USER;
	const int a = xst_system_compute(&fleet->caps[n], want, 0, &plain, NULL);
	const int b = xst_system_compute(&fleet->caps[n], want | XST_WANT_GUEST_CET, 0, &guests,
					 NULL);

	if (a != b)
		fail_msg("%s: %d without guests, %d with", fleet->name[n], a, b);
	return !a;
}

static void tasks_pay_nothing(void **state)
{
	unsigned n, with_cet = 0;

	(void)state;
	for (n = 0; n < fleet->count; n++) {
		if (!compute(n))
			continue;
		assert_int_equal(guests.insn, plain.insn);
		assert_true(guests.xcr0 == plain.xcr0 && guests.mask == plain.mask);
		assert_true(guests.apart == plain.apart && guests.dynamic == plain.dynamic);
		assert_int_equal(guests.ctx_bytes, plain.ctx_bytes);
		assert_int_equal(guests.grown_bytes, plain.grown_bytes);
		assert_memory_equal(&guests.host, &plain.host, sizeof(plain.host));
		assert_memory_equal(&guests.user, &plain.user, sizeof(plain.user));
		assert_true(!(plain.xss & XST_MASK_GUEST_ONLY));
		assert_int_equal(xst_profile_check(&guests, &guests.host, XST_MASK_CET_S, NULL),
				 XST_ERR_GUEST_ONLY);
		with_cet += (guests.guest.max & XST_MASK_CET_S) != 0;
	}
	print_message("%u CPUs, %u of them with CET_S for guests\n", fleet->count, with_cet);
	assert_true(with_cet > 0 && with_cet < fleet->count);
}

static void guests_have_all_that_tasks_have(void **state)
{
	const uint64_t cet = XST_MASK_CET_U | XST_MASK_CET_S;
	unsigned n;

	(void)state;
	for (n = 0; n < fleet->count; n++) {
		const struct xst_profile *g = &guests.guest;

		if (!compute(n))
			continue;
		assert_true(!(guests.host.mask & ~g->mask) && !(guests.host.max & ~g->max));
		assert_true(!(g->mask & ~g->max) && g->max - g->mask == guests.dynamic);
		assert_true(!(g->max & ~(guests.xcr0 | guests.xss | guests.mask)));
		if (g->bytes < guests.layout.bytes || g->max_bytes < g->bytes)
			fail_msg("%s: mask 0x%llx, 0x%llx: %u, %u, a task %u", fleet->name[n],
				 (unsigned long long)g->mask, (unsigned long long)g->max, g->bytes,
				 g->max_bytes, guests.layout.bytes);
		/* CET_S is 24 bytes and CET_U 16 in a guest's image; nothing lies between. */
		if (guests.insn == XST_INSN_XSAVES && !guests.dynamic && !guests.apart &&
		    (g->max & cet) == cet)
			assert_int_equal(g->bytes, guests.layout.bytes + 40);
		/* By XSAVES or by software, or the CPU has no shadow stacks. */
		assert_int_equal(guests.guest_cet_s,
				 guests.caps.cet_ss && !(g->max & XST_MASK_CET_S));
		/* A dump that lacks sub-leaves has no place for what they are about. */
		if (!(guests.user.max & ~(xst_caps_placed(&guests.caps) | XST_MASK_LEGACY)))
			assert_true(guests.user.bytes >= 576 &&
				    guests.user.max_bytes >= guests.user.bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_pay_nothing),
		cmocka_unit_test(guests_have_all_that_tasks_have),
	};

	fleet = fleet_read();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every ordered pair of real CPUs: the verdict against a second, plain way of reaching it, and the
 * fact that makes it worth having, pairs whose XCR0 is equal while a component moves.
 */
#include "../unit/t.h"

#include <xst/compat.h>

#include "fleet.h"

/* The plain way: walk the bits of A and look at B. 0 ok, 1 convert, 2 refuse. */
static int plain(const struct xst_caps *a, const struct xst_caps *b)
{
	int verdict = a->xsave != b->xsave || a->fxsr != b->fxsr;
	unsigned i;

	for (i = 0; i < 63; i++) {
		uint64_t has = xst_caps_state(a) >> i & 1, can = xst_caps_state(b) >> i & 1;

		if (!has)
			continue;
		if (!can)
			return 2;
		if (i < 2)
			continue;
		if (a->comp[i].bytes != b->comp[i].bytes) {
			/* PKRU: four bytes in a box of 8 or 64. */
			if (i != 9)
				return 2;
			verdict = 1;
		} else if (a->comp[i].offset != b->comp[i].offset) {
			verdict = 1;
		}
	}
	return verdict;
}

static void every_pair(void **state)
{
	struct fleet *f = fleet_read();
	unsigned i, j, count[3] = {0}, moving = 0;
	struct xst_compat_report r;
	struct xst_diag d;

	(void)state;
	for (i = 0; i < f->count; i++)
		for (j = 0; j < f->count; j++) {
			const struct xst_caps *a = &f->caps[i], *b = &f->caps[j];
			int v = xst_compat_cpus(a, b, ~0ULL, &r, &d);

			assert_int_equal(v, (int)r.verdict);
			if (v != plain(a, b))
				fail_msg("%s to %s: %d, plainly %d", f->name[i], f->name[j], v,
					 plain(a, b));
			if (i == j)
				assert_int_equal(v, XST_VERDICT_OK);
			if (v)
				assert_true(d.rule[0] != '\0');
			assert_int_equal(r.same | r.moved | r.resized | r.size | r.missing,
					 xst_caps_state(a));
			count[v]++;
			moving += a->xsave && a->xcr0 == b->xcr0 && (r.moved & XST_MASK_USER);
		}
	print_message("%u pairs: %u ok, %u convert, %u refuse; equal XCR0 but moved: %u\n",
		      f->count * f->count, count[0], count[1], count[2], moving);
	assert_true(moving > 0);
	free(f);
}

/* Adding CPUs one by one gives what is common to all, in any order. */
static void baseline(void **state)
{
	struct fleet *f = fleet_read();
	unsigned n, i;

	(void)state;
	for (n = 1; n <= f->count; n += 7) {
		struct xst_baseline up, down;
		uint64_t common = ~0ULL;

		xst_baseline_begin(&up, &f->caps[0]);
		xst_baseline_begin(&down, &f->caps[n - 1]);
		for (i = 0; i < n; i++) {
			common &= xst_caps_state(&f->caps[i]);
			if (i)
				xst_baseline_add(&up, &f->caps[i]);
			if (i)
				xst_baseline_add(&down, &f->caps[n - 1 - i]);
		}
		assert_int_equal(up.xcr0, down.xcr0);
		assert_int_equal(up.xss, down.xss);
		assert_int_equal(up.moving, down.moving);
		assert_int_equal(up.mxcsr_mask, down.mxcsr_mask);
		assert_int_equal(up.xcr0 & ~common, 0);
		if (up.xsave)
			assert_int_equal(xst_xcr0_check(up.xcr0, common, NULL), XST_OK);
	}
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair),
		cmocka_unit_test(baseline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

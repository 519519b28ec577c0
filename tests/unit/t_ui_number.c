// SPDX-License-Identifier: BSD-2-Clause
/* Numbers in words: fixed cases, and that any range can be read back and told apart. */
#include "t.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/number.h"

static void is(double low, double high, unsigned digits, const char *want)
{
	char buf[NUMBER_TEXT];

	range_text(buf, low, high, " to ", digits);
	assert_string_equal(buf, want);
}

static void ends_can_be_told_apart(void **state)
{
	(void)state;
	is(0.01302, 0.01344, 2, "0.0130 to 0.0134");
	is(15, 260, 2, "15 to 260");
	is(15.2, 257.3, 2, "15 to 257");
	is(0.5, 260, 2, "0.50 to 260");
	is(1.3, 1.3, 2, "1.3");
	is(0.0053, 0.0996, 2, "0.0053 to 0.10");
	is(9.96, 99.6, 2, "10 to 100");
	is(1.300001, 1.300002, 2, "1.3");
	is(0, 2e-9, 2, "0 to 0.000000002");
	is(146, 165, 0, "146 to 165");
	is(146, 146.3, 0, "146.0 to 146.3");
	is(-0.001, 0.001, 0, "0");
	is(-3.25, -1.5, 2, "-3.2 to -1.5");
	is(1e18, 2e18, 2, "1e+18 to 2e+18");
	is(NAN, 1, 2, "? to 1.0");
}

static void any_range_can_be_read_back(void **state)
{
	(void)state;
	srand(7);
	for (int i = 0; i < 20000; i++) {
		const double low = exp((rand() % 3000 - 1500) / 100.0);
		const double high = low * (1 + exp(-(rand() % 1000) / 100.0));
		const unsigned digits = 2 + (unsigned)rand() % 2;
		char buf[NUMBER_TEXT], *end;
		double a, b;

		range_text(buf, low, high, "-", digits);
		a = strtod(buf, &end);
		b = *end == '-' ? strtod(end + 1, &end) : a;
		assert_true(!*end && !strchr(buf, 'e'));
		assert_true(fabs(a - low) <= 0.06 * low + 1e-9);
		assert_true(fabs(b - high) <= 0.06 * high + 1e-9);
		assert_true(a < b || high / low - 1 < 0.01 || high < 1e-7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_can_be_told_apart),
		cmocka_unit_test(any_range_can_be_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

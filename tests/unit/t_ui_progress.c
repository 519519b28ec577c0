// SPDX-License-Identifier: BSD-2-Clause
/* The progress bar's text: remaining time, narrow terminals, odd totals. */
#include "t.h"

#include <string.h>

#include "ui/progress.h"

static void formats(void **state)
{
	static const struct {
		int width;
		uint64_t done, total, ms;
		const char *want;
	} cases[] = {
		{ 80, 0, 10, 600, "boot [..............................] 0/10, --:-- left" },
		{ 80, 5, 10, 2000, "boot [###############...............] 5/10, 0:02 left" },
		{ 80, 10, 10, 2000, "boot [##############################] 10/10, 0:00 left" },
		{ 80, 12, 10, 2000, "boot [##############################] 10/10, 0:00 left" },
		{ 80, 1, 1000, 10000, "boot [..............................] 1/1000, 2:46:30 left" },
		{ 33, 5, 10, 2000, "boot [#####.....] 5/10, 0:02 left" },
		{ 20, 5, 10, 2000, "5/10, 0:02 left" },
		{ 80, 0, 0, 2000, "boot [..............................] 0/0, --:-- left" },
	};
	char line[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		progress_format(line, sizeof(line), cases[i].width, "boot", cases[i].done,
				cases[i].total, cases[i].ms);
		assert_string_equal(line, cases[i].want);
		if (cases[i].width > 20)
			assert_true(strlen(line) <= (size_t)cases[i].width);
	}
}

static void the_clock_does_not_go_back(void **state)
{
	uint64_t before = ui_now_ms();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t now = ui_now_ms();

		assert_true(now >= before);
		before = now;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats),
		cmocka_unit_test(the_clock_does_not_go_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-2-Clause
/* Tables: alignment, wrapping, widths in columns instead of bytes, no escapes from input. */
#include "t.h"

#include <stdlib.h>
#include <string.h>

#include "ui/table.h"
#include "ui/utf8.h"

static void expect_printed(struct table *t, const char *want)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	table_print(t, out);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
	table_free(t);
}

static void numbers_are_right_aligned(void **state)
{
	struct table *t = table_new();

	(void)state;
	table_column(t, "name", TABLE_LEFT);
	table_column(t, "bytes", TABLE_RIGHT);
	table_group(t, "first");
	table_cell(t, "x87");
	table_cell(t, "%d", 160);
	table_group(t, "second");
	table_cell(t, "\xc3\xa9t\xc3\xa9");
	table_cell(t, "%d", 1234567);
	expect_printed(t, "name    bytes\nfirst\nx87       160\n\nsecond\n"
			  "\xc3\xa9t\xc3\xa9   1234567\n");
}

static void long_lines_wrap_in_their_column(void **state)
{
	struct table *t = table_new();

	(void)state;
	table_column(t, "n", TABLE_RIGHT);
	table_column(t, "why", TABLE_WRAP);
	table_column(t, "z", TABLE_RIGHT);
	table_cell(t, "1");
	table_cell(t, "one two three four five six seven eight nine ten");
	table_cell(t, "9");
	setenv("COLUMNS", "40", 1);
	expect_printed(t, "n  why                                 z\n"
			  "1  one two three four five six seven   9\n"
			  "   eight nine ten\n");
	unsetenv("COLUMNS");
}

static void empty_cells_leave_no_trailing_blanks(void **state)
{
	struct table *t = table_new();

	(void)state;
	table_column(t, "a", TABLE_LEFT);
	table_column(t, "b", TABLE_LEFT);
	table_cell(t, "x");
	table_cell(t, "%s", "");
	expect_printed(t, "a  b\nx\n");
}

static void escapes_in_input_are_defused(void **state)
{
	struct table *t = table_new();

	(void)state;
	table_column(t, "a", TABLE_LEFT);
	table_cell(t, "\033[2J\xff");
	expect_printed(t, "a\n\xef\xbf\xbd[2J\xef\xbf\xbd\n");
}

static void styles_only_when_asked(void **state)
{
	struct table *t = table_new();

	(void)state;
	table_column(t, "a", TABLE_LEFT);
	table_cell_styled(t, UI_BAD, "no");
	ui.color = UI_COLOR_ALWAYS;
	expect_printed(t, "\033[1ma\033[0m\n\033[1;31mno\033[0m\n");
	ui.color = UI_COLOR_AUTO;
}

static void widths(void **state)
{
	(void)state;
	assert_int_equal(utf8_columns(""), 0);
	assert_int_equal(utf8_columns("abc"), 3);
	assert_int_equal(utf8_columns("e\xcc\x81"), 1);	    /* combining acute */
	assert_int_equal(utf8_columns("\xe6\xbc\xa2"), 2);  /* a Han character */
	assert_int_equal(utf8_columns("\xff\xfe"), 2);	    /* two broken bytes */
}

static void paragraphs(void **state)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	assert_non_null(out);
	setenv("COLUMNS", "40", 1);
	ui_paragraph(out, 2, "- the quick brown fox jumps over the lazy dog and then rests");
	unsetenv("COLUMNS");
	fclose(out);
	assert_string_equal(text, "- the quick brown fox jumps over the\n"
				  "  lazy dog and then rests\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_right_aligned),
		cmocka_unit_test(long_lines_wrap_in_their_column),
		cmocka_unit_test(empty_cells_leave_no_trailing_blanks),
		cmocka_unit_test(escapes_in_input_are_defused),
		cmocka_unit_test(styles_only_when_asked),
		cmocka_unit_test(widths),
		cmocka_unit_test(paragraphs),
	};

	unsetenv("COLUMNS");
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-2-Clause
/* Option parsing and values: what is taken, what is refused, and with which words. */
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ui/opt.h"
#include "ui/ui.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct opt options[] = {
	{ 1, 'n', "number", "N", "a number" },
	{ 2, 'x', "flag", NULL, "a flag\nsecond line" },
	{ 3, 0, "hidden", NULL, NULL },
	{ 0 },
};

static const struct opt_usage usage = {
	.cmd = "xstate test",
	.summary = "for testing",
	.synopsis = "[options]",
	.opts = options,
	.examples = "xstate test -n 1    once\n",
};

/* Runs the parser over a command line and writes down what it returned. */
static void trace(char *log, size_t size, const char *line)
{
	char copy[256], *argv[16], *save = NULL;
	struct opt_parser p;
	int argc = 0, id;
	size_t used = 0;

	memset(&ui, 0, sizeof(ui));
	snprintf(copy, sizeof(copy), "test %s", line);
	for (char *w = strtok_r(copy, " ", &save); w && argc < 15; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	opt_begin(&p, &usage, argc, argv);
	log[0] = '\0';
	do {
		id = opt_next(&p);
		used += (size_t)snprintf(log + used, size - used, "%s%d%s%s", used ? " " : "", id,
					 id >= 0 && p.arg ? ":" : "",
					 id >= 0 && p.arg ? p.arg : "");
	} while (id != OPT_END && id != OPT_STOP);
	if (id == OPT_STOP)
		snprintf(log + used, size - used, " exit %d", p.status);
}

/* What @line makes the parser print on stderr. */
static char *complaint(const char *line, char *log, size_t size)
{
	static char text[512];
	FILE *tmp = tmpfile();
	int saved;
	size_t n;

	assert_non_null(tmp);
	fflush(stderr);
	saved = dup(STDERR_FILENO);
	dup2(fileno(tmp), STDERR_FILENO);
	trace(log, size, line);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(tmp);
	n = fread(text, 1, sizeof(text) - 1, tmp);
	text[n] = '\0';
	fclose(tmp);
	return text;
}

static void command_lines(void **state)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "", "-1" },
		{ "a b", "0:a 0:b -1" },
		{ "-n 5 a", "1:5 0:a -1" },
		{ "a -n5", "0:a 1:5 -1" },
		{ "--number 5", "1:5 -1" },
		{ "--number=5 --flag", "1:5 2 -1" },
		{ "--number=", "1: -1" },
		{ "-xn5", "2 1:5 -1" },
		{ "-xx", "2 2 -1" },
		{ "-jxp", "2 -1" },
		{ "- -- -n --flag", "0:- 0:-n 0:--flag -1" },
		{ "--hidden", "3 -1" },
		{ "--color=never -q", "-1" },
	};
	char log[256];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		trace(log, sizeof(log), cases[i].line);
		assert_string_equal(log, cases[i].want);
	}
	trace(log, sizeof(log), "-jxp");
	assert_true(ui.json && ui.pretty && !ui.quiet);
	trace(log, sizeof(log), "-q --color always");
	assert_true(ui.quiet && !ui.json && ui.color == UI_COLOR_ALWAYS);
}

static void complaints(void **state)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "--foo", "unknown option '--foo'; try 'xstate test --help'" },
		{ "--foo=1", "unknown option '--foo'; try 'xstate test --help'" },
		{ "-z", "unknown option '-z'; try 'xstate test --help'" },
		{ "-xz", "unknown option '-z'; try 'xstate test --help'" },
		{ "--num 5", "unknown option '--num'; try 'xstate test --help'" },
		{ "-n", "an argument is missing after '-n'; try 'xstate test --help'" },
		{ "--flag=1", "no argument belongs to '--flag'; try 'xstate test --help'" },
		{ "--color=blue", "--color wants auto, always or never, not 'blue'" },
	};
	char log[256], want[256];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char *text = complaint(cases[i].line, log, sizeof(log));

		snprintf(want, sizeof(want), "xstate test: %s\n", cases[i].want);
		assert_string_equal(text, want);
		assert_non_null(strstr(log, "-2 exit 2"));
	}
}

static void numbers(void **state)
{
	static const struct {
		const char *s;
		bool ok;
		uint64_t want;
	} cases[] = {
		{ "0", true, 0 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "0x7857a7e", true, 0x7857a7e },
		{ "0XFF", true, 255 },
		{ "010", true, 10 },
		{ "", false, 0 },
		{ "0x", false, 0 },
		{ "-1", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "12x", false, 0 },
		{ "ff", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t v = 77;

		assert_int_equal(opt_u64(cases[i].s, &v), cases[i].ok);
		assert_int_equal(v, cases[i].ok ? cases[i].want : 77);
	}
}

static void sizes_and_durations(void **state)
{
	static const struct {
		const char *s;
		bool (*parse)(const char *s, uint64_t *v);
		bool ok;
		uint64_t want;
	} cases[] = {
		{ "4096", opt_bytes, true, 4096 },
		{ "4k", opt_bytes, true, 4096 },
		{ "4KiB", opt_bytes, true, 4096 },
		{ "2M", opt_bytes, true, 2097152 },
		{ "0x10k", opt_bytes, true, 16384 },
		{ "1G", opt_bytes, true, 1073741824 },
		{ "17179869184G", opt_bytes, false, 0 },
		{ "4 k", opt_bytes, false, 0 },
		{ "k", opt_bytes, false, 0 },
		{ "1.5M", opt_bytes, false, 0 },
		{ "3", opt_ms, true, 3000 },
		{ "3s", opt_ms, true, 3000 },
		{ "1.5s", opt_ms, true, 1500 },
		{ "500ms", opt_ms, true, 500 },
		{ "2min", opt_ms, true, 120000 },
		{ "5m", opt_ms, true, 300000 },
		{ "1h", opt_ms, true, 3600000 },
		{ "1d", opt_ms, false, 0 },
		{ "-3", opt_ms, false, 0 },
		{ "inf", opt_ms, false, 0 },
		{ "0x3", opt_ms, false, 0 },
		{ "1e300", opt_ms, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t v = 77;

		assert_int_equal(cases[i].parse(cases[i].s, &v), cases[i].ok);
		assert_int_equal(v, cases[i].ok ? cases[i].want : 77);
	}
}

static void decimals(void **state)
{
	double v = 7;

	(void)state;
	assert_true(opt_f64("0.2%", &v) && v > 0.00199 && v < 0.00201);
	assert_true(opt_f64("-1.5", &v) && v < -1.4 && v > -1.6);
	v = 7;
	assert_false(opt_f64("nan", &v) || opt_f64("", &v) || opt_f64("--1", &v) ||
		     opt_f64("1%%", &v) || opt_f64("1e999", &v));
	assert_true(v > 6.9 && v < 7.1);
}

static void lists(void **state)
{
	static const struct {
		const char *list, *want;
		bool whole;
	} cases[] = {
		{ "a", "a|", true },	{ "a,bc,d", "a|bc|d|", true }, { "", "", false },
		{ "a,", "a|", false },	{ ",a", "", false },	       { "a,,b", "a|", false },
		{ "a,toolong", "a|", false },
	};
	char item[6], got[64];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *cursor = cases[i].list;

		got[0] = '\0';
		while (opt_item(&cursor, item, sizeof(item))) {
			strcat(got, item);
			strcat(got, "|");
		}
		assert_string_equal(got, cases[i].want);
		assert_int_equal(cursor == NULL, cases[i].whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(command_lines), cmocka_unit_test(complaints),
		cmocka_unit_test(numbers),	 cmocka_unit_test(sizes_and_durations),
		cmocka_unit_test(decimals),	 cmocka_unit_test(lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

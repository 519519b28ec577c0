// SPDX-License-Identifier: BSD-2-Clause
/* The JSON writer: exact masks, repaired text, no way to emit something malformed. */
#include "t.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ui/json.h"

static char *text;
static size_t length;
static FILE *out;
static struct jw w;

static int setup(void **state)
{
	(void)state;
	out = open_memstream(&text, &length);
	assert_non_null(out);
	jw_begin(&w, out, false);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fclose(out);
	free(text);
	return 0;
}

static void expect(const char *want)
{
	fflush(out);
	assert_string_equal(text, want);
}

static void every_kind_of_value(void **state)
{
	(void)state;
	jw_object(&w, NULL);
	jw_string(&w, "s", "x");
	jw_string(&w, "none", NULL);
	jw_u64(&w, "u", UINT64_MAX);
	jw_i64(&w, "i", INT64_MIN);
	jw_mask(&w, "m", 0xe000000000000001);
	jw_mask(&w, "zero", 0);
	jw_bool(&w, "b", true);
	jw_array(&w, "a");
	jw_u64(&w, NULL, 1);
	jw_object(&w, NULL);
	jw_end(&w);
	jw_array(&w, NULL);
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	jw_finish(&w);
	expect("{\"s\":\"x\",\"none\":null,\"u\":18446744073709551615,"
	       "\"i\":-9223372036854775808,\"m\":\"0xe000000000000001\",\"zero\":\"0x0\","
	       "\"b\":true,\"a\":[1,{},[]]}\n");
}

static void numbers_read_back(void **state)
{
	static const struct {
		double v;
		const char *want;
	} cases[] = {
		{ 0.1, "0.1" },	    { 1e300, "1e+300" }, { 1.0 / 3, "0.3333333333333333" },
		{ -2.5, "-2.5" },   { NAN, "null" },	 { INFINITY, "null" },
		{ 5e-324, "4.94066e-324" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rewind(out);
		jw_begin(&w, out, false);
		jw_f64(&w, NULL, cases[i].v);
		jw_finish(&w);
		fflush(out);
		assert_memory_equal(text, cases[i].want, strlen(cases[i].want));
		assert_int_equal(text[strlen(cases[i].want)], '\n');
	}
}

static void text_is_repaired(void **state)
{
	(void)state;
	jw_string(&w, NULL, "q\" b\\ n\n t\t e\033 d\177 \xc3\xa9 bad\xff\xc3 cut\xe2\x82");
	expect("\"q\\\" b\\\\ n\\n t\\t e\\u001b d\\u007f \xc3\xa9 bad\xef\xbf\xbd\xef\xbf\xbd "
	       "cut\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void surrogates_and_overlongs_are_not_text(void **state)
{
	(void)state;
	jw_string(&w, NULL, "\xed\xa0\x80|\xc0\xaf|\xf4\x90\x80\x80|\xf0\x9f\x98\x80");
	expect("\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|"
	       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xf0\x9f\x98\x80\"");
}

static void pretty_indents(void **state)
{
	(void)state;
	jw_begin(&w, out, true);
	jw_object(&w, NULL);
	jw_array(&w, "a");
	jw_u64(&w, NULL, 1);
	jw_u64(&w, NULL, 2);
	jw_end(&w);
	jw_object(&w, "o");
	jw_end(&w);
	jw_end(&w);
	jw_finish(&w);
	expect("{\n  \"a\": [\n    1,\n    2\n  ],\n  \"o\": {}\n}\n");
}

static void several_documents(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 2; i++) {
		jw_object(&w, NULL);
		jw_u64(&w, "n", i);
		jw_end(&w);
		jw_finish(&w);
	}
	expect("{\"n\":1}\n{\"n\":2}\n");
}

/* Each misuse must abort before a byte of a malformed document leaves. */
static void misuse(int kind)
{
	struct jw bad;
	FILE *null = fopen("/dev/null", "w");

	jw_begin(&bad, null, false);
	switch (kind) {
	case 0:
		jw_u64(&bad, "key", 1);
		break;
	case 1:
		jw_object(&bad, NULL);
		jw_u64(&bad, NULL, 1);
		break;
	case 2:
		jw_end(&bad);
		break;
	case 3:
		jw_array(&bad, NULL);
		jw_finish(&bad);
		break;
	case 4:
		jw_u64(&bad, NULL, 1);
		jw_u64(&bad, NULL, 2);
		break;
	case 5:
		jw_finish(&bad);
		break;
	case 6:
		for (int i = 0; i <= JW_DEPTH_MAX; i++)
			jw_array(&bad, NULL);
		break;
	default:
		break;
	}
}

static void misuse_aborts(void **state)
{
	(void)state;
	for (int kind = 0; kind <= 7; kind++) {
		int status;
		pid_t child;

		fflush(NULL);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			signal(SIGABRT, SIG_DFL);
			if (!freopen("/dev/null", "w", stderr))
				_exit(9);
			misuse(kind);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		if (kind < 7)
			assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		else
			assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_kind_of_value, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers_read_back, setup, teardown),
		cmocka_unit_test_setup_teardown(text_is_repaired, setup, teardown),
		cmocka_unit_test_setup_teardown(surrogates_and_overlongs_are_not_text, setup,
						teardown),
		cmocka_unit_test_setup_teardown(pretty_indents, setup, teardown),
		cmocka_unit_test_setup_teardown(several_documents, setup, teardown),
		cmocka_unit_test(misuse_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

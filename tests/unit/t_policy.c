// SPDX-License-Identifier: BSD-2-Clause
/* Policies as data: names, fields, what is refused. */
#include <string.h>

#include <xst/policy.h>

#include "t.h"

static void names(void **state)
{
	static const char *const want[] = {"eager", "eager-keep", "lazy", "lazy-preload", "lazy-keep",
					   "deferred", "laziest", "auto"};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct xst_policy *p = xst_policy_by_name(want[i]);

		assert_non_null(p);
		assert_string_equal(p->name, want[i]);
		assert_int_equal(xst_policy_check(p, NULL), XST_OK);
	}
	assert_null(xst_policy_at(XST_POLICY_COUNT));
	assert_null(xst_policy_by_name("eage"));
	assert_null(xst_policy_by_name("eagerly"));
	assert_null(xst_policy_by_name(""));
	for (i = 0; i < XST_POLICY_COUNT; i++)
		assert_ptr_equal(xst_policy_by_name(xst_policy_at(i)->name), xst_policy_at(i));
}

static void leaky_is_first_use(void **state)
{
	(void)state;
	assert_false(xst_policy_leaky(xst_policy_by_name("eager")));
	assert_false(xst_policy_leaky(xst_policy_by_name("eager-keep")));
	assert_false(xst_policy_leaky(xst_policy_by_name("deferred")));
	assert_false(xst_policy_leaky(xst_policy_by_name("auto")));
	assert_true(xst_policy_leaky(xst_policy_by_name("laziest")));
	assert_true(xst_policy_leaky(xst_policy_by_name("lazy")));
	assert_true(xst_policy_leaky(xst_policy_by_name("lazy-preload")));
	assert_true(xst_policy_leaky(xst_policy_by_name("lazy-keep")));
}

static void fields(void **state)
{
	struct xst_policy p;

	(void)state;
	assert_int_equal(xst_policy_parse("load=use,keep,preload=5", &p, NULL), XST_OK);
	assert_int_equal(p.load, XST_LOAD_FIRST_USE);
	assert_int_equal(p.save, XST_SAVE_SWITCH_OUT);
	assert_true(p.keep_owner);
	assert_int_equal(p.preload_after, 5);
	assert_false(p.skip_init);
	assert_string_equal(p.name, "load=use,keep,preload=5");

	assert_int_equal(xst_policy_parse("skip-init,keep,load=return,save=out", &p, NULL), XST_OK);
	assert_int_equal(p.load, XST_LOAD_RETURN);
	assert_true(p.skip_init);

	assert_int_equal(xst_policy_parse("load=use,preload=255", &p, NULL), XST_OK);
	assert_int_equal(p.preload_after, 255);
	assert_int_equal(xst_policy_parse("keep,save=displaced", &p, NULL), XST_OK);
	assert_int_equal(p.save, XST_SAVE_DISPLACED);
}

static void refused(void **state)
{
	static const struct {
		const char *text;
		uint32_t at; /* where reading stopped */
	} bad[] = {
		{"", 0},          {"keep,", 5},           {",keep", 0},         {"keeper", 0},
		{"load=", 0},     {"load=user", 0},       {"load=use,preload=256", 9},
		{"preload=", 0},  {"load=use,preload=5x", 9}, {"preload=-1", 0}, {"Eager", 0},
		{"load=use keep", 0}, {"save=out,,keep", 9},
	};
	/* Read well, but the fields do not go together. */
	static const char *const senseless[] = {"preload=5", "load=return,preload=1",
						"save=displaced", "save=displaced,load=use"};
	struct xst_policy p, before;
	struct xst_diag d;
	unsigned i;

	(void)state;
	memset(&p, 0x5a, sizeof(p));
	before = p;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(xst_policy_parse(bad[i].text, &p, &d), XST_ERR_INVALID);
		assert_int_equal(d.offset, bad[i].at);
		assert_memory_equal(&p, &before, sizeof(p));
	}
	for (i = 0; i < sizeof(senseless) / sizeof(senseless[0]); i++) {
		d.rule = NULL;
		assert_int_equal(xst_policy_parse(senseless[i], &p, &d), XST_ERR_INVALID);
		assert_non_null(d.rule);
		assert_memory_equal(&p, &before, sizeof(p));
	}
}

static void impossible_points(void **state)
{
	struct xst_policy p = *xst_policy_by_name("eager");

	(void)state;
	p.load = (enum xst_load)7;
	assert_int_equal(xst_policy_check(&p, NULL), XST_ERR_INVALID);
	p = *xst_policy_by_name("eager");
	p.save = (enum xst_save)2;
	assert_int_equal(xst_policy_check(&p, NULL), XST_ERR_INVALID);
}

static void lists(void **state)
{
	static const struct {
		const char *list, *items[5];
	} cases[] = {
		{"eager", {"eager"}},
		{"eager,lazy", {"eager", "lazy"}},
		{"load=use,keep,preload=5", {"load=use,keep,preload=5"}},
		{"eager,load=use,keep,lazy", {"eager", "load=use,keep", "lazy"}},
		{"keep;load=use;auto,keep", {"keep", "load=use", "auto", "keep"}},
		{"keep,skip-init;keep", {"keep,skip-init", "keep"}},
		{"eagerly,eager", {"eagerly", "eager"}},
		{"eager,", {"eager", ""}},
		{"", {""}},
	};
	unsigned i, k;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *at = cases[i].list;

		for (k = 0; at; k++) {
			const char *item = at;
			size_t length;

			at = xst_policy_item(at, &length);
			assert_non_null(cases[i].items[k]);
			assert_int_equal(length, strlen(cases[i].items[k]));
			assert_memory_equal(item, cases[i].items[k], length);
		}
		assert_null(cases[i].items[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(names),
		cmocka_unit_test(leaky_is_first_use),
		cmocka_unit_test(fields),
		cmocka_unit_test(refused),
		cmocka_unit_test(impossible_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

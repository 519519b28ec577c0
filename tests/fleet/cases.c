// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table id -> test for the cases about CPUs and layouts, and a check that none is forgotten:
 * where the list of cases is at hand, every id of these areas must be here or be about images.
 */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared.h"

static const struct CMUnitTest cases[] = {
#define X(id) { #id, id, NULL, NULL, NULL },
	CASE_LIST
#undef X
};

/* These ask what is in an image, not what a CPU has: tested where images are. */
static const char *const about_images[] = {
	"GDB-07", "MIG-08", "MIG-13", "MIG-16", "MIG-17",
};

static bool is_here(const char *id)
{
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strncmp(cases[i].name, id, 3) && !strcmp(cases[i].name + 4, id + 4))
			return true;
	for (i = 0; i < sizeof(about_images) / sizeof(about_images[0]); i++)
		if (!strcmp(about_images[i], id))
			return true;
	return false;
}

static void no_case_is_forgotten(void **state)
{
	static const char *const areas[] = { "ENU-", "LAY-", "CMP-", "GDB-", "MIG-" };
	char path[512], line[4096], *field[5];
	int found = 0;
	FILE *f;

	(void)state;
	if (!shared_path("cases/cases.tsv", path, sizeof(path))) {
		print_message("no list of cases here\n");
		return;
	}
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		split_tabs(line, field, 5);
		for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++) {
			if (strncmp(field[0], areas[i], 4))
				continue;
			found++;
			if (!is_here(field[0]))
				fail_msg("%s has no test", field[0]);
		}
	}
	fclose(f);
	assert_true(found > 0);
}

static uint32_t parse_number(const char **s)
{
	char *end;
	unsigned long v = strtoul(*s, &end, 0);

	*s = end;
	return (uint32_t)v;
}

/* The sums that an honest CPU shows. */
static void sums(const struct cpu_spec *spec, struct xst_cpuid_leaf *l, size_t n)
{
	struct xst_caps caps;

	xst_caps_from_leaves(l, n, NULL, &caps, NULL);
	l[2].ebx = spec->d0_ebx ? spec->d0_ebx : size_of(&caps, caps.xcr0, XST_STANDARD);
	l[2].ecx = spec->d0_ecx ? spec->d0_ecx : size_of(&caps, caps.xcr0, XST_STANDARD);
	l[3].ebx = spec->d1_ebx ? spec->d1_ebx : size_of(&caps, caps.xcr0 | caps.xss, XST_COMPACTED);
}

size_t make_leaves(const struct cpu_spec *spec, struct xst_cpuid_leaf l[72])
{
	const char *s = spec->components;
	size_t n = 4;

	memset(l, 0, 72 * sizeof(*l));
	l[0] = (struct xst_cpuid_leaf){ 0, 0, spec->max_leaf ? spec->max_leaf : 0xd, 0x756e6547,
					0x6c65746e, 0x49656e69 };
	l[1] = (struct xst_cpuid_leaf){ 1, 0, 0x50654, 0, spec->no_xsave ? 0 : 1u << 26,
					1u | 1u << 24 | 3u << 25 };
	l[2] = (struct xst_cpuid_leaf){ 0xd, 0, (uint32_t)spec->xcr0, spec->d0_ebx, spec->d0_ecx,
					(uint32_t)(spec->xcr0 >> 32) };
	l[3] = (struct xst_cpuid_leaf){ 0xd, 1, spec->d1_eax, spec->d1_ebx, (uint32_t)spec->xss,
					(uint32_t)(spec->xss >> 32) };
	while (*s) {
		struct xst_cpuid_leaf *c = &l[n++];

		c->leaf = 0xd;
		while (*s == ' ')
			s++;
		c->subleaf = parse_number(&s);
		assert_int_equal(*s++, ':');
		c->eax = parse_number(&s);
		if (*s == '@') {
			s++;
			c->ebx = parse_number(&s);
		}
		for (; *s && *s != ' '; s++)
			c->ecx |= *s == 's' ? 1u : *s == 'a' ? 2u : 4u;
	}
	if (!spec->raw_sums)
		sums(spec, l, n);
	return n;
}

void make_cpu(const struct cpu_spec *spec, struct xst_caps *caps)
{
	struct xst_cpuid_leaf l[72];
	size_t n = make_leaves(spec, l);

	assert_int_equal(xst_caps_from_leaves(l, n, NULL, caps, NULL), XST_OK);
}

uint32_t size_of(const struct xst_caps *caps, uint64_t mask, enum xst_format format)
{
	struct xst_layout l;

	return xst_layout_compute(caps, mask, format, &l, NULL) ? 0 : l.bytes;
}

int main(void)
{
	const struct CMUnitTest meta[] = { cmocka_unit_test(no_case_is_forgotten) };
	int failed = cmocka_run_group_tests(cases, NULL, NULL);

	return cmocka_run_group_tests(meta, NULL, NULL) + failed;
}

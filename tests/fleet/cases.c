// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table id -> test for the cases about CPUs and layouts (tests/cases.tsv points here), and the
 * CPUs they speak of.
 */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#define CASE_LIST                                                                                  \
	X("ENU-01", ENU_01) X("ENU-04", ENU_04) X("ENU-05", ENU_05) X("ENU-06", ENU_06)            \
	X("ENU-07", ENU_07) X("ENU-08", ENU_08) X("ENU-10", ENU_10) X("ENU-15", ENU_15)            \
	X("ENU-16", ENU_16) X("ENU-17", ENU_17) X("ENU-18", ENU_18) X("ENU-19", ENU_19)            \
	X("ENU-22", ENU_22) X("ENU-24", ENU_24) X("ENU-25", ENU_25) X("ENU-26", ENU_26)            \
	X("ENU-27", ENU_27) X("ENU-28", ENU_28) X("LAY-01", LAY_01) X("LAY-03", LAY_03)            \
	X("LAY-06", LAY_06) X("LAY-07", LAY_07) X("LAY-08", LAY_08) X("LAY-09", LAY_09)            \
	X("LAY-12", LAY_12) X("LAY-14", LAY_14) X("LAY-15", LAY_15) X("LAY-16", LAY_16)            \
	X("CMP-01", CMP_01) X("CMP-02", CMP_02) X("CMP-03", CMP_03) X("CMP-04", CMP_04)            \
	X("CMP-05", CMP_05) X("CMP-06", CMP_06) X("CMP-07", CMP_07) X("CMP-10", CMP_10)            \
	X("CMP-12", CMP_12) X("CMP-14", CMP_14) X("CMP-15", CMP_15) X("CMP-16", CMP_16)            \
	X("CMP-17", CMP_17) X("CMP-18", CMP_18) X("GDB-01", GDB_01) X("GDB-02", GDB_02)            \
	X("GDB-04", GDB_04) X("GDB-06", GDB_06) X("MIG-02", MIG_02) X("MIG-03", MIG_03)            \
	X("MIG-04", MIG_04) X("MIG-05", MIG_05) X("MIG-06", MIG_06) X("MIG-07", MIG_07)            \
	X("MIG-09", MIG_09) X("MIG-12", MIG_12) X("MIG-15", MIG_15)

#define X(name, id) void id(void **state);
CASE_LIST
#undef X

static const struct CMUnitTest cases[] = {
#define X(name, id) { name, id, NULL, NULL, NULL },
	CASE_LIST
#undef X
};

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
	l[3].ebx =
		spec->d1_ebx ? spec->d1_ebx : size_of(&caps, caps.xcr0 | caps.xss, XST_COMPACTED);
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
	return cmocka_run_group_tests(cases, NULL, NULL);
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Real CPUs: every dump of the collection is read, and every column of expected.tsv (which another
 * program computed) is compared with what the library says.
 */
#include "../unit/t.h"

#include <xst/layout.h>

#include "read/cpu.h"
#include "../shared.h"

enum {
	FILE_, MAX_LEAF, XSAVE, FXSR, XSAVEOPT, XSAVEC, XGETBV1, XSAVES, XFD, USER, SUPER, STD_SIZE,
	D0_ECX, COMP_USER, COMP_ALL, STD_OFFSETS, COMP_OFFSETS, ALL_OFFSETS, ALIGNED, MISSING,
	COLUMNS,
};

static const char *const names[COLUMNS] = {
	"file", "max_leaf", "xsave", "fxsr", "xsaveopt", "xsavec", "xgetbv1", "xsaves", "xfd",
	"user_mask", "sup_mask", "std_size_user", "d0_ecx", "comp_size_user",
	"comp_size_user_sup", "std_offsets_user", "comp_offsets_user", "comp_offsets_user_sup",
	"aligned_comps", "missing_comps",
};

static char ours[COLUMNS][1024];

static void list(char *out, uint64_t mask)
{
	size_t n = 0;

	strcpy(out, "-");
	for (; mask; mask &= mask - 1)
		n += (size_t)snprintf(out + n, 1024 - n, "%s%d", n ? "," : "",
				      __builtin_ctzll(mask));
}

/* "2:576+256,9:832+8" and the size, or "-" for both. */
static void layout(const struct xst_caps *caps, uint64_t mask, enum xst_format format, char *size,
		   char *offsets)
{
	struct xst_layout l;
	size_t n = 0;

	strcpy(size, "-");
	strcpy(offsets, "-");
	if (xst_layout_compute(caps, mask, format, &l, NULL))
		return;
	sprintf(size, "%u", l.bytes);
	for (mask &= ~XST_MASK_LEGACY; mask; mask &= mask - 1) {
		int i = __builtin_ctzll(mask);

		n += (size_t)snprintf(offsets + n, 1024 - n, "%s%d:%u+%u", n ? "," : "", i,
				      l.offset[i], l.size[i]);
	}
}

static void flag(int column, bool exists, bool set)
{
	strcpy(ours[column], !exists ? "-" : set ? "1" : "0");
}

static void compute(const struct xst_caps *c)
{
	uint64_t placed = xst_caps_placed(c), aligned = 0, rest;

	sprintf(ours[MAX_LEAF], "0x%x", c->max_leaf);
	flag(XSAVE, true, c->xsave);
	flag(FXSR, true, c->fxsr);
	flag(XSAVEOPT, c->xsave, c->xsaveopt);
	flag(XSAVEC, c->xsave, c->xsavec);
	flag(XGETBV1, c->xsave, c->xgetbv1);
	flag(XSAVES, c->xsave, c->xsaves);
	flag(XFD, c->xsave, c->xfd);
	for (int i = USER; i < COLUMNS; i++)
		strcpy(ours[i], "-");
	if (!c->xsave)
		return;
	sprintf(ours[USER], "0x%llx", (unsigned long long)c->xcr0);
	sprintf(ours[SUPER], "0x%llx", (unsigned long long)c->xss);
	sprintf(ours[D0_ECX], "%u", c->d0_ecx);
	layout(c, placed & c->xcr0, XST_STANDARD, ours[STD_SIZE], ours[STD_OFFSETS]);
	layout(c, placed & c->xcr0, XST_COMPACTED, ours[COMP_USER], ours[COMP_OFFSETS]);
	layout(c, placed, XST_COMPACTED, ours[COMP_ALL], ours[ALL_OFFSETS]);
	for (rest = placed; rest; rest &= rest - 1)
		if (c->comp[__builtin_ctzll(rest)].align64)
			aligned |= rest & -rest;
	list(ours[ALIGNED], aligned);
	list(ours[MISSING], xst_caveat_components(c, XST_CAVEAT_EMPTY_SUBLEAF));
}

static int check_row(char **field)
{
	char path[512], err[256];
	struct cpu_source src;
	char name[256];
	int bad = 0;

	snprintf(name, sizeof(name), "cpuid/dumps/%s", field[FILE_]);
	if (!shared_path(name, path, sizeof(path))) {
		print_error("%s is in expected.tsv but not in dumps/\n", name);
		return 1;
	}
	if (read_cpu(path, &src, err, sizeof(err))) {
		print_error("%s\n", err);
		return 1;
	}
	compute(&src.caps);
	for (int i = MAX_LEAF; i < COLUMNS; i++)
		if (strcmp(ours[i], field[i])) {
			print_error("%s: %s: expected %s, computed %s\n", field[FILE_], names[i],
				    field[i], ours[i]);
			bad++;
		}
	read_cpu_free(&src);
	return bad;
}

static void every_row_and_column(void **state)
{
	char path[512], line[4096], *field[COLUMNS + 1];
	FILE *f;
	int rows = 0, bad = 0;

	(void)state;
	if (!shared_path("cpuid/expected.tsv", path, sizeof(path)))
		exit(77);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_int_equal(split_tabs(line, field, COLUMNS + 1), COLUMNS);
	for (int i = 0; i < COLUMNS; i++)
		assert_string_equal(field[i], names[i]);
	while (fgets(line, sizeof(line), f)) {
		assert_int_equal(split_tabs(line, field, COLUMNS + 1), COLUMNS);
		bad += check_row(field);
		rows++;
	}
	fclose(f);
	print_message("%d dumps, %d columns each, %d differences\n", rows, COLUMNS - 1, bad);
	assert_true(rows >= 10);
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_row_and_column) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

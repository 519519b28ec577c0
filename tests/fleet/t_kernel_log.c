// SPDX-License-Identifier: BSD-2-Clause
/*
 * What real Linux kernels printed at boot: an independent check of sizes and offsets. A kernel
 * enables a subset, so the layout is computed for the mask it printed, on every CPU of the
 * collection that it may have been (vendor, then family, where the line says so).
 */
#include "../unit/t.h"

#include <xst/layout.h>

#include "fleet.h"

enum { ID, CPU, FMS, KERNEL, FEATURES, SIZE, FORMAT, OFFSETS, COLUMNS = 11 };

static bool offsets_agree(const struct xst_layout *l, const char *s)
{
	unsigned id, offset, bytes;
	int n;

	if (!strcmp(s, "-"))
		return true;
	while (sscanf(s, "%u:%u:%u%n", &id, &offset, &bytes, &n) == 3) {
		if (id > 62 || l->offset[id] != offset || l->size[id] != bytes)
			return false;
		s += n;
		if (*s == ',')
			s++;
	}
	return !*s;
}

/* May the line be about this CPU? */
static bool may_be(const struct xst_caps *c, char **field, bool by_family)
{
	bool amd = strstr(field[CPU], "AMD") != NULL, intel = strstr(field[CPU], "Intel") != NULL ||
							      strstr(field[CPU], "Gen ") != NULL;
	unsigned family;

	if (amd && strcmp(c->vendor, "AuthenticAMD"))
		return false;
	if (intel && strcmp(c->vendor, "GenuineIntel"))
		return false;
	return !by_family || sscanf(field[FMS], "0x%x", &family) != 1 || family == c->family;
}

static void check_line(const struct fleet *f, char **field)
{
	uint64_t mask = strtoull(field[FEATURES], NULL, 16);
	uint32_t want = (uint32_t)strtoul(field[SIZE], NULL, 10);
	bool compacted = !strcmp(field[FORMAT], "compacted"), known = field[FMS][0] != '-';
	unsigned i, tried = 0, agree = 0;

	assert_true(compacted || !strcmp(field[FORMAT], "standard"));
	for (i = 0; i < f->count; i++) {
		const struct xst_caps *c = &f->caps[i];
		struct xst_layout l;

		if (mask & ~xst_caps_placed(c) || !may_be(c, field, known))
			continue;
		if (xst_layout_compute(c, mask, compacted ? XST_COMPACTED : XST_STANDARD, &l, NULL))
			continue;
		tried++;
		if (l.bytes == want && offsets_agree(&l, field[OFFSETS]))
			agree++;
		else if (known)
			print_error("%s: on %s: %u bytes, the kernel said %u\n", field[ID],
				    f->name[i], l.bytes, want);
	}
	if (!tried) {
		print_message("%s: no CPU of the collection has %s\n", field[ID], field[FEATURES]);
		return;
	}
	/* A known CPU leaves no choice; of an unknown one, the standard one is one of several. */
	if (known || compacted)
		assert_int_equal(agree, tried);
	else
		assert_true(agree > 0);
}

static void every_line(void **state)
{
	char path[512], line[4096], *field[COLUMNS];
	struct fleet *f = fleet_read();
	unsigned lines = 0;
	FILE *in;

	(void)state;
	if (!shared_path("cpuid/kernel-log.tsv", path, sizeof(path)))
		exit(77);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_non_null(fgets(line, sizeof(line), in));
	while (fgets(line, sizeof(line), in)) {
		assert_int_equal(split_tabs(line, field, COLUMNS), COLUMNS);
		check_line(f, field);
		lines++;
	}
	fclose(in);
	free(f);
	print_message("%u lines\n", lines);
	assert_true(lines >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_line) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

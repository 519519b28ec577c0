// SPDX-License-Identifier: BSD-2-Clause
/*
 * libcpuid's own raw format:
 *
 *     version=0.5.0
 *     basic_cpuid[13]=00000007 00000340 00000340 00000000
 *     ext_cpuid[1]=00000000 00000000 00000001 28100800
 *     intel_fn4[0]=...
 *
 * It keeps sub-leaf 0 of leaf 0DH and no other, so most components have no size: a caveat, and
 * nothing is made up.
 */
#include <string.h>

#include "read/cpu_parse.h"

/* Arrays of the format: base leaf, and whether the index is a leaf or a sub-leaf. */
static const struct array {
	const char *name;
	uint32_t leaf;
	bool subleaf;
} arrays[] = {
	{ "basic_cpuid[", 0, false },
	{ "ext_cpuid[", 0x80000000u, false },
	{ "intel_fn4[", 4, true },
	{ "intel_fn11[", 0xb, true },
	{ "intel_fn12h[", 0x12, true },
	{ "intel_fn14h[", 0x14, true },
	{ "amd_fn8000001dh[", 0x8000001du, true },
	{ "amd_fn80000026h[", 0x80000026u, true },
};

static const struct array *take_array(struct cpu_line *line)
{
	size_t i;

	for (i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		if (cpu_take(line, arrays[i].name))
			return &arrays[i];
	return NULL;
}

bool cpu_is_libcpuid(struct cpu_line line)
{
	return take_array(&line) != NULL;
}

/* The index is decimal. */
static bool take_index(struct cpu_line *line, uint32_t *v)
{
	const char *from = line->p;

	*v = 0;
	for (; line->p < line->end && *line->p >= '0' && *line->p <= '9' && line->p - from < 5;
	     line->p++)
		*v = *v * 10 + (uint32_t)(*line->p - '0');
	return line->p != from;
}

static bool take_registers(struct cpu_line *line, struct xst_cpuid_leaf *l)
{
	return cpu_take(line, "]=") && cpu_take_hex(line, 8, &l->eax) && cpu_take(line, " ") &&
	       cpu_take_hex(line, 8, &l->ebx) && cpu_take(line, " ") &&
	       cpu_take_hex(line, 8, &l->ecx) && cpu_take(line, " ") &&
	       cpu_take_hex(line, 8, &l->edx) && line->p == line->end;
}

int cpu_parse_libcpuid(struct cpu_collector *c, const char *text, size_t len)
{
	struct cpu_line line = {0};
	struct xst_cpuid_leaf l;
	const struct array *a;
	uint32_t index;

	while (cpu_line_next(&text, &len, &line)) {
		cpu_skip_blanks(&line);
		if (cpu_take(&line, "==")) {
			for (; line.p < line.end; line.p++)
				if (cpu_take(&line, "ogical CPU #")) {
					if (cpu_next(c))
						return -1;
					break;
				}
			continue;
		}
		a = take_array(&line);
		if (!a)
			continue;
		if (!take_index(&line, &index) || !take_registers(&line, &l))
			return cpu_fail(c, "line %u is not a whole leaf of libcpuid's raw format: "
					   "the dump is damaged or cut short", line.number);
		l.leaf = a->subleaf ? a->leaf : a->leaf + index;
		l.subleaf = a->subleaf ? index : 0;
		/* The arrays have a fixed length; what is beyond the CPU's maximum is zeros. */
		if (!(l.eax | l.ebx | l.ecx | l.edx) && l.leaf != 0)
			continue;
		if (cpu_add(c, &l))
			return -1;
	}
	return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * The raw text of the cpuid(1) program:
 *
 *     CPU 0:
 *        0x0000000d 0x00: eax=0x000602e7 ebx=0x00002b00 ecx=0x00002b00 edx=0x00000000
 */
#include "read/cpu_parse.h"

bool cpu_is_cpuid_r(struct cpu_line line)
{
	uint32_t leaf, subleaf;

	return cpu_take(&line, "0x") && cpu_take_hex(&line, 8, &leaf) && cpu_take(&line, " 0x") &&
	       cpu_take_hex(&line, 8, &subleaf) && cpu_take(&line, ":");
}

static bool take_register(struct cpu_line *line, const char *name, uint32_t *v)
{
	cpu_skip_blanks(line);
	return cpu_take(line, name) && cpu_take(line, "=0x") && cpu_take_hex(line, 8, v);
}

static bool is_cpu_header(struct cpu_line line)
{
	if (!cpu_take(&line, "CPU"))
		return false;
	cpu_skip_blanks(&line);
	while (line.p < line.end && *line.p >= '0' && *line.p <= '9')
		line.p++;
	return line.end - line.p == 1 && *line.p == ':';
}

int cpu_parse_cpuid_r(struct cpu_collector *c, const char *text, size_t len)
{
	struct cpu_line line = {0};
	struct xst_cpuid_leaf l;

	while (cpu_line_next(&text, &len, &line)) {
		cpu_skip_blanks(&line);
		if (is_cpu_header(line) && cpu_next(c))
			return -1;
		if (!cpu_take(&line, "0x"))
			continue;
		if (!cpu_take_hex(&line, 8, &l.leaf) || !cpu_take(&line, " 0x") ||
		    !cpu_take_hex(&line, 8, &l.subleaf) || !cpu_take(&line, ":") ||
		    !take_register(&line, "eax", &l.eax) || !take_register(&line, "ebx", &l.ebx) ||
		    !take_register(&line, "ecx", &l.ecx) || !take_register(&line, "edx", &l.edx) ||
		    line.p != line.end)
			return cpu_fail(c, "line %u is not a whole leaf of cpuid -r: the dump is "
					   "damaged or cut short", line.number);
		if (cpu_add(c, &l))
			return -1;
	}
	return 0;
}

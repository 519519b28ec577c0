// SPDX-License-Identifier: BSD-2-Clause
/*
 * The text that AIDA64 prints and InstLatx64 publishes (libcpuid's tests begin with it as well):
 *
 *     ------[ CPUID Registers / Logical CPU #0 ]------
 *     CPUID 0000000D: 000602E7-00002B00-00002B00-00000000 [SL 00] [x87]
 *
 * The sub-leaf is hexadecimal. Older dumps leave "[SL nn]" out and list sub-leaves in order.
 */
#include <stdlib.h>
#include <string.h>

#include "read/cpu_parse.h"

bool cpu_is_instlatx64(struct cpu_line line)
{
	uint32_t leaf;

	return cpu_take(&line, "CPUID ") && cpu_take_hex(&line, 8, &leaf) && cpu_take(&line, ":");
}

static bool take_registers(struct cpu_line *line, struct xst_cpuid_leaf *l)
{
	cpu_skip_blanks(line);
	return cpu_take_hex(line, 8, &l->eax) && cpu_take(line, "-") &&
	       cpu_take_hex(line, 8, &l->ebx) && cpu_take(line, "-") &&
	       cpu_take_hex(line, 8, &l->ecx) && cpu_take(line, "-") &&
	       cpu_take_hex(line, 8, &l->edx) && (line->p == line->end || *line->p == ' ');
}

/* "[SL 0A]", or what the order of the lines says. */
static uint32_t subleaf_of(const struct cpu_collector *c, struct cpu_line line, uint32_t leaf)
{
	const struct xst_cpuid_leaf *last = cpu_last(c);
	uint32_t v;

	for (; line.p < line.end; line.p++) {
		struct cpu_line at = line;

		if (cpu_take(&at, "[SL ") && cpu_take_hex(&at, 4, &v) && cpu_take(&at, "]"))
			return v;
	}
	return last && last->leaf == leaf ? last->subleaf + 1 : 0;
}

int cpu_parse_instlatx64(struct cpu_collector *c, const char *text, size_t len)
{
	struct cpu_line line = {0};
	struct xst_cpuid_leaf l;

	while (cpu_line_next(&text, &len, &line)) {
		cpu_skip_blanks(&line);
		if (cpu_take(&line, "------[")) {
			struct cpu_line title = line;

			for (; title.p < title.end; title.p++)
				if (cpu_take(&title, "Logical CPU #")) {
					if (cpu_next(c))
						return -1;
					break;
				}
			continue;
		}
		if (!cpu_is_instlatx64(line))
			continue;
		cpu_take(&line, "CPUID ");
		cpu_take_hex(&line, 8, &l.leaf);
		cpu_take(&line, ":");
		if (!take_registers(&line, &l))
			return cpu_fail(c, "line %u is not a whole leaf of an AIDA64 dump: it is "
					   "damaged or cut short", line.number);
		l.subleaf = subleaf_of(c, line, l.leaf);
		if (cpu_add(c, &l))
			return -1;
	}
	return 0;
}

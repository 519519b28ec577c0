/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the readers of the CPUID formats share: a collector of leaves, grouped by logical CPU, and
 * the few steps of text they all take. Only read/cpu*.c includes this.
 */
#ifndef READ_CPU_PARSE_H
#define READ_CPU_PARSE_H

#include "read/cpu.h"

struct cpu_collector {
	struct cpu_source *out; /* remarks, extra */
	struct xst_cpuid_leaf *leaves;
	size_t count, room;
	size_t *starts; /* index of each logical CPU's first leaf */
	size_t cpu_count, cpu_room;
	char *err;
	size_t errlen;
};

/* A line of the text, without its end. */
struct cpu_line {
	const char *p, *end;
	unsigned number;
};

/* Begin the next logical CPU (a header without leaves does not make one). */
int cpu_next(struct cpu_collector *c);
/* Add an answer; the same question twice must have the same answer. */
int cpu_add(struct cpu_collector *c, const struct xst_cpuid_leaf *leaf);
/* The last answer of the current CPU, or NULL. */
const struct xst_cpuid_leaf *cpu_last(const struct cpu_collector *c);
/* Refuse the input: writes the sentence, returns -1. */
int cpu_fail(struct cpu_collector *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cpu_remark(struct cpu_source *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Walk lines; CR LF ends a line too. @rest and *@len move on. */
bool cpu_line_next(const char **rest, size_t *len, struct cpu_line *line);
void cpu_skip_blanks(struct cpu_line *line);
/* Take @word if the line goes on with it. */
bool cpu_take(struct cpu_line *line, const char *word);
/* Take 1 to @max hexadecimal digits. */
bool cpu_take_hex(struct cpu_line *line, unsigned max, uint32_t *v);

/* One per format: -1 with a sentence, or 0 with leaves collected. */
int cpu_parse_cpuid_r(struct cpu_collector *c, const char *text, size_t len);
int cpu_parse_instlatx64(struct cpu_collector *c, const char *text, size_t len);
int cpu_parse_libcpuid(struct cpu_collector *c, const char *text, size_t len);
/* Both JSON formats; @format tells which it was. */
int cpu_parse_json(struct cpu_collector *c, const char *text, size_t len,
		   enum cpu_format *format);
/* Is this line the beginning of a leaf in that format? */
bool cpu_is_cpuid_r(struct cpu_line line);
bool cpu_is_instlatx64(struct cpu_line line);
bool cpu_is_libcpuid(struct cpu_line line);
/* The machine we run on. */
int cpu_read_host(struct cpu_collector *c);

#endif

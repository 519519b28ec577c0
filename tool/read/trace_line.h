/* SPDX-License-Identifier: BSD-2-Clause */
/* One line of a text trace. */
#ifndef READ_TRACE_LINE_H
#define READ_TRACE_LINE_H

#include "read/trace.h"

/**
 * trace_text_event() - one line.
 *
 * Return: 1 and *@ev; 0 for a line that is an event of no interest, or a comment; -1 otherwise, and
 *         @ev->broken says what was wanted where, NULL when it is no event at all.
 */
int trace_text_event(const char *line, const char *end, struct trace_event *ev);

/* Lines that go on with the line before. */
enum trace_part {
	TRACE_PART_NONE,
	TRACE_PART_STACK,   /* perf script: "\tffffffff8226 schedule+0x23 ([kernel.kallsyms])" */
	TRACE_PART_SPACES,  /* perf script: "\t\t[0/net: 4/0xeffffff9, " */
	TRACE_PART_CALLERS, /* ftrace: " => schedule" */
};

/**
 * trace_text_part() - what @line has the form of, wherever it stands.
 * trace_text_has() - is @line one that parts of this kind may follow? As many as there are, then.
 */
enum trace_part trace_text_part(const char *line, const char *end);
bool trace_text_has(const char *line, const char *end, enum trace_part part);

/**
 * trace_text_missing() - what `perf script -F` left out of a line that is no event.
 *
 * Return: that, and what to type; NULL when nothing is missing, or this is not of perf script.
 */
const char *trace_text_missing(const char *line, const char *end);

/**
 * trace_text_kind() - what traces call events of @kind, or NULL.
 */
const char *trace_text_kind(enum trace_kind kind);

#endif

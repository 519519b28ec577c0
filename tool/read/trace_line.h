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

/**
 * trace_text_kind() - what traces call events of @kind, or NULL.
 */
const char *trace_text_kind(enum trace_kind kind);

#endif

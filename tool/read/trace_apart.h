/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a trace in a process of its own, where a library may fall over a broken file. */
#ifndef READ_TRACE_APART_H
#define READ_TRACE_APART_H

#include "read/trace.h"

typedef int trace_reader(const char *path, const struct trace_sink *sink, struct trace_tally *tally,
			 char *err, size_t errlen);

/**
 * trace_read_apart() - what @reader does, done elsewhere; events come to @sink here.
 *
 * Return: as @reader; -1 with one sentence in @err when it crashed.
 */
int trace_read_apart(trace_reader *reader, const char *path, const struct trace_sink *sink,
		     struct trace_tally *tally, char *err, size_t errlen);

#endif

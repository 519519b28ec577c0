/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces in our own records: read and written. */
#ifndef READ_TRACE_COMPACT_H
#define READ_TRACE_COMPACT_H

#include <limits.h>
#include <stdio.h>

#include "read/trace.h"
#include "sim/rec.h"

/**
 * trace_read_compact() - all records, in batches, to @put.
 * @piece: which piece of a trace it must be; 0 is the first or only one.
 * @err: out on error, one sentence; untouched when @put returned other than 0.
 */
int trace_read_compact(struct trace_input *in, uint32_t piece,
		       int (*put)(void *arg, struct rec *recs, size_t count), void *arg, char *err,
		       size_t errlen);

struct trace_writer {
	const char *path;
	char temp[PATH_MAX];
	FILE *out;
};

/**
 * trace_write_begin() - @path appears only at the end; "-" is standard output.
 * @source: what it is made from, in a few words.
 * @piece:  as above.
 * trace_write() - a struct slots_sink's function.
 * trace_write_end() - @good: keep it.
 *
 * Return: 0, -1 with one sentence in @err.
 */
int trace_write_begin(struct trace_writer *w, const char *path, const char *source, uint32_t piece,
		      char *err, size_t errlen);
int trace_write(void *arg, struct rec *recs, size_t count);
int trace_write_end(struct trace_writer *w, bool good, char *err, size_t errlen);

#endif

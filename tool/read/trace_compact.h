/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces in our own records: read and written. */
#ifndef READ_TRACE_COMPACT_H
#define READ_TRACE_COMPACT_H

#include <stdio.h>

#include "read/trace.h"
#include "sim/rec.h"
#include "ui/outfile.h"

/**
 * trace_read_compact() - all records, in batches, to @put.
 * @place: where the piece must begin; out: where it ended.
 * @err: out on error, one sentence; untouched when @put returned other than 0.
 */
int trace_read_compact(struct trace_input *in, struct rec_place *place,
		       int (*put)(void *arg, struct rec *recs, size_t count), void *arg, char *err,
		       size_t errlen);

struct trace_writer {
	struct rec_header head;
	const char *path;
	struct outfile out;
	uint64_t sum;
};

/**
 * trace_write_begin() - @path appears only at the end; "-" is standard output.
 * @open:   a file that was opened for it already, or NULL. It becomes the writer's.
 * @source: what it is made from, in a few words.
 * @made_up: not recorded; whoever reads it again is to know.
 * @place:  as above.
 * trace_write() - a struct slots_sink's function.
 * trace_write_end() - @good: keep it.
 *
 * Return: 0, -1 with one sentence in @err.
 */
int trace_write_begin(struct trace_writer *w, const char *path, struct outfile *open,
		      const char *source, bool made_up, const struct rec_place *place, char *err,
		      size_t errlen);
int trace_write(void *arg, struct rec *recs, size_t count);
int trace_write_end(struct trace_writer *w, bool good, char *err, size_t errlen);

#endif

// SPDX-License-Identifier: BSD-2-Clause
/* Our own records, sim/rec.h, written so that a file is there whole or not at all. */
#include <errno.h>
#include <string.h>

#include "read/trace_compact.h"

int trace_write_begin(struct trace_writer *w, const char *path, struct outfile *open,
		      const char *source, bool made_up, const struct rec_place *place, char *err,
		      size_t errlen)
{
	struct rec_header *head = &w->head;

	memset(w, 0, sizeof(*w));
	*head = (struct rec_header){ .version = REC_VERSION, .piece = place->piece,
				     .before = place->sum, .flags = made_up ? REC_MADE_UP : 0 };
	w->path = path;
	w->sum = place->sum;
	memcpy(head->magic, REC_MAGIC, sizeof(head->magic));
	strncpy(head->source, source, sizeof(head->source) - 1);
	if (open) {
		w->out = *open;
		*open = (struct outfile){ 0 };
	} else if (!outfile_open(&w->out, path)) {
		snprintf(err, errlen, "cannot write %s: %s", path, strerror(errno));
		return -1;
	}
	setvbuf(w->out.f, NULL, _IOFBF, 1 << 16);
	fwrite(head, sizeof(*head), 1, w->out.f);
	return 0;
}

int trace_write(void *arg, struct rec *recs, size_t count)
{
	struct trace_writer *w = arg;
	const size_t ends = count && recs[count - 1].kind == REC_END;
	struct rec end;

	w->sum = rec_sum(w->sum, recs, count - ends);
	if (fwrite(recs, sizeof(*recs), count - ends, w->out.f) != count - ends)
		return -1;
	if (!ends)
		return 0;
	end = recs[count - 1];
	end.cpu = rec_check(w->sum, &w->head, &end);
	return fwrite(&end, sizeof(end), 1, w->out.f) == 1 ? 0 : -1;
}

int trace_write_end(struct trace_writer *w, bool good, char *err, size_t errlen)
{
	if (!w->out.f)
		return 0;
	if (!good) {
		outfile_drop(&w->out);
		return 0;
	}
	if (outfile_commit(&w->out))
		return 0;
	snprintf(err, errlen, "cannot write %s: %s", w->path, strerror(errno));
	return -1;
}

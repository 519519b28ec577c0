// SPDX-License-Identifier: BSD-2-Clause
/* Our own records, sim/rec.h: read in batches, written so that a file is there whole or not at all. */
#include "read/trace_compact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 4096u

int trace_read_compact(struct trace_input *in, uint32_t piece,
		       int (*put)(void *arg, struct rec *recs, size_t count), void *arg, char *err,
		       size_t errlen)
{
	struct rec_header head;
	static _Thread_local struct rec recs[BATCH];
	size_t have = 0, whole;
	long n = trace_input_read(in, &head, sizeof(head));

	if (n != (long)sizeof(head) || memcmp(head.magic, REC_MAGIC, sizeof(head.magic))) {
		snprintf(err, errlen, "%s: cut off in its header", in->name);
		return -1;
	}
	if (head.version != REC_VERSION) {
		snprintf(err, errlen, "%s: records of version %u, this program reads version %u",
			 in->name, head.version, REC_VERSION);
		return -1;
	}
	if (head.piece != piece) {
		if (piece)
			snprintf(err, errlen, "%s: piece %u of a trace, where piece %u comes next", in->name,
				 head.piece, piece);
		else
			snprintf(err, errlen, "%s: piece %u of a trace: --state goes on from the one "
				 "before", in->name, head.piece);
		return -1;
	}
	while ((n = trace_input_read(in, (char *)recs + have, sizeof(recs) - have)) > 0) {
		have += (size_t)n;
		whole = have / sizeof(recs[0]);
		if (whole && put(arg, recs, whole))
			return -1;
		have -= whole * sizeof(recs[0]);
		memmove(recs, recs + whole, have);
	}
	if (n < 0)
		snprintf(err, errlen, "%s: %s", in->name, in->why);
	else if (have)
		snprintf(err, errlen, "%s: cut off in the middle of a record", in->name);
	return n < 0 || have ? -1 : 0;
}

int trace_write_begin(struct trace_writer *w, const char *path, const char *source, uint32_t piece,
		      char *err, size_t errlen)
{
	struct rec_header head = { .version = REC_VERSION, .piece = piece };
	int fd;

	memset(w, 0, sizeof(*w));
	w->path = path;
	memcpy(head.magic, REC_MAGIC, sizeof(head.magic));
	strncpy(head.source, source, sizeof(head.source) - 1);
	if (!strcmp(path, "-")) {
		w->out = stdout;
	} else {
		if ((size_t)snprintf(w->temp, sizeof(w->temp), "%s.XXXXXX", path) >= sizeof(w->temp)) {
			snprintf(err, errlen, "the name is too long: %s", path);
			return -1;
		}
		fd = mkstemp(w->temp);
		w->out = fd < 0 ? NULL : fdopen(fd, "w");
		if (!w->out) {
			snprintf(err, errlen, "cannot write %s: %s", path, strerror(errno));
			if (fd >= 0)
				close(fd);
			return -1;
		}
	}
	setvbuf(w->out, NULL, _IOFBF, 1 << 16);
	fwrite(&head, sizeof(head), 1, w->out);
	return 0;
}

int trace_write(void *arg, struct rec *recs, size_t count)
{
	struct trace_writer *w = arg;

	return fwrite(recs, sizeof(*recs), count, w->out) == count ? 0 : -1;
}

int trace_write_end(struct trace_writer *w, bool good, char *err, size_t errlen)
{
	bool failed;

	if (!w->out)
		return 0;
	failed = fflush(w->out) || ferror(w->out);
	if (w->out != stdout) {
		failed = fchmod(fileno(w->out), 0644) || failed;
		failed = fclose(w->out) || failed;
		if (!good || failed || rename(w->temp, w->path)) {
			unlink(w->temp);
			failed = failed || good;
		}
	}
	w->out = NULL;
	if (failed)
		snprintf(err, errlen, "cannot write %s: %s", w->path, strerror(errno));
	return failed ? -1 : 0;
}

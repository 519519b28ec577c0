// SPDX-License-Identifier: BSD-2-Clause
/* Our own records, sim/rec.h, read in batches. */
#include "read/trace_compact.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 4096u
#define WINDOW_BYTES (16u << 20) /* a multiple of every page size */

static int check_header(const struct trace_input *in, const struct rec_header *head,
			const struct rec_place *place, char *err, size_t errlen)
{
	if (head->version != REC_VERSION)
		snprintf(err, errlen, "%s: records of version %u, this program reads version %u",
			 in->name, head->version, REC_VERSION);
	else if (head->piece != place->piece && place->piece)
		snprintf(err, errlen, "%s: piece %u of a trace, where piece %u comes next", in->name,
			 head->piece, place->piece);
	else if (head->piece != place->piece)
		snprintf(err, errlen, "%s: piece %u of a trace: --state goes on from the one before",
			 in->name, head->piece);
	else if (head->before != place->sum)
		snprintf(err, errlen, "%s: piece %u of another trace, or cut otherwise, than the piece "
			 "before it", in->name, head->piece);
	else
		return 0;
	return -1;
}

/* A batch's records up to its END into the sum, which END then must name. */
static bool is_whole(uint64_t *sum, const struct rec *recs, size_t count)
{
	const struct rec *last = &recs[count - 1];

	if (last->kind != REC_END) {
		*sum = rec_sum(*sum, recs, count);
		return true;
	}
	*sum = rec_sum(*sum, recs, count - 1);
	return last->cpu == rec_check(*sum);
}

static int broken(const struct trace_input *in, char *err, size_t errlen)
{
	snprintf(err, errlen, "%s: broken: its records do not add up to their checksum", in->name);
	return -1;
}

/* Where the reader's place in a file is known to be behind the head, its size; else 0. */
static uint64_t file_size(const struct trace_input *in)
{
	struct stat st;

	if (in->unpack || fstat(in->fd, &st) || !S_ISREG(st.st_mode) ||
	    lseek(in->fd, 0, SEEK_CUR) != (off_t)sizeof(struct rec_header))
		return 0;
	return (uint64_t)st.st_size;
}

/* A file that gets shorter takes its pages away, from whoever looks at them. */
static __thread sigjmp_buf taken_away;

static void on_sigbus(int number)
{
	(void)number;
	siglongjmp(taken_away, 1);
}

/*
 * All records of a file where they lie in memory: to copy them by read() costs a fifth of all that
 * is done with them. Whoever changes a record changes a copy of its page.
 *
 * Return: 1 when the file cannot be mapped; nothing was read then.
 */
static int read_windows(struct trace_input *in, struct rec_place *place,
		       int (*put)(void *arg, struct rec *recs, size_t count), void *arg, char *err,
		       size_t errlen)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = file_size(in);
	uint64_t at = sizeof(struct rec_header);
	int result = 0;

	if (size <= at)
		return 1;
	while (!result && size - at >= sizeof(struct rec)) {
		const uint64_t from = at / page * page;
		const uint64_t rest = size - from;
		const size_t bytes = rest < WINDOW_BYTES ? (size_t)rest : WINDOW_BYTES;
		uint8_t *window = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, in->fd,
				       (off_t)from);
		size_t left = (bytes - (size_t)(at - from)) / sizeof(struct rec);
		struct rec *recs;

		if (window == MAP_FAILED && !from)
			return 1;
		if (window == MAP_FAILED || file_size(in) < size) {
			snprintf(err, errlen, "%s: %s", in->name, window == MAP_FAILED ?
				 strerror(errno) : "it gets shorter while it is read");
			return -1;
		}
		recs = (struct rec *)(void *)(window + (at - from));
#ifdef MADV_POPULATE_READ
		(void)madvise(window, bytes, MADV_POPULATE_READ);
#endif
		while (!result && left) {
			const size_t count = left < BATCH ? left : BATCH;

			at += count * sizeof(*recs);
			in->bytes = in->raw = at;
			if (!is_whole(&place->sum, recs, count))
				result = broken(in, err, errlen);
			else
				result = put(arg, recs, count) ? -1 : 0;
			recs += count;
			left -= count;
		}
		munmap(window, bytes);
	}
	if (!result && at < size) {
		snprintf(err, errlen, "%s: cut off in the middle of a record", in->name);
		return -1;
	}
	return result;
}

static int read_mapped(struct trace_input *in, struct rec_place *place,
		       int (*put)(void *arg, struct rec *recs, size_t count), void *arg, char *err,
		       size_t errlen)
{
	struct sigaction new = { .sa_handler = on_sigbus }, old;
	int result = -1;

	sigaction(SIGBUS, &new, &old);
	if (!sigsetjmp(taken_away, 1))
		result = read_windows(in, place, put, arg, err, errlen);
	else
		snprintf(err, errlen, "%s: it gets shorter while it is read", in->name);
	sigaction(SIGBUS, &old, NULL);
	return result;
}

int trace_read_compact(struct trace_input *in, struct rec_place *place,
		       int (*put)(void *arg, struct rec *recs, size_t count), void *arg, char *err,
		       size_t errlen)
{
	struct rec_header head;
	static _Thread_local struct rec recs[BATCH];
	size_t have = 0, whole;
	long n = trace_input_read(in, &head, sizeof(head));
	int result;

	if (n != (long)sizeof(head) || memcmp(head.magic, REC_MAGIC, sizeof(head.magic))) {
		snprintf(err, errlen, "%s: cut off in its header", in->name);
		return -1;
	}
	if (check_header(in, &head, place, err, errlen))
		return -1;
	result = read_mapped(in, place, put, arg, err, errlen);
	if (result <= 0)
		return result;
	while ((n = trace_input_read(in, (char *)recs + have, sizeof(recs) - have)) > 0) {
		have += (size_t)n;
		whole = have / sizeof(recs[0]);
		if (whole && !is_whole(&place->sum, recs, whole))
			return broken(in, err, errlen);
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

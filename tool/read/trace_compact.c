// SPDX-License-Identifier: BSD-2-Clause
/* Our own records, sim/rec.h, read in batches. */
#include "read/trace_compact.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef TRACE_WINDOW_BYTES
#define TRACE_WINDOW_BYTES (4u << 20) /* whole records; fuzzers want small ones */
#endif

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
static bool is_whole(uint64_t *sum, const struct rec_header *head, const struct rec *recs,
		     size_t count)
{
	const struct rec *last = &recs[count - 1];

	if (last->kind != REC_END) {
		*sum = rec_sum(*sum, recs, count);
		return true;
	}
	*sum = rec_sum(*sum, recs, count - 1);
	return last->cpu == rec_check(*sum, head, last);
}

static int broken(const struct trace_input *in, char *err, size_t errlen)
{
	snprintf(err, errlen, "%s: broken: its records do not add up to their checksum", in->name);
	return -1;
}

/*
 * Where records come from. A file's lie in windows, each either read or mapped: to map costs a fault a
 * page, to read a copy, and which is dearer differs between machines by more than the replay takes (a
 * fault is 2.5 us where a hypervisor keeps page tables of its own). So the first window is read, the
 * second mapped, and the others go the way that took less. What is no file is read.
 */
struct source {
	struct trace_input *in;
	struct rec_header head;
	struct rec *buffer;
	size_t have;             /* bytes in the buffer that are no whole record yet */
	uint64_t size, at;       /* of a file that can be mapped, else 0; the next record's place */
	uint64_t end;            /* of the window */
	unsigned windows;        /* so far */
	bool mapped;             /* the present one */
	double cost[2];          /* of a window read, and of one mapped: seconds */
	uint8_t *map;
	size_t map_bytes;
	uint64_t map_from;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void unmap(struct source *s)
{
	if (s->map)
		munmap(s->map, s->map_bytes);
	s->map = NULL;
}

/* Whoever changes a record changes a copy of its page. */
static int map_window(struct source *s, char *err, size_t errlen)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct stat st;

	s->map_from = s->at / page * page;
	s->map_bytes = (size_t)(s->end - s->map_from);
	s->map = mmap(NULL, s->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, s->in->fd,
		      (off_t)s->map_from);
	if (s->map == MAP_FAILED) {
		s->map = NULL;
		snprintf(err, errlen, "%s: %s", s->in->name, strerror(errno));
		return -1;
	}
	if (fstat(s->in->fd, &st) || (uint64_t)st.st_size < s->size) {
		snprintf(err, errlen, "%s: it gets shorter while it is read", s->in->name);
		return -1;
	}
#ifdef MADV_POPULATE_READ
	(void)madvise(s->map, s->map_bytes, MADV_POPULATE_READ);
#endif
	return 0;
}

static int next_window(struct source *s, char *err, size_t errlen)
{
	const uint64_t rest = s->size - s->at;
	const bool was_mapped = s->mapped;

	unmap(s);
	s->end = s->at + (rest < TRACE_WINDOW_BYTES ? rest : TRACE_WINDOW_BYTES);
	/* The end of a file is read: there may be more of it by now, or half a record. */
	s->mapped = rest > TRACE_WINDOW_BYTES &&
		    (s->windows == 1 || (s->windows > 1 && s->cost[1] < s->cost[0]));
	s->windows++;
	if (s->mapped)
		return map_window(s, err, errlen);
	if (was_mapped && lseek(s->in->fd, (off_t)s->at, SEEK_SET) < 0) {
		snprintf(err, errlen, "%s: %s", s->in->name, strerror(errno));
		return -1;
	}
	return 0;
}

/* Into the buffer, behind what is left of a record there. */
static long give_read(struct source *s, size_t room, struct rec **recs, char *err, size_t errlen)
{
	const size_t size = sizeof(**recs), left = s->have % size;

	memmove(s->buffer, (char *)s->buffer + s->have - left, left);
	s->have = left;
	while (s->have < size) {
		const long n = trace_input_read(s->in, (char *)s->buffer + s->have,
						room < REC_AT_ONCE * size - s->have
							? room : REC_AT_ONCE * size - s->have);

		if (n < 0)
			snprintf(err, errlen, "%s: %s", s->in->name, s->in->why);
		else if (!n && s->have)
			snprintf(err, errlen, "%s: cut off in the middle of a record", s->in->name);
		if (n <= 0)
			return n || s->have ? -1 : 0;
		s->have += (size_t)n;
		s->at += (uint64_t)n;
		room -= (size_t)n;
	}
	*recs = s->buffer;
	return (long)(s->have / size);
}

/* The next records, as many as there are at once: 0 at the end, -1 with @err. */
static long give(struct source *s, struct rec **recs, char *err, size_t errlen)
{
	size_t count;

	if (s->at == s->end && s->at < s->size && next_window(s, err, errlen))
		return -1;
	if (!s->mapped)
		return give_read(s, s->at < s->end ? (size_t)(s->end - s->at) : SIZE_MAX, recs, err,
				 errlen);
	*recs = (struct rec *)(void *)(s->map + (s->at - s->map_from));
	count = (size_t)(s->end - s->at) / sizeof(**recs);
	count = count < REC_AT_ONCE ? count : REC_AT_ONCE;
	s->at += count * sizeof(**recs);
	s->in->bytes = s->in->raw = s->at;
	return (long)count;
}

static int read_all(struct source *s, struct rec_place *place,
		    int (*put)(void *arg, struct rec *recs, size_t count), void *arg, char *err,
		    size_t errlen)
{
	for (;;) {
		const bool asks = s->size && s->windows <= 2;
		const double begun = asks ? now() : 0;
		struct rec *recs;
		const long n = give(s, &recs, err, errlen);

		if (n <= 0)
			return (int)n;
		if (!is_whole(&place->sum, &s->head, recs, (size_t)n))
			return broken(s->in, err, errlen);
		if (asks)
			s->cost[s->mapped] += now() - begun;
		if (put(arg, recs, (size_t)n))
			return -1;
	}
}

/* A file that gets shorter takes its pages away, from whoever looks at them. */
static __thread sigjmp_buf taken_away;

static void on_sigbus(int number)
{
	(void)number;
	siglongjmp(taken_away, 1);
}

/* The size of a file whose records can be mapped: the reader is known to be behind the head. */
static uint64_t file_size(const struct trace_input *in)
{
	struct stat st;

	if (in->unpack || fstat(in->fd, &st) || !S_ISREG(st.st_mode) ||
	    lseek(in->fd, 0, SEEK_CUR) != (off_t)sizeof(struct rec_header))
		return 0;
	return (uint64_t)st.st_size;
}

int trace_read_compact(struct trace_input *in, struct rec_place *place,
		       int (*put)(void *arg, struct rec *recs, size_t count), void *arg, char *err,
		       size_t errlen)
{
	static _Thread_local struct rec buffer[REC_AT_ONCE];
	static _Thread_local struct source s;
	struct sigaction new = { .sa_handler = on_sigbus }, old;
	struct rec_header head;
	const long n = trace_input_read(in, &head, sizeof(head));
	int result = -1;

	if (n != (long)sizeof(head) || memcmp(head.magic, REC_MAGIC, sizeof(head.magic))) {
		snprintf(err, errlen, "%s: cut off in its header", in->name);
		return -1;
	}
	if (check_header(in, &head, place, err, errlen))
		return -1;
	s = (struct source){ .in = in, .head = head, .buffer = buffer, .size = file_size(in),
			     .at = sizeof(head), .end = sizeof(head) };
	sigaction(SIGBUS, &new, &old);
	if (!sigsetjmp(taken_away, 1))
		result = read_all(&s, place, put, arg, err, errlen);
	else
		snprintf(err, errlen, "%s: it gets shorter while it is read", in->name);
	sigaction(SIGBUS, &old, NULL);
	unmap(&s);
	return result;
}

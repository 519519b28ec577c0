// SPDX-License-Identifier: BSD-2-Clause
/*
 * A reader in a process of its own. A library that was made for files its own program wrote may crash
 * on one that was cut off or changed; then it is the file that is refused, and not our process that
 * is gone. Events lie in memory that both have, so reading and replaying run at the same time; who has
 * filled a batch of them, or is done with one, tells the other by a byte.
 */
#include "read/trace_apart.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCH   1024u
#define BATCHES 8u

struct ring {
	struct batch {
		uint32_t count;
		struct trace_event event[BATCH];
	} batch[BATCHES];
};

/* What the reader says at its end. */
struct last {
	struct trace_tally tally;
	int result;
	char err[400];
};

struct sender {
	int fd;
	struct ring *ring;
	unsigned at, free; /* the batch to be filled; how many behind it can be */
};

static bool write_all(int fd, const void *data, size_t size)
{
	const char *p = data;
	ssize_t n;

	for (; size; p += n, size -= (size_t)n) {
		n = write(fd, p, size);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return false;
	}
	return true;
}

static size_t read_all(int fd, void *data, size_t size)
{
	size_t have = 0;
	ssize_t n;

	while (have < size) {
		n = read(fd, (char *)data + have, size - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	return have;
}

/* Who waits for a byte gets as many as there are; 0 when nobody is there any more. */
static size_t wait_bytes(int fd, char bytes[BATCHES])
{
	ssize_t n;

	do
		n = recv(fd, bytes, BATCHES, 0);
	while (n < 0 && errno == EINTR);
	return n > 0 ? (size_t)n : 0;
}

static int flush(struct sender *s)
{
	char bytes[BATCHES] = "";

	if (!s->ring->batch[s->at].count)
		return 0;
	if (send(s->fd, bytes, 1, MSG_NOSIGNAL) != 1)
		return -1;
	if (!s->free)
		s->free = (unsigned)wait_bytes(s->fd, bytes);
	if (!s->free)
		return -1;
	s->free--;
	s->at = (s->at + 1) % BATCHES;
	s->ring->batch[s->at].count = 0;
	return 0;
}

static int put(void *arg, const struct trace_event *ev)
{
	struct sender *s = arg;
	struct batch *b = &s->ring->batch[s->at];

	b->event[b->count++] = *ev;
	return b->count == BATCH ? flush(s) : 0;
}

/* The other process: it never returns. */
static void read_there(trace_reader *reader, const char *path, struct ring *ring, int fd, int end)
{
	const struct rlimit none = { 0 };
	struct sender s = { .fd = fd, .ring = ring, .free = BATCHES - 1 };
	const struct trace_sink sink = { put, &s };
	struct last last;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A crash is expected here: no core, and nobody's handler prints anything. */
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
	signal(SIGFPE, SIG_DFL);
	memset(&last, 0, sizeof(last));
	last.result = reader(path, &sink, &last.tally, last.err, sizeof(last.err));
	if (flush(&s))
		_exit(1);
	_exit(write_all(end, &last, sizeof(last)) ? 0 : 1);
}

/* All events to @sink; false when it wants no more. Nonsense is an end, without what must follow. */
static bool receive(int fd, const struct ring *ring, const struct trace_sink *sink)
{
	char bytes[BATCHES];
	unsigned at = 0;
	size_t n;

	while ((n = wait_bytes(fd, bytes))) {
		for (size_t k = 0; k < n; k++, at = (at + 1) % BATCHES) {
			const struct batch *b = &ring->batch[at];
			const uint32_t count = b->count;

			if (count > BATCH)
				return true;
			for (uint32_t i = 0; i < count; i++)
				if (sink->event(sink->arg, &b->event[i]))
					return false;
			/* It may be gone by now, and what it left still counts. */
			(void)send(fd, &bytes[k], 1, MSG_NOSIGNAL);
		}
	}
	return true;
}

int trace_read_apart(trace_reader *reader, const char *path, const struct trace_sink *sink,
		     struct trace_tally *tally, char *err, size_t errlen)
{
	int both[2] = { -1, -1 }, ends[2] = { -1, -1 }, status = 0, result = -1;
	struct ring *ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool wanted = false, ended = false;
	struct last last;
	pid_t pid = -1;

	*tally = (struct trace_tally){ 0 };
	fflush(NULL);
	if (ring != MAP_FAILED && !socketpair(AF_UNIX, SOCK_STREAM, 0, both) && !pipe(ends))
		pid = fork();
	if (!pid) {
		close(both[0]);
		close(ends[0]);
		read_there(reader, path, ring, both[1], ends[1]);
	}
	if (pid < 0)
		snprintf(err, errlen, "%s: no process to read it in: %s", path, strerror(errno));
	close(both[1]);
	close(ends[1]);
	if (pid > 0) {
		wanted = receive(both[0], ring, sink);
		/* Whoever still waits for room waits no more. */
		close(both[0]);
		both[0] = -1;
		ended = wanted && read_all(ends[0], &last, sizeof(last)) == sizeof(last);
		if (!wanted)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(both[0]);
	if (ring != MAP_FAILED)
		munmap(ring, sizeof(*ring));
	close(ends[0]);
	if (ended) {
		*tally = last.tally;
		result = last.result;
		if (result && last.err[0])
			snprintf(err, errlen, "%s", last.err);
	} else if (wanted) {
		snprintf(err, errlen, "%s: broken or cut off: what reads such files fell over it",
			 path);
	}
	return result;
}

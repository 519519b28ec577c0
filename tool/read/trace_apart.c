// SPDX-License-Identifier: BSD-2-Clause
/*
 * A reader in a process of its own. A library that was made for files its own program wrote may crash
 * on one that was cut off or changed; then it is the file that is refused, and not our process that
 * is gone. Events come through a pipe, so reading and replaying run at the same time.
 */
#include "read/trace_apart.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCH 1024u

/* What the reader says at its end. */
struct last {
	struct trace_tally tally;
	int result;
	char err[400];
};

struct sender {
	int fd;
	size_t count;
	struct trace_event batch[BATCH];
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

static int flush(struct sender *s)
{
	const size_t n = s->count;

	s->count = 0;
	return !n || write_all(s->fd, s->batch, n * sizeof(s->batch[0])) ? 0 : -1;
}

static int send(void *arg, const struct trace_event *ev)
{
	struct sender *s = arg;

	s->batch[s->count++] = *ev;
	return s->count == BATCH ? flush(s) : 0;
}

/* The other process: it never returns. */
static void read_there(trace_reader *reader, const char *path, int events, int end)
{
	const struct rlimit none = { 0 };
	struct sender *s = calloc(1, sizeof(*s));
	const struct trace_sink sink = { send, s };
	struct last last = { .result = -1 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A crash is expected here: no core, and nobody's handler prints anything. */
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
	signal(SIGFPE, SIG_DFL);
	if (s) {
		s->fd = events;
		last.result = reader(path, &sink, &last.tally, last.err, sizeof(last.err));
		if (flush(s))
			_exit(1);
	}
	_exit(write_all(end, &last, sizeof(last)) ? 0 : 1);
}

/* All events of the pipe to @sink; false when it wants no more. */
static bool receive(int fd, const struct trace_sink *sink)
{
	struct trace_event *batch = calloc(BATCH, sizeof(*batch));
	bool wanted = batch;
	size_t n;

	while (wanted && (n = read_all(fd, batch, BATCH * sizeof(*batch)) / sizeof(*batch)))
		for (size_t i = 0; wanted && i < n; i++)
			wanted = !sink->event(sink->arg, &batch[i]);
	free(batch);
	return wanted;
}

int trace_read_apart(trace_reader *reader, const char *path, const struct trace_sink *sink,
		     struct trace_tally *tally, char *err, size_t errlen)
{
	int events[2] = { -1, -1 }, ends[2] = { -1, -1 }, status = 0, result = -1;
	bool wanted = false, ended = false;
	struct last last;
	pid_t pid = -1;

	*tally = (struct trace_tally){ 0 };
	fflush(NULL);
	if (!pipe(events) && !pipe(ends))
		pid = fork();
	if (!pid) {
		close(events[0]);
		close(ends[0]);
		read_there(reader, path, events[1], ends[1]);
	}
	close(events[1]);
	close(ends[1]);
	if (pid > 0) {
		wanted = receive(events[0], sink);
		close(events[0]);
		ended = wanted && read_all(ends[0], &last, sizeof(last)) == sizeof(last);
		if (!wanted)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	} else {
		snprintf(err, errlen, "%s: no process to read it in: %s", path, strerror(errno));
		close(events[0]);
	}
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

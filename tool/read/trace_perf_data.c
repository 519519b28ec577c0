// SPDX-License-Identifier: BSD-2-Clause
/* perf.data: perf alone knows its own format, so `perf script` reads it and we read that. */
#include "read/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* @words: where its complaints go. */
static int start(const char *path, int words, int *fd, pid_t *pid)
{
	char *argv[] = { "perf", "script", "--ns", "--show-lost-events", "-F",
			 "comm,tid,cpu,time,event,trace", "-i", (char *)(uintptr_t)path, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t group;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	/*
	 * A terminal's signals are not for it: where we take one for the end of a recording it would
	 * leave out the rest of the file and say nothing. Where they end us, the pipe's end ends it.
	 */
	posix_spawnattr_init(&group);
	posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&group, 0);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
	if (words >= 0)
		posix_spawn_file_actions_adddup2(&files, words, STDERR_FILENO);
	else
		posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	err = posix_spawnp(pid, getenv("XSTATE_PERF") ? getenv("XSTATE_PERF") : "perf", &files,
			   &group, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&group);
	close(ends[1]);
	if (err)
		close(ends[0]);
	*fd = ends[0];
	return err;
}

/* Some broken files have no end for it: more CPU time than any sound one takes is too much. */
static void limit(const char *path, pid_t pid)
{
	const rlim_t base = 10, for_each_mb = 10;
	struct rlimit r;
	struct stat st;

	if (stat(path, &st))
		return;
	r.rlim_cur = r.rlim_max = base + for_each_mb * (rlim_t)(st.st_size >> 20);
	(void)prlimit(pid, RLIMIT_CPU, &r, NULL);
}

/* The last line of perf's complaints, as ": line"; or nothing. Those before are of no consequence. */
static void complaint(int words, char *line, size_t size)
{
	char text[4096], *end, *p;
	const ssize_t n = words >= 0 ? pread(words, text, sizeof(text) - 1, 0) : 0;

	line[0] = '\0';
	if (n <= 0)
		return;
	end = text + n;
	while (end > text && (end[-1] == '\n' || end[-1] == ' '))
		end--;
	*end = '\0';
	for (p = end; p > text && p[-1] != '\n'; p--)
		if (p[-1] < ' ' || p[-1] > '~')
			p[-1] = '?';
	if (*p)
		snprintf(line, size, ": %.150s", p);
}

/* The start of a perf.data as far as it matters here, and of each of its records. */
struct perf_header {
	char magic[8];
	uint64_t size, attr_size, attrs, attrs_size, data, data_size;
};

struct perf_record {
	uint32_t type;
	uint16_t misc, size;
};

#define LOST_SAMPLES 13u /* PERF_RECORD_LOST_SAMPLES */

/*
 * What each event counted as lost until the end. Not every perf script prints these records, and the
 * other ones, PERF_RECORD_LOST, are written with the next event, which never comes for the last.
 */
static uint64_t lost_samples(const uint8_t *file, uint64_t size)
{
	struct perf_header head;
	struct perf_record r;
	uint64_t n, sum = 0, at;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, file, sizeof(head));
	if (memcmp(head.magic, "PERFILE2", 8) || head.size < sizeof(head) || head.data > size)
		return 0;
	if (head.data_size > size - head.data)
		head.data_size = size - head.data;
	for (at = 0; head.data_size - at >= sizeof(r); at += r.size) {
		const uint8_t *p = file + head.data + at;

		memcpy(&r, p, sizeof(r));
		if (r.size < sizeof(r) || r.size > head.data_size - at)
			break;
		if (r.type == LOST_SAMPLES && r.size >= sizeof(r) + sizeof(n)) {
			memcpy(&n, p + sizeof(r), sizeof(n));
			sum += n;
		}
	}
	return sum;
}

/* The file in memory, read only; NULL when it is none. */
static const uint8_t *map_file(const char *path, uint64_t *size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *file = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		*size = (uint64_t)st.st_size;
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	return file == MAP_FAILED ? NULL : file;
}

static uint64_t lost_in_file(const char *path)
{
	uint64_t size = 0, lost = 0;
	const uint8_t *file = map_file(path, &size);

	if (file) {
		lost = lost_samples(file, size);
		munmap((void *)(uintptr_t)file, (size_t)size);
	}
	return lost;
}

#define FEATURES   72u /* where the header has a bit for each section behind the data */
#define EVENT_DESC 12u /* the names of the events that were asked for */

/* Was @event asked for? The sections' places are behind the data, in the order of their bits. */
static bool asks_for(const uint8_t *file, uint64_t size, const char *event)
{
	struct perf_header head;
	uint64_t bits, place, desc[2];

	if (size < FEATURES + sizeof(bits))
		return false;
	memcpy(&head, file, sizeof(head));
	memcpy(&bits, file + FEATURES, sizeof(bits));
	if (memcmp(head.magic, "PERFILE2", 8) || head.size < FEATURES + sizeof(bits) ||
	    !(bits >> EVENT_DESC & 1) || head.data > size || head.data_size > size - head.data)
		return false;
	place = head.data + head.data_size +
		sizeof(desc) * (uint64_t)__builtin_popcountll(bits & ((1ull << EVENT_DESC) - 1));
	if (place > size || size - place < sizeof(desc))
		return false;
	memcpy(desc, file + place, sizeof(desc));
	return desc[0] <= size && desc[1] <= size - desc[0] &&
	       memmem(file + desc[0], (size_t)desc[1], event, strlen(event));
}

/* Returns of handlers that do not happen are told from those that were not recorded. */
static int tell_events(const char *path, const struct trace_sink *sink)
{
	const struct trace_event sees = { .kind = TRACE_SIGRETURNS, .pid = -1 };
	uint64_t size = 0;
	const uint8_t *file = map_file(path, &size);
	bool asked;

	if (!file)
		return 0;
	asked = asks_for(file, size, "sys_enter_rt_sigreturn");
	munmap((void *)(uintptr_t)file, (size_t)size);
	return asked ? sink->event(sink->arg, &sees) : 0;
}

int trace_read_perf_data(const char *path, const struct trace_sink *sink, struct trace_tally *tally,
			 char *err, size_t errlen)
{
	const int words = memfd_create("perf", MFD_CLOEXEC);
	char sentence[300] = "", said[160];
	struct trace_input in;
	int fd = -1, status, result, failed;
	pid_t pid;

	failed = start(path, words, &fd, &pid);
	if (failed) {
		close(words);
		snprintf(err, errlen, "%s: perf, which reads such files, cannot be run: %s", path,
			 strerror(failed));
		return TRACE_CANNOT;
	}
	limit(path, pid);
	result = trace_input_of(&in, fd, path);
	if (result)
		snprintf(sentence, sizeof(sentence), "%s: %s", path, in.why);
	else if (tell_events(path, sink))
		result = -1;
	else
		result = trace_read_text(&in, sink, tally, sentence, sizeof(sentence));
	trace_input_close(&in);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	complaint(words, said, sizeof(said));
	close(words);
	/* A reader that stops early ends perf with SIGPIPE: then ours is the better reason. */
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGPIPE) {
		snprintf(err, errlen, "%s: broken: perf script %s", path,
			 WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL
				 ? "comes to no end with it" : "falls over it");
		return -1;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status)) {
		snprintf(err, errlen, "%s: perf script cannot read it%s", path, said);
		return -1;
	}
	if (sentence[0])
		snprintf(err, errlen, "%s", sentence);
	if (!result) {
		const uint64_t lost = lost_in_file(path);

		if (lost > tally->lost_at_end)
			tally->lost_at_end = lost;
	}
	return result ? result : trace_lost_rest(sink, tally);
}

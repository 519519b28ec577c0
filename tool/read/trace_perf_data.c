// SPDX-License-Identifier: BSD-2-Clause
/* perf.data: perf alone knows its own format, so `perf script` reads it and we read that. */
#include "read/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int start(const char *path, int *fd, pid_t *pid)
{
	char *argv[] = { "perf", "script", "--ns", "--show-lost-events", "-F",
			 "comm,tid,cpu,time,event,trace", "-i", (char *)(uintptr_t)path, NULL };
	posix_spawn_file_actions_t files;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	err = posix_spawnp(pid, getenv("XSTATE_PERF") ? getenv("XSTATE_PERF") : "perf", &files, NULL,
			   argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	if (err)
		close(ends[0]);
	*fd = ends[0];
	return err;
}

int trace_read_perf_data(const char *path, const struct trace_sink *sink, struct trace_tally *tally,
			 char *err, size_t errlen)
{
	char sentence[300] = "";
	struct trace_input in;
	int fd = -1, status, result, failed;
	pid_t pid;

	failed = start(path, &fd, &pid);
	if (failed) {
		snprintf(err, errlen, "%s: perf, which reads such files, cannot be run: %s", path,
			 strerror(failed));
		return TRACE_CANNOT;
	}
	result = trace_input_of(&in, fd, path);
	if (result)
		snprintf(sentence, sizeof(sentence), "%s: %s", path, in.why);
	else
		result = trace_read_text(&in, sink, tally, sentence, sizeof(sentence));
	trace_input_close(&in);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* A reader that stops early ends perf with SIGPIPE: then ours is the better reason. */
	if (WIFEXITED(status) && WEXITSTATUS(status)) {
		snprintf(err, errlen, "%s: perf script cannot read it", path);
		return -1;
	}
	if (sentence[0])
		snprintf(err, errlen, "%s", sentence);
	return result;
}

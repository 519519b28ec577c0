// SPDX-License-Identifier: BSD-2-Clause
/* perf record: asked what it can see here, and run beside the command. See perf.h. */
#include "record/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/stop.h"
#include "ui/ui.h"

/* Where the kernel begins to use the registers: no tracepoint, but perf makes one with kprobes. */
#define SECTION "kernel_fpu_begin_mask"

/* Groups of tracepoints; the first one must be there. */
static const char *const groups[] = {
	"sched:sched_switch,sched:sched_migrate_task,sched:sched_process_fork,"
	"sched:sched_process_exec,sched:sched_process_exit,sched:sched_process_wait",
	"x86_fpu:x86_fpu_regs_activated,x86_fpu:x86_fpu_regs_deactivated,"
	"x86_fpu:x86_fpu_dropped,x86_fpu:x86_fpu_copy_dst",
	"signal:signal_deliver",
	"syscalls:sys_enter_rt_sigreturn",
	"probe:" SECTION,
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static const char *perf(void)
{
	const char *other = getenv("XSTATE_PERF");

	return other ? other : "perf";
}

/* What perf is run for; undoing is not stopped. */
enum purpose { ASK, UNDO, RECORD };

#define NOT_RUN          (-1)
#define ENDED_BY(signal) (-1 - (signal)) /* and back */

/*
 * Run perf; its exit status, or one of the two above. A signal that comes meanwhile is passed on. Until
 * perf is its own program it would be our handler there that takes it, and perf would never know: it
 * waits until the child has none.
 */
static int run_perf(char *const *argv, enum purpose purpose)
{
	siginfo_t ended;
	sigset_t before;
	int status;
	pid_t pid;

	fflush(NULL);
	sigprocmask(SIG_BLOCK, &record_stop.caught, &before);
	pid = record_stop.by && purpose != UNDO ? -1 : fork();
	if (pid < 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return NOT_RUN;
	}
	if (!pid) {
		for (int i = 1; i < NSIG; i++)
			if (sigismember(&record_stop.caught, i) == 1)
				signal(i, purpose == UNDO ? SIG_IGN : SIG_DFL);
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (purpose != RECORD) {
			const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

			if (null >= 0) {
				dup2(null, STDOUT_FILENO);
				dup2(null, STDERR_FILENO);
			}
		}
		execvp(perf(), argv);
		_exit(126);
	}
	record_stop.running = purpose == UNDO ? 0 : pid;
	sigprocmask(SIG_SETMASK, &before, NULL);
	/* Whoever is passed a signal must still be there. */
	while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	record_stop.running = 0;
	if (waitpid(pid, &status, 0) < 0)
		return NOT_RUN;
	if (!WIFEXITED(status))
		return ENDED_BY(WTERMSIG(status));
	return WEXITSTATUS(status) == 126 ? NOT_RUN : WEXITSTATUS(status);
}

/*
 * Does this kernel have these tracepoints, and may we see them? 0 when it does; one that was ended by a
 * signal has answered nothing.
 */
static int probe(const char *events, const char *file)
{
	char *argv[] = { "perf", "record", "--dry-run", "-q", "-a", "-o", (char *)(uintptr_t)file,
			 "-e", (char *)(uintptr_t)events, "--", "true", NULL };

	return run_perf(argv, ASK);
}

/* perf's probe is made or taken away. 0 when it was; whether it was by one that was ended, nobody knows. */
static int set_probe(bool add)
{
	char *argv[] = { "perf", "probe", "-q", add ? "--add" : "--del",
			 add ? SECTION : "probe:" SECTION, NULL };

	return run_perf(argv, add ? ASK : UNDO);
}

/* Did perf record to the end? Its exit status is the command's; its file's sixth word is the data's size. */
static bool has_recorded(const char *file)
{
	FILE *f = fopen(file, "re");
	uint64_t head[7] = { 0 };
	const size_t n = f ? fread(head, sizeof(head[0]), 7, f) : 0;

	if (f)
		fclose(f);
	return n == 7 && head[6];
}

/* Can there be more in @file? perf says it to nobody when there cannot. 0, or an errno. */
static int try_to_write(const char *file)
{
	static const char page[4096];
	void (*const old)(int) = signal(SIGXFSZ, SIG_IGN);
	const int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : write(fd, page, sizeof(page));
	const int error = n < 0 ? errno : (size_t)n < sizeof(page) ? ENOSPC : 0;

	if (fd >= 0)
		close(fd);
	signal(SIGXFSZ, old);
	return error;
}

/* What perf_record() was asked for. */
struct job {
	const char *cmd, *data;
	char **command;
	int words;
	uint64_t buffer_kib;
};

/* Why perf has recorded nothing that could be read. */
static int tell_unrecorded(const struct job *j, int status)
{
	const char *slash = strrchr(j->data, '/');
	const int error = status == ENDED_BY(SIGXFSZ) ? EFBIG : try_to_write(j->data);

	if (error)
		return ui_error(j->cmd, UI_USAGE, "perf's file cannot be written in %.*s: %s",
				slash ? (int)(slash - j->data) : 1, slash ? j->data : ".", strerror(error));
	if (record_stop.by)
		return record_tell_unstarted(j->cmd, j->command[0]);
	if (status == NOT_RUN)
		return ui_error(j->cmd, UI_CANNOT, "perf is needed and cannot be run");
	if (status < 0)
		return ui_error(j->cmd, UI_CANNOT, "perf was ended by signal %d", ENDED_BY(status));
	return ui_error(j->cmd, UI_CANNOT, "perf cannot record all CPUs here%s",
			geteuid() ? ": be root" : "");
}

/* What perf is asked first must be there. 0, or the exit status. */
static int ask_scheduler(const struct job *j)
{
	const int status = probe(groups[0], j->data);

	if (status <= 0)
		return status ? tell_unrecorded(j, status) : UI_OK;
	if (record_stop.by)
		return record_tell_unstarted(j->cmd, j->command[0]);
	return ui_error(j->cmd, UI_CANNOT, "perf cannot record the scheduler's tracepoints here%s",
			geteuid() ? ": be root" : "");
}

/*
 * Which groups there are, as bits; or the exit status, negative. A signal that ended perf is no answer.
 * @made: out, perf's probe is ours.
 */
static int ask_groups(const struct job *j, bool *made)
{
	int have = 1, status;

	*made = false;
	for (size_t i = GROUPS - 1; i; i--) {
		status = probe(groups[i], j->data);
		/* One that is there already is somebody's and stays. */
		if (status > 0 && i == GROUPS - 1 && !record_stop.by) {
			const int set = set_probe(true);

			*made = !set || set < NOT_RUN;
			status = set ? status : probe(groups[i], j->data);
		}
		if (record_stop.by || status < 0)
			return -tell_unrecorded(j, status);
		have |= status ? 0 : 1 << i;
	}
	return have;
}

/* @have: the groups. 0, or the exit status. */
static int record_groups(const struct job *j, int have)
{
	char **argv = calloc((size_t)j->words + 20, sizeof(*argv));
	char buffer[16] = "4096K";
	unsigned n = 0;
	int status;

	if (j->buffer_kib)
		snprintf(buffer, sizeof(buffer), "%uK", (unsigned)j->buffer_kib);
	if (!argv)
		return ui_error(j->cmd, UI_CANNOT, "out of memory");
	for (const char *const *p = (const char *const[]){ "perf", "record", "-q", "-a", "-m", buffer,
							   "-o", j->data, NULL }; *p; p++)
		argv[n++] = (char *)(uintptr_t)*p;
	for (size_t i = 0; i < GROUPS; i++) {
		if (!(have >> i & 1))
			continue;
		argv[n++] = "-e";
		argv[n++] = (char *)(uintptr_t)groups[i];
	}
	if (!(have & 2))
		ui_note("this kernel has no x86_fpu tracepoints: which slots used the registers will be "
			"assumed");
	argv[n++] = "--";
	memcpy(argv + n, j->command, (size_t)j->words * sizeof(*argv));
	status = run_perf(argv, RECORD);
	free(argv);
	if (!has_recorded(j->data))
		return tell_unrecorded(j, status);
	record_tell_end(j->command[0], status < 0 ? 128 + ENDED_BY(status) : status);
	return UI_OK;
}

int perf_record(const char *cmd, const char *data, char **command, int words, uint64_t buffer_kib,
		bool *sections)
{
	const struct job j = { cmd, data, command, words, buffer_kib };
	bool made = false;
	int status = ask_scheduler(&j), have;

	if (status)
		return status;
	have = ask_groups(&j, &made);
	status = have < 0 ? -have : record_groups(&j, have);
	*sections = have > 0 && have >> (GROUPS - 1) & 1;
	if (made)
		(void)set_probe(false);
	return status;
}

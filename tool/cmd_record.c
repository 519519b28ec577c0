// SPDX-License-Identifier: BSD-2-Clause
/* xstate record: run a command while perf records the machine's switches and FPU events. */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/run.h"
#include "ui/opt.h"
#include "ui/ui.h"

enum { O_OUTPUT = 1, O_KEEP };

static const struct opt options[] = {
	{ O_OUTPUT, 'o', "output", "FILE", "where the trace goes; default trace.xst" },
	{ O_KEEP, 0, "keep", "FILE", "keep perf's own file there" },
	{ 0 },
};

static const struct opt_usage usage = {
	.cmd = "xstate record",
	.summary = "record the switches and FPU events of a workload",
	.synopsis = "[options] -- COMMAND [ARGUMENT...]",
	.about = "Runs COMMAND while perf records all CPUs: task switches, migrations, forks, execs,\n"
		 "exits, handled signals, and the x86_fpu events where the kernel has them. Needs perf\n"
		 "and root. What is written is for 'xstate sim', 16 bytes for each switch.\n",
	.opts = options,
	.examples = "xstate record -- make -j8\nxstate sim trace.xst\n",
};

/* Groups of tracepoints; the first one must be there. */
static const char *const groups[] = {
	"sched:sched_switch,sched:sched_migrate_task,sched:sched_process_fork,"
	"sched:sched_process_exec,sched:sched_process_exit",
	"x86_fpu:x86_fpu_regs_activated,x86_fpu:x86_fpu_regs_deactivated,"
	"x86_fpu:x86_fpu_dropped,x86_fpu:x86_fpu_copy_dst",
	"signal:signal_deliver",
	"syscalls:sys_enter_rt_sigreturn",
	"probe:kernel_fpu_begin_mask",
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static const char *perf(void)
{
	const char *other = getenv("XSTATE_PERF");

	return other ? other : "perf";
}

/* Run perf; its exit status, or -1 when it cannot be run. */
static int run_perf(char *const *argv, bool silent)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		if (silent) {
			const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

			if (null >= 0) {
				dup2(null, STDOUT_FILENO);
				dup2(null, STDERR_FILENO);
			}
		}
		execvp(perf(), argv);
		_exit(126);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	if (!WIFEXITED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status) == 126 ? -1 : WEXITSTATUS(status);
}

/* Does this kernel have these tracepoints, and may we see them? */
static int probe(const char *events, const char *file)
{
	char *argv[] = { "perf", "record", "--dry-run", "-q", "-a", "-o", (char *)(uintptr_t)file,
			 "-e", (char *)(uintptr_t)events, "--", "true", NULL };

	return run_perf(argv, true);
}

/* Did perf get as far as recording? Its exit status is the command's. */
static bool has_recorded(const char *file)
{
	struct stat st;

	return !stat(file, &st) && st.st_size > 0;
}

static int make_temp(char *path, size_t size)
{
	const char *folder = getenv("TMPDIR");
	int fd;

	if ((size_t)snprintf(path, size, "%s/xstate-record.XXXXXX", folder ? folder : "/tmp") >= size)
		return -1;
	fd = mkstemp(path);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static bool is_there(const char *command)
{
	const char *path = getenv("PATH");
	char file[4096];

	if (strchr(command, '/'))
		return !access(command, X_OK);
	for (const char *p = path ? path : ""; *p; ) {
		const size_t n = strcspn(p, ":");

		if ((size_t)snprintf(file, sizeof(file), "%.*s/%s", (int)n, p, command) < sizeof(file) &&
		    !access(file, X_OK))
			return true;
		p += n + (p[n] == ':');
	}
	return false;
}

/* 0, or the exit status. */
static int record(const char *data, char **command, int words)
{
	char **argv = calloc((size_t)words + 20, sizeof(*argv));
	unsigned n = 0, have = 0;
	int status;

	if (!argv)
		return ui_error(usage.cmd, UI_CANNOT, "out of memory");
	status = probe(groups[0], data);
	if (status) {
		free(argv);
		if (status < 0)
			return ui_error(usage.cmd, UI_CANNOT, "perf is needed and cannot be run");
		return ui_error(usage.cmd, UI_CANNOT, "perf cannot record the scheduler's tracepoints "
				"here%s", geteuid() ? ": be root" : "");
	}
	for (const char *const *p = (const char *const[]){ "perf", "record", "-q", "-a", "-m", "1024",
							   "-o", data, NULL }; *p; p++)
		argv[n++] = (char *)(uintptr_t)*p;
	for (size_t i = 0; i < GROUPS; i++) {
		if (i && probe(groups[i], data))
			continue;
		have |= 1u << i;
		argv[n++] = "-e";
		argv[n++] = (char *)(uintptr_t)groups[i];
	}
	if (!(have & 2))
		ui_note("this kernel has no x86_fpu tracepoints: which slots used the registers will be "
			"assumed");
	argv[n++] = "--";
	memcpy(argv + n, command, (size_t)words * sizeof(*argv));
	status = run_perf(argv, false);
	free(argv);
	if (!has_recorded(data))
		return ui_error(usage.cmd, UI_CANNOT, "perf cannot record all CPUs here%s",
				geteuid() ? ": be root" : "");
	if (status)
		ui_note("%s ended with status %d", command[0], status);
	return UI_OK;
}

int cmd_record(int argc, char **argv)
{
	const char *output = "trace.xst", *keep = NULL;
	char data[4096], err[400];
	struct sim_totals n;
	struct opt_parser p;
	int id, first = 0, status;

	opt_begin(&p, &usage, argc, argv);
	while (!first && (id = opt_next(&p)) != OPT_END) {
		if (id == O_OUTPUT)
			output = p.arg;
		else if (id == O_KEEP)
			keep = p.arg;
		else if (id == OPT_ARG)
			first = p.pos - 1;
		else
			return p.status;
	}
	if (!first)
		return ui_error(usage.cmd, UI_USAGE, "name a command after '--'");
	if (!is_there(argv[first]))
		return ui_error(usage.cmd, UI_USAGE, "%s: no such command", argv[first]);
	if (make_temp(data, sizeof(data)))
		return ui_error(usage.cmd, UI_CANNOT, "no temporary file can be made: %s",
				strerror(errno));
	status = record(data, argv + first, argc - first);
	if (status == UI_OK) {
		const int bad = sim_convert(data, output, SLOTS_SIGNALS_AUTO, &n, err, sizeof(err));

		if (bad)
			status = ui_error(usage.cmd, UI_CANNOT, "%s", err);
	}
	if (status == UI_OK)
		ui_note("%s: %.1f s, %llu switches, %llu slots in user mode, %llu events lost", output,
			(double)n.span_ns / 1e9, (unsigned long long)n.switches,
			(unsigned long long)n.user_slots, (unsigned long long)n.lost_events);
	if (status == UI_OK && keep && rename(data, keep))
		status = ui_error(usage.cmd, UI_USAGE, "cannot write %s: %s", keep, strerror(errno));
	unlink(data);
	return status;
}

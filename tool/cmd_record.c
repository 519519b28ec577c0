// SPDX-License-Identifier: BSD-2-Clause
/*
 * xstate record: run a command while the machine's switches and FPU events are recorded, by programs
 * in the kernel (record/bpf.h) or by perf.
 */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/bpf.h"
#include "sim/run.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/outfile.h"
#include "ui/ui.h"

enum { O_OUTPUT = 1, O_WITH, O_BUFFER, O_KEEP };

static const struct opt options[] = {
	{ O_OUTPUT, 'o', "output", "FILE", "where the trace goes; default trace.xst" },
	{ O_WITH, 0, "with", "HOW", "bpf, perf, or auto: bpf where it can; default auto" },
	{ O_BUFFER, 0, "buffer", "KIB", "for events that wait to be taken: a power of two;\nperf's is for each CPU" },
	{ O_KEEP, 0, "keep", "FILE", "keep perf's own file there; with perf" },
	{ 0 },
};

static const struct opt_usage usage = {
	.cmd = "xstate record",
	.summary = "record the switches and FPU events of a workload",
	.synopsis = "[options] -- COMMAND [ARGUMENT...]",
	.about = "Runs COMMAND while all CPUs are recorded: task switches, migrations, forks, execs,\n"
		 "exits, handled signals and x86_fpu events. Programs in the kernel do it (BPF), which also\n"
		 "compare saved images and so tell slots that used the registers; where they cannot run,\n"
		 "perf does. Needs root. What is written is for 'xstate sim', 16 bytes for each switch.\n",
	.opts = options,
	.examples = "xstate record -- make -j8\nxstate sim trace.xst\n",
};

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

#define BUFFER_MOST (1u << 20) /* KiB */

static uint64_t buffer_kib; /* 0: as much as should do */

static const char *perf(void)
{
	const char *other = getenv("XSTATE_PERF");

	return other ? other : "perf";
}

static volatile sig_atomic_t stopped; /* the signal that asked for an end */
static volatile pid_t running;         /* perf, or 0 */
static sigset_t caught;                /* the signals that ask for it */

/* perf takes it as the end of the recording, and ends the command. */
static void stop(int number)
{
	stopped = number;
	if (running)
		kill(running, SIGINT);
}

/* From here on a signal ends the recording, and not us: perf and its file would be left behind. */
static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction new = { .sa_handler = stop }, old;

	sigemptyset(&new.sa_mask);
	sigemptyset(&caught);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN &&
		    !sigaction(numbers[i], &new, NULL))
			sigaddset(&caught, numbers[i]);
}

/* One that came before there was anything to end. */
static int tell_unstarted(const char *command)
{
	return ui_error(usage.cmd, 128 + stopped, "stopped by signal %d before %s was started: nothing "
			"is written", (int)stopped, command);
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
	sigprocmask(SIG_BLOCK, &caught, &before);
	pid = stopped && purpose != UNDO ? -1 : fork();
	if (pid < 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return NOT_RUN;
	}
	if (!pid) {
		for (int i = 1; i < NSIG; i++)
			if (sigismember(&caught, i) == 1)
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
	running = purpose == UNDO ? 0 : pid;
	sigprocmask(SIG_SETMASK, &before, NULL);
	/* Whoever is passed a signal must still be there. */
	while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	running = 0;
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

/* Why perf has recorded nothing that could be read. */
static int tell_unrecorded(const char *file, const char *command, int status)
{
	const char *slash = strrchr(file, '/');
	const int error = status == ENDED_BY(SIGXFSZ) ? EFBIG : try_to_write(file);

	if (error)
		return ui_error(usage.cmd, UI_USAGE, "perf's file cannot be written in %.*s: %s",
				slash ? (int)(slash - file) : 1, slash ? file : ".", strerror(error));
	if (stopped)
		return tell_unstarted(command);
	if (status == NOT_RUN)
		return ui_error(usage.cmd, UI_CANNOT, "perf is needed and cannot be run");
	if (status < 0)
		return ui_error(usage.cmd, UI_CANNOT, "perf was ended by signal %d", ENDED_BY(status));
	return ui_error(usage.cmd, UI_CANNOT, "perf cannot record all CPUs here%s",
			geteuid() ? ": be root" : "");
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

static void tell_end(const char *command, int status)
{
	if (stopped)
		ui_note("stopped by signal %d: the trace ends there", (int)stopped);
	else if (status)
		ui_note("%s ended with status %d", command, status);
}

/* What perf is asked first must be there. 0, or the exit status. */
static int ask_scheduler(const char *data, const char *command)
{
	const int status = probe(groups[0], data);

	if (status <= 0)
		return status ? tell_unrecorded(data, command, status) : UI_OK;
	if (stopped)
		return tell_unstarted(command);
	return ui_error(usage.cmd, UI_CANNOT, "perf cannot record the scheduler's tracepoints here%s",
			geteuid() ? ": be root" : "");
}

/*
 * Which groups there are, as bits; or the exit status, negative. A signal that ended perf is no answer.
 * @made: out, perf's probe is ours.
 */
static int ask_groups(const char *data, const char *command, bool *made)
{
	int have = 1, status;

	*made = false;
	for (size_t i = GROUPS - 1; i; i--) {
		status = probe(groups[i], data);
		/* One that is there already is somebody's and stays. */
		if (status > 0 && i == GROUPS - 1 && !stopped) {
			const int set = set_probe(true);

			*made = !set || set < NOT_RUN;
			status = set ? status : probe(groups[i], data);
		}
		if (stopped || status < 0)
			return -tell_unrecorded(data, command, status);
		have |= status ? 0 : 1 << i;
	}
	return have;
}

/* @have: the groups. 0, or the exit status. */
static int record_groups(const char *data, char **command, int words, int have)
{
	char **argv = calloc((size_t)words + 20, sizeof(*argv));
	char buffer[16] = "4096K";
	unsigned n = 0;
	int status;

	if (buffer_kib)
		snprintf(buffer, sizeof(buffer), "%uK", (unsigned)buffer_kib);
	if (!argv)
		return ui_error(usage.cmd, UI_CANNOT, "out of memory");
	for (const char *const *p = (const char *const[]){ "perf", "record", "-q", "-a", "-m", buffer,
							   "-o", data, NULL }; *p; p++)
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
	memcpy(argv + n, command, (size_t)words * sizeof(*argv));
	status = run_perf(argv, RECORD);
	free(argv);
	if (!has_recorded(data))
		return tell_unrecorded(data, command[0], status);
	tell_end(command[0], status < 0 ? 128 + ENDED_BY(status) : status);
	return UI_OK;
}

/* @sections: out, the kernel's sections will be seen. 0, or the exit status. */
static int record(const char *data, char **command, int words, bool *sections)
{
	bool made = false;
	int status = ask_scheduler(data, command[0]), have;

	if (status)
		return status;
	have = ask_groups(data, command[0], &made);
	status = have < 0 ? -have : record_groups(data, command, words, have);
	*sections = have > 0 && have >> (GROUPS - 1) & 1;
	if (made)
		(void)set_probe(false);
	return status;
}

/* perf's own file, copied where it shall be kept. */
static int keep_data(const char *data, struct outfile *to)
{
	const char *path = to->path;
	char buf[65536];
	FILE *from = fopen(data, "re");
	bool ok = from;
	size_t n;

	while (ok && (n = fread(buf, 1, sizeof(buf), from)))
		ok = fwrite(buf, 1, n, to->f) == n;
	ok = ok && !ferror(from) && outfile_commit(to);
	if (!ok)
		ui_error(usage.cmd, UI_USAGE, "cannot write %s: %s", path, strerror(errno));
	if (from)
		fclose(from);
	return ok ? UI_OK : UI_USAGE;
}

/*
 * Does this kernel hash its random pool in vector registers? Its symbols tell, where they may be
 * read; where not, it does, as most do.
 */
static enum slots_sections pool_sections(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	enum slots_sections answer = SLOTS_SECTIONS_AUTO;
	char line[1024];

	while (f && fgets(line, sizeof(line), f)) {
		answer = SLOTS_SECTIONS_NONE;
		if (strstr(line, " blake2s_compress_ssse3\n")) {
			answer = SLOTS_SECTIONS_AUTO;
			break;
		}
	}
	if (f)
		fclose(f);
	return answer;
}

/* What the recording has. */
static void sum_up(const char *path, const struct sim_totals *n)
{
	char used[80] = "", assumed[60] = "";
	struct jw w;

	if (ui.json) {
		jw_begin(&w, stdout, ui.pretty);
		jw_object(&w, NULL);
		jw_string(&w, "schema", "xstate.record/1");
		jw_string(&w, "file", path);
		jw_u64(&w, "span_ns", n->span_ns);
		jw_u64(&w, "switches", n->switches);
		jw_u64(&w, "switches_assumed", n->switches_assumed);
		jw_u64(&w, "user_slots", n->user_slots);
		jw_u64(&w, "used_slots", n->used_slots);
		jw_u64(&w, "digest_slots", n->digest_slots);
		jw_u64(&w, "lost_events", n->lost_events);
		jw_u64(&w, "gaps", n->gaps);
		jw_end(&w);
		jw_finish(&w);
	}
	if (n->digest_slots)
		snprintf(used, sizeof(used), ", %llu of them used the registers",
			 (unsigned long long)n->used_slots);
	if (n->switches_assumed)
		snprintf(assumed, sizeof(assumed), ", %llu of them assumed",
			 (unsigned long long)n->switches_assumed);
	ui_note("%s: %.1f s, %llu switches%s, %llu slots in user mode%s, %llu events lost, %llu gap%s", path,
		(double)n->span_ns / 1e9, (unsigned long long)n->switches, assumed,
		(unsigned long long)n->user_slots, used, (unsigned long long)n->lost_events,
		(unsigned long long)n->gaps, n->gaps == 1 ? "" : "s");
	if (n->lost_events || sim_has_many_gaps(n))
		ui_note("a part of what happened is missing in it%s: record again with a larger --buffer, or "
			"the other of --with bpf and --with perf",
			n->lost_events ? "" : ", though nobody reported events as lost");
}

#ifdef HAVE_BPF
struct bpf_run {
	struct bpf_recorder *recorder;
	char **command;
	bool begun;
};

static int run_bpf(void *arg, const struct trace_sink *sink, char *err, size_t errlen)
{
	struct bpf_run *b = arg;
	int status, failed;

	if (stopped)
		return -1;
	b->begun = true;
	failed = bpf_recorder_run(b->recorder, b->command, sink, &stopped, &status);
	if (failed && status)
		snprintf(err, errlen, "%s cannot be run: %s", b->command[0], strerror(status));
	if (!failed)
		tell_end(b->command[0], status);
	return failed;
}

/* UI_CANNOT and no word when this machine cannot; @why says it. */
static int make_bpf(char **command, struct outfile *out, char *why, size_t size)
{
	/* Before anything is recorded: it takes a while. */
	const enum slots_sections assumed = pool_sections();
	struct bpf_run b = { bpf_recorder_open((uint32_t)buffer_kib << 10, why, size), command, false };
	const struct sim_feed feed = { run_bpf, &b };
	const char *path = out->path;
	struct sim_totals n;
	char err[400];
	int failed;

	if (!b.recorder)
		return UI_CANNOT;
	why[0] = '\0';
	failed = sim_record(&feed, out, assumed, &n, err, sizeof(err));
	bpf_recorder_close(b.recorder);
	if (failed && stopped && !b.begun)
		return tell_unstarted(command[0]);
	if (failed)
		return ui_error(usage.cmd, failed == SIM_UNWRITTEN ? UI_USAGE : UI_CANNOT, "%s", err);
	sum_up(path, &n);
	return UI_OK;
}
#else
static int make_bpf(char **command, struct outfile *out, char *why, size_t size)
{
	(void)command;
	(void)out;
	snprintf(why, size, "this build was made without libbpf or clang");
	return UI_CANNOT;
}
#endif

/* By perf: from the command to both files. */
static int make(const char *data, char **command, int words, struct outfile *out, struct outfile *keep)
{
	const char *path = out->path;
	struct sim_totals n;
	enum slots_sections assumed;
	bool sections = false;
	char err[400];
	int status = record(data, command, words, &sections), failed;

	if (status == UI_OK && keep->f)
		status = keep_data(data, keep);
	if (status != UI_OK)
		return status;
	assumed = sections ? SLOTS_SECTIONS_NONE : pool_sections();
	failed = sim_convert(data, out, assumed, &n, err, sizeof(err));
	if (failed)
		return ui_error(usage.cmd, failed == SIM_UNWRITTEN ? UI_USAGE : UI_CANNOT, "%s", err);
	sum_up(path, &n);
	return UI_OK;
}

/* Both places are tried before anything is run. */
static int open_outputs(const char *output, const char *keep, struct outfile *out, struct outfile *kept)
{
	const char *const paths[] = { output, keep };
	struct outfile *const files[] = { out, kept };

	if (keep && (!strcmp(keep, output) || outfile_same(keep, output)))
		return ui_error(usage.cmd, UI_USAGE, "--keep and -o name the same file");
	for (int i = 0; i < 2; i++)
		if (paths[i] && !outfile_open(files[i], paths[i]))
			return ui_error(usage.cmd, UI_USAGE, "cannot write %s: %s", paths[i],
					strerror(errno));
	return UI_OK;
}

/* auto, bpf or perf. */
enum { WITH_AUTO, WITH_BPF, WITH_PERF };

static int read_with(struct opt_parser *p, int *with)
{
	static const char *const names[] = { "auto", "bpf", "perf" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(p->arg, names[i])) {
			*with = i;
			return UI_OK;
		}
	opt_bad(p, "auto, bpf or perf");
	return p->status;
}

static int read_buffer(struct opt_parser *p)
{
	if (!opt_get_u64(p, 4, BUFFER_MOST, &buffer_kib))
		return p->status;
	if (buffer_kib & (buffer_kib - 1)) {
		opt_bad(p, "a power of two");
		return p->status;
	}
	return UI_OK;
}

static int make_any(int with, char **command, int words, struct outfile *out, struct outfile *keep)
{
	char data[4096], why[300] = "";
	int status;

	if (with != WITH_PERF) {
		status = make_bpf(command, out, why, sizeof(why));
		if (status != UI_CANNOT || !why[0])
			return status;
		if (stopped)
			return tell_unstarted(command[0]);
		if (with == WITH_BPF)
			return ui_error(usage.cmd, UI_CANNOT, "BPF programs cannot record here: %s",
					why);
	}
	if (make_temp(data, sizeof(data)))
		return ui_error(usage.cmd, geteuid() ? UI_CANNOT : UI_USAGE,
				"no temporary file can be made%s%s: %s%s",
				getenv("TMPDIR") ? " in " : "", getenv("TMPDIR") ? getenv("TMPDIR") : "",
				strerror(errno), geteuid() ? "; and recording needs root" : "");
	status = make(data, command, words, out, keep);
	if (status == UI_OK && why[0])
		ui_note("recorded by perf, which cannot tell used slots from live ones, since BPF "
			"programs cannot record here: %s", why);
	unlink(data);
	return status;
}

int cmd_record(int argc, char **argv)
{
	const char *output = "trace.xst", *keep = NULL;
	struct outfile out = { 0 }, kept = { 0 };
	int id, first = 0, status, with = WITH_AUTO;
	struct opt_parser p;

	opt_begin(&p, &usage, argc, argv);
	while (!first && (id = opt_next(&p)) != OPT_END) {
		if (id == O_OUTPUT)
			output = p.arg;
		else if (id == O_KEEP)
			keep = p.arg;
		else if (id == O_WITH && read_with(&p, &with) == UI_OK)
			continue;
		else if (id == O_BUFFER && read_buffer(&p) == UI_OK)
			continue;
		else if (id == OPT_ARG)
			first = p.pos - 1;
		else
			return p.status;
	}
	if (!first)
		return ui_error(usage.cmd, UI_USAGE, "name a command after '--'");
	if (keep && with == WITH_BPF)
		return ui_error(usage.cmd, UI_USAGE,
				"--keep is perf's file, and --with bpf uses no perf");
	if (!is_there(argv[first]))
		return ui_error(usage.cmd, UI_USAGE, access(argv[first], F_OK) || !strchr(argv[first], '/')
				? "%s: no such command" : "%s is no program that may be run", argv[first]);
	catch_signals();
	status = open_outputs(output, keep, &out, &kept);
	if (status == UI_OK)
		status = make_any(keep ? WITH_PERF : with, argv + first, argc - first, &out, &kept);
	outfile_drop(&out);
	outfile_drop(&kept);
	return status;
}

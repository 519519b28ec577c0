// SPDX-License-Identifier: BSD-2-Clause
/*
 * The loop over running emulators. Bochs ignores SIGTERM and, after a triple
 * fault, never ends; QEMU ends with status 0 then. So an emulator is given a
 * process group of its own, is watched by its output alone, and is killed with
 * SIGKILL as soon as its last line is there or it has been silent for too long.
 */
#include "lab/run.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ui/progress.h"

#define PARALLEL_MAX 64
#define LINE_MAX_BYTES 8192
#define STEPS_PER_JOB  1000
#define OUTPUT_MAX     (16u << 20) /* a kernel that floods us is stopped */

/* One emulator that is running. */
struct slot {
	struct lab_job *job; /* NULL: free */
	pid_t pid;
	int out;
	FILE *log;
	char folder[PATH_MAX];
	char line[LINE_MAX_BYTES];
	size_t used;
	uint64_t bytes;
	uint64_t begun_ms, heard_ms;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	remove(path);
	return 0;
}

static void remove_folder(const char *path)
{
	if (*path)
		nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void lab_job_args(const struct lab_plan *plan, const struct lab_job *job, char *buf, size_t size)
{
	char loops[40] = "";

	if (plan->loops)
		snprintf(loops, sizeof(loops), " loops=%" PRIu64, plan->loops);
	snprintf(buf, size, "experiment=%s policy=%s cpus=%u seed=0x%" PRIx64 "%s%s%s",
		 job->experiment->name, job->policy, job->cpus, plan->seed, loops,
		 plan->extra ? " " : "", plan->extra ? plan->extra : "");
}

static void judge(const struct lab_plan *plan, struct lab_job *job, const char *ending)
{
	struct lab_asked asked = {
		.experiment = job->experiment->name,
		.policy = job->policy,
		.cpus = job->cpus,
		.seed = plan->seed,
	};

	lab_result_judge(&job->result, &asked, ending);
}

/* In the child: become the emulator. Only async-signal-safe calls. */
static void become(char *const argv[], const char *folder, int out, int err)
{
	int null = open("/dev/null", O_RDONLY);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(err, STDERR_FILENO) < 0 || chdir(folder))
		_exit(126);
	execvp(argv[0], argv);
	_exit(127);
}

static bool spawn(struct slot *s, char *const argv[], const char *err_path)
{
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC))
		return false;
	err = open(err_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	s->pid = err < 0 ? -1 : fork();
	if (s->pid == 0)
		become(argv, s->folder, fds[1], err);
	if (err >= 0)
		close(err);
	close(fds[1]);
	if (s->pid < 0) {
		close(fds[0]);
		return false;
	}
	setpgid(s->pid, s->pid); /* both sides do: whoever is first */
	s->out = fds[0];
	fcntl(s->out, F_SETFL, O_NONBLOCK);
	return true;
}

/* Write down how this run can be had again by hand. */
static void note_command(const struct slot *s, char *const argv[], const char *args)
{
	char path[PATH_MAX + 16];
	FILE *f;

	snprintf(path, sizeof(path), "%s/command", s->folder);
	f = fopen(path, "w");
	if (!f)
		return;
	for (int i = 0; argv[i]; i++)
		fprintf(f, "%s%s", i ? " " : "", argv[i]);
	fprintf(f, "\n# lab: %s\n", args);
	fclose(f);
}

static bool start(const struct lab_plan *plan, struct slot *s, struct lab_job *job,
		  const char *top, size_t number)
{
	char rom[PATH_MAX + 16], path[PATH_MAX + 16], args[1200], text[4 * PATH_MAX];
	char *argv[LAB_ARGV_MAX];
	struct lab_start how;

	memset(s, 0, sizeof(*s));
	snprintf(s->folder, sizeof(s->folder), "%s/%zu", top, number);
	if (mkdir(s->folder, 0700))
		return false;
	snprintf(rom, sizeof(rom), "%s/lab.rom", s->folder);
	lab_job_args(plan, job, args, sizeof(args));
	how = (struct lab_start){ job->machine, rom, s->folder, job->cpus };
	if (!lab_rom_write(plan->rom, args, plan->sequence, rom) ||
	    !lab_machine_argv(&how, text, sizeof(text), argv))
		goto failed;
	note_command(s, argv, args);
	snprintf(path, sizeof(path), "%s/output", s->folder);
	s->log = fopen(path, "w");
	snprintf(path, sizeof(path), "%s/errors", s->folder);
	if (!s->log || !spawn(s, argv, path))
		goto failed;
	s->job = job;
	s->begun_ms = ui_now_ms();
	s->heard_ms = s->begun_ms;
	return true;
failed:
	if (s->log)
		fclose(s->log);
	remove_folder(s->folder);
	return false;
}

static int kill_and_reap(struct slot *s)
{
	int status = 0;

	kill(-s->pid, SIGKILL);
	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

/* The last line an emulator left in @name that says anything. */
static void last_words(const struct slot *s, const char *name, char *buf, size_t size)
{
	char path[PATH_MAX + 16], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", s->folder, name);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\r\n")] = '\0';
		if (line[strspn(line, " \t=")])
			snprintf(buf, size, "%.*s", (int)size - 1, line);
	}
	if (f)
		fclose(f);
}

/* How an emulator ended that did so without the lab's EXIT line. */
static void describe_end(const struct slot *s, int status, char *buf, size_t size)
{
	const char *name = lab_tool(s->job->machine->emulator)->name;
	char words[200] = "";

	last_words(s, "errors", words, sizeof(words));
	if (!WIFEXITED(status))
		snprintf(buf, size, "%s died of signal %d%s%s", name, WTERMSIG(status),
			 *words ? ": " : "", words);
	else if (s->job->result.boot && !WEXITSTATUS(status))
		snprintf(buf, size,
			 "the machine reset itself before EXIT, as after a triple fault");
	else
		snprintf(buf, size, "%s ended with status %d before EXIT%s%s", name,
			 WEXITSTATUS(status), *words ? ": " : "", words);
}

/* The run is over; @ending says how when it was not by the lab's own EXIT. */
static void finish(const struct lab_plan *plan, struct slot *s, const char *ending, bool ended)
{
	char buf[400];
	int status;

	if (ended) {
		/* The output ended by itself, so the process is about to end or has. */
		for (int i = 0; i < 200; i++) {
			pid_t got = waitpid(s->pid, &status, WNOHANG);

			if (got == s->pid) {
				kill(-s->pid, SIGKILL); /* whatever it may have left behind */
				describe_end(s, status, buf, sizeof(buf));
				ending = buf;
				break;
			}
			poll(NULL, 0, 5);
		}
		if (!ending) {
			kill_and_reap(s);
			ending = "the output ended before EXIT";
		}
	} else {
		kill_and_reap(s);
	}
	close(s->out);
	fclose(s->log);
	judge(plan, s->job, ending);
	if (s->job->result.status == LAB_FAILED || plan->keep_all)
		snprintf(s->job->kept, sizeof(s->job->kept), "%s", s->folder);
	else
		remove_folder(s->folder);
	s->job = NULL;
}

/*
 * Blanks before a line are not the lab's: without pseudo-terminals (/dev/pts) Bochs draws
 * its empty screen into the same output.
 */
static void add_to_line(struct slot *s, char c)
{
	if (c == '\r' || (!s->used && (unsigned char)c <= ' ') || s->used + 1 == sizeof(s->line))
		return;
	s->line[s->used++] = c ? c : '?';
}

/* Take in what is there; true when the run is over. */
static bool listen_to(const struct lab_plan *plan, struct slot *s)
{
	char chunk[4096];
	ssize_t n;

	while ((n = read(s->out, chunk, sizeof(chunk))) > 0) {
		fwrite(chunk, 1, (size_t)n, s->log);
		s->heard_ms = ui_now_ms();
		s->bytes += (uint64_t)n;
		for (ssize_t i = 0; i < n; i++) {
			if (chunk[i] != '\n') {
				add_to_line(s, chunk[i]);
				continue;
			}
			s->line[s->used] = '\0';
			s->used = 0;
			lab_result_line(&s->job->result, s->line);
			if (s->job->result.end != LAB_END_NONE) {
				finish(plan, s, NULL, false);
				return true;
			}
		}
		if (s->bytes > OUTPUT_MAX) {
			finish(plan, s, "the output does not end", false);
			return true;
		}
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		finish(plan, s, NULL, true);
		return true;
	}
	return false;
}

/* Stop what takes too long; true when the run is over. */
static bool watch(const struct lab_plan *plan, struct slot *s)
{
	uint64_t now = ui_now_ms();
	char ending[80];

	if (now - s->heard_ms >= plan->quiet_ms)
		snprintf(ending, sizeof(ending), "no sign of life for %g s",
			 (double)plan->quiet_ms / 1000);
	else if (now - s->begun_ms >= plan->timeout_ms)
		snprintf(ending, sizeof(ending), "not done after %g s",
			 (double)plan->timeout_ms / 1000);
	else
		return false;
	finish(plan, s, ending, false);
	return true;
}

static uint64_t steps_done(const struct slot *slots, unsigned parallel, size_t finished)
{
	uint64_t steps = finished * STEPS_PER_JOB;

	for (unsigned i = 0; i < parallel; i++) {
		const struct lab_result *r;

		if (!slots[i].job)
			continue;
		r = &slots[i].job->result;
		if (r->total)
			steps += (r->done < r->total ? r->done : r->total) * (STEPS_PER_JOB - 1) /
				 r->total;
	}
	return steps;
}

/* The loop proper: keep the slots filled until every job has its verdict. */
static void run_all(struct lab_plan *plan, struct slot *slots, const char *top,
		    struct progress *bar)
{
	struct pollfd fds[PARALLEL_MAX];
	size_t next = 0, finished = 0;
	unsigned n;

	while (!interrupted && finished < plan->count) {
		for (unsigned i = 0; i < plan->parallel; i++) {
			struct lab_job *job;

			while (!slots[i].job && next < plan->count) {
				job = &plan->jobs[next];
				if (!job->machine->usable) {
					job->result.status = LAB_SKIPPED;
					snprintf(job->result.reason, sizeof(job->result.reason),
						 "%s", job->machine->reason);
					finished++;
				} else if (!start(plan, &slots[i], job, top, next)) {
					job->result.status = LAB_FAILED;
					snprintf(job->result.reason, sizeof(job->result.reason),
						 "cannot start %s in %.200s: %s", job->machine->name,
						 top, strerror(errno));
					finished++;
				}
				next++;
			}
		}
		n = 0;
		for (unsigned i = 0; i < plan->parallel; i++)
			if (slots[i].job)
				fds[n++] = (struct pollfd){ slots[i].out, POLLIN, 0 };
		if (!n)
			continue;
		poll(fds, n, 100);
		for (unsigned i = 0; i < plan->parallel && !interrupted; i++)
			if (slots[i].job &&
			    (listen_to(plan, &slots[i]) || watch(plan, &slots[i])))
				finished++;
		progress_update(bar, steps_done(slots, plan->parallel, finished));
	}
}

static void stop_all(struct lab_plan *plan, struct slot *slots)
{
	for (unsigned i = 0; i < plan->parallel; i++) {
		if (!slots[i].job)
			continue;
		kill_and_reap(&slots[i]);
		close(slots[i].out);
		fclose(slots[i].log);
	}
}

bool lab_run(struct lab_plan *plan, char *why, size_t size)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction act = { .sa_handler = on_signal }, old[3];
	const char *tmp = getenv("TMPDIR");
	char top[PATH_MAX / 2];
	struct progress bar;
	struct slot *slots;

	if (plan->parallel < 1 || plan->parallel > PARALLEL_MAX)
		plan->parallel = plan->parallel ? PARALLEL_MAX : 1;
	snprintf(top, sizeof(top), "%s/xstate-lab.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(top)) {
		snprintf(why, size, "cannot make a folder %s: %s", top, strerror(errno));
		return false;
	}
	slots = calloc(plan->parallel, sizeof(*slots));
	if (!slots) {
		remove_folder(top);
		snprintf(why, size, "out of memory");
		return false;
	}
	for (size_t i = 0; i < 3; i++)
		sigaction(signals[i], &act, &old[i]);
	progress_begin(&bar, "running the lab", plan->progress ? plan->count * STEPS_PER_JOB : 0);
	bar.shown &= plan->progress;
	run_all(plan, slots, top, &bar);
	progress_end(&bar);
	if (interrupted) {
		stop_all(plan, slots);
		remove_folder(top);
	} else {
		rmdir(top); /* stays when a failed run's folder is in it */
	}
	free(slots);
	for (size_t i = 0; i < 3; i++)
		sigaction(signals[i], &old[i], NULL);
	if (interrupted) {
		if (plan->give_up)
			plan->give_up(plan->give_up_argument);
		signal(interrupted, SIG_DFL);
		raise(interrupted);
	}
	return true;
}

void lab_probe_kvm(const struct lab_rom *rom)
{
	static struct lab_machine probe = { .name = "kvm:host", .emulator = LAB_KVM,
					    .model = "host", .usable = true };
	static bool probed;
	struct lab_job job = { .experiment = lab_experiment_find("yield"), .machine = &probe,
			       .policy = "eager", .cpus = 1 };
	struct lab_plan plan = { .rom = rom, .jobs = &job, .count = 1, .parallel = 1,
				 .seed = 1, .loops = 100, .timeout_ms = 20000,
				 .quiet_ms = 5000 };
	const char *reason = lab_tool(LAB_KVM)->reason;
	char why[500];

	if (probed || strcmp(reason, "not probed"))
		return;
	probed = true;
	if (!lab_run(&plan, why, sizeof(why))) {
		lab_tool_set_kvm(why);
	} else if (job.result.status == LAB_OK) {
		lab_tool_set_kvm(NULL);
	} else {
		snprintf(why, sizeof(why), "a probe does not run under KVM here: %.200s",
			 job.result.reason);
		lab_tool_set_kvm(why);
	}
	if (*job.kept) {
		remove_folder(job.kept);
		*strrchr(job.kept, '/') = '\0';
		rmdir(job.kept);
	}
	lab_result_free(&job.result);
}

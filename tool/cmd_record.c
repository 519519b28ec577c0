// SPDX-License-Identifier: BSD-2-Clause
/*
 * xstate record: run a command while the machine's switches and FPU events are recorded, by programs
 * in the kernel (record/bpf.h) or by perf (record/perf.h).
 */
#include "cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/bpf.h"
#include "record/perf.h"
#include "record/stop.h"
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

#define BUFFER_MOST (1u << 20) /* KiB */

static uint64_t buffer_kib; /* 0: as much as should do */

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

	if (record_stop.by)
		return -1;
	b->begun = true;
	failed = bpf_recorder_run(b->recorder, b->command, sink, &record_stop.by, &status);
	if (failed && status)
		snprintf(err, errlen, "%s cannot be run: %s", b->command[0], strerror(status));
	if (!failed)
		record_tell_end(b->command[0], status);
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
	if (failed && record_stop.by && !b.begun)
		return record_tell_unstarted(usage.cmd, command[0]);
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
	int status = perf_record(usage.cmd, data, command, words, buffer_kib, &sections), failed;

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
		if (record_stop.by)
			return record_tell_unstarted(usage.cmd, command[0]);
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
	record_stop_catch();
	status = open_outputs(output, keep, &out, &kept);
	if (status == UI_OK)
		status = make_any(keep ? WITH_PERF : with, argv + first, argc - first, &out, &kept);
	outfile_drop(&out);
	outfile_drop(&kept);
	return status;
}

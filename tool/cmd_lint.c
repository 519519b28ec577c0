// SPDX-License-Identifier: BSD-2-Clause
/*
 * xstate lint: in-kernel FPU use, checked in the binary. The work is in lint/; this reads
 * the command line and picks how to report.
 */
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ui/opt.h"
#include "ui/ui.h"

#ifndef XSTATE_LINT

int cmd_lint(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return ui_error("xstate lint", UI_CANNOT, "it was left out of this build; %s",
	                XSTATE_LINT_MISSING);
}

#else

#include <errno.h>

#include "lint/run.h"
#include "ui/outfile.h"
#include "ui/table.h"

#define CMD "xstate lint"

enum {
	OPT_PROFILE = 1,
	OPT_CONFIG,
	OPT_FORMAT,
	OPT_BASELINE,
	OPT_WRITE,
	OPT_NOTES,
	OPT_EXPLAIN,
	OPT_DEBUG,
	OPT_NO_LINES,
	OPT_JOBS,
	OPT_PROFILES,
};

static const struct opt options[] = {
        {OPT_PROFILE, 'P', "profile", "NAME",
         "the protocol to check: linux-6.1, linux-6.12, zfs or none\n"
         "(default: by the kernel a module was built for)"},
        {OPT_CONFIG, 'c', "config", "FILE",
         "facts of your own, added to the profile\n"
         "(default: xstate-lint.conf in the current folder, when there is one)"},
        {OPT_FORMAT, 0, "format", "FORMAT", "text, json or sarif"},
        {OPT_NOTES, 'n', "notes", NULL, "list notes one by one, not only errors"},
        {OPT_BASELINE, 'b', "baseline", "FILE", "report only findings that FILE does not hold"},
        {OPT_WRITE, 0, "write-baseline", "FILE",
         "write all findings of this run to FILE;\n"
         "they are accepted then, and the exit status is 0"},
        {OPT_EXPLAIN, 0, "explain", "RULE",
         "why a rule matters and how to mend it; all: every rule"},
        {OPT_DEBUG, 0, "debug-dir", "DIR",
         "where separate debug files are (default /usr/lib/debug)"},
        {OPT_NO_LINES, 0, "no-lines", NULL, "do not look for source lines"},
        {OPT_JOBS, 0, "jobs", "N", "files to read at once (default: one for each CPU)"},
        {OPT_PROFILES, 0, "show-profile", "NAME", "print a built-in profile"},
        {0},
};

static const struct opt_usage usage = {
        .cmd = CMD,
        .summary = "find FPU use outside kernel_fpu_begin() and kernel_fpu_end(), in the binary",
        .synopsis = "FILE... [options]",
        .about = "FILE is an object (.o), a module (.ko), a kernel (vmlinux, vmlinuz) or an "
                 "archive (.a, thin ones too), also\n"
                 "packed with xz, zstd or gzip; - is stdin. Files given together are checked "
                 "together, so that\n"
                 "calls between them are followed. Exit status: 0 no errors, 1 errors, 2 a file "
                 "was unreadable.\n",
        .opts = options,
        .examples = "xstate lint drivers/my/my.ko\n"
                    "xstate lint /lib/modules/$(uname -r)/kernel/arch/x86/crypto/*.ko*\n"
                    "xstate lint --profile none kernel.elf      a kernel built without FP\n"
                    "xstate lint --write-baseline known.txt my.ko\n"
                    "xstate lint --baseline known.txt my.ko     only what is new\n"
                    "xstate lint --explain mask-under\n",
};

static int explain(const char *name)
{
	int only = lint_rule_by_name(name), i;

	if (only < 0 && strcmp(name, "all") != 0)
		return ui_error(CMD, UI_USAGE, "there is no rule %s; --explain all lists them",
		                name);
	for (i = 0; i < RULES; i++) {
		const struct lint_rule_info *r = &lint_rules[i];

		if (only >= 0 && i != only)
			continue;
		printf("%s%s %s%s (%s)\n    ", ui_on(stdout, UI_HEAD), r->id, r->name,
		       ui_off(stdout, UI_HEAD),
		       r->severity == SEV_ERROR     ? "error"
		       : r->severity == SEV_WARNING ? "warning"
		                                    : "note");
		ui_paragraph(stdout, 4, r->why);
		printf("    ");
		ui_paragraph(stdout, 4, r->mend);
	}
	return UI_OK;
}

static int show_profile(const char *name)
{
	const char *text = lint_conf_profile_text(name);

	if (!text)
		return ui_error(
		        CMD, UI_USAGE,
		        "there is no profile %s; there are linux-6.1, linux-6.12, zfs and none",
		        name);
	fputs(text, stdout);
	return UI_OK;
}

struct request {
	struct lint_run run;
	struct lint_show show;
	const char *format;
	const char *write;
	struct outfile out; /* opened before the work: an impossible place is told at once */
	char **files;
	size_t nfiles;
};

static int report(struct request *q)
{
	struct lint_run *run = &q->run;
	size_t i, errors = 0;
	char why[512];

	if (q->show.baseline && !lint_baseline_read(&run->graph->found, q->show.baseline,
	                                            &q->show.fixed, why, sizeof(why))) {
		if (q->write)
			outfile_drop(&q->out);
		return ui_error(CMD, UI_USAGE, "%s", why);
	}
	if (q->write && !lint_baseline_write(&run->graph->found, &q->out))
		return ui_error(CMD, UI_USAGE, "%s cannot be written: %s", q->write,
		                strerror(errno));
	if (run->lines)
		lint_lines(run);
	if (!strcmp(q->format, "json"))
		lint_print_json(run, &q->show);
	else if (!strcmp(q->format, "sarif"))
		lint_print_sarif(run, &q->show);
	else
		lint_print_text(run, &q->show);
	for (i = 0; i < run->graph->found.n; i++) {
		const struct lint_finding *f = &run->graph->found.list[i];

		errors += f->severity == SEV_ERROR && !f->known;
	}
	/* What was written down just now is accepted. */
	if (q->write)
		errors = 0;
	/* Errors come before documents in JSON mode, where `unreadable` says the same. */
	for (i = 0; i < run->nfailed && strcmp(q->format, "text") == 0; i++)
		ui_error(CMD, UI_USAGE, "%s %s", run->failed[i].path, run->failed[i].why);
	if (run->nfailed)
		return UI_USAGE;
	return errors ? UI_NO : UI_OK;
}

int cmd_lint(int argc, char **argv)
{
	struct request q = {.run = {.lines = true}};
	struct opt_parser p;
	uint64_t v;
	char why[512];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int o, status = UI_OK;
	size_t i;

	q.run.threads = cpus > 0 ? (unsigned)cpus : 1;
	q.files = calloc((size_t)argc + 1, sizeof(*q.files));
	if (!q.files)
		return ui_error(CMD, UI_CANNOT, "out of memory");
	opt_begin(&p, &usage, argc, argv);
	while ((o = opt_next(&p)) != OPT_END) {
		switch (o) {
		case OPT_ARG:
			q.files[q.nfiles++] = (char *)(uintptr_t)p.arg;
			break;
		case OPT_PROFILE:
			q.run.profile = p.arg;
			break;
		case OPT_CONFIG:
			q.run.config = p.arg;
			break;
		case OPT_FORMAT:
			if (strcmp(p.arg, "text") && strcmp(p.arg, "json") &&
			    strcmp(p.arg, "sarif")) {
				opt_bad(&p, "text, json or sarif");
				status = p.status;
				goto out;
			}
			q.format = p.arg;
			break;
		case OPT_NOTES:
			q.show.notes = true;
			break;
		case OPT_BASELINE:
			q.show.baseline = p.arg;
			break;
		case OPT_WRITE:
			q.write = p.arg;
			break;
		case OPT_EXPLAIN:
			status = explain(p.arg);
			goto out;
		case OPT_PROFILES:
			status = show_profile(p.arg);
			goto out;
		case OPT_DEBUG:
			q.run.debug_dir = p.arg;
			break;
		case OPT_NO_LINES:
			q.run.lines = false;
			break;
		case OPT_JOBS:
			if (!opt_get_u64(&p, 1, 64, &v)) {
				status = p.status;
				goto out;
			}
			q.run.threads = (unsigned)v;
			break;
		default:
			status = p.status;
			goto out;
		}
	}
	if (!q.format)
		q.format = ui.json ? "json" : "text";
	if (!q.nfiles) {
		status = ui_error(CMD, UI_USAGE,
		                  "name the files to check; xstate lint --help has examples");
		goto out;
	}
	if (!q.run.config && access("xstate-lint.conf", R_OK) == 0)
		q.run.config = "xstate-lint.conf";
	if (q.write && !outfile_open(&q.out, q.write)) {
		status = ui_error(CMD, UI_USAGE, "%s cannot be written: %s", q.write,
		                  strerror(errno));
		goto out;
	}
	if (!lint_run(&q.run, q.files, q.nfiles, why, sizeof(why))) {
		if (q.write)
			outfile_drop(&q.out);
		/* A document of no results says which files could not be read. */
		if (q.run.nfailed && q.run.graph && !strcmp(q.format, "sarif"))
			lint_print_sarif(&q.run, &q.show);
		status = q.run.nfailed ? UI_USAGE : ui_error(CMD, UI_USAGE, "%s", why);
		for (i = 0; i < q.run.nfailed && (!i || !ui.json); i++)
			status = ui_error(CMD, UI_USAGE, "%s %s", q.run.failed[i].path,
			                  q.run.failed[i].why);
	} else {
		status = report(&q);
	}
	lint_run_free(&q.run);
out:
	free(q.files);
	return status;
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
/*
 * xstate: the command. It only finds the verb; each verb is a file of its own.
 *
 *   main.c           this map, the verbs, --version
 *
 *   cmd.h            the verbs' functions
 *   cmd_lab.c        xstate lab: boot the lab and compare switching policies
 *
 *   lab/             running the lab
 *     experiment.h   the experiments
 *     machine.h      emulators, their versions and command lines
 *     rom.h          the image and its arguments
 *     run.h          many boots, a few at a time
 *     result.h       what a boot said, and the verdict on it
 *     print.h        table and JSON
 *     words.h        what the counts mean
 *     list.h         xstate lab list
 *
 *   ui/              manners, shared by all verbs
 *     ui.h           settings, errors and exit statuses, colours
 *     opt.h          options, help texts, verbs (opt.c); values (value.c)
 *     table.h        tables for people
 *     json.h         the JSON writer
 *     progress.h     the progress bar
 *     utf8.h         text that may hold anything
 *
 *   read/            input formats, one file each
 *     cpu.h          "CPU" on a command line: host, dump or our JSON (cpu.c, host.c)
 *     cpuid_r.c      cpuid -r
 *     instlatx64.c   InstLatx64 and AIDA64
 *     libcpuid.c     libcpuid raw
 *     cpu_json.c     Firecracker's JSON and our own
 *     file.h         a whole file, with a limit
 */
#include <string.h>

#include "cmd.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/ui.h"

static int cmd_version(int argc, char **argv);

/* Verbs that exist, in the order a newcomer meets them. */
static const struct opt_verb verbs[] = {
#ifdef HAVE_JANSSON
	{ "lab", "eager or lazy? Boot a small kernel on emulated CPUs and count", cmd_lab },
#endif
	{ "version", NULL, cmd_version },
	{ NULL, NULL, NULL },
};

static const struct opt options[] = {
	{ 1, 'V', "version", NULL, "print the version" },
	{ 0 },
};

static const struct opt_usage usage = {
	.cmd = "xstate",
	.summary = "the x86 extended state (FPU, SSE, AVX, AVX-512, PKRU, CET, AMX) with evidence",
	.synopsis = "COMMAND ...",
	.about = "Every command has its own --help. Exit status: 0 yes or done, 1 the verdict is no,\n"
		 "2 wrong usage or unreadable input, 3 this machine cannot do it.\n",
	.opts = options,
	.examples = "xstate lab run        eager or lazy? Boot a small kernel and count, a minute\n"
		    "xstate lab --help     what the lab can do\n",
};

static int cmd_version(int argc, char **argv)
{
	struct jw w;

	(void)argc;
	(void)argv;
	if (!ui.json) {
		printf("xstate %s\n", XSTATE_VERSION);
		return UI_OK;
	}
	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", "xstate.version/1");
	jw_string(&w, "version", XSTATE_VERSION);
	jw_end(&w);
	jw_finish(&w);
	return UI_OK;
}

int main(int argc, char **argv)
{
	opt_scan_common(argc, argv);
	return ui_flush(opt_dispatch(&usage, verbs, argc, argv));
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Finding emulators and starting them. The image is QEMU's -bios and Bochs'
 * romimage; no disk, no firmware, no display. Both print the lab's text on stdout.
 */
#include "lab/machine.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ERRATA(bochs-2.7-xsavec): before 3.1 compacted images are wrong in one way or another. */
#define BOCHS_MAJOR 3
#define BOCHS_MINOR 1

extern char **environ;

static struct lab_tool tools[LAB_EMULATORS] = {
	[LAB_QEMU] = { .name = "qemu" },
	[LAB_BOCHS] = { .name = "bochs" },
	[LAB_KVM] = { .name = "kvm" },
};
static bool looked[LAB_EMULATORS];

/* The first bytes of what a command prints on stdout and stderr; false if it cannot start. */
static bool output_of(char *const argv[], char *buf, size_t size)
{
	posix_spawn_file_actions_t actions;
	size_t used = 0;
	ssize_t n;
	pid_t child;
	int fds[2], error;
	char rest[4096];

	buf[0] = '\0';
	if (pipe(fds))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO);
	posix_spawn_file_actions_addclose(&actions, fds[0]);
	posix_spawn_file_actions_addclose(&actions, fds[1]);
	error = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (!error) {
		do {
			bool full = used + 1 >= size;

			n = full ? read(fds[0], rest, sizeof(rest)) :
				   read(fds[0], buf + used, size - 1 - used);
			if (n > 0 && !full)
				used += (size_t)n;
		} while (n > 0 || (n < 0 && errno == EINTR));
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	close(fds[0]);
	buf[used] = '\0';
	return !error;
}

/* What follows @before in @text, as long as it looks like a version number. */
static bool find_version(const char *text, const char *before, char *version, size_t size)
{
	const char *at = strstr(text, before);
	size_t len;

	if (!at)
		return false;
	at += strlen(before);
	len = strspn(at, "0123456789.");
	if (!len || len >= size)
		return false;
	snprintf(version, size, "%.*s", (int)len, at);
	return true;
}

static bool program_version(const char *program, const char *option, const char *before,
			    char *version, size_t size)
{
	char text[4096];
	char *argv[] = { (char *)program, (char *)option, NULL };

	return output_of(argv, text, sizeof(text)) && find_version(text, before, version, size);
}

static void find_qemu(struct lab_tool *t)
{
	const char *given = getenv("XSTATE_QEMU");

	snprintf(t->program, sizeof(t->program), "%s", given ? given : "qemu-system-x86_64");
	t->usable = program_version(t->program, "--version", "QEMU emulator version ",
				    t->version, sizeof(t->version));
	if (!t->usable)
		snprintf(t->reason, sizeof(t->reason),
			 given ? "XSTATE_QEMU does not name a QEMU" :
				 "no QEMU here; type: apt-get install qemu-system-x86");
}

static bool bochs_is_new_enough(const char *version)
{
	char *end;
	unsigned long major = strtoul(version, &end, 10);
	unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;

	return major > BOCHS_MAJOR || (major == BOCHS_MAJOR && minor >= BOCHS_MINOR);
}

/* The folder that scripts/bochs.sh fills. */
static bool private_bochs(char *folder, size_t size)
{
	const char *own = getenv("XSTATE_BOCHS_DIR"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (own && *own)
		return snprintf(folder, size, "%s", own) < (int)size;
	if (cache && *cache)
		return snprintf(folder, size, "%s/xstate/bochs", cache) < (int)size;
	return home && snprintf(folder, size, "%s/.cache/xstate/bochs", home) < (int)size;
}

static void find_bochs(struct lab_tool *t)
{
	static const char says[] = "Bochs x86 Emulator ";
	const char *given = getenv("XSTATE_BOCHS");
	char folder[PATH_MAX - 16] = "", system[32] = "";

	snprintf(t->vga_bios, sizeof(t->vga_bios), "/usr/share/bochs/VGABIOS-lgpl-latest");
	snprintf(t->program, sizeof(t->program), "%s", given ? given : "bochs");
	if (program_version(t->program, "--help", says, t->version, sizeof(t->version)) &&
	    bochs_is_new_enough(t->version)) {
		t->usable = true;
		return;
	}
	if (given) {
		snprintf(t->reason, sizeof(t->reason),
			 "XSTATE_BOCHS does not name a Bochs of at least %d.%d", BOCHS_MAJOR,
			 BOCHS_MINOR);
		return;
	}
	memcpy(system, t->version, sizeof(system));
	if (private_bochs(folder, sizeof(folder))) {
		snprintf(t->program, sizeof(t->program), "%s/bochs", folder);
		snprintf(t->vga_bios, sizeof(t->vga_bios),
			 "%s/root/usr/share/bochs/VGABIOS-lgpl-latest", folder);
		if (program_version(t->program, "--help", says, t->version, sizeof(t->version)) &&
		    bochs_is_new_enough(t->version)) {
			t->usable = true;
			return;
		}
	}
	if (*system)
		snprintf(t->reason, sizeof(t->reason),
			 "Bochs %s writes XSAVEC and XSAVES images wrongly, %d.%d is wanted; type: "
			 "make bochs",
			 system, BOCHS_MAJOR, BOCHS_MINOR);
	else
		snprintf(t->reason, sizeof(t->reason), "no Bochs here; type: make bochs");
}

static void find_kvm(struct lab_tool *t)
{
	const struct lab_tool *qemu = lab_tool(LAB_QEMU);

	memcpy(t->program, qemu->program, sizeof(t->program));
	memcpy(t->version, qemu->version, sizeof(t->version));
	if (!qemu->usable)
		snprintf(t->reason, sizeof(t->reason), "%s", qemu->reason);
	else if (access("/dev/kvm", R_OK | W_OK))
		snprintf(t->reason, sizeof(t->reason), "/dev/kvm cannot be opened: %s",
			 strerror(errno));
	else
		snprintf(t->reason, sizeof(t->reason), "not probed");
}

const struct lab_tool *lab_tool(enum lab_emulator emulator)
{
	struct lab_tool *t = &tools[emulator];

	if (looked[emulator])
		return t;
	looked[emulator] = true;
	if (emulator == LAB_QEMU)
		find_qemu(t);
	else if (emulator == LAB_BOCHS)
		find_bochs(t);
	else
		find_kvm(t);
	return t;
}

void lab_tool_set_kvm(const char *reason)
{
	struct lab_tool *t = &tools[LAB_KVM];

	t->usable = !reason;
	snprintf(t->reason, sizeof(t->reason), "%s", reason ? reason : "");
}

/* Is @word one of the words in @text? Models are listed that way by both emulators. */
static bool has_word(const char *text, const char *word)
{
	static const char part[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-.";
	size_t len = strlen(word);

	for (const char *at = text; *at;) {
		size_t n = strspn(at, part);

		if (n == len && !memcmp(at, word, len))
			return true;
		at += n ? n : 1;
	}
	return false;
}

static bool model_exists(const struct lab_machine *m, const struct lab_tool *t)
{
	static char text[64 * 1024];
	char *qemu[] = { (char *)t->program, (char *)"-cpu", (char *)"help", NULL };
	char *bochs[] = { (char *)t->program, (char *)"--help", (char *)"cpu", NULL };

	/* An emulator that does not list its models is asked to try. */
	return !output_of(m->emulator == LAB_BOCHS ? bochs : qemu, text, sizeof(text)) ||
	       has_word(text, m->model);
}

bool lab_machine_parse(const char *word, struct lab_machine *m, char *why, size_t size)
{
	const char *colon = strchr(word, ':');
	const struct lab_tool *t;
	int e;

	memset(m, 0, sizeof(*m));
	for (e = 0; e < LAB_EMULATORS; e++)
		if (colon && strlen(tools[e].name) == (size_t)(colon - word) &&
		    !memcmp(tools[e].name, word, (size_t)(colon - word)))
			break;
	/* The model becomes part of command lines and of Bochs' configuration. */
	if (e == LAB_EMULATORS || !colon[1] || strlen(colon + 1) >= sizeof(m->model) ||
	    strspn(colon + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789_-.") != strlen(colon + 1)) {
		snprintf(why, size,
			 "'%s' is no machine; say qemu:MODEL, bochs:MODEL or kvm:host", word);
		return false;
	}
	if (e == LAB_KVM && strcmp(colon + 1, "host")) {
		snprintf(why, size, "KVM has one model: say kvm:host");
		return false;
	}
	snprintf(m->name, sizeof(m->name), "%s", word);
	snprintf(m->model, sizeof(m->model), "%s", colon + 1);
	m->emulator = (enum lab_emulator)e;
	t = lab_tool(m->emulator);
	m->usable = t->usable;
	snprintf(m->reason, sizeof(m->reason), "%s", t->reason);
	if (m->usable && m->emulator != LAB_KVM && !model_exists(m, t)) {
		snprintf(why, size, "%s %s has no CPU model '%s'; %s lists them", t->name,
			 t->version, m->model,
			 m->emulator == LAB_BOCHS ? "'bochs --help cpu'" :
						    "'qemu-system-x86_64 -cpu help'");
		return false;
	}
	return true;
}

/* Words of a command, collected in one buffer. */
struct words {
	char *text;
	size_t size, used;
	char **argv;
	int argc;
	bool full;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w->text + w->used, w->size - w->used, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= w->size - w->used || w->argc + 1 >= LAB_ARGV_MAX) {
		w->full = true;
		return;
	}
	w->argv[w->argc++] = w->text + w->used;
	w->argv[w->argc] = NULL;
	w->used += (size_t)n + 1;
}

static void qemu_words(const struct lab_start *s, struct words *w)
{
	const struct lab_machine *m = s->machine;

	add(w, "%s", lab_tool(m->emulator)->program);
	add(w, "-accel");
	if (m->emulator == LAB_KVM)
		add(w, "kvm");
	else
		add(w, "tcg%s", s->cpus > 1 ? ",thread=multi" : "");
	add(w, "-cpu");
	/* ERRATA(qemu-bndmov): MPX stays off. */
	if (m->emulator == LAB_KVM)
		add(w, "host");
	else
		add(w, "%s%s,-mpx", m->model, strcmp(m->model, "max") ? "" : ",+svm");
	add(w, "-smp");
	add(w, "%u", s->cpus);
	add(w, "-m");
	add(w, "64");
	add(w, "-display");
	add(w, "none");
	add(w, "-no-reboot");
	add(w, "-nodefaults");
	add(w, "-device");
	add(w, "isa-debug-exit,iobase=0xf4,iosize=4");
	add(w, "-debugcon");
	add(w, "stdio");
	add(w, "-bios");
	add(w, "%s", s->rom);
	/* One CPU and a clock that counts instructions: every run is the same run. */
	if (m->emulator == LAB_QEMU && s->cpus == 1) {
		add(w, "-icount");
		add(w, "shift=0");
	}
}

static bool write_file(const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;
	bool ok;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return false;
	f = fopen(path, "w");
	if (!f)
		return false;
	ok = fputs(text, f) >= 0;
	return fclose(f) == 0 && ok;
}

static bool bochs_words(const struct lab_start *s, struct words *w)
{
	char rc[3 * PATH_MAX];
	const struct lab_tool *t = lab_tool(LAB_BOCHS);
	int n;

	n = snprintf(rc, sizeof(rc),
		     "megs: 64\n"
		     "romimage: file=%s\n"
		     "vgaromimage: file=%s\n"
		     "plugin_ctrl: speaker=0, biosdev=0, parallel=0, serial=0\n"
		     "sound: waveoutdrv=dummy\n"
		     "pci: enabled=0\n"
		     "ata0: enabled=0\n"
		     "cpu: model=%s, count=%u, ips=50000000, reset_on_triple_fault=0\n"
		     "clock: sync=none, time0=1\n"
		     "display_library: term\n"
		     "port_e9_hack: enabled=1\n"
		     "panic: action=fatal\n"
		     "error: action=report\n"
		     "info: action=ignore\n"
		     "debug: action=ignore\n"
		     "log: bochs.log\n",
		     s->rom, t->vga_bios, s->machine->model, s->cpus);
	if (n < 0 || (size_t)n >= sizeof(rc) || !write_file(s->folder, "bochsrc", rc))
		return false;
	/* A debugger build stops at its prompt until told to continue. */
	if (!write_file(s->folder, "rc", "c\nq\n"))
		return false;
	add(w, "env");
	add(w, "TERM=dumb"); /* its terminal display insists on one */
	add(w, "%s", t->program);
	add(w, "-q");
	add(w, "-f");
	add(w, "bochsrc");
	add(w, "-rc");
	add(w, "rc");
	return true;
}

bool lab_machine_argv(const struct lab_start *s, char *text, size_t size,
		      char *argv[LAB_ARGV_MAX])
{
	struct words w = { .text = text, .size = size, .argv = argv };

	argv[0] = NULL;
	if (s->machine->emulator == LAB_BOCHS) {
		if (!bochs_words(s, &w))
			return false;
	} else {
		qemu_words(s, &w);
	}
	return !w.full;
}

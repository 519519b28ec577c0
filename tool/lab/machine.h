/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machines the lab can boot on: an emulator and a CPU model, "qemu:max". Which
 * emulators are here, which version, and how each is started.
 */
#ifndef LAB_MACHINE_H
#define LAB_MACHINE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum lab_emulator { LAB_QEMU, LAB_BOCHS, LAB_KVM, LAB_EMULATORS };

struct lab_machine {
	char name[72]; /* as asked for, "bochs:tigerlake" */
	enum lab_emulator emulator;
	char model[48];
	bool usable;
	char reason[256]; /* why not */
};

/* An emulator on this machine; found once. */
struct lab_tool {
	const char *name; /* "qemu" */
	bool usable;
	char program[PATH_MAX];
	char version[32];
	char vga_bios[PATH_MAX + 64]; /* Bochs wants one although nothing is drawn */
	char reason[256];	      /* why it is not usable, and what would help */
};

/**
 * lab_tool() - what is known about an emulator; looks for it on the first call.
 *
 * XSTATE_QEMU and XSTATE_BOCHS name the program to use instead of looking. KVM is
 * usable only after lab_tool_set_kvm(): that needs an image that really ran.
 */
const struct lab_tool *lab_tool(enum lab_emulator emulator);

/**
 * lab_tool_set_kvm() - the outcome of booting a probe image under KVM.
 * @reason: why it failed; NULL when it ran.
 */
void lab_tool_set_kvm(const char *reason);

/**
 * lab_machine_parse() - understand "EMULATOR:MODEL".
 * @why: receives the sentence when it is refused.
 *
 * A machine whose emulator is missing is understood, and not usable. A model that
 * the emulator says it does not have is refused.
 *
 * Return: false when it makes no sense.
 */
bool lab_machine_parse(const char *word, struct lab_machine *m, char *why, size_t size);

/* Everything needed to start one emulator. */
struct lab_start {
	const struct lab_machine *machine;
	const char *rom;    /* absolute path of the image */
	const char *folder; /* private folder, the emulator's working directory */
	unsigned cpus;
};

#define LAB_ARGV_MAX 40

/**
 * lab_machine_argv() - the command that starts @s; writes the files it wants into the folder.
 * @argv: receives the words, which live in @text, and a final NULL.
 *
 * Return: false when a file could not be written or the words do not fit.
 */
bool lab_machine_argv(const struct lab_start *s, char *text, size_t size,
		      char *argv[LAB_ARGV_MAX]);

#endif

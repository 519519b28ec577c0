/* SPDX-License-Identifier: BSD-2-Clause */
/* The lab's image: finding it, and writing copies that carry a command line. */
#ifndef LAB_ROM_H
#define LAB_ROM_H

#include <stdbool.h>
#include <stddef.h>

struct lab_rom {
	char path[4096];
	unsigned char *bytes;
	size_t size;
	size_t args_off;     /* where the command line goes */
	size_t sequence_off; /* where a sequence for `replay` goes; 0: nowhere */
};

#define LAB_SEQUENCE_MAX 49135 /* characters */

/**
 * lab_rom_load() - read the image.
 * @path: the file, or NULL: beside this command in the build tree (lab/lab.rom), else
 *        where it is installed.
 * @why:  receives the sentence when that fails.
 *
 * Return: false when there is none, or it is not one that takes a command line.
 */
bool lab_rom_load(struct lab_rom *rom, const char *path, char *why, size_t size);

/**
 * lab_rom_write() - write a copy with command line @args to @path.
 * @sequence: events for `replay`, at most LAB_SEQUENCE_MAX characters; NULL: none.
 *
 * Return: false when something is too long or the file cannot be written.
 */
bool lab_rom_write(const struct lab_rom *rom, const char *args, const char *sequence,
		   const char *path);

/**
 * lab_sequence_read() - the text of a file with events for `replay`.
 * @why: receives the sentence when it cannot be read or does not fit.
 *
 * Return: the caller's to free, or NULL.
 */
char *lab_sequence_read(const char *path, char *why, size_t size);

void lab_rom_free(struct lab_rom *rom);

#endif

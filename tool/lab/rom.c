// SPDX-License-Identifier: BSD-2-Clause
/*
 * The image and its command line. Bochs has no way to hand a kernel arguments, so
 * they are written into the image: behind a magic that occurs exactly once.
 */
#include "lab/rom.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC	   "XSTLAB-ARGS-v1\0" /* 16 bytes with the literal's own NUL */
#define SEQUENCE_MAGIC "XSTLAB-SEQS-v1\0"
#define MAGIC_SIZE 16
#define ARGS_BYTES 1008
#define ROM_MAX	   (16u << 20)

_Static_assert(sizeof(MAGIC) == MAGIC_SIZE && sizeof(SEQUENCE_MAGIC) == MAGIC_SIZE,
	       "a magic is 16 bytes");

/* Is FOLDER/NAME there? Then it is in @path. */
static bool try(const char *folder, const char *name, char *path, size_t size)
{
	return snprintf(path, size, "%s/%s", folder, name) < (int)size && !access(path, R_OK);
}

/* Beside this command in the build tree; installed, as PREFIX/bin/xstate; as configured. */
static bool find(char *path, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	if (strrchr(self, '/'))
		*strrchr(self, '/') = '\0';
	return try(self, "lab/lab.rom", path, size) ||
	       try(self, "../lib/xstate/lab.rom", path, size) ||
	       try(XSTATE_LIBDIR, "lab.rom", path, size);
}

char *lab_sequence_read(const char *path, char *why, size_t size)
{
	char *text = malloc(LAB_SEQUENCE_MAX + 2);
	FILE *f = fopen(path, "r");
	size_t used = 0;

	if (!f || !text) {
		snprintf(why, size, "cannot read %s: %s", path, strerror(errno));
	} else {
		used = fread(text, 1, LAB_SEQUENCE_MAX + 1, f);
		text[used] = '\0';
		if (ferror(f) || !used || strlen(text) != used)
			snprintf(why, size, "%s: no sequence of events", path);
		else if (used > LAB_SEQUENCE_MAX)
			snprintf(why, size, "%s: more than %u characters", path, LAB_SEQUENCE_MAX);
		else
			goto out;
	}
	free(text);
	text = NULL;
out:
	if (f)
		fclose(f);
	return text;
}

static bool read_all(struct lab_rom *rom, char *why, size_t size)
{
	FILE *f = fopen(rom->path, "rb");
	bool ok;

	if (!f) {
		snprintf(why, size, "cannot read %s: %s", rom->path, strerror(errno));
		return false;
	}
	rom->bytes = malloc(ROM_MAX + 1);
	rom->size = rom->bytes ? fread(rom->bytes, 1, ROM_MAX + 1, f) : 0;
	ok = rom->bytes && !ferror(f) && rom->size && rom->size <= ROM_MAX;
	fclose(f);
	if (!ok)
		snprintf(why, size, "cannot read %s: not a lab image", rom->path);
	return ok;
}

/* The one place behind @magic, 0 if there is none or more, and how many there are. */
static size_t find_place(const struct lab_rom *rom, const char *magic, size_t bytes, unsigned *count)
{
	unsigned char *end = rom->bytes + rom->size, *at = rom->bytes, *found = NULL;

	*count = 0;
	while ((at = memmem(at, (size_t)(end - at), magic, MAGIC_SIZE)) != NULL) {
		found = at;
		++*count;
		at += MAGIC_SIZE;
	}
	if (*count != 1 || (size_t)(end - found) < MAGIC_SIZE + bytes)
		return 0;
	return (size_t)(found - rom->bytes) + MAGIC_SIZE;
}

static bool find_places(struct lab_rom *rom, char *why, size_t size)
{
	unsigned count, sequences;

	rom->args_off = find_place(rom, MAGIC, ARGS_BYTES, &count);
	/* Images without `replay` are good for everything else. */
	rom->sequence_off = find_place(rom, SEQUENCE_MAGIC, LAB_SEQUENCE_MAX + 1, &sequences);
	if (!rom->args_off)
		snprintf(why, size,
			 "%s is not a lab image: the place for arguments occurs %u times, not once",
			 rom->path, count);
	return rom->args_off != 0;
}

bool lab_rom_load(struct lab_rom *rom, const char *path, char *why, size_t size)
{
	memset(rom, 0, sizeof(*rom));
	if (path) {
		snprintf(rom->path, sizeof(rom->path), "%s", path);
	} else if (!find(rom->path, sizeof(rom->path))) {
		snprintf(why, size, "no lab.rom beside this command or in %s; give one with --rom",
			 XSTATE_LIBDIR);
		return false;
	}
	if (read_all(rom, why, size) && find_places(rom, why, size))
		return true;
	lab_rom_free(rom);
	return false;
}

/* Zeros up to the end of the place, so that what was there is gone. */
static void put(unsigned char *bytes, size_t at, size_t place, const char *text)
{
	memset(bytes + at, 0, place);
	memcpy(bytes + at, text, strlen(text));
}

bool lab_rom_write(const struct lab_rom *rom, const char *args, const char *sequence,
		   const char *path)
{
	unsigned char *copy;
	FILE *f;
	bool ok;

	if (strlen(args) >= ARGS_BYTES ||
	    (sequence && (!rom->sequence_off || strlen(sequence) > LAB_SEQUENCE_MAX)))
		return false;
	copy = malloc(rom->size);
	f = copy ? fopen(path, "wb") : NULL;
	if (!f) {
		free(copy);
		return false;
	}
	memcpy(copy, rom->bytes, rom->size);
	put(copy, rom->args_off, ARGS_BYTES, args);
	if (sequence)
		put(copy, rom->sequence_off, LAB_SEQUENCE_MAX + 1, sequence);
	ok = fwrite(copy, 1, rom->size, f) == rom->size;
	free(copy);
	return fclose(f) == 0 && ok;
}

void lab_rom_free(struct lab_rom *rom)
{
	free(rom->bytes);
	rom->bytes = NULL;
}

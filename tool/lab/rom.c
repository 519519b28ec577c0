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
#define MAGIC_SIZE 16
#define ARGS_BYTES 1008
#define ROM_MAX	   (16u << 20)

_Static_assert(sizeof(MAGIC) == MAGIC_SIZE, "the magic is 16 bytes");

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

static bool find_args(struct lab_rom *rom, char *why, size_t size)
{
	unsigned char *end = rom->bytes + rom->size, *at = rom->bytes, *found = NULL;
	unsigned count = 0;

	while ((at = memmem(at, (size_t)(end - at), MAGIC, MAGIC_SIZE)) != NULL) {
		found = at;
		count++;
		at += MAGIC_SIZE;
	}
	if (count != 1 || (size_t)(end - found) < MAGIC_SIZE + ARGS_BYTES) {
		snprintf(why, size,
			 "%s is not a lab image: the place for arguments occurs %u times, not once",
			 rom->path, count);
		return false;
	}
	rom->args_off = (size_t)(found - rom->bytes) + MAGIC_SIZE;
	return true;
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
	if (read_all(rom, why, size) && find_args(rom, why, size))
		return true;
	lab_rom_free(rom);
	return false;
}

bool lab_rom_write(const struct lab_rom *rom, const char *args, const char *path)
{
	size_t len = strlen(args), after = rom->args_off + ARGS_BYTES;
	char block[ARGS_BYTES] = { 0 };
	FILE *f;
	bool ok;

	if (len >= sizeof(block))
		return false;
	memcpy(block, args, len);
	f = fopen(path, "wb");
	if (!f)
		return false;
	ok = fwrite(rom->bytes, 1, rom->args_off, f) == rom->args_off &&
	     fwrite(block, 1, sizeof(block), f) == sizeof(block) &&
	     fwrite(rom->bytes + after, 1, rom->size - after, f) == rom->size - after;
	return fclose(f) == 0 && ok;
}

void lab_rom_free(struct lab_rom *rom)
{
	free(rom->bytes);
	rom->bytes = NULL;
}

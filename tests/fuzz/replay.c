// SPDX-License-Identifier: BSD-2-Clause
/*
 * A harness without a fuzzer: every file of the folders named, every beginning of it, and a few
 * thousand random changes of it. So the harnesses are tests that any compiler can build.
 *
 *	replay [-s SEED] FOLDER...
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX (1u << 20)
#define CHANGES   400u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* The sanitizers see a read behind the end only when the allocation ends there. */
static void one(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		abort();
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static unsigned long replay(const char *path)
{
	static uint8_t data[INPUT_MAX], changed[INPUT_MAX];
	FILE *f = fopen(path, "rb");
	size_t size, step;
	unsigned long runs = 0;

	if (!f)
		return 0;
	size = fread(data, 1, sizeof(data), f);
	fclose(f);
	one(data, size);
	step = size / 200 + 1;
	for (size_t n = 0; n < size; n += step, runs++)
		one(data, n);
	for (unsigned c = 0; c < CHANGES && size; c++, runs++) {
		memcpy(changed, data, size);
		for (uint64_t k = next() % 4; k < 4; k++)
			changed[next() % size] = (uint8_t)(next() % 3 ? next() : 0xff);
		one(changed, size);
	}
	return runs + 1;
}

int main(int argc, char **argv)
{
	unsigned long runs = 0, files = 0;
	int first = 1;

	state = 20240229;
	if (argc > 2 && !strcmp(argv[1], "-s")) {
		state = strtoull(argv[2], NULL, 0) | 1;
		first = 3;
	}
	printf("seed %llu\n", (unsigned long long)state);
	for (int i = first; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		struct dirent *e;

		while (dir && (e = readdir(dir))) {
			char path[4096];
			unsigned long n;

			if (e->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], e->d_name);
			n = replay(path);
			files += n != 0;
			runs += n;
		}
		if (dir)
			closedir(dir);
	}
	printf("%lu files, %lu inputs\n", files, runs);
	return files ? 0 : 1;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Register sets of any task, read at any place: the part is that of the whole, nothing is written
 * behind it, the task stays as it is; and the whole, written into another task, is read back.
 */
#include "fuzz_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t whole[FRAMES_BYTES], part[FRAMES_BYTES];
	const enum xst_regset set = (enum xst_regset)(size >= FUZZ_HEAD ? data[1] >> 4 & 3 : 0);
	size_t offset, count, want = 0;
	int bytes, got;

	if (size < FUZZ_HEAD)
		return 0;
	fuzz_task(data, size);
	bytes = xst_regset_bytes(&frames.sys, frames.t.mask, set, NULL);
	frames_remember(&frames);
	memset(whole, 0x3c, sizeof(whole));
	got = xst_regset_get(&frames.t, set, 0, whole, sizeof(whole), NULL);
	if (got != bytes || !frames_unchanged(&frames))
		abort();
	if (bytes < 0)
		return 0;
	offset = xst_get16(data, 10);
	count = xst_get16(data, 12) % FRAMES_BYTES;
	if (offset < (size_t)bytes)
		want = count < (size_t)bytes - offset ? count : (size_t)bytes - offset;
	memset(part, 0x5a, sizeof(part));
	if (xst_regset_get(&frames.t, set, offset, part, count, NULL) != (int)want ||
	    !frames_unchanged(&frames) || memcmp(part, whole + offset % FRAMES_BYTES, want))
		abort();
	for (size_t i = want; i < sizeof(part); i++)
		if (part[i] != 0x5a)
			abort();
	fuzz_machine(data[0]);
	if (xst_regset_set(&frames.t, set, 0, whole, (size_t)bytes, NULL) || !frames_loads(&frames))
		abort();
	if (xst_regset_get(&frames.t, set, 0, part, sizeof(part), NULL) != bytes)
		abort();
	if (memcmp(whole, part, (size_t)bytes))
		abort();
	return 0;
}

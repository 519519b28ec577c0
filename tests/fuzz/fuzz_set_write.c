// SPDX-License-Identifier: BSD-2-Clause
/*
 * Hostile register sets, whole and in parts: a refused one changes no byte of the task; after an
 * accepted one the task loads, and what was live in the set is what is read back.
 */
#include "fuzz_frames.h"

/* Every live component of @in is in @out. */
static bool taken(const uint8_t *in, const uint8_t *out, const struct xst_layout *l)
{
	uint64_t rest = xst_get64(in, XST_OFF_XSTATE_BV) & ~XST_MASK_LEGACY;

	for (; rest; rest &= rest - 1) {
		const unsigned i = xst_mask_first(rest);

		if (memcmp(in + l->offset[i], out + l->offset[i], xst_comp_used(i, l->size[i])))
			return false;
	}
	return !(xst_get64(in, XST_OFF_XSTATE_BV) & XST_MASK_SSE) ||
	       !memcmp(in + XST_OFF_XMM, out + XST_OFF_XMM, 256);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t in[FRAMES_BYTES], out[FRAMES_BYTES];
	const enum xst_regset set = (enum xst_regset)(size >= FUZZ_HEAD ? data[1] >> 4 & 3 : 0);
	struct xst_layout l;
	size_t offset = 0, count;
	int bytes, err;

	if (size < FUZZ_HEAD)
		return 0;
	fuzz_task(data, size);
	bytes = xst_regset_bytes(&frames.sys, frames.t.mask, set, NULL);
	if (bytes < 0) {
		if (xst_regset_set(&frames.t, set, 0, in, 8, NULL) >= 0)
			abort();
		return 0;
	}
	memset(in, 0, sizeof(in));
	if (!(data[1] & 4) && xst_regset_get(&frames.t, set, 0, in, (size_t)bytes, NULL) != bytes)
		abort();
	fuzz_overlay(data, size, in, data[1] & 8 ? (size_t)bytes : 640);
	count = (size_t)bytes;
	if (data[1] & 2) {
		offset = xst_get16(data, 10) % ((size_t)bytes + 4);
		count = xst_get16(data, 12) % ((size_t)bytes + 4);
	}
	frames_remember(&frames);
	err = xst_regset_set(&frames.t, set, offset, in, count, NULL);
	if (err) {
		if (!frames_unchanged(&frames))
			abort();
		return 0;
	}
	if (offset + count > (size_t)bytes || !frames_loads(&frames))
		abort();
	if (set != XST_REGSET_XSTATE)
		return 0;
	if (xst_uabi_layout(&frames.sys, frames.t.mask, &l, NULL) ||
	    xst_regset_get(&frames.t, set, 0, out, sizeof(out), NULL) != bytes ||
	    !taken(in, out, &l))
		abort();
	return 0;
}

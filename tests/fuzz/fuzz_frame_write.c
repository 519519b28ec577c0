// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frames written for any task, into memory that may end: a fault changes nothing, and a frame that
 * was written is read as such and gives another task exactly the same state.
 */
#include "fuzz_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t want[FRAMES_BYTES], got[FRAMES_BYTES], memory[FRAMES_BYTES];
	struct xst_layout l;
	struct xst_frame frame;
	enum xst_frame_kind kind;
	size_t bytes;
	int err;

	if (size < FUZZ_HEAD)
		return 0;
	fuzz_task(data, size);
	kind = fuzz_kind(data);
	bytes = (size_t)xst_sigframe_bytes(&frames.sys, frames.t.mask, kind, NULL);
	if (data[1] & 2)
		frames.user_bytes = xst_get32(data, 10) % (bytes + 1);
	memset(frames.user, data[10], sizeof(frames.user));
	frames_remember(&frames);
	err = xst_sigframe_write(&frames.t, kind, frames.user, NULL);
	if (!frames_unchanged(&frames))
		abort();
	if (err) {
		if (err != XST_ERR_FAULT || frames.user_bytes >= bytes)
			abort();
		return 0;
	}
	for (size_t i = bytes; i < sizeof(frames.user); i++)
		if (frames.user[i] != data[10])
			abort();
	if (xst_sigframe_read(frames.user, bytes, kind, 0, &frame, NULL) < 0 &&
	    frames.sys.insn != XST_INSN_FNSAVE)
		abort();
	if (frames_state(&frames, want, &l))
		abort();
	memcpy(memory, frames.user, sizeof(memory));
	fuzz_machine(data[0]);
	memcpy(frames.user, memory, sizeof(memory));
	if (xst_sigframe_restore(&frames.t, kind, frames.user, &frame, NULL) ||
	    frame.extended != (frames.sys.insn >= XST_INSN_XSAVE) || !frames_loads(&frames))
		abort();
	if (frames_state(&frames, got, &l))
		abort();
	/* The frame says of x87 and SSE that they are live, whether they were or not; a 32-bit one has
	 * pointers of 32 bits. */
	xst_put64(want, XST_OFF_XSTATE_BV, xst_get64(want, XST_OFF_XSTATE_BV) | XST_MASK_LEGACY);
	xst_put64(got, XST_OFF_XSTATE_BV, xst_get64(got, XST_OFF_XSTATE_BV) | XST_MASK_LEGACY);
	if (kind == XST_FRAME_32) {
		xst_put32(want, XST_OFF_FCS, 0);
		xst_put32(want, XST_OFF_FDS, 0);
	}
	if (memcmp(want, got, l.bytes))
		abort();
	return 0;
}

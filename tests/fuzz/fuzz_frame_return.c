// SPDX-License-Identifier: BSD-2-Clause
/*
 * sigreturn of hostile frames: a refused one changes no byte of the task; an accepted one loads, is one
 * that XRSTOR would take too, and leaves supervisor state alone.
 */
#include "fuzz_frames.h"

/* Our rules are never weaker than the hardware's. */
static void check_accepted(const struct xst_frame *frame)
{
	struct xst_restore how = {
		.caps = &frames.caps, .by = XST_BY_XRSTOR, .xcr0 = frames.sys.xcr0};

	if (!frame->extended)
		return;
	how.xcr0 |= frames.t.mask;
	how.rfbm = frame->xfeatures;
	if (xst_image_check(&how, frames.user + frame->fx_offset,
			    sizeof(frames.user) - frame->fx_offset, NULL, NULL))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xst_frame frame;
	enum xst_frame_kind kind;
	uint8_t *cet;
	size_t bytes;
	int err;

	if (size < FUZZ_HEAD)
		return 0;
	fuzz_task(data, size);
	kind = fuzz_kind(data);
	bytes = (size_t)xst_sigframe_bytes(&frames.sys, frames.t.mask, kind, NULL);
	if (!(data[1] & 4) && xst_sigframe_write(&frames.t, kind, frames.user, NULL))
		abort();
	fuzz_overlay(data, size, frames.user, data[1] & 8 ? bytes + 64 : 640);
	if (data[1] & 2)
		frames.user_bytes = xst_get32(data, 10) % (bytes + 1);
	cet = frames.sys.apart ? xst_ctx_apart(&frames.sys, &frames.ctx) : frames.area;
	if (frames.sys.apart & XST_MASK_CET_U) {
		xst_put64(cet, XST_OFF_XSTATE_BV,
			  xst_get64(cet, XST_OFF_XSTATE_BV) | XST_MASK_CET_U);
		memset(cet + frames.sys.apart_layout.offset[XST_COMP_CET_U], 0x40, 16);
	}
	frames_remember(&frames);
	err = xst_sigframe_restore(&frames.t, kind, frames.user, &frame, NULL);
	if (err) {
		if (!frames_unchanged(&frames))
			abort();
		return 0;
	}
	if (!frames_loads(&frames))
		abort();
	check_accepted(&frame);
	if (frames.sys.apart & XST_MASK_CET_U) {
		const size_t at = (size_t)(cet - frames.area) +
				  frames.sys.apart_layout.offset[XST_COMP_CET_U];

		if (memcmp(frames.before + at, frames.area + at, 16) ||
		    !(xst_get64(cet, XST_OFF_XSTATE_BV) & XST_MASK_CET_U))
			abort();
	}
	return 0;
}

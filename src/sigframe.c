// SPDX-License-Identifier: BSD-2-Clause
/* Reading the floating-point part of a signal frame as the kernel does. */
#include <xst/sigframe.h>

/* Offsets behind XST_OFF_SOFTWARE. */
#define SW_MAGIC1        0u
#define SW_EXTENDED_SIZE 4u
#define SW_XFEATURES     8u
#define SW_XSTATE_SIZE   16u

static int fx_only(struct xst_frame *frame, struct xst_diag *diag, uint32_t offset, uint64_t want,
		   uint64_t got, const char *why)
{
	frame->extended = false;
	frame->why = why;
	xst_diag_set(diag, XST_OK, XST_DIAG_NO_COMPONENT, offset, want, got, why);
	return XST_OK;
}

int xst_sigframe_read(const void *data, size_t bytes, enum xst_frame_kind kind,
		      uint32_t user_bytes, struct xst_frame *frame, struct xst_diag *diag)
{
	uint32_t fx = kind == XST_FRAME_32 ? XST_FRAME_LEGACY_BYTES : 0, sw = fx + XST_OFF_SOFTWARE;
	uint32_t magic1;
	uint64_t end;

	__builtin_memset(frame, 0, sizeof(*frame));
	frame->fx_offset = fx;
	if (bytes < fx + XST_LEGACY_BYTES)
		return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_DIAG_NO_COMPONENT, 0,
				    fx + XST_LEGACY_BYTES, bytes,
				    "there is no whole FXSAVE image in the frame");
	magic1 = xst_get32(data, sw + SW_MAGIC1);
	if (magic1 != XST_FRAME_MAGIC1)
		return fx_only(frame, diag, sw, XST_FRAME_MAGIC1, magic1,
			       "the first magic number is not there");
	frame->extended_size = xst_get32(data, sw + SW_EXTENDED_SIZE);
	frame->xfeatures = xst_get64(data, sw + SW_XFEATURES);
	frame->xstate_size = xst_get32(data, sw + SW_XSTATE_SIZE);
	if (frame->xstate_size < XST_EXT_OFFSET)
		return fx_only(frame, diag, sw + SW_XSTATE_SIZE, XST_EXT_OFFSET, frame->xstate_size,
			       "xstate_size has no room for a header");
	if (user_bytes && frame->xstate_size > user_bytes)
		return fx_only(frame, diag, sw + SW_XSTATE_SIZE, user_bytes, frame->xstate_size,
			       "xstate_size is larger than the kernel's own image");
	if (frame->extended_size < XST_FRAME_MAGIC2_BYTES ||
	    frame->xstate_size > frame->extended_size - XST_FRAME_MAGIC2_BYTES)
		return fx_only(frame, diag, sw + SW_EXTENDED_SIZE,
			       (uint64_t)frame->xstate_size + XST_FRAME_MAGIC2_BYTES,
			       frame->extended_size,
			       "extended_size has no room for the image and the second magic number");
	end = (uint64_t)fx + frame->xstate_size;
	if (end + XST_FRAME_MAGIC2_BYTES > bytes)
		return fx_only(frame, diag, (uint32_t)bytes, end + XST_FRAME_MAGIC2_BYTES, bytes,
			       "the frame ends before the second magic number");
	if (xst_get32(data, (size_t)end) != XST_FRAME_MAGIC2)
		return fx_only(frame, diag, (uint32_t)end, XST_FRAME_MAGIC2,
			       xst_get32(data, (size_t)end),
			       "the second magic number is not there");
	frame->extended = true;
	return XST_OK;
}

// SPDX-License-Identifier: BSD-2-Clause
/* The floating-point part of a signal frame: read, written and taken back as Linux does. */
#include <xst/port.h>
#include <xst/sigframe.h>

/* Offsets behind XST_OFF_SOFTWARE. */
#define SW_MAGIC1	 0u
#define SW_EXTENDED_SIZE 4u
#define SW_XFEATURES	 8u
#define SW_XSTATE_SIZE	 16u

/* In the FNSAVE part of a 32-bit frame, behind the image. */
#define LEGACY_STATUS 108u
#define LEGACY_MAGIC  110u

static int fx_only(struct xst_frame *frame, struct xst_diag *diag, uint32_t offset, uint64_t want,
		   uint64_t got, const char *why)
{
	frame->extended = false;
	frame->why = why;
	xst_diag_set(diag, XST_OK, XST_DIAG_NO_COMPONENT, offset, want, got, why);
	return XST_OK;
}

static uint32_t fx_offset(enum xst_frame_kind kind)
{
	return kind == XST_FRAME_32 ? XST_FRAME_LEGACY_BYTES : 0;
}

/* What the software bytes say: extended, if the second magic number is there. @data holds the
 * FXSAVE image at least. */
static void read_software(const void *data, struct xst_frame *frame, uint32_t user_bytes,
			  struct xst_diag *diag)
{
	const uint32_t sw = frame->fx_offset + XST_OFF_SOFTWARE;
	const uint32_t magic1 = xst_get32(data, sw + SW_MAGIC1);

	if (magic1 != XST_FRAME_MAGIC1) {
		fx_only(frame, diag, sw, XST_FRAME_MAGIC1, magic1,
			"the first magic number is not there");
		return;
	}
	frame->extended_size = xst_get32(data, sw + SW_EXTENDED_SIZE);
	frame->xfeatures = xst_get64(data, sw + SW_XFEATURES);
	frame->xstate_size = xst_get32(data, sw + SW_XSTATE_SIZE);
	if (frame->xstate_size < XST_EXT_OFFSET)
		fx_only(frame, diag, sw + SW_XSTATE_SIZE, XST_EXT_OFFSET, frame->xstate_size,
			"xstate_size has no room for a header");
	else if (user_bytes && frame->xstate_size > user_bytes)
		fx_only(frame, diag, sw + SW_XSTATE_SIZE, user_bytes, frame->xstate_size,
			"xstate_size is larger than the kernel's own image");
	else if (frame->extended_size < XST_FRAME_MAGIC2_BYTES ||
		 frame->xstate_size > frame->extended_size - XST_FRAME_MAGIC2_BYTES)
		fx_only(frame, diag, sw + SW_EXTENDED_SIZE,
			(uint64_t)frame->xstate_size + XST_FRAME_MAGIC2_BYTES, frame->extended_size,
			"extended_size has no room for the image and the second magic number");
	else
		frame->extended = true;
}

static void check_magic2(const void *data, struct xst_frame *frame, struct xst_diag *diag)
{
	const uint32_t end = frame->fx_offset + frame->xstate_size;

	if (xst_get32(data, end) != XST_FRAME_MAGIC2)
		fx_only(frame, diag, end, XST_FRAME_MAGIC2, xst_get32(data, end),
			"the second magic number is not there");
}

int xst_sigframe_read(const void *data, size_t bytes, enum xst_frame_kind kind, uint32_t user_bytes,
		      struct xst_frame *frame, struct xst_diag *diag)
{
	uint64_t end;

	__builtin_memset(frame, 0, sizeof(*frame));
	frame->fx_offset = fx_offset(kind);
	if (bytes < frame->fx_offset + XST_LEGACY_BYTES)
		return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_DIAG_NO_COMPONENT, 0,
				    frame->fx_offset + XST_LEGACY_BYTES, bytes,
				    "there is no whole FXSAVE image in the frame");
	read_software(data, frame, user_bytes, diag);
	if (!frame->extended)
		return XST_OK;
	end = (uint64_t)frame->fx_offset + frame->xstate_size;
	if (end + XST_FRAME_MAGIC2_BYTES > bytes)
		return fx_only(frame, diag, (uint32_t)bytes, end + XST_FRAME_MAGIC2_BYTES, bytes,
			       "the frame ends before the second magic number");
	check_magic2(data, frame, diag);
	return XST_OK;
}

int xst_sigframe_bytes(const struct xst_system *sys, uint64_t mask, enum xst_frame_kind kind,
		       struct xst_diag *diag)
{
	int bytes = xst_uabi_bytes(sys, mask, diag);

	if (bytes < 0)
		return bytes;
	if (sys->insn >= XST_INSN_XSAVE)
		return bytes + (int)(fx_offset(kind) + XST_FRAME_MAGIC2_BYTES);
	if (sys->insn == XST_INSN_FXSAVE)
		return (int)(fx_offset(kind) + XST_LEGACY_BYTES);
	if (kind == XST_FRAME_32)
		return (int)XST_FRAME_LEGACY_BYTES;
	return xst_diag_set(diag, XST_ERR_UNSUPPORTED, XST_DIAG_NO_COMPONENT, 0x100, 1, 0,
			    "a 64-bit process needs a CPU with FXSAVE");
}

/* What both directions need: the size, the layout, and enough scratch. */
static int begin(const struct xst_uabi *t, enum xst_frame_kind kind, struct xst_layout *l,
		 struct xst_diag *diag)
{
	const int bytes = xst_sigframe_bytes(t->sys, t->mask, kind, diag);
	const size_t need =
		bytes > (int)XST_FRAME_SCRATCH_MIN ? (size_t)bytes : XST_FRAME_SCRATCH_MIN;
	int err;

	if (bytes < 0)
		return bytes;
	err = xst_uabi_layout(t->sys, t->mask, l, diag);
	if (err)
		return err;
	if (t->scratch_bytes < need)
		return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_DIAG_NO_COMPONENT, 0, need,
				    t->scratch_bytes, "the work memory is too small");
	return bytes;
}

static int no_memory(struct xst_diag *diag, size_t offset, const char *what)
{
	return xst_diag_set(diag, XST_ERR_FAULT, XST_DIAG_NO_COMPONENT, (uint32_t)offset, 0, 0,
			    what);
}

static void put_legacy(const struct xst_uabi *t, uint8_t *frame, const uint8_t *fx)
{
	const uint16_t magic =
		t->sys->insn >= XST_INSN_FXSAVE ? XST_FRAME_LEGACY_FXSR : XST_FRAME_LEGACY_ONLY;
	const struct xst_x87_selectors *sel = XST_UABI_WIDE ? &t->sel : NULL;

	/* Pointers beyond 32 bits were not made by this process; the low halves have to do. */
	(void)xst_fxsave_to_fnsave(fx, XST_UABI_WIDE, sel, frame);
	xst_put16(frame, LEGACY_STATUS, xst_get16(fx, XST_OFF_FSW));
	xst_put16(frame, LEGACY_MAGIC, magic);
}

static void put_software(const struct xst_layout *l, uint8_t *fx, uint32_t bytes)
{
	const uint64_t bv = xst_get64(fx, XST_OFF_XSTATE_BV);

	xst_put32(fx, XST_OFF_SOFTWARE + SW_MAGIC1, XST_FRAME_MAGIC1);
	xst_put32(fx, XST_OFF_SOFTWARE + SW_EXTENDED_SIZE, bytes);
	xst_put64(fx, XST_OFF_SOFTWARE + SW_XFEATURES, l->mask);
	xst_put32(fx, XST_OFF_SOFTWARE + SW_XSTATE_SIZE, l->bytes);
	xst_put64(fx, XST_OFF_XSTATE_BV, bv | XST_MASK_LEGACY);
	xst_put32(fx, l->bytes, XST_FRAME_MAGIC2);
}

int xst_sigframe_write(const struct xst_uabi *t, enum xst_frame_kind kind, void *to,
		       struct xst_diag *diag)
{
	uint8_t *frame = t->scratch, *fx = frame + fx_offset(kind);
	struct xst_layout l;
	const struct xst_image image = {fx, t->scratch_bytes - fx_offset(kind), &l};
	int bytes = begin(t, kind, &l, diag), err;
	size_t first, next;

	if (bytes < 0)
		return bytes;
	err = xst_uabi_get(t, &image, diag);
	if (err)
		return err;
	if (t->sys->insn >= XST_INSN_XSAVE)
		put_software(&l, fx, (uint32_t)bytes);
	if (kind == XST_FRAME_32)
		put_legacy(t, frame, fx);
	/* In two pieces, around tiles that are INIT. */
	first = next = (size_t)bytes;
	if (l.mask & ~xst_get64(fx, XST_OFF_XSTATE_BV) & XST_MASK_TILEDATA) {
		first = fx_offset(kind) + l.offset[XST_COMP_TILEDATA];
		next = first + l.size[XST_COMP_TILEDATA];
	}
	if (XST_COPY_TO_USER(to, frame, first) ||
	    (next < (size_t)bytes &&
	     XST_COPY_TO_USER((uint8_t *)to + next, frame + next, (size_t)bytes - next)))
		return no_memory(diag, 0, "the task's memory cannot be written");
	return XST_OK;
}

/* Bring the frame into scratch, as much of it as counts, and say what that is. */
static int fetch(const struct xst_uabi *t, enum xst_frame_kind kind, const void *from,
		 const struct xst_layout *l, struct xst_frame *frame, struct xst_diag *diag)
{
	uint8_t *data = t->scratch;
	size_t head = fx_offset(kind) + XST_LEGACY_BYTES, rest;

	__builtin_memset(frame, 0, sizeof(*frame));
	frame->fx_offset = fx_offset(kind);
	if (t->sys->insn == XST_INSN_FNSAVE)
		head = XST_FRAME_LEGACY_BYTES;
	if (XST_COPY_FROM_USER(data, from, head))
		return no_memory(diag, 0, "the task's memory cannot be read");
	if (t->sys->insn < XST_INSN_XSAVE) {
		frame->why = "this machine does not use XSAVE";
		return XST_OK;
	}
	read_software(data, frame, l->bytes, diag);
	if (!frame->extended)
		return XST_OK;
	rest = frame->xstate_size - XST_LEGACY_BYTES + XST_FRAME_MAGIC2_BYTES;
	if (XST_COPY_FROM_USER(data + head, (const uint8_t *)from + head, rest))
		return no_memory(diag, head, "the task's memory ends within the frame");
	check_magic2(data, frame, diag);
	return XST_OK;
}

static void take_legacy(const struct xst_uabi *t, uint8_t *fx)
{
	const bool old = t->sys->insn == XST_INSN_FNSAVE;

	if (old) {
		/* There is no FXSAVE image behind it. */
		__builtin_memset(fx, 0, XST_LEGACY_BYTES);
		xst_put32(fx, XST_OFF_MXCSR, XST_MXCSR_INIT);
	}
	xst_fnsave_to_fxsave(t->scratch, XST_UABI_WIDE, fx);
}

/* Give the header the meaning that the frame as a whole has. */
static void settle_header(const struct xst_system *sys, const struct xst_layout *l,
			  const struct xst_frame *frame, uint8_t *fx)
{
	uint64_t features = l->mask, bv;

	if (!(sys->mask & XST_MASK_SSE))
		features &= ~XST_MASK_SSE;
	if (frame->extended) {
		bv = xst_get64(fx, XST_OFF_XSTATE_BV);
		features &= frame->xfeatures;
		/* What the task may not have at all is left for the check to refuse. */
		if (!(bv & ~l->mask))
			bv &= features;
	} else {
		bv = features & XST_MASK_LEGACY;
		__builtin_memset(fx + XST_OFF_XSTATE_BV, 0, XST_HEADER_BYTES);
	}
	/* Without SSE it becomes INIT, but XRSTOR of AVX looks at it first. */
	if (!(features & XST_MASK_SSE) &&
	    (!(features & XST_MASK_AVX) || !(xst_get32(fx, XST_OFF_MXCSR) & ~sys->caps.mxcsr_mask)))
		xst_put32(fx, XST_OFF_MXCSR, XST_MXCSR_INIT);
	xst_put64(fx, XST_OFF_XSTATE_BV, bv);
}

int xst_sigframe_restore(const struct xst_uabi *t, enum xst_frame_kind kind, const void *from,
			 struct xst_frame *frame, struct xst_diag *diag)
{
	uint8_t *fx = (uint8_t *)t->scratch + fx_offset(kind);
	struct xst_frame own;
	struct xst_layout l;
	struct xst_image image = {fx, t->scratch_bytes - fx_offset(kind), &l};
	int err = begin(t, kind, &l, diag);

	if (err < 0)
		return err;
	if (!frame)
		frame = &own;
	if (!from) {
		__builtin_memset(frame, 0, sizeof(*frame));
		frame->why = "there is no floating-point part";
		err = xst_image_fresh(&image, t->sys->caps.mxcsr_mask, diag);
		if (!err)
			err = xst_uabi_set(t, &image, XST_UABI_MXCSR_ALWAYS, diag);
		if (!err)
			t->ctx->pkru = t->sys->init_pkru;
		return err;
	}
	err = fetch(t, kind, from, &l, frame, diag);
	if (err)
		return err;
	image.bytes = frame->extended ? frame->xstate_size : XST_EXT_OFFSET;
	if (kind == XST_FRAME_32)
		take_legacy(t, fx);
	settle_header(t->sys, &l, frame, fx);
	return xst_uabi_set(t, &image, XST_UABI_MXCSR_ALWAYS, diag);
}

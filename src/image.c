// SPDX-License-Identifier: BSD-2-Clause
/* New images, an image's own layout, and moving an image elsewhere without losing or leaking. */
#include <xst/image.h>

#define ST_BYTES 16u /* room of one x87 register, 10 of them used */
#define ST_USED  10u

static uint32_t lowest(uint64_t mask)
{
	return (uint32_t)__builtin_ctzll(mask);
}

/* Bytes of component @id that mean something, of the @size it has. */
static uint32_t used_bytes(unsigned id, uint32_t size)
{
	switch (id) {
#define XST_COMP_USED(SYM, used)                                                                   \
	case XST_COMP_##SYM:                                                                       \
		return size < (used) ? size : (used);
#include <xst/comp.def>
	default:
		return size;
	}
}

int xst_image_layout(const struct xst_caps *caps, uint64_t xcr0, const void *area, size_t bytes,
		     struct xst_layout *layout, struct xst_diag *diag)
{
	uint64_t xcomp_bv;

	if (bytes < XST_EXT_OFFSET)
		return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_DIAG_NO_COMPONENT, 0,
				    XST_EXT_OFFSET, bytes, "there is no whole XSAVE header");
	xcomp_bv = xst_get64(area, XST_OFF_XCOMP_BV);
	if (xcomp_bv & XST_XCOMP_COMPACT)
		return xst_layout_compute(caps, xcomp_bv & ~XST_XCOMP_COMPACT, XST_COMPACTED,
					  layout, diag);
	return xst_layout_compute(caps, xcr0, XST_STANDARD, layout, diag);
}

/* In the standard format MXCSR is loaded with SSE or AVX, in the compacted one it is part of SSE. */
static bool mxcsr_counts(const struct xst_layout *layout, uint64_t bv)
{
	if (layout->format == XST_COMPACTED)
		return (bv & XST_MASK_SSE) != 0;
	return (layout->mask & (XST_MASK_SSE | XST_MASK_AVX)) != 0;
}

uint64_t xst_image_live(const struct xst_image *image)
{
	uint64_t live;

	if (image->bytes < XST_EXT_OFFSET)
		return 0;
	live = xst_get64(image->area, XST_OFF_XSTATE_BV) & image->layout->mask;
	if (mxcsr_counts(image->layout, live) &&
	    xst_get32(image->area, XST_OFF_MXCSR) != XST_MXCSR_INIT)
		live |= XST_MASK_SSE;
	return live;
}

static void put_header(const struct xst_image *image, uint64_t bv)
{
	__builtin_memset((char *)image->area + XST_OFF_RESERVED, 0,
			 XST_EXT_OFFSET - XST_OFF_RESERVED);
	xst_put64(image->area, XST_OFF_XSTATE_BV, bv);
	if (image->layout->format == XST_COMPACTED)
		xst_put64(image->area, XST_OFF_XCOMP_BV, image->layout->mask | XST_XCOMP_COMPACT);
}

static int need_bytes(const struct xst_image *image, struct xst_diag *diag)
{
	if (image->bytes < image->layout->bytes)
		return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_DIAG_NO_COMPONENT, 0,
				    image->layout->bytes, image->bytes,
				    "the memory is smaller than the layout");
	return XST_OK;
}

int xst_image_fresh(const struct xst_image *image, uint32_t mxcsr_mask, struct xst_diag *diag)
{
	int err = need_bytes(image, diag);

	if (err)
		return err;
	__builtin_memset(image->area, 0, image->layout->bytes);
	put_header(image, 0);
	xst_put16(image->area, XST_OFF_FCW, XST_FCW_INIT);
	xst_put32(image->area, XST_OFF_MXCSR, XST_MXCSR_INIT);
	xst_put32(image->area, XST_OFF_MXCSR_MASK, mxcsr_mask);
	return XST_OK;
}

int xst_image_reset(const struct xst_image *image, uint32_t mxcsr_mask, struct xst_diag *diag)
{
	int err = xst_image_fresh(image, mxcsr_mask, diag);

	if (err)
		return err;
	/* FCW and the tags differ from INIT, so the x87 part must be loaded. */
	xst_put64(image->area, XST_OFF_XSTATE_BV, XST_MASK_X87);
	xst_put16(image->area, XST_OFF_FCW, XST_FCW_RESET);
	((uint8_t *)image->area)[XST_OFF_FTW] = 0xff;
	return XST_OK;
}

/* May @from be moved at all, by its header and its memory? What is dropped needs no memory. */
static int check_source(const struct xst_image *from, uint64_t drop, uint64_t *bv,
			struct xst_diag *diag)
{
	const struct xst_layout *l = from->layout;
	uint64_t xcomp_bv, want, rest;

	if (from->bytes < XST_EXT_OFFSET)
		return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_DIAG_NO_COMPONENT, 0,
				    XST_EXT_OFFSET, from->bytes, "there is no whole XSAVE header");
	*bv = xst_get64(from->area, XST_OFF_XSTATE_BV);
	xcomp_bv = xst_get64(from->area, XST_OFF_XCOMP_BV);
	want = l->format == XST_COMPACTED ? l->mask | XST_XCOMP_COMPACT : 0;
	if (xcomp_bv != want)
		return xst_diag_set(diag, XST_ERR_INVALID, XST_DIAG_NO_COMPONENT, XST_OFF_XCOMP_BV,
				    want, xcomp_bv, "XCOMP_BV does not fit the layout");
	if (*bv & ~l->mask)
		return xst_diag_set(diag, XST_ERR_INVALID, lowest(*bv & ~l->mask),
				    XST_OFF_XSTATE_BV, l->mask, *bv,
				    "XSTATE_BV names a component that the layout does not have");
	if (xst_get64(from->area, XST_OFF_XCOMP_BV + 8))
		return xst_diag_set(diag, XST_ERR_INVALID, XST_DIAG_NO_COMPONENT,
				    XST_OFF_XCOMP_BV + 8, 0,
				    xst_get64(from->area, XST_OFF_XCOMP_BV + 8),
				    "header bytes 16-23 must be 0");
	if (from->bytes >= l->bytes)
		return XST_OK;
	for (rest = *bv & ~drop & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		uint32_t i = lowest(rest);

		if ((uint64_t)l->offset[i] + l->size[i] > from->bytes)
			return xst_diag_set(diag, XST_ERR_NEED_BYTES, i, l->offset[i],
					    (uint64_t)l->offset[i] + l->size[i], from->bytes,
					    "the memory ends before a live component does");
	}
	return XST_OK;
}

/* A component may be larger on the source (LBR depth): what does not fit must be empty. */
static int check_sizes(const struct xst_image *from, const struct xst_image *to, uint64_t live,
		       struct xst_diag *diag)
{
	uint64_t rest;

	for (rest = live & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		uint32_t i = lowest(rest), n, used;
		const uint8_t *data = (const uint8_t *)from->area + from->layout->offset[i];

		if (from->layout->size[i] <= to->layout->size[i])
			continue;
		used = used_bytes(i, from->layout->size[i]);
		for (n = to->layout->size[i]; n < used; n++)
			if (data[n])
				return xst_diag_set(diag, XST_ERR_LIVE, i,
						    from->layout->offset[i] + n,
						    to->layout->size[i], from->layout->size[i],
						    "the component is smaller on the target");
	}
	return XST_OK;
}

/* x87, MXCSR and XMM: bytes 0-415. */
static void copy_legacy(const struct xst_image *from, const struct xst_image *to, uint64_t live,
			uint32_t mxcsr, uint32_t mxcsr_mask)
{
	const char *src = from->area;
	char *dst = to->area;
	unsigned i;

	if ((live & XST_MASK_LEGACY) == XST_MASK_LEGACY) {
		__builtin_memcpy(dst, src, XST_OFF_RESERVED);
	} else {
		__builtin_memset(dst, 0, XST_OFF_RESERVED);
		if (live & XST_MASK_X87)
			__builtin_memcpy(dst, src, XST_OFF_XMM);
		else
			xst_put16(dst, XST_OFF_FCW, XST_FCW_INIT);
		if (live & XST_MASK_SSE)
			__builtin_memcpy(dst + XST_OFF_XMM, src + XST_OFF_XMM,
					 XST_OFF_RESERVED - XST_OFF_XMM);
	}
	xst_put32(dst, XST_OFF_MXCSR, mxcsr);
	xst_put32(dst, XST_OFF_MXCSR_MASK, mxcsr_mask);
	if (!(live & XST_MASK_X87))
		return;
	/* What no register fills: the byte beside the tags, FOP[15:11], six bytes of each ST. */
	dst[XST_OFF_FTW + 1] = 0;
	xst_put16(dst, XST_OFF_FOP, xst_get16(dst, XST_OFF_FOP) & 0x7ff);
	for (i = 0; i < 8; i++) {
		xst_put16(dst, XST_OFF_ST + i * ST_BYTES + ST_USED, 0);
		xst_put32(dst, XST_OFF_ST + i * ST_BYTES + ST_USED + 2, 0);
	}
}

/* A run of bytes that is contiguous on both sides: neighbours travel in one memcpy. */
struct run {
	uint32_t src, dst, bytes;
};

static void flush(const struct xst_image *from, const struct xst_image *to, struct run *r)
{
	if (r->bytes)
		__builtin_memcpy((char *)to->area + r->dst, (const char *)from->area + r->src,
				 r->bytes);
	r->bytes = 0;
}

static void zero(const struct xst_image *to, uint32_t start, uint32_t end)
{
	if (end > start)
		__builtin_memset((char *)to->area + start, 0, end - start);
}

/* Everything from byte 576 on; what is not copied is zeroed, INIT of every extended component
 * being zeros. */
static void copy_extended(const struct xst_image *from, const struct xst_image *to, uint64_t live)
{
	struct run r = {0, 0, 0};
	uint32_t done = XST_EXT_OFFSET; /* below it every byte is written or in @r */
	uint64_t rest;

	for (rest = live & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		uint32_t i = lowest(rest), n = used_bytes(i, from->layout->size[i]);
		uint32_t src = from->layout->offset[i], dst = to->layout->offset[i];

		if (n > to->layout->size[i])
			n = to->layout->size[i];
		if (r.bytes && r.src + r.bytes == src && r.dst + r.bytes == dst) {
			r.bytes += n;
			done = dst + n;
			continue;
		}
		flush(from, to, &r);
		if (dst < done) {
			/* A standard layout out of order (APX lies below AVX-512): start over the
			 * plain way. */
			zero(to, XST_EXT_OFFSET, to->layout->bytes);
			for (rest = live & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
				i = lowest(rest);
				n = used_bytes(i, from->layout->size[i]);
				r.src = from->layout->offset[i];
				r.dst = to->layout->offset[i];
				r.bytes = n < to->layout->size[i] ? n : to->layout->size[i];
				flush(from, to, &r);
			}
			return;
		}
		zero(to, done, dst);
		r = (struct run){src, dst, n};
		done = dst + n;
	}
	flush(from, to, &r);
	zero(to, done, to->layout->bytes);
}

int xst_image_convert(const struct xst_image *from, const struct xst_image *to,
		      const struct xst_convert *how, struct xst_diag *diag)
{
	static const struct xst_convert nothing = {0, 0, false};
	uint64_t bv, bv_out, live, lost;
	uint32_t mxcsr = XST_MXCSR_INIT, mxcsr_mask;
	int err;

	if (!how)
		how = &nothing;
	err = need_bytes(to, diag);
	if (!err)
		err = check_source(from, how->drop, &bv, diag);
	if (err)
		return err;

	mxcsr_mask = how->mxcsr_mask;
	if (mxcsr_counts(from->layout, bv) && !(how->drop & XST_MASK_SSE)) {
		mxcsr = xst_get32(from->area, XST_OFF_MXCSR);
		if (!mxcsr_mask)
			mxcsr_mask = xst_get32(from->area, XST_OFF_MXCSR_MASK);
		if (how->mxcsr_mask && (mxcsr & ~how->mxcsr_mask)) {
			if (!how->drop_mxcsr_bits)
				return xst_diag_set(diag, XST_ERR_LIVE, XST_COMP_SSE, XST_OFF_MXCSR,
						    how->mxcsr_mask, mxcsr,
						    "MXCSR has a bit that the target does not");
			mxcsr &= how->mxcsr_mask;
		}
	}
	live = bv & ~how->drop;
	bv_out = live;
	/* XMM may be INIT while MXCSR is not: in the compacted format SSE has to carry it. */
	if (mxcsr != XST_MXCSR_INIT && !mxcsr_counts(to->layout, live))
		bv_out |= XST_MASK_SSE;
	lost = bv_out & ~to->layout->mask;
	if (lost)
		return xst_diag_set(diag, XST_ERR_LIVE, lowest(lost), XST_OFF_XSTATE_BV,
				    to->layout->mask, bv_out,
				    "a live component has no place in the target");
	err = check_sizes(from, to, live, diag);
	if (err)
		return err;

	copy_legacy(from, to, live, mxcsr, mxcsr_mask);
	put_header(to, bv_out);
	copy_extended(from, to, live);
	return XST_OK;
}

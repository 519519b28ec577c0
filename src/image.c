// SPDX-License-Identifier: BSD-2-Clause
/* New images, an image's own layout, and moving an image elsewhere without losing or leaking. */
#include <xst/image.h>

#define ST_BYTES 16u /* room of one x87 register, 10 of them used */

/* Compilers turn copies of a size they know into "rep movs", whose start costs more than these
 * copies do; the embedder's memcpy and memset know better. */
static inline void copy(void *dst, const void *src, size_t n)
{
	__asm__("" : "+r"(n));
	__builtin_memcpy(dst, src, n);
}

static inline void clear(void *dst, size_t n)
{
	__asm__("" : "+r"(n));
	__builtin_memset(dst, 0, n);
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

/* Standard format: MXCSR is loaded with SSE or AVX. Compacted: it is part of SSE. */
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
	clear((char *)image->area + XST_OFF_RESERVED, XST_EXT_OFFSET - XST_OFF_RESERVED);
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
	clear(image->area, image->layout->bytes);
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
		return xst_diag_set(diag, XST_ERR_INVALID, xst_mask_first(*bv & ~l->mask),
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
		uint32_t i = xst_mask_first(rest);

		if ((uint64_t)l->offset[i] + l->size[i] > from->bytes)
			return xst_diag_set(diag, XST_ERR_NEED_BYTES, i, l->offset[i],
					    (uint64_t)l->offset[i] + l->size[i], from->bytes,
					    "the memory ends before a live component does");
	}
	return XST_OK;
}

/* x87, MXCSR and XMM: bytes 0-415. @copied: they are there already, as they were. What no register
 * fills becomes 0: the byte beside the tags, FOP[15:11], six bytes of each ST. */
static void put_legacy(const struct xst_image *from, const struct xst_image *to, uint64_t live,
		       bool copied, uint64_t mxcsr_and_mask)
{
	const char *src = from->area;
	char *dst = to->area;
	uint64_t beyond = 0;
	unsigned i;

	if (!copied) {
		if (live & XST_MASK_X87)
			copy(dst, src, XST_OFF_XMM);
		else
			clear(dst, XST_OFF_XMM);
		if (live & XST_MASK_SSE)
			copy(dst + XST_OFF_XMM, src + XST_OFF_XMM, XST_OFF_RESERVED - XST_OFF_XMM);
		else
			clear(dst + XST_OFF_XMM, XST_OFF_RESERVED - XST_OFF_XMM);
	}
	if (live & XST_MASK_X87) {
		/* FCW, FSW, FTW, FOP in one piece; then exponents, zero-extended where the source
		 * was not saved by hardware, which writes zeros there. */
		xst_put64(dst, 0, xst_get64(src, 0) & 0x07ff00ffffffffffULL);
		for (i = XST_OFF_ST + 8; i < XST_OFF_XMM; i += ST_BYTES)
			beyond |= xst_get64(src, i);
		for (i = XST_OFF_ST + 8; i < XST_OFF_XMM && beyond >> 16; i += ST_BYTES)
			xst_put64(dst, i, xst_get16(src, i));
	} else {
		xst_put16(dst, XST_OFF_FCW, XST_FCW_INIT);
	}
	xst_put64(dst, XST_OFF_MXCSR, mxcsr_and_mask);
}

/* A run of bytes that is contiguous on both sides: neighbours travel in one memcpy. */
struct run {
	uint32_t src, dst, bytes;
};

/* What will be copied behind the header; made before anything is written. */
struct plan {
	uint32_t runs;
	bool plain; /* too many runs or out of order (APX lies below AVX-512): one by one instead */
	struct run run[8];
};

/* Components with padding behind what they use. */
#define XST_COMP_USED(SYM, used) | XST_MASK(XST_COMP_##SYM)
static const uint64_t padded = 0
#include <xst/comp.def>
	;

/* How much of component @i moves, in the cases that are not plainly "all of it". It may be larger
 * on the source (LBR depth): what does not fit must be empty. Not inlined into the loop below,
 * which is hot and seldom needs it. */
static int __attribute__((noinline)) fit(const struct xst_image *from, const struct xst_layout *to,
					 uint32_t i, uint32_t *bytes, struct xst_diag *diag)
{
	const uint8_t *data = (const uint8_t *)from->area + from->layout->offset[i];
	uint32_t n;

	*bytes = xst_comp_used(i, *bytes);
	for (n = to->size[i]; n < *bytes; n++)
		if (data[n])
			return xst_diag_set(diag, XST_ERR_LIVE, i, from->layout->offset[i] + n,
					    to->size[i], from->layout->size[i],
					    "the component is smaller on the target");
	if (*bytes > to->size[i])
		*bytes = to->size[i];
	return XST_OK;
}

static int make_plan(const struct xst_image *from, const struct xst_layout *to, uint64_t live,
		     struct plan *p, struct xst_diag *diag)
{
	const struct xst_layout *l = from->layout;
	struct run *run = p->run, *end = run + sizeof(p->run) / sizeof(p->run[0]);
	/* The run being made; before the first one nothing is its neighbour. */
	uint32_t src = 0, dst = XST_EXT_OFFSET, bytes = 0;
	uint64_t rest;

	p->plain = false;
	for (rest = live & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		uint32_t i = xst_mask_first(rest), n = l->size[i];

		if (n > to->size[i] || (rest & -rest & padded)) {
			int err = fit(from, to, i, &n, diag);

			if (err)
				return err;
		}
		if (bytes && src + bytes == l->offset[i] && dst + bytes == to->offset[i]) {
			bytes += n;
			continue;
		}
		if (to->offset[i] < dst + bytes)
			p->plain = true;
		if (bytes && run < end)
			*run++ = (struct run){src, dst, bytes};
		else if (bytes)
			p->plain = true;
		src = l->offset[i];
		dst = to->offset[i];
		bytes = n;
	}
	if (bytes && run < end)
		*run++ = (struct run){src, dst, bytes};
	else if (bytes)
		p->plain = true;
	p->runs = (uint32_t)(run - p->run);
	return XST_OK;
}

/* Everything from byte 576 on; what is not copied is zeroed, INIT of every extended component
 * being zeros. */
static void copy_extended(const struct xst_image *from, const struct xst_image *to, uint64_t live,
			  const struct plan *p)
{
	const char *src = from->area;
	char *dst = to->area;
	uint32_t done = XST_EXT_OFFSET, i;

	if (p->plain) {
		clear(dst + done, to->layout->bytes - done);
		for (live &= ~XST_MASK_LEGACY; live; live &= live - 1) {
			uint32_t n;

			i = xst_mask_first(live);
			n = xst_comp_used(i, from->layout->size[i]);
			copy(dst + to->layout->offset[i], src + from->layout->offset[i],
			     n < to->layout->size[i] ? n : to->layout->size[i]);
		}
		return;
	}
	for (i = 0; i < p->runs; i++) {
		const struct run *r = &p->run[i];

		if (r->dst > done)
			clear(dst + done, r->dst - done);
		copy(dst + r->dst, src + r->src, r->bytes);
		done = r->dst + r->bytes;
	}
	if (to->layout->bytes > done)
		clear(dst + done, to->layout->bytes - done);
}

int xst_image_convert(const struct xst_image *from, const struct xst_image *to,
		      const struct xst_convert *how, struct xst_diag *diag)
{
	static const struct xst_convert nothing = {0, 0, false};
	uint64_t bv, bv_out, live, lost;
	uint32_t mxcsr = XST_MXCSR_INIT, mxcsr_mask;
	struct plan plan;
	bool whole;
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
		return xst_diag_set(diag, XST_ERR_LIVE, xst_mask_first(lost), XST_OFF_XSTATE_BV,
				    to->layout->mask, bv_out,
				    "a live component has no place in the target");
	err = make_plan(from, to->layout, live, &plan, diag);
	if (err)
		return err;

	/* Where the extended region begins alike on both sides, all before it goes along. */
	whole = !plan.plain && plan.runs && plan.run[0].src == XST_EXT_OFFSET &&
		plan.run[0].dst == XST_EXT_OFFSET &&
		(live & XST_MASK_LEGACY) == XST_MASK_LEGACY;
	if (whole)
		plan.run[0] = (struct run){0, 0, XST_EXT_OFFSET + plan.run[0].bytes};
	copy_extended(from, to, live, &plan);
	put_legacy(from, to, live, whole, (uint64_t)mxcsr_mask << 32 | mxcsr);
	put_header(to, bv_out);
	return XST_OK;
}

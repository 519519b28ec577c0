// SPDX-License-Identifier: BSD-2-Clause
/* Offsets and sizes of a mask. One walk over its bits, no second table. */
#include "caveat.h"

/* The legacy region is the same everywhere and has no sub-leaves. */
#define SSE_OFFSET 160u

static uint32_t align64(uint32_t n)
{
	return (n + 63u) & ~63u;
}

/* Two standard-format components must not share a byte; hypervisors have been seen to copy offsets
 * of another CPU. Compacted offsets cannot collide. Is @i in the way of an earlier one? */
static int find_overlap(const struct xst_layout *l, unsigned i, struct xst_diag *diag)
{
	uint64_t rest;

	for (rest = l->mask & (XST_MASK(i) - 1) & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		unsigned j = xst_mask_first(rest);

		if (l->offset[i] < l->offset[j] + l->size[j] &&
		    l->offset[j] < l->offset[i] + l->size[i])
			return xst_diag_set(diag, XST_ERR_OVERLAP, i, l->offset[i],
					    l->offset[j] + l->size[j], l->offset[i],
					    "two components claim the same bytes");
	}
	return XST_OK;
}

int xst_layout_compute(const struct xst_caps *caps, uint64_t mask, enum xst_format format,
		       struct xst_layout *layout, struct xst_diag *diag)
{
	uint32_t next = XST_EXT_OFFSET, end = XST_EXT_OFFSET;
	uint64_t rest;

	if (!caps->xsave || (format == XST_COMPACTED && !caps->xsavec && !caps->xsaves))
		return xst_diag_set(diag, XST_ERR_UNSUPPORTED, XST_DIAG_NO_COMPONENT, 0xd01, 1, 0,
				    format == XST_STANDARD ? "the CPU has no XSAVE"
							   : "the CPU has no compacted format");
	if (mask & ~(caps->xcr0 | caps->xss)) {
		uint64_t odd = mask & ~(caps->xcr0 | caps->xss);

		return xst_diag_set(diag, XST_ERR_NOT_ENUMERATED, xst_mask_first(odd),
				    0xd00, caps->xcr0 | caps->xss, mask,
				    "the CPU does not list this component");
	}

	layout->mask = mask;
	layout->format = format;
	layout->offset[XST_COMP_X87] = 0;
	layout->size[XST_COMP_X87] = XST_BYTES_X87;
	layout->offset[XST_COMP_SSE] = SSE_OFFSET;
	layout->size[XST_COMP_SSE] = XST_BYTES_SSE;

	for (rest = mask & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		unsigned i = xst_mask_first(rest);
		const struct xst_comp_caps *c = &caps->comp[i];

		if (!c->bytes || c->bytes >= XST_COMP_BYTES_MAX)
			return xst_diag_set(diag, XST_ERR_NOT_ENUMERATED, i, 0xd00 | i, 1, c->bytes,
					    "the CPU lists the component but gives it no size that "
					    "can be true");
		layout->size[i] = c->bytes;
		if (format == XST_COMPACTED) {
			if (c->align64)
				next = align64(next);
			layout->offset[i] = next;
			next += c->bytes;
			end = next;
			continue;
		}
		if (!xst_comp_place_ok(c, true))
			return xst_diag_set(diag, XST_ERR_NOT_ENUMERATED, i, 0xd00 | i,
					    XST_EXT_OFFSET, c->offset,
					    "the component has no place in the standard format");
		layout->offset[i] = c->offset;
		/* Behind all before it there is nothing to collide with: only a machine with an odd
		 * order pays for the search. */
		if (c->offset < end && find_overlap(layout, i, diag))
			return XST_ERR_OVERLAP;
		if (c->offset + c->bytes > end)
			end = c->offset + c->bytes;
	}
	layout->bytes = end;
	return XST_OK;
}

void xst_layout_legacy(struct xst_layout *layout, uint64_t mask)
{
	__builtin_memset(layout, 0, sizeof(*layout));
	layout->mask = mask;
	layout->format = XST_STANDARD;
	layout->bytes = XST_EXT_OFFSET;
	layout->size[XST_COMP_X87] = XST_BYTES_X87;
	layout->offset[XST_COMP_SSE] = SSE_OFFSET;
	layout->size[XST_COMP_SSE] = XST_BYTES_SSE;
}

// SPDX-License-Identifier: BSD-2-Clause
/* Which layout a register set has: by its note, or by elimination. */
#include <xst/regset.h>

enum family { INTEL, AMD, AMD_ZEN2, AMD_15H, FAMILIES };

static const char *const names[FAMILIES] = {
	[INTEL] = "Intel",
	[AMD] = "AMD Zen 3 and later",
	[AMD_ZEN2] = "AMD Zen 2",
	[AMD_15H] = "AMD family 15h",
};

static const struct {
	uint8_t family, component;
	bool alt;
	uint16_t offset;
} known[] = {
#define XST_KNOWN(FAMILY, SYM, offset)     {FAMILY, XST_COMP_##SYM, false, offset},
#define XST_KNOWN_ALT(FAMILY, SYM, offset) {FAMILY, XST_COMP_##SYM, true, offset},
#include <xst/known.def>
};

uint64_t xst_regset_xcr0(const void *area, size_t bytes)
{
	return bytes < XST_EXT_OFFSET ? 0 : xst_get64(area, XST_OFF_SOFTWARE);
}

static void place(struct xst_layout *l, unsigned id, uint32_t offset, uint32_t size)
{
	l->mask |= XST_MASK(id);
	l->offset[id] = offset;
	l->size[id] = size;
	if (offset + size > l->bytes)
		l->bytes = offset + size;
}

int xst_regset_layout_note(const void *note, size_t bytes, uint64_t xcr0,
			   struct xst_layout *layout, struct xst_diag *diag)
{
	const uint32_t limit = 1u << 20; /* no area is that large; sums cannot overflow */
	uint64_t seen = 0;
	size_t at;

	xst_layout_legacy(layout, xcr0 & XST_MASK_LEGACY);
	if (!bytes || bytes % XST_LAYOUT_RECORD_BYTES)
		return xst_diag_set(diag, XST_ERR_INVALID, XST_DIAG_NO_COMPONENT, 0,
				    XST_LAYOUT_RECORD_BYTES, bytes,
				    "the layout note is not made of whole records");
	for (at = 0; at < bytes; at += XST_LAYOUT_RECORD_BYTES) {
		uint32_t id = xst_get32(note, at), size = xst_get32(note, at + 4);
		uint32_t offset = xst_get32(note, at + 8);
		unsigned i;

		if (id < 2)
			continue;
		if (id > 62 || (seen & XST_MASK(id)) || !size || offset < XST_EXT_OFFSET ||
		    size > limit || offset > limit)
			return xst_diag_set(diag, XST_ERR_INVALID, id < 63 ? id : XST_DIAG_NO_COMPONENT,
					    (uint32_t)at, XST_EXT_OFFSET, offset,
					    "a record of the layout note makes no sense");
		for (i = 2; i < 63; i++)
			if ((seen & XST_MASK(i)) && offset < layout->offset[i] + layout->size[i] &&
			    layout->offset[i] < offset + size)
				return xst_diag_set(diag, XST_ERR_OVERLAP, id, (uint32_t)at,
						    layout->offset[i], offset,
						    "two components claim the same bytes");
		seen |= XST_MASK(id);
		place(layout, id, offset, size);
	}
	/* Described is one thing, enabled another: keep what the set was made with. */
	if (xcr0) {
		uint64_t rest;

		layout->mask &= xcr0;
		layout->bytes = XST_EXT_OFFSET;
		for (rest = layout->mask & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
			unsigned i = xst_mask_first(rest);

			place(layout, i, layout->offset[i], layout->size[i]);
		}
	}
	return XST_OK;
}

/* Lay @xcr0 out as @family does; false when it does not know a component. */
static bool lay_out(enum family family, uint64_t xcr0, struct xst_layout *l)
{
	size_t i;

	xst_layout_legacy(l, xcr0 & XST_MASK_LEGACY);
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct xst_comp_info *info = xst_comp_info(known[i].component);

		if (known[i].family != family || !(xcr0 & XST_MASK(known[i].component)))
			continue;
		place(l, known[i].component, known[i].offset,
		      known[i].alt ? info->bytes_alt : info->bytes);
	}
	return l->mask == xcr0;
}

static bool same(const struct xst_layout *a, const struct xst_layout *b)
{
	uint64_t rest;

	for (rest = a->mask & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		unsigned i = xst_mask_first(rest);

		if (a->offset[i] != b->offset[i] || a->size[i] != b->size[i])
			return false;
	}
	return true;
}

static bool fits(enum family family, uint64_t xcr0, size_t bytes, bool exact,
		 struct xst_layout *l)
{
	if (!lay_out(family, xcr0, l))
		return false;
	return !bytes || (exact ? l->bytes == bytes : l->bytes <= bytes);
}

const char *xst_regset_candidate(uint64_t xcr0, size_t bytes, unsigned nth,
				 struct xst_layout *layout)
{
	struct xst_layout other;
	bool exact = false;
	unsigned f, g;

	for (f = 0; f < FAMILIES; f++)
		exact |= fits((enum family)f, xcr0, bytes, true, layout);
	for (f = 0; f < FAMILIES; f++) {
		bool known_already = false;

		if (!fits((enum family)f, xcr0, bytes, exact, layout))
			continue;
		for (g = 0; g < f; g++)
			known_already |= fits((enum family)g, xcr0, bytes, exact, &other) &&
					 same(layout, &other);
		if (!known_already && !nth--)
			return names[f];
	}
	return NULL;
}

static bool aligned(unsigned id)
{
	switch (id) {
#define XST_KNOWN_ALIGN64(SYM) case XST_COMP_##SYM:
#include <xst/known.def>
		return true;
	default:
		return false;
	}
}

/* Pack @mask; with @alt by the other sizes of comp.def. False for a component without a size. */
static bool pack(uint64_t mask, bool alt, struct xst_layout *l)
{
	uint32_t next = XST_EXT_OFFSET;
	uint64_t rest;

	xst_layout_legacy(l, mask & XST_MASK_LEGACY);
	l->format = XST_COMPACTED;
	for (rest = mask & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		unsigned i = xst_mask_first(rest);
		const struct xst_comp_info *info = xst_comp_info(i);

		if (!info)
			return false;
		if (aligned(i))
			next = (next + 63u) & ~63u;
		place(l, i, next, alt && info->bytes_alt ? info->bytes_alt : info->bytes);
		next += l->size[i];
	}
	return true;
}

const char *xst_regset_compacted(uint64_t mask, unsigned nth, struct xst_layout *layout)
{
	struct xst_layout usual;
	uint64_t rest;

	if (!nth)
		return pack(mask, false, layout) ? "every CPU but AMD Zen 2" : NULL;
	if (nth > 1 || !lay_out(AMD_ZEN2, mask, layout) || !pack(mask, false, &usual) ||
	    !pack(mask, true, layout))
		return NULL;
	for (rest = mask & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		unsigned i = xst_mask_first(rest);

		if (layout->offset[i] != usual.offset[i])
			return names[AMD_ZEN2];
	}
	return NULL;
}

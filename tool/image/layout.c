// SPDX-License-Identifier: BSD-2-Clause
/* Whose layout is it: what the file says, the CPU that was named, or the candidates. */
#include <stdio.h>
#include <string.h>

#include <xst/regset.h>

#include "image/image.h"

struct xst_image image_of(const struct image_thread *t)
{
	/* Behind the file's bytes there are zeros, but they are not the file's. */
	return (struct xst_image){t->area, t->bytes, &t->layout};
}

const char *image_comp_name(unsigned id, char *buf, size_t size)
{
	const struct xst_comp_info *info = xst_comp_info(id);

	if (info)
		return info->text;
	snprintf(buf, size, "component %u", id);
	return buf;
}

const char *image_state_name(const struct image_thread *t, unsigned id)
{
	struct xst_image image = image_of(t);

	if (!(t->layout.mask & XST_MASK(id)))
		return "absent";
	return xst_image_live(&image) & XST_MASK(id) ? "live" : "INIT";
}

void image_mask_names(uint64_t mask, char *buf, size_t size)
{
	size_t n = 0;

	snprintf(buf, size, "none");
	for (; mask; mask &= mask - 1) {
		char name[32];

		n += (size_t)snprintf(buf + n, n < size ? size - n : 0, "%s%s", n ? ", " : "",
				      image_comp_name((unsigned)__builtin_ctzll(mask), name,
						      sizeof(name)));
		if (n >= size)
			return;
	}
}

const char *image_header_fault(const struct image_thread *t)
{
	uint64_t xcomp_bv = xst_get64(t->area, XST_OFF_XCOMP_BV);
	uint64_t bv = xst_get64(t->area, XST_OFF_XSTATE_BV);

	if (xcomp_bv && !(xcomp_bv & XST_XCOMP_COMPACT))
		return xst_rule_text(XST_RULE_XCOMP_STANDARD);
	if (xst_get64(t->area, XST_OFF_XCOMP_BV + 8))
		return xst_rule_text(XST_RULE_HEADER_STANDARD);
	if (bv & ~t->layout.mask)
		return xcomp_bv ? xst_rule_text(XST_RULE_BV_XCOMP)
				: xst_rule_text(XST_RULE_BV_ENABLED);
	return NULL;
}

typedef const char *(*candidate_fn)(uint64_t mask, size_t bytes, unsigned nth,
				    struct xst_layout *layout);

static const char *compacted(uint64_t mask, size_t bytes, unsigned nth, struct xst_layout *layout)
{
	(void)bytes;
	return xst_regset_compacted(mask, nth, layout);
}

/* Do two layouts put all of @live at the same place? */
static bool agree(const struct xst_layout *a, const struct xst_layout *b, uint64_t live)
{
	for (live &= ~XST_MASK_LEGACY; live; live &= live - 1) {
		unsigned i = (unsigned)__builtin_ctzll(live);

		if (a->offset[i] != b->offset[i])
			return false;
	}
	return true;
}

/* Go through the candidates; those that differ only in what is INIT are as good as one. */
static int eliminate(struct image_thread *t, candidate_fn next, uint64_t mask, size_t bytes,
		     char *err, size_t errlen)
{
	uint64_t live = xst_get64(t->area, XST_OFF_XSTATE_BV) & mask;
	struct xst_layout other;
	const char *name = next(mask, bytes, 0, &t->layout), *more;
	char names[160];
	bool ambiguous = false;
	size_t n;

	image_mask_names(mask, names, sizeof(names));
	if (!name) {
		snprintf(err, errlen,
			 "no CPU known has a layout for %s in %zu bytes: say --from CPU", names,
			 bytes);
		return -1;
	}
	t->layout_by = name;
	n = (size_t)snprintf(err, errlen, "the layout is ambiguous: %s (", name);
	if (n < errlen)
		n += (size_t)snprintf(err + n, errlen - n, "%u bytes)", t->layout.bytes);
	for (unsigned nth = 1; (more = next(mask, bytes, nth, &other)); nth++) {
		ambiguous |= !agree(&t->layout, &other, live);
		if (n < errlen)
			n += (size_t)snprintf(err + n, errlen - n, " or %s (%u bytes)", more,
					      other.bytes);
		t->layout_by = "every CPU known agrees where it is live";
	}
	if (!ambiguous)
		return 0;
	if (n < errlen)
		snprintf(err + n, errlen - n, "; say --from CPU");
	return -1;
}

static int from_cpu(const struct image_request *r, struct image_thread *t, uint64_t xcomp_bv,
		    char *err, size_t errlen)
{
	const struct xst_caps *caps = &r->from.caps;
	uint64_t mask = xcomp_bv & ~XST_XCOMP_COMPACT;
	enum xst_format format = xcomp_bv & XST_XCOMP_COMPACT ? XST_COMPACTED : XST_STANDARD;
	struct xst_diag d;

	if (format == XST_STANDARD)
		mask = r->xcr0.given ? r->xcr0.mask
		       : t->xcr0     ? t->xcr0
				     : xst_caps_placed(caps) & caps->xcr0;
	if (xst_layout_compute(caps, mask, format, &t->layout, &d)) {
		char name[32];

		snprintf(err, errlen, "%s cannot have made this image: %s%s%s", r->from.source,
			 d.component == XST_DIAG_NO_COMPONENT
				 ? "" : image_comp_name(d.component, name, sizeof(name)),
			 d.component == XST_DIAG_NO_COMPONENT ? "" : ": ", d.rule);
		return -1;
	}
	t->layout_by = r->from.source;
	return 0;
}

/* Every live component must lie within what the file has. */
static int whole(const struct image_thread *t, char *err, size_t errlen)
{
	uint64_t live = xst_get64(t->area, XST_OFF_XSTATE_BV) & t->layout.mask;

	for (live &= ~XST_MASK_LEGACY; live; live &= live - 1) {
		unsigned i = (unsigned)__builtin_ctzll(live);
		uint64_t end = (uint64_t)t->layout.offset[i] + t->layout.size[i];
		char name[32];

		if (end > t->bytes) {
			snprintf(err, errlen,
				 "the file ends at byte %zu, within or before %s (%u-%llu), which "
				 "XSTATE_BV names", t->bytes,
				 image_comp_name(i, name, sizeof(name)), t->layout.offset[i],
				 (unsigned long long)end - 1);
			return -1;
		}
	}
	return 0;
}

int image_resolve(const struct image_request *r, struct image_thread *t, char *err, size_t errlen)
{
	uint64_t xcomp_bv = xst_get64(t->area, XST_OFF_XCOMP_BV);
	uint64_t mask = xst_get64(t->area, XST_OFF_XSTATE_BV) & XST_MASK_USER;
	uint64_t odd = xcomp_bv & ~XST_XCOMP_COMPACT & ~(XST_MASK_USER | XST_MASK_SUPER);
	int ret = 0;

	if (t->layout_by)
		return whole(t, err, errlen);
	if ((xcomp_bv & XST_XCOMP_COMPACT) && odd) {
		snprintf(err, errlen, "XCOMP_BV 0x%llx names components that no CPU has (0x%llx): "
			 "is this an XSAVE image?", (unsigned long long)xcomp_bv,
			 (unsigned long long)odd);
		return -1;
	}
	if (r->has_from)
		ret = from_cpu(r, t, xcomp_bv, err, errlen);
	else if (xcomp_bv & XST_XCOMP_COMPACT)
		ret = eliminate(t, compacted, xcomp_bv & ~XST_XCOMP_COMPACT, t->bytes, err, errlen);
	else
		ret = eliminate(t, xst_regset_candidate,
				r->xcr0.given ? r->xcr0.mask
				: t->xcr0     ? t->xcr0
					      : mask | XST_MASK_LEGACY,
				t->sized ? t->bytes : 0, err, errlen);
	if (ret < 0)
		return ret;
	if (t->layout.bytes > IMAGE_ROOM) {
		snprintf(err, errlen, "the layout needs %u bytes, more than any XSAVE area has",
			 t->layout.bytes);
		return -1;
	}
	return whole(t, err, errlen);
}

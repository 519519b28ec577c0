// SPDX-License-Identifier: BSD-2-Clause
/* One image against one CPU: what compat.c says about two layouts, weighed by what is live. */
#include <xst/compat.h>

static void target_layout(const struct xst_image *image, const struct xst_restore *on,
			  struct xst_layout *to)
{
	const struct xst_caps *caps = on->caps;
	uint64_t enabled = xst_caps_placed(caps) & (on->xcr0 | on->xss);
	bool compacted = image->layout->format == XST_COMPACTED && (caps->xsavec || caps->xsaves);

	if (caps->xsave &&
	    !xst_layout_compute(caps,
				compacted ? image->layout->mask & enabled : enabled & on->xcr0,
				compacted ? XST_COMPACTED : XST_STANDARD, to, NULL))
		return;
	/* No XSAVE there: what FXSAVE or FNSAVE holds. */
	*to = *image->layout;
	to->mask = xst_caps_state(caps) & XST_MASK_LEGACY;
	to->format = XST_STANDARD;
	to->bytes = XST_LEGACY_BYTES;
}

static int decide(struct xst_compat_report *r, struct xst_diag *diag,
		  enum xst_compat_verdict verdict, int code, uint32_t id, uint32_t offset,
		  uint64_t want, uint64_t got, const char *rule)
{
	if (verdict > r->verdict) {
		r->verdict = verdict;
		xst_diag_set(diag, code, id, offset, want, got, rule);
	}
	return (int)r->verdict;
}

/* The verdict of one component that is in use, or 0. */
static void weigh(struct xst_compat_report *r, const struct xst_layout *from,
		  const struct xst_layout *to, unsigned i, struct xst_diag *diag)
{
	switch ((enum xst_compat)r->comp[i]) {
	case XST_COMPAT_MISSING:
		r->comp[i] = XST_COMPAT_MISSING_LIVE;
		decide(r, diag, XST_VERDICT_REFUSE, XST_ERR_LIVE, i, 0xd00 | i, to->mask,
		       from->mask, "the target does not have the component, and it is live");
		return;
	case XST_COMPAT_SIZE:
		decide(r, diag, XST_VERDICT_REFUSE, XST_ERR_MISMATCH, i, 0xd00 | i, to->size[i],
		       from->size[i], "the component has another size");
		return;
	case XST_COMPAT_RESIZED:
		decide(r, diag, XST_VERDICT_CONVERT, XST_ERR_MISMATCH, i, 0xd00 | i, to->size[i],
		       from->size[i], "the component has another size, of which only padding differs");
		return;
	case XST_COMPAT_MOVED:
		decide(r, diag, XST_VERDICT_CONVERT, XST_ERR_MISMATCH, i, 0xd00 | i,
		       to->offset[i], from->offset[i], "the component lies at another offset");
		return;
	default:
		return;
	}
}

int xst_compat_image(const struct xst_image *image, const struct xst_restore *on,
		     struct xst_compat_report *report, struct xst_layout *to,
		     struct xst_diag *diag)
{
	struct xst_layout own;
	const uint32_t mask = on->mxcsr_mask ? on->mxcsr_mask : on->caps->mxcsr_mask;
	const uint64_t live = xst_image_live(image);
	uint64_t rest;
	bool form;

	if (!to)
		to = &own;
	target_layout(image, on, to);
	xst_compat_layouts(image->layout, to, report, NULL);
	xst_diag_set(diag, XST_OK, XST_DIAG_NO_COMPONENT, 0, 0, 0, "");
	form = report->form_differs || to->bytes == XST_LEGACY_BYTES;
	report->form_differs = form;
	report->verdict = XST_VERDICT_OK;
	for (rest = image->layout->mask; rest; rest &= rest - 1) {
		unsigned i = xst_mask_first(rest);

		if (live & XST_MASK(i))
			weigh(report, image->layout, to, i, diag);
		else if (report->comp[i] == XST_COMPAT_MISSING)
			report->comp[i] = XST_COMPAT_MISSING_INIT;
	}
	if (live & XST_MASK_SSE) {
		report->mxcsr = xst_get32(image->area, XST_OFF_MXCSR) & ~mask;
		if (report->mxcsr)
			decide(report, diag, XST_VERDICT_REFUSE, XST_ERR_LIVE, XST_COMP_SSE,
			       XST_OFF_MXCSR, mask, xst_get32(image->area, XST_OFF_MXCSR),
			       "MXCSR has a bit that the target does not");
	}
	if (form)
		decide(report, diag, XST_VERDICT_CONVERT, XST_ERR_MISMATCH, XST_DIAG_NO_COMPONENT,
		       XST_OFF_XCOMP_BV, to->format, image->layout->format,
		       "the target needs another format");
	else if (to->format == XST_COMPACTED && (image->layout->mask & ~to->mask))
		decide(report, diag, XST_VERDICT_CONVERT, XST_ERR_MISMATCH,
		       xst_mask_first(image->layout->mask & ~to->mask),
		       XST_OFF_XCOMP_BV, to->mask, image->layout->mask,
		       "XCOMP_BV names a component that the target does not have");
	report->size_only = report->verdict == XST_VERDICT_OK && report->from_bytes != report->to_bytes;
	return (int)report->verdict;
}

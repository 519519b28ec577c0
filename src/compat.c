// SPDX-License-Identifier: BSD-2-Clause
/* Two CPUs or two layouts compared component by component, and what a group of CPUs shares. */
#include <xst/compat.h>

const char *xst_compat_name(enum xst_compat compat)
{
	switch (compat) {
	case XST_COMPAT_ABSENT:
		return "absent";
	case XST_COMPAT_SAME:
		return "same";
	case XST_COMPAT_MOVED:
		return "moved";
	case XST_COMPAT_RESIZED:
		return "resized";
	case XST_COMPAT_SIZE:
		return "size differs";
	case XST_COMPAT_MISSING:
		return "missing";
	case XST_COMPAT_MISSING_INIT:
		return "missing but INIT";
	case XST_COMPAT_MISSING_LIVE:
		return "missing and live";
	}
	return "unknown";
}

const char *xst_compat_verdict_name(enum xst_compat_verdict verdict)
{
	switch (verdict) {
	case XST_VERDICT_OK:
		return "ok";
	case XST_VERDICT_CONVERT:
		return "convert";
	case XST_VERDICT_REFUSE:
		return "refuse";
	}
	return "unknown";
}

uint64_t xst_caps_state(const struct xst_caps *caps)
{
	if (caps->xsave)
		return xst_caps_placed(caps);
	if (!caps->fpu && !caps->fxsr)
		return 0;
	return caps->fxsr && caps->sse ? XST_MASK_LEGACY : XST_MASK_X87;
}

/* Sizes differ: is what the manuals define inside both, so that only padding differs? */
static bool resizable(unsigned id, uint32_t a, uint32_t b)
{
	const struct xst_comp_info *info = xst_comp_info(id);

	return info && info->bytes_alt && a >= info->bytes && b >= info->bytes;
}

static void worse(struct xst_compat_report *r, enum xst_compat_verdict verdict)
{
	if (verdict > r->verdict)
		r->verdict = verdict;
}

/* Record what becomes of @id; the diagnosis keeps the first component of the worst verdict. */
static void put(struct xst_compat_report *r, unsigned id, enum xst_compat compat, uint64_t want,
		uint64_t got, struct xst_diag *diag)
{
	static const struct {
		enum xst_compat_verdict verdict;
		int code;
		const char *rule;
	} meaning[] = {
		[XST_COMPAT_SAME] = { XST_VERDICT_OK, XST_OK, "" },
		[XST_COMPAT_MOVED] = { XST_VERDICT_CONVERT, XST_ERR_MISMATCH,
				       "the component lies at another offset" },
		[XST_COMPAT_RESIZED] = { XST_VERDICT_CONVERT, XST_ERR_MISMATCH,
					 "the component has another size, of which only padding "
					 "differs" },
		[XST_COMPAT_SIZE] = { XST_VERDICT_REFUSE, XST_ERR_MISMATCH,
				      "the component has another size" },
		[XST_COMPAT_MISSING] = { XST_VERDICT_REFUSE, XST_ERR_NOT_ENUMERATED,
					 "the target does not have the component" },
	};

	r->comp[id] = (uint8_t)compat;
	r->same |= compat == XST_COMPAT_SAME ? XST_MASK(id) : 0;
	r->moved |= compat == XST_COMPAT_MOVED ? XST_MASK(id) : 0;
	r->resized |= compat == XST_COMPAT_RESIZED ? XST_MASK(id) : 0;
	r->size |= compat == XST_COMPAT_SIZE ? XST_MASK(id) : 0;
	r->missing |= compat == XST_COMPAT_MISSING ? XST_MASK(id) : 0;
	if (meaning[compat].verdict > r->verdict)
		xst_diag_set(diag, meaning[compat].code, id, 0xd00 | id, want, got,
			     meaning[compat].rule);
	worse(r, meaning[compat].verdict);
}

static void begin(struct xst_compat_report *r, struct xst_diag *diag)
{
	__builtin_memset(r, 0, sizeof(*r));
	xst_diag_set(diag, XST_OK, XST_DIAG_NO_COMPONENT, 0, 0, 0, "");
}

int xst_compat_layouts(const struct xst_layout *from, const struct xst_layout *to,
		       struct xst_compat_report *report, struct xst_diag *diag)
{
	uint64_t rest;

	begin(report, diag);
	report->from_bytes = from->bytes;
	report->to_bytes = to->bytes;
	report->extra = to->mask & ~from->mask;
	for (rest = from->mask; rest; rest &= rest - 1) {
		unsigned i = xst_mask_first(rest);

		if (!(to->mask & XST_MASK(i)))
			put(report, i, XST_COMPAT_MISSING, to->mask, from->mask, diag);
		else if (from->size[i] != to->size[i])
			put(report, i, resizable(i, from->size[i], to->size[i]) ? XST_COMPAT_RESIZED
										: XST_COMPAT_SIZE,
			    to->size[i], from->size[i], diag);
		else if (from->offset[i] != to->offset[i])
			put(report, i, XST_COMPAT_MOVED, to->offset[i], from->offset[i], diag);
		else
			put(report, i, XST_COMPAT_SAME, 0, 0, diag);
	}
	/* The header tells the formats apart, so even equal places need a conversion. */
	if (from->format != to->format) {
		report->form_differs = true;
		worse(report, XST_VERDICT_CONVERT);
	}
	report->size_only = report->verdict == XST_VERDICT_OK && from->bytes != to->bytes;
	report->cached_size = to->bytes > from->bytes;
	return (int)report->verdict;
}

/* The kind of image a CPU makes. */
enum form { FORM_NONE, FORM_FNSAVE, FORM_FXSAVE, FORM_XSAVE };

static enum form form_of(const struct xst_caps *caps)
{
	return caps->xsave  ? FORM_XSAVE
	       : caps->fxsr ? FORM_FXSAVE
	       : caps->fpu  ? FORM_FNSAVE
			    : FORM_NONE;
}

static uint32_t user_bytes(const struct xst_caps *caps)
{
	struct xst_layout l;

	return xst_layout_compute(caps, xst_caps_placed(caps) & caps->xcr0, XST_STANDARD, &l, NULL)
		       ? 0 : l.bytes;
}

static enum xst_compat compare(const struct xst_caps *from, const struct xst_caps *to, unsigned i,
			       uint64_t *want, uint64_t *got)
{
	const struct xst_comp_caps *a = &from->comp[i], *b = &to->comp[i];

	if (i < 2)
		return XST_COMPAT_SAME; /* the legacy region is the same everywhere */
	*want = b->bytes;
	*got = a->bytes;
	if (a->bytes != b->bytes)
		return resizable(i, a->bytes, b->bytes) ? XST_COMPAT_RESIZED : XST_COMPAT_SIZE;
	*want = b->offset;
	*got = a->offset;
	return a->offset == b->offset ? XST_COMPAT_SAME : XST_COMPAT_MOVED;
}

int xst_compat_cpus(const struct xst_caps *from, const struct xst_caps *to, uint64_t mask,
		    struct xst_compat_report *report, struct xst_diag *diag)
{
	uint64_t has = xst_caps_state(from) & mask, target = xst_caps_state(to), rest;

	begin(report, diag);
	report->from_bytes = user_bytes(from);
	report->to_bytes = user_bytes(to);
	report->mxcsr = from->mxcsr_mask & ~to->mxcsr_mask;
	report->extra = target & ~has;
	for (rest = has; rest; rest &= rest - 1) {
		unsigned i = xst_mask_first(rest);
		uint64_t want = 0, got = 0;
		enum xst_compat c;

		if (!(target & XST_MASK(i))) {
			put(report, i, XST_COMPAT_MISSING, target, has, diag);
			continue;
		}
		c = compare(from, to, i, &want, &got);
		put(report, i, c, want, got, diag);
		if (from->comp[i].align64 != to->comp[i].align64)
			report->align |= XST_MASK(i);
	}
	if (form_of(from) != form_of(to)) {
		report->form_differs = true;
		if (report->verdict == XST_VERDICT_OK)
			xst_diag_set(diag, XST_ERR_MISMATCH, XST_COMP_X87, 0x100, form_of(to),
				     form_of(from), "the CPUs make different kinds of images "
				     "(FNSAVE, FXSAVE, XSAVE)");
		worse(report, XST_VERDICT_CONVERT);
	}
	report->size_only = report->verdict == XST_VERDICT_OK &&
			    report->from_bytes != report->to_bytes;
	report->cached_size = report->from_bytes && report->to_bytes > report->from_bytes;
	return (int)report->verdict;
}

/* Make the common mask legal. */
static void settle(struct xst_baseline *b)
{
	b->xcr0 = xst_xcr0_usable(b->xcr0);
	if (xst_xcr0_check(b->xcr0, b->xcr0, NULL))
		b->xcr0 = xst_xcr0_usable(b->xcr0 & ~(XST_MASK_BNDREGS | XST_MASK_BNDCSR));
	b->moving &= b->xcr0;
}

void xst_baseline_begin(struct xst_baseline *b, const struct xst_caps *caps)
{
	__builtin_memset(b, 0, sizeof(*b));
	b->first = caps;
	b->cpus = 1;
	b->xcr0 = xst_caps_state(caps) & (caps->xsave ? caps->xcr0 : ~0ULL);
	b->xss = xst_caps_placed(caps) & caps->xss;
	b->mxcsr_mask = caps->mxcsr_mask;
	b->fxsr = caps->fxsr;
	b->xsave = caps->xsave;
	b->xsaveopt = caps->xsaveopt;
	b->xsavec = caps->xsavec;
	b->xgetbv1 = caps->xgetbv1;
	b->xsaves = caps->xsaves;
	b->xfd = caps->xfd;
	settle(b);
}

void xst_baseline_add(struct xst_baseline *b, const struct xst_caps *caps)
{
	uint64_t state = xst_caps_state(caps), rest;

	b->cpus++;
	b->xcr0 &= state & (caps->xsave ? caps->xcr0 : ~0ULL);
	b->xss &= state & caps->xss;
	b->mxcsr_mask &= caps->mxcsr_mask;
	b->fxsr &= caps->fxsr;
	b->xsave &= caps->xsave;
	b->xsaveopt &= caps->xsaveopt;
	b->xsavec &= caps->xsavec;
	b->xgetbv1 &= caps->xgetbv1;
	b->xsaves &= caps->xsaves;
	b->xfd &= caps->xfd;
	for (rest = b->xcr0 & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		uint64_t want, got;

		if (compare(b->first, caps, xst_mask_first(rest), &want, &got) != XST_COMPAT_SAME)
			b->moving |= rest & -rest;
	}
	settle(b);
}

// SPDX-License-Identifier: BSD-2-Clause
/* xstate image convert: move an image to another format or CPU, or refuse; never half. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xst/regset.h>
#include <xst/x87.h>

#include "image/image.h"
#include "ui/outfile.h"
#include "ui/ui.h"

/* What is written in the end. */
struct product {
	struct xst_layout layout;
	const char *format;
	uint8_t *area; /* IMAGE_ROOM bytes */
	size_t bytes;
};

/* The layout on a CPU that was named. */
static int layout_on(const struct image_request *r, const struct cpu_source *cpu,
		     const struct image_thread *t, bool compacted, struct xst_layout *to)
{
	const struct xst_caps *caps = &cpu->caps;
	uint64_t placed = xst_caps_placed(caps), mask;
	struct xst_diag d;

	if (r->xcr0.given && (r->xcr0.mask & ~caps->xcr0))
		return ui_error(r->cmd, UI_NO, "XCR0 0x%" PRIx64 " has bits 0x%" PRIx64
				" that %s does not", r->xcr0.mask, r->xcr0.mask & ~caps->xcr0,
				cpu->source);
	mask = (r->xcr0.given ? r->xcr0.mask : caps->xcr0) & placed;
	if (compacted) {
		mask |= (r->xss.given ? r->xss.mask : caps->xss) & placed;
		/* XCOMP_BV: what was asked for, or what the image has. */
		if (!r->xcr0.given)
			mask &= t->layout.mask;
	}
	if (xst_layout_compute(caps, mask, compacted ? XST_COMPACTED : XST_STANDARD, to, &d))
		return ui_error(r->cmd, UI_NO, "%s: %s", cpu->source, d.rule);
	return UI_OK;
}

/* Without a CPU: what every CPU that may have made the image agrees on. */
static int layout_by_image(const struct image_request *r, const struct image_thread *t,
			   bool compacted, struct xst_layout *to)
{
	struct xst_layout other;
	unsigned nth;
	uint64_t user = t->layout.mask & XST_MASK_USER;

	if ((t->layout.format == XST_COMPACTED) == compacted) {
		*to = t->layout;
		return UI_OK;
	}
	if (compacted) {
		for (nth = 0; xst_regset_compacted(t->layout.mask, nth, to); nth++)
			if (to->size[XST_COMP_PKRU] == t->layout.size[XST_COMP_PKRU] ||
			    !(to->mask & XST_MASK_PKRU))
				return UI_OK;
		xst_regset_compacted(t->layout.mask, 0, to);
		return UI_OK;
	}
	if (!xst_regset_candidate(user, 0, 0, to))
		return ui_error(r->cmd, UI_USAGE, "no CPU known has a standard layout for this "
				"set of components (0x%" PRIx64 "): say --to CPU", user);
	if (xst_regset_candidate(user, 0, 1, &other))
		return ui_error(r->cmd, UI_USAGE, "CPUs differ in where the standard format has "
				"these components (0x%" PRIx64 "): say --to CPU", user);
	return UI_OK;
}

static int choose(const struct image_request *r, const struct image_thread *t, struct product *p)
{
	const struct cpu_source *cpu = r->has_on ? &r->on : r->has_from ? &r->from : NULL;
	bool compacted = r->to_compacted ||
			 (!r->to_standard && t->layout.format == XST_COMPACTED);
	int status;

	if (r->has_on && !r->to_compacted && compacted && !cpu->caps.xsavec && !cpu->caps.xsaves)
		compacted = false;
	p->format = compacted ? "compacted" : "standard";
	if (r->has_on && !cpu->caps.xsave) {
		if (!cpu->caps.fxsr && !cpu->caps.fpu)
			return ui_error(r->cmd, UI_NO, "%s has no FPU", cpu->source);
		if (r->to_standard || r->to_compacted)
			return ui_error(r->cmd, UI_NO, "%s has no XSAVE", cpu->source);
		p->format = cpu->caps.fxsr ? "fxsave" : "fnsave";
		memset(&p->layout, 0, sizeof(p->layout));
		p->layout.mask = xst_caps_state(&cpu->caps) & XST_MASK_LEGACY;
		p->layout.format = XST_STANDARD;
		p->layout.bytes = XST_EXT_OFFSET;
		return UI_OK;
	}
	status = cpu ? layout_on(r, cpu, t, compacted, &p->layout)
		     : layout_by_image(r, t, compacted, &p->layout);
	if (!status && p->layout.bytes > IMAGE_ROOM)
		return ui_error(r->cmd, UI_USAGE, "the target's image has %u bytes, more than any "
				"XSAVE area", p->layout.bytes);
	return status;
}

static int refuse(const struct image_request *r, const struct xst_diag *d)
{
	char room[32];
	const char *name = d->component == XST_DIAG_NO_COMPONENT
				   ? "" : image_comp_name(d->component, room, sizeof(room));

	if (d->code != XST_ERR_LIVE)
		return ui_error(r->cmd, UI_USAGE, "%s: %s (byte %u: want 0x%" PRIx64 ", got 0x%"
				PRIx64 ")", r->path, d->rule, d->offset, d->want, d->got);
	if (d->component == XST_COMP_SSE && d->offset == XST_OFF_MXCSR)
		return ui_error(r->cmd, UI_NO, "MXCSR 0x%" PRIx64 " has bits 0x%" PRIx64
				" that the target does not: --drop mxcsr clears them", d->got,
				d->got & ~d->want);
	return ui_error(r->cmd, UI_NO, "component %u %s is live and would be lost: %s; "
			"--drop %s gives it up", d->component, name, d->rule, name);
}

/* The 108 or 512 bytes of older CPUs. */
static int shrink(const struct image_request *r, const struct image_thread *t, struct product *p)
{
	uint8_t fn[XST_FNSAVE_BYTES];

	if (!strcmp(p->format, "fxsave")) {
		p->bytes = XST_LEGACY_BYTES;
		return UI_OK;
	}
	if (xst_fxsave_to_fnsave(p->area, t->wide, NULL, fn) && !r->drop_mxcsr &&
	    !(r->drop & XST_MASK_X87))
		return ui_error(r->cmd, UI_NO, "FIP or FDP has more than the 32 bits of the FNSAVE "
				"format: --drop x87 gives the x87 state up");
	memcpy(p->area, fn, sizeof(fn));
	p->bytes = sizeof(fn);
	return UI_OK;
}

static int write_whole(const struct image_request *r, const uint8_t *data, size_t bytes)
{
	struct outfile o;

	if (outfile_open(&o, r->out)) {
		fwrite(data, 1, bytes, o.f);
		if (outfile_commit(&o))
			return UI_OK;
	}
	return ui_error(r->cmd, UI_USAGE, "%s: %s", r->out, strerror(errno));
}

static void report(const struct image_request *r, const struct image_file *f,
		   const struct product *p, uint64_t bv)
{
	struct jw w;

	if (!strcmp(r->out, "-"))
		return;
	if (!ui.json) {
		ui_note("%s: %s, %zu bytes", r->out, p->format, p->bytes);
		return;
	}
	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", IMAGE_SCHEMA);
	jw_string(&w, "source", f->path);
	jw_string(&w, "output", r->out);
	jw_string(&w, "format", p->format);
	jw_u64(&w, "bytes", p->bytes);
	jw_mask(&w, "xstate_bv", bv);
	jw_mask(&w, "mask", p->layout.mask);
	jw_mask(&w, "dropped", r->drop);
	jw_end(&w);
	jw_finish(&w);
}

int image_convert(const struct image_request *r, struct image_file *f)
{
	const struct image_thread *t = &f->threads[0];
	struct xst_image from = image_of(t), to;
	struct xst_convert how = {r->drop, r->has_on ? r->on.caps.mxcsr_mask : 0, r->drop_mxcsr};
	struct product p = {0};
	struct xst_diag d;
	uint64_t bv;
	int status;

	if (f->count > 1)
		return ui_error(r->cmd, UI_USAGE, "%s holds %zu threads: say --thread, for example "
				"%" PRIu64, f->path, f->count, t->id);
	status = choose(r, t, &p);
	if (status)
		return status;
	p.area = calloc(1, IMAGE_ROOM);
	if (!p.area)
		return ui_error(r->cmd, UI_USAGE, "out of memory");
	p.bytes = p.layout.bytes;
	to = (struct xst_image){p.area, IMAGE_ROOM, &p.layout};
	if (xst_image_convert(&from, &to, &how, &d)) {
		status = refuse(r, &d);
		goto out;
	}
	bv = xst_get64(p.area, XST_OFF_XSTATE_BV);
	if (r->has_on && !r->on.caps.xsave)
		status = shrink(r, t, &p);
	if (!status)
		status = write_whole(r, p.area, p.bytes);
	if (!status)
		report(r, f, &p, bv);
out:
	free(p.area);
	return status;
}

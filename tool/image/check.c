// SPDX-License-Identifier: BSD-2-Clause
/*
 * xstate image check: will it restore there, as it is? Two questions in one: is every live
 * component where that CPU looks for it (compat), and does the instruction accept the bytes.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <xst/x87.h>

#include "image/image.h"
#include "ui/table.h"
#include "ui/ui.h"

#define SENTENCES_MAX 72
#define KVM_PAGE      4096u

/* Why not, and what else should be known. */
struct answer {
	bool yes, convertible;
	bool as_it_is; /* the image itself is no obstacle */
	struct xst_restore how;
	struct xst_verdict verdict;
	struct xst_compat_report report;
	struct xst_layout to;
	struct xst_diag diag;
	unsigned count;
	struct {
		bool bad; /* a reason for no; else a remark */
		int component;
		char text[256];
	} say[SENTENCES_MAX];
};

static void say(struct answer *a, bool bad, int component, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void say(struct answer *a, bool bad, int component, const char *fmt, ...)
{
	va_list ap;

	if (a->count >= SENTENCES_MAX)
		return;
	a->say[a->count].bad = bad;
	a->say[a->count].component = component;
	va_start(ap, fmt);
	vsnprintf(a->say[a->count].text, sizeof(a->say[0].text), fmt, ap);
	va_end(ap);
	a->count++;
}

static const char *const instructions[] = {
	[XST_BY_FXRSTOR] = "fxrstor",
	[XST_BY_XRSTOR] = "xrstor",
	[XST_BY_XRSTORS] = "xrstors",
	[XST_BY_KVM] = "kvm",
};

static const char *consequence(uint32_t vector, char *buf, size_t size)
{
	switch (vector) {
	case XST_VECTOR_UD:
		return "#UD";
	case XST_VECTOR_NM:
		return "#NM";
	case XST_VECTOR_GP:
		return "#GP";
	case XST_VECTOR_PF:
		return "#PF";
	case XST_VECTOR_EINVAL:
		return "EINVAL";
	default:
		snprintf(buf, size, "vector %u", vector);
		return buf;
	}
}

/* One component against the target. */
static void judge_component(struct answer *a, const struct image_request *r,
			    const struct image_thread *t, unsigned i)
{
	const struct xst_caps *caps = a->how.caps;
	const char *cpu = r->on.source;
	char room[32];
	const char *name = image_comp_name(i, room, sizeof(room));
	bool live = !strcmp(image_state_name(t, i), "live");

	switch ((enum xst_compat)a->report.comp[i]) {
	case XST_COMPAT_MISSING_LIVE:
		if (caps->xsave && (caps->xcr0 | caps->xss) & XST_MASK(i))
			say(a, true, (int)i,
			    "component %u %s is live, but not enabled for %s (XCR0 0x%" PRIx64
			    ", IA32_XSS 0x%" PRIx64 "): enable it, or give it up with "
			    "convert --drop %s", i, name, instructions[a->how.by], a->how.xcr0,
			    a->how.xss, name);
		else
			say(a, true, (int)i,
			    "component %u %s is live, and %s does not have it (CPUID 0DH.%u: "
			    "0x%" PRIx64 "): give it up with convert --drop %s", i, name, cpu,
			    (XST_MASK_SUPER & XST_MASK(i)) ? 1 : 0, caps->xcr0 | caps->xss, name);
		return;
	case XST_COMPAT_MISSING_INIT:
		say(a, false, (int)i, "component %u %s is not there, but INIT: nothing is lost", i,
		    name);
		return;
	case XST_COMPAT_MOVED:
		say(a, live, (int)i,
		    "component %u %s: the image has it at %u, %s at %u (CPUID 0DH.%u EBX)%s", i,
		    name, t->layout.offset[i], cpu, a->to.offset[i], i,
		    live ? ": convert --to moves it" : "; it is INIT, so this does not matter");
		return;
	case XST_COMPAT_RESIZED:
	case XST_COMPAT_SIZE:
		say(a, live, (int)i,
		    "component %u %s: %u bytes in the image, %u on %s (CPUID 0DH.%u EAX)%s", i,
		    name, t->layout.size[i], a->to.size[i], cpu, i,
		    !live ? "; it is INIT, so this does not matter"
		    : a->report.comp[i] == XST_COMPAT_RESIZED
			    ? ", of which only padding differs: convert --to fits it"
			    : ": it cannot be carried");
		return;
	default:
		return;
	}
}

/* What to do about a broken rule. */
static const char *remedy(const struct answer *a)
{
	switch (a->verdict.rule) {
	case XST_RULE_NOT_COMPACTED:
		return "convert --compacted";
	case XST_RULE_NO_COMPACTION:
	case XST_RULE_KVM_XCOMP:
		return "convert --standard";
	case XST_RULE_XCOMP_ENABLED:
	case XST_RULE_BV_ENABLED:
	case XST_RULE_KVM_BV:
		return "enable the component, or convert --drop it";
	case XST_RULE_MXCSR:
	case XST_RULE_KVM_MXCSR:
		return "convert --to with --drop mxcsr clears the bits";
	case XST_RULE_XFD:
		return "write IA32_XFD before the restore";
	case XST_RULE_NO_INSTRUCTION:
		return "convert --to makes the format that CPU restores";
	case XST_RULE_KVM_HEADER:
		return "convert --standard writes a clean header";
	default:
		return "the header is damaged: do not trust the image";
	}
}

static void judge_rule(struct answer *a)
{
	char buf[32];
	const struct xst_diag *d = &a->diag;

	/* A component that is in the way was named already. */
	if ((a->verdict.rule == XST_RULE_BV_ENABLED || a->verdict.rule == XST_RULE_XCOMP_ENABLED ||
	     a->verdict.rule == XST_RULE_KVM_BV) && d->component < 64 &&
	    (a->report.comp[d->component] == XST_COMPAT_MISSING_LIVE))
		return;
	if (a->verdict.rule == XST_RULE_NO_INSTRUCTION) {
		say(a, true, -1, "%s: %s (CPUID %XH): %s", consequence(a->verdict.vector, buf,
		    sizeof(buf)), d->rule, d->offset >> 8, remedy(a));
		return;
	}
	say(a, true, d->component == XST_DIAG_NO_COMPONENT ? -1 : (int)d->component,
	    "%s: %s (byte %u: want 0x%" PRIx64 ", got 0x%" PRIx64 "): %s",
	    consequence(a->verdict.vector, buf, sizeof(buf)), d->rule, d->offset, d->want, d->got,
	    remedy(a));
}

/* XCR0, IA32_XSS and IA32_XFD are half of a snapshot. */
static void judge_registers(struct answer *a, const struct image_request *r)
{
	const struct xst_caps *caps = a->how.caps;
	uint64_t can_xfd = 0, rest;
	char names[160];
	struct xst_diag d;

	for (rest = xst_caps_placed(caps); rest; rest &= rest - 1)
		if (caps->comp[__builtin_ctzll(rest)].xfd)
			can_xfd |= rest & -rest;
	if (r->xcr0.given && (r->xcr0.mask & ~caps->xcr0)) {
		image_mask_names(r->xcr0.mask & ~caps->xcr0, names, sizeof(names));
		say(a, true, -1,
		    "XCR0 0x%" PRIx64 " has bits 0x%" PRIx64 " (%s) that %s does not (CPUID 0DH.0: "
		    "0x%" PRIx64 "): KVM_SET_XCRS and XSETBV refuse it", r->xcr0.mask,
		    r->xcr0.mask & ~caps->xcr0, names, r->on.source, caps->xcr0);
	} else if (r->xcr0.given && xst_xcr0_check(r->xcr0.mask, caps->xcr0, &d)) {
		say(a, true, (int)d.component, "XCR0 0x%" PRIx64 " is not legal: %s", r->xcr0.mask,
		    d.rule);
	}
	if (r->xss.given && (r->xss.mask & ~caps->xss)) {
		image_mask_names(r->xss.mask & ~caps->xss, names, sizeof(names));
		say(a, true, -1,
		    "IA32_XSS 0x%" PRIx64 " has bits 0x%" PRIx64 " (%s) that %s does not (CPUID "
		    "0DH.1: 0x%" PRIx64 ")", r->xss.mask, r->xss.mask & ~caps->xss, names,
		    r->on.source, caps->xss);
	}
	if (r->xfd.given && (r->xfd.mask & ~can_xfd))
		say(a, true, -1,
		    "IA32_XFD 0x%" PRIx64 " has bits that %s cannot disable (CPUID 0DH.n ECX[2]: "
		    "0x%" PRIx64 ")", r->xfd.mask, r->on.source, can_xfd);
}

static void remarks(struct answer *a, const struct image_file *f, const struct image_thread *t)
{
	uint64_t super = t->layout.mask & XST_MASK_SUPER;
	uint64_t rest = xst_get64(t->area, XST_OFF_XSTATE_BV) & t->layout.mask & ~XST_MASK_LEGACY;
	char names[160];

	if (a->verdict.warnings & XST_WARN_MXCSR_UNMASKED)
		say(a, false, XST_COMP_SSE,
		    "MXCSR %04x unmasks every SIMD exception: it comes from a zeroed area, not from "
		    "a program (initial value 1f80)", xst_get32(t->area, XST_OFF_MXCSR));
	if (a->verdict.warnings & XST_WARN_FIP_KEPT)
		say(a, false, XST_COMP_X87,
		    "FOP, FIP and FDP of the previous owner stay in the registers: clear them first "
		    "(CPUID 80000008H EBX[2] is 0)");
	if (a->verdict.warnings & XST_WARN_X87_PENDING)
		say(a, false, XST_COMP_X87,
		    "an unmasked x87 exception is pending: #MF at the next x87 instruction");
	if (super) {
		image_mask_names(super, names, sizeof(names));
		say(a, false, -1, "IA32_XSS must have 0x%" PRIx64 " (%s) at the restore", super,
		    names);
	}
	for (; rest && a->how.by == XST_BY_KVM; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);

		if (t->layout.offset[i] + t->layout.size[i] > KVM_PAGE)
			say(a, false, (int)i,
			    "component %u ends at %u: the host needs KVM_CAP_XSAVE2", i,
			    t->layout.offset[i] + t->layout.size[i]);
	}
	if (f->kind == IMAGE_CRIU && a->report.cached_size)
		say(a, false, -1,
		    "the target's area is larger (%u bytes, not %u): a process that remembers the "
		    "size overruns its buffer there", a->report.to_bytes, a->report.from_bytes);
}

static enum xst_restorer restorer(const struct image_request *r, const struct image_file *f,
				  const struct image_thread *t)
{
	if (r->with <= XST_BY_KVM)
		return r->with;
	if (t->wrapped)
		return XST_BY_FXRSTOR;
	if (f->kind == IMAGE_KVM)
		return XST_BY_KVM;
	return t->layout.mask & XST_MASK_SUPER ? XST_BY_XRSTORS : XST_BY_XRSTOR;
}

static void answer(const struct image_request *r, const struct image_file *f,
		   const struct image_thread *t, struct answer *a)
{
	const struct xst_caps *caps = &r->on.caps;
	const uint64_t placed = xst_caps_placed(caps);
	struct xst_image image = image_of(t);
	int compat;
	uint64_t rest;

	memset(a, 0, sizeof(*a));
	a->how.caps = caps;
	a->how.by = restorer(r, f, t);
	a->how.xcr0 = r->xcr0.given ? r->xcr0.mask & caps->xcr0 : placed & caps->xcr0;
	a->how.xss = r->xss.given ? r->xss.mask & caps->xss : placed & caps->xss;
	a->how.xfd = r->xfd.mask;
	a->how.rfbm = r->rfbm.given ? r->rfbm.mask : ~0ULL;
	if (a->how.by == XST_BY_FXRSTOR)
		a->how.xcr0 = caps->sse ? XST_MASK_LEGACY : XST_MASK_X87;
	if (a->how.by != XST_BY_XRSTORS)
		a->how.xss = 0;

	compat = xst_compat_image(&image, &a->how, &a->report, &a->to, NULL);
	/* The first 512 bytes of a standard image are what FXRSTOR wants. */
	if (a->how.by == XST_BY_FXRSTOR && compat == XST_VERDICT_CONVERT &&
	    t->layout.format == XST_STANDARD)
		compat = XST_VERDICT_OK;
	a->convertible = compat != XST_VERDICT_REFUSE && !image_header_fault(t);
	for (rest = t->layout.mask; rest; rest &= rest - 1)
		judge_component(a, r, t, (unsigned)__builtin_ctzll(rest));
	/* The memory it will lie in is the restorer's own, so the file's length is no obstacle. */
	if (xst_image_check(&a->how, t->area, IMAGE_ROOM, &a->verdict, &a->diag))
		judge_rule(a);
	else if (a->report.mxcsr)
		say(a, true, XST_COMP_SSE,
		    "MXCSR %x has bits 0x%x that %s does not: convert --to with --drop mxcsr clears "
		    "them", xst_get32(t->area, XST_OFF_MXCSR), a->report.mxcsr, r->on.source);
	if (compat == XST_VERDICT_CONVERT && a->verdict.rule == XST_RULE_NONE &&
	    a->report.form_differs)
		say(a, true, -1, "%s restores another kind of image: convert --to makes it",
		    r->on.source);
	a->as_it_is = true;
	for (unsigned i = 0; i < a->count; i++)
		a->as_it_is &= !a->say[i].bad;
	judge_registers(a, r);
	a->yes = true;
	for (unsigned i = 0; i < a->count; i++)
		a->yes &= !a->say[i].bad;
	if (a->yes)
		remarks(a, f, t);
}

static void print(const struct image_request *r, const struct image_thread *t,
		  const struct answer *a)
{
	char loads[200], inits[200];

	if (t->id)
		printf("thread %" PRIu64 ": ", t->id);
	printf("%s%s%s: %s on %s\n", ui_on(stdout, a->yes ? UI_GOOD : UI_BAD), a->yes ? "yes" : "no",
	       ui_off(stdout, a->yes ? UI_GOOD : UI_BAD), instructions[a->how.by], r->on.source);
	if (a->yes) {
		image_mask_names(a->verdict.loads, loads, sizeof(loads));
		image_mask_names(a->verdict.inits, inits, sizeof(inits));
		printf("  loads %s; initialises %s; MXCSR %s\n", loads, inits,
		       a->verdict.mxcsr == XST_MXCSR_LOADED  ? "loaded"
		       : a->verdict.mxcsr == XST_MXCSR_KEPT ? "kept"
							      : "initialised");
	}
	for (unsigned i = 0; i < a->count; i++) {
		printf("  %s", a->say[i].bad ? "" : "note: ");
		ui_paragraph(stdout, 4, a->say[i].text);
	}
	if (!a->as_it_is && a->convertible)
		printf("  nothing is lost by converting: xstate image convert %s --to %s%s -o OUT\n",
		       r->path, r->on.source,
		       a->how.by == XST_BY_XRSTORS ? " --compacted"
		       : a->how.by == XST_BY_KVM   ? " --standard"
						     : "");
}

static void print_json(struct jw *w, const struct image_thread *t, const struct answer *a)
{
	char buf[32];
	uint64_t rest;

	jw_object(w, NULL);
	if (t->id)
		jw_u64(w, "thread", t->id);
	else
		jw_null(w, "thread");
	jw_string(w, "with", instructions[a->how.by]);
	jw_bool(w, "restores", a->yes);
	jw_bool(w, "convertible", a->yes || a->convertible);
	jw_string(w, "fault", a->verdict.vector ? consequence(a->verdict.vector, buf, sizeof(buf))
						: NULL);
	jw_string(w, "rule", a->verdict.vector ? a->diag.rule : NULL);
	jw_mask(w, "loads", a->verdict.loads);
	jw_mask(w, "initialises", a->verdict.inits);
	jw_array(w, "components");
	for (rest = t->layout.mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		char name[32];

		jw_object(w, NULL);
		jw_u64(w, "id", i);
		jw_string(w, "name", image_comp_name(i, name, sizeof(name)));
		jw_string(w, "state", image_state_name(t, i));
		jw_string(w, "verdict", xst_compat_name((enum xst_compat)a->report.comp[i]));
		jw_end(w);
	}
	jw_end(w);
	for (int bad = 1; bad >= 0; bad--) {
		jw_array(w, bad ? "reasons" : "remarks");
		for (unsigned i = 0; i < a->count; i++) {
			if (a->say[i].bad != bad)
				continue;
			jw_object(w, NULL);
			if (a->say[i].component < 0)
				jw_null(w, "component");
			else
				jw_u64(w, "component", (uint64_t)a->say[i].component);
			jw_string(w, "text", a->say[i].text);
			jw_end(w);
		}
		jw_end(w);
	}
	jw_end(w);
}

int image_check(const struct image_request *r, struct image_file *f)
{
	struct answer a;
	struct jw w;
	bool yes = true;

	if (ui.json) {
		jw_begin(&w, stdout, ui.pretty);
		jw_object(&w, NULL);
		jw_string(&w, "schema", IMAGE_SCHEMA);
		jw_string(&w, "source", f->path);
		jw_string(&w, "kind", image_kind_name(f->kind));
		jw_string(&w, "on", r->on.source);
		jw_array(&w, "threads");
	}
	for (size_t i = 0; i < f->count; i++) {
		answer(r, f, &f->threads[i], &a);
		yes &= a.yes;
		if (ui.json)
			print_json(&w, &f->threads[i], &a);
		else
			print(r, &f->threads[i], &a);
	}
	if (ui.json) {
		jw_end(&w);
		jw_bool(&w, "restores", yes);
		jw_end(&w);
		jw_finish(&w);
	}
	return yes ? UI_OK : UI_NO;
}

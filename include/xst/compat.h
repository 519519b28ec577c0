/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * May state that was saved on CPU A be restored on CPU B?
 *
 * Equal masks are not enough (components move between vendors) and equal sizes are not needed
 * (holes differ), so the question is answered per component, from both layouts.
 */
#ifndef XST_COMPAT_H
#define XST_COMPAT_H

#include <xst/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of one component on the way from A to B. */
enum xst_compat {
	XST_COMPAT_ABSENT,       /* A has no such state: nothing to carry */
	XST_COMPAT_SAME,         /* same place, same size */
	XST_COMPAT_MOVED,        /* same size at another offset: convert */
	XST_COMPAT_RESIZED,      /* another size, but both hold what is architected: convert */
	XST_COMPAT_SIZE,         /* another size that cannot be carried */
	XST_COMPAT_MISSING,      /* B has no such component */
	XST_COMPAT_MISSING_INIT, /* missing on B, but INIT in this image: nothing is lost */
	XST_COMPAT_MISSING_LIVE, /* missing on B, and live in this image */
};

/* The answer for the whole: also what the judging functions return. */
enum xst_compat_verdict {
	XST_VERDICT_OK = 0,      /* copy the bytes */
	XST_VERDICT_CONVERT = 1, /* xst_image_convert(), nothing is lost */
	XST_VERDICT_REFUSE = 2,
};

struct xst_compat_report {
	enum xst_compat_verdict verdict;
	uint8_t comp[64]; /* enum xst_compat */
	/* The same as sets. */
	uint64_t same, moved, resized, size, missing;
	uint64_t extra;     /* components that only B has: INIT after the restore */
	uint64_t align;     /* components whose 64-byte alignment differs: compacted images move */
	uint32_t mxcsr;     /* MXCSR bits that A may have set and B refuses (#GP) */
	uint32_t from_bytes, to_bytes; /* standard size of each CPU's own user components, or 0 */
	bool form_differs;  /* one has FNSAVE, FXSAVE or XSAVE images and the other another kind */
	bool size_only;     /* nothing moves and nothing is missing, yet the area sizes differ: a
			     * check by size would refuse in vain */
	bool cached_size;   /* B needs more bytes than A: a process that cached A's size (a lazy
			     * binding resolver does) overflows its buffer on B */
};

/**
 * xst_compat_name() - what people call one enum xst_compat.
 *
 * Context: any ring; never faults.
 * Return:  a static string, never NULL.
 */
const char *xst_compat_name(enum xst_compat compat);

/**
 * xst_compat_verdict_name() - "ok", "convert" or "refuse".
 *
 * Context: any ring; never faults.
 * Return:  a static string, never NULL.
 */
const char *xst_compat_verdict_name(enum xst_compat_verdict verdict);

/**
 * xst_caps_state() - the components that an image made on this CPU can hold.
 *
 * With XSAVE those that can be laid out (xst_caps_placed()); without, what the legacy formats hold.
 *
 * Context: any ring; pure; never faults.
 * Return:  a mask; 0 for a CPU without an FPU.
 */
uint64_t xst_caps_state(const struct xst_caps *caps);

/**
 * xst_compat_layouts() - can an image laid out as @from be read as @to?
 * @from:   the image's layout.
 * @to:     the layout wanted. Its format may be another one.
 * @report: out; overwritten whole. The fields about CPUs (mxcsr, form_differs) stay clear.
 * @diag:   out, optional: the first component that is not the same; offset is leaf << 8 | sub-leaf,
 *          want is what @to has, got what @from has.
 *
 * Context: any ring; pure; never faults.
 * Return:  enum xst_compat_verdict.
 */
int xst_compat_layouts(const struct xst_layout *from, const struct xst_layout *to,
		       struct xst_compat_report *report, struct xst_diag *diag);

/**
 * xst_compat_cpus() - can any image made on one CPU be restored on another?
 * @from:   CPU A.
 * @to:     CPU B.
 * @mask:   components that A's images may hold; what A does not have is ignored. ~0ULL for all.
 * @report: out; overwritten whole.
 * @diag:   out, optional: the component that decided; offset is leaf << 8 | sub-leaf, want is B's
 *          value, got is A's.
 *
 * User components are compared in the standard format, which is what leaves a kernel (cores,
 * frames, KVM); supervisor components exist compacted only and are compared by size. MXCSR bits are
 * reported but do not refuse: an image decides whether they are set.
 *
 * Context: any ring; pure; never faults.
 * Return:  enum xst_compat_verdict.
 */
int xst_compat_cpus(const struct xst_caps *from, const struct xst_caps *to, uint64_t mask,
		    struct xst_compat_report *report, struct xst_diag *diag);

/**
 * xst_compat_image() - may one image, with the state it really holds, be restored there?
 * @image:  the image, with the layout of the CPU it comes from.
 * @on:     the CPU to restore it on: caps, xcr0, xss and mxcsr_mask are looked at.
 * @report: out; overwritten whole. Components that are INIT never refuse and never ask for a
 *          conversion, but are named as they are (moved, missing but INIT).
 * @to:     out, optional: the layout to convert to; the legacy region alone (512 bytes) for a CPU
 *          without XSAVE.
 * @diag:   out, optional: the component that decided; for MXCSR component SSE, offset 24, want the
 *          mask, got the value.
 *
 * Whether the header itself is acceptable is for xst_image_check().
 *
 * Context: any ring; pure; never faults on valid memory.
 * Return:  enum xst_compat_verdict; XST_VERDICT_CONVERT also when only the format has to change.
 */
int xst_compat_image(const struct xst_image *image, const struct xst_restore *on,
		     struct xst_compat_report *report, struct xst_layout *to,
		     struct xst_diag *diag);

/* What every CPU of a group has: begin with the first, add the others. */
struct xst_baseline {
	const struct xst_caps *first;
	unsigned cpus;
	uint64_t xcr0;      /* a legal XCR0 for all: user components that all have and can enable */
	uint64_t xss;       /* supervisor components that all have */
	uint64_t moving;    /* those of xcr0 whose place or size differs somewhere */
	uint32_t mxcsr_mask; /* MXCSR bits that all accept */
	bool fxsr, xsave, xsaveopt, xsavec, xgetbv1, xsaves, xfd;
};

/**
 * xst_baseline_begin() - the baseline of one CPU: what it has.
 * @caps: must stay where it is while CPUs are added.
 *
 * MPX and APX exclude each other; where both are listed the baseline keeps MPX out.
 *
 * Context: any ring; pure; never faults.
 */
void xst_baseline_begin(struct xst_baseline *b, const struct xst_caps *caps);

/**
 * xst_baseline_add() - keep what @caps has as well.
 *
 * Context: any ring; pure; never faults.
 */
void xst_baseline_add(struct xst_baseline *b, const struct xst_caps *caps);

#ifdef __cplusplus
}
#endif
#endif

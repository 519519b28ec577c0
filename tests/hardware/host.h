/* SPDX-License-Identifier: BSD-2-Clause */
/* This machine as libxst sees it, and a task on it that exists in memory alone: what tests against
 * the machine's own Linux start from. */
#ifndef TESTS_HARDWARE_HOST_H
#define TESTS_HARDWARE_HOST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xst/insn.h>
#include <xst/regset.h>
#include <xst/sigframe.h>

#include "images.h"

#define SKIP 77

struct host {
	struct xst_caps caps;
	struct xst_system sys;
	struct xst_ctx ctx;
	struct xst_uabi t;
	uint64_t mask; /* of the kernel's own frames and sets */
	struct xst_layout layout;
	struct rng rng;
	uint8_t area[IMAGE_ROOM] __attribute__((aligned(64)));
	uint8_t scratch[IMAGE_ROOM];
};

/* 0, or SKIP with the reason printed. @mask: what the kernel's frames hold. */
static inline int host_start(struct host *h, uint64_t mask)
{
	static uint8_t fx[512] __attribute__((aligned(64)));
	uint64_t xcr0;

	if (xst_caps_native(&h->caps) < 0 || !h->caps.xsave || !h->caps.osxsave) {
		printf("skipped: this CPU or kernel has no XSAVE\n");
		return SKIP;
	}
	xst_fxsave(fx);
	if (xst_get32(fx, XST_OFF_MXCSR_MASK))
		h->caps.mxcsr_mask = xst_get32(fx, XST_OFF_MXCSR_MASK);
	xcr0 = xst_xgetbv(0);
	h->mask = mask ? mask : xcr0 & ~XST_MASK_TILEDATA;
	if (xst_system_compute(&h->caps, xcr0 & h->mask, 0, &h->sys, NULL) ||
	    h->sys.insn < XST_INSN_XSAVE || h->sys.ctx_bytes > sizeof(h->area)) {
		printf("skipped: CPUID gives no usable layout\n");
		return SKIP;
	}
	h->ctx = (struct xst_ctx){.area = h->area, .last_cpu = XST_NO_CPU, .home = XST_NO_CPU};
	xst_fresh_image(h->sys.insn, h->sys.mask, h->area, h->sys.layout.bytes);
	if (h->sys.apart)
		xst_fresh_image(h->sys.insn, h->sys.apart, h->area + h->sys.apart_offset,
				h->sys.apart_layout.bytes);
	h->t = (struct xst_uabi){.sys = &h->sys,
				 .ctx = &h->ctx,
				 .mask = h->mask,
				 .scratch = h->scratch,
				 .scratch_bytes = sizeof(h->scratch)};
	if (xst_uabi_layout(&h->sys, h->mask, &h->layout, NULL) ||
	    h->layout.bytes + 256 > IMAGE_ROOM) {
		printf("skipped: the kernel's mask 0x%llx has no layout here\n",
		       (unsigned long long)h->mask);
		return SKIP;
	}
	return 0;
}

/* The task as user space sees it. */
static inline void host_state(const struct host *h, uint8_t *out)
{
	const struct xst_image image = {out, IMAGE_ROOM, &h->layout};

	if (xst_uabi_get(&h->t, &image, NULL))
		abort();
}

/* A random image of a task here, whose pointers every CPU keeps as they are. */
static inline void host_random(struct host *h, uint8_t *out)
{
	const struct xst_image image = {out, IMAGE_ROOM, &h->layout};
	uint64_t bv;

	image_valid(&h->rng, &h->caps, h->sys.xcr0, XST_STANDARD, out);
	bv = xst_get64(out, XST_OFF_XSTATE_BV) & h->sys.xcr0 & ~h->sys.dynamic;
	xst_put64(out, XST_OFF_FIP, rng_next(&h->rng) & 0x7fffffff);
	xst_put64(out, XST_OFF_FDP, rng_next(&h->rng) & 0x7fffffff);
	xst_put64(out, XST_OFF_XSTATE_BV, bv);
	/* Clean: nothing but what registers fill. */
	if (xst_uabi_set(&h->t, &image, XST_UABI_MXCSR_ALWAYS, NULL))
		abort();
	host_state(h, out);
}

/* What the CPU makes of an x87 image: bits of FCW and FSW that it computes itself, and pointers that
 * it keeps only with an exception pending (AMD). */
static inline void host_as_kept(const struct host *h, uint8_t *p)
{
	unsigned fcw = xst_get16(p, XST_OFF_FCW), fsw = xst_get16(p, XST_OFF_FSW) & 0x7f7fu;

	xst_put16(p, XST_OFF_FCW, (uint16_t)((fcw & 0x1f3fu) | 0x40u));
	if (xst_x87_pending(p))
		fsw |= 0x8080u;
	xst_put16(p, XST_OFF_FSW, (uint16_t)fsw);
	if (!strcmp(h->caps.vendor, "GenuineIntel"))
		return;
	memset(p + XST_OFF_FOP, 0, XST_OFF_MXCSR - XST_OFF_FOP);
}

/* Are two images the same registers? Prints the first byte that is not. */
static inline bool host_same(const struct host *h, uint8_t *want, uint8_t *got, const char *what)
{
	host_as_kept(h, want);
	host_as_kept(h, got);
	for (uint32_t i = 0; i < h->layout.bytes; i++) {
		if (i == XST_OFF_RESERVED)
			i = XST_EXT_OFFSET;
		if (want[i] != got[i]) {
			printf("%s: byte %u: want 0x%02x, got 0x%02x\n", what, i, want[i], got[i]);
			return false;
		}
	}
	return true;
}

#endif

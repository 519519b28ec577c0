/* SPDX-License-Identifier: BSD-2-Clause */
/* A task on a software machine, user memory that may end early, and work memory: what tests and
 * fuzzers of frames and register sets start from. */
#ifndef TESTS_UNIT_FRAMES_H
#define TESTS_UNIT_FRAMES_H

#include <stdlib.h>
#include <string.h>

#include <xst/regset.h>
#include <xst/sigframe.h>

#include "mdl.h"

#include "port_frames.h"

#define FRAMES_BYTES 16384u

struct frames {
	struct xst_caps caps;
	struct xst_system sys;
	struct xst_ctx ctx;
	struct xst_uabi t;
	uint8_t area[FRAMES_BYTES] __attribute__((aligned(64)));
	uint8_t scratch[FRAMES_BYTES];
	uint8_t user[FRAMES_BYTES] __attribute__((aligned(64)));
	size_t user_bytes; /* of @user that are there */
	/* What must not change where a frame or a set is refused. */
	struct xst_ctx ctx_before;
	uint8_t before[FRAMES_BYTES];
};

static struct frames frames;

static size_t frames_there(const void *p, size_t bytes)
{
	const size_t at = (size_t)((const uint8_t *)p - frames.user);

	if ((const uint8_t *)p < frames.user || at > frames.user_bytes)
		return 0;
	return bytes < frames.user_bytes - at ? bytes : frames.user_bytes - at;
}

int test_copy_to_user(void *dst, const void *src, size_t bytes)
{
	const size_t n = frames_there(dst, bytes);

	memcpy(dst, src, n);
	return n != bytes;
}

int test_copy_from_user(void *dst, const void *src, size_t bytes)
{
	const size_t n = frames_there(src, bytes);

	memcpy(dst, src, n);
	return n != bytes;
}

/* A machine that saves with @insn, and a fresh task on it. */
static inline int frames_up(struct frames *f, enum xst_insn insn, uint64_t xcr0, uint64_t xss)
{
	int err;

	memset(f, 0, sizeof(*f));
	mdl_caps_make(&f->caps, xcr0, xss, insn);
	err = xst_system_compute(&f->caps, XST_WANT_ALL_USER | xss, 0, &f->sys, NULL);
	if (!err)
		err = xst_ctx_init(&f->sys, &f->ctx, f->area, sizeof(f->area));
	f->t = (struct xst_uabi){.sys = &f->sys,
				 .ctx = &f->ctx,
				 .sel = {0x23, 0x2b},
				 .scratch = f->scratch,
				 .scratch_bytes = sizeof(f->scratch)};
	f->user_bytes = sizeof(f->user);
	return err;
}

/* The task used a dynamic component, and its area grew. */
static inline void frames_grow(struct frames *f)
{
	f->ctx.dynamic = f->sys.dynamic;
	xst_fresh_image(f->sys.insn, f->sys.mask | f->sys.dynamic, f->area, f->sys.grown.bytes);
	if (f->sys.apart)
		xst_fresh_image(f->sys.insn, f->sys.apart, xst_ctx_apart(&f->sys, &f->ctx),
				f->sys.apart_layout.bytes);
	f->t.mask = f->sys.xcr0;
}

static inline void frames_remember(struct frames *f)
{
	f->ctx_before = f->ctx;
	memcpy(f->before, f->area, sizeof(f->before));
}

static inline bool frames_unchanged(const struct frames *f)
{
	return !memcmp(&f->ctx_before, &f->ctx, sizeof(f->ctx)) &&
	       !memcmp(f->before, f->area, sizeof(f->before));
}

/* Would the restore of @image fault? */
static inline bool frames_image_loads(const struct frames *f, const uint8_t *image, uint64_t mask)
{
	const enum xst_insn insn = f->sys.insn;
	struct xst_restore how = {.caps = &f->caps,
				  .by = XST_BY_XRSTOR,
				  .xcr0 = f->sys.xcr0,
				  .xss = f->sys.xss,
				  .rfbm = mask};

	if (insn == XST_INSN_FNSAVE)
		return true; /* FRSTOR takes anything */
	if (insn == XST_INSN_FXSAVE)
		how.by = XST_BY_FXRSTOR;
	else if (insn == XST_INSN_XSAVES)
		how.by = XST_BY_XRSTORS;
	how.xfd = f->sys.dynamic & ~f->ctx.dynamic;
	return xst_image_check(&how, image,
			       (f->ctx.dynamic ? f->sys.grown_bytes : f->sys.ctx_bytes) -
				       (size_t)(image - f->area),
			       NULL, NULL) == XST_OK;
}

/* The task can run: what the engine will load does load. */
static inline bool frames_loads(const struct frames *f)
{
	return frames_image_loads(f, f->area, f->sys.mask | f->ctx.dynamic) &&
	       (!f->sys.apart ||
		frames_image_loads(f, xst_ctx_apart(&f->sys, &f->ctx), f->sys.apart));
}

/* What user space sees of the task: an image of @bytes at @out. */
static inline int frames_state(const struct frames *f, uint8_t *out, struct xst_layout *l)
{
	const struct xst_image image = {out, FRAMES_BYTES, l};
	int err = xst_uabi_layout(&f->sys, f->t.mask, l, NULL);

	return err ? err : xst_uabi_get(&f->t, &image, NULL);
}

#endif

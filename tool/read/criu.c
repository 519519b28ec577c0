// SPDX-License-Identifier: BSD-2-Clause
/*
 * CRIU core images: two magic numbers, then length and protobuf message. Components lie in fields
 * of their own, so the file has no layout; they are put where the first layout that has them all
 * wants them. Ref: CRIU, images/core-x86.proto
 */
#include <stdio.h>
#include <string.h>

#include <xst/regset.h>

#include "criu.pb-c.h"
#include "read/image.h"

#define HEAD_BYTES   12u /* two magic numbers and the length */
#define MARCH_X86_64 1u

struct part {
	uint8_t component;
	size_t bytes;
	const void *data;
};

/* A field that is not empty must have the component's size. */
static int put(struct image_thread *t, const struct part *p, const char *path, char *err,
	       size_t errlen)
{
	const struct xst_comp_info *info = xst_comp_info(p->component);
	/* CRIU keeps the 16 bytes in use of BNDCSR, or all 64. */
	bool short_bndcsr = p->component == XST_COMP_BNDCSR && p->bytes == 16;

	if (!p->bytes)
		return 0;
	if (p->bytes != info->bytes && !short_bndcsr) {
		snprintf(err, errlen, "%s: %s has %zu bytes instead of %u", path, info->text,
			 p->bytes, info->bytes);
		return -1;
	}
	memcpy(t->area + t->layout.offset[p->component], p->data, p->bytes);
	return 0;
}

static int fill(struct image_file *f, const Fpregs *fp, char *err, size_t errlen)
{
	const Xsave *x = fp->xsave;
	uint8_t fx[XST_LEGACY_BYTES] = {0};
	struct image_thread *t;

	if (fp->n_st != 32 || fp->n_xmm != 64) {
		snprintf(err, errlen, "%s: x87 or SSE registers are incomplete (%zu and %zu words)",
			 f->path, fp->n_st, fp->n_xmm);
		return -1;
	}
	xst_put16(fx, XST_OFF_FCW, (uint16_t)fp->cwd);
	xst_put16(fx, XST_OFF_FSW, (uint16_t)fp->swd);
	fx[XST_OFF_FTW] = (uint8_t)fp->twd;
	xst_put16(fx, XST_OFF_FOP, (uint16_t)fp->fop);
	xst_put64(fx, XST_OFF_FIP, fp->rip);
	xst_put64(fx, XST_OFF_FDP, fp->rdp);
	xst_put32(fx, XST_OFF_MXCSR, fp->mxcsr);
	xst_put32(fx, XST_OFF_MXCSR_MASK, fp->mxcsr_mask);
	memcpy(fx + XST_OFF_ST, fp->st, 128);
	memcpy(fx + XST_OFF_XMM, fp->xmm, 256);
	t = image_add_fxsave(f, fx, XST_MASK_LEGACY, err, errlen);
	if (!t || !x)
		return t ? 0 : -1;

	const struct part parts[] = {
		{XST_COMP_AVX, 4 * x->n_ymmh, x->ymmh},
		{XST_COMP_BNDREGS, 8 * x->n_bndreg, x->bndreg},
		{XST_COMP_BNDCSR, 8 * x->n_bndcsr, x->bndcsr},
		{XST_COMP_OPMASK, 8 * x->n_opmask, x->opmask},
		{XST_COMP_ZMM_HI256, 8 * x->n_zmm_hi256, x->zmm_hi256},
		{XST_COMP_HI16_ZMM, 8 * x->n_hi16_zmm, x->hi16_zmm},
		{XST_COMP_PKRU, 4 * x->n_pkru, x->pkru},
	};
	uint64_t mask = XST_MASK_LEGACY, odd;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		mask |= parts[i].bytes ? XST_MASK(parts[i].component) : 0;
	odd = x->xstate_bv & ~mask;
	if (odd) {
		const struct xst_comp_info *info = xst_comp_info((unsigned)__builtin_ctzll(odd));

		snprintf(err, errlen, "%s: XSTATE_BV names component %d %s, but the file does not "
			 "hold it", f->path, __builtin_ctzll(odd), info ? info->text : "");
		return -1;
	}
	if (!xst_regset_candidate(mask, 0, 0, &t->layout)) {
		snprintf(err, errlen, "%s: no CPU has this set of components (0x%llx)", f->path,
			 (unsigned long long)mask);
		return -1;
	}
	t->wrapped = false;
	t->xcr0 = mask;
	t->bytes = t->layout.bytes;
	t->layout_by = "components lie apart in a CRIU image";
	xst_put64(t->area, XST_OFF_XSTATE_BV, x->xstate_bv);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (put(t, &parts[i], f->path, err, errlen) < 0)
			return -1;
	return 0;
}

int read_criu(struct image_file *f, const uint8_t *data, size_t bytes, char *err, size_t errlen)
{
	uint32_t length;
	Core *core;
	int ret = -1;

	if (bytes < HEAD_BYTES || !is_criu(data, bytes)) {
		snprintf(err, errlen, "%s: not a CRIU core image", f->path);
		return -1;
	}
	length = xst_get32(data, 8);
	if (length > bytes - HEAD_BYTES) {
		snprintf(err, errlen, "%s: the message has %u bytes, the file only %zu", f->path,
			 length, bytes - HEAD_BYTES);
		return -1;
	}
	core = core__unpack(NULL, length, data + HEAD_BYTES);
	if (!core) {
		snprintf(err, errlen, "%s: the message is damaged", f->path);
		return -1;
	}
	if (core->mtype != MARCH_X86_64)
		snprintf(err, errlen, "%s: a process of another architecture (%u)", f->path,
			 core->mtype);
	else if (!core->thread_info || !core->thread_info->fpregs)
		snprintf(err, errlen, "%s: no floating-point registers in it", f->path);
	else
		ret = fill(f, core->thread_info->fpregs, err, errlen);
	core__free_unpacked(core, NULL);
	return ret;
}

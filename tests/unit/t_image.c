// SPDX-License-Identifier: BSD-2-Clause
/* The predictor and the converter, on real bug reports and on what they must never do. */
#include "t.h"

#include <stdlib.h>
#include <xst/compat.h>
#include <xst/x87.h>

#include "cases.h"
#include "cpus.h"

static uint8_t area[16384] __attribute__((aligned(64)));
static uint8_t out[16384] __attribute__((aligned(64)));

static void header(uint64_t bv, uint64_t xcomp_bv)
{
	memset(area, 0, sizeof(area));
	xst_put16(area, XST_OFF_FCW, XST_FCW_INIT);
	xst_put32(area, XST_OFF_MXCSR, XST_MXCSR_INIT);
	xst_put64(area, XST_OFF_XSTATE_BV, bv);
	xst_put64(area, XST_OFF_XCOMP_BV, xcomp_bv);
}

/* Every byte of an image different from zero and from its neighbours. */
static void fill(const struct xst_layout *l, uint64_t bv)
{
	for (uint32_t i = 0; i < sizeof(area); i++)
		area[i] = (uint8_t)(i % 251 + 1);
	memset(area + XST_HEADER_OFFSET, 0, XST_HEADER_BYTES);
	xst_put32(area, XST_OFF_MXCSR, 0x1fa0);
	xst_put64(area, XST_OFF_XSTATE_BV, bv);
	if (l->format == XST_COMPACTED)
		xst_put64(area, XST_OFF_XCOMP_BV, l->mask | XST_XCOMP_COMPACT);
}

static struct xst_layout lay(const struct xst_caps *caps, uint64_t mask, enum xst_format format)
{
	struct xst_layout l;

	assert_int_equal(xst_layout_compute(caps, mask, format, &l, NULL), XST_OK);
	return l;
}

static struct xst_verdict verdict;
static struct xst_diag diag;

/* XRSTOR of @area on @caps with everything enabled. */
static unsigned xrstor(const struct xst_caps *caps, uint64_t rfbm)
{
	struct xst_restore how = {caps, XST_BY_XRSTOR, caps->xcr0, 0, 0, rfbm, 0, 0};
	int err = xst_image_check(&how, area, sizeof(area), &verdict, &diag);

	assert_int_equal(err, verdict.vector ? XST_ERR_FAULT : XST_OK);
	return verdict.vector;
}

static void hdr_01(void **state)
{
	struct xst_caps zen3 = cpu_zen3();
	static const uint8_t at[] = {16, 24, 56};
	static const uint8_t vector[] = {XST_VECTOR_GP, 0, 0};

	(void)state;
	header(0x7, 0);
	assert_int_equal(xrstor(&zen3, ~0ULL), 0);
	header(0xf, 0);
	assert_int_equal(xrstor(&zen3, ~0ULL), XST_VECTOR_GP);
	assert_int_equal(verdict.rule, XST_RULE_BV_ENABLED);
	assert_int_equal(diag.component, 3);
	header(0x7 | 1ULL << 62, 0);
	assert_int_equal(xrstor(&zen3, ~0ULL), XST_VECTOR_GP);
	assert_int_equal(diag.component, 62);
	header(0x7, 0x4);
	assert_int_equal(xrstor(&zen3, ~0ULL), XST_VECTOR_GP);
	assert_int_equal(verdict.rule, XST_RULE_XCOMP_STANDARD);
	for (unsigned i = 0; i < 3; i++) {
		header(0x7, 0);
		area[XST_HEADER_OFFSET + at[i]] = 1;
		assert_int_equal(xrstor(&zen3, ~0ULL), vector[i]);
	}
	header(0x7, 0x7 | XST_XCOMP_COMPACT);
	area[XST_HEADER_OFFSET + 56] = 1;
	assert_int_equal(xrstor(&zen3, ~0ULL), XST_VECTOR_GP);
	assert_int_equal(diag.offset, XST_HEADER_OFFSET + 56);
}

static void hdr_03(void **state)
{
	struct xst_caps zen3 = cpu_zen3();
	struct xst_restore how = {&zen3, XST_BY_XRSTOR, 0x207, 0, 0, ~0ULL, 0, 0};

	(void)state;
	header(0x7, 0);
	for (how.misalign = 1; how.misalign < 64; how.misalign++) {
		assert_int_equal(xst_image_check(&how, area, sizeof(area), &verdict, &diag),
				 XST_ERR_FAULT);
		assert_int_equal(verdict.rule, XST_RULE_ALIGN);
	}
	how.by = XST_BY_FXRSTOR;
	for (how.misalign = 0; how.misalign < 64; how.misalign++)
		assert_int_equal(xst_image_check(&how, area, sizeof(area), NULL, NULL),
				 how.misalign % 16 ? XST_ERR_FAULT : XST_OK);
}

static void hdr_05(void **state)
{
	struct xst_caps zen3 = cpu_zen3();
	struct xst_layout l = lay(&zen3, 0x1a07 & (zen3.xcr0 | zen3.xss), XST_COMPACTED);
	struct xst_image image = {area, sizeof(area), &l};
	struct xst_restore how = {&zen3, XST_BY_XRSTORS, 0x207, 0x1800, 0, ~0ULL, 0, 0};

	(void)state;
	memset(area, 0xaa, sizeof(area));
	assert_int_equal(xst_image_fresh(&image, 0x2ffff, NULL), XST_OK);
	assert_true(xst_get64(area, XST_OFF_XCOMP_BV) == (0x8000000000000000u | l.mask));
	assert_int_equal(xst_image_check(&how, area, l.bytes, &verdict, NULL), XST_OK);
	assert_true(verdict.inits == 0x1a07);
	/* The bug: a fresh image without XCOMP_BV. */
	xst_put64(area, XST_OFF_XCOMP_BV, 0);
	assert_int_equal(xst_image_check(&how, area, l.bytes, &verdict, NULL), XST_ERR_FAULT);
	assert_int_equal(verdict.rule, XST_RULE_NOT_COMPACTED);
}

static void hdr_06(void **state)
{
	struct xst_caps zen3 = cpu_zen3();

	(void)state;
	header(0x3, 0x80000000u);
	assert_int_equal(xrstor(&zen3, ~0ULL), XST_VECTOR_GP);
	assert_int_equal(verdict.rule, XST_RULE_XCOMP_STANDARD);
	assert_int_equal(diag.offset, 520);
	header(0x0, 0x8000000000000000u);
	assert_int_equal(xrstor(&zen3, ~0ULL), 0);
}

static void hdr_07(void **state)
{
	struct xst_caps zen3 = cpu_zen3();
	static const struct {
		uint64_t rfbm;
		enum xst_mxcsr_effect effect;
	} rows[] = {{7, XST_MXCSR_LOADED}, {1, XST_MXCSR_KEPT}, {4, XST_MXCSR_LOADED},
		    {2, XST_MXCSR_LOADED}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		memset(area, 0, sizeof(area));
		assert_int_equal(xrstor(&zen3, rows[i].rfbm), 0);
		assert_int_equal(verdict.mxcsr, rows[i].effect);
	}
	/* Compacted: part of SSE. */
	header(0, XST_XCOMP_COMPACT | 7);
	assert_int_equal(xrstor(&zen3, 7), 0);
	assert_int_equal(verdict.mxcsr, XST_MXCSR_TO_INIT);
	assert_int_equal(xrstor(&zen3, 4), 0);
	assert_int_equal(verdict.mxcsr, XST_MXCSR_KEPT);
}

static void hdr_08(void **state)
{
	struct xst_caps zen3 = cpu_zen3();
	struct xst_layout l = lay(&zen3, 7, XST_STANDARD);
	struct xst_image image = {area, sizeof(area), &l};

	(void)state;
	memset(area, 0, sizeof(area));
	assert_int_equal(xrstor(&zen3, 7), 0);
	assert_int_equal(verdict.warnings, XST_WARN_MXCSR_UNMASKED);
	assert_int_equal(xst_image_fresh(&image, 0xffff, NULL), XST_OK);
	assert_int_equal(xst_get32(area, XST_OFF_MXCSR), 0x1f80);
	assert_int_equal(xrstor(&zen3, 7), 0);
	assert_int_equal(verdict.warnings, 0);
	/* A program may unmask everything: then a flag is set sooner or later. */
	xst_put32(area, XST_OFF_MXCSR, 0x20);
	assert_int_equal(xrstor(&zen3, 7), 0);
	assert_int_equal(verdict.warnings, 0);
}

static void hdr_12(void **state)
{
	struct xst_caps zen3 = cpu_zen3(), intel = cpu_intel(0x207);
	struct xst_layout from = lay(&zen3, 0x207, XST_STANDARD);
	struct xst_layout to = lay(&intel, 0x207, XST_STANDARD);
	struct xst_image image = {area, sizeof(area), &from}, target = {out, sizeof(out), &to};
	struct xst_convert how = {0, 0xffff, false};
	struct xst_restore on = {&intel, XST_BY_XRSTOR, 0x207, 0, 0, ~0ULL, 0, 0};
	struct xst_compat_report r;

	(void)state;
	header(0x3, 0);
	xst_put32(area, XST_OFF_MXCSR, 0x21f80);
	assert_int_equal(xst_compat_image(&image, &on, &r, NULL, &diag), XST_VERDICT_REFUSE);
	assert_int_equal(r.mxcsr, 0x20000);
	assert_int_equal(diag.offset, XST_OFF_MXCSR);
	assert_int_equal(xrstor(&intel, ~0ULL), XST_VECTOR_GP);
	assert_int_equal(xrstor(&zen3, ~0ULL), 0);
	memset(out, 0xaa, sizeof(out));
	assert_int_equal(xst_image_convert(&image, &target, &how, &diag), XST_ERR_LIVE);
	assert_int_equal(out[0], 0xaa); /* nothing was written */
	how.drop_mxcsr_bits = true;
	assert_int_equal(xst_image_convert(&image, &target, &how, &diag), XST_OK);
	assert_int_equal(xst_get32(out, XST_OFF_MXCSR), 0x1f80);
}

static void hdr_24(void **state)
{
	struct xst_caps knl = cpu_intel(0xe7);

	(void)state;
	knl.xsavec = knl.xsaves = false;
	header(0x7, 0x8000000000000007u);
	assert_int_equal(xrstor(&knl, ~0ULL), XST_VECTOR_GP);
	assert_int_equal(verdict.rule, XST_RULE_NO_COMPACTION);
}

static void hdr_25(void **state)
{
	struct xst_caps zen3 = cpu_zen3();
	struct xst_layout l = lay(&zen3, 0x207, XST_STANDARD);
	struct xst_image image = {area, sizeof(area), &l};

	(void)state;
	header(0x7, 0x4);
	assert_int_equal(xrstor(&zen3, 7), XST_VECTOR_GP);
	memset(area + XST_OFF_XCOMP_BV, 0, 56); /* step 1 */
	assert_int_equal(xrstor(&zen3, 7), 0);
	xst_put64(area, XST_OFF_XSTATE_BV, ~0ULL); /* beyond step 1 */
	assert_int_equal(xrstor(&zen3, 7), XST_VECTOR_GP);
	assert_int_equal(xst_image_fresh(&image, 0, NULL), XST_OK); /* step 2 */
	assert_int_equal(xrstor(&zen3, 7), 0);
	assert_true(verdict.inits == 7);
	assert_int_equal(xst_get16(area, XST_OFF_FCW), 0x37f);
}

static void hdr_26(void **state)
{
	struct xst_caps avx = cpu_zen3(), old = avx;
	struct xst_layout l = lay(&avx, 0x207, XST_STANDARD), to;
	struct xst_image image = {area, sizeof(area), &l};
	struct xst_restore on = {&old, XST_BY_FXRSTOR, 0x3, 0, 0, ~0ULL, 0, 0};
	struct xst_compat_report r;

	(void)state;
	old.xsave = old.xsavec = old.xsaves = false;
	old.xcr0 = 0;
	fill(&l, 0x7);
	assert_int_equal(xst_compat_image(&image, &on, &r, &to, &diag), XST_VERDICT_REFUSE);
	assert_int_equal(r.comp[2], XST_COMPAT_MISSING_LIVE);
	assert_int_equal(r.comp[9], XST_COMPAT_MISSING_INIT);
	assert_int_equal(to.bytes, XST_LEGACY_BYTES);
	assert_int_equal(diag.component, 2);
}

static void sec_03(void **state)
{
	struct xst_caps old = cpu_zen3();

	(void)state;
	old.fip_leak = true;
	header(0x1, 0);
	assert_int_equal(xrstor(&old, ~0ULL), 0);
	assert_int_equal(verdict.warnings, XST_WARN_FIP_KEPT);
	header(0, 0);
	assert_int_equal(xrstor(&old, ~0ULL), 0); /* INIT clears the pointers */
	assert_int_equal(verdict.warnings, 0);
}

static void sec_04(void **state)
{
	struct xst_caps old = cpu_zen3();

	(void)state;
	old.fip_leak = true;
	header(0x1, 0);
	xst_put16(area, XST_OFF_FCW, 0x037e);
	xst_put16(area, XST_OFF_FSW, 0x0001);
	assert_int_equal(xst_x87_pending(area), 1);
	assert_int_equal(xrstor(&old, ~0ULL), 0);
	assert_int_equal(verdict.warnings, XST_WARN_X87_PENDING);
	xst_put16(area, XST_OFF_FCW, 0x037f);
	xst_put16(area, XST_OFF_FSW, 0x8081);
	assert_int_equal(xst_x87_pending(area), 0);
	assert_int_equal(xrstor(&old, ~0ULL), 0);
	assert_int_equal(verdict.warnings, XST_WARN_FIP_KEPT);
}

static void sec_05(void **state)
{
	struct xst_caps zen3 = cpu_zen3();

	(void)state;
	header(0x7, 0);
	area[XST_HEADER_OFFSET + 16] = 1;
	assert_int_equal(xrstor(&zen3, ~0ULL), XST_VECTOR_GP);
	assert_int_equal(verdict.rule, XST_RULE_HEADER_STANDARD);
	assert_true(diag.got == 1);
	assert_true(!verdict.loads && !verdict.inits);
}

static void sec_07(void **state)
{
	struct xst_caps zen3 = cpu_zen3();
	struct xst_layout from = lay(&zen3, 3, XST_STANDARD), to = lay(&zen3, 7, XST_STANDARD);
	struct xst_image image = {area, from.bytes, &from}, target = {out, sizeof(out), &to};

	(void)state;
	fill(&from, 3);
	memset(out, 0xaa, sizeof(out));
	assert_int_equal(xst_image_convert(&image, &target, NULL, NULL), XST_OK);
	assert_true(xst_get64(out, XST_OFF_XSTATE_BV) == 3);
	for (unsigned i = 576; i < 832; i++)
		assert_int_equal(out[i], 0);
	memcpy(area, out, sizeof(area));
	assert_int_equal(xrstor(&zen3, 7), 0);
	assert_true(verdict.inits == 4);
}

static void sec_10(void **state)
{
	struct xst_caps zen3 = cpu_zen3();
	struct xst_restore how = {&zen3, XST_BY_KVM, 0x207, 0, 0, ~0ULL, 0, 0};

	(void)state;
	header(0x7, 0x8000000000000000u);
	assert_int_equal(xst_image_check(&how, area, 4096, &verdict, NULL), XST_ERR_FAULT);
	assert_int_equal(verdict.vector, XST_VECTOR_EINVAL);
	assert_int_equal(verdict.rule, XST_RULE_KVM_XCOMP);
	header(0x7, 1);
	assert_int_equal(xst_image_check(&how, area, 4096, NULL, NULL), XST_ERR_FAULT);
	header(0x7, 0);
	area[XST_EXT_OFFSET - 1] = 1; /* XRSTOR would not look at it */
	assert_int_equal(xst_image_check(&how, area, 4096, &verdict, NULL), XST_ERR_FAULT);
	assert_int_equal(verdict.rule, XST_RULE_KVM_HEADER);
	assert_int_equal(xrstor(&zen3, ~0ULL), 0);
}

static void sec_13(void **state)
{
	struct xst_caps spr = cpu_intel(0x602e7);
	struct xst_restore how = {&spr, XST_BY_KVM, 0x602e7, 0, 0x40000, ~0ULL, 0, 0};

	(void)state;
	header(0x602e7, 0);
	assert_int_equal(xst_image_check(&how, area, sizeof(area), &verdict, NULL), XST_OK);
	assert_true(verdict.loads == 0x202e7);
	how.by = XST_BY_XRSTOR;
	assert_int_equal(xst_image_check(&how, area, sizeof(area), &verdict, &diag), XST_ERR_FAULT);
	assert_int_equal(verdict.vector, XST_VECTOR_NM);
	assert_int_equal(diag.component, 18);
	xst_put64(area, XST_OFF_XSTATE_BV, 0x202e7);
	assert_int_equal(xst_image_check(&how, area, sizeof(area), &verdict, NULL), XST_OK);
	assert_true(verdict.inits == 0x40000);
}

static bool meaningless(const struct xst_layout *l, uint64_t bv, uint32_t i)
{
	if (i >= XST_OFF_RESERVED && i < XST_HEADER_OFFSET)
		return true;
	if (i >= XST_OFF_XCOMP_BV + 8 && i < XST_EXT_OFFSET)
		return true;
	if (i >= XST_OFF_ST && i < XST_OFF_XMM && (i - XST_OFF_ST) % 16 >= 10)
		return true;
	if (i == XST_OFF_FTW + 1)
		return true;
	if (i < XST_EXT_OFFSET)
		return false;
	for (unsigned c = 2; c < 63; c++)
		if ((bv & XST_MASK(c)) && i >= l->offset[c] && i < l->offset[c] + l->size[c])
			return c == XST_COMP_PKRU && i >= l->offset[c] + 4;
	return true;
}

static void sec_14(void **state)
{
	struct xst_caps intel = cpu_intel(0x602e7);
	static const uint64_t bvs[] = {0, 1, 2, 3, 7, 0x87, 0x2a7, 0x40007, 0x602e7};
	static const enum xst_format formats[] = {XST_STANDARD, XST_COMPACTED};

	(void)state;
	for (unsigned n = 0; n < 4 * sizeof(bvs) / sizeof(bvs[0]); n++) {
		struct xst_layout from = lay(&intel, 0x602e7, formats[n & 1]);
		struct xst_layout to = lay(&intel, 0x602e7, formats[n / 2 & 1]);
		struct xst_image image = {area, sizeof(area), &from};
		struct xst_image target = {out, sizeof(out), &to};
		uint64_t bv = bvs[n / 4], now;

		memset(area, 0xaa, sizeof(area));
		memset(area + XST_HEADER_OFFSET, 0, 24);
		xst_put32(area, XST_OFF_MXCSR, XST_MXCSR_INIT);
		xst_put64(area, XST_OFF_XSTATE_BV, bv);
		if (from.format == XST_COMPACTED)
			xst_put64(area, XST_OFF_XCOMP_BV, from.mask | XST_XCOMP_COMPACT);
		memset(out, 0x55, sizeof(out));
		assert_int_equal(xst_image_convert(&image, &target, NULL, &diag), XST_OK);
		now = xst_get64(out, XST_OFF_XSTATE_BV);
		assert_true(now == bv);
		for (uint32_t i = 0; i < to.bytes; i++)
			if (meaningless(&to, now, i))
				assert_int_equal(out[i], 0);
		for (uint32_t i = to.bytes; i < sizeof(out); i++)
			assert_int_equal(out[i], 0x55); /* and nothing beyond it */
		if (!(bv & 1))
			assert_int_equal(xst_get16(out, XST_OFF_FCW), XST_FCW_INIT);
	}
}

static void mig_16(void **state)
{
	struct xst_caps zen3 = cpu_zen3();
	struct xst_layout l = lay(&zen3, 7, XST_STANDARD);
	struct xst_image image = {area, sizeof(area), &l}, small = {area, l.bytes - 1, &l};

	(void)state;
	assert_int_equal(xst_image_reset(&image, 0xffff, NULL), XST_OK);
	assert_int_equal(xst_get16(area, XST_OFF_FCW), 0x0040);
	assert_int_equal(area[XST_OFF_FTW], 0xff);
	assert_int_equal(xst_x87_tag_word(area), 0x5555);
	assert_int_equal(xst_get32(area, XST_OFF_MXCSR), 0x1f80);
	assert_int_equal(xrstor(&zen3, 7), 0);
	assert_true(verdict.loads == 1);
	assert_int_equal(xst_image_fresh(&image, 0xffff, NULL), XST_OK);
	assert_int_equal(xst_get16(area, XST_OFF_FCW), 0x037f);
	assert_int_equal(area[XST_OFF_FTW], 0);
	assert_int_equal(xst_x87_tag_word(area), 0xffff);
	assert_int_equal(xst_image_fresh(&small, 0, &diag), XST_ERR_NEED_BYTES);
	assert_true(diag.want == l.bytes);
}

static void abi_13(void **state)
{
	struct xst_caps zen3 = cpu_zen3();
	struct xst_restore how = {&zen3, XST_BY_KVM, 0x207, 0, 0, ~0ULL, 0, 0};

	(void)state;
	header(0x7, 0);
	assert_int_equal(xst_image_check(&how, area, 4096, &verdict, NULL), XST_OK);
	assert_false(verdict.inits & XST_MASK_PKRU); /* kept */
	assert_int_equal(xrstor(&zen3, ~0ULL), 0);
	assert_true(verdict.inits & XST_MASK_PKRU); /* the instruction would set it to 0 */
}

static void abi_21(void **state)
{
	struct xst_caps intel = cpu_like("Intel", 0x2ff, 0);
	struct xst_restore how = {&intel, XST_BY_XRSTORS, 0xff, 0, 0, ~0ULL, 0, 0};

	(void)state;
	header(0x3, 0x80000000000002ffu);
	assert_int_equal(xst_image_check(&how, area, sizeof(area), &verdict, &diag), XST_ERR_FAULT);
	assert_int_equal(verdict.rule, XST_RULE_XCOMP_ENABLED);
	assert_int_equal(diag.component, 9);
	how.xcr0 = 0x2ff;
	assert_int_equal(xst_image_check(&how, area, sizeof(area), &verdict, NULL), XST_OK);
}

static void abi_06(void **state)
{
	struct xst_caps spr = cpu_intel(0x602e7);
	struct xst_layout l = lay(&spr, 0x602e7, XST_STANDARD);
	struct xst_image image = {area, 2816, &l}, target = {out, sizeof(out), &l};

	(void)state;
	fill(&l, 0x202e7);
	assert_int_equal(xst_image_convert(&image, &target, NULL, &diag), XST_OK);
	assert_memory_equal(out + 2752, area + 2752, 64);
	image.bytes = 2815;
	assert_int_equal(xst_image_convert(&image, &target, NULL, &diag), XST_ERR_NEED_BYTES);
	assert_int_equal(diag.component, 17);
	xst_put64(area, XST_OFF_XSTATE_BV, 0x2e7);
	image.bytes = 2696;
	assert_int_equal(xst_image_convert(&image, &target, NULL, &diag), XST_OK);
}

static void abi_23(void **state)
{
	struct xst_caps intel = cpu_intel(0x2e7);
	struct xst_layout l = lay(&intel, 0x2e7, XST_STANDARD);
	struct xst_image image = {area, sizeof(area), &l}, target = {out, sizeof(out), &l};

	(void)state;
	fill(&l, 0x2a7);
	assert_int_equal(xrstor(&intel, ~0ULL), 0);
	assert_true(verdict.inits == 0x40);
	assert_int_equal(xst_image_convert(&image, &target, NULL, &diag), XST_OK);
	for (unsigned i = 1152; i < 1664; i++)
		assert_int_equal(out[i], 0);
	assert_memory_equal(out + 1664, area + 1664, 1024);
}

/* There and back gives the first conversion's bytes again, whatever the path. */
static void round_trip(void **state)
{
	struct xst_caps intel = cpu_intel(0x602e7), amd = cpu_like("AMD Zen 3 and later", 0x2e7, 0);
	static uint8_t clean[16384], there[16384], back[16384];
	uint64_t seed = 12345;

	(void)state;
	for (unsigned n = 0; n < 2000; n++) {
		struct xst_layout a = lay(&intel, 0x2e7, n & 1 ? XST_COMPACTED : XST_STANDARD);
		struct xst_layout b = lay(n & 2 ? &amd : &intel, 0x2e7,
					  n & 4 ? XST_COMPACTED : XST_STANDARD);
		struct xst_image image = {area, sizeof(area), &a}, i1 = {clean, sizeof(clean), &a};
		struct xst_image i2 = {there, sizeof(there), &b}, i3 = {back, sizeof(back), &a};

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		fill(&a, (seed >> 20) & 0x2e7);
		if (seed >> 62)
			xst_put32(area, XST_OFF_MXCSR, XST_MXCSR_INIT);
		assert_int_equal(xst_image_convert(&image, &i1, NULL, NULL), XST_OK);
		assert_int_equal(xst_image_convert(&i1, &i2, NULL, NULL), XST_OK);
		assert_int_equal(xst_image_convert(&i2, &i3, NULL, NULL), XST_OK);
		/* SSE may have become explicit to carry MXCSR through the compacted format. */
		if (xst_get64(back, XST_OFF_XSTATE_BV) != xst_get64(clean, XST_OFF_XSTATE_BV)) {
			assert_true(xst_get64(back, XST_OFF_XSTATE_BV) ==
				    (xst_get64(clean, XST_OFF_XSTATE_BV) | 2));
			xst_put64(clean, XST_OFF_XSTATE_BV, xst_get64(back, XST_OFF_XSTATE_BV));
		}
		/* MXCSR_MASK is what the CPU has, no state: it travels with MXCSR only. */
		xst_put32(clean, XST_OFF_MXCSR_MASK, xst_get32(back, XST_OFF_MXCSR_MASK));
		assert_memory_equal(clean, back, a.bytes);
	}
}

/* APX lies below AVX-512 in memory and behind it in number. */
static void out_of_order(void **state)
{
	struct xst_caps apx = cpu_intel(0x802e7);
	struct xst_layout s = lay(&apx, 0x802e7, XST_STANDARD), c = lay(&apx, 0x802e7, XST_COMPACTED);
	struct xst_image image = {area, sizeof(area), &s}, packed = {out, sizeof(out), &c};
	static uint8_t back[16384];
	struct xst_image again = {back, sizeof(back), &s};

	(void)state;
	assert_int_equal(s.offset[19], 960);
	fill(&s, 0x802e7);
	assert_int_equal(xst_image_convert(&image, &packed, NULL, NULL), XST_OK);
	assert_memory_equal(out + c.offset[19], area + 960, 128);
	memset(back, 0x55, sizeof(back));
	assert_int_equal(xst_image_convert(&packed, &again, NULL, NULL), XST_OK);
	for (unsigned i = 2; i < 20; i++)
		if (i != 9 && (s.mask & XST_MASK(i)))
			assert_memory_equal(back + s.offset[i], area + s.offset[i], s.size[i]);
	for (unsigned i = 832; i < 960; i++)
		assert_int_equal(back[i], 0);
}

static void refused_header(void **state)
{
	struct xst_caps zen3 = cpu_zen3();
	struct xst_layout l = lay(&zen3, 0x207, XST_STANDARD);
	struct xst_image image = {area, sizeof(area), &l}, target = {out, sizeof(out), &l};

	(void)state;
	memset(out, 0x55, sizeof(out));
	for (unsigned n = 0; n < 4; n++) {
		header(0x7, 0);
		if (n == 0)
			xst_put64(area, XST_OFF_XCOMP_BV, 4);
		if (n == 1)
			xst_put64(area, XST_OFF_XSTATE_BV, 0x27);
		if (n == 2)
			area[XST_HEADER_OFFSET + 20] = 1;
		if (n == 3)
			image.bytes = 575;
		assert_true(xst_image_convert(&image, &target, NULL, &diag) < 0);
		assert_non_null(diag.rule);
	}
	for (unsigned i = 0; i < sizeof(out); i++)
		assert_int_equal(out[i], 0x55);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE("HDR-01", hdr_01), CASE("HDR-03", hdr_03), CASE("HDR-05", hdr_05),
		CASE("HDR-06", hdr_06), CASE("HDR-07", hdr_07), CASE("HDR-08", hdr_08),
		CASE("HDR-12", hdr_12), CASE("HDR-24", hdr_24), CASE("HDR-25", hdr_25),
		CASE("HDR-26", hdr_26), CASE("SEC-03", sec_03), CASE("SEC-04", sec_04),
		CASE("SEC-05", sec_05), CASE("SEC-07", sec_07), CASE("SEC-10", sec_10),
		CASE("SEC-13", sec_13), CASE("SEC-14", sec_14), CASE("MIG-16", mig_16),
		CASE("ABI-06", abi_06), CASE("ABI-13", abi_13), CASE("ABI-21", abi_21),
		CASE("ABI-23", abi_23),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(out_of_order),
		cmocka_unit_test(refused_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

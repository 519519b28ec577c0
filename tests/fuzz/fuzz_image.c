// SPDX-License-Identifier: BSD-2-Clause
/*
 * Images as bytes: the predictor and the converter on anything. Beyond not crashing: what converts
 * must restore where it was converted to, and converting it again changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include <xst/compat.h>
#include <xst/reg.h>

#include "../unit/cpus.h"

#define ROOM 16384u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct xst_caps *cpu(unsigned n)
{
	static struct xst_caps caps[4];

	if (!caps[0].xsave) {
		caps[0] = cpu_intel(0x602e7);
		caps[1] = cpu_like("AMD Zen 3 and later", 0x2e7, 0x1800);
		caps[2] = cpu_like("AMD Zen 2", 0x207, 0);
		caps[3] = cpu_intel(0x802e7);
	}
	return &caps[n % 4];
}

static void check(const struct xst_caps *caps, const uint8_t *image, size_t size, unsigned bits)
{
	struct xst_verdict v;
	struct xst_diag d;

	for (int by = 0; by < 4; by++) {
		struct xst_restore how = {caps, (enum xst_restorer)by, caps->xcr0, caps->xss,
					  bits & 1 ? XST_MASK_TILEDATA : 0, ~0ULL, 0, 0};
		int err = xst_image_check(&how, image, size, &v, &d);

		if ((err != 0) != (v.vector != 0) || (err && !d.rule) || (v.loads & v.inits))
			abort();
	}
}

static void move(const struct xst_caps *a, const struct xst_caps *b, uint8_t *image, size_t size,
		 unsigned bits)
{
	static uint8_t out[ROOM] __attribute__((aligned(64))), again[ROOM] __attribute__((aligned(64)));
	struct xst_layout from, to;
	struct xst_image src = {image, size, &from}, dst = {out, ROOM, &to}, twice = {again, ROOM, &to};
	struct xst_convert how = {bits & 2 ? XST_MASK_AMX : 0, b->mxcsr_mask, (bits & 4) != 0};
	struct xst_restore on = {b, XST_BY_XRSTORS, b->xcr0, b->xss, 0, ~0ULL, 0, 0};
	struct xst_compat_report report;
	enum xst_format format = bits & 8 ? XST_COMPACTED : XST_STANDARD;
	uint8_t value[XST_REG_MAX_BYTES];
	size_t room = sizeof(value);

	if (xst_image_layout(a, a->xcr0, image, size, &from, NULL) ||
	    xst_layout_compute(b, format == XST_COMPACTED ? b->xcr0 | b->xss : b->xcr0, format, &to,
			       NULL))
		return;
	xst_compat_image(&src, &on, &report, NULL, NULL);
	xst_image_get(&src, bits & 16 ? "zmm3" : "tmm7", value, &room);
	memset(out, 0x55, ROOM);
	if (xst_image_convert(&src, &dst, &how, NULL)) {
		for (unsigned i = 0; i < ROOM; i++)
			if (out[i] != 0x55)
				abort(); /* refused, yet something was written */
		return;
	}
	on.by = format == XST_COMPACTED ? XST_BY_XRSTORS : XST_BY_XRSTOR;
	if (xst_image_check(&on, out, to.bytes, NULL, NULL))
		abort();
	if (xst_image_convert(&dst, &twice, &how, NULL) || memcmp(out, again, to.bytes))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t image[ROOM];
	unsigned bits;

	if (size < 2)
		return 0;
	bits = data[0];
	if (size - 2 > ROOM)
		size = ROOM + 2;
	check(cpu(data[1]), data + 2, size - 2, bits);
	memcpy(image, data + 2, size - 2);
	move(cpu(data[1]), cpu(data[1] / 4), image, size - 2, bits);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* CPUs to judge images on, made of comp.def and known.def: nothing here runs CPUID. */
#ifndef TESTS_UNIT_CPUS_H
#define TESTS_UNIT_CPUS_H

#include <string.h>

#include <xst/regset.h>

/* The caps of a CPU with the layout @family ("Intel", "AMD Zen 2", ...), all instructions. */
static inline struct xst_caps cpu_like(const char *family, uint64_t xcr0, uint64_t xss)
{
	struct xst_caps caps;
	struct xst_layout l;
	const char *name = NULL;

	memset(&caps, 0, sizeof(caps));
	for (unsigned nth = 0; (name = xst_regset_candidate(xcr0, 0, nth, &l)); nth++)
		if (!strcmp(name, family))
			break;
	caps.fpu = caps.fxsr = caps.sse = caps.sse2 = caps.mmx = true;
	caps.xsave = caps.osxsave = caps.xsaveopt = caps.xsavec = caps.xsaves = caps.xgetbv1 = true;
	caps.max_leaf = 0xd;
	caps.mxcsr_mask = 0xffff;
	caps.xcr0 = xcr0;
	caps.xss = xss;
	for (unsigned i = 2; i < 63; i++) {
		const struct xst_comp_info *info = xst_comp_info(i);

		if (xss & XST_MASK(i)) {
			caps.comp[i].bytes = info->bytes;
			caps.comp[i].supervisor = true;
		} else if (name && (xcr0 & XST_MASK(i))) {
			caps.comp[i].bytes = l.size[i];
			caps.comp[i].offset = l.offset[i];
			caps.comp[i].align64 = i == 17 || i == 18;
			caps.comp[i].xfd = i == 18;
		}
	}
	return caps;
}

static inline struct xst_caps cpu_zen3(void)
{
	struct xst_caps caps = cpu_like("AMD Zen 3 and later", 0x207, 0x1800);

	caps.mxcsr_mask = 0x2ffff;
	return caps;
}

/* XCR0 0x207 has three layouts, so the name is looked for among them. */
static inline struct xst_caps cpu_intel(uint64_t xcr0)
{
	return cpu_like("Intel", xcr0, 0);
}

#endif

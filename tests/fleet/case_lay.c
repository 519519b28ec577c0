// SPDX-License-Identifier: BSD-2-Clause
/* Layouts: the sizes and offsets of real CPUs, standard and compacted. */
#include "cases.h"

#include <stdlib.h>

static void standard(uint64_t xcr0, const char *components, uint32_t bytes)
{
	const struct cpu_spec spec = {.xcr0 = xcr0, .components = components, .d1_eax = FORMS_ALL};
	struct xst_caps caps;
	struct xst_layout l;
	const char *s = components;

	make_cpu(&spec, &caps);
	assert_int_equal(xst_layout_compute(&caps, xcr0, XST_STANDARD, &l, NULL), XST_OK);
	assert_int_equal(l.bytes, bytes);
	assert_int_equal(caps.caveats & (XST_CAVEAT_SUM_STANDARD | XST_CAVEAT_OVERLAP), 0);
	/* Each offset is the sub-leaf's. */
	while (*s) {
		char *end;
		unsigned id = (unsigned)strtoul(s, &end, 10);
		unsigned size = (unsigned)strtoul(end + 1, &end, 10);

		assert_int_equal(l.size[id], size);
		assert_int_equal(l.offset[id], strtoul(end + 1, &end, 10));
		for (s = end; *s && *s != ' '; s++)
			;
		s += *s == ' ';
	}
}

#define LAY(id, xcr0, components, bytes)                                                           \
	CASE(id)                                                                                   \
	{                                                                                          \
		(void)state;                                                                       \
		standard(xcr0, components, bytes);                                                 \
	}

LAY(LAY_01, 0x3, "", 576)
LAY(LAY_03, 0x1b, "3:64@960 4:64@1024", 1088)
LAY(LAY_06, 0xff, "2:256@576 3:64@960 4:64@1024 5:64@1088 6:512@1152 7:1024@1664", 2688)
LAY(LAY_07, 0x207, "2:256@576 9:64@832", 896)
LAY(LAY_08, 0x207, "2:256@576 9:8@2432", 2440)
LAY(LAY_09, 0x207, "2:256@576 9:8@2688", 2696)
LAY(LAY_12, 0x2e7, ZEN4, 2440)
LAY(LAY_14, 0x602e7, INTEL_SPR, 11008)
LAY(LAY_15, 0x4000000000000007, "2:256@576 62:128@832", 960)
LAY(LAY_16, 0x4000000000000207, "2:256@576 9:64@832 62:128@896", 1024)
/* A debugger that knows Intel's offsets only finds PKRU beyond the note. */
LAY(GDB_01, 0x207, "2:256@576 9:64@832", 896)
LAY(GDB_02, 0x602e7, INTEL_SPR, 11008)

/* Offsets of a Zen 4 core are Zen 4's: never those of the host that opens it. */
CASE(GDB_04)
{
	const struct cpu_spec spec = { .xcr0 = 0x2e7, .components = ZEN4, .d1_eax = FORMS_ALL };
	struct xst_caps caps;
	struct xst_layout l;

	(void)state;
	make_cpu(&spec, &caps);
	assert_int_equal(xst_layout_compute(&caps, 0x2e7, XST_STANDARD, &l, NULL), XST_OK);
	assert_int_equal(l.offset[XST_COMP_ZMM_HI256], 896);
}

CASE(GDB_06)
{
	(void)state;
	standard(0x7, "2:256@576", 832);
	standard(0x1f, INTEL_MPX, 1088);
	standard(0x1b, "3:64@960 4:64@1024", 1088);
}

/* All of SEMANTICS' sizes on one imaginary CPU; compacted layouts do not depend on more. */
#define EVERYTHING                                                                                 \
	"2:256@576 3:64@960 4:64@1024 5:64@1088 6:512@1152 7:1024@1664 8:128s 9:8@2688 10:8s "     \
	"11:16s 12:24s 14:48s 15:808s 17:64@2752a 18:8192@2816ax 19:128@11008"

struct place {
	unsigned id, offset;
};

static void compacted(uint64_t xcr0, uint64_t xss, uint32_t bytes, const struct place *places)
{
	const struct cpu_spec spec = { .xcr0 = 0xe02ff, .xss = 0xdd00, .components = EVERYTHING,
				       .d1_eax = FORMS_ALL };
	struct xst_caps caps;
	struct xst_layout l;
	uint64_t seen = 0;

	make_cpu(&spec, &caps);
	assert_int_equal(xst_layout_compute(&caps, xcr0 | xss, XST_COMPACTED, &l, NULL), XST_OK);
	assert_int_equal(l.bytes, bytes);
	for (; places->id; places++) {
		assert_int_equal(l.offset[places->id], places->offset);
		seen |= XST_MASK(places->id);
	}
	assert_int_equal(seen, (xcr0 | xss) & ~XST_MASK_LEGACY);
}

#define CMP(id, xcr0, xss, bytes, ...)                                                             \
	CASE(id)                                                                                   \
	{                                                                                          \
		static const struct place places[] = { __VA_ARGS__, { 0, 0 } };                    \
                                                                                                   \
		(void)state;                                                                       \
		compacted(xcr0, xss, bytes, places);                                               \
	}

CMP(CMP_01, 0x7, 0, 832, { 2, 576 })
CMP(CMP_02, 0x1f, 0, 960, { 2, 576 }, { 3, 832 }, { 4, 896 })
CMP(CMP_03, 0x1f, 0x100, 1088, { 2, 576 }, { 3, 832 }, { 4, 896 }, { 8, 960 })
CMP(CMP_04, 0xff, 0, 2560, { 2, 576 }, { 3, 832 }, { 4, 896 }, { 5, 960 }, { 6, 1024 }, { 7, 1536 })
CMP(CMP_05, 0xff, 0x100, 2688, { 2, 576 }, { 3, 832 }, { 4, 896 }, { 5, 960 }, { 6, 1024 },
    { 7, 1536 }, { 8, 2560 })
CMP(CMP_06, 0x7, 0x800, 848, { 2, 576 }, { 11, 832 })
CMP(CMP_07, 0x207, 0x1800, 880, { 2, 576 }, { 9, 832 }, { 11, 840 }, { 12, 856 })
CMP(CMP_10, 0x207, 0x9800, 1688, { 2, 576 }, { 9, 832 }, { 11, 840 }, { 12, 856 }, { 15, 880 })
CMP(CMP_12, 0xe7, 0x900, 2576, { 2, 576 }, { 5, 832 }, { 6, 896 }, { 7, 1408 }, { 8, 2432 },
    { 11, 2560 })
CMP(CMP_14, 0x602e7, 0, 10752, { 2, 576 }, { 5, 832 }, { 6, 896 }, { 7, 1408 }, { 9, 2432 },
    { 17, 2496 }, { 18, 2560 })
CMP(CMP_15, 0x60007, 0, 9088, { 2, 576 }, { 17, 832 }, { 18, 896 })
CMP(CMP_17, 0x602e7, 0xdd00, 11776, { 2, 576 }, { 5, 832 }, { 6, 896 }, { 7, 1408 }, { 8, 2432 },
    { 9, 2560 }, { 10, 2568 }, { 11, 2576 }, { 12, 2592 }, { 14, 2616 }, { 15, 2664 }, { 17, 3520 },
    { 18, 3584 })
CMP(CMP_18, 0x80207, 0, 968, { 2, 576 }, { 9, 832 }, { 19, 840 })

/* TILECFG alone is no legal XCR0, but a legal XCOMP_BV: a layout obeys no rule of XSETBV. */
CASE(CMP_16)
{
	static const struct place places[] = { { 2, 576 }, { 17, 832 }, { 0, 0 } };

	(void)state;
	compacted(0x20007, 0, 896, places);
	assert_int_equal(xst_xcr0_check(0x20007, 0xe02ff, NULL), XST_ERR_ILLEGAL_MASK);
}

// SPDX-License-Identifier: BSD-2-Clause
/* Bring a machine and its CPUs up; test the save form before any task depends on it. */
#include <xst/bringup.h>
#include <xst/kernel.h>

#include "registers.h"

/* The self-test covers x87, SSE and AVX: the compacted forms that are known to be broken misplace
 * the first component behind the header, whichever it is. */
#define TEST_MASK  0x7ULL
#define TEST_BYTES (XST_EXT_OFFSET + 256u)
/* Of the 256 bytes of each: 32-bit modes have registers 0 to 7 only, and leave the rest alone.
 * Ref: SDM vol. 1, "Operation of XSAVE" */
#ifdef __x86_64__
#define TEST_REGISTER_BYTES 256u
#else
#define TEST_REGISTER_BYTES 128u
#endif

/* Bytes that differ in every position of a page and are never zero. */
static uint8_t pattern(uint32_t i)
{
	return (uint8_t)(i % 251u + 1u);
}

/* The bits that LDMXCSR accepts: CPUID does not say them, FXSAVE does once CR4.OSFXSR is set.
 * Ref: SDM vol. 1, "Guidelines for Writing to the MXCSR Register" */
static XST_NOINLINE void read_mxcsr_mask(void *world, struct xst_caps *caps)
{
	XST_AREA(image, XST_LEGACY_BYTES);

	if (!caps->fxsr || !caps->sse)
		return;
	__builtin_memset(image, 0, XST_LEGACY_BYTES);
	xst_w_save(world, XST_INSN_FXSAVE, image, 0);
	caps->mxcsr_mask = get32(image + 28);
	/* The first CPUs with SSE store 0, and have no denormals-are-zeros. */
	if (!caps->mxcsr_mask)
		caps->mxcsr_mask = 0xffbf;
	caps->caveats &= ~(uint32_t)XST_CAVEAT_MXCSR_MASK_ASSUMED;
}

/* Load a known image in standard format, save it in the form under test, compare AVX's bytes. */
static int test_form(void *world, const struct xst_system *sys, struct xst_diag *diag)
{
	XST_AREA(src, TEST_BYTES);
	XST_AREA(dst, TEST_BYTES);
	const uint32_t place = sys->layout.offset[XST_COMP_AVX];
	uint32_t i;

	if (sys->insn < XST_INSN_XSAVE || (sys->mask & TEST_MASK) != TEST_MASK ||
	    sys->caps.comp[XST_COMP_AVX].offset != XST_EXT_OFFSET || place != XST_EXT_OFFSET)
		return XST_OK;
	xst_fresh_image(XST_INSN_XSAVE, TEST_MASK, src, TEST_BYTES);
	src[XST_HEADER_OFFSET] = (uint8_t)TEST_MASK;
	for (i = 0; i < 256; i++) {
		src[160 + i] = pattern(i + 7);
		src[XST_EXT_OFFSET + i] = pattern(i);
	}
	__builtin_memset(dst, 0, TEST_BYTES);
	if (xst_w_load(world, XST_INSN_XSAVE, src, TEST_MASK))
		return xst_diag_set(diag, XST_ERR_MISMATCH, XST_DIAG_NO_COMPONENT, 0, 0, 1,
				    "a correct image faults");
	xst_w_save(world, sys->insn, dst, TEST_MASK);
	for (i = 0; i < TEST_REGISTER_BYTES; i++) {
		if (dst[160 + i] != pattern(i + 7))
			return xst_diag_set(diag, XST_ERR_MISMATCH, XST_COMP_SSE, 160 + i,
					    pattern(i + 7), dst[160 + i],
					    "the save puts a component elsewhere");
		if (dst[place + i] != pattern(i))
			return xst_diag_set(diag, XST_ERR_MISMATCH, XST_COMP_AVX, place + i,
					    pattern(i), dst[place + i],
					    "the save puts a component elsewhere");
	}
	return XST_OK;
}

/* All registers to INIT, by a restore: FNINIT would leave the x87 registers' contents. */
static int load_fresh(void *world, const struct xst_system *sys, struct xst_diag *diag)
{
	const uint64_t beside = sys->apart | sys->xss;

	if (xst_w_load(world, sys->insn, sys->fresh, sys->mask) ||
	    (beside && xst_w_load(world, sys->insn, sys->fresh_apart, beside)))
		return xst_diag_set(diag, XST_ERR_MISMATCH, XST_DIAG_NO_COMPONENT, 0, 0, 1,
				    "a fresh image faults");
	return XST_OK;
}

/*
 * Does XINUSE[1] count MXCSR? The manuals leave it open, so ask: with INIT in all XMM registers it must
 * come and go with MXCSR, time and again, for an interrupt in between may set it too.
 */
static bool xinuse_has_mxcsr(void *world, const struct xst_system *sys)
{
	const uint32_t inexact = 1u << 5; /* a flag, whose exception is masked */
	bool has = sys->xgetbv1 && (sys->mask & XST_MASK_SSE);

	for (unsigned i = 0; has && i < 16; i++) {
		const uint32_t other = i & 1 ? 0 : inexact;

		xst_w_ldmxcsr(world, MXCSR_INIT | other);
		has = (xst_w_xinuse(world) & XST_MASK_SSE) == (other ? XST_MASK_SSE : 0);
	}
	if (sys->xgetbv1)
		xst_w_ldmxcsr(world, MXCSR_INIT);
	return has;
}

/* What must not be used after looking at what CPUID sums up and what the instruction writes. */
static uint32_t judge(void *world, const struct xst_system *sys, struct xst_diag *diag)
{
	uint32_t standard = 0, compacted = 0;

	if (sys->insn >= XST_INSN_XSAVEC) {
		struct xst_layout l;

		xst_w_sums(world, &standard, &compacted);
		if (xst_layout_compute(&sys->caps, sys->xcr0 | sys->xss, XST_COMPACTED, &l, diag) ||
		    (compacted && l.bytes != compacted)) {
			(void)xst_diag_set(diag, XST_ERR_MISMATCH, XST_DIAG_NO_COMPONENT, 0xd01,
					   l.bytes, compacted,
					   "CPUID sums up another compacted size");
			return XST_AVOID_SUMS;
		}
	}
	return test_form(world, sys, diag) == XST_OK ? 0 : XST_AVOID_SELFTEST;
}

static int system_init(void *world, struct xst_system *sys, uint64_t want, struct xst_diag *diag)
{
	uint32_t avoid = XST_WORLD_HAS_XSAVES ? 0 : XST_AVOID_WORLD;
	struct xst_caps caps;
	int err = xst_w_caps(world, &caps);

	while (!err) {
		uint32_t found;

		err = xst_system_compute(&caps, want, avoid, sys, diag);
#ifdef XST_ONLY_INSN
		if (!err && sys->insn != XST_ONLY_INSN)
			err = xst_diag_set(diag, XST_ERR_UNSUPPORTED, XST_DIAG_NO_COMPONENT, 0,
					   XST_ONLY_INSN, sys->insn,
					   "this build is for another save form");
#endif
		if (!err)
			err = xst_w_enable(world, sys, diag);
		if (err)
			break;
		read_mxcsr_mask(world, &sys->caps);
		found = judge(world, sys, diag);
		if (!found)
			return load_fresh(world, sys, diag);
		/* Nothing left to avoid: the standard form itself is broken. */
		if ((avoid & found) == found)
			return XST_ERR_MISMATCH;
		avoid |= found;
	}
	return err;
}

int xst_system_init(struct xst_system *sys, uint64_t want)
{
	return system_init(xst_w_this(), sys, want, NULL);
}

/* Whatever a reset or the firmware left in IA32_XFD and in the shadow-stack pointers, the caches of
 * them are not to be believed. XCR0 and IA32_XSS have none: outside of guests they hold what sys
 * says. */
static void reset_owned(struct xst_cpu *cpu)
{
	const struct xst_system *sys = cpu->sys;

	if (sys->dynamic) {
		xst_w_set_xfd(cpu->world, 0);
		xst_w_tilerelease(cpu->world);
		(void)xst_w_take_xfd_err(cpu->world);
	}
	if (!XST_TWIN(GUEST_SSP))
		cpu->ssp_of = NULL;
	if (XST_TWIN(XFD_CACHED))
		return;
	cpu->mask = sys->mask;
	cpu->xfd = sys->dynamic;
	if (sys->dynamic)
		xst_w_set_xfd(cpu->world, cpu->xfd);
}

int xst_cpu_online(struct xst_cpu *cpu, struct xst_diag *diag)
{
	const struct xst_system *sys = cpu->sys;
	struct xst_caps caps;
	int err = xst_w_caps(cpu->world, &caps);

	/* All that CPUID says before anything is enabled that may not be there, MXCSR_MASK then. */
	caps.mxcsr_mask = sys->caps.mxcsr_mask;
	if (!err)
		err = xst_caps_cover(&sys->caps, &caps, sys->xcr0 | sys->xss, diag);
	if (!err)
		err = xst_w_enable(cpu->world, sys, diag);
	if (!err) {
		read_mxcsr_mask(cpu->world, &caps);
		err = xst_caps_cover(&sys->caps, &caps, sys->xcr0 | sys->xss, diag);
	}
	if (!err && judge(cpu->world, sys, diag))
		err = XST_ERR_MISMATCH;
	if (!err)
		err = load_fresh(cpu->world, sys, diag);
	if (err)
		return err;
	cpu->owner = NULL;
	cpu->slot = XST_SLOT_UNKNOWN;
	cpu->bits = cpu->fixed | XST_B_INIT;
	cpu->sections.form = (uint8_t)xst_mxcsr_form(&sys->caps, sys->mask);
	cpu->sections.run = XST_SECTION_AT_REST;
	cpu->xinuse_mxcsr = xinuse_has_mxcsr(cpu->world, sys);
	reset_owned(cpu);
	if (sys->pkru)
		xst_w_wrpkru(cpu->world, cpu->cur ? cpu->cur->pkru : sys->init_pkru);
	return XST_OK;
}

int xst_cpu_init(const struct xst_system *sys, struct xst_cpu *cpu, uint32_t id)
{
	void *world = cpu->world;

	if (id == XST_NO_CPU)
		return XST_ERR_INVALID;
	__builtin_memset(cpu, 0, sizeof(*cpu));
	cpu->world = world;
	cpu->sys = sys;
	cpu->id = id;
	cpu->mask = sys->mask;
	cpu->policy = *xst_policy_by_name("auto");
	cpu->fixed = (sys->pkru ? XST_B_PKRU : 0u) | (sys->apart ? XST_B_APART : 0u) |
		     (sys->fip_leak ? XST_B_FIP : 0u) | (sys->dynamic ? XST_B_MASK : 0u) |
		     XST_B_INSN(sys->insn) | xst_way_bits(sys, &cpu->policy);
	return xst_cpu_online(cpu, NULL);
}

void xst_cpu_offline(struct xst_cpu *cpu)
{
	XST_ASSERT(xst_section_state(&cpu->sections) != XST_SECTION_BUSY &&
		   xst_section_state(&cpu->sections) != XST_SECTION_WATCHED_BUSY);
	if (cpu->cur)
		xst_ctx_flush(cpu, cpu->cur);
	cpu->bits = evict(cpu, cpu->bits) & ~(XST_B_LIVE | XST_B_INIT | XST_B_APART_LIVE |
					      XST_B_READY);
	cpu->owner = NULL;
	cpu->sections.run = XST_SECTION_DOWN;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * `images`: what xst_image_check() predicts, and what the instruction does, in ring 0.
 *
 * Random images, half of them with one thing broken, are given to XRSTORS (with CET_U and CET_S in
 * IA32_XSS where the machine has them), XRSTOR and FXRSTOR. The vector must be the predicted one;
 * after a restore every component must hold what the prediction says: the image's bytes, INIT, or
 * what was there before. User mode can prove only half of that: XRSTORS, supervisor components and
 * IA32_XSS exist in ring 0 alone.
 */
#include <xst/image.h>
#include <xst/world.h>

#include "experiment.h"
#include "report.h"

#define IMAGE_BYTES 8192u
#define SUPER      (XST_MASK_CET_U | XST_MASK_CET_S)
#define MXCSR_BITS 0xffffu

/* Three areas: the state before, the image, what the registers hold after it. */
static uint8_t before[IMAGE_BYTES] __attribute__((aligned(64)));
static uint8_t image[IMAGE_BYTES + 64] __attribute__((aligned(64)));
static uint8_t after[IMAGE_BYTES] __attribute__((aligned(64)));

static struct xst_layout full; /* of before and after */
static uint64_t all, user;     /* components in force: XCR0 | XSS, and XCR0 */
static uint64_t random, tried, restored, faulted, wrong, hits[XST_RULE_COUNT];
static bool compacted;

/* Deviations that docs/errata.md names: where they show they are known failures, and where they
 * should and do not, an unexpected pass. */
enum deviation { NO_DEVIATION, BOCHS_BV63, QEMU_MXCSR_AVX, DEVIATIONS };
static const struct {
	const char *id, *rule;
} deviations[DEVIATIONS] = {
	[BOCHS_BV63] = {"bochs-bv63", "bit 63 of XSTATE_BV faults in the compacted format too"},
	[QEMU_MXCSR_AVX] = {"qemu-xrstor-mxcsr-avx",
			    "the standard XRSTOR loads MXCSR for AVX alone too"},
};
static uint64_t shown[DEVIATIONS], gone[DEVIATIONS];

static uint64_t below(uint64_t n)
{
	return random_next(&random) % n;
}

static void put(void *area, uint32_t offset, const void *value, size_t bytes)
{
	__builtin_memcpy((uint8_t *)area + offset, value, bytes);
}

static void put64(void *area, uint32_t offset, uint64_t value)
{
	put(area, offset, &value, sizeof(value));
}

/*
 * Values that no rule of a component itself refuses: CET addresses are canonical and aligned and
 * its control bits 0, PKRU leaves key 0 alone, x87 exceptions are masked and none is pending.
 */
static void fill_component(uint8_t *area, const struct xst_layout *l, unsigned id)
{
	uint8_t *at = area + l->offset[id];
	uint32_t i, bytes = l->size[id];

	if (id == XST_COMP_X87) {
		const uint16_t fcw = (uint16_t)((random_next(&random) & 0xf00) | 0x7f);
		const uint16_t fsw = (uint16_t)(random_next(&random) & 0x3800);

		put(area, XST_OFF_FCW, &fcw, sizeof(fcw));
		put(area, XST_OFF_FSW, &fsw, sizeof(fsw));
		area[XST_OFF_FTW] = (uint8_t)random_next(&random);
		at = area + XST_OFF_ST;
		bytes = 128;
	}
	for (i = 0; i < bytes; i++)
		at[i] = (uint8_t)(random_next(&random) | 1);
	if (id == XST_COMP_PKRU)
		put64(area, l->offset[id], random_next(&random) & 0xfffffffcu);
	if (XST_MASK(id) & SUPER) {
		for (i = 0; i < bytes; i += 8)
			put64(area, l->offset[id] + i, random_next(&random) & 0x7ffffffffff8u);
		if (id == XST_COMP_CET_U)
			put64(area, l->offset[id], 0);
	}
}

static uint64_t some(uint64_t mask)
{
	uint64_t m = mask & random_next(&random);

	return below(4) ? m : mask;
}

/* A correct image in format @l, random but for what must be. */
static void make_image(uint8_t *area, const struct xst_layout *l)
{
	uint64_t bv = some(l->mask), rest;
	const uint32_t mxcsr = XST_MXCSR_INIT | (uint32_t)(random_next(&random) & 0xe03f);

	__builtin_memset(area, 0, IMAGE_BYTES);
	for (rest = l->mask; rest; rest &= rest - 1)
		fill_component(area, l, xst_mask_first(rest));
	put(area, XST_OFF_MXCSR, &mxcsr, sizeof(mxcsr));
	put64(area, XST_OFF_XSTATE_BV, bv);
	put64(area, XST_OFF_XCOMP_BV, l->format == XST_COMPACTED ? XST_XCOMP_COMPACT | l->mask : 0);
}

/* One thing broken; which one the prediction must find out. */
static void damage(uint8_t *area)
{
	const uint64_t odd = 1ULL << below(64);
	uint32_t mxcsr = xst_get32(area, XST_OFF_MXCSR);

	switch (below(6)) {
	case 0:
		put64(area, XST_OFF_XCOMP_BV, xst_get64(area, XST_OFF_XCOMP_BV) ^ odd);
		break;
	case 1:
		put64(area, XST_OFF_XSTATE_BV, xst_get64(area, XST_OFF_XSTATE_BV) ^ odd);
		break;
	case 2:
		area[528 + below(48)] = (uint8_t)(odd | 1);
		break;
	case 3:
		put64(area, XST_OFF_XCOMP_BV, xst_get64(area, XST_OFF_XCOMP_BV) ^ XST_XCOMP_COMPACT);
		break;
	case 4:
		/* ERRATA(qemu-mxcsr-reserved): it takes what every CPU refuses. */
		if (machine_kind() == MACHINE_QEMU_TCG)
			break;
		mxcsr |= (uint32_t)odd & ~MXCSR_BITS ? (uint32_t)odd & ~MXCSR_BITS : 0x80000000u;
		put(area, XST_OFF_MXCSR, &mxcsr, sizeof(mxcsr));
		break;
	default:
		put64(area, XST_OFF_XSTATE_BV, random_next(&random));
		break;
	}
}

/* What was damaged may still be legal, and then the header moves components: make sure again that
 * CET and PKRU would get values that are allowed. */
static void refill(uint8_t *area)
{
	struct xst_layout l;
	uint64_t rest;

	if (!(xst_get64(area, XST_OFF_XCOMP_BV) & XST_XCOMP_COMPACT) ||
	    xst_image_layout(&lab_system.caps, user, area, IMAGE_BYTES, &l, NULL))
		return;
	for (rest = l.mask & (SUPER | XST_MASK_PKRU); rest; rest &= rest - 1)
		fill_component(area, &l, xst_mask_first(rest));
}

static void save_all(uint8_t *area)
{
	__builtin_memset(area, 0, IMAGE_BYTES);
	if (compacted)
		xst_xsaves(area, all);
	else if (all)
		xst_xsave(area, all);
	else
		xst_fxsave(area);
}

static int restore(enum xst_restorer by, const uint8_t *area, uint64_t rfbm)
{
	if (by == XST_BY_XRSTORS)
		return xst_xrstors_try(area, rfbm);
	return by == XST_BY_XRSTOR ? xst_xrstor_try(area, rfbm) : xst_fxrstor_try(area);
}

static uint8_t init_byte(unsigned id, uint32_t i)
{
	return id == XST_COMP_X87 && i < 2 ? (uint8_t)(XST_FCW_INIT >> (8 * i)) : 0;
}

/* Does byte @i of a component say anything? FOP, FIP and FDP are kept or not by CPU model and have
 * tests of their own; MXCSR is looked at apart; six bytes of each x87 register are reserved. */
static bool counts(unsigned id, uint32_t i)
{
	if (id != XST_COMP_X87)
		return true;
	return i < 5 || (i >= XST_OFF_ST && (i - XST_OFF_ST) % 16 < 10);
}

static bool component_right(unsigned id, const uint8_t *source, uint32_t source_offset, bool loaded)
{
	const bool there = !all || (xst_get64(after, XST_OFF_XSTATE_BV) & XST_MASK(id));
	uint32_t i;

	for (i = 0; i < full.size[id]; i++) {
		const uint8_t want = loaded ? source[source_offset + i] : init_byte(id, i);
		const uint8_t got = there ? after[full.offset[id] + i] : init_byte(id, i);

		if (counts(id, i) && want != got) {
			print("component %u byte %u: want %x, got %x\n", id, i, want, got);
			return false;
		}
	}
	return true;
}

/* The registers after a restore are what the verdict says. */
static bool state_right(const struct xst_verdict *v, const struct xst_layout *l,
			const uint8_t *area, uint32_t mxcsr_after, bool say)
{
	const uint64_t bv = xst_get64(before, XST_OFF_XSTATE_BV);
	const uint32_t mxcsr = v->mxcsr == XST_MXCSR_LOADED ? xst_get32(area, XST_OFF_MXCSR)
			       : v->mxcsr == XST_MXCSR_KEPT ? xst_get32(before, XST_OFF_MXCSR)
							    : XST_MXCSR_INIT;
	uint64_t rest;

	if (mxcsr_after != mxcsr) {
		if (say)
			print("MXCSR: want %x, got %x\n", mxcsr, mxcsr_after);
		return false;
	}
	for (rest = all ? all : XST_MASK_LEGACY; rest; rest &= rest - 1) {
		const unsigned id = xst_mask_first(rest);
		const uint64_t bit = XST_MASK(id);
		bool ok;

		if (v->loads & bit)
			ok = component_right(id, area, l->offset[id], true);
		else if (v->inits & bit)
			ok = component_right(id, NULL, 0, false);
		else
			ok = component_right(id, before, full.offset[id], !all || (bv & bit));
		if (!ok)
			return false;
	}
	return true;
}

/* Which known deviation of this machine, if any, is to be expected of this restore? */
static enum deviation expected_deviation(enum xst_restorer by, const struct xst_verdict *v,
					 uint64_t rfbm, const uint8_t *area)
{
	if (by == XST_BY_FXRSTOR)
		return NO_DEVIATION;
	/* Bochs compares with XCOMP_BV, whose bit 63 says something else. Only that bit is wrong. */
	if (machine_kind() == MACHINE_BOCHS && v->rule == XST_RULE_BV_XCOMP &&
	    !(xst_get64(area, XST_OFF_XSTATE_BV) & ~xst_get64(area, XST_OFF_XCOMP_BV)))
		return BOCHS_BV63;
	if (machine_kind() == MACHINE_QEMU_TCG && !v->vector && v->format == XST_STANDARD &&
	    (rfbm & user & (XST_MASK_SSE | XST_MASK_AVX)) == XST_MASK_AVX)
		return QEMU_MXCSR_AVX;
	return NO_DEVIATION;
}

static void one(enum xst_restorer by)
{
	struct xst_restore how = {&lab_system.caps, by, user, all & ~user, 0, 0, 0, 0};
	const bool compact = by == XST_BY_XRSTORS || (compacted && by == XST_BY_XRSTOR && below(2));
	const uint64_t may = by == XST_BY_XRSTORS ? all : user;
	struct xst_verdict v = {0};
	struct xst_layout l = full;
	enum deviation known;
	uint8_t *area;
	uint32_t mxcsr;
	int vector;
	bool right;

	if (by != XST_BY_FXRSTOR &&
	    xst_layout_compute(&lab_system.caps, compact ? some(may) | XST_MASK_X87 : user,
			       compact ? XST_COMPACTED : XST_STANDARD, &l, NULL))
		panic("images: no layout");
	how.rfbm = below(3) ? ~0ULL : random_next(&random);
	if (by != XST_BY_FXRSTOR && !below(12))
		how.misalign = 8u << below(3);
	area = image + how.misalign;
	make_image(area, &l);
	/* ERRATA(qemu-mxcsr-reserved): it takes what every CPU refuses. */
	if (by == XST_BY_FXRSTOR && !below(4) && machine_kind() != MACHINE_QEMU_TCG)
		area[XST_OFF_MXCSR + 3] = 0x80;
	else if (by != XST_BY_FXRSTOR && below(2))
		damage(area);
	if (by != XST_BY_FXRSTOR)
		refill(area);

	/* Something else in every register first: what is kept shows, and what is not. */
	make_image(before, &full);
	put64(before, XST_OFF_XSTATE_BV, all);
	if (restore(compacted ? XST_BY_XRSTORS : all ? XST_BY_XRSTOR : XST_BY_FXRSTOR, before, all))
		panic("images: a correct image was refused");
	save_all(before);
	xst_stmxcsr(&mxcsr);
	put(before, XST_OFF_MXCSR, &mxcsr, sizeof(mxcsr));

	(void)xst_image_check(&how, area, IMAGE_BYTES, &v, NULL);
	vector = restore(by, area, how.rfbm);
	xst_stmxcsr(&mxcsr);
	save_all(after);
	tried++;
	hits[v.rule]++;
	if (vector)
		faulted++;
	else
		restored++;
	/* The header says where things lie. */
	if (!vector && v.format == XST_COMPACTED && by != XST_BY_FXRSTOR &&
	    xst_image_layout(&lab_system.caps, user, area, IMAGE_BYTES, &l, NULL))
		panic("images: no layout by the header");
	known = expected_deviation(by, &v, how.rfbm, area);
	right = vector == (int)v.vector && (vector || state_right(&v, &l, area, mxcsr, !known));
	if (known)
		(right ? gone : shown)[known]++;
	else if (!right && wrong++ < 4)
		print("image %lu: predicted rule %u vector %u, got vector %d, by %u, rfbm %lx, "
		      "XSTATE_BV %lx, XCOMP_BV %lx\n",
		      tried, v.rule, v.vector, vector, by, how.rfbm,
		      xst_get64(area, XST_OFF_XSTATE_BV), xst_get64(area, XST_OFF_XCOMP_BV));
}

static void leave_clean(void)
{
	/* The engine believes that the registers are INIT and PKRU is the default. */
	if (all & SUPER)
		xst_wrmsr(XST_MSR_XSS, lab_system.xss);
	if (xst_w_load(NULL, lab_system.insn, lab_system.fresh, lab_system.mask))
		panic("images: a fresh image was refused");
	if (lab_system.pkru)
		xst_wrpkru(lab_system.init_pkru);
}

static bool images_phase(unsigned number)
{
	const struct xst_caps *caps = &lab_system.caps;
	uint64_t i;

	if (number)
		return false;
	random = args.seed;
	compacted = caps->xsaves && lab_system.insn == XST_INSN_XSAVES;
	user = lab_system.xcr0;
	all = user | (compacted ? caps->xss & SUPER : 0);
	full.mask = XST_MASK_LEGACY;
	full.offset[XST_COMP_SSE] = XST_OFF_XMM;
	full.size[XST_COMP_X87] = 160;
	full.size[XST_COMP_SSE] = 256;
	if (all && xst_layout_compute(caps, all, compacted ? XST_COMPACTED : XST_STANDARD, &full,
				      NULL))
		panic("images: no layout of all components");
	if (all & SUPER)
		xst_wrmsr(XST_MSR_XSS, all & ~user);
	for (i = 0; i < args.loops; i++) {
		if (compacted)
			one(XST_BY_XRSTORS);
		if (user)
			one(XST_BY_XRSTOR);
		if (caps->fxsr)
			one(XST_BY_FXRSTOR);
		if (i % 256 == 0)
			print("{\"lab\":\"progress\",\"done\":%lu,\"total\":%lu}\n", i, args.loops);
	}
	leave_clean();
	return false;
}

static unsigned known_failures(void)
{
	unsigned n = 0;

	for (enum deviation d = NO_DEVIATION + 1; d < DEVIATIONS; d++)
		n += shown[d] != 0;
	return n;
}

static const char *images_verdict(void)
{
	for (enum deviation d = NO_DEVIATION + 1; d < DEVIATIONS; d++)
		if (shown[d] || gone[d])
			print("{\"lab\":\"check\",\"id\":\"%s\",\"status\":\"%s\",\"rule\":\"%s\"}\n",
			      deviations[d].id, shown[d] ? "known-failure" : "unexpected-pass",
			      deviations[d].rule);

	return wrong ? "a restore did not do what was predicted" : NULL;
}

static const char *images_status(void)
{
	return known_failures() ? "known-failure" : "ok";
}

static void images_report(void)
{
	report_field("passes", tried - wrong);
	report_field("known_failures", known_failures());
	report_field("images", tried);
	report_field("restored", restored);
	report_field("faulted", faulted);
	report_field("supervisor_components",
		     (all & XST_MASK_CET_U ? 1 : 0) + (all & XST_MASK_CET_S ? 1 : 0));
#define XST_RULE(SYM, vector, text)                                                                \
	if (hits[XST_RULE_##SYM])                                                                  \
		report_field("rule_" #SYM, hits[XST_RULE_##SYM]);
#include <xst/rule.def>
}

const struct experiment exp_images = {
	.name = "images",
	.summary = "do XRSTORS, XRSTOR and FXRSTOR do what the library predicts?",
	.loops = 5000,
	.min_cpus = 1,
	.max_cpus = 1,
	.phase = images_phase,
	.verdict = images_verdict,
	.status = images_status,
	.report = images_report,
};

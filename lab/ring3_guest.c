// SPDX-License-Identifier: BSD-2-Clause
/*
 * The guests' programs: ring 0 of a guest, though the file's name puts them into the user part of
 * the image, whose code they share.
 *
 * The worker holds values in every register that its XCR0 gives it, and in the shadow-stack
 * pointers, leaves for the hypervisor in every way there is, and looks at all of them each time it
 * is back. In between it does what an operating system does: XCR0 grows and shrinks, IA32_XSS
 * changes, CR0.TS is set.
 */
#include "ring3_guest.h"

#define VECTOR_UD 6u
#define VECTOR_GP 13u
#define VECTOR_PF 14u

#define FCW_RESET 0x40u

#define OFF_XSTATE_BV 512u
#define OFF_XCOMP_BV  520u
#define OFF_CET_S     576u /* it is alone in the image */
#define SSPS_CET_S    3u   /* PL3_SSP is of CET_U */

struct guest_block guest_blocks[GUEST_MAX];

static void call(const struct guest_block *g)
{
	if (g->svm)
		guest_vmmcall();
	else
		guest_vmcall();
}

/* Each kind of exit once. A step that did not come to what it must stays where it is. */
void guest_tour(struct guest_block *g)
{
	uint64_t value;

	guest_hlt();
	g->steps++;
	call(g);
	g->steps++;
	g->steps += guest_cpuid(0) == ~(uint32_t)TOUR_CPUID;
	g->steps += !guest_rdmsr(XST_MSR_XSS, &value) && (uint32_t)value == ~(uint32_t)TOUR_RDMSR &&
		    (uint32_t)(value >> 32) == ~(uint32_t)TOUR_RDMSR;
	g->steps += !guest_wrmsr(XST_MSR_XSS, 0);
	g->steps += guest_touch_under_ts() == VECTOR_NM;
	g->steps += guest_undefined() == VECTOR_UD;
	g->steps += guest_peek(NULL) == VECTOR_PF;
	g->steps += user_syscall(SYS_YIELD, 0) == ~(uint32_t)TOUR_SYSCALL;
	g->steps += !guest_xsetbv(g->xcr0);
	for (;;)
		guest_hlt();
}

/* Canonical, aligned, not zero. INIT is zero. */
uint64_t guest_ssp(const struct guest_block *g, uint32_t n)
{
	return g->own.have_values ? (user_value(&g->own, n) & 0x7fffffffff8) | 8 : 0;
}

static void check(struct guest_block *g)
{
	struct user_block *u = &g->own;

	user_check(u);
	for (uint32_t n = 0; n < g->ssps; n++) {
		uint64_t got = 0;

		if (guest_rdmsr(XST_MSR_PL_SSP + n, &got) || got != guest_ssp(g, n))
			user_mismatch(u, XST_COMP_CET_S, "pl_ssp", n, 0, guest_ssp(g, n), got);
	}
}

static void set_new(struct guest_block *g)
{
	user_set_new(&g->own, ++g->own.slots);
	for (uint32_t n = 0; n < g->ssps; n++)
		if (guest_wrmsr(XST_MSR_PL_SSP + n, guest_ssp(g, n)))
			user_mismatch(&g->own, XST_COMP_CET_S, "pl_ssp write", n, 0, 0, 1);
}

/* To the hypervisor and back, or a while here for an interrupt to come. */
static void leave(struct guest_block *g, uint64_t r)
{
	g->settled = true;
	switch (r & 7) {
	case 0:
	case 1:
		guest_hlt();
		break;
	case 2:
		guest_cpuid((uint32_t)(r >> 8) & 1);
		break;
	case 3:
		for (volatile uint64_t i = 0; i < ((r >> 8) & 0x3ff); i++)
			;
		break;
	default:
		call(g);
	}
	g->settled = false;
}

static void expect(struct guest_block *g, unsigned component, const char *what, uint64_t want,
		   uint64_t got)
{
	if (got != want)
		user_mismatch(&g->own, component, what, 0, 0, want, got);
}

static uint32_t features(const struct guest_block *g)
{
	uint32_t f = g->features;

	if (!(g->xcr0_now & XST_MASK_AVX512))
		f &= ~(FEATURE_AVX512 | FEATURE_OPMASK64);
	if (!(g->xcr0_now & XST_MASK_AVX))
		f &= ~FEATURE_AVX;
	return f;
}

/* What a guest may enable: AVX-512 or not, AVX or not. */
static uint64_t another_xcr0(const struct guest_block *g, uint64_t r)
{
	switch (r & 3) {
	case 0:
		return g->xcr0 & ~(XST_MASK_AVX | XST_MASK_AVX512);
	case 1:
		return g->xcr0 & ~XST_MASK_AVX512;
	default:
		return g->xcr0;
	}
}

/*
 * What grows must be INIT: whoever intercepts XSETBV sees to it. Where nobody does, the registers keep
 * what the guest had in them, so it tidies up before it gives them back.
 */
static void change_xcr0(struct guest_block *g, uint64_t r)
{
	static const uint64_t illegal[4] = {0, XST_MASK_AVX | XST_MASK_X87, XST_MASK_SSE, 1ull << 61};
	const uint64_t before = g->xcr0_now, next = another_xcr0(g, r);
	struct user_block *u = &g->own;

	if (r & 0x10) {
		expect(g, XST_COMP_X87, "xsetbv of an illegal value", VECTOR_GP,
		       guest_xsetbv(illegal[(r >> 8) & 3]));
		g->refused++;
		return;
	}
	if (!g->xsetbv_exits && (before & XST_MASK_AVX) && before != next) {
		user_vzeroupper();
		u->have_live &= ~(LIVE(XST_COMP_AVX) | LIVE(XST_COMP_ZMM_HI256));
	}
	expect(g, XST_COMP_X87, "xsetbv", 0, guest_xsetbv(next));
	g->xcr0_now = next;
	u->features = features(g);
	g->grown += (next & ~before) != 0;
	g->shrunk += (before & ~next) != 0;
	u->have_live &= (uint32_t)(before & next) | LIVE_MXCSR;
	check(g);
}

static void change_xss(struct guest_block *g, uint64_t r)
{
	uint64_t value = 0;

	if (r & 0x10) {
		expect(g, XST_COMP_CET_S, "wrmsr of an illegal IA32_XSS", VECTOR_GP,
		       guest_wrmsr(XST_MSR_XSS, g->xss | XST_MASK_PT));
		g->refused++;
		return;
	}
	g->xss_now = r & 0x20 ? g->xss : 0;
	expect(g, XST_COMP_CET_S, "wrmsr of IA32_XSS", 0, guest_wrmsr(XST_MSR_XSS, g->xss_now));
	expect(g, XST_COMP_CET_S, "rdmsr of IA32_XSS", 0, guest_rdmsr(XST_MSR_XSS, &value));
	expect(g, XST_COMP_CET_S, "IA32_XSS", g->xss_now, value);
}

static uint64_t word(const struct guest_block *g, uint32_t offset)
{
	uint64_t value;

	__builtin_memcpy(&value, g->image + offset, sizeof(value));
	return value;
}

static void put(struct guest_block *g, uint32_t offset, uint64_t value)
{
	*(volatile uint64_t *)(void *)(g->image + offset) = value;
}

/* The guest's own image of CET_S: both bits 12 are set, and the pointers are its own. */
static void save_ssp(struct guest_block *g)
{
	if (!(g->xss_now & XST_MASK_CET_S))
		return;
	/* What the check reads; the rest of the header is 0. No memset() is in a guest's reach. */
	put(g, OFF_XSTATE_BV, 0);
	put(g, OFF_XCOMP_BV, 0);
	for (uint32_t n = 0; n < SSPS_CET_S; n++)
		put(g, OFF_CET_S + 8 * n, 0);
	expect(g, XST_COMP_CET_S, "xsaves", 0, guest_xsaves(g->image, XST_MASK_CET_S));
	expect(g, XST_COMP_CET_S, "xstate_bv",
	       g->own.have_values ? XST_MASK_CET_S : word(g, OFF_XSTATE_BV), word(g, OFF_XSTATE_BV));
	expect(g, XST_COMP_CET_S, "xcomp_bv", XST_MASK_CET_S | 1ull << 63, word(g, OFF_XCOMP_BV));
	for (uint32_t n = 0; g->own.have_values && n < SSPS_CET_S; n++)
		expect(g, XST_COMP_CET_S, "pl_ssp image", guest_ssp(g, n), word(g, OFF_CET_S + 8 * n));
	expect(g, XST_COMP_CET_S, "xrstors", 0, guest_xrstors(g->image, XST_MASK_CET_S));
	g->xsaves++;
	check(g);
}

/* As after #RESET: XCR0 is 1, FCW 40H. Then all that there is, and all of it INIT. */
static void begin(struct guest_block *g)
{
	struct user_block *u = &g->own;

	user_x87_peek(&u->regs, u->features);
	expect(g, XST_COMP_X87, "fcw after reset", FCW_RESET, u->regs.fcw);
	expect(g, XST_COMP_X87, "fsw after reset", 0, u->regs.fsw);
	user_x87_clear();
	expect(g, XST_COMP_X87, "xsetbv", 0, guest_xsetbv(g->xcr0));
	g->xcr0_now = g->xcr0;
	u->features = features(g);
	check(g);
}

void guest_worker(struct guest_block *g)
{
	struct user_block *u = &g->own;

	begin(g);
	for (;;) {
		const uint64_t r = random_next(&u->random);

		set_new(g);
		for (uint32_t n = r & 7; n; n--) {
			leave(g, random_next(&u->random));
			check(g);
		}
		switch ((r >> 8) & 7) {
		case 0:
		case 1:
			change_xcr0(g, r >> 16);
			break;
		case 2:
			change_xss(g, r >> 16);
			break;
		case 3:
			expect(g, XST_COMP_X87, "#NM under CR0.TS", VECTOR_NM, guest_touch_under_ts());
			g->ts_traps++;
			check(g);
			break;
		case 4:
			save_ssp(g);
			break;
		default:
			break;
		}
	}
}

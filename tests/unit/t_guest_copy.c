// SPDX-License-Identifier: BSD-2-Clause
/*
 * Guests' state as it leaves and comes back: KVM's form and rules, what IA32_XFD disables, and
 * resets.
 */
#include "t.h"

#include "cases.h"
#include "guests.h"

#define ROOM 12288u

static struct guests g;
static uint8_t out[ROOM + 1], in[ROOM + 1], again[ROOM + 1];
static struct xst_diag d;

static void up(enum xst_insn insn, uint64_t xcr0, uint64_t xss)
{
	assert_int_equal(guests_up(&g, insn, xcr0, xss, WANT, "auto"), XST_OK);
	guest_enable(&g, 0, 0);
	guest_enable(&g, 0, 1);
}

static uint32_t bytes_of(unsigned i)
{
	return xst_guest_copy_bytes(&g.r.sys, &g.vcpu[i]);
}

static int copy_out(unsigned i, uint8_t *to)
{
	return xst_guest_copy_out(&g.r.cpu[0], &g.vcpu[i], to, bytes_of(i), &d);
}

static int copy_in(unsigned i, const uint8_t *from)
{
	return xst_guest_copy_in(&g.r.cpu[0], &g.vcpu[i], from, bytes_of(i), &d);
}

static uint32_t place(unsigned component)
{
	return g.r.caps.comp[component].offset;
}

static void load(unsigned i)
{
	xst_guest_load(&g.r.cpu[0], &g.vcpu[i]);
}

/* --- out --- */

/* Every byte is written, none of them is of the kernel's memory, and it comes back as it went. */
static void there_and_back(void **state)
{
	static const struct {
		enum xst_insn insn;
		uint64_t xcr0, xss;
		uint32_t bytes;
	} on[] = {
		{XST_INSN_FNSAVE, 0, 0, 4096},       {XST_INSN_FXSAVE, 0, 0, 4096},
		{XST_INSN_XSAVE, 7, 0, 4096},	     {XST_INSN_XSAVEOPT, 0x21f, 0, 4096},
		{XST_INSN_XSAVEC, SPR, 0, 11008},    {XST_INSN_XSAVES, INTEL, CET, 4096},
		{XST_INSN_XSAVES, SPR, CET, 11008},
	};
	unsigned i, c, n;

	(void)state;
	for (i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
		up(on[i].insn, on[i].xcr0, on[i].xss);
		assert_int_equal(bytes_of(0), on[i].bytes);
		load(0);
		guest_put(&g, 0, 0, XST_COMP_X87, 0x10);
		for (c = 1; c < 63; c++)
			if ((g.r.sys.mask | g.r.sys.dynamic) & XST_MASK(c))
				guest_put(&g, 0, 0, c, (uint8_t)(0x20 + c));
		if (on[i].xss) {
			guest_put(&g, 0, 0, XST_COMP_CET_U, 0x61);
			guest_put(&g, 0, 0, XST_COMP_CET_S, 0x62);
		}
		g.vcpu[0].pkru = g.r.sys.pkru ? 0x5554 : 0;
		/* Odd addresses, twice, over different bytes. */
		memset(out, 0xaa, sizeof(out));
		memset(again, 0x55, sizeof(again));
		assert_int_equal(copy_out(0, out + 1), XST_OK);
		assert_int_equal(copy_out(0, again + 1), XST_OK);
		assert_memory_equal(out + 1, again + 1, on[i].bytes);
		assert_int_equal(out[1 + on[i].bytes], 0xaa);
		assert_int_equal(out[0], 0xaa);
		for (n = 416; n < 512; n++)
			assert_int_equal(out[1 + n], 0);
		for (n = 520; n < 576; n++)
			assert_int_equal(out[1 + n], 0);
		if (g.r.sys.insn >= XST_INSN_XSAVE)
			assert_int_equal(xst_get64(out + 1, XST_OFF_XSTATE_BV),
					 g.r.sys.mask | g.r.sys.dynamic |
						 (g.r.sys.pkru ? XST_MASK_PKRU : 0));
		for (c = 2; c < 63; c++)
			if ((g.r.sys.mask | g.r.sys.dynamic) & XST_MASK(c))
				assert_int_equal(out[1 + place(c)], 0x20 + c);

		assert_int_equal(copy_in(1, out + 1), XST_OK);
		assert_int_equal(g.vcpu[1].pkru, g.vcpu[0].pkru);
		assert_int_equal(copy_out(1, again + 1), XST_OK);
		assert_memory_equal(out + 1, again + 1, on[i].bytes);
		/* And into the registers; what is not the user's stays as it was. */
		xst_guest_put(&g.r.cpu[0], &g.vcpu[0]);
		load(1);
		for (c = 1; c < 63; c++)
			if ((g.r.sys.mask | g.r.sys.dynamic) & XST_MASK(c))
				assert_int_equal(guest_see(&g, 0, 1, c), 0x20 + c);
		if (on[i].xss)
			assert_int_equal(guest_see(&g, 0, 1, XST_COMP_CET_S), 0);
		assert_int_equal(g.r.hw[0].surprise, 0);
	}
}

/* INIT components are written out: nothing that was in the area before. */
static void init_is_written_out(void **state)
{
	unsigned n;

	(void)state;
	up(XST_INSN_XSAVES, SPR, CET);
	memset(g.area[0] + 576, 0xa5, g.vcpu[0].layout.bytes - 576);
	assert_int_equal(copy_out(0, out), XST_OK);
	assert_int_equal(xst_get64(out, XST_OFF_XSTATE_BV), XST_MASK_X87 | XST_MASK_PKRU);
	for (n = 576; n < bytes_of(0); n++)
		assert_int_equal(out[n], 0);
	for (n = 160; n < 512; n++)
		assert_int_equal(out[n], 0);
}

/* A host from before XSAVE: both components are in what it hands out. */
static void fxsave_only(void **state)
{
	(void)state;
	up(XST_INSN_FXSAVE, 0, 0);
	assert_int_equal(copy_out(0, out), XST_OK);
	assert_int_equal(xst_get64(out, XST_OFF_XSTATE_BV), 3);
	assert_int_equal(copy_in(1, out), XST_OK);
	/* One that has XSAVE takes it. */
	up(XST_INSN_XSAVES, INTEL, CET);
	assert_int_equal(copy_in(0, out), XST_OK);
	load(0);
	xst_guest_enter(&g.r.cpu[0], &g.vcpu[0]);
	assert_int_equal(xst_get16(g.r.hw[0].regs.X87, XST_OFF_FCW), XST_FCW_RESET);
	xst_guest_exit(&g.r.cpu[0], &g.vcpu[0]);
}

/* Where its components lie follows from its own XCOMP_BV, which is not the host's. */
static void its_own_layout(void **state)
{
	struct xst_layout l;
	unsigned i;

	(void)state;
	up(XST_INSN_XSAVES, SPR, CET | XST_MASK_PASID);
	assert_int_equal(g.r.sys.grown.offset[XST_COMP_TILECFG], 2432);
	load(0);
	guest_put(&g, 0, 0, XST_COMP_CET_U, 0x11);
	guest_put(&g, 0, 0, XST_COMP_TILECFG, 0x17);
	xst_ctx_flush(&g.r.cpu[0], &g.vcpu[0].ctx);
	assert_int_equal(xst_image_layout(&g.r.caps, 0, g.area[0], GUEST_BYTES, &l, NULL), XST_OK);
	for (i = 2; i < 63; i++)
		if (l.mask & XST_MASK(i))
			assert_int_equal(l.offset[i], g.vcpu[0].layout.offset[i]);
	assert_int_equal(l.offset[XST_COMP_CET_U], 2432); /* PKRU and PASID are not in it */
	assert_int_equal(l.offset[XST_COMP_TILECFG], 2496);
	assert_int_equal(copy_out(0, out), XST_OK);
	assert_int_equal(out[place(XST_COMP_TILECFG)], 0x17);
	/* An area with another header than its guest's is not read. */
	xst_put64(g.area[1], XST_OFF_XCOMP_BV, XST_XCOMP_COMPACT | g.r.sys.mask);
	memset(out, 0xaa, sizeof(out));
	assert_int_equal(copy_out(1, out), XST_ERR_INVALID);
	assert_int_equal(out[0], 0xaa);
}

/* --- in --- */

static void pkru_stays(void **state)
{
	(void)state;
	up(XST_INSN_XSAVES, INTEL, CET);
	g.vcpu[0].pkru = 0x55555554;
	assert_int_equal(copy_out(0, in), XST_OK);
	xst_put64(in, XST_OFF_XSTATE_BV, 7);
	assert_int_equal(copy_in(0, in), XST_OK);
	assert_int_equal(g.vcpu[0].pkru, 0x55555554);
	/* Named, and 0: that is a value. */
	xst_put64(in, XST_OFF_XSTATE_BV, 7 | XST_MASK_PKRU);
	xst_put32(in, place(XST_COMP_PKRU), 0);
	assert_int_equal(copy_in(0, in), XST_OK);
	assert_int_equal(g.vcpu[0].pkru, 0);
	/* A guest whose PKRU is 0 says so. */
	assert_int_equal(copy_out(0, out), XST_OK);
	assert_true(xst_get64(out, XST_OFF_XSTATE_BV) & XST_MASK_PKRU);
}

static void nothing_is_cut_off(void **state)
{
	struct xst_guest *v = &g.vcpu[0];

	(void)state;
	up(XST_INSN_XSAVES, SPR, CET);
	load(0);
	guest_put(&g, 0, 0, TILE, 0x18);
	assert_int_equal(xst_guest_copy_out(&g.r.cpu[0], v, out, 4096, &d), XST_ERR_NEED_BYTES);
	assert_int_equal(d.want, 11008);
	assert_int_equal(copy_out(0, in), XST_OK);
	/* The first form of the call, and a live component that ends behind it. */
	assert_true(xst_guest_copy_in(&g.r.cpu[0], &g.vcpu[1], in, 4096, &d) < 0);
	assert_int_equal(d.component, TILE);
	/* Nothing there: nothing is lost. */
	xst_put64(in, XST_OFF_XSTATE_BV, 0x202e7);
	assert_int_equal(xst_guest_copy_in(&g.r.cpu[0], &g.vcpu[1], in, 4096, &d), XST_OK);
	/* A destination without tiles. */
	assert_int_equal(copy_out(0, in), XST_OK);
	assert_int_equal(guests_up(&g, XST_INSN_XSAVES, INTEL, CET, WANT, "auto"), XST_OK);
	assert_int_equal(xst_guest_copy_in(&g.r.cpu[0], v, in, 11008, &d), XST_ERR_FAULT);
	assert_int_equal(d.component, TILE);
	assert_int_equal(d.want, INTEL);
}

/* A refusal changes no byte of the guest, wherever its registers are. */
static void refused(const char *what, int want)
{
	static struct xst_guest before;
	static uint8_t area[GUEST_BYTES];
	int err;

	xst_ctx_flush(&g.r.cpu[0], &g.vcpu[0].ctx);
	before = g.vcpu[0];
	memcpy(area, g.area[0], sizeof(area));
	err = copy_in(0, in);
	if (err != want)
		fail_msg("%s: %d, %s", what, err, d.rule);
	assert_memory_equal(&before, &g.vcpu[0], sizeof(before));
	assert_memory_equal(area, g.area[0], sizeof(area));
	assert_int_equal(guest_see(&g, 0, 0, XST_COMP_AVX), 0x33);
	assert_int_equal(copy_out(1, in), XST_OK);
	xst_put64(in, XST_OFF_XSTATE_BV, 7);
}

static void bad_input(void **state)
{
	static const uint64_t bv[] = {XST_MASK_BNDREGS,	 XST_MASK_PT,  XST_MASK_PASID,
				      XST_MASK_CET_U,	 XST_MASK_CET_S, XST_MASK_APX,
				      XST_MASK(62),	 XST_MASK(63)};
	unsigned i;

	(void)state;
	up(XST_INSN_XSAVES, SPR, CET);
	load(0);
	guest_put(&g, 0, 0, XST_COMP_AVX, 0x33);
	assert_int_equal(copy_out(1, in), XST_OK);
	for (i = 0; i < sizeof(bv) / sizeof(bv[0]); i++) {
		xst_put64(in, XST_OFF_XSTATE_BV, 7 | bv[i]);
		refused("XSTATE_BV", XST_ERR_FAULT);
	}
	xst_put64(in, XST_OFF_XCOMP_BV, XST_XCOMP_COMPACT | 7);
	refused("XCOMP_BV", XST_ERR_FAULT);
	xst_put64(in, XST_OFF_XCOMP_BV, 1);
	refused("XCOMP_BV", XST_ERR_FAULT);
	for (i = 528; i < 576; i++) {
		in[i] = 1;
		refused("header", XST_ERR_FAULT);
	}
	xst_put32(in, XST_OFF_MXCSR, 0xffff1f80);
	refused("MXCSR", XST_ERR_FAULT);
	assert_true(xst_guest_copy_in(&g.r.cpu[0], &g.vcpu[0], in, 575, &d) < 0);
	/* Judged against what it may have at most, not against its XCR0. */
	assert_int_equal(xst_guest_set_xcr0(&g.r.cpu[0], &g.vcpu[0], 3, NULL), XST_OK);
	assert_int_equal(copy_in(0, in), XST_OK);
}

/* --- IA32_XFD --- */

/* State in memory, and what IA32_XFD disables becomes INIT: at its write, and silently when it is
 * copied in. */
static void disabled_is_init(void **state)
{
	struct xst_guest *v = &g.vcpu[0];
	unsigned twin;

	(void)state;
	for (twin = 0; twin < 2; twin++) {
		up(XST_INSN_XSAVES, SPR, CET);
		load(0);
		guest_put(&g, 0, 0, XST_COMP_SSE, 1);
		guest_put(&g, 0, 0, XST_COMP_AVX, 2);
		guest_put(&g, 0, 0, XST_COMP_TILECFG, 3);
		guest_put(&g, 0, 0, TILE, 4);
		assert_int_equal(copy_out(0, in), XST_OK);
		assert_int_equal(xst_get64(in, XST_OFF_XSTATE_BV), 0x60207);
		xst_guest_put(&g.r.cpu[0], v);
		assert_int_equal(xst_guest_set_xfd(&g.r.cpu[0], v, XST_MASK_TILEDATA, NULL),
				 XST_OK);
		assert_int_equal(xst_get64(g.area[0], XST_OFF_XSTATE_BV) & XST_MASK_AMX,
				 XST_MASK_TILECFG);
		xst_put64(in, XST_OFF_XSTATE_BV, 0x602e7);
		guest_twin = twin ? "GUEST_XFD" : NULL;
		assert_int_equal(copy_in(0, in), XST_OK);
		guest_twin = NULL;
		assert_int_equal(xst_get64(g.area[0], XST_OFF_XSTATE_BV) & XST_MASK_TILEDATA,
				 twin ? XST_MASK_TILEDATA : 0);
		load(0);
		assert_int_equal(guest_see(&g, 0, 0, XST_COMP_TILECFG), 3);
		assert_int_equal(guest_see(&g, 0, 0, TILE), 0xffff); /* #NM */
		assert_int_equal(xst_guest_set_xfd(&g.r.cpu[0], v, 0, NULL), XST_OK);
		assert_int_equal(guest_see(&g, 0, 0, TILE), twin ? 4 : 0);
		assert_int_equal(g.r.cpu[0].n.loads_failed, 0);
		assert_int_equal(g.r.hw[0].surprise, 0);
	}
}

/* The guest meets its own #NM, and its kernel reads why. */
static void device_not_available(void **state)
{
	struct xst_guest *v = &g.vcpu[0];
	struct mdl_cpu *hw = &g.r.hw[0];

	(void)state;
	up(XST_INSN_XSAVES, SPR, CET);
	load(0);
	assert_int_equal(xst_guest_device_not_available(v), XST_ERR_NOT_OURS);
	assert_int_equal(xst_guest_set_xfd(&g.r.cpu[0], v, XST_MASK_TILEDATA, NULL), XST_OK);
	assert_int_equal(guest_see(&g, 0, 0, TILE), 0xffff);
	/* The host's own handler finds nothing of it. */
	assert_int_equal(hw->xfd_err, 0);
	assert_int_equal(xst_guest_device_not_available(v), XST_ERR_DYNAMIC);
	assert_int_equal(v->xfd_err, XST_MASK_TILEDATA);
	assert_int_equal(v->n.traps, 1);
	xst_guest_enter(&g.r.cpu[0], v);
	assert_int_equal(hw->xfd_err, XST_MASK_TILEDATA);
	xst_guest_exit(&g.r.cpu[0], v);
	assert_int_equal(xst_guest_set_xfd_err(v, 0, NULL), XST_OK);
	guest_bounce(&g, 0, 0);
	assert_int_equal(v->xfd_err | hw->xfd_err, 0);
}

/* --- resets --- */

static void reset_and_init(void **state)
{
	struct xst_guest *v = &g.vcpu[0];
	const uint8_t *x87 = g.r.hw[0].regs.X87;

	(void)state;
	up(XST_INSN_XSAVES, SPR, CET);
	load(0);
	xst_guest_enter(&g.r.cpu[0], v);
	assert_int_equal(xst_get16(x87, XST_OFF_FCW), XST_FCW_RESET);
	assert_int_equal(x87[XST_OFF_FTW], 0xff); /* 5555H: all valid, all zero */
	assert_int_equal(g.r.hw[0].mxcsr, XST_MXCSR_INIT);
	xst_guest_exit(&g.r.cpu[0], v);
	guest_put(&g, 0, 0, XST_COMP_X87, 1);
	guest_put(&g, 0, 0, XST_COMP_AVX, 2);
	guest_put(&g, 0, 0, XST_COMP_CET_U, 3);
	guest_put(&g, 0, 0, XST_COMP_CET_S, 4);
	v->pkru = 0x54;
	assert_int_equal(xst_guest_set_xfd(&g.r.cpu[0], v, XST_MASK_TILEDATA, NULL), XST_OK);
	xst_guest_reset(&g.r.cpu[0], v, XST_GUEST_INIT);
	assert_int_equal(v->xcr0, SPR);
	assert_int_equal(v->xfd, XST_MASK_TILEDATA);
	assert_int_equal(v->pkru, 0x54);
	assert_int_equal(guest_see(&g, 0, 0, XST_COMP_X87), 1);
	assert_int_equal(guest_see(&g, 0, 0, XST_COMP_AVX), 2);
	assert_int_equal(guest_see(&g, 0, 0, XST_COMP_CET_U), 0);
	assert_int_equal(guest_see(&g, 0, 0, XST_COMP_CET_S), 0);
	guest_put(&g, 0, 0, XST_COMP_CET_S, 4);
	xst_guest_reset(&g.r.cpu[0], v, XST_GUEST_RESET);
	assert_int_equal(v->xcr0, 1);
	assert_int_equal(v->xss | v->xfd | v->xfd_err | v->pkru, 0);
	guest_enable(&g, 0, 0);
	assert_int_equal(guest_see(&g, 0, 0, XST_COMP_X87), 0);
	assert_int_equal(guest_see(&g, 0, 0, XST_COMP_AVX), 0);
	assert_int_equal(guest_see(&g, 0, 0, XST_COMP_CET_S), 0);
	assert_int_equal(g.r.hw[0].surprise, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(init_is_written_out),
		CASE("ABI-17", fxsave_only),
		CASE("ABI-20", its_own_layout),
		CASE("ABI-13", pkru_stays),
		CASE("MIG-13", nothing_is_cut_off),
		cmocka_unit_test(bad_input),
		CASE("SEC-13", disabled_is_init),
		cmocka_unit_test(device_not_available),
		CASE("MIG-16", reset_and_init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Tasks with every register live, on machines of every kind. */
#ifndef TESTS_UNIT_FRAMES_FILL_H
#define TESTS_UNIT_FRAMES_FILL_H

#include "frames.h"

/* Every kind of machine: the save forms, components apart, protection keys. */
static const struct {
	enum xst_insn insn;
	uint64_t xcr0, xss;
} machines[] = {
	{XST_INSN_FNSAVE, 0, 0},	   {XST_INSN_FXSAVE, 0, 0},
	{XST_INSN_XSAVE, 0x7, 0},	   {XST_INSN_XSAVEOPT, 0x207, 0},
	{XST_INSN_XSAVEC, 0x2ff, 0},	   {XST_INSN_XSAVES, 0x2e7, 0x800},
	{XST_INSN_XSAVES, 0x802e7, 0x800},
};
#define MACHINES (sizeof(machines) / sizeof(machines[0]))

static inline uint8_t byte_at(unsigned seed, uint32_t i)
{
	return (uint8_t)((i * 37 + seed * 101 + 11) | 1);
}

/* An image of @bv with a value in each byte that a register fills. */
static inline void fill(uint8_t *out, const struct xst_layout *l, uint64_t bv, unsigned seed)
{
	uint64_t rest;
	uint32_t i;

	memset(out, 0, FRAMES_BYTES);
	xst_put16(out, XST_OFF_FCW, (uint16_t)(0x37f - 0x100 * (seed & 1)));
	xst_put16(out, XST_OFF_FSW, (uint16_t)(0x800 * (seed & 7)));
	out[XST_OFF_FTW] = byte_at(seed, 4);
	xst_put16(out, XST_OFF_FOP, (uint16_t)(byte_at(seed, 6) & 0x7ff));
	xst_put32(out, XST_OFF_FIP, 0x1000 + seed);
	xst_put32(out, XST_OFF_FDP, 0x2000 + seed);
	xst_put32(out, XST_OFF_MXCSR, 0x1f80 | (seed & 0x3f));
	xst_put32(out, XST_OFF_MXCSR_MASK, 0xffff);
	for (i = XST_OFF_ST; i < XST_OFF_XMM; i++)
		out[i] = (i - XST_OFF_ST) % 16 < 10 ? byte_at(seed, i) : 0;
	for (i = XST_OFF_XMM; i < XST_OFF_RESERVED; i++)
		out[i] = byte_at(seed, i);
	for (rest = bv & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		const unsigned c = (unsigned)__builtin_ctzll(rest);

		for (i = 0; i < xst_comp_used(c, l->size[c]); i++)
			out[l->offset[c] + i] = byte_at(seed, l->offset[c] + i);
	}
	xst_put64(out, XST_OFF_XSTATE_BV, bv);
}

/* Machine @m, its task with all registers live. */
static inline void up(size_t m, unsigned seed)
{
	static uint8_t one[FRAMES_BYTES];
	struct xst_layout layout;

	assert_int_equal(frames_up(&frames, machines[m].insn, machines[m].xcr0, machines[m].xss),
			 0);
	assert_int_equal(frames.sys.insn, machines[m].insn);
	assert_int_equal(xst_uabi_layout(&frames.sys, 0, &layout, NULL), XST_OK);
	fill(one, &layout, frames.sys.insn == XST_INSN_FNSAVE ? 1 : layout.mask, seed);
	if (frames.sys.insn == XST_INSN_FNSAVE) {
		memset(one + XST_OFF_XMM, 0, XST_OFF_RESERVED - XST_OFF_XMM);
		xst_put32(one, XST_OFF_MXCSR, XST_MXCSR_INIT);
	}
	const struct xst_image image = {one, sizeof(one), &layout};

	assert_int_equal(xst_uabi_set(&frames.t, &image, XST_UABI_MXCSR_ALWAYS, NULL), XST_OK);
	assert_true(frames_loads(&frames));
}

static inline bool has_64(size_t m)
{
	return machines[m].insn != XST_INSN_FNSAVE;
}

#endif

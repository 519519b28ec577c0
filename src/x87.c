// SPDX-License-Identifier: BSD-2-Clause
/* Tag words, and FNSAVE images from and to FXSAVE images. */
#include <xst/x87.h>

#define ST_USED 10u

/* Offsets in an FNSAVE image, 32-bit protected-mode format. */
#define FN_FCW 0u
#define FN_FSW 4u
#define FN_FTW 8u
#define FN_FIP 12u
#define FN_FCS 16u /* FOP in the upper half */
#define FN_FDP 20u
#define FN_FDS 24u
#define FN_ST  28u

static unsigned top(const void *fx)
{
	return (xst_get16(fx, XST_OFF_FSW) >> 11) & 7u;
}

uint8_t xst_x87_abridge(uint16_t full)
{
	unsigned i, bits = 0;

	for (i = 0; i < 8; i++)
		if ((((unsigned)full >> (2 * i)) & 3u) != XST_TAG_EMPTY)
			bits |= 1u << i;
	return (uint8_t)bits;
}

enum xst_x87_tag xst_x87_tag(const void *st)
{
	uint64_t significand = xst_get64(st, 0);
	unsigned exponent = xst_get16(st, 8) & 0x7fffu;

	if (!exponent)
		return significand ? XST_TAG_SPECIAL : XST_TAG_ZERO;
	if (exponent == 0x7fff || !(significand >> 63))
		return XST_TAG_SPECIAL;
	return XST_TAG_VALID;
}

uint16_t xst_x87_tag_word(const void *fx)
{
	unsigned abridged = ((const uint8_t *)fx)[XST_OFF_FTW], i, full = 0;

	for (i = 0; i < 8; i++) {
		unsigned st = (i - top(fx)) & 7u;
		unsigned tag = XST_TAG_EMPTY;

		if (abridged & (1u << i))
			tag = xst_x87_tag((const char *)fx + XST_OFF_ST + 16 * st);
		full |= tag << (2 * i);
	}
	return (uint16_t)full;
}

uint8_t xst_x87_pending(const void *fx)
{
	return (uint8_t)(xst_get16(fx, XST_OFF_FSW) & 0x3fu &
			 ~(unsigned)xst_get16(fx, XST_OFF_FCW));
}

int xst_fxsave_to_fnsave(const void *fx, bool wide, const struct xst_x87_selectors *sel, void *fn)
{
	struct xst_x87_selectors own = {0, 0};
	unsigned i;

	if (!wide) {
		own.fcs = xst_get16(fx, XST_OFF_FCS);
		own.fds = xst_get16(fx, XST_OFF_FDS);
	}
	if (!sel)
		sel = &own;
	/* The upper halves read as ones, as FNSAVE stores them. */
	xst_put32(fn, FN_FCW, 0xffff0000u | xst_get16(fx, XST_OFF_FCW));
	xst_put32(fn, FN_FSW, 0xffff0000u | xst_get16(fx, XST_OFF_FSW));
	xst_put32(fn, FN_FTW, 0xffff0000u | xst_x87_tag_word(fx));
	xst_put32(fn, FN_FIP, xst_get32(fx, XST_OFF_FIP));
	xst_put32(fn, FN_FCS, (uint32_t)(xst_get16(fx, XST_OFF_FOP) & 0x7ffu) << 16 | sel->fcs);
	xst_put32(fn, FN_FDP, xst_get32(fx, XST_OFF_FDP));
	xst_put32(fn, FN_FDS, 0xffff0000u | sel->fds);
	for (i = 0; i < 8; i++)
		__builtin_memcpy((char *)fn + FN_ST + ST_USED * i,
				 (const char *)fx + XST_OFF_ST + 16 * i, ST_USED);
	if (wide && (xst_get32(fx, XST_OFF_FIP + 4) || xst_get32(fx, XST_OFF_FDP + 4)))
		return XST_ERR_LIVE;
	return XST_OK;
}

void xst_fnsave_to_fxsave(const void *fn, bool wide, void *fx)
{
	uint32_t fcs = xst_get32(fn, FN_FCS);
	uint8_t *byte = fx;
	unsigned i;

	__builtin_memset(byte, 0, XST_OFF_MXCSR);
	__builtin_memset(byte + XST_OFF_ST, 0, XST_OFF_XMM - XST_OFF_ST);
	xst_put16(fx, XST_OFF_FCW, xst_get16(fn, FN_FCW));
	xst_put16(fx, XST_OFF_FSW, xst_get16(fn, FN_FSW));
	byte[XST_OFF_FTW] = xst_x87_abridge(xst_get16(fn, FN_FTW));
	xst_put16(fx, XST_OFF_FOP, (uint16_t)((fcs >> 16) & 0x7ffu));
	xst_put32(fx, XST_OFF_FIP, xst_get32(fn, FN_FIP));
	xst_put32(fx, XST_OFF_FDP, xst_get32(fn, FN_FDP));
	if (!wide) {
		xst_put16(fx, XST_OFF_FCS, (uint16_t)fcs);
		xst_put16(fx, XST_OFF_FDS, xst_get16(fn, FN_FDS));
	}
	for (i = 0; i < 8; i++)
		__builtin_memcpy(byte + XST_OFF_ST + 16 * i,
				 (const char *)fn + FN_ST + ST_USED * i, ST_USED);
}

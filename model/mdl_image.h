/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How one component's registers and an image meet: whole bytes, or one token (MDL_TOKENS).
 * Shared by the model's own files only.
 */
#ifndef MDL_IMAGE_H
#define MDL_IMAGE_H

#include <string.h>

#include "mdl.h"

#ifndef MDL_TOKENS
void mdl_set_top(uint8_t *x87, uint32_t top);
#endif

static inline uint64_t mdl_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void mdl_put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline uint32_t mdl_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void mdl_put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline uint32_t mdl_get16(const uint8_t *p)
{
	return (uint32_t)(p[0] | p[1] << 8);
}

static inline void mdl_put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

/* Where component @i lies in an image whose XCOMP_BV is @xcomp_bv (0: standard). */
static inline uint32_t mdl_offset(struct mdl_cpu *c, unsigned i, uint64_t xcomp_bv)
{
	const uint64_t mask = xcomp_bv & ~XST_XCOMP_COMPACT;

	if (i == XST_COMP_X87)
		return 0;
	if (i == XST_COMP_SSE)
		return 160;
	if (!xcomp_bv)
		return c->caps->comp[i].offset;
	if (c->layout.mask != mask || !c->layout.bytes)
		(void)xst_layout_compute(c->caps, mask, XST_COMPACTED, &c->layout, NULL);
	return c->layout.offset[i];
}

static inline void mdl_count(struct mdl_cpu *c, uint32_t read, uint32_t written)
{
#ifdef MDL_TOKENS
	(void)c;
	(void)read;
	(void)written;
#else
	c->read_bytes += read;
	c->written_bytes += written;
#endif
}

#ifdef MDL_TOKENS

#define MDL_X87_TOKEN 32u /* the first byte of ST0 */

static inline void mdl_x87_out(struct mdl_cpu *c, uint8_t *area)
{
	area[MDL_X87_TOKEN] = c->regs.X87[0];
}

static inline void mdl_x87_in(struct mdl_cpu *c, const uint8_t *area)
{
	c->regs.X87[0] = area[MDL_X87_TOKEN];
}

#else

/* Is an unmasked x87 exception pending? As hardware recomputes ES: FSW & ~FCW & 3FH. */
static inline bool mdl_pending(const uint8_t *image)
{
	return mdl_get16(image + 2) & ~mdl_get16(image) & 0x3fu;
}

/* FOP, FIP and FDP: bytes 6 to 23. */
static inline void mdl_x87_out(struct mdl_cpu *c, uint8_t *area)
{
	const uint8_t *r = c->regs.X87;
	const bool pointers = c->fip == MDL_FIP_ALWAYS || mdl_pending(r);

	memcpy(area, r, 6);
	mdl_count(c, 0, 6 + 128 + (pointers || c->fip == MDL_FIP_ZERO ? 18 : 0));
	if (pointers)
		memcpy(area + 6, r + 6, 18);
	else if (c->fip == MDL_FIP_ZERO)
		memset(area + 6, 0, 18);
	memcpy(area + 32, r + 32, 128);
}

/* Values as the registers keep them: FCW's bit 6 reads 1 and its reserved bits 0, ES and B follow
 * from the flags and masks, FOP has 11 bits, a register 80.
 * Ref: SDM vol. 1, "x87 FPU Control Word"; "x87 FPU Status Register" */
static inline void mdl_x87_in(struct mdl_cpu *c, const uint8_t *area)
{
	uint8_t *r = c->regs.X87;
	uint32_t fcw = (mdl_get16(area) & 0x1f7fu) | 0x40u, fsw = mdl_get16(area + 2) & 0x7f7fu, i;

	mdl_count(c, 24 + 128, 0);
	mdl_put16(r, fcw);
	if (fsw & ~fcw & 0x3fu)
		fsw |= 0x8080u;
	mdl_put16(r + 2, fsw);
	r[4] = area[4];
	r[5] = 0;
	if (c->fip != MDL_FIP_LEAK || mdl_pending(r)) {
		mdl_put16(r + 6, mdl_get16(area + 6) & 0x7ffu);
		memcpy(r + 8, area + 8, 16);
	}
	for (i = 0; i < 8; i++) {
		memcpy(r + 32 + 16 * i, area + 32 + 16 * i, 10);
		memset(r + 42 + 16 * i, 0, 6);
	}
}

#endif

static inline void mdl_out(struct mdl_cpu *c, unsigned i, uint8_t *area, uint32_t offset)
{
	if (i == XST_COMP_X87) {
		mdl_x87_out(c, area);
		return;
	}
	memcpy(area + offset, mdl_reg(c, i), mdl_reg_bytes(c, i));
	mdl_count(c, 0, mdl_reg_bytes(c, i));
}

static inline void mdl_in(struct mdl_cpu *c, unsigned i, const uint8_t *area, uint32_t offset)
{
	if (i == XST_COMP_X87) {
		mdl_x87_in(c, area);
		return;
	}
	memcpy(mdl_reg(c, i), area + offset, mdl_reg_bytes(c, i));
	mdl_count(c, mdl_reg_bytes(c, i), 0);
}

#endif

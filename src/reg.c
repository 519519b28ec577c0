// SPDX-License-Identifier: BSD-2-Clause
/* Registers by name: one table of families, and reading and writing through it. */
#include <xst/reg.h>

/* A family "name" + number, or a single register when first == last. */
struct family {
	char name[12];
	uint8_t first, last;
	uint8_t component;
	uint16_t offset, stride, bytes;
	bool more; /* the next row is a further piece of the same register */
};

#define SINGLE(name, component, offset, bytes) {name, 0, 0, component, offset, 0, bytes, false}

static const struct family families[] = {
	{"st", 0, 7, XST_COMP_X87, XST_OFF_ST, 16, 10, false},
	SINGLE("fcw", XST_COMP_X87, XST_OFF_FCW, 2),
	SINGLE("fsw", XST_COMP_X87, XST_OFF_FSW, 2),
	SINGLE("ftw", XST_COMP_X87, XST_OFF_FTW, 1),
	SINGLE("fop", XST_COMP_X87, XST_OFF_FOP, 2),
	SINGLE("fip", XST_COMP_X87, XST_OFF_FIP, 8),
	SINGLE("fdp", XST_COMP_X87, XST_OFF_FDP, 8),
	SINGLE("fcs", XST_COMP_X87, XST_OFF_FCS, 2),
	SINGLE("fds", XST_COMP_X87, XST_OFF_FDS, 2),
	SINGLE("mxcsr", XST_COMP_SSE, XST_OFF_MXCSR, 4),
	SINGLE("mxcsr_mask", XST_COMP_SSE, XST_OFF_MXCSR_MASK, 4),
	{"xmm", 0, 15, XST_COMP_SSE, XST_OFF_XMM, 16, 16, false},
	{"xmm", 16, 31, XST_COMP_HI16_ZMM, 0, 64, 16, false},
	{"ymm", 0, 15, XST_COMP_SSE, XST_OFF_XMM, 16, 16, true},
	{"", 0, 15, XST_COMP_AVX, 0, 16, 16, false},
	{"ymm", 16, 31, XST_COMP_HI16_ZMM, 0, 64, 32, false},
	{"zmm", 0, 15, XST_COMP_SSE, XST_OFF_XMM, 16, 16, true},
	{"", 0, 15, XST_COMP_AVX, 0, 16, 16, true},
	{"", 0, 15, XST_COMP_ZMM_HI256, 0, 32, 32, false},
	{"zmm", 16, 31, XST_COMP_HI16_ZMM, 0, 64, 64, false},
	{"k", 0, 7, XST_COMP_OPMASK, 0, 8, 8, false},
	{"bnd", 0, 3, XST_COMP_BNDREGS, 0, 16, 16, false},
	SINGLE("bndcfgu", XST_COMP_BNDCSR, 0, 8),
	SINGLE("bndstatus", XST_COMP_BNDCSR, 8, 8),
	SINGLE("pkru", XST_COMP_PKRU, 0, 4),
	{"r", 16, 31, XST_COMP_APX, 0, 8, 8, false},
	SINGLE("tilecfg", XST_COMP_TILECFG, 0, 64),
	{"tmm", 0, 7, XST_COMP_TILEDATA, 0, 1024, 1024, false},
	SINGLE("u_cet", XST_COMP_CET_U, 0, 8),
	SINGLE("pl3_ssp", XST_COMP_CET_U, 8, 8),
	SINGLE("pl0_ssp", XST_COMP_CET_S, 0, 8),
	SINGLE("pl1_ssp", XST_COMP_CET_S, 8, 8),
	SINGLE("pl2_ssp", XST_COMP_CET_S, 16, 8),
};

#define FAMILIES (sizeof(families) / sizeof(families[0]))

/* Does @name name a register of @f? Its number goes to @number. */
static bool matches(const struct family *f, const char *name, unsigned *number)
{
	unsigned n = 0, digits = 0;
	size_t i = 0;

	if (!f->name[0])
		return false;
	for (; f->name[i]; i++)
		if (name[i] != f->name[i])
			return false;
	*number = 0;
	if (f->first == f->last)
		return !name[i];
	for (; name[i] >= '0' && name[i] <= '9' && digits < 2; i++, digits++)
		n = n * 10 + (unsigned)(name[i] - '0');
	*number = n;
	return digits && !name[i] && n >= f->first && n <= f->last && (digits == 1 || n >= 10);
}

int xst_reg_find(const char *name, struct xst_reg_place *reg)
{
	unsigned number = 0;
	size_t i;

	for (i = 0; i < FAMILIES; i++)
		if (matches(&families[i], name, &number))
			break;
	if (i == FAMILIES)
		return XST_ERR_INVALID;
	reg->bytes = 0;
	reg->pieces = 0;
	for (;; i++) {
		const struct family *f = &families[i];

		reg->piece[reg->pieces].component = f->component;
		reg->piece[reg->pieces].offset =
			(uint16_t)(f->offset + (number - f->first) * f->stride);
		reg->piece[reg->pieces].bytes = f->bytes;
		reg->bytes += f->bytes;
		reg->pieces++;
		if (!f->more)
			return XST_OK;
	}
}

/* Where piece @p begins in @image. */
static size_t place(const struct xst_image *image, const struct xst_reg_place *reg, unsigned p)
{
	unsigned id = reg->piece[p].component;

	return reg->piece[p].offset + (id < 2 ? 0 : (size_t)image->layout->offset[id]);
}

static int check(const struct xst_image *image, const struct xst_reg_place *reg)
{
	unsigned p;

	if (image->bytes < XST_EXT_OFFSET)
		return XST_ERR_NEED_BYTES;
	for (p = 0; p < reg->pieces; p++) {
		unsigned id = reg->piece[p].component;

		if (!(image->layout->mask & XST_MASK(id)))
			return XST_ERR_NOT_ENUMERATED;
		if (id >= 2 && (uint32_t)reg->piece[p].offset + reg->piece[p].bytes >
				       image->layout->size[id])
			return XST_ERR_NOT_ENUMERATED;
		/* INIT components need no memory. */
		if ((xst_get64(image->area, XST_OFF_XSTATE_BV) & XST_MASK(id)) &&
		    place(image, reg, p) + reg->piece[p].bytes > image->bytes)
			return XST_ERR_NEED_BYTES;
	}
	return XST_OK;
}

/* MXCSR does not follow XSTATE_BV[1] in the standard format. */
static bool stored(const struct xst_image *image, const struct xst_reg_place *reg, unsigned p)
{
	uint64_t bv = xst_get64(image->area, XST_OFF_XSTATE_BV);

	if (reg->piece[p].component == XST_COMP_SSE && reg->piece[p].offset < XST_OFF_XMM &&
	    image->layout->format == XST_STANDARD)
		return true;
	return (bv & XST_MASK(reg->piece[p].component)) != 0;
}

static void initial(const struct xst_reg_place *reg, unsigned p, void *value)
{
	__builtin_memset(value, 0, reg->piece[p].bytes);
	if (reg->piece[p].component == XST_COMP_X87 && reg->piece[p].offset == XST_OFF_FCW)
		xst_put16(value, 0, XST_FCW_INIT);
	if (reg->piece[p].component == XST_COMP_SSE && reg->piece[p].offset == XST_OFF_MXCSR)
		xst_put32(value, 0, XST_MXCSR_INIT);
}

int xst_image_get(const struct xst_image *image, const char *name, void *value, size_t *bytes)
{
	struct xst_reg_place reg;
	char *out = value;
	unsigned p;
	int err = xst_reg_find(name, &reg);

	if (!err)
		err = check(image, &reg);
	if (err)
		return err;
	if (*bytes < reg.bytes)
		return XST_ERR_NEED_BYTES;
	*bytes = reg.bytes;
	for (p = 0; p < reg.pieces; out += reg.piece[p].bytes, p++) {
		if (stored(image, &reg, p))
			__builtin_memcpy(out, (const char *)image->area + place(image, &reg, p),
					 reg.piece[p].bytes);
		else
			initial(&reg, p, out);
	}
	return XST_OK;
}

/* Give an INIT component its initial values in memory, so that one register can be set. */
static void materialise(const struct xst_image *image, unsigned id)
{
	char *area = image->area;

	switch (id) {
	case XST_COMP_X87:
		__builtin_memset(area, 0, XST_OFF_MXCSR);
		__builtin_memset(area + XST_OFF_ST, 0, XST_OFF_XMM - XST_OFF_ST);
		xst_put16(area, XST_OFF_FCW, XST_FCW_INIT);
		return;
	case XST_COMP_SSE:
		__builtin_memset(area + XST_OFF_XMM, 0, XST_OFF_RESERVED - XST_OFF_XMM);
		if (image->layout->format == XST_COMPACTED)
			xst_put32(area, XST_OFF_MXCSR, XST_MXCSR_INIT);
		return;
	default:
		__builtin_memset(area + image->layout->offset[id], 0, image->layout->size[id]);
	}
}

int xst_image_set(const struct xst_image *image, const char *name, const void *value,
		  size_t bytes)
{
	struct xst_reg_place reg;
	const char *in = value;
	uint64_t bv;
	unsigned p;
	int err = xst_reg_find(name, &reg);

	if (!err && bytes != reg.bytes)
		err = XST_ERR_INVALID;
	if (!err)
		err = check(image, &reg);
	if (!err && image->bytes < image->layout->bytes)
		err = XST_ERR_NEED_BYTES;
	if (err)
		return err;
	bv = xst_get64(image->area, XST_OFF_XSTATE_BV);
	for (p = 0; p < reg.pieces; in += reg.piece[p].bytes, p++) {
		unsigned id = reg.piece[p].component;

		if (!(bv & XST_MASK(id)))
			materialise(image, id);
		bv |= XST_MASK(id);
		__builtin_memcpy((char *)image->area + place(image, &reg, p), in,
				 reg.piece[p].bytes);
	}
	xst_put64(image->area, XST_OFF_XSTATE_BV, bv);
	return XST_OK;
}

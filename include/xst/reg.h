/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers of an image by name: a register is up to three pieces of components.
 *
 * ZMM3 is XMM3 of SSE, then the upper half of YMM3 of AVX, then the upper half of ZMM3 of
 * ZMM_Hi256; ZMM19 is one piece of Hi16_ZMM. Names are those of debuggers, in lower case:
 *
 *	st0-7 fcw fsw ftw fop fip fdp fcs fds	mxcsr mxcsr_mask xmm0-31 ymm0-31 zmm0-31 k0-7
 *	bnd0-3 bndcfgu bndstatus		pkru r16-31 tilecfg tmm0-7 u_cet pl3_ssp pl0_ssp
 *	pl1_ssp pl2_ssp
 *
 * Ref: SDM vol. 1, "State Components": the layout of each
 */
#ifndef XST_REG_H
#define XST_REG_H

#include <xst/image.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XST_REG_MAX_BYTES 1024u /* a tile */

struct xst_reg_place {
	uint32_t bytes;
	uint32_t pieces;
	struct {
		uint8_t component;
		uint16_t offset; /* in the component; x87 and SSE: in the legacy region */
		uint16_t bytes;
	} piece[3];
};

/**
 * xst_reg_find() - where a register of this name lies.
 * @name: lower case, NUL-terminated.
 * @reg:  out.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_INVALID for a name of no register.
 */
int xst_reg_find(const char *name, struct xst_reg_place *reg);

/**
 * xst_image_get() - read a register.
 * @image: the image; its header must fit its layout.
 * @name:  register.
 * @value: out, little-endian.
 * @bytes: in: room at @value; out: size of the register.
 *
 * A piece in a component that is INIT reads as its initial value, whatever the bytes say.
 *
 * Context: any ring; pure; never faults on valid memory.
 * Return:  XST_OK; XST_ERR_INVALID for no such register; XST_ERR_NOT_ENUMERATED when the layout
 *          lacks a component of it; XST_ERR_NEED_BYTES when @bytes or the image is too small.
 */
int xst_image_get(const struct xst_image *image, const char *name, void *value, size_t *bytes);

/**
 * xst_image_set() - write a register; its components become live.
 * @image: the image.
 * @name:  register.
 * @value: little-endian.
 * @bytes: of @value; must be the size of the register.
 *
 * The other registers of a component that was INIT get their initial values.
 *
 * Context: any ring; never faults on valid memory.
 * Return:  as xst_image_get(), and XST_ERR_INVALID for a wrong size; on error nothing was written.
 */
int xst_image_set(const struct xst_image *image, const char *name, const void *value,
		  size_t bytes);

#ifdef __cplusplus
}
#endif
#endif

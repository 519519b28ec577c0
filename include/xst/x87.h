/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The x87 state in its three shapes: FNSAVE, FXSAVE and the legacy region of an XSAVE area.
 *
 * FNSAVE keeps a tag word, two bits per physical register; FXSAVE keeps one bit per physical
 * register, "not empty". Both store the registers themselves in stack order, from TOP on.
 *
 *	tag  00 valid  01 zero  10 special (NaN, infinity, denormal, unsupported)  11 empty
 *
 * The 64-bit form of FXSAVE holds 64-bit FIP and FDP and no selectors; the 32-bit form and FNSAVE
 * hold 32-bit offsets with FCS and FDS.
 *
 * Ref: SDM vol. 1, "x87 FPU Tag Word", "Saving the x87 FPU's State with FSTENV/FNSTENV and
 *      FSAVE/FNSAVE"
 * Ref: SDM vol. 2, "FXSAVE"
 */
#ifndef XST_X87_H
#define XST_X87_H

#include <xst/image.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XST_FNSAVE_BYTES 108u /* the 32-bit protected-mode format */

enum xst_x87_tag { XST_TAG_VALID, XST_TAG_ZERO, XST_TAG_SPECIAL, XST_TAG_EMPTY };

/**
 * xst_x87_abridge() - the abridged tag byte of a full tag word.
 *
 * Context: any ring; pure; never faults.
 */
uint8_t xst_x87_abridge(uint16_t full);

/**
 * xst_x87_tag() - the tag of one register by its contents.
 * @st: its 10 bytes.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_TAG_VALID, _ZERO or _SPECIAL.
 */
enum xst_x87_tag xst_x87_tag(const void *st);

/**
 * xst_x87_tag_word() - the full tag word of an FXSAVE image.
 * @fx: at least 160 bytes: FSW tells which ST is which physical register.
 *
 * Context: any ring; pure; never faults.
 */
uint16_t xst_x87_tag_word(const void *fx);

/**
 * xst_x87_pending() - unmasked exceptions that are pending in an FXSAVE image.
 *
 * By FSW and FCW as the hardware does; the stored ES bit says nothing. 0 on CPUs with the FIP leak
 * means that FOP, FIP and FDP are neither saved nor loaded.
 *
 * Context: any ring; pure; never faults.
 */
uint8_t xst_x87_pending(const void *fx);

/* Selectors, for images that have none or are to get some. */
struct xst_x87_selectors {
	uint16_t fcs, fds;
};

/**
 * xst_fxsave_to_fnsave() - write the FNSAVE image of an FXSAVE image.
 * @fx:   at least 160 bytes.
 * @wide: @fx has the 64-bit form: no selectors in it.
 * @sel:  optional: the selectors to write; NULL: those of @fx (0 when @wide).
 * @fn:   out, XST_FNSAVE_BYTES; every byte is written.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_LIVE when @wide and FIP or FDP does not fit 32 bits: the rest was
 *          written, with the low halves.
 */
int xst_fxsave_to_fnsave(const void *fx, bool wide, const struct xst_x87_selectors *sel, void *fn);

/**
 * xst_fnsave_to_fxsave() - put an FNSAVE image into the x87 part of an FXSAVE image.
 * @fn:   XST_FNSAVE_BYTES.
 * @wide: write the 64-bit form, which has no room for selectors.
 * @fx:   in/out, at least 160 bytes: x87 is overwritten, MXCSR and all else stays.
 *
 * Context: any ring; pure; never faults.
 */
void xst_fnsave_to_fxsave(const void *fn, bool wide, void *fx);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The floating-point part of a Linux signal frame: an FXSAVE image, and behind it, if two magic
 * numbers and three sizes agree, the rest of a standard-format XSAVE image.
 *
 *	64-bit		32-bit			what
 *	-		0-111			FNSAVE image, status word, magic
 *	0		112			FXSAVE image
 *	464		576			magic1, extended_size, xfeatures, xstate_size
 *	512		624			XSAVE header and extended region
 *	xstate_size	112 + xstate_size	magic2
 *
 * A frame that fails the checks is not an error: the kernel restores its FXSAVE part and sets the
 * rest to initial values, so an old program that copied only 512 bytes keeps working.
 *
 * Ref: Linux, check_xstate_in_sigframe(); arch/x86/include/uapi/asm/sigcontext.h
 */
#ifndef XST_SIGFRAME_H
#define XST_SIGFRAME_H

#include <xst/image.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XST_FRAME_MAGIC1       0x46505853u
#define XST_FRAME_MAGIC2       0x46505845u
#define XST_FRAME_MAGIC2_BYTES 4u
#define XST_FRAME_LEGACY_BYTES 112u /* before the FXSAVE image in a 32-bit frame */

enum xst_frame_kind { XST_FRAME_64, XST_FRAME_32 };

struct xst_frame {
	uint32_t fx_offset;     /* of the FXSAVE or XSAVE image */
	bool extended;          /* the kernel would use the whole XSAVE image */
	uint64_t xfeatures;     /* what the frame claims */
	uint32_t xstate_size;   /* of the XSAVE image, without magic2 */
	uint32_t extended_size; /* of everything, by the frame's own word */
	const char *why;        /* why only the FXSAVE part counts; NULL when extended */
};

/**
 * xst_sigframe_read() - what the kernel would take from a frame.
 * @data:       the frame's floating-point part.
 * @bytes:      readable at @data.
 * @kind:       of the process.
 * @user_bytes: largest XSAVE image the kernel would accept; 0: do not judge.
 * @frame:      out.
 * @diag:       out, optional: for a frame that is not extended the rule, byte, want and got.
 *
 * Context: any ring; pure; never faults on valid memory.
 * Return:  XST_OK also when only the FXSAVE part counts; XST_ERR_NEED_BYTES when there is not even
 *          that.
 */
int xst_sigframe_read(const void *data, size_t bytes, enum xst_frame_kind kind,
		      uint32_t user_bytes, struct xst_frame *frame, struct xst_diag *diag);

#ifdef __cplusplus
}
#endif
#endif

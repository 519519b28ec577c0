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
 * A frame that fails these checks is not an error: the kernel restores its FXSAVE part and sets the
 * rest to initial values, so an old program that copied only 512 bytes keeps working. A frame that
 * passes them may still be refused for what it holds; a program that was refused has no state to go
 * on with, and Linux ends it (SIGSEGV) after giving it fresh state.
 *
 * extended_size must have room for the second magic number; Linux up to 6.18 at least did not ask
 * for that, and its own frames have it.
 *
 * Machines without XSAVE have frames of 512 bytes, those without FXSAVE of 112.
 *
 * Ref: Linux, check_xstate_in_sigframe(); arch/x86/include/uapi/asm/sigcontext.h
 */
#ifndef XST_SIGFRAME_H
#define XST_SIGFRAME_H

#include <xst/uabi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XST_FRAME_MAGIC1       0x46505853u
#define XST_FRAME_MAGIC2       0x46505845u
#define XST_FRAME_MAGIC2_BYTES 4u
#define XST_FRAME_LEGACY_BYTES 112u /* before the FXSAVE image in a 32-bit frame */

/* Scratch never needs less, also where frames are smaller. */
#define XST_FRAME_SCRATCH_MIN (XST_FRAME_LEGACY_BYTES + XST_EXT_OFFSET)

/* The magic in the last two bytes of the FNSAVE part: is there an FXSAVE image behind it? */
#define XST_FRAME_LEGACY_FXSR 0x0000u
#define XST_FRAME_LEGACY_ONLY 0xffffu

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

/**
 * xst_sigframe_bytes() - the size of the floating-point part of a task's frames.
 * @sys:  the machine.
 * @mask: components; 0: all that XCR0 enables but what is dynamic. With permission for a dynamic
 *        one (AMX) all that the process may use, struct xst_perm's host: its frames are that large
 *        from then on, whether it uses it or not.
 * @kind: of the process.
 * @diag: out, optional.
 *
 * That, and XST_FRAME_SCRATCH_MIN, is also what @scratch of struct xst_uabi must hold for the two
 * functions below.
 *
 * Context: any ring; pure; never faults.
 * Return:  the bytes; XST_ERR_UNSUPPORTED for a 64-bit process on a machine without FXSAVE; errors
 *          of xst_uabi_layout().
 */
int xst_sigframe_bytes(const struct xst_system *sys, uint64_t mask, enum xst_frame_kind kind,
		       struct xst_diag *diag);

/**
 * xst_sigframe_place() - where that part goes below a stack pointer.
 * @sp:    the lowest address in use, the red zone taken off.
 * @bytes: of xst_sigframe_bytes().
 * @kind:  of the process.
 *
 * The FXSAVE image in it is then 64-byte aligned.
 *
 * Context: any ring; pure; never faults.
 */
static inline uintptr_t xst_sigframe_place(uintptr_t sp, uint32_t bytes, enum xst_frame_kind kind)
{
	const uint32_t fx = kind == XST_FRAME_32 ? XST_FRAME_LEGACY_BYTES : 0;

	return ((sp - (bytes - fx)) & ~(uintptr_t)(XST_AREA_ALIGN - 1)) - fx;
}

/**
 * xst_sigframe_stack_bytes() - the least room on a stack for a whole frame: AT_MINSIGSTKSZ.
 * @bytes: of xst_sigframe_bytes(), of the largest kind and mask that the process may come to.
 * @rest:  of the frame's other parts: return address, siginfo, ucontext.
 *
 * Context: any ring; pure; never faults.
 * Ref:     Linux, init_sigframe_size()
 */
static inline uint32_t xst_sigframe_stack_bytes(uint32_t bytes, uint32_t rest)
{
	const uint32_t align = 16;

	return (rest + align - 1 + bytes + XST_AREA_ALIGN - 1 + align - 1) & ~(align - 1);
}

/**
 * xst_sigframe_write() - write a task's state to its frame.
 * @t:    the task; its area is current. Scratch: see xst_sigframe_bytes().
 * @kind: of the process.
 * @to:   the task's memory, at xst_sigframe_place(); written by XST_COPY_TO_USER() only.
 * @diag: out, optional.
 *
 * Every byte is written, those that no register fills as 0, but for TILEDATA that is INIT: its 8
 * KiB keep what the task's memory held, and XSTATE_BV says so. x87 and SSE are in XSTATE_BV always,
 * for handlers that change them and know nothing of it.
 *
 * Context: any ring in which XST_COPY_TO_USER() may fault.
 * Return:  XST_OK; XST_ERR_FAULT when the memory cannot be written: the task is unchanged, what is
 *          in its memory undefined; XST_ERR_NEED_BYTES (scratch); errors of xst_uabi_get() and
 *          xst_sigframe_bytes().
 */
int xst_sigframe_write(const struct xst_uabi *t, enum xst_frame_kind kind, void *to,
		       struct xst_diag *diag);

/**
 * xst_sigframe_restore() - take a frame back: sigreturn.
 * @t:     the task; its area is current. Scratch: see xst_sigframe_bytes().
 * @kind:  of the process.
 * @from:  the task's memory; read once, by XST_COPY_FROM_USER() only. NULL: no floating-point part,
 *         the task gets fresh state.
 * @frame: out, optional: what was found; undefined on error.
 * @diag:  out, optional.
 *
 * Extended: components of xfeatures that XSTATE_BV names are taken, all others become INIT; MXCSR
 * counts when xfeatures has SSE, and is judged with AVX too. FXSAVE only: x87, SSE and MXCSR are
 * taken. In a 32-bit frame x87 comes from the FNSAVE part. PKRU is the frame's, and what XRSTOR
 * makes of it, 0, when it has none.
 *
 * A refused frame changes nothing at all. The kernel then ends the task, or gives it fresh state by
 * xst_ctx_exec() and a signal that it cannot ignore, as Linux does. It is stricter than Linux in
 * one thing: 64-bit frames go through the same rules as ptrace, while Linux gives them to XRSTOR,
 * which takes compacted images and does not look at header bytes 24-63.
 *
 * Context: any ring in which XST_COPY_FROM_USER() may fault.
 * Return:  XST_OK; XST_ERR_FAULT when the memory cannot be read, the state would fault, or
 *          xstate_size ends before a live component; XST_ERR_NEED_BYTES (scratch); errors of
 *          xst_uabi_set() and xst_sigframe_bytes().
 */
int xst_sigframe_restore(const struct xst_uabi *t, enum xst_frame_kind kind, const void *from,
			 struct xst_frame *frame, struct xst_diag *diag);

#ifdef __cplusplus
}
#endif
#endif

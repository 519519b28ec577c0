/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Register sets as Linux hands them out: ptrace and core notes, and whose layout they are in.
 *
 * NT_X86_XSTATE is a standard-format image with XCR0 in bytes 464-471, but nothing in it says where
 * the components lie. Newer kernels add NT_X86_XSAVE_LAYOUT; for older ones the size and XCR0 leave
 * a few candidates, often one. The CPU that reads must never be asked: it may be another one.
 *
 * The sets of a live task (ptrace) are read and written here too:
 *
 *	I387	108 bytes, the FNSAVE image of a 32-bit process
 *	FPX	512 bytes, FXSAVE
 *	XSTATE	the whole standard-format image of all user components
 *
 * Ref: Linux, Documentation/arch/x86/xstate.rst; include/uapi/linux/elf.h
 */
#ifndef XST_REGSET_H
#define XST_REGSET_H

#include <xst/uabi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XST_NT_FPREGSET         2u          /* "CORE": FXSAVE, or FNSAVE of a 32-bit process */
#define XST_NT_PRXFPREG         0x46e62b7fu /* "LINUX": FXSAVE of a 32-bit process */
#define XST_NT_X86_XSTATE       0x202u      /* "LINUX" */
#define XST_NT_X86_SHSTK        0x204u      /* "LINUX": the shadow stack pointer, 8 bytes */
#define XST_NT_X86_XSAVE_LAYOUT 0x205u      /* "LINUX": records of 16 bytes */

#define XST_LAYOUT_RECORD_BYTES 16u /* type, size, offset, flags: 32 bits each */

/**
 * xst_regset_xcr0() - the mask that an NT_X86_XSTATE register set was made with.
 * @area:  the set.
 * @bytes: of it.
 *
 * Context: any ring; pure; never faults.
 * Return:  the mask in bytes 464-471; 0 when the set is too short or has none.
 */
uint64_t xst_regset_xcr0(const void *area, size_t bytes);

/**
 * xst_regset_layout_note() - the layout that an NT_X86_XSAVE_LAYOUT note gives.
 * @note:   its contents.
 * @bytes:  of them.
 * @xcr0:   components of the set; those without a record are left out, but for x87 and SSE.
 * @layout: out; standard format.
 * @diag:   out, optional.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_INVALID when a record makes no sense; XST_ERR_OVERLAP.
 */
int xst_regset_layout_note(const void *note, size_t bytes, uint64_t xcr0,
			   struct xst_layout *layout, struct xst_diag *diag);

/**
 * xst_regset_candidate() - the layouts an image of unknown origin may have, one by one.
 * @xcr0:   components it was made with.
 * @bytes:  its size: the furthest end of all of them; 0 when the size says nothing.
 * @nth:    0 for the first, 1 for the next.
 * @layout: out; standard format.
 *
 * Layouts that put every component of @xcr0 at the same place are one candidate. Those whose size
 * is exactly @bytes come alone; when there are none, all that fit within it.
 *
 * Context: any ring; pure; never faults.
 * Return:  the family's name; NULL when there is no @nth candidate.
 */
const char *xst_regset_candidate(uint64_t xcr0, size_t bytes, unsigned nth,
				 struct xst_layout *layout);

/**
 * xst_regset_compacted() - the same for a compacted image.
 * @mask:   XCOMP_BV without bit 63.
 * @nth:    0 for the first, 1 for the next.
 * @layout: out; compacted format.
 *
 * Only sizes and alignments matter, so there is nearly always one candidate: Zen 2 alone has a PKRU
 * of 64 bytes, which shows when something lies behind it.
 *
 * Context: any ring; pure; never faults.
 * Return:  the family's name; NULL when there is no @nth candidate.
 */
const char *xst_regset_compacted(uint64_t mask, unsigned nth, struct xst_layout *layout);

enum xst_regset { XST_REGSET_I387, XST_REGSET_FPX, XST_REGSET_XSTATE };

/**
 * xst_regset_bytes() - the size of a set.
 * @sys:  the machine.
 * @mask: components of XSTATE; 0: all that XCR0 enables but what is dynamic. (Linux: all.)
 * @set:  which.
 * @diag: out, optional.
 *
 * Context: any ring; pure; never faults.
 * Return:  the bytes; XST_ERR_UNSUPPORTED when the machine has no such set (FPX without FXSAVE,
 *          XSTATE without XSAVE); errors of xst_uabi_layout().
 */
int xst_regset_bytes(const struct xst_system *sys, uint64_t mask, enum xst_regset set,
		     struct xst_diag *diag);

/**
 * xst_regset_get() - read a part of a task's set, or all of it.
 * @t:      the task; its area is current. Scratch: xst_uabi_bytes().
 * @set:    which.
 * @offset: of the first byte wanted.
 * @buffer: out; kernel memory.
 * @count:  bytes wanted.
 * @diag:   out, optional.
 *
 * Nothing leaves that no register fills: padding is 0. XSTATE has the mask that it was made with in
 * bytes 464-471.
 *
 * Context: any ring; never faults on valid memory.
 * Return:  the bytes written to @buffer: fewer than @count at the end of the set, 0 behind it;
 *          errors of xst_regset_bytes() and xst_uabi_get(); XST_ERR_NEED_BYTES (scratch).
 */
int xst_regset_get(const struct xst_uabi *t, enum xst_regset set, size_t offset, void *buffer,
		   size_t count, struct xst_diag *diag);

/**
 * xst_regset_set() - write a part of a task's set, or all of it.
 * @t:      the task; its area is current. Scratch: xst_uabi_bytes().
 * @set:    which.
 * @offset: of the first byte.
 * @buffer: kernel memory that nobody else can change meanwhile; not within scratch.
 * @count:  bytes.
 * @diag:   out, optional.
 *
 * I387 and FPX: what is not written stays, and the set that results is judged. (Linux since 5.15
 * refuses all but whole sets; older ones took parts.) XSTATE: from the first byte to the last,
 * since a part could not say which components it means. x87 (FPX: and SSE) is live afterwards.
 *
 * PKRU is what XSTATE says, 0 when XSTATE_BV[9] is 0; the other two sets leave it alone.
 *
 * Context: any ring; never faults on valid memory.
 * Return:  XST_OK; XST_ERR_INVALID for bytes outside the set, or a part of XSTATE; XST_ERR_FAULT
 *          for what xst_uabi_set() refuses, and for reserved MXCSR bits of FPX; errors of
 *          xst_regset_get(). On error nothing was changed.
 */
int xst_regset_set(const struct xst_uabi *t, enum xst_regset set, size_t offset, const void *buffer,
		   size_t count, struct xst_diag *diag);

/**
 * xst_regset_put_layout() - write the contents of an NT_X86_XSAVE_LAYOUT note.
 * @caps:  the CPU.
 * @mask:  user components of the XSTATE sets beside it; x87 and SSE need no record.
 * @note:  out.
 * @bytes: room at @note; XST_LAYOUT_RECORD_BYTES for each component are enough.
 * @diag:  out, optional.
 *
 * Context: any ring; pure; never faults on valid memory.
 * Return:  the bytes written; XST_ERR_NEED_BYTES; errors of xst_layout_compute(). On error nothing
 *          was written.
 */
int xst_regset_put_layout(const struct xst_caps *caps, uint64_t mask, void *note, size_t bytes,
			  struct xst_diag *diag);

/**
 * xst_regset_put_note() - write one whole note of a core file: header, owner, contents.
 * @type:     XST_NT_*, or another of Linux; the owner, CORE or LINUX, follows from it.
 * @contents: of the note.
 * @size:     of them.
 * @note:     out; every byte up to a multiple of 4 is written.
 * @bytes:    room at @note.
 * @diag:     out, optional.
 *
 * Context: any ring; pure; never faults on valid memory.
 * Return:  the bytes written; XST_ERR_NEED_BYTES, nothing written.
 * Ref:     elf(5), "Notes"
 */
int xst_regset_put_note(uint32_t type, const void *contents, size_t size, void *note, size_t bytes,
			struct xst_diag *diag);

#ifdef __cplusplus
}
#endif
#endif

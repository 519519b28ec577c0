/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Register sets as Linux hands them out: ptrace and core notes, and whose layout they are in.
 *
 * NT_X86_XSTATE is a standard-format image with XCR0 in bytes 464-471, but nothing in it says where
 * the components lie. Newer kernels add NT_X86_XSAVE_LAYOUT; for older ones the size and XCR0 leave
 * a few candidates, often one. The CPU that reads must never be asked: it may be another one.
 *
 * Ref: Linux, Documentation/arch/x86/xstate.rst; include/uapi/linux/elf.h
 */
#ifndef XST_REGSET_H
#define XST_REGSET_H

#include <xst/image.h>

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

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by switch.c and bringup.c only. */
#ifndef XST_ENGINE_H
#define XST_ENGINE_H

#include <xst/system.h>

/* Write a fresh task's image for @insn into the first @bytes of @area; all else there is zeroed. */
static inline void xst_engine_fresh(enum xst_insn insn, uint64_t mask, uint8_t *area,
				    uint32_t bytes)
{
	const uint16_t fcw = 0x037f;
	const uint32_t mxcsr = 0x1f80;
	const uint64_t xcomp_bv = XST_XCOMP_COMPACT | mask;

	__builtin_memset(area, 0, bytes);
	__builtin_memcpy(area, &fcw, sizeof(fcw));
	if (insn == XST_INSN_FNSAVE) {
		/* Tag word: all empty, in the 32-bit protected-mode format. */
		area[8] = area[9] = 0xff;
		return;
	}
	/* The standard form loads MXCSR whatever XSTATE_BV says: zero would unmask everything. */
	__builtin_memcpy(area + 24, &mxcsr, sizeof(mxcsr));
	if (insn >= XST_INSN_XSAVEC)
		__builtin_memcpy(area + XST_HEADER_OFFSET + 8, &xcomp_bv, sizeof(xcomp_bv));
}

#endif

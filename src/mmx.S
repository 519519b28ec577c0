/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inner loops of mmx.c, 64 bytes a turn: plain MMX only, which a Pentium MMX has; no MOVNTQ and no
 * PREFETCHNTA, which came with SSE. EMMS at the end gives the x87 unit back empty.
 *
 * Arguments: 64-bit code in RDI, RSI, RDX; 32-bit code on the stack, whatever the rest of a kernel
 * is compiled for: mmx.c declares them so.
 */
	.section .note.GNU-stack, "", @progbits
	.pushsection .text, "ax", @progbits

	.macro	xst_mmx_copy_turns to, from, count
	test	\count, \count
	jz	2f
1:	movq	(\from), %mm0
	movq	8(\from), %mm1
	movq	16(\from), %mm2
	movq	24(\from), %mm3
	movq	32(\from), %mm4
	movq	40(\from), %mm5
	movq	48(\from), %mm6
	movq	56(\from), %mm7
	movq	%mm0, (\to)
	movq	%mm1, 8(\to)
	movq	%mm2, 16(\to)
	movq	%mm3, 24(\to)
	movq	%mm4, 32(\to)
	movq	%mm5, 40(\to)
	movq	%mm6, 48(\to)
	movq	%mm7, 56(\to)
	add	$64, \from
	add	$64, \to
	dec	\count
	jnz	1b
2:	emms
	ret
	.endm

	.macro	xst_mmx_clear_turns to, count
	pxor	%mm0, %mm0
	test	\count, \count
	jz	2f
1:
	.irp	at, 0,8,16,24,32,40,48,56
	movq	%mm0, \at(\to)
	.endr
	add	$64, \to
	dec	\count
	jnz	1b
2:	emms
	ret
	.endm

/* void xst_mmx_copy_blocks(void *to, const void *from, size_t blocks) */
	.globl	xst_mmx_copy_blocks
	.type	xst_mmx_copy_blocks, @function
xst_mmx_copy_blocks:
#ifdef __x86_64__
	xst_mmx_copy_turns %rdi, %rsi, %rdx
#else
	mov	4(%esp), %eax
	mov	8(%esp), %edx
	mov	12(%esp), %ecx
	xst_mmx_copy_turns %eax, %edx, %ecx
#endif
	.size	xst_mmx_copy_blocks, . - xst_mmx_copy_blocks

/* void xst_mmx_clear_blocks(void *to, size_t blocks) */
	.globl	xst_mmx_clear_blocks
	.type	xst_mmx_clear_blocks, @function
xst_mmx_clear_blocks:
#ifdef __x86_64__
	xst_mmx_clear_turns %rdi, %rsi
#else
	mov	4(%esp), %eax
	mov	8(%esp), %ecx
	xst_mmx_clear_turns %eax, %ecx
#endif
	.size	xst_mmx_clear_blocks, . - xst_mmx_clear_blocks
	.popsection
	.text

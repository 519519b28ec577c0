/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RAID-5's parity of one block, 64-bit code: what `xor` in the lab and `xstate bench kernel` run
 * in sections.
 */
	.text
/*
 * void xor_NAME(void *to, const void *const from[4], unsigned sources, unsigned long bytes):
 * RAID-5's parity, to ^= from[0] ^ ...; bytes is a multiple of 128.
 */
	.macro	xor_function name, width, prefetch
	.globl	\name
\name:
	xor	%eax, %eax
	mov	(%rsi), %r8
	mov	8(%rsi), %r9
	mov	16(%rsi), %r10
	mov	24(%rsi), %r11
1:	\name\()_load %rdi
	.ifc	\prefetch, yes
	prefetchnta 512(%rdi,%rax)
	prefetchnta 512(%r8,%rax)
	.endif
	\name\()_xor %r8
	cmp	$2, %edx
	jb	2f
	\name\()_xor %r9
	cmp	$3, %edx
	jb	2f
	\name\()_xor %r10
	cmp	$4, %edx
	jb	2f
	\name\()_xor %r11
2:	\name\()_store %rdi
	add	$(4 * \width), %rax
	cmp	%rcx, %rax
	jb	1b
	ret
	.endm

	.macro	xor_avx_load from
	vmovdqu	(\from,%rax), %ymm0
	vmovdqu	32(\from,%rax), %ymm1
	vmovdqu	64(\from,%rax), %ymm2
	vmovdqu	96(\from,%rax), %ymm3
	.endm
	.macro	xor_avx_xor from
	vxorps	(\from,%rax), %ymm0, %ymm0
	vxorps	32(\from,%rax), %ymm1, %ymm1
	vxorps	64(\from,%rax), %ymm2, %ymm2
	vxorps	96(\from,%rax), %ymm3, %ymm3
	.endm
	.macro	xor_avx_store to
	vmovdqu	%ymm0, (\to,%rax)
	vmovdqu	%ymm1, 32(\to,%rax)
	vmovdqu	%ymm2, 64(\to,%rax)
	vmovdqu	%ymm3, 96(\to,%rax)
	.endm
	.macro	xor_sse_load from
	movups	(\from,%rax), %xmm0
	movups	16(\from,%rax), %xmm1
	movups	32(\from,%rax), %xmm2
	movups	48(\from,%rax), %xmm3
	.endm
	.macro	xor_sse_xor from
	xorps	(\from,%rax), %xmm0
	xorps	16(\from,%rax), %xmm1
	xorps	32(\from,%rax), %xmm2
	xorps	48(\from,%rax), %xmm3
	.endm
	.macro	xor_sse_store to
	movups	%xmm0, (\to,%rax)
	movups	%xmm1, 16(\to,%rax)
	movups	%xmm2, 32(\to,%rax)
	movups	%xmm3, 48(\to,%rax)
	.endm
	.macro	xor_sse_prefetch_load from
	xor_sse_load \from
	.endm
	.macro	xor_sse_prefetch_xor from
	xor_sse_xor \from
	.endm
	.macro	xor_sse_prefetch_store to
	xor_sse_store \to
	.endm

	xor_function xor_avx, 32, no
	xor_function xor_sse_prefetch, 16, yes
	xor_function xor_sse, 16, no

	.section .note.GNU-stack, "", @progbits

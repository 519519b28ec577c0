/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the lab kernel does in its sections. All else in the kernel is built with general registers
 * only. 64-bit arguments in RDI, RSI, RDX, RCX; 32-bit ones in EAX, EDX.
 */
#define FEATURE_AVX	1
#define FEATURE_AVX512	2
#define FEATURE_SSE	16

#ifdef __x86_64__
#define FEATURES	%edi
#define VECTORS		0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
#else
#define FEATURES	%eax
#define VECTORS		0,1,2,3,4,5,6,7
#endif

	.text
/* void simd_scribble(uint32_t features): all ones, in as many bits as there are */
	.globl	simd_scribble
simd_scribble:
	test	$FEATURE_SSE, FEATURES
	jz	3f
	test	$FEATURE_AVX512, FEATURES
	jnz	2f
	test	$FEATURE_AVX, FEATURES
	jnz	1f
	.irp	n, VECTORS
	xorps	%xmm\n, %xmm\n
	cmpeqps	%xmm\n, %xmm\n
	.endr
	ret
1:
	.irp	n, VECTORS
	vxorps	%ymm\n, %ymm\n, %ymm\n
	vcmptrueps %ymm\n, %ymm\n, %ymm\n
	.endr
	ret
2:
	.irp	n, VECTORS
	vpternlogd $0xff, %zmm\n, %zmm\n, %zmm\n
	.endr
#ifdef __x86_64__
	.irp	n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	vpternlogd $0xff, %zmm\n, %zmm\n, %zmm\n
	.endr
#endif
	kxnorw	%k1, %k1, %k1
3:	ret

/* void simd_inexact(void): 1/3 */
	.globl	simd_inexact
simd_inexact:
	movss	one, %xmm0
	divss	three, %xmm0
	ret

/* void simd_x87(void): the same; the quotient stays in an empty register */
	.globl	simd_x87
simd_x87:
	fld1
	fdivs	three
	fstp	%st(0)
	ret

/* uint32_t simd_tags(void) */
	.globl	simd_tags
simd_tags:
#ifdef __x86_64__
	sub	$40, %rsp
	fnstenv	(%rsp)
	movzwl	8(%rsp), %eax
	fldenv	(%rsp)
	add	$40, %rsp
#else
	sub	$28, %esp
	fnstenv	(%esp)
	movzwl	8(%esp), %eax
	fldenv	(%esp)
	add	$28, %esp
#endif
	ret

#ifdef __x86_64__
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
#endif

	.section .rodata
	.balign	4
one:	.float	1
three:	.float	3

	.section .note.GNU-stack, "", @progbits

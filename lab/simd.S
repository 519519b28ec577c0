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

	.section .rodata
	.balign	4
one:	.float	1
three:	.float	3

	.section .note.GNU-stack, "", @progbits

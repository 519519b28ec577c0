/* SPDX-License-Identifier: BSD-2-Clause */
/* See live.h. Everything is live from the last load to the first store. */
#define OPMASK	2048
#define ST	2112
#define MXCSR	2240
#define FCW	2244

	.section .rodata
	.balign	4
usual_mxcsr:
	.long	0x1f80

	.text
	.macro	control_in
	fninit
	fldcw	FCW(%rdi)
	ldmxcsr	MXCSR(%rdi)
	.irp n, 7, 6, 5, 4, 3, 2, 1, 0
	fldt	ST + 16 * \n(%rdi)
	.endr
	.endm

	/* And what the ABI promises our caller. */
	.macro	control_out
	fnstcw	FCW(%r12)
	stmxcsr	MXCSR(%r12)
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7
	fstpt	ST + 16 * \n(%r12)
	.endr
	fninit
	ldmxcsr	usual_mxcsr(%rip)
	.endm

	.macro	begin
	push	%rbx
	push	%r12
	sub	$8, %rsp
	mov	%rsi, %r12
	mov	%rcx, %rbx
	.endm

	.macro	happen
	test	%rdx, %rdx
	jz	1f
	call	*%rdx
1:	test	%rbx, %rbx
	jz	2f
	dec	%rbx
	jmp	1b
2:
	.endm

	.macro	end
	add	$8, %rsp
	pop	%r12
	pop	%rbx
	ret
	.endm

	.globl	live_sse
live_sse:
	begin
	control_in
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movups	64 * \n(%rdi), %xmm\n
	.endr
	happen
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movups	%xmm\n, 64 * \n(%r12)
	.endr
	control_out
	end

	.globl	live_avx
live_avx:
	begin
	control_in
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovups	64 * \n(%rdi), %ymm\n
	.endr
	happen
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovups	%ymm\n, 64 * \n(%r12)
	.endr
	vzeroupper
	control_out
	end

	.globl	live_avx512
live_avx512:
	begin
	control_in
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7
	kmovq	OPMASK + 8 * \n(%rdi), %k\n
	.endr
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovups	64 * \n(%rdi), %zmm\n
	.endr
	.irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovups	64 * \n(%rdi), %zmm\n
	.endr
	happen
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7
	kmovq	%k\n, OPMASK + 8 * \n(%r12)
	.endr
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovups	%zmm\n, 64 * \n(%r12)
	.endr
	.irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovups	%zmm\n, 64 * \n(%r12)
	.endr
	vzeroupper
	control_out
	end
	.section .note.GNU-stack, "", @progbits

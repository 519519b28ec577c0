/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The 32-bit kernel's first instructions. boot.S jumps here, to the first byte of the
 * part of the image that holds it, in flat protected mode with paging off.
 */
#define CR0_ET		(1 << 4)
#define CR0_PE		(1 << 0)

	.section .head, "ax"
	.globl	image_start
image_start:
	cli
	cld
	mov	$CR0_ET | CR0_PE, %eax	/* CD, NW, TS and EM off */
	mov	%eax, %cr0
	mov	$stack_top, %esp
	mov	$__bss_start, %edi
	mov	$__bss_end, %ecx
	sub	%edi, %ecx
	shr	$2, %ecx
	xor	%eax, %eax
	rep stosl
	xor	%ebp, %ebp
	call	lab_main
1:	hlt
	jmp	1b

	.section .boot.bss, "aw", @nobits
	.align	4096
	.skip	16384
stack_top:

	.section .note.GNU-stack, "", @progbits

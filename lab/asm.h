/* SPDX-License-Identifier: BSD-2-Clause */
/* What the 64-bit lab's assembler files have in common. */
#ifndef LAB_ASM_H
#define LAB_ASM_H

/* A fault at @fault goes on at @resume, with the vector in %rcx (cpu.c). */
	.macro	fixup fault:req, resume:req
	.pushsection .extable, "a"
	.quad	\fault, \resume
	.popsection
	.endm

/* What the calling convention wants back; a new task's stack has them in this order too (task.c). */
	.macro	push_callee_saved
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	.endm

	.macro	pop_callee_saved
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	.endm

#endif

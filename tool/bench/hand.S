/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cooperative switch as one writes it by hand: what the System V ABI makes a function keep, and no
 * more. Registers that hold extended state are the caller's to save, so a fiber that yields has none
 * live; only MXCSR and the x87 control word belong to it.
 * Ref: System V ABI, AMD64 supplement, "Registers and the Stack Frame"
 */
	.text

/* void hand_switch(void **from, void **to): stack pointers, kept there while a fiber does not run. */
	.globl	hand_switch
	.hidden	hand_switch
	.type	hand_switch, @function
	.p2align 4
hand_switch:
	push	%rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	sub	$8, %rsp
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)
	mov	%rsp, (%rdi)
	mov	(%rsi), %rsp
	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
	add	$8, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	pop	%rcx			/* not RET: the return stack predicts the other fiber's */
	jmp	*%rcx
	.size	hand_switch, . - hand_switch

/* Where a new fiber begins: R12 is the function, R13 its argument; it may not return. */
	.globl	hand_start
	.hidden	hand_start
	.type	hand_start, @function
hand_start:
	mov	%r13, %rdi
	call	*%r12
	ud2
	.size	hand_start, . - hand_start

	.section .note.GNU-stack, "", @progbits

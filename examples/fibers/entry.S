/* SPDX-License-Identifier: BSD-2-Clause */
/* Where fibers change stacks. Integer registers only: the rest is the engine's. */
	.text

/* void fiber_stack_switch(void **from, void *to) */
	.globl	fiber_stack_switch
fiber_stack_switch:
	.irp reg, rbx, rbp, r12, r13, r14, r15
	push	%\reg
	.endr
	mov	%rsp, (%rdi)
	mov	%rsi, %rsp
	.irp reg, r15, r14, r13, r12, rbp, rbx
	pop	%\reg
	.endr
	ret

	.globl	fiber_first_entry
fiber_first_entry:
	xor	%ebp, %ebp
	call	fiber_begin
	ud2

/*
 * sigreturn comes here instead of to the interrupted instruction. Everything is preserved: the ABI's
 * red zone, 128 bytes below the stack pointer, and the flags too. PUSH and LEA change none.
 */
	.globl	fiber_preempt_entry
fiber_preempt_entry:
	lea	-128(%rsp), %rsp
	push	fiber_resume(%rip)
	pushfq
	.irp reg, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
	push	%\reg
	.endr
	mov	%rsp, %rbp
	and	$-16, %rsp
	cld
	call	fiber_preempted
	.globl	fiber_preempt_exit
fiber_preempt_exit:
	movl	$0, fiber_busy(%rip)
	mov	%rbp, %rsp
	.irp reg, r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax
	pop	%\reg
	.endr
	popfq
	ret	$128
	.globl	fiber_preempt_end
fiber_preempt_end:
	.section .note.GNU-stack, "", @progbits

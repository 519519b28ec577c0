/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every way into and out of the kernel: exception, interrupt and system call
 * stubs, the switch between two kernel stacks, and the way to user mode.
 *
 * All gates are interrupt gates, so the kernel runs with interrupts off. GS base
 * is the CPU's struct cpu in both modes (user mode cannot read it: it is a
 * supervisor page), so nothing is swapped here. No stub touches a register that
 * the engine manages.
 */
#include "asm.h"

	.text

/* struct frame in arch.h mirrors this order. */
	.macro	push_registers
	push	%rax
	push	%rcx
	push	%rdx
	push	%rbx
	push	%rbp
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	.endm

	.macro	pop_registers
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rbp
	pop	%rbx
	pop	%rdx
	pop	%rcx
	pop	%rax
	.endm

	.align	16
common_entry:
	push_registers
	cld
	mov	%rsp, %rdi
	call	trap_entry
	/* fall through */

/* Here %rsp points to a struct frame and trap_exit() has been called for user frames. */
leave:
	pop_registers
	add	$16, %rsp			/* vector, error code */
	iretq

/* A new user task starts here, on its own stack, with only its frame on it. */
	.globl	task_first_user
task_first_user:
	call	task_begin
	mov	%rsp, %rdi
	call	trap_exit
	jmp	leave

/* A new kernel thread: %rbx = function. It never returns. */
	.globl	task_first_kernel
task_first_kernel:
	call	task_begin
	call	*%rbx
	ud2

/* void arch_switch_stack(uintptr_t *save_sp, uintptr_t next_sp) */
	.globl	arch_switch_stack
arch_switch_stack:
	push_callee_saved
	mov	%rsp, (%rdi)
	mov	%rsi, %rsp
	pop_callee_saved
	ret

/*
 * uint64_t arch_spin(uint64_t n): a loop of exactly two instructions a round,
 * to find out whether this machine's TSC counts instructions.
 */
	.globl	arch_spin
	.align	16
arch_spin:
1:	dec	%rdi
	jnz	1b
	ret

/* What a call costs by itself, with one argument, two and three. */
	.globl	arch_nothing, arch_nothing_of_two, arch_nothing_of_three
	.align	16
arch_nothing:
arch_nothing_of_two:
arch_nothing_of_three:
	ret

/* One 16-byte stub for each vector; trap_stubs[n] is at trap_stubs + 16 n. */
	.globl	trap_stubs
	.align	16
trap_stubs:
	.set	vector, 0
	.rept	256
	.align	16
	/* Ref: SDM vol. 3A, "Error Code": vectors 8, 10-14, 17, 21 push one. */
	.if	(vector == 8) || ((vector >= 10) && (vector <= 14)) || (vector == 17) || (vector == 21)
	.else
	push	$0
	.endif
	push	$vector
	jmp	common_entry
	.set	vector, vector + 1
	.endr

	.section .note.GNU-stack, "", @progbits

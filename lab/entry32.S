/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every way into and out of the 32-bit kernel; entry.S has the 64-bit ones and the
 * reasons. Arguments come in registers: EAX, EDX. The data segments are the same in
 * both modes, so nothing is saved or loaded of them.
 */
	.text
	.align	16
common_entry:
	pushal
	cld
	mov	%esp, %eax
	call	trap_entry
	/* fall through */
leave:
	popal
	add	$8, %esp			/* vector, error code */
	iretl

	.globl	task_first_user
task_first_user:
	call	task_begin
	mov	%esp, %eax
	call	trap_exit
	jmp	leave

	.globl	task_first_kernel
task_first_kernel:
	call	task_begin
	call	*%ebx
	ud2

/* void arch_switch_stack(uintptr_t *save_sp, uintptr_t next_sp) */
	.globl	arch_switch_stack
arch_switch_stack:
	push	%ebx
	push	%ebp
	push	%esi
	push	%edi
	mov	%esp, (%eax)
	mov	%edx, %esp
	pop	%edi
	pop	%esi
	pop	%ebp
	pop	%ebx
	ret

	.globl	arch_spin
	.align	16
arch_spin:
1:	dec	%eax
	jnz	1b
	ret

	.globl	arch_nothing, arch_nothing_of_two, arch_nothing_of_three
	.align	16
arch_nothing:
arch_nothing_of_two:
arch_nothing_of_three:
	ret

	.globl	trap_stubs
	.align	16
trap_stubs:
	.set	vector, 0
	.rept	256
	.align	16
	.if	(vector == 8) || ((vector >= 10) && (vector <= 14)) || (vector == 17) || (vector == 21)
	.else
	push	$0
	.endif
	push	$vector
	jmp	common_entry
	.set	vector, vector + 1
	.endr

	.section .note.GNU-stack, "", @progbits

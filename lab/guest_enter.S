/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Into a guest and out of it: general registers, and nothing else. struct vcpu in
 * guest.h begins with them, in the order of their numbers. RSP is the hardware's
 * business, with SVM RAX too.
 *
 * Ref: AMD64 APM vol. 2, "VMRUN Instruction"; SDM vol. 3C, "VM Entries", "VM Exits"
 */
#include "asm.h"

#define VMCS_HOST_RSP	0x6c14
#define VMCS_HOST_RIP	0x6c16

/* All but RAX and RSP; RDI, which points to them, last. No flag changes. */
	.macro	load_guest
	mov	1 * 8(%rdi), %rcx
	mov	2 * 8(%rdi), %rdx
	mov	3 * 8(%rdi), %rbx
	mov	5 * 8(%rdi), %rbp
	mov	6 * 8(%rdi), %rsi
	.irp	n, 8,9,10,11,12,13,14,15
	mov	8 * \n(%rdi), %r\n
	.endr
	mov	7 * 8(%rdi), %rdi
	.endm

/* On the stack: RDI of before. */
	.macro	store_guest
	push	%rdi
	mov	8(%rsp), %rdi
	mov	%rcx, 1 * 8(%rdi)
	mov	%rdx, 2 * 8(%rdi)
	mov	%rbx, 3 * 8(%rdi)
	mov	%rbp, 5 * 8(%rdi)
	mov	%rsi, 6 * 8(%rdi)
	.irp	n, 8,9,10,11,12,13,14,15
	mov	%r\n, 8 * \n(%rdi)
	.endr
	pop	7 * 8(%rdi)
	.endm

	.text
/*
 * void svm_enter(struct vcpu *v, uintptr_t vmcb). The global interrupt flag is clear but
 * in the guest, so an interrupt that comes there exits, and one that comes here waits:
 * IF is what the guest's share of them is judged by.
 */
	.globl	svm_enter
svm_enter:
	push_callee_saved
	push	%rdi
	mov	%rsi, %rax
	clgi
	load_guest
	sti
	vmrun	%rax
	cli
	store_guest
	stgi
	pop	%rdi
	pop_callee_saved
	ret

/* uint32_t vmx_enter(struct vcpu *v, uint32_t launched): 0, or 1 when the entry failed at once */
	.globl	vmx_enter
vmx_enter:
	push_callee_saved
	push	%rdi
	mov	$VMCS_HOST_RSP, %eax
	vmwrite	%rsp, %rax
	mov	$VMCS_HOST_RIP, %eax
	lea	2f(%rip), %rdx
	vmwrite	%rdx, %rax
	test	%esi, %esi
	mov	0 * 8(%rdi), %rax
	load_guest
	jnz	1f
	vmlaunch
	jmp	3f
1:	vmresume
3:	pop	%rdi
	pop_callee_saved
	mov	$1, %eax
	ret
2:	store_guest
	pop	%rdi
	mov	%rax, 0 * 8(%rdi)
	pop_callee_saved
	xor	%eax, %eax
	ret

	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * void vmrun(uint64_t *gpr, const uint8_t *vmcb): into the guest and back, with its general registers,
 * by number, in gpr[]. The hypervisor's own come back by its stack; no other register is touched.
 *
 * Ref: AMD64 APM vol. 2, "VMRUN Instruction"
 */
	.text
	.globl	vmrun
vmrun:
	.irp	reg, rbx, rbp, r12, r13, r14, r15, rdi
	push	%\reg
	.endr
	mov	%rsi, %rax
	.macro	each_register op
	\op	1, %rcx
	\op	2, %rdx
	\op	3, %rbx
	\op	5, %rbp
	\op	6, %rsi
	.irp	n, 8,9,10,11,12,13,14,15
	\op	\n, %r\n
	.endr
	.endm
	.macro	load n, reg
	mov	\n * 8(%rdi), \reg
	.endm
	.macro	store n, reg
	mov	\reg, \n * 8(%rdi)
	.endm
	each_register load
	mov	7 * 8(%rdi), %rdi
	vmrun	%rax
	stgi				/* an exit clears it; RFLAGS.IF is still 0 */
	push	%rdi
	mov	8(%rsp), %rdi
	each_register store
	pop	7 * 8(%rdi)
	.irp	reg, rdi, r15, r14, r13, r12, rbp, rbx
	pop	%\reg
	.endr
	ret
	.section .note.GNU-stack, "", @progbits

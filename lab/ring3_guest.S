/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instructions of a guest that C has not. Where one may fault, or may be refused by
 * whoever runs the guest, it returns the vector, 0 for none: the fix-up table sends it on
 * with the vector in %rcx (guest.h).
 *
 * This is the user part of the image, and ring 0 of a guest.
 */
#include "asm.h"

#define CR0_TS	8

	.text
/* void guest_hlt(void) */
	.globl	guest_hlt
guest_hlt:
	hlt
	ret

/* void guest_vmmcall(void); void guest_vmcall(void) */
	.globl	guest_vmmcall, guest_vmcall
guest_vmmcall:
	vmmcall
	ret
guest_vmcall:
	vmcall
	ret

/* uint32_t guest_cpuid(uint32_t leaf): EAX */
	.globl	guest_cpuid
guest_cpuid:
	push	%rbx
	mov	%edi, %eax
	xor	%ecx, %ecx
	cpuid
	pop	%rbx
	ret

/* uint32_t guest_xsetbv(uint64_t value) */
	.globl	guest_xsetbv
guest_xsetbv:
	mov	%edi, %eax
	mov	%rdi, %rdx
	shr	$32, %rdx
	xor	%ecx, %ecx
1:	xsetbv
2:	mov	%ecx, %eax
	ret
	fixup	1b, 2b

/* uint32_t guest_wrmsr(uint32_t msr, uint64_t value) */
	.globl	guest_wrmsr
guest_wrmsr:
	mov	%edi, %ecx
	mov	%esi, %eax
	mov	%rsi, %rdx
	shr	$32, %rdx
1:	wrmsr
	xor	%ecx, %ecx
2:	mov	%ecx, %eax
	ret
	fixup	1b, 2b

/* uint32_t guest_rdmsr(uint32_t msr, uint64_t *value) */
	.globl	guest_rdmsr
guest_rdmsr:
	mov	%edi, %ecx
1:	rdmsr
	mov	%eax, (%rsi)
	mov	%edx, 4(%rsi)
	xor	%ecx, %ecx
2:	mov	%ecx, %eax
	ret
	fixup	1b, 2b

/* uint32_t guest_touch_under_ts(void): an SSE instruction with CR0.TS set */
	.globl	guest_touch_under_ts
guest_touch_under_ts:
	mov	%cr0, %rdx
	mov	%rdx, %rax
	or	$CR0_TS, %rax
	mov	%rax, %cr0
	xor	%ecx, %ecx
1:	movaps	%xmm0, %xmm0
2:	clts
	mov	%ecx, %eax
	ret
	fixup	1b, 2b

/* uint32_t guest_undefined(void) */
	.globl	guest_undefined
guest_undefined:
	xor	%ecx, %ecx
1:	ud2
2:	mov	%ecx, %eax
	ret
	fixup	1b, 2b

/* uint32_t guest_peek(const void *address) */
	.globl	guest_peek
guest_peek:
	xor	%ecx, %ecx
1:	mov	(%rdi), %al
2:	mov	%ecx, %eax
	ret
	fixup	1b, 2b

/* uint32_t guest_xsaves(void *image, uint64_t mask); guest_xrstors() likewise */
	.irp	insn, xsaves, xrstors
	.globl	guest_\insn
guest_\insn:
	mov	%esi, %eax
	mov	%rsi, %rdx
	shr	$32, %rdx
	xor	%ecx, %ecx
1:	\insn\()64	(%rdi)
2:	mov	%ecx, %eax
	ret
	.size	guest_\insn, . - guest_\insn
	fixup	1b, 2b
	.endr

	.section .note.GNU-stack, "", @progbits

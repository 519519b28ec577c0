/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instructions of exp_errata.c whose fault, or whose missing fault, is the
 * question. Each returns the vector that was raised, 0 for none: the fix-up table
 * sends a fault on to the label behind, with the vector in %rcx (cpu.c).
 */
#include "asm.h"

	.text

/* uint32_t errata_xsave(void *area): x87, SSE and AVX */
	.globl	errata_xsave
errata_xsave:
	xor	%ecx, %ecx
	mov	$7, %eax
	xor	%edx, %edx
1:	xsave64	(%rdi)
2:	mov	%ecx, %eax
	ret
	fixup	1b, 2b

/* uint32_t errata_ldmxcsr(const uint32_t *mxcsr) */
	.globl	errata_ldmxcsr
errata_ldmxcsr:
	xor	%ecx, %ecx
1:	ldmxcsr	(%rdi)
2:	mov	%ecx, %eax
	ret
	fixup	1b, 2b

/* uint32_t errata_divide(const uint32_t *mxcsr, const float *one, const float *zero) */
	.globl	errata_divide
errata_divide:
	xor	%ecx, %ecx
	ldmxcsr	(%rdi)
	movss	(%rsi), %xmm0
1:	divss	(%rdx), %xmm0
2:	mov	%ecx, %eax
	ret
	fixup	1b, 2b

/*
 * uint32_t errata_pending(const uint16_t *fcw): 1/0 with the exception unmasked,
 * then a waiting instruction that is not FWAIT.
 */
	.globl	errata_pending
errata_pending:
	xor	%ecx, %ecx
	fninit
	fldcw	(%rdi)
	fld1
	fldz
	fdivrp
1:	fld1
2:	fnclex
	fninit
	mov	%ecx, %eax
	ret
	fixup	1b, 2b

/* uintptr_t errata_pointers(void *area): where the x87 instruction before FXSAVE is */
	.globl	errata_pointers
errata_pointers:
	fninit
1:	fld1
	fxsave64 (%rdi)
	fninit
	lea	1b(%rip), %rax
	ret

	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User mode's only access to its extended registers. All else in ring 3 is
 * built with general registers only, so what is loaded here stays until the next
 * call. Offsets: struct user_regs in ring3.h. The arguments are where the calling
 * convention of this build puts them: the regs, then the features.
 */
#define FEATURE_AVX		1
#define FEATURE_AVX512		2
#define FEATURE_OPMASK64	4
#define FEATURE_PKRU		8
#define FEATURE_SSE		16
#define FEATURE_FXSR		32

#define R_OPMASK	2048
#define R_ST		2112
#define R_ENV		2240
#define R_MXCSR		2268
#define R_PKRU		2272
#define R_FCW		2276
#define R_FSW		2278
#define R_IMAGE		2304

#ifdef __x86_64__
#define REGS		%rdi
#define FEATURES	%esi
#define VECTORS		0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
#else
#define REGS		%eax
#define FEATURES	%edx
#define VECTORS		0,1,2,3,4,5,6,7
#endif

	.text
/* void user_x87_load(const struct user_regs *regs) */
	.globl	user_x87_load
	.align	16
user_x87_load:
	fldenv	R_ENV(REGS)		/* FCW, FSW with TOP and sticky flags, all empty */
	.irp	n, 7,6,5,4,3,2,1,0
	fldt	R_ST + 16 * \n(REGS)
	.endr
	ret

/* void user_x87_clear(void): INIT. FNINIT leaves what the registers hold. */
	.globl	user_x87_clear
	.align	16
user_x87_clear:
	fninit
	.rept	8
	fldz
	.endr
	fninit
	ret

/*
 * void user_x87_store(struct user_regs *regs)
 * The stack is popped and pushed again: all 80 bits, and TOP where it was.
 */
	.globl	user_x87_store
	.align	16
user_x87_store:
	fnstcw	R_FCW(REGS)
	fnstsw	R_FSW(REGS)
	.irp	n, 0,1,2,3,4,5,6,7
	fstpt	R_ST + 16 * \n(REGS)
	.endr
	.irp	n, 7,6,5,4,3,2,1,0
	fldt	R_ST + 16 * \n(REGS)
	.endr
	ret

/*
 * void user_x87_peek(struct user_regs *regs, uint32_t features)
 * For registers that must be INIT: the stack is empty, so it cannot be popped, but
 * FXSAVE and FNSAVE store the contents of empty registers too.
 */
	.globl	user_x87_peek
	.align	16
user_x87_peek:
	fnstcw	R_FCW(REGS)
	fnstsw	R_FSW(REGS)
	test	$FEATURE_FXSR, FEATURES
	jz	1f
#ifdef __x86_64__
	fxsave64 R_IMAGE(REGS)
#else
	fxsave	R_IMAGE(REGS)
#endif
	ret
1:	fnsave	R_IMAGE(REGS)
	frstor	R_IMAGE(REGS)
	ret

/* void user_vectors_load(const struct user_regs *regs, uint32_t features): all but x87 */
	.globl	user_vectors_load
	.align	16
user_vectors_load:
	test	$FEATURE_SSE, FEATURES
	jz	5f
	ldmxcsr	R_MXCSR(REGS)
	test	$FEATURE_AVX512, FEATURES
	jnz	2f
	test	$FEATURE_AVX, FEATURES
	jnz	1f
	.irp	n, VECTORS
	movups	64 * \n(REGS), %xmm\n
	.endr
	jmp	5f
1:
	.irp	n, VECTORS
	vmovdqu	64 * \n(REGS), %ymm\n
	.endr
	jmp	5f
2:
	.irp	n, VECTORS
	vmovdqu64 64 * \n(REGS), %zmm\n
	.endr
#ifdef __x86_64__
	.irp	n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	vmovdqu64 64 * \n(REGS), %zmm\n
	.endr
#endif
	test	$FEATURE_OPMASK64, FEATURES
	jnz	3f
	.irp	n, 0,1,2,3,4,5,6,7
	kmovw	R_OPMASK + 8 * \n(REGS), %k\n
	.endr
	jmp	5f
3:
	.irp	n, 0,1,2,3,4,5,6,7
	kmovq	R_OPMASK + 8 * \n(REGS), %k\n
	.endr
5:	test	$FEATURE_PKRU, FEATURES
	jz	6f
	mov	R_PKRU(REGS), %eax
	xor	%ecx, %ecx
	xor	%edx, %edx
	wrpkru
6:	ret

/* void user_vectors_store(struct user_regs *regs, uint32_t features): all but x87 */
	.globl	user_vectors_store
	.align	16
user_vectors_store:
	test	$FEATURE_SSE, FEATURES
	jz	5f
	stmxcsr	R_MXCSR(REGS)
	test	$FEATURE_AVX512, FEATURES
	jnz	2f
	test	$FEATURE_AVX, FEATURES
	jnz	1f
	.irp	n, VECTORS
	movups	%xmm\n, 64 * \n(REGS)
	.endr
	jmp	5f
1:
	.irp	n, VECTORS
	vmovdqu	%ymm\n, 64 * \n(REGS)
	.endr
	jmp	5f
2:
	.irp	n, VECTORS
	vmovdqu64 %zmm\n, 64 * \n(REGS)
	.endr
#ifdef __x86_64__
	.irp	n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	vmovdqu64 %zmm\n, 64 * \n(REGS)
	.endr
#endif
	test	$FEATURE_OPMASK64, FEATURES
	jnz	3f
	.irp	n, 0,1,2,3,4,5,6,7
	kmovw	%k\n, R_OPMASK + 8 * \n(REGS)
	.endr
	jmp	5f
3:
	.irp	n, 0,1,2,3,4,5,6,7
	kmovq	%k\n, R_OPMASK + 8 * \n(REGS)
	.endr
5:	test	$FEATURE_PKRU, FEATURES
	jz	6f
#ifdef __x86_64__
	xor	%ecx, %ecx
	rdpkru
	mov	%eax, R_PKRU(REGS)
#else
	push	%eax
	xor	%ecx, %ecx
	rdpkru
	pop	%ecx
	mov	%eax, R_PKRU(%ecx)
#endif
6:	ret

/* What programs do that want their state small: `live`. */
	.globl	user_vzeroupper, user_vzeroall
user_vzeroupper:
	vzeroupper
	ret
user_vzeroall:
	vzeroall
	ret

/*
 * void user_x87_fault(const uint16_t *fcw): 1/0 with the exception unmasked. It stays
 * pending: no waiting instruction follows.
 */
	.globl	user_x87_fault
	.align	16
user_x87_fault:
	fninit
#ifdef __x86_64__
	fldcw	(%rdi)
#else
	fldcw	(%eax)
#endif
	fld1
	fldz
	fdivrp
	ret

/*
 * Both return 1 when the pending exception came and 0 when it did not: the kernel
 * sends #MF on to user_x87_resume. The exception stays in FSW.
 */
	.globl	user_x87_wait, user_x87_next, user_x87_resume
	.align	16
user_x87_wait:
	fwait
	xor	%eax, %eax
	ret
user_x87_next:
	fld1
	xor	%eax, %eax
	ret
user_x87_resume:
	mov	$1, %eax
	ret

	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User mode's only access to its extended registers. All else in ring 3 is
 * built with general registers only, so what is loaded here stays until the next
 * call. Offsets: struct user_regs in ring3.h; %rdi = regs, %esi = features.
 */
#define FEATURE_AVX		1
#define FEATURE_AVX512		2
#define FEATURE_OPMASK64	4
#define FEATURE_PKRU		8

#define R_OPMASK	2048
#define R_ST		2112
#define R_ENV		2240
#define R_MXCSR		2268
#define R_PKRU		2272
#define R_FCW		2276
#define R_FSW		2278
#define R_FXSAVE	2304

	.text
/* void user_regs_load(const struct user_regs *regs, uint32_t features) */
	.globl	user_regs_load
	.align	16
user_regs_load:
	fldenv	R_ENV(%rdi)		/* FCW, FSW with TOP and sticky flags, all empty */
	.irp	n, 7,6,5,4,3,2,1,0
	fldt	R_ST + 16 * \n(%rdi)
	.endr
	ldmxcsr	R_MXCSR(%rdi)
	test	$FEATURE_AVX512, %esi
	jnz	2f
	test	$FEATURE_AVX, %esi
	jnz	1f
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movdqu	64 * \n(%rdi), %xmm\n
	.endr
	jmp	5f
1:
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	vmovdqu	64 * \n(%rdi), %ymm\n
	.endr
	jmp	5f
2:
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	vmovdqu64 64 * \n(%rdi), %zmm\n
	.endr
	.irp	n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	vmovdqu64 64 * \n(%rdi), %zmm\n
	.endr
	test	$FEATURE_OPMASK64, %esi
	jnz	3f
	.irp	n, 0,1,2,3,4,5,6,7
	kmovw	R_OPMASK + 8 * \n(%rdi), %k\n
	.endr
	jmp	5f
3:
	.irp	n, 0,1,2,3,4,5,6,7
	kmovq	R_OPMASK + 8 * \n(%rdi), %k\n
	.endr
5:	test	$FEATURE_PKRU, %esi
	jz	6f
	mov	R_PKRU(%rdi), %eax
	xor	%ecx, %ecx
	xor	%edx, %edx
	wrpkru
6:	ret

/* In: %rdi, %esi as above. Out: the vector part, k and PKRU stored. */
store_all_but_x87:
	stmxcsr	R_MXCSR(%rdi)
	test	$FEATURE_AVX512, %esi
	jnz	2f
	test	$FEATURE_AVX, %esi
	jnz	1f
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movdqu	%xmm\n, 64 * \n(%rdi)
	.endr
	jmp	5f
1:
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	vmovdqu	%ymm\n, 64 * \n(%rdi)
	.endr
	jmp	5f
2:
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	vmovdqu64 %zmm\n, 64 * \n(%rdi)
	.endr
	.irp	n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	vmovdqu64 %zmm\n, 64 * \n(%rdi)
	.endr
	test	$FEATURE_OPMASK64, %esi
	jnz	3f
	.irp	n, 0,1,2,3,4,5,6,7
	kmovw	%k\n, R_OPMASK + 8 * \n(%rdi)
	.endr
	jmp	5f
3:
	.irp	n, 0,1,2,3,4,5,6,7
	kmovq	%k\n, R_OPMASK + 8 * \n(%rdi)
	.endr
5:	test	$FEATURE_PKRU, %esi
	jz	6f
	xor	%ecx, %ecx
	rdpkru
	mov	%eax, R_PKRU(%rdi)
6:	ret

/*
 * void user_regs_store(struct user_regs *regs, uint32_t features)
 * The x87 stack is popped and pushed again: all 80 bits, and TOP where it was.
 */
	.globl	user_regs_store
	.align	16
user_regs_store:
	fnstcw	R_FCW(%rdi)
	fnstsw	R_FSW(%rdi)
	.irp	n, 0,1,2,3,4,5,6,7
	fstpt	R_ST + 16 * \n(%rdi)
	.endr
	.irp	n, 7,6,5,4,3,2,1,0
	fldt	R_ST + 16 * \n(%rdi)
	.endr
	jmp	store_all_but_x87

/*
 * void user_regs_peek(struct user_regs *regs, uint32_t features)
 * For registers that must be INIT: the x87 stack is empty, so it cannot be popped,
 * but FXSAVE stores the contents of empty registers too.
 */
	.globl	user_regs_peek
	.align	16
user_regs_peek:
	fnstcw	R_FCW(%rdi)
	fnstsw	R_FSW(%rdi)
	fxsave64 R_FXSAVE(%rdi)
	jmp	store_all_but_x87

	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a multiboot loader (QEMU's -kernel) to 64-bit C, and from an interrupt to C and back.
 */
	.section .boot, "ax"
	.code32
	.balign	4
	.long	0x1badb002, 0, -0x1badb002	/* multiboot: magic, flags, checksum */
	.globl	start
start:
	mov	$pml4, %eax
	mov	%eax, %cr3
	mov	%cr4, %eax
	or	$0x20, %eax			/* PAE */
	mov	%eax, %cr4
	mov	$0xc0000080, %ecx		/* EFER.LME */
	rdmsr
	or	$0x100, %eax
	wrmsr
	mov	%cr0, %eax
	or	$0x80000000, %eax		/* PG */
	mov	%eax, %cr0
	lgdt	gdt_pointer
	ljmp	$0x08, $1f
	.code64
1:	mov	$0x10, %eax
	mov	%eax, %ss
	mov	$boot_stack_top, %esp
	xor	%ebp, %ebp
	call	kernel_main

/* A stub for every vector: error code (or 0) and number on the stack, 16 bytes each. */
	.text
	.globl	vectors
	.balign	16
vectors:
	i = 0
	.rept	256
	.balign	16
	.if	!(i == 8 || (i >= 10 && i <= 14) || i == 17 || i == 21 || i == 29 || i == 30)
	push	$0
	.endif
	push	$i
	jmp	common
	i = i + 1
	.endr

common:
	.irp	reg, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
	push	%\reg
	.endr
	cld
	mov	%rsp, %rdi
	call	trap
	mov	%rax, %rdi
	.globl	leave
leave:						/* %rdi: the frame to go on with */
	mov	%rdi, %rsp
	.irp	reg, r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax
	pop	%\reg
	.endr
	add	$16, %rsp
	iretq

/* The first 4 MiB, and all of it the tasks' as well: this kernel has nothing to hide. */
	.data
	.balign	4096
pml4:	.quad	pdpt + 7
	.skip	4088
pdpt:	.quad	pd + 7
	.skip	4088
pd:	.quad	0x87, 0x200087
	.skip	4080
	.globl	gdt
gdt:	.quad	0, 0x00af9b000000ffff, 0x00cf93000000ffff	/* 08 kernel code, 10 data */
	.quad	0x00affb000000ffff, 0x00cff3000000ffff, 0, 0	/* 1b user code, 23 data, 28 TSS */
gdt_pointer:
	.word	gdt_pointer - gdt - 1
	.quad	gdt

	.bss
	.balign	16
	.skip	16384
boot_stack_top:
	.section .note.GNU-stack, "", @progbits

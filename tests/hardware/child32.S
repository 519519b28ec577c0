/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A 32-bit program that t_frames32 traces. It stops by INT3 and says where it is in EDX:
 *
 *	1  EAX: memory for an XSAVE image, to be loaded; ECX: for the one stored afterwards. The tracer
 *	   puts the mask of both into EBX
 *	2  in the handler of a signal it sent itself: EAX: the ucontext
 *	3  the image is stored
 *
 * No library: it must run wherever the kernel takes 32-bit programs at all.
 */
#define SYS_getpid          20
#define SYS_kill            37
#define SYS_rt_sigreturn   173
#define SYS_rt_sigaction   174
#define SIGUSR1             10
#define SA_SIGINFO           4
#define SA_RESTORER 0x04000000

	.text
	.globl	_start
_start:
	mov	$SYS_rt_sigaction, %eax
	mov	$SIGUSR1, %ebx
	mov	$action, %ecx
	xor	%edx, %edx
	mov	$8, %esi
	int	$0x80
	mov	$SYS_getpid, %eax
	int	$0x80
	mov	%eax, %ebp
next:
	mov	$before, %eax
	mov	$after, %ecx
	mov	$1, %edx
	int3
	mov	%ebx, %esi		/* the mask */
	mov	%esi, %eax
	xor	%edx, %edx
	xrstor	before
	mov	$SYS_kill, %eax
	mov	%ebp, %ebx
	mov	$SIGUSR1, %ecx
	int	$0x80
	mov	%esi, %eax
	xor	%edx, %edx
	xsave	after
	mov	$3, %edx
	int3
	jmp	next

handler:
	mov	12(%esp), %eax
	mov	$2, %edx
	int3
	ret

restorer:
	mov	$SYS_rt_sigreturn, %eax
	int	$0x80

	.data
action:
	.long	handler, SA_SIGINFO | SA_RESTORER, restorer, 0, 0

	.bss
	.balign	64
before:	.skip	16384
after:	.skip	16384

	.section .note.GNU-stack, "", @progbits

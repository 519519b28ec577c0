/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the lab gets from the reset vector to C.
 *
 * The image is a flat file. As a ROM (no BIOS at all) its last 16 bytes are the
 * reset vector: the stub there enters flat protected mode, copies the whole
 * file to 1 MiB and jumps to boot32. As a multiboot1 kernel the loader does the
 * copying and enters boot32 itself. Application processors start in the real
 * mode trampoline, which C copies to AP_TRAMPOLINE, and meet the boot CPU's path
 * at enter_long_mode.
 *
 * Ref: SDM vol. 3A, "Processor Management and Initialization"; "Switching to
 * Protected Mode"; "Initializing IA-32e Mode"; "MP Initialization".
 */
#define ROM_BYTES	0x80000
#define LOAD_ADDRESS	0x100000
#define AP_TRAMPOLINE	0x8000

#define CR0_PE		(1 << 0)
#define CR0_ET		(1 << 4)
#define CR0_WP		(1 << 16)
#define CR0_PG		(1 << 31)
#define CR4_PAE		(1 << 5)
#define MSR_EFER	0xc0000080
#define EFER_LME	(1 << 8)
#define FLAGS_ID	(1 << 21)

#define KERNEL32	0x150000	/* lab.ld */
#define ARGS_BYTES	1008

#define MULTIBOOT_MAGIC	0x1badb002
#define MULTIBOOT_FLAGS	(1 << 16)	/* the address fields below are valid */

	.section .head, "ax"
	.globl	image_start
image_start:
	.align	8
multiboot_header:
	.long	MULTIBOOT_MAGIC
	.long	MULTIBOOT_FLAGS
	.long	-(MULTIBOOT_MAGIC + MULTIBOOT_FLAGS)
	.long	multiboot_header
	.long	image_start
	.long	image_start + ROM_BYTES
	.long	__bss_end
	.long	boot32

	.code32
	.globl	boot32
boot32:
	cli
	cld
	lgdt	boot_gdtr
	ljmp	$0x08, $1f
1:	mov	$0x10, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	$boot_stack_top, %esp

	mov	$__bss_start, %edi
	mov	$__bss_end, %ecx
	sub	%edi, %ecx
	shr	$2, %ecx
	xor	%eax, %eax
	rep stosl

	/*
	 * The 32-bit kernel serves CPUs without CPUID or without long mode, and whoever
	 * asks for it: mode=32.
	 */
	pushfl
	pop	%eax
	mov	%eax, %edx
	xor	$FLAGS_ID, %eax
	push	%eax
	popfl
	pushfl
	pop	%eax
	xor	%edx, %eax
	test	$FLAGS_ID, %eax
	jz	KERNEL32
	mov	$0x80000000, %eax
	cpuid
	cmp	$0x80000001, %eax
	jb	KERNEL32
	mov	$0x80000001, %eax
	cpuid
	bt	$29, %edx
	jnc	KERNEL32
	mov	$command_text, %esi
5:	mov	(%esi), %al
	test	%al, %al
	jz	6f
	inc	%esi
	cmpl	$0x65646f6d, -1(%esi)		/* "mode" */
	jne	5b
	cmpl	$0x0032333d, 3(%esi)		/* "=32" and the end, */
	je	KERNEL32
	cmpl	$0x2032333d, 3(%esi)		/* or a blank */
	je	KERNEL32
	jmp	5b
6:

	/*
	 * First page tables: 1 GiB identity with 2 MiB supervisor pages, and the
	 * 2 MiB around the local APIC. mm64.c refines what user mode may see.
	 */
	mov	$boot_pdpt + 7, %eax
	mov	%eax, boot_pml4
	mov	$boot_pd_low + 7, %eax
	mov	%eax, boot_pdpt
	mov	$boot_pd_apic + 3, %eax
	mov	%eax, boot_pdpt + 3 * 8
	mov	$0xfee00000 + 0x9b, %eax	/* present, writable, PWT, PCD, large */
	mov	%eax, boot_pd_apic + 0x1f7 * 8
	mov	$0x83, %eax
	xor	%ecx, %ecx
2:	mov	%eax, boot_pd_low(, %ecx, 8)
	add	$0x200000, %eax
	inc	%ecx
	cmp	$512, %ecx
	jb	2b

	mov	$boot64, %ebx

/* In: flat 32-bit mode, %ebx = where to go in 64-bit mode. */
enter_long_mode:
	mov	$CR4_PAE, %eax
	mov	%eax, %cr4
	mov	$boot_pml4, %eax
	mov	%eax, %cr3
	mov	$MSR_EFER, %ecx
	rdmsr
	or	$EFER_LME, %eax
	wrmsr
	/* Also clears CD, NW, TS, EM as a ROM boot finds them; the engine owns TS, MP, NE, EM. */
	mov	$CR0_PG | CR0_WP | CR0_ET | CR0_PE, %eax
	mov	%eax, %cr0
	ljmp	$0x18, $3f
	.code64
3:	xor	%eax, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	%eax, %fs
	mov	%eax, %gs
	mov	%ebx, %ebx
	jmp	*%rbx

boot64:
	mov	$boot_stack_top, %esp
	xor	%ebp, %ebp
	call	lab_main
4:	hlt
	jmp	4b

ap64:
	mov	$1, %eax
	lock xadd %eax, ap_next_index
	cmp	$LAB_MAX_CPUS - 1, %eax
	jae	4b
	mov	%eax, %edi
	inc	%edi				/* the boot CPU is number 0 */
	mov	%edi, %esp
	shl	$14, %esp			/* 16 KiB each, ends are 1-based */
	add	$ap_stacks, %esp
	xor	%ebp, %ebp
	call	lab_ap_main
	jmp	4b

	.align	8
boot_gdt:
	.quad	0
	.quad	0x00cf9b000000ffff		/* 0x08: 32-bit code */
	.quad	0x00cf93000000ffff		/* 0x10: data */
	.quad	0x00af9b000000ffff		/* 0x18: 64-bit code */
boot_gdtr:
	.word	4 * 8 - 1
	.long	boot_gdt

/* ---- application processors: copied to AP_TRAMPOLINE, entered there in real mode ---- */
	.code16
	.globl	ap_trampoline, ap_trampoline_end
ap_trampoline:
	cli
	xor	%ax, %ax
	mov	%ax, %ds
	lgdtl	ap_gdtr - ap_trampoline + AP_TRAMPOLINE
	mov	$CR0_ET | CR0_PE, %eax
	mov	%eax, %cr0
	ljmpl	$0x08, $ap32
	.align	4
ap_gdtr:
	.word	4 * 8 - 1
	.long	boot_gdt
ap_trampoline_end:

	.code32
ap32:	mov	$0x10, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	$ap64, %ebx
	jmp	enter_long_mode

	.section .boot.bss, "aw", @nobits
	.align	4096
	.globl	boot_pml4, boot_pd_low
boot_pml4:
	.skip	4096
boot_pdpt:
	.skip	4096
boot_pd_low:
	.skip	4096
boot_pd_apic:
	.skip	4096
	.skip	16384
boot_stack_top:
ap_stacks:
	.skip	16384 * (LAB_MAX_CPUS - 1)
ap_next_index:
	.long	0
	.align	8

/* ---- the command line, which the runner writes behind the magic ---- */
	.section .args, "a"
	.globl	command_line
command_line:
	.asciz	"XSTLAB-ARGS-v1"
	.byte	0
command_text:
	.skip	ARGS_BYTES

/* ---- the last 256 bytes of the file, at 4 GiB - 256 when it is a ROM ---- */
#define ROM_STUB	0xffffff00
	.section .romstub, "ax"
	.code16
rom_stub:
	cli
	cld
	in	$0x92, %al			/* A20 on, no reset */
	or	$2, %al
	and	$0xfe, %al
	out	%al, $0x92
	lgdtl	%cs:(rom_gdtr - rom_stub + (ROM_STUB & 0xffff))
	mov	$CR0_ET | CR0_PE, %eax
	mov	%eax, %cr0
	ljmpl	$0x08, $(rom32 - rom_stub + ROM_STUB)
	.code32
rom32:	mov	$0x10, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	$0 - ROM_BYTES, %esi
	mov	$LOAD_ADDRESS, %edi
	mov	$ROM_BYTES / 4, %ecx
	rep movsl
	mov	$boot32, %eax
	jmp	*%eax
	.align	8
rom_gdt:
	.quad	0
	.quad	0x00cf9b000000ffff
	.quad	0x00cf93000000ffff
rom_gdtr:
	.word	3 * 8 - 1
	.long	rom_gdt - rom_stub + ROM_STUB

	.org	0xf0
	.code16
	jmp	rom_stub
	.org	0x100, 0

// SPDX-License-Identifier: BSD-2-Clause
/*
 * MMX copies as sections: what a kernel for CPUs without SSE copies pages with, from its first
 * moments on, when CR4.OSFXSR is not set and LDMXCSR would raise #UD.
 */
#include <xst/kernel.h>
#include <xst/insn.h>

#define BLOCK_BYTES 64u
/* Below, a section costs more than it gains. */
#define WORTH_BYTES 512u

/* Arguments on the stack, however the rest of a 32-bit kernel is compiled. */
#ifdef __x86_64__
#define CDECL
#else
#define CDECL __attribute__((cdecl, regparm(0)))
#endif

/* mmx.S: whole blocks; they leave the x87 stack as EMMS does. */
CDECL void xst_mmx_copy_blocks(void *to, const void *from, size_t blocks);
CDECL void xst_mmx_clear_blocks(void *to, size_t blocks);

static bool has_mmx(const struct xst_cpu *cpu)
{
	uint32_t a, b, c, d;

	if (cpu->sys)
		return cpu->sys->caps.mmx;
	/* Before bring-up nobody has asked yet. */
	if (!xst_has_cpuid())
		return false;
	xst_cpuid(1, 0, &a, &b, &c, &d);
	return d >> 23 & 1;
}

static bool begin(struct xst_cpu *cpu, size_t bytes)
{
	return bytes >= WORTH_BYTES && has_mmx(cpu) &&
	       (xst_section_state(&cpu->sections) == XST_SECTION_DOWN
			? xst_kernel_x87_ready(cpu)
			: xst_kernel_usable(cpu, XST_CONTEXT_TASK)) &&
	       xst_kernel_begin(cpu, XST_NEED_X87) == XST_OK;
}

void xst_mmx_copy(struct xst_cpu *cpu, void *to, const void *from, size_t bytes)
{
	const size_t blocks = bytes / BLOCK_BYTES, done = blocks * BLOCK_BYTES;

	if (!begin(cpu, bytes)) {
		__builtin_memcpy(to, from, bytes);
		return;
	}
	xst_mmx_copy_blocks(to, from, blocks);
	xst_kernel_end(cpu);
	if (bytes > done)
		__builtin_memcpy((uint8_t *)to + done, (const uint8_t *)from + done, bytes - done);
}

void xst_mmx_clear_page(struct xst_cpu *cpu, void *page)
{
	if (!begin(cpu, XST_PAGE_BYTES)) {
		__builtin_memset(page, 0, XST_PAGE_BYTES);
		return;
	}
	xst_mmx_clear_blocks(page, XST_PAGE_BYTES / BLOCK_BYTES);
	xst_kernel_end(cpu);
}

void xst_mmx_copy_page(struct xst_cpu *cpu, void *to, const void *from)
{
	xst_mmx_copy(cpu, to, from, XST_PAGE_BYTES);
}

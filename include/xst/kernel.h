/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In-kernel sections: the kernel uses vector, x87 or tile registers itself.
 *
 * A section says what it needs. Integer SIMD needs nothing: no control register changes what it
 * computes. Floating point needs XST_NEED_MXCSR, x87 and MMX need XST_NEED_X87; then the initial
 * values (MXCSR 1F80; FCW 037F, empty stack) are there at begin, loaded only when they are not in
 * place already.
 *
 *   the registers are          begin does
 *   the running task's (LIVE)  save them, once per stay in the kernel; then they are the kernel's
 *   another's only copy        save them to their owner's area; the same
 *   a copy of somebody's area  forget that
 *   the kernel's               nothing: the short path
 *
 * Initial values count as in place when the registers are INIT, when FNSAVE left them so, and when
 * begin loaded them; until a section begins that declares that need, since it may change flags that
 * stay set; and until a task's registers are loaded. Nothing is loaded back at end: that is the
 * return to user mode's business (or the first use's: lazy policies set CR0.TS at end).
 *
 * Components that a section does not need stay whose they are: AMX tiles are neither saved nor lost
 * by sections without XST_NEED_TILES; they are saved when the CPU goes to somebody else. One that has
 * it gets XFD cleared and the user's tiles saved, if they are in use, and puts both back at its end.
 *
 * Sections do not nest. They run with preemption off and interrupts on or off; from begin to end the
 * CPU must not go to another task. xst_section_begin() is the kind that may be preempted.
 *
 * Built with -DXST_CHECK_SECTIONS, what a section did not declare is poisoned at its begin, and what
 * it used is compared with what it declared at its end: XST_SECTION_REPORT(). Some uses leave no
 * trace; the project's docs/kernel-sections.md lists them.
 *
 * Registers that belong to no task are trusted to be as the library left them: code that uses them
 * outside of sections is a task's and needs a context. In user mode that is the program itself.
 */
#ifndef XST_KERNEL_H
#define XST_KERNEL_H

#include <xst/switch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a section needs; 0: integer SIMD only. */
#define XST_NEED_X87   1u /* x87 or MMX: FNINIT's values */
#define XST_NEED_MXCSR 2u /* SSE or AVX floating point: MXCSR 1F80; nothing on a CPU without SSE */
#define XST_NEED_TILES 4u /* AMX */

/* For code that does not say: compilers use SSE for floating point in 64-bit code, x87 in 32-bit. */
#ifdef __x86_64__
#define XST_NEED_DEFAULT XST_NEED_MXCSR
#else
#define XST_NEED_DEFAULT (XST_NEED_X87 | XST_NEED_MXCSR)
#endif
/* A call of UEFI firmware: FCW 037F and MXCSR 1F80.
 * Ref: UEFI Specification, "Handoff State" of x64 platforms */
#define XST_NEED_EFI (XST_NEED_X87 | XST_NEED_MXCSR)

/* Who asks whether a section may begin. */
enum xst_context {
	XST_CONTEXT_TASK,
	XST_CONTEXT_SOFTIRQ,
	XST_CONTEXT_HARDIRQ,        /* it interrupted code that has softirqs on */
	XST_CONTEXT_HARDIRQ_BH_OFF, /* it interrupted code that may be at work on the registers */
	XST_CONTEXT_NMI,            /* it may have interrupted anything */
};

/* What was wrong with a section. */
enum xst_misuse {
	XST_MISUSE_NESTED,     /* begun inside another one; it did not begin */
	XST_MISUSE_NOT_UP,     /* begun on a CPU that cannot; it did not begin */
	XST_MISUSE_NO_BEGIN,   /* ended without having begun */
	XST_MISUSE_UNDECLARED, /* used more than it declared; checking builds */
};

struct xst_section_report {
	enum xst_misuse misuse;
	const void *caller; /* of begin; of end for XST_MISUSE_NO_BEGIN */
	const void *outer;  /* XST_MISUSE_NESTED: the caller of the one that runs */
	unsigned declared;  /* XST_NEED_* */
	unsigned used;      /* XST_MISUSE_UNDECLARED: of all needs, those that left a trace */
};

/* Bytes of an area for a CPU's tiles: TILECFG and TILEDATA in the compacted format. */
#define XST_TILES_BYTES (XST_EXT_OFFSET + 64u + 8192u)

/**
 * xst_kernel_begin() - the kernel uses extended registers from here on.
 * @cpu:  this CPU.
 * @need: XST_NEED_*, any of them.
 *
 * On a CPU that is not up yet (CR4.OSFXSR clear, no state of anybody's) a section with XST_NEED_X87
 * alone may begin, unless CR0.EM or TS is set: x87 and MMX work there, SSE does not. @cpu is zeroed
 * memory then, but for its member world.
 *
 * Context: ring 0; preemption off until the end; interrupts on or off, also from an interrupt where
 *          xst_kernel_usable() says so. Never faults.
 * Return:  XST_OK; XST_ERR_NESTED inside another section; XST_ERR_NOT_UP; XST_ERR_UNSUPPORTED for
 *          tiles that this machine does not have or that have no area; XST_ERR_INVALID for other
 *          bits in @need. No section begins on error.
 */
static inline int xst_kernel_begin(struct xst_cpu *cpu, unsigned need);

/**
 * xst_kernel_end() - the end of the section.
 *
 * Context: as xst_kernel_begin().
 */
static inline void xst_kernel_end(struct xst_cpu *cpu);

/**
 * xst_kernel_usable() - may a section begin here and now?
 * @where: who asks.
 *
 * In a section of the other kind, below, the answer is yes: that one is resumed afterwards.
 *
 * Context: any; also on a CPU that is not up (no).
 */
static inline bool xst_kernel_usable(const struct xst_cpu *cpu, enum xst_context where)
{
	const enum xst_section_state state = xst_section_state(&cpu->sections);

	return (state == XST_SECTION_IDLE || state == XST_SECTION_WATCHED) &&
	       where <= XST_CONTEXT_HARDIRQ;
}

/**
 * xst_kernel_give_tiles() - memory for the user's tiles while sections use the registers.
 * @area:  64-byte aligned, the library's until the CPU goes; NULL takes it back.
 * @bytes: XST_TILES_BYTES or more.
 *
 * Context: ring 0, on @cpu, outside of sections.
 * Return:  XST_OK; XST_ERR_NOT_UP; XST_ERR_UNSUPPORTED without AMX in XCR0; XST_ERR_NEED_BYTES;
 *          XST_ERR_ALIGN.
 */
int xst_kernel_give_tiles(struct xst_cpu *cpu, void *area, size_t bytes);

/*
 * A section with a save area of its own, which the scheduler may take the CPU from. While it runs
 * its context is the task's: xst_switch() gets &section->ctx in place of the user's, and
 * xst_section_resume() comes before the task goes on. Its saves and loads count as a task's.
 */
struct xst_section {
	struct xst_ctx ctx;
	struct xst_ctx *user; /* whose task runs it; NULL for a kernel thread */
	const void *caller;
};

/**
 * xst_section_init() - prepare a section of that kind; as xst_ctx_init().
 */
int xst_section_init(const struct xst_system *sys, struct xst_section *section, void *area,
		     size_t bytes);

/**
 * xst_section_begin() - begin it; all registers are INIT, so XST_NEED_EFI is met.
 *
 * Context: ring 0, interrupts off, task context.
 * Return:  XST_OK; XST_ERR_NESTED inside a section of either kind; XST_ERR_NOT_UP.
 */
static inline int xst_section_begin(struct xst_cpu *cpu, struct xst_section *section);

/**
 * xst_section_resume() - before the running section goes on: after a switch to it, and after an
 * interrupt whose handler, or a call of its own code that, had a section of the other kind.
 *
 * Context: ring 0, interrupts off.
 */
void xst_section_resume(struct xst_cpu *cpu, struct xst_section *section);

/**
 * xst_section_end() - end it: the task's context is the user's again.
 *
 * One that does not run here is XST_MISUSE_NO_BEGIN, and nothing ends.
 *
 * Context: ring 0, interrupts off; on whichever CPU the task runs now.
 */
static inline void xst_section_end(struct xst_cpu *cpu, struct xst_section *section);

/*
 * MMX, for CPUs without SSE and for before CR4.OSFXSR: copy and clear in sections with XST_NEED_X87,
 * or by plain instructions where no section can be had. What is copied must not overlap its copy.
 * src/mmx.c, src/mmx.S; ring 0 and user mode.
 *
 * Context: as xst_kernel_begin(), and any in which it would be refused.
 */
#define XST_PAGE_BYTES 4096u
void xst_mmx_copy(struct xst_cpu *cpu, void *to, const void *from, size_t bytes);
void xst_mmx_clear_page(struct xst_cpu *cpu, void *page);
void xst_mmx_copy_page(struct xst_cpu *cpu, void *to, const void *from);

/* The longer ways; xst_kernel_begin() and xst_kernel_end() call them. */
int xst_kernel_begin_any(struct xst_cpu *cpu, unsigned need, const void *caller);
void xst_kernel_load_initial(struct xst_cpu *cpu, unsigned todo);
void xst_kernel_end_any(struct xst_cpu *cpu, const void *caller);
bool xst_kernel_x87_ready(const struct xst_cpu *cpu);
int xst_section_begin_any(struct xst_cpu *cpu, struct xst_section *section, const void *caller);
void xst_section_end_any(struct xst_cpu *cpu, struct xst_section *section, const void *caller);

/* Where the code is that has the section. */
static inline __attribute__((always_inline)) const void *xst_here(void)
{
	const void *here;

#if defined(__x86_64__)
	__asm__ volatile("lea 0(%%rip), %0" : "=r"(here));
#elif defined(__PIC__)
	__asm__ volatile("call 1f\n1:\tpop %0" : "=r"(here));
#else
	__asm__ volatile("mov $., %0" : "=r"(here));
#endif
	return here;
}

/* The short path: the registers are the kernel's, and nothing is to be done at the end. An interrupt
 * handler on this CPU sees the stores in the order of the text, so its begin is refused from the
 * first one on. */
static inline __attribute__((always_inline)) int xst_kernel_begin(struct xst_cpu *cpu, unsigned need)
{
	struct xst_sections *s = &cpu->sections;

	if (__builtin_expect(need <= (XST_NEED_X87 | XST_NEED_MXCSR) && s->run == XST_SECTION_IDLE,
			     1)) {
		s->run = XST_SECTION_RUN(XST_SECTION_BUSY, need, xst_here());
		__asm__ volatile("" : : : "memory");
		if (__builtin_expect((const void *)cpu->owner == (const void *)cpu &&
					     !(cpu->bits & (XST_B_TS | XST_B_LOAD_USE)),
				     1)) {
			cpu->n.kernel_sections++;
			if (need & ~(unsigned)s->in_place)
				xst_kernel_load_initial(cpu, need & ~(unsigned)s->in_place);
			/* Flags stay set: what is declared is no longer as it was loaded. */
			if (need)
				s->in_place = (uint8_t)(s->in_place & ~need);
			return XST_OK;
		}
		s->run = XST_SECTION_IDLE;
	}
	return xst_kernel_begin_any(cpu, need, xst_here());
}

static inline __attribute__((always_inline)) void xst_kernel_end(struct xst_cpu *cpu)
{
	struct xst_sections *s = &cpu->sections;

	if (__builtin_expect(xst_section_state(s) == XST_SECTION_BUSY, 1)) {
		__asm__ volatile("" : : : "memory");
		s->run = XST_SECTION_IDLE;
		return;
	}
	xst_kernel_end_any(cpu, xst_here());
}

static inline __attribute__((always_inline)) int xst_section_begin(struct xst_cpu *cpu,
								   struct xst_section *section)
{
	return xst_section_begin_any(cpu, section, xst_here());
}

static inline __attribute__((always_inline)) void xst_section_end(struct xst_cpu *cpu,
								  struct xst_section *section)
{
	xst_section_end_any(cpu, section, xst_here());
}

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: BSD-2-Clause
/*
 * In-kernel sections. The short path is in kernel.h, a handful of comparisons and stores; taking the
 * registers from a user, initial values and tiles are functions of their own.
 */
#include <xst/kernel.h>

#include "registers.h"

#ifdef XST_CHECK_SECTIONS
#include "section_check.h"
#endif

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* An interrupt handler on this CPU sees the stores in the order of the text. */
#define BARRIER() __asm__ volatile("" : : : "memory")

#define NEED_CONTROL (XST_NEED_X87 | XST_NEED_MXCSR)
#define NEED_ALL     (NEED_CONTROL | XST_NEED_TILES)

/* The registers' owner after a section: an address that no task has. */
static inline struct xst_ctx *kernel_owner(struct xst_cpu *cpu)
{
	return (struct xst_ctx *)(void *)cpu;
}

/* Saves that a section causes are counted apart. */
static void count_kernel_saves(struct xst_cpu *cpu, uint64_t saves_before)
{
	cpu->n.kernel_saves += cpu->n.saves - saves_before;
	cpu->n.saves = saves_before;
}

static inline bool is_running(const struct xst_cpu *cpu)
{
	const enum xst_section_state state = xst_section_state(&cpu->sections);

	return state == XST_SECTION_BUSY || state == XST_SECTION_WATCHED_BUSY ||
	       state == XST_SECTION_EARLY;
}

/* The preemptible section that the task is in, or NULL. */
static inline struct xst_section *own_section(const struct xst_cpu *cpu)
{
	return cpu->cur && cpu->cur->kind == XST_CTX_SECTION
		       ? (struct xst_section *)(void *)cpu->cur
		       : NULL;
}

/* Who began the section that runs. */
static const void *running_caller(const struct xst_cpu *cpu)
{
	const struct xst_section *own = own_section(cpu);

	return is_running(cpu) || !own ? xst_section_caller(&cpu->sections) : own->caller;
}

static XST_COLD int refuse(struct xst_cpu *cpu, enum xst_misuse misuse, const void *caller,
			   unsigned need, int err)
{
	const struct xst_section_report report = {
		.misuse = misuse,
		.caller = caller,
		.outer = misuse == XST_MISUSE_NESTED ? running_caller(cpu) : NULL,
		.declared = need,
	};

	XST_SECTION_REPORT(cpu, &report);
	return err;
}

/* Save what only the registers hold, and what initial values they hold then. */
static bits_t save_for_kernel(struct xst_cpu *cpu, bits_t b)
{
	struct xst_sections *s = &cpu->sections;
	const uint64_t saves = cpu->n.saves;

	if (b & XST_B_LIVE) {
		if (!XST_TWIN(SECTION_KEEPS_USER))
			b = has_live_tiles(cpu) ? save_but_tiles(cpu, cpu->cur, b)
						: save(cpu, cpu->cur, b, how_general(b));
	} else {
		b = evict(cpu, b);
	}
	/* FNSAVE does FNINIT. */
	s->in_place = cpu->n.saves != saves && insn_of(b) == XST_INSN_FNSAVE ? XST_NEED_X87 : 0;
	if (b & XST_B_INIT)
		s->in_place = NEED_CONTROL;
	if (XST_TWIN(SECTION_TRUSTS_USER))
		s->in_place = NEED_CONTROL;
	count_kernel_saves(cpu, saves);
	return b;
}

/* The registers become the kernel's. */
static void take(struct xst_cpu *cpu)
{
	const unsigned long flags = xst_w_irq_save(cpu->world);
	bits_t b = clear_ts(cpu, cpu->bits);

	XST_TRACE(cpu, "kernel-begin", cpu->cur);
	if (cpu->owner != kernel_owner(cpu)) {
		b = save_for_kernel(cpu, b);
		if (cpu->sections.form == XST_MXCSR_CLEAN && !(b & XST_B_INIT))
			xst_w_vzeroupper(cpu->world);
		if (!XST_TWIN(SECTION_KEEPS_OWNER))
			cpu->owner = kernel_owner(cpu);
		b &= ~(XST_B_INIT | XST_B_LIVE);
	}
	cpu->bits = b & ~XST_B_READY;
	xst_w_irq_restore(cpu->world, flags);
}

/* Initial values that are not in place. */
static void load_initial(struct xst_cpu *cpu, unsigned todo)
{
	struct xst_sections *s = &cpu->sections;

	s->in_place = (uint8_t)(s->in_place | (todo & NEED_CONTROL));
	if ((todo & XST_NEED_MXCSR) && s->form != XST_MXCSR_NONE) {
		cpu->n.kernel_init_mxcsr++;
		if (s->form == XST_MXCSR_LEGACY)
			xst_w_ldmxcsr(cpu->world, MXCSR_INIT);
		else
			xst_w_vldmxcsr(cpu->world, MXCSR_INIT);
	}
	if (todo & XST_NEED_X87) {
		cpu->n.kernel_init_x87++;
		xst_w_fninit(cpu->world);
	}
}

/* The tiles are another component with another owner: only this kind of section takes them. TS is
 * clear. */
static XST_COLD void take_tiles(struct xst_cpu *cpu)
{
	struct xst_sections *s = &cpu->sections;

	s->xfd = xst_w_xfd(cpu->world);
	if (s->xfd & XST_MASK_TILEDATA)
		xst_w_set_xfd(cpu->world, s->xfd & ~XST_MASK_TILEDATA);
	s->tiles_live = xst_w_xinuse(cpu->world) & XST_MASK_AMX;
	if (s->tiles_live) {
		cpu->n.kernel_saves++;
		xst_w_save(cpu->world, XST_INSN_XSAVEC, s->tiles, XST_MASK_AMX);
	}
}

static XST_COLD void give_tiles_back(struct xst_cpu *cpu)
{
	struct xst_sections *s = &cpu->sections;
	int vector = 0;

	xst_w_tilerelease(cpu->world);
	if (s->tiles_live)
		vector = xst_w_load(cpu->world, XST_INSN_XSAVEC, s->tiles, XST_MASK_AMX);
	XST_ASSERT(!vector);
	(void)vector;
	s->tiles_live = false;
	if (s->xfd & XST_MASK_TILEDATA)
		xst_w_set_xfd(cpu->world, s->xfd);
}

/* Nobody's registers yet, and SSE would raise #UD. */
static XST_COLD int begin_early(struct xst_cpu *cpu, unsigned need, const void *caller)
{
	struct xst_sections *s = &cpu->sections;

	if (need != XST_NEED_X87 || !xst_w_x87_ready(cpu->world))
		return refuse(cpu, XST_MISUSE_NOT_UP, caller, need, XST_ERR_NOT_UP);
	s->run = XST_SECTION_RUN(XST_SECTION_EARLY, XST_NEED_X87, caller);
	BARRIER();
	cpu->n.kernel_sections++;
	cpu->n.kernel_init_x87++;
	xst_w_fninit(cpu->world);
	return XST_OK;
}

static XST_COLD int begin_rare(struct xst_cpu *cpu, unsigned need, const void *caller)
{
	if (xst_section_state(&cpu->sections) == XST_SECTION_DOWN)
		return begin_early(cpu, need, caller);
	return refuse(cpu, XST_MISUSE_NESTED, caller, need, XST_ERR_NESTED);
}

/* The section's own code comes next. Flags stay set: what it declared is no longer as it was loaded. */
ALWAYS_INLINE int started(struct xst_cpu *cpu)
{
	struct xst_sections *s = &cpu->sections;

	if (!XST_TWIN(SECTION_FLAGS_STAY))
		s->in_place = (uint8_t)(s->in_place & ~xst_section_need(s));
#ifdef XST_CLOCK
	s->began = XST_CLOCK();
#endif
#ifdef XST_CHECK_SECTIONS
	section_poison(cpu);
#endif
	return XST_OK;
}

static XST_NOINLINE int begin_load(struct xst_cpu *cpu, unsigned todo)
{
	load_initial(cpu, todo);
	return started(cpu);
}

static XST_COLD int begin_take(struct xst_cpu *cpu, unsigned need)
{
	take(cpu);
	load_initial(cpu, need & ~(unsigned)cpu->sections.in_place);
	return started(cpu);
}

static XST_COLD int begin_tiles(struct xst_cpu *cpu, unsigned need)
{
	struct xst_sections *s = &cpu->sections;

	if (!s->tiles) {
		cpu->n.kernel_sections--;
		s->run = XST_SECTION_AT_REST;
		return XST_ERR_UNSUPPORTED;
	}
	take(cpu);
	take_tiles(cpu);
	load_initial(cpu, need & ~(unsigned)s->in_place);
	return started(cpu);
}

/* The caller's own comparisons found that something is to be done; or the library watches. */
int xst_kernel_begin_any(struct xst_cpu *cpu, unsigned need, const void *caller)
{
	struct xst_sections *s = &cpu->sections;
	enum xst_section_state at_work = XST_SECTION_AT_WORK;
	unsigned todo;

	if (UNLIKELY(need & ~NEED_ALL))
		return XST_ERR_INVALID;
	if (UNLIKELY(xst_section_state(s) != XST_SECTION_AT_REST))
		return begin_rare(cpu, need, caller);
	/* Their ends are not short: TS is to be set, or tiles to be given back. A policy that comes in
	 * the middle needs nothing here: it leaves the return to user mode to arm TS. */
	if (UNLIKELY(need & XST_NEED_TILES || cpu->bits & XST_B_LOAD_USE))
		at_work = XST_SECTION_WATCHED_BUSY;
	/* From here on an interrupt handler's begin is refused: the order makes it safe. */
	s->run = XST_SECTION_RUN(at_work, need, caller);
	BARRIER();
	cpu->n.kernel_sections++;
	if (UNLIKELY(need & XST_NEED_TILES))
		return begin_tiles(cpu, need);
	if (UNLIKELY(cpu->owner != kernel_owner(cpu) || cpu->bits & XST_B_TS))
		return begin_take(cpu, need);
	todo = need & ~(unsigned)s->in_place;
	return LIKELY(!todo) ? started(cpu) : begin_load(cpu, todo);
}

/* The short path found everything else in place. */
void xst_kernel_load_initial(struct xst_cpu *cpu, unsigned todo)
{
	load_initial(cpu, todo);
}

bool xst_kernel_x87_ready(const struct xst_cpu *cpu)
{
	return xst_w_x87_ready(cpu->world);
}

/* What an end is that is not the end of an ordinary section. */
static XST_COLD void end_rare(struct xst_cpu *cpu, const void *caller)
{
	if (xst_section_state(&cpu->sections) == XST_SECTION_EARLY)
		cpu->sections.run = XST_SECTION_DOWN;
	else
		(void)refuse(cpu, XST_MISUSE_NO_BEGIN, caller, 0, XST_ERR_INVALID);
}

/* Under a first-use policy the task's next use must trap again. */
static XST_COLD void arm_ts(struct xst_cpu *cpu)
{
	const unsigned long flags = xst_w_irq_save(cpu->world);

	cpu->bits = set_ts(cpu, cpu->bits);
	xst_w_irq_restore(cpu->world, flags);
}

void xst_kernel_end_any(struct xst_cpu *cpu, const void *caller)
{
	struct xst_sections *s = &cpu->sections;

	if (UNLIKELY(xst_section_state(s) != XST_SECTION_AT_WORK &&
		     xst_section_state(s) != XST_SECTION_WATCHED_BUSY)) {
		end_rare(cpu, caller);
		return;
	}
#ifdef XST_CHECK_SECTIONS
	section_compare(cpu);
#endif
#ifdef XST_CLOCK
	{
		const uint64_t took = XST_CLOCK() - s->began;

		/* A clock may be another CPU's after a resume. */
		if (took > cpu->n.section_longest && took >> 63 == 0)
			cpu->n.section_longest = took;
	}
#endif
	if (UNLIKELY(xst_section_need(s) & XST_NEED_TILES))
		give_tiles_back(cpu);
	if (UNLIKELY(cpu->bits & XST_B_LOAD_USE) && cpu->cur) {
		if (!XST_TWIN(SECTION_NO_TS))
			arm_ts(cpu);
		else
			cpu->bits |= XST_B_READY;
	}
	BARRIER();
	s->run = XST_SECTION_AT_REST;
}

int xst_kernel_give_tiles(struct xst_cpu *cpu, void *area, size_t bytes)
{
	struct xst_sections *s = &cpu->sections;

	if (xst_section_state(s) == XST_SECTION_DOWN)
		return XST_ERR_NOT_UP;
	if (!area) {
		s->tiles = NULL;
		return XST_OK;
	}
	if (cpu->sys->insn < XST_INSN_XSAVEC || !cpu->sys->xgetbv1 ||
	    (xst_w_xcr0(cpu->world) & XST_MASK_AMX) != XST_MASK_AMX)
		return XST_ERR_UNSUPPORTED;
	if (bytes < XST_TILES_BYTES)
		return XST_ERR_NEED_BYTES;
	if ((uintptr_t)area % XST_AREA_ALIGN)
		return XST_ERR_ALIGN;
	__builtin_memset(area, 0, XST_EXT_OFFSET);
	s->tiles = area;
	return XST_OK;
}

int xst_section_init(const struct xst_system *sys, struct xst_section *section, void *area,
		     size_t bytes)
{
	const int err = area ? xst_ctx_init(sys, &section->ctx, area, bytes) : XST_ERR_NEED_BYTES;

	if (err)
		return err;
	section->user = NULL;
	section->caller = NULL;
	section->ctx.kind = XST_CTX_SECTION;
	return XST_OK;
}

int xst_section_begin_any(struct xst_cpu *cpu, struct xst_section *section, const void *caller)
{
	if (xst_section_state(&cpu->sections) == XST_SECTION_DOWN)
		return refuse(cpu, XST_MISUSE_NOT_UP, caller, XST_NEED_EFI, XST_ERR_NOT_UP);
	if (is_running(cpu) || own_section(cpu) || section->caller)
		return refuse(cpu, XST_MISUSE_NESTED, caller, XST_NEED_EFI, XST_ERR_NESTED);
	section->caller = caller;
	section->user = cpu->cur;
	xst_ctx_exec(cpu, &section->ctx);
	/* The kernel's own accesses to user memory obey PKRU: the task's stays in force. */
	if (cpu->bits & XST_B_PKRU)
		section->ctx.pkru = xst_w_rdpkru(cpu->world);
	cpu->n.kernel_sections++;
	xst_switch(cpu, cpu->cur, &section->ctx);
	xst_section_resume(cpu, section);
	return XST_OK;
}

void xst_section_resume(struct xst_cpu *cpu, struct xst_section *section)
{
	XST_ASSERT(cpu->cur == &section->ctx);
	xst_return_to_user(cpu);
	/* First use is now. */
	if (!(cpu->bits & XST_B_LIVE))
		xst_validate(cpu, &section->ctx);
}

void xst_section_end_any(struct xst_cpu *cpu, struct xst_section *section, const void *caller)
{
	if (cpu->cur != &section->ctx || !section->caller) {
		(void)refuse(cpu, XST_MISUSE_NO_BEGIN, caller, 0, XST_ERR_INVALID);
		return;
	}
	section->caller = NULL;
	xst_ctx_exit(cpu, &section->ctx);
	xst_switch(cpu, NULL, section->user);
}

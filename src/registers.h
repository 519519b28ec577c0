/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of one CPU: whose they are, saving and loading them, and what need not be done.
 * The primitives under switch.c's events; private to the engine.
 *
 * The XST_TWIN_* defines break one primitive on purpose; tests build them to see that they are
 * caught. Nothing else defines them.
 */
#ifndef XST_REGISTERS_H
#define XST_REGISTERS_H

#include <xst/switch.h>
#include <xst/world.h>

/* Reasons to leave the short path; xst_cpu.extras. */
#define EXTRA_PKRU      1u
#define EXTRA_APART     2u
#define EXTRA_SKIP_INIT 4u
#define EXTRA_FIP       8u

#define MXCSR_INIT 0x1f80u

static inline uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static inline void clear_ts(struct xst_cpu *cpu)
{
	if (cpu->ts) {
		xst_w_clts(cpu->world);
		cpu->ts = false;
	}
}

static inline void set_ts(struct xst_cpu *cpu)
{
	if (!cpu->ts) {
#ifndef XST_TWIN_NO_TS
		xst_w_stts(cpu->world);
#endif
		cpu->ts = true;
	}
}

/* Another CPU may ask where a task's truth is while its home gives it back: the area must be
 * written before home says so, and read after. */
static inline void set_home(struct xst_ctx *ctx, uint32_t home)
{
	__atomic_store_n(&ctx->home, home, __ATOMIC_RELEASE);
}

/* Are all registers of the switch mask INIT? TS is clear. MXCSR is asked apart: CPUs differ in
 * whether XINUSE[1] counts it. Ref: SDM vol. 1, "Processor Tracking of XSAVE-Managed State" */
static inline bool registers_are_init(const struct xst_cpu *cpu)
{
	return !(xst_w_xinuse(cpu->world) & cpu->mask) && xst_w_mxcsr(cpu->world) == MXCSR_INIT;
}

/* Would a restore of this image give INIT registers? */
static inline bool image_is_init(const struct xst_cpu *cpu, const uint8_t *area)
{
	return !(get64(area + XST_HEADER_OFFSET) & cpu->mask) &&
	       (cpu->insn >= XST_INSN_XSAVEC || get32(area + 24) == MXCSR_INIT);
}

/* Make it so. XCOMP_BV is in place since xst_fresh_image(). */
static inline void make_image_init(uint8_t *area)
{
	const uint64_t none = 0;
	const uint32_t mxcsr = MXCSR_INIT;

	__builtin_memcpy(area + XST_HEADER_OFFSET, &none, sizeof(none));
	__builtin_memcpy(area + 24, &mxcsr, sizeof(mxcsr));
}

/* Save the registers into @ctx. TS is clear. Only FNSAVE leaves them unusable. */
static inline void save(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	if ((cpu->extras & EXTRA_SKIP_INIT) && registers_are_init(cpu)) {
		cpu->n.saves_elided++;
		cpu->init = true;
		make_image_init(ctx->area);
		return;
	}
	cpu->n.saves++;
#ifndef XST_TWIN_SKIP_SAVE
	xst_w_save(cpu->world, cpu->insn, ctx->area, cpu->mask);
#endif
	if (cpu->insn == XST_INSN_FNSAVE) {
		cpu->owner = NULL;
		cpu->init = false; /* FNINIT leaves the stack registers' contents */
	}
}

/* The registers hold the only copy of a task that does not run: write it to its area. */
static inline void evict(struct xst_cpu *cpu)
{
	struct xst_ctx *ctx = cpu->owner;
	bool ts = cpu->ts;

	if (!cpu->dirty)
		return;
	clear_ts(cpu);
	save(cpu, ctx);
	cpu->dirty = false;
	set_home(ctx, XST_NO_CPU);
	if (ts)
		set_ts(cpu);
}

/* Make sure that @ctx's area holds its truth, wherever its registers are. */
static inline void settle(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	uint32_t home = xst_ctx_home(ctx);

	if (home == cpu->id)
		evict(cpu);
	else if (home != XST_NO_CPU)
		XST_FETCH(cpu, home, ctx);
	XST_ASSERT(xst_ctx_home(ctx) == XST_NO_CPU);
}

static inline bool in_place(const struct xst_cpu *cpu, const struct xst_ctx *ctx)
{
#ifdef XST_TWIN_STALE_OWNER
	return cpu->owner == ctx;
#else
	return cpu->owner == ctx && ctx->last_cpu == cpu->id;
#endif
}

/* AMD and Hygon: a restore without a pending exception leaves the pointers of the task before.
 * Pending as hardware recomputes it, not as FSW.ES in the image says. */
static inline void scrub_fip(const struct xst_cpu *cpu, const uint8_t *area)
{
	const uint32_t fcw = get32(area) & 0xffff, fsw = get32(area) >> 16;

	if ((cpu->insn == XST_INSN_FXSAVE || (area[XST_HEADER_OFFSET] & XST_MASK_X87)) &&
	    !(fsw & ~fcw & 0x3f))
		xst_w_scrub_fip(cpu->world);
}

/* The image was refused: the task gets fresh state, and the caller can see why in ctx->fault. The
 * restore may have changed registers before it faulted, so everything is loaded anew. */
static __attribute__((noinline, cold)) void load_failed(struct xst_cpu *cpu, struct xst_ctx *ctx,
							 int vector)
{
	cpu->n.loads_failed++;
	ctx->fault = (uint8_t)vector;
	XST_TRACE(cpu, "load-failed", ctx);
	xst_fresh_image((enum xst_insn)cpu->insn, cpu->mask, ctx->area, cpu->sys->layout.bytes);
	vector = xst_w_load(cpu->world, cpu->insn, ctx->area, cpu->mask);
	XST_ASSERT(!vector);
}

/* Load @ctx. TS is clear. */
static inline void load(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	int vector = 0;

	if (cpu->dirty)
		evict(cpu);
	if (xst_ctx_home(ctx) != XST_NO_CPU)
		settle(cpu, ctx);
	cpu->owner = ctx;
	ctx->last_cpu = cpu->id;
	if (cpu->extras & (EXTRA_SKIP_INIT | EXTRA_FIP)) {
		if ((cpu->extras & EXTRA_SKIP_INIT) && image_is_init(cpu, ctx->area) &&
		    (cpu->init || registers_are_init(cpu))) {
			cpu->n.loads_elided_init++;
			return;
		}
		if (cpu->extras & EXTRA_FIP)
			scrub_fip(cpu, ctx->area);
	}
#ifndef XST_TWIN_SKIP_RESTORE
	vector = xst_w_load(cpu->world, cpu->insn, ctx->area, cpu->mask);
#endif
	if (__builtin_expect(vector, 0))
		load_failed(cpu, ctx, vector);
	else
		cpu->n.loads++;
}

/* Components that CR0.TS does not guard, in their own image. They are loaded before the others, so
 * that the other image is the last one restored from, as the modified optimisation wants it. */
static inline void save_apart(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	const struct xst_system *sys = cpu->sys;

	cpu->n.apart_saves++;
	xst_w_save(cpu->world, cpu->insn, ctx->area + sys->apart_offset, sys->apart);
}

/* The components are not guarded by TS, but the instruction is: #NM whatever the mask. */
static inline void load_apart(struct xst_cpu *cpu, const uint8_t *image)
{
	bool ts = cpu->ts;
	int vector;

	clear_ts(cpu);
	vector = xst_w_load(cpu->world, cpu->insn, image, cpu->sys->apart);
	if (__builtin_expect(vector, 0)) {
		vector = xst_w_load(cpu->world, cpu->insn, cpu->sys->fresh_apart, cpu->sys->apart);
		XST_ASSERT(!vector);
		cpu->n.apart_failed++;
	}
	cpu->n.apart_loads++;
	if (ts)
		set_ts(cpu);
}

/* Set the registers to INIT for nobody. TS is clear. */
static inline void clear_registers(struct xst_cpu *cpu)
{
	int vector;

	if (cpu->init)
		return;
	if (cpu->dirty)
		evict(cpu);
	cpu->n.clears++;
	if ((cpu->extras & EXTRA_FIP) && cpu->insn == XST_INSN_FXSAVE)
		xst_w_scrub_fip(cpu->world);
	vector = xst_w_load(cpu->world, cpu->insn, cpu->sys->fresh, cpu->mask);
	XST_ASSERT(!vector);
	(void)vector;
	cpu->owner = NULL;
	cpu->init = true;
}

#endif

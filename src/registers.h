/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of one CPU: whose they are, saving and loading them, and what need not be done.
 * The primitives under switch.c's events; private to the engine.
 */
#ifndef XST_REGISTERS_H
#define XST_REGISTERS_H

#include <xst/world.h>

#include "how.h"
#include "twin.h"

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

ALWAYS_INLINE bits_t clear_ts(struct xst_cpu *cpu, bits_t b)
{
	if (b & XST_B_TS)
		xst_w_clts(cpu->world);
	return b & ~XST_B_TS;
}

ALWAYS_INLINE bits_t set_ts(struct xst_cpu *cpu, bits_t b)
{
	if (!(b & XST_B_TS) && !XST_TWIN(NO_TS))
		xst_w_stts(cpu->world);
	return b | XST_B_TS;
}

/* Another CPU may ask where a task's truth is while its home gives it back: the area must be
 * written before home says so, and read after. */
static inline void set_home(struct xst_ctx *ctx, uint32_t home)
{
	__atomic_store_n(&ctx->home, home, __ATOMIC_RELEASE);
}

static inline void set_homeless(struct xst_ctx *ctx)
{
	set_home(ctx, ctx->area && !xst_ctx_is_guest(ctx) ? XST_NO_CPU : XST_NO_AREA);
}

/* Its area holds its truth and has the host's mask: nothing stands in the way of a restore. */
ALWAYS_INLINE bool is_plain(const struct xst_ctx *ctx)
{
	return __atomic_load_n(&ctx->home, __ATOMIC_ACQUIRE) == XST_NO_CPU;
}

/* Of a save or a load. */
ALWAYS_INLINE uint64_t mask_of(const struct xst_cpu *cpu, struct how how)
{
	return how.once ? how.mask : cpu->mask;
}

/* Are all registers of the switch mask INIT? TS is clear. MXCSR is asked apart unless XINUSE[1]
 * counts it, which CPUs differ in: STMXCSR and a look at what it stored cost 16 cycles on Zen 5.
 * Ref: SDM vol. 1, "Processor Tracking of XSAVE-Managed State" */
static inline bool registers_are_init(const struct xst_cpu *cpu)
{
	return !(xst_w_xinuse(cpu->world) & cpu->mask) &&
	       (cpu->xinuse_mxcsr || xst_w_mxcsr(cpu->world) == MXCSR_INIT);
}

/* Would a restore refuse this header? No save writes its reserved bytes, so only an edit can be. */
static inline bool header_is_odd(const struct xst_cpu *cpu, const uint8_t *h, enum xst_insn insn)
{
	const uint64_t compact = insn >= XST_INSN_XSAVEC ? XST_XCOMP_COMPACT | cpu->mask : 0;

	return (get64(h + 8) ^ compact) | get64(h + 16) | get64(h + 24) | get64(h + 32) |
	       get64(h + 40) | get64(h + 48) | get64(h + 56);
}

/* Would a restore of @ctx's image give INIT registers? One that it would refuse does not, and a
 * later load would lose what came in between. Where it was restored from on this CPU only saves
 * have written it since: an edit makes it nobody's, xst_ctx_changed(). */
ALWAYS_INLINE bool image_is_init(const struct xst_cpu *cpu, const struct xst_ctx *ctx,
				 enum xst_insn insn)
{
	const uint8_t *area = ctx->area;

	return !get64(area + XST_HEADER_OFFSET) &&
	       (insn >= XST_INSN_XSAVEC || get32(area + 24) == MXCSR_INIT) &&
	       (ctx->last_cpu == cpu->id || !header_is_odd(cpu, area + XST_HEADER_OFFSET, insn));
}

/* Make it so. XCOMP_BV is in place since xst_fresh_image(); the compacted forms take MXCSR from an
 * image only if it has SSE. */
ALWAYS_INLINE void make_image_init(uint8_t *area, enum xst_insn insn)
{
	const uint64_t none = 0;
	const uint32_t mxcsr = MXCSR_INIT;

	__builtin_memcpy(area + XST_HEADER_OFFSET, &none, sizeof(none));
	if (insn < XST_INSN_XSAVEC)
		__builtin_memcpy(area + 24, &mxcsr, sizeof(mxcsr));
}

/* A save or a load whose result is INIT: make it so without the instruction. TS is clear. */
ALWAYS_INLINE bool elide_save(struct xst_cpu *cpu, struct xst_ctx *ctx, enum xst_insn insn)
{
	if (!registers_are_init(cpu))
		return false;
	cpu->n.saves_elided++;
	make_image_init(ctx->area, insn);
	return true;
}

/* A mask with components of which XINUSE says nothing (supervisor), or that others change though
 * its owner has the registers (those that CR0.TS does not guard): a guest's. */
static inline bool is_hidden(uint64_t mask)
{
	return (mask & ~XST_MASK_TS_GUARDED) && !XST_TWIN(GUEST_ELIDED);
}

/* The same off the short path, for any form: to write MXCSR as well does no harm. */
static XST_COLD bool elide_save_rare(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	return !is_hidden(cpu->mask) && elide_save(cpu, ctx, XST_INSN_XSAVE);
}

/* Save the registers into @ctx. TS is clear. Only FNSAVE leaves them unusable. */
ALWAYS_INLINE bits_t save(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b, struct how how)
{
	if ((how.policy & XST_B_SKIP_INIT) &&
	    (how.plain ? elide_save(cpu, ctx, how.insn) : elide_save_rare(cpu, ctx)))
		return b | XST_B_INIT;
	cpu->n.saves++;
	/* The modified optimisation leaves out what it thinks is there. */
	if (XST_TWIN(WIPE_BEFORE_SAVE))
		__builtin_memset(ctx->area, 0, cpu->sys->layout.bytes);
	if (!XST_TWIN(SKIP_SAVE))
		xst_w_save(cpu->world, how.insn, ctx->area, mask_of(cpu, how));
	if (how.insn == XST_INSN_FNSAVE) {
		/* FNINIT leaves the stack registers' contents: nobody's, but not INIT. */
		cpu->owner = NULL;
		b &= ~XST_B_INIT;
	}
	return b;
}

/* The registers hold the only copy of a task that does not run: write it to its area. */
static XST_COLD bits_t evict_dirty(struct xst_cpu *cpu, bits_t b)
{
	struct xst_ctx *ctx = cpu->owner;
	const bits_t ts = b & XST_B_TS;

	b = save(cpu, ctx, clear_ts(cpu, b), how_general(b)) & ~XST_B_DIRTY;
	set_homeless(ctx);
	return ts ? set_ts(cpu, b) : b;
}

ALWAYS_INLINE bits_t evict(struct xst_cpu *cpu, bits_t b)
{
	return b & XST_B_DIRTY ? evict_dirty(cpu, b) : b;
}

/* Make sure that @ctx's area holds its truth, wherever its registers are, and that a guest's mask
 * is seen. While another CPU is asked, it may ask this one: the bits must be where xst_cpu_evict()
 * finds them. */
static XST_COLD bits_t settle(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b)
{
	const uint32_t home = xst_ctx_home(ctx);

	/* While it has the registers this CPU goes the general way. */
	if (xst_ctx_is_guest(ctx) && ctx->dynamic)
		b = (b & ~B_WAYS) | XST_B_MASK;
	if (home == cpu->id)
		return evict(cpu, b);
	if (home == XST_NO_CPU)
		return b;
	cpu->bits = b;
	XST_FETCH(cpu, home, ctx);
	XST_ASSERT(xst_ctx_home(ctx) == XST_NO_CPU);
	return cpu->bits;
}

static inline bool in_place(const struct xst_cpu *cpu, const struct xst_ctx *ctx)
{
	return cpu->owner == ctx && (ctx->last_cpu == cpu->id || XST_TWIN(STALE_OWNER)) &&
	       !XST_TWIN(KEEP_FORGETS);
}

/* AMD and Hygon: a restore without a pending exception leaves the pointers of the task before.
 * Pending as hardware recomputes it, not as FSW.ES in the image says. */
ALWAYS_INLINE void scrub_fip(const struct xst_cpu *cpu, const uint8_t *area, enum xst_insn insn)
{
	const uint32_t fcw_fsw = get32(area);

	if ((insn == XST_INSN_FXSAVE || (area[XST_HEADER_OFFSET] & XST_MASK_X87)) &&
	    !((fcw_fsw >> 16) & ~fcw_fsw & 0x3f))
		xst_w_scrub_fip(cpu->world);
}

/* The image was refused: the task gets fresh state, and the caller can see why in ctx->fault. The
 * restore may have changed registers before it faulted, so everything is loaded anew. */
static XST_COLD void load_failed(struct xst_cpu *cpu, struct xst_ctx *ctx, int vector)
{
	/* What only another guest had becomes INIT here too: the image has no room for it. */
	const uint64_t mask = cpu->mask | (cpu->sys->xss & ~cpu->sys->apart);

	cpu->n.loads_failed++;
	ctx->fault = (uint8_t)vector;
	XST_TRACE(cpu, "load-failed", ctx);
	xst_fresh_image(insn_of(cpu->bits), cpu->mask, ctx->area, cpu->sys->layout.bytes);
	vector = xst_w_load(cpu->world, insn_of(cpu->bits), ctx->area, mask);
	XST_ASSERT(!vector);
}

/* Make tiles that the owner may have INIT. TS is clear. Were there any? */
static XST_COLD bool release_tiles(struct xst_cpu *cpu)
{
	const struct xst_system *sys = cpu->sys;

	if (!(cpu->mask & sys->dynamic) ||
	    (sys->xgetbv1 && !(xst_w_xinuse(cpu->world) & XST_MASK_AMX)))
		return false;
	xst_w_tilerelease(cpu->world);
	return true;
}

/* What a guest that is the owner has beyond any host's mask. */
static inline uint64_t guests_own(const struct xst_cpu *cpu)
{
	return cpu->mask & ~(cpu->sys->mask | cpu->sys->dynamic);
}

/* The registers become @ctx's: enable what is dynamic in its area and no more, before its restore,
 * which would fault. What it has no room for is INIT, so it is nobody's when it comes back: tiles
 * at once, a guest's own by the load. Returns that. */
static XST_COLD uint64_t own_mask(struct xst_cpu *cpu, const struct xst_ctx *ctx)
{
	const struct xst_system *sys = cpu->sys;
	const uint64_t mask = sys->mask | ctx->dynamic, xfd = sys->dynamic & ~mask;
	const uint64_t gone = guests_own(cpu) & ~mask & ~sys->apart;

	/* A host's image never has what only guests have: heard of before a save could write it. */
	XST_ASSERT(xst_ctx_is_guest(ctx) || !(mask & XST_MASK_GUEST_ONLY));
	if (!xst_ctx_is_guest(ctx))
		cpu->bits = (cpu->bits & ~XST_B_MASK) | cpu->fixed;
	if (cpu->mask == mask)
		return 0;
	if ((xfd & cpu->mask) && !XST_TWIN(TILES_LEFT))
		(void)release_tiles(cpu);
	cpu->mask = mask;
	if (cpu->xfd != xfd) {
		cpu->xfd = xfd;
		xst_w_set_xfd(cpu->world, xfd);
	}
	return XST_TWIN(GUEST_LEFT) ? 0 : gone;
}

ALWAYS_INLINE void finish_load(struct xst_cpu *cpu, struct xst_ctx *ctx, enum xst_insn insn,
			       uint64_t mask)
{
	int vector = 0;

	if (!XST_TWIN(SKIP_RESTORE))
		vector = xst_w_load_at(cpu->world, insn, ctx->area, mask, &ctx->fault);
	if (__builtin_expect(!vector, 1))
		cpu->n.loads++;
	else
		load_failed(cpu, ctx, vector);
}

/* A function of its own, jumped to: on machines without IA32_XFD the others then need no frame. What
 * else must be INIT the compacted form makes so, @ctx's image having no room for it. */
static XST_NOINLINE void finish_load_mask(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	const uint64_t gone = XST_TWIN(XFD_LATE) ? 0 : own_mask(cpu, ctx);

	if (cpu->bits & XST_B_FIP)
		scrub_fip(cpu, ctx->area, insn_of(cpu->bits));
	finish_load(cpu, ctx, insn_of(cpu->bits), cpu->mask | gone);
	if (XST_TWIN(XFD_LATE))
		(void)own_mask(cpu, ctx);
}

/*
 * A section needs no tiles: they stay in the registers while all else is saved and becomes the
 * kernel's (XST_B_TILES). Either the task returns and what was saved is loaded beside them, or
 * somebody else comes, and they are saved too. The CPU goes the general way meanwhile. A guest's
 * image is laid out in its own way, and its tiles are saved with the rest.
 */
static inline bool has_live_tiles(const struct xst_cpu *cpu)
{
	return (cpu->bits & XST_B_MASK) && !xst_ctx_is_guest(cpu->cur) &&
	       (cpu->mask & cpu->sys->dynamic) && cpu->sys->xgetbv1 &&
	       (xst_w_xinuse(cpu->world) & XST_MASK_AMX);
}

/* Save all of @ctx but its tiles. TS is clear. */
static XST_COLD bits_t save_but_tiles(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b)
{
	cpu->n.saves++;
	xst_w_save(cpu->world, insn_of(b), ctx->area, cpu->mask & ~XST_MASK_AMX);
	return (b & ~B_WAYS) | XST_B_TILES;
}

/* Into a compacted image, which no save adds to: an image of the tiles alone, so placed that they
 * lie where they belong. Its header is put over what lies before them. */
static XST_COLD uint64_t save_tiles_there(struct xst_cpu *cpu, uint8_t *area)
{
	uint8_t *to = area + cpu->sys->grown.offset[XST_COMP_TILECFG] - XST_EXT_OFFSET;
	uint8_t before[XST_EXT_OFFSET - XST_HEADER_OFFSET];
	uint64_t bv;

	__builtin_memcpy(before, to + XST_HEADER_OFFSET, sizeof(before));
	__builtin_memset(to + XST_HEADER_OFFSET, 0, sizeof(before));
	xst_w_save(cpu->world, XST_INSN_XSAVEC, to, XST_MASK_AMX);
	bv = get64(to + XST_HEADER_OFFSET);
	__builtin_memcpy(to + XST_HEADER_OFFSET, before, sizeof(before));
	return bv;
}

/* They go to their area as well: @ctx's image is whole again. */
static XST_COLD bits_t save_tiles(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b)
{
	uint8_t *header = ctx->area + XST_HEADER_OFFSET;
	const bits_t ts = b & XST_B_TS;
	uint64_t v;

	b = clear_ts(cpu, b);
	cpu->n.saves++;
	if (XST_TWIN(SECTION_DROPS_TILES)) {
		b = b & ~XST_B_TILES;
	} else if (insn_of(b) < XST_INSN_XSAVEC) {
		xst_w_save(cpu->world, XST_INSN_XSAVE, ctx->area, XST_MASK_AMX);
	} else {
		v = get64(header) | (save_tiles_there(cpu, ctx->area) & XST_MASK_AMX);
		__builtin_memcpy(header, &v, sizeof(v));
		v = get64(header + 8) | XST_MASK_AMX;
		__builtin_memcpy(header + 8, &v, sizeof(v));
	}
	b = (b & ~XST_B_TILES) | cpu->fixed;
	return ts ? set_ts(cpu, b) : b;
}

/* The registers are whole again: @ctx's, who is running, and was asked for. */
static XST_COLD bits_t load_but_tiles(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b)
{
	int vector;

	XST_ASSERT(ctx == cpu->cur);
	b = clear_ts(cpu, b);
	cpu->n.validations++;
	cpu->owner = ctx;
	ctx->last_cpu = cpu->id;
	vector = xst_w_load(cpu->world, insn_of(b), ctx->area, cpu->mask & ~XST_MASK_AMX);
	if (vector)
		load_failed(cpu, ctx, vector);
	else
		cpu->n.loads++;
	return (b & ~(XST_B_TILES | XST_B_INIT)) | cpu->fixed | XST_B_LIVE | XST_B_READY;
}

/* May this load be left out? TS is clear. */
ALWAYS_INLINE bool elide_load(struct xst_cpu *cpu, const struct xst_ctx *ctx, bits_t b,
			      enum xst_insn insn)
{
	if (!image_is_init(cpu, ctx, insn) || !((b & XST_B_INIT) || registers_are_init(cpu)))
		return false;
	cpu->n.loads_elided_init++;
	return true;
}

/* The same off the short path. */
static XST_COLD bool elide_load_rare(struct xst_cpu *cpu, const struct xst_ctx *ctx, bits_t b)
{
	return !is_hidden(cpu->mask | ctx->dynamic) && elide_load(cpu, ctx, b, insn_of(b));
}

/* The registers are @ctx's from now on. */
ALWAYS_INLINE void own(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b, struct how how)
{
	cpu->owner = ctx;
	ctx->last_cpu = cpu->id;
	if (!how.steady)
		cpu->bits = (b & ~XST_B_INIT) | XST_B_LIVE | XST_B_READY;
}

/* finish_validate() where nothing is known; switch.c has the one copy of it. */
__attribute__((visibility("hidden"))) void xst_validate(struct xst_cpu *cpu, struct xst_ctx *ctx);

/* They are. If they were this task's only copy, they are in use again. */
ALWAYS_INLINE void finish_kept(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b, struct how how)
{
	cpu->n.validations++;
	if (!XST_TWIN(MISCOUNT))
		cpu->n.loads_skipped_owner++;
	if (!how.plain && (b & XST_B_DIRTY))
		set_homeless(ctx);
	cpu->bits = (b & ~(XST_B_DIRTY | XST_B_INIT)) | XST_B_LIVE | XST_B_READY;
}

/* The running task's registers must be in place now, and then the event is over. The bits are
 * written before the restore: it does not change them, and nothing follows it. */
ALWAYS_INLINE void finish_validate(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b,
				   struct how how)
{
	if (!how.plain && (b & XST_B_TILES)) {
		cpu->bits = load_but_tiles(cpu, ctx, b);
		return;
	}
	b = clear_ts(cpu, b);
	if ((how.policy & XST_B_KEEP) && in_place(cpu, ctx)) {
		finish_kept(cpu, ctx, b, how);
		return;
	}
	cpu->n.validations++;
	if (!how.plain)
		b = evict(cpu, b);
	if (!how.plain && !is_plain(ctx) && !XST_TWIN(NO_FETCH))
		b = settle(cpu, ctx, b);
	if ((how.policy & XST_B_SKIP_INIT) && (how.plain ? elide_load(cpu, ctx, b, how.insn)
							 : elide_load_rare(cpu, ctx, b))) {
		own(cpu, ctx, b, how);
		if (b & XST_B_MASK)
			(void)own_mask(cpu, ctx);
		return;
	}
	own(cpu, ctx, b, how);
	/* What some machines need before. */
	if (b & (XST_B_FIP | XST_B_MASK)) {
		if (b & XST_B_MASK) {
			finish_load_mask(cpu, ctx);
			return;
		}
		scrub_fip(cpu, ctx->area, how.insn);
	}
	finish_load(cpu, ctx, how.insn, mask_of(cpu, how));
}

/* Components that CR0.TS does not guard, in their own image; the instructions that move them are
 * guarded all the same: #NM whatever the mask. They are loaded before the others, so
 * that the other image is the last one restored from, as the modified optimisation wants it. */
static XST_COLD bits_t save_apart(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b)
{
	const struct xst_system *sys = cpu->sys;
	const bits_t ts = b & XST_B_TS;

	b = clear_ts(cpu, b);
	cpu->n.apart_saves++;
	xst_w_save(cpu->world, insn_of(b), xst_ctx_apart(sys, ctx), sys->apart);
	return ts ? set_ts(cpu, b) : b;
}

/* @ctx may enter user mode on registers that are a guest's, and not all of that waits for its first
 * use. */
static XST_COLD bits_t disown_guest(struct xst_cpu *cpu, const struct xst_ctx *ctx, bits_t b)
{
	const struct xst_system *sys = cpu->sys;
	const uint64_t own = guests_own(cpu);
	int vector = 0;

	if (!own || xst_ctx_is_guest(ctx) || XST_TWIN(GUEST_KEPT))
		return b;
	b = clear_ts(cpu, evict(cpu, b));
	if (own & ~sys->apart)
		vector = xst_w_load(cpu->world, insn_of(b), sys->fresh_apart, own & ~sys->apart);
	XST_ASSERT(!vector);
	(void)vector;
	cpu->owner = NULL;
	cpu->mask &= ~own;
	return (b & ~XST_B_MASK) | cpu->fixed;
}

static XST_COLD bits_t load_apart(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b)
{
	const struct xst_system *sys = cpu->sys;
	const bits_t ts = b & XST_B_TS;
	uint8_t *image = xst_ctx_apart(sys, ctx);
	int vector;

	if (xst_ctx_is_guest(ctx))
		return b; /* which has one image */
	b = clear_ts(cpu, disown_guest(cpu, ctx, b)) | XST_B_APART_LIVE;
	cpu->n.apart_loads++;
	vector = xst_w_load_at(cpu->world, insn_of(b), image, sys->apart, &ctx->fault);
	if (vector) {
		cpu->n.apart_failed++;
		ctx->fault = (uint8_t)vector;
		/* In memory too: no save writes all of the header, so every later load would
		 * fault. */
		xst_fresh_image(insn_of(b), sys->apart, image, sys->apart_layout.bytes);
		vector = xst_w_load_at(cpu->world, insn_of(b), sys->fresh_apart, sys->apart,
				       &ctx->fault);
		XST_ASSERT(!vector);
	}
	return ts ? set_ts(cpu, b) : b;
}

/* @ctx may enter user mode: its first use will trap. */
ALWAYS_INLINE void finish_arm(struct xst_cpu *cpu, const struct xst_ctx *ctx, bits_t b,
			      struct how how)
{
	if (!how.plain && (b & XST_B_MASK))
		b = disown_guest(cpu, ctx, b);
	cpu->bits = set_ts(cpu, b) | XST_B_READY;
}

/* Set the registers to INIT for nobody. TS is clear. */
static XST_COLD bits_t clear_registers(struct xst_cpu *cpu, bits_t b)
{
	int vector;

	if (b & XST_B_INIT)
		return b;
	b = evict(cpu, b);
	cpu->n.clears++;
	if ((b & XST_B_FIP) && insn_of(b) == XST_INSN_FXSAVE)
		xst_w_scrub_fip(cpu->world);
	/* Not by a restore: in the standard format it would touch where they lie, behind the
	 * struct. */
	(void)release_tiles(cpu);
	vector = xst_w_load(cpu->world, insn_of(b), cpu->sys->fresh, cpu->sys->mask);
	XST_ASSERT(!vector);
	(void)vector;
	cpu->owner = NULL;
	return b | XST_B_INIT;
}

#endif

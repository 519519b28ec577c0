// SPDX-License-Identifier: BSD-2-Clause
/*
 * The events beside the switch path: a task begins, grows, is looked at, edited, copied, replaced,
 * moved, ends; a CPU's policy changes. Each finds out where the task's truth is (switch.h) before it
 * touches it.
 */
#include "registers.h"

static void fresh(const struct xst_system *sys, struct xst_ctx *ctx)
{
	ctx->dynamic = 0;
	if (ctx->area) {
		xst_fresh_image(sys->insn, sys->mask, ctx->area, sys->layout.bytes);
		if (sys->apart)
			xst_fresh_image(sys->insn, sys->apart, xst_ctx_apart(sys, ctx),
					sys->apart_layout.bytes);
	}
	if (!XST_TWIN(REUSED_ADDRESS))
		ctx->last_cpu = XST_NO_CPU;
	ctx->pkru = sys->init_pkru;
	ctx->use_row = 0;
	ctx->blind = 0;
	ctx->fault = 0;
}

static int check_area(const struct xst_system *sys, const void *area, size_t bytes)
{
	if (bytes < sys->ctx_bytes)
		return XST_ERR_NEED_BYTES;
	return (uintptr_t)area % XST_AREA_ALIGN ? XST_ERR_ALIGN : XST_OK;
}

int xst_ctx_init(const struct xst_system *sys, struct xst_ctx *ctx, void *area, size_t bytes)
{
	int err;

	if (!area && !bytes)
		/* Nothing would trap on the first use of what TS does not guard. */
		err = XST_WORLD_HAS_TS && !sys->apart ? XST_OK : XST_ERR_UNSUPPORTED;
	else
		err = check_area(sys, area, bytes);
	if (err)
		return err;
	ctx->area = area;
	ctx->kind = XST_CTX_TASK;
	set_homeless(ctx);
	fresh(sys, ctx);
	return XST_OK;
}

int xst_ctx_attach(struct xst_cpu *cpu, struct xst_ctx *ctx, void *area, size_t bytes)
{
	int err = check_area(cpu->sys, area, bytes);
	const uint32_t pkru = ctx->pkru;

	if (err)
		return err;
	if (ctx->area)
		return XST_ERR_INVALID;
	ctx->area = area;
	set_homeless(ctx);
	fresh(cpu->sys, ctx);
	ctx->pkru = pkru;
	if (ctx != cpu->cur)
		return XST_OK;
	cpu->n.first_uses++;
	xst_validate(cpu, ctx);
	/* Under a first-use policy this slot is one that used the registers. */
	if (cpu->bits & XST_B_LOAD_USE) {
		cpu->slot = XST_SLOT_USED;
		cpu->bits |= XST_B_SLOT;
	}
	return XST_OK;
}

void xst_ctx_flush(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	bits_t b = cpu->bits;

	XST_TRACE(cpu, "flush", ctx);
	if (ctx == cpu->cur && (b & XST_B_PKRU))
		ctx->pkru = xst_w_rdpkru(cpu->world);
	if (!ctx->area)
		return;
	if (ctx == cpu->cur && (b & XST_B_APART_LIVE))
		b = save_apart(cpu, ctx, b);
	if (ctx == cpu->cur && (b & XST_B_TILES))
		b = save_tiles(cpu, ctx, b);
	if (ctx == cpu->cur && (b & XST_B_LIVE)) {
		/* Still the task's, who may write them: not known to be INIT afterwards. */
		b = save(cpu, ctx, b, how_general(b)) & ~XST_B_INIT;
		if (XST_TWIN(OTHER_MASK))
			xst_w_save(cpu->world, insn_of(b), ctx->area, XST_MASK_X87);
		if (insn_of(b) == XST_INSN_FNSAVE)
			b &= ~(XST_B_LIVE | XST_B_READY);
	} else {
		b = settle(cpu, ctx, b);
	}
	cpu->bits = b;
}

/* All that an image's header names. */
static uint64_t named(const uint8_t *image)
{
	return (get64(image + XST_HEADER_OFFSET) | get64(image + XST_HEADER_OFFSET + 8)) &
	       ~XST_XCOMP_COMPACT;
}

int xst_ctx_check(const struct xst_system *sys, const struct xst_ctx *ctx, struct xst_diag *diag)
{
	const struct xst_profile *profile = xst_ctx_is_guest(ctx) ? &sys->guest : &sys->host;
	int err = xst_profile_check(sys, profile, sys->mask | ctx->dynamic, diag);

	if (err || !ctx->area || sys->insn < XST_INSN_XSAVE)
		return err;
	err = xst_profile_check(sys, profile, named(ctx->area), diag);
	if (!err && sys->apart && !xst_ctx_is_guest(ctx))
		err = xst_profile_check(sys, profile, named(xst_ctx_apart(sys, ctx)), diag);
	return err;
}

/* Nothing in the registers is the running task's. */
static void forget_current(struct xst_cpu *cpu, bits_t state)
{
	if (cpu->bits & XST_B_TILES)
		cpu->bits = (cpu->bits & ~XST_B_TILES) | cpu->fixed;
	cpu->bits &= ~state;
}

void xst_ctx_changed(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	XST_ASSERT(xst_ctx_check(cpu->sys, ctx, NULL) != XST_ERR_GUEST_ONLY);
	if (!XST_TWIN(EDIT_KEPT))
		ctx->last_cpu = XST_NO_CPU;
	if (cpu->owner == ctx && !XST_TWIN(EDIT_KEPT)) {
		cpu->owner = NULL;
		cpu->bits &= ~XST_B_DIRTY;
	}
	set_homeless(ctx);
	if (ctx != cpu->cur)
		return;
	XST_TRACE(cpu, "changed", ctx);
	forget_current(cpu, XST_B_LIVE | XST_B_APART_LIVE | XST_B_READY);
	if ((cpu->bits & XST_B_PKRU) && xst_w_rdpkru(cpu->world) != ctx->pkru)
		xst_w_wrpkru(cpu->world, ctx->pkru);
}

/* Both images of @from into the area of @to, which has room for what is dynamic or not. That is INIT
 * in the copy, wherever it comes from. */
static void copy_images(const struct xst_system *sys, const struct xst_ctx *from,
			const struct xst_ctx *to)
{
	uint8_t *header = to->area + XST_HEADER_OFFSET;
	uint64_t v;

	if (to->area != from->area)
		__builtin_memcpy(to->area, from->area, sys->layout.bytes);
	if (sys->apart)
		__builtin_memcpy(xst_ctx_apart(sys, to), xst_ctx_apart(sys, from),
				 sys->apart_layout.bytes);
	if (!sys->dynamic)
		return;
	v = get64(header) & ~sys->dynamic;
	__builtin_memcpy(header, &v, sizeof(v));
	v = (get64(header + 8) & ~sys->dynamic) |
	    (sys->insn >= XST_INSN_XSAVEC ? to->dynamic : 0);
	__builtin_memcpy(header + 8, &v, sizeof(v));
}

int xst_ctx_grow(struct xst_cpu *cpu, struct xst_ctx *ctx, const struct xst_perm *perm, void *area,
		 size_t bytes, struct xst_diag *diag)
{
	const struct xst_system *sys = cpu->sys;
	struct xst_ctx grown = *ctx;

	if (!ctx->area || ctx->dynamic || xst_ctx_is_guest(ctx) || !sys->dynamic)
		return xst_diag_set(diag, XST_ERR_INVALID, XST_COMP_TILEDATA, 0, sys->dynamic,
				    ctx->dynamic, "no area yet, or room already");
	if (sys->dynamic & ~perm->host) {
		cpu->n.refusals++;
		return xst_diag_set(diag, XST_ERR_DENIED, XST_COMP_TILEDATA, 0, sys->dynamic,
				    perm->host, "the process did not ask for the component");
	}
	if (bytes < sys->grown_bytes)
		return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_COMP_TILEDATA, 0, sys->grown_bytes,
				    bytes, "the area has no room for the component");
	if ((uintptr_t)area % XST_AREA_ALIGN)
		return xst_diag_set(diag, XST_ERR_ALIGN, XST_DIAG_NO_COMPONENT, 0, XST_AREA_ALIGN,
				    (uintptr_t)area, "the area is not aligned");
	XST_TRACE(cpu, "grow", ctx);
	cpu->n.grows++;
	xst_ctx_flush(cpu, ctx);
	grown.area = area;
	grown.dynamic = sys->dynamic;
	copy_images(sys, ctx, &grown);
	ctx->area = grown.area;
	ctx->dynamic = grown.dynamic;
	xst_ctx_changed(cpu, ctx);
	return XST_OK;
}

void xst_ctx_fork(struct xst_cpu *cpu, struct xst_ctx *parent, struct xst_ctx *child)
{
	XST_ASSERT(!xst_ctx_is_guest(parent));
	XST_TRACE(cpu, "fork", child);
	xst_ctx_flush(cpu, parent);
	child->pkru = parent->pkru;
	XST_ASSERT(child->area || !parent->area);
	if (parent->area) {
		copy_images(cpu->sys, parent, child);
		if (XST_TWIN(TILES_FORKED) && parent->dynamic) {
			child->dynamic = parent->dynamic;
			__builtin_memcpy(child->area, parent->area, cpu->sys->grown_bytes);
		}
	}
	if (!XST_TWIN(REUSED_ADDRESS))
		child->last_cpu = XST_NO_CPU;
	child->use_row = 0;
	child->blind = 0;
	child->fault = 0;
}

/* Forget @ctx's registers, wherever they are. */
static void drop(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	const uint32_t home = xst_ctx_home(ctx);

	if (home != XST_NO_CPU && home != cpu->id)
		XST_FETCH(cpu, home, ctx);
	if (XST_TWIN(REUSED_ADDRESS))
		return;
	if (cpu->owner == ctx) {
		cpu->owner = NULL;
		cpu->bits &= ~XST_B_DIRTY;
	}
	set_homeless(ctx);
	ctx->last_cpu = XST_NO_CPU;
}

void xst_ctx_exec(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	XST_ASSERT(!xst_ctx_is_guest(ctx));
	XST_TRACE(cpu, "exec", ctx);
	drop(cpu, ctx);
	fresh(cpu->sys, ctx);
	xst_ctx_changed(cpu, ctx);
}

void xst_ctx_exit(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	XST_TRACE(cpu, "exit", ctx);
	drop(cpu, ctx);
	if (ctx != cpu->cur)
		return;
	cpu->cur = NULL;
	cpu->slot = XST_SLOT_UNKNOWN;
	forget_current(cpu, XST_B_LIVE | XST_B_APART_LIVE | XST_B_READY | XST_B_SLOT);
}

void xst_cpu_evict(struct xst_cpu *cpu)
{
	XST_TRACE(cpu, "evict", cpu->owner);
	cpu->bits = evict(cpu, cpu->bits);
}

void xst_cpu_idle(struct xst_cpu *cpu)
{
	bits_t b = cpu->bits;
	const bits_t ts = b & XST_B_TS;

	XST_ASSERT(!cpu->cur);
	if (!cpu->sys->dynamic)
		return;
	XST_TRACE(cpu, "idle", cpu->owner);
	b = clear_ts(cpu, evict(cpu, b));
	/* The owner's registers are no longer all there. */
	if (release_tiles(cpu) && !XST_TWIN(IDLE_KEPT))
		cpu->owner = NULL;
	cpu->bits = ts ? set_ts(cpu, b) : b;
}

void xst_ctx_migrate(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	XST_TRACE(cpu, "migrate", ctx);
	cpu->bits = settle(cpu, ctx, cpu->bits);
}

static int check_policy(const struct xst_cpu *cpu, const struct xst_policy *policy, unsigned flags,
			struct xst_diag *diag)
{
	int err = xst_policy_check(policy, diag);

	if (err)
		return err;
	if (policy->load == XST_LOAD_FIRST_USE && !XST_WORLD_HAS_TS)
		return xst_diag_set(diag, XST_ERR_UNSUPPORTED, XST_DIAG_NO_COMPONENT, 0, 1, 0,
				    "this world has no CR0.TS");
	if (policy->save == XST_SAVE_DISPLACED && !XST_HAS_FETCH && !(flags & XST_BOUND))
		return xst_diag_set(diag, XST_ERR_UNSUPPORTED, XST_DIAG_NO_COMPONENT, 0, 1, 0,
				    "save=displaced needs XST_FETCH() or tasks that are bound");
	if (xst_policy_leaky(policy) && cpu->sys->leaky_cpu && !(flags & XST_FORCE))
		return xst_diag_set(diag, XST_ERR_LEAKY, XST_DIAG_NO_COMPONENT, 0, 0, 1,
				    "state behind CR0.TS can be read speculatively on this CPU");
	return XST_OK;
}

int xst_cpu_set_policy(struct xst_cpu *cpu, const struct xst_policy *policy, unsigned flags,
		       struct xst_diag *diag)
{
	int err = check_policy(cpu, policy, flags, diag);

	if (err)
		return err;
	XST_TRACE(cpu, policy->name, cpu->cur);
	/* Only displacing policies may leave a task's truth in the registers. */
	if (policy->save != XST_SAVE_DISPLACED)
		cpu->bits = evict(cpu, cpu->bits);
	if (cpu->bits & XST_B_TILES)
		cpu->bits = save_tiles(cpu, cpu->cur, cpu->bits);
	cpu->policy = *policy;
	cpu->slot = XST_SLOT_UNKNOWN;
	cpu->fixed = (cpu->fixed & ~(XST_B_POLICY | B_WAYS)) | xst_way_bits(cpu->sys, policy);
	cpu->bits = (cpu->bits & ~(XST_B_POLICY | B_WAYS | XST_B_SLOT | XST_B_READY)) |
		    (cpu->fixed & ~(guests_own(cpu) ? B_WAYS : 0));
	/* Registers that are in place stay so; the others wait for their first use or for the return
	 * to user mode, whichever the new policy watches. */
	if (policy->load != XST_LOAD_FIRST_USE)
		cpu->bits = clear_ts(cpu, cpu->bits);
	cpu->n.flips++;
	cpu->epoch++;
	return XST_OK;
}

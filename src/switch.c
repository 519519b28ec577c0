// SPDX-License-Identifier: BSD-2-Clause
/*
 * The switching engine. Every policy runs through the same few steps:
 *
 *   leave()            the running task leaves: save where the policy says so, account the slot
 *   finish_enter()     the next one comes: load now, arm CR0.TS, or leave it to the return to user
 *   finish_validate()  the task's registers must be in place now: skip, or load
 */
#include "registers.h"

/* After this many blind slots one is entered with TS set, to see whether the task still uses it. The
 * explorer makes it small, to see every count in every combination. */
#ifndef XST_BLIND_MAX
#define XST_BLIND_MAX 255u
#endif

/* What the slot that ends taught about the task's use. */
ALWAYS_INLINE bits_t account_slot(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b)
{
	switch (cpu->slot) {
	case XST_SLOT_USED:
		ctx->use_row = (uint8_t)(ctx->use_row + (ctx->use_row < 255));
		ctx->blind = 0;
		break;
	case XST_SLOT_BLIND:
		/* Never beyond XST_BLIND_MAX: finish_first_use() makes the next one a probe. */
		if (!XST_TWIN(BLIND_FOREVER))
			ctx->blind++;
		break;
	default:
		ctx->use_row = 0;
		ctx->blind = 0;
		break;
	}
	cpu->slot = XST_SLOT_UNKNOWN;
	return b & ~XST_B_SLOT;
}

ALWAYS_INLINE bits_t leave(struct xst_cpu *cpu, struct xst_ctx *prev, bits_t b, struct how how)
{
	if (b & XST_B_LIVE) {
		b &= ~XST_B_LIVE;
		if (!how.plain && (how.policy & XST_B_DISPLACED)) {
			b |= XST_B_DIRTY;
			set_home(prev, cpu->id);
		} else {
			b = save(cpu, prev, b, how);
		}
	}
	if ((b & XST_B_SLOT) && (!how.plain || (how.policy & XST_B_LOAD_USE)))
		b = account_slot(cpu, prev, b);
	if (!how.plain && (b & XST_B_APART_LIVE))
		b = save_apart(cpu, prev, b) & ~XST_B_APART_LIVE;
	if (b & XST_B_PKRU) {
		const uint32_t pkru = xst_w_rdpkru(cpu->world);

		prev->pkru = pkru;
		cpu->pkru = pkru;
	}
	return b;
}

/* A task without an area: it may run until it touches a register. What is behind TS must not be
 * another's unless the policy leaks anyway. */
static XST_COLD void finish_empty(struct xst_cpu *cpu, bits_t b)
{
	if (!(b & XST_B_LOAD_USE) && !XST_TWIN(EMPTY_LEAKS))
		b = clear_registers(cpu, clear_ts(cpu, b));
	cpu->bits = set_ts(cpu, b) | XST_B_READY;
}

/* Make user mode enterable for the running task, as the policy wants it. */
ALWAYS_INLINE void finish_prepare(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b,
				  struct how how)
{
	if (!how.plain && (b & XST_B_APART) && !(b & XST_B_APART_LIVE) &&
	    !XST_TWIN(APART_SKIPPED))
		b = load_apart(cpu, ctx, b);
	if (b & XST_B_LIVE)
		cpu->bits = b | XST_B_READY;
	else if (!how.plain && !ctx->area)
		finish_empty(cpu, b);
	else if (how.policy & XST_B_LOAD_USE)
		cpu->bits = set_ts(cpu, b) | XST_B_READY;
	else
		finish_validate(cpu, ctx, b, how);
}

/* A slot begins under a first-use policy. */
ALWAYS_INLINE void finish_first_use(struct xst_cpu *cpu, struct xst_ctx *next, bits_t b,
				    struct how how)
{
	const uint8_t after = cpu->policy.preload_after;
	const bool keep = (how.policy & XST_B_KEEP) && in_place(cpu, next);
	const bool preload = after && next->use_row > after;

	if (!how.plain && (b & XST_B_APART) && !(b & XST_B_APART_LIVE) &&
	    !XST_TWIN(APART_SKIPPED))
		b = load_apart(cpu, next, b);
	b |= XST_B_SLOT;
	if (!keep && !preload) {
		cpu->slot = XST_SLOT_ARMED;
	} else if (next->blind == XST_BLIND_MAX) {
		cpu->slot = XST_SLOT_PROBE;
		cpu->n.probes++;
	} else {
		cpu->slot = XST_SLOT_BLIND;
		if (!keep)
			cpu->n.preloads++;
		finish_validate(cpu, next, b, how);
		return;
	}
	cpu->bits = set_ts(cpu, b) | XST_B_READY;
}

ALWAYS_INLINE void finish_enter(struct xst_cpu *cpu, struct xst_ctx *next, bits_t b, struct how how)
{
	/* PKRU at once: the kernel's own accesses to user memory obey it. */
	if (b & XST_B_PKRU) {
		const uint32_t pkru = next->pkru;

		if (cpu->pkru != pkru) {
			cpu->pkru = pkru;
			if (!XST_TWIN(NO_PKRU))
				xst_w_wrpkru(cpu->world, pkru);
		}
	}
	if ((how.policy & XST_B_LOAD_RETURN) && !XST_TWIN(DEFERRED_LOADS))
		cpu->bits = b & ~XST_B_READY;
	else if ((how.policy & XST_B_LOAD_USE) && (how.plain || next->area))
		finish_first_use(cpu, next, b, how);
	else
		finish_prepare(cpu, next, b, how);
}

ALWAYS_INLINE void switch_steps(struct xst_cpu *cpu, struct xst_ctx *prev, struct xst_ctx *next,
				bits_t b, struct how how)
{
	cpu->n.switches++;
	if (prev)
		b = leave(cpu, prev, b, how);
	cpu->cur = next;
	if (next)
		finish_enter(cpu, next, b, how);
	else
		cpu->bits = b;
}

/* Anything may be the case. */
static XST_NOINLINE void switch_rare(struct xst_cpu *cpu, struct xst_ctx *prev,
				     struct xst_ctx *next)
{
	switch_steps(cpu, prev, next, cpu->bits, how_general(cpu->bits));
}

/*
 * The ways of the policies that kernels use: the same steps, each with its policy known, and for the
 * forms of today the instruction too, so that nothing needs a call. @way is XST_B_WAY(). Eager from
 * one live user task to another leaves the bits as they are; a live task runs, so there is a @prev.
 * @machine: what this machine may need beside.
 */
#define SWITCH_ARGS struct xst_cpu *cpu, struct xst_ctx *prev, struct xst_ctx *next
#define B_MACHINE   (XST_B_PKRU | XST_B_FIP)

ALWAYS_INLINE bool switch_eager(SWITCH_ARGS, bits_t live, bits_t machine, enum xst_insn insn)
{
	const bits_t b = cpu->bits;

	if ((b & ~machine) != live || !next || !is_plain(next))
		return false;
	if (!prev)
		__builtin_unreachable();
	switch_steps(cpu, prev, next, live | (b & machine), (struct how){true, true, 0, insn});
	return true;
}

ALWAYS_INLINE void switch_plain(struct xst_cpu *cpu, struct xst_ctx *prev, struct xst_ctx *next,
				bits_t policy, enum xst_insn insn)
{
	if (next && !is_plain(next))
		switch_rare(cpu, prev, next);
	else
		switch_steps(cpu, prev, next, cpu->bits, (struct how){true, false, policy, insn});
}

/* Nothing is loaded at the switch, so nothing of @next but PKRU matters yet. */
#define DEFER(insn) ((struct how){true, false, XST_B_LOAD_RETURN | XST_B_KEEP, insn})

static XST_NOINLINE void return_rare(struct xst_cpu *cpu, struct xst_ctx *cur)
{
	finish_prepare(cpu, cur, cpu->bits, how_general(cpu->bits));
}

ALWAYS_INLINE void return_plain(struct xst_cpu *cpu, struct xst_ctx *cur, struct how how)
{
	const bits_t b = cpu->bits;

	if (!is_plain(cur) || (b & (XST_B_LIVE | XST_B_TS)))
		return_rare(cpu, cur);
	else
		finish_validate(cpu, cur, b & ~XST_B_TS, how);
}

/* The same where results known to be INIT are elided: the registers are asked once, as they go out.
 * The bits of a live task, and of one whose predecessor left INIT, are worth code of their own,
 * where there is nothing of B_MACHINE. */
#define SKIP(insn)       ((struct how){true, false, SKIP_POLICY, insn})
#define SKIP_BITS(form, insn) (XST_B_WAY_SKIP(form) | SKIP_POLICY | XST_B_INSN(insn))

ALWAYS_INLINE bool switch_skip(SWITCH_ARGS, bits_t way, enum xst_insn insn)
{
	const bits_t live = way | XST_B_LIVE | XST_B_READY;

	if (cpu->bits != live || !next)
		return false;
	if (!prev)
		__builtin_unreachable();
	switch_steps(cpu, prev, next, live, SKIP(insn));
	return true;
}

ALWAYS_INLINE bool return_skip(struct xst_cpu *cpu, struct xst_ctx *cur, bits_t way,
			       enum xst_insn insn)
{
	const bits_t init = way | XST_B_INIT;

	if (cpu->bits != init || !is_plain(cur))
		return false;
	finish_validate(cpu, cur, init, SKIP(insn));
	return true;
}

#define EAGER_BITS(form, insn)                                                                     \
	(XST_B_WAY(WAY_EAGER, form) | XST_B_LIVE | XST_B_READY | XST_B_INSN(insn))

#define XST_WAYS(name, form, insn)                                                                 \
	static XST_NOINLINE void switch_eager_more_##name(SWITCH_ARGS)                             \
	{                                                                                          \
		if (!switch_eager(cpu, prev, next, EAGER_BITS(form, insn), B_MACHINE, insn))       \
			switch_rare(cpu, prev, next);                                              \
	}                                                                                          \
	static XST_NOINLINE void switch_eager_##name(SWITCH_ARGS)                                  \
	{                                                                                          \
		if (!switch_eager(cpu, prev, next, EAGER_BITS(form, insn), 0, insn))               \
			switch_eager_more_##name(cpu, prev, next);                                 \
	}                                                                                          \
	static XST_NOINLINE void switch_keep_##name(SWITCH_ARGS)                                   \
	{                                                                                          \
		switch_plain(cpu, prev, next, XST_B_KEEP, insn);                                   \
	}                                                                                          \
	static XST_NOINLINE void switch_defer_##name(SWITCH_ARGS)                                  \
	{                                                                                          \
		switch_steps(cpu, prev, next, cpu->bits, DEFER(insn));                             \
	}                                                                                          \
	static XST_NOINLINE void switch_use_##name(SWITCH_ARGS)                                    \
	{                                                                                          \
		switch_plain(cpu, prev, next, XST_B_LOAD_USE | (cpu->bits & XST_B_KEEP), insn);    \
	}                                                                                          \
	static XST_NOINLINE void return_defer_##name(struct xst_cpu *cpu, struct xst_ctx *cur)     \
	{                                                                                          \
		return_plain(cpu, cur, DEFER(insn));                                                    \
	}                                                                                          \
	ALWAYS_INLINE void switch_##name(SWITCH_ARGS, bits_t b)                                    \
	{                                                                                          \
		if (b & XST_B_WAY(WAY_EAGER, form))                                                \
			switch_eager_##name(cpu, prev, next);                                      \
		else if (b & XST_B_WAY(WAY_DEFER, form))                                           \
			switch_defer_##name(cpu, prev, next);                                      \
		else if (b & XST_B_WAY(WAY_USE, form))                                             \
			switch_use_##name(cpu, prev, next);                                        \
		else                                                                               \
			switch_keep_##name(cpu, prev, next);                                       \
	}

#define XST_WAYS_SKIP(name, form, insn)                                                            \
	static XST_NOINLINE void switch_other_##name(SWITCH_ARGS)                                  \
	{                                                                                          \
		switch_steps(cpu, prev, next, cpu->bits, SKIP(insn));                              \
	}                                                                                          \
	static XST_NOINLINE void switch_skip_##name(SWITCH_ARGS)                                   \
	{                                                                                          \
		if (!switch_skip(cpu, prev, next, SKIP_BITS(form, insn), insn))                    \
			switch_other_##name(cpu, prev, next);                                      \
	}                                                                                          \
	static XST_NOINLINE void return_other_##name(struct xst_cpu *cpu, struct xst_ctx *cur)     \
	{                                                                                          \
		return_plain(cpu, cur, SKIP(insn));                                                \
	}                                                                                          \
	static XST_NOINLINE void return_skip_##name(struct xst_cpu *cpu, struct xst_ctx *cur)      \
	{                                                                                          \
		if (!return_skip(cpu, cur, SKIP_BITS(form, insn), insn))                           \
			return_other_##name(cpu, cur);                                             \
	}

#define WAYS_OF(form) (0xfu * XST_B_WAY(0, form))

XST_WAYS(any, FORM_ANY, insn_of(cpu->bits))
#ifndef XST_ONLY_INSN
/* Where XSAVES cannot be, neither can its ways: the compiler drops them. */
#define HAS_FORM_XSAVES XST_WORLD_HAS_XSAVES
/* In user mode a switch is nothing but this call: the plainest two come before any question about
 * the way. In a kernel that would cost all other policies a few instructions each. */
#define FIBERS (!XST_WORLD_HAS_TS)
XST_WAYS(xsaves, FORM_XSAVES, XST_INSN_XSAVES)
XST_WAYS(xsavec, FORM_XSAVEC, XST_INSN_XSAVEC)
XST_WAYS_SKIP(xsaves, FORM_XSAVES, XST_INSN_XSAVES)
XST_WAYS_SKIP(xsavec, FORM_XSAVEC, XST_INSN_XSAVEC)
#endif

void xst_switch(struct xst_cpu *cpu, struct xst_ctx *prev, struct xst_ctx *next)
{
	const bits_t b = cpu->bits;

	XST_ASSERT(prev == cpu->cur);
	XST_TRACE(cpu, "switch", next);
#ifndef XST_ONLY_INSN
	if (FIBERS && switch_eager(cpu, prev, next, EAGER_BITS(FORM_XSAVEC, XST_INSN_XSAVEC), 0,
				   XST_INSN_XSAVEC))
		return;
	if (FIBERS && switch_skip(cpu, prev, next, SKIP_BITS(FORM_XSAVEC, XST_INSN_XSAVEC),
				  XST_INSN_XSAVEC))
		return;
	if (HAS_FORM_XSAVES && (b & WAYS_OF(FORM_XSAVES)))
		switch_xsaves(cpu, prev, next, b);
	else if (b & WAYS_OF(FORM_XSAVEC))
		switch_xsavec(cpu, prev, next, b);
	else if (HAS_FORM_XSAVES && (b & XST_B_WAY_SKIP(FORM_XSAVES)))
		switch_skip_xsaves(cpu, prev, next);
	else if (b & XST_B_WAY_SKIP(FORM_XSAVEC))
		switch_skip_xsavec(cpu, prev, next);
	else
#endif
		if (b & WAYS_OF(FORM_ANY))
		switch_any(cpu, prev, next, b);
	else
		switch_rare(cpu, prev, next);
}

void xst_return_to_user(struct xst_cpu *cpu)
{
	struct xst_ctx *cur = cpu->cur;
	const bits_t b = cpu->bits;

	if ((b & XST_B_READY) || !cur)
		return;
	XST_TRACE(cpu, "return-to-user", cur);
#ifndef XST_ONLY_INSN
	if (FIBERS && return_skip(cpu, cur, SKIP_BITS(FORM_XSAVEC, XST_INSN_XSAVEC),
				  XST_INSN_XSAVEC))
		return;
	if (HAS_FORM_XSAVES && (b & XST_B_WAY(WAY_DEFER, FORM_XSAVES)))
		return_defer_xsaves(cpu, cur);
	else if (b & XST_B_WAY(WAY_DEFER, FORM_XSAVEC))
		return_defer_xsavec(cpu, cur);
	else if (HAS_FORM_XSAVES && (b & XST_B_WAY_SKIP(FORM_XSAVES)))
		return_skip_xsaves(cpu, cur);
	else if (b & XST_B_WAY_SKIP(FORM_XSAVEC))
		return_skip_xsavec(cpu, cur);
	else
#endif
		if (b & XST_B_WAY(WAY_DEFER, FORM_ANY))
		return_defer_any(cpu, cur);
	else
		return_rare(cpu, cur);
}

/* #NM and the first use of a new area. */
static XST_NOINLINE void validate(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	finish_validate(cpu, ctx, cpu->bits, how_general(cpu->bits));
}

int xst_device_not_available(struct xst_cpu *cpu)
{
	if (!(cpu->bits & XST_B_TS) || !cpu->cur)
		return XST_ERR_NOT_OURS;
	XST_TRACE(cpu, "device-not-available", cpu->cur);
	if (!cpu->cur->area)
		return XST_ERR_NEED_BYTES;
	cpu->n.traps++;
	if (cpu->bits & XST_B_SLOT)
		cpu->slot = XST_SLOT_USED;
	validate(cpu, cpu->cur);
	return XST_OK;
}

static void fresh(const struct xst_system *sys, struct xst_ctx *ctx)
{
	if (ctx->area) {
		xst_fresh_image(sys->insn, sys->mask, ctx->area, sys->layout.bytes);
		if (sys->apart)
			xst_fresh_image(sys->insn, sys->apart, ctx->area + sys->apart_offset,
					sys->apart_layout.bytes);
	}
	if (!XST_TWIN(REUSED_ADDRESS))
		ctx->last_cpu = XST_NO_CPU;
	ctx->pkru = sys->init_pkru;
	ctx->use_row = 0;
	ctx->blind = 0;
	ctx->fault = 0;
	ctx->reserved = 0;
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
	validate(cpu, ctx);
	/* Under a first-use policy this slot is one that used the registers. */
	if (cpu->bits & XST_B_LOAD_USE) {
		cpu->slot = XST_SLOT_USED;
		cpu->bits |= XST_B_SLOT;
	}
	return XST_OK;
}

static inline void read_pkru(struct xst_cpu *cpu)
{
	if (cpu->bits & XST_B_PKRU)
		cpu->pkru = xst_w_rdpkru(cpu->world);
}

void xst_ctx_flush(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	bits_t b = cpu->bits;

	XST_TRACE(cpu, "flush", ctx);
	if (ctx == cpu->cur && (b & XST_B_PKRU)) {
		read_pkru(cpu);
		ctx->pkru = cpu->pkru;
	}
	if (!ctx->area)
		return;
	if (ctx == cpu->cur && (b & XST_B_APART_LIVE))
		b = save_apart(cpu, ctx, b);
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

void xst_ctx_changed(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
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
	cpu->bits &= ~(XST_B_LIVE | XST_B_APART_LIVE | XST_B_READY);
	if ((cpu->bits & XST_B_PKRU) && cpu->pkru != ctx->pkru) {
		xst_w_wrpkru(cpu->world, ctx->pkru);
		cpu->pkru = ctx->pkru;
	}
}

void xst_ctx_fork(struct xst_cpu *cpu, struct xst_ctx *parent, struct xst_ctx *child)
{
	XST_TRACE(cpu, "fork", child);
	xst_ctx_flush(cpu, parent);
	child->pkru = parent->pkru;
	XST_ASSERT(child->area || !parent->area);
	if (parent->area)
		__builtin_memcpy(child->area, parent->area, cpu->sys->ctx_bytes);
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
	XST_TRACE(cpu, "exec", ctx);
	drop(cpu, ctx);
	fresh(cpu->sys, ctx);
	if (ctx == cpu->cur)
		read_pkru(cpu);
	xst_ctx_changed(cpu, ctx);
}

void xst_ctx_exit(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	XST_TRACE(cpu, "exit", ctx);
	drop(cpu, ctx);
	if (ctx != cpu->cur)
		return;
	read_pkru(cpu);
	cpu->cur = NULL;
	cpu->slot = XST_SLOT_UNKNOWN;
	cpu->bits &= ~(XST_B_LIVE | XST_B_APART_LIVE | XST_B_READY | XST_B_SLOT);
}

void xst_cpu_evict(struct xst_cpu *cpu)
{
	XST_TRACE(cpu, "evict", cpu->owner);
	cpu->bits = evict(cpu, cpu->bits);
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
	cpu->policy = *policy;
	cpu->slot = XST_SLOT_UNKNOWN;
	cpu->bits = (cpu->bits & ~(XST_B_POLICY | B_WAYS | XST_B_SLOT | XST_B_READY)) |
		    xst_way_bits(cpu->sys, policy);
	/* Registers that are in place stay so; the others wait for their first use or for the return
	 * to user mode, whichever the new policy watches. */
	if (policy->load != XST_LOAD_FIRST_USE)
		cpu->bits = clear_ts(cpu, cpu->bits);
	cpu->n.flips++;
	cpu->epoch++;
	return XST_OK;
}

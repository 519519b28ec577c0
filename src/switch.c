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
	if (!how.plain && (b & XST_B_TILES))
		b = save_tiles(cpu, prev, b);
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
static XST_COLD void finish_empty(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b)
{
	if (b & XST_B_MASK)
		b = disown_guest(cpu, ctx, b);
	if (!(b & XST_B_LOAD_USE) && !XST_TWIN(EMPTY_LEAKS))
		b = clear_registers(cpu, clear_ts(cpu, b));
	cpu->bits = set_ts(cpu, b) | XST_B_READY;
}

/* Its registers must be in place now. Where nothing is known one copy of the steps serves all. */
ALWAYS_INLINE void finish_in_place(struct xst_cpu *cpu, struct xst_ctx *ctx, bits_t b,
				   struct how how)
{
	if (how.plain) {
		finish_validate(cpu, ctx, b, how);
	} else {
		cpu->bits = b;
		xst_validate(cpu, ctx);
	}
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
		finish_empty(cpu, ctx, b);
	else if (how.policy & XST_B_LOAD_USE)
		finish_arm(cpu, ctx, b, how);
	else
		finish_in_place(cpu, ctx, b, how);
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
		finish_in_place(cpu, next, b, how);
		return;
	}
	finish_arm(cpu, next, b, how);
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
		cpu->bits = b & ~XST_B_READY;
}

/* Anything may be the case. */
static XST_NOINLINE void switch_rare(struct xst_cpu *cpu, struct xst_ctx *prev,
				     struct xst_ctx *next)
{
	switch_steps(cpu, prev, next, cpu->bits, how_general(cpu->bits));
}

/*
 * The ways of the policies that kernels use: the same steps, each with its policy known, and for the
 * forms of today the instruction too, so that nothing needs a call. The commonest states of a way are
 * recognised by one comparison, and what is known of them is folded into the code; where the machine
 * needs something beside (B_MACHINE) or anything else is the case, a copy of the steps that looks at
 * the bits follows.
 */
#define SWITCH_ARGS struct xst_cpu *cpu, struct xst_ctx *prev, struct xst_ctx *next
#define B_MACHINE   (XST_B_PKRU | XST_B_FIP | XST_B_MASK)

/* Most machines of today want PKRU beside and nothing else; a build for one family is to be small. */
#ifdef XST_ONLY_INSN
#define KNOW_PKRU 0
#else
#define KNOW_PKRU 1
#endif

/* A live task runs, so there is a @prev. */
#define LIVE_BITS(kind, insn) (XST_B_WAY(kind) | XST_B_LIVE | XST_B_READY | XST_B_INSN(insn))
#define KNOW(cond) ((cond) ? (void)0 : __builtin_unreachable())

/* Eager from one live user task to another leaves the bits as they are. @maybe: what this machine may
 * need beside @machine. */
ALWAYS_INLINE bool switch_eager(SWITCH_ARGS, bits_t machine, bits_t maybe, enum xst_insn insn)
{
	const bits_t b = cpu->bits, live = LIVE_BITS(WAY_EAGER, insn) | machine;

	if ((b & ~maybe) != live || !next || !is_plain(next))
		return false;
	KNOW(prev);
	switch_steps(cpu, prev, next, live | (b & maybe), (struct how){true, true, 0, insn});
	return true;
}

ALWAYS_INLINE void switch_plain(SWITCH_ARGS, bits_t policy, enum xst_insn insn)
{
	if (next && !is_plain(next))
		switch_rare(cpu, prev, next);
	else
		switch_steps(cpu, prev, next, cpu->bits, (struct how){true, false, policy, insn});
}

/*
 * Nothing is loaded at the switch, so nothing of @next but PKRU matters yet. Either the task's registers
 * are in place and go out, or it has been in the kernel only (or none ran) and there is nothing to do.
 */
#define DEFER_POLICY     (XST_B_LOAD_RETURN | XST_B_KEEP)
#define DEFER(insn)      ((struct how){true, false, DEFER_POLICY, insn})
#define AWAY_BITS(insn)  (XST_B_WAY(WAY_DEFER) | DEFER_POLICY | XST_B_INSN(insn))

ALWAYS_INLINE bool switch_defer(SWITCH_ARGS, bits_t machine, enum xst_insn insn)
{
	const bits_t b = cpu->bits, away = AWAY_BITS(insn) | machine;
	const bits_t live = away | XST_B_LIVE | XST_B_READY;

	if (b == live) {
		KNOW(prev);
		switch_steps(cpu, prev, next, live, DEFER(insn));
	} else if (b == away && !machine) {
		cpu->n.switches++;
		cpu->cur = next;
	} else {
		return false;
	}
	return true;
}

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

ALWAYS_INLINE bool return_defer(struct xst_cpu *cpu, struct xst_ctx *cur, enum xst_insn insn)
{
	if (cpu->bits != AWAY_BITS(insn) || !is_plain(cur))
		return false;
	finish_validate(cpu, cur, AWAY_BITS(insn), DEFER(insn));
	return true;
}

/* The same where results known to be INIT are elided: the registers are asked once, as they go out. */
#define SKIP(insn)      ((struct how){true, false, SKIP_POLICY, insn})
#define SKIP_BITS(insn) (XST_B_WAY(WAY_SKIP) | SKIP_POLICY | XST_B_INSN(insn))

ALWAYS_INLINE bool switch_skip(SWITCH_ARGS, enum xst_insn insn)
{
	const bits_t live = SKIP_BITS(insn) | XST_B_LIVE | XST_B_READY;

	if (cpu->bits != live || !next)
		return false;
	KNOW(prev);
	switch_steps(cpu, prev, next, live, SKIP(insn));
	return true;
}

ALWAYS_INLINE bool return_skip(struct xst_cpu *cpu, struct xst_ctx *cur, enum xst_insn insn)
{
	const bits_t init = SKIP_BITS(insn) | XST_B_INIT;

	if (cpu->bits != init || !is_plain(cur))
		return false;
	finish_validate(cpu, cur, init, SKIP(insn));
	return true;
}

#define XST_WAYS(name, insn)                                                                       \
	static XST_NOINLINE void switch_eager_more_##name(SWITCH_ARGS)                             \
	{                                                                                          \
		if (!(KNOW_PKRU && switch_eager(cpu, prev, next, XST_B_PKRU, 0, insn)) &&          \
		    !switch_eager(cpu, prev, next, 0, B_MACHINE, insn))                            \
			switch_rare(cpu, prev, next);                                              \
	}                                                                                          \
	static XST_NOINLINE void switch_defer_more_##name(SWITCH_ARGS)                             \
	{                                                                                          \
		if (!(KNOW_PKRU && switch_defer(cpu, prev, next, XST_B_PKRU, insn)))               \
			switch_steps(cpu, prev, next, cpu->bits, DEFER(insn));                     \
	}                                                                                          \
	static XST_NOINLINE void switch_defer_##name(SWITCH_ARGS)                                  \
	{                                                                                          \
		if (!switch_defer(cpu, prev, next, 0, insn))                                       \
			switch_defer_more_##name(cpu, prev, next);                                 \
	}                                                                                          \
	static XST_NOINLINE void switch_use_##name(SWITCH_ARGS)                                    \
	{                                                                                          \
		switch_plain(cpu, prev, next, XST_B_LOAD_USE | (cpu->bits & XST_B_KEEP), insn);    \
	}                                                                                          \
	static XST_NOINLINE void return_more_##name(struct xst_cpu *cpu, struct xst_ctx *cur)      \
	{                                                                                          \
		return_plain(cpu, cur, DEFER(insn));                                               \
	}                                                                                          \
	static XST_NOINLINE void return_defer_##name(struct xst_cpu *cpu, struct xst_ctx *cur)     \
	{                                                                                          \
		if (!return_defer(cpu, cur, insn))                                                 \
			return_more_##name(cpu, cur);                                              \
	}

#define XST_WAYS_SKIP(name, insn)                                                                  \
	static XST_NOINLINE void switch_skip_more_##name(SWITCH_ARGS)                              \
	{                                                                                          \
		switch_steps(cpu, prev, next, cpu->bits, SKIP(insn));                              \
	}                                                                                          \
	static XST_NOINLINE void switch_skip_##name(SWITCH_ARGS)                                   \
	{                                                                                          \
		if (!switch_skip(cpu, prev, next, insn))                                           \
			switch_skip_more_##name(cpu, prev, next);                                  \
	}                                                                                          \
	static XST_NOINLINE void return_skip_more_##name(struct xst_cpu *cpu, struct xst_ctx *cur) \
	{                                                                                          \
		return_plain(cpu, cur, SKIP(insn));                                                \
	}                                                                                          \
	static XST_NOINLINE void return_skip_##name(struct xst_cpu *cpu, struct xst_ctx *cur)      \
	{                                                                                          \
		if (!return_skip(cpu, cur, insn))                                                  \
			return_skip_more_##name(cpu, cur);                                         \
	}

#define XST_WAY_KEEP(name, insn)                                                                   \
	static XST_NOINLINE void switch_keep_##name(SWITCH_ARGS)                                   \
	{                                                                                          \
		switch_plain(cpu, prev, next, XST_B_KEEP, insn);                                   \
	}

XST_WAYS(any, insn_of(cpu->bits))
#define switch_skip_any switch_rare
#define return_skip_any return_rare
#ifdef XST_ONLY_INSN
#define FIBERS                     0
#define BY_FORM(event, b, ...)     event##_any(__VA_ARGS__)
/* Nobody's policy any more, and four hundred bytes. */
#define switch_keep_any            switch_rare
#else
/* In user mode a switch is nothing but this call: the plainest two come before any question about
 * the way. In a kernel that would cost all other policies a few instructions each. */
#define FIBERS (!XST_WORLD_HAS_TS && !XST_SMALL)
/* Where XSAVES cannot be, neither can its ways: the compiler drops them. */
#define BY_FORM(event, b, ...)                                                                     \
	(XST_WORLD_HAS_XSAVES && (b) >= XST_B_INSN(XST_INSN_XSAVES) ? event##_xsaves(__VA_ARGS__)  \
	 : (b) >= XST_B_INSN(XST_INSN_XSAVEC)			    ? event##_xsavec(__VA_ARGS__)  \
								    : event##_any(__VA_ARGS__))
XST_WAY_KEEP(any, insn_of(cpu->bits))
XST_WAYS(xsaves, XST_INSN_XSAVES)
XST_WAY_KEEP(xsaves, XST_INSN_XSAVES)
XST_WAYS(xsavec, XST_INSN_XSAVEC)
XST_WAY_KEEP(xsavec, XST_INSN_XSAVEC)
XST_WAYS_SKIP(xsaves, XST_INSN_XSAVES)
XST_WAYS_SKIP(xsavec, XST_INSN_XSAVEC)

#endif

/* Eager without anything beside, or @more; of the older forms the two that were made in numbers. */
#define XST_WAY_EAGER(name, insn, more)                                                            \
	static XST_NOINLINE void switch_eager_##name(SWITCH_ARGS)                                  \
	{                                                                                          \
		if (!switch_eager(cpu, prev, next, 0, 0, insn))                                    \
			switch_eager_##more(cpu, prev, next);                                      \
	}
#ifdef XST_ONLY_INSN
XST_WAY_EAGER(any, XST_ONLY_INSN, more_any)
#else
XST_WAY_EAGER(fxsave, XST_INSN_FXSAVE, more_any)
XST_WAY_EAGER(any, XST_INSN_XSAVEOPT, fxsave)
XST_WAY_EAGER(xsavec, XST_INSN_XSAVEC, more_xsavec)
XST_WAY_EAGER(xsaves, XST_INSN_XSAVES, more_xsaves)
#endif

/* Where it lies in its cache lines moves an eager switch in user mode between 1.043 and 1.051 of the
 * bare pair. */
__attribute__((aligned(64))) void xst_switch(struct xst_cpu *cpu, struct xst_ctx *prev, struct xst_ctx *next)
{
	const bits_t b = XST_SMALL ? cpu->bits & ~B_WAYS : cpu->bits;

	XST_ASSERT(prev == cpu->cur);
	XST_TRACE(cpu, "switch", next);
	if (FIBERS && switch_eager(cpu, prev, next, 0, 0, XST_INSN_XSAVEC))
		return;
	if (FIBERS && switch_skip(cpu, prev, next, XST_INSN_XSAVEC))
		return;
	if (b & XST_B_WAY(WAY_EAGER))
		BY_FORM(switch_eager, b, cpu, prev, next);
	else if (b & XST_B_WAY(WAY_DEFER))
		BY_FORM(switch_defer, b, cpu, prev, next);
	else if (b & XST_B_WAY(WAY_SKIP))
		BY_FORM(switch_skip, b, cpu, prev, next);
	else if (b & XST_B_WAY(WAY_USE))
		BY_FORM(switch_use, b, cpu, prev, next);
	else if (b & XST_B_WAY(WAY_KEEP))
		BY_FORM(switch_keep, b, cpu, prev, next);
	else
		switch_rare(cpu, prev, next);
}

void xst_return_to_user(struct xst_cpu *cpu)
{
	struct xst_ctx *cur = cpu->cur;
	const bits_t b = XST_SMALL ? cpu->bits & ~B_WAYS : cpu->bits;

	if ((b & XST_B_READY) || !cur)
		return;
	XST_TRACE(cpu, "return-to-user", cur);
	if (FIBERS && return_skip(cpu, cur, XST_INSN_XSAVEC))
		return;
	if (b & XST_B_WAY(WAY_DEFER))
		BY_FORM(return_defer, b, cpu, cur);
	else if (b & XST_B_WAY(WAY_SKIP))
		BY_FORM(return_skip, b, cpu, cur);
	else
		return_rare(cpu, cur);
}

/* #NM, and the first use of a new area. */
XST_NOINLINE void xst_validate(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	finish_validate(cpu, ctx, cpu->bits, how_general(cpu->bits));
}

/* TS is clear. IA32_XFD_ERR names what was used; it must be 0 again before the next one can. */
static XST_COLD int xfd_trap(struct xst_cpu *cpu)
{
	if (!(xst_w_take_xfd_err(cpu->world) & cpu->sys->dynamic) || !cpu->cur)
		return XST_ERR_NOT_OURS;
	XST_TRACE(cpu, "xfd-trap", cpu->cur);
	cpu->n.xfd_traps++;
	return XST_ERR_DYNAMIC;
}

int xst_device_not_available(struct xst_cpu *cpu)
{
	if (!(cpu->bits & XST_B_TS) && cpu->sys->dynamic)
		return xfd_trap(cpu);
	if (!(cpu->bits & XST_B_TS) || !cpu->cur)
		return XST_ERR_NOT_OURS;
	XST_TRACE(cpu, "device-not-available", cpu->cur);
	if (!cpu->cur->area)
		return XST_ERR_NEED_BYTES;
	cpu->n.traps++;
	if (cpu->bits & XST_B_SLOT)
		cpu->slot = XST_SLOT_USED;
	xst_validate(cpu, cpu->cur);
	return XST_OK;
}

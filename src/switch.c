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
	if (b & XST_B_PKRU)
		prev->pkru = xst_w_rdpkru(cpu->world);
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

/* User mode cannot be entered yet. */
ALWAYS_INLINE void finish_nothing(struct xst_cpu *cpu, bits_t b, struct how how)
{
	if (!how.steady)
		cpu->bits = b & ~XST_B_READY;
}

ALWAYS_INLINE void finish_enter(struct xst_cpu *cpu, const struct xst_ctx *prev,
				struct xst_ctx *next, bits_t b, struct how how)
{
	/* PKRU at once: the kernel's own accesses to user memory obey it. There is no cache that could
	 * be out of date: @prev's was just read, and where none ran the register is asked. */
	if (b & XST_B_PKRU) {
		const uint32_t pkru = prev ? prev->pkru : xst_w_rdpkru(cpu->world);

		if (next->pkru != pkru && !XST_TWIN(NO_PKRU)) {
			/* Read anew where it differs; a comparison with memory does elsewhere. */
			__asm__ volatile("" : : : "memory");
			xst_w_wrpkru(cpu->world, next->pkru);
		}
	}
	if ((how.policy & XST_B_LOAD_RETURN) && !XST_TWIN(DEFERRED_LOADS))
		finish_nothing(cpu, b, how);
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
		finish_enter(cpu, prev, next, b, how);
	else
		finish_nothing(cpu, b, how);
}

/* Anything may be the case. */
static XST_NOINLINE void switch_rare(struct xst_cpu *cpu, struct xst_ctx *prev,
				     struct xst_ctx *next)
{
	switch_steps(cpu, prev, next, cpu->bits, how_general(cpu->bits));
}

/*
 * The ways of the policies that kernels use: the same steps, each with its policy known, and for
 * the forms that were made in numbers the instruction too, so that nothing needs a call. The
 * commonest states of a way are recognised by one comparison each, with PKRU beside or nothing, and
 * what is known of them is folded into the code; where the machine needs something else (B_MACHINE)
 * or anything else is the case, a copy of the steps that looks at the bits follows.
 */
#define SWITCH_ARGS struct xst_cpu *cpu, struct xst_ctx *prev, struct xst_ctx *next
#define B_MACHINE   (XST_B_PKRU | XST_B_FIP | XST_B_MASK)

/* A live task runs, so there is a @prev. */
#define LIVE_BITS(kind, insn) (XST_B_WAY(kind) | XST_B_LIVE | XST_B_READY | XST_B_INSN(insn))
#define KNOW(cond) ((cond) ? (void)0 : __builtin_unreachable())

/* XSAVE wants RDX, where @next comes. In a register of its own in the branch that saves it leaves
 * the arguments where they are in all others; the compiler would move several for all of them. */
#ifdef __x86_64__
#define MOVE_APART(next)                                                                           \
	do {                                                                                       \
		register struct xst_ctx *r8 __asm__("r8") = next;                                  \
                                                                                                   \
		__asm__("" : "+r"(r8));                                                            \
		next = r8;                                                                         \
	} while (0)
#else
#define MOVE_APART(next) ((void)0)
#endif

/* Eager from one live user task to another leaves the bits as they are. @maybe: what this machine
 * may need beside @machine. Where nothing comes between save and load one mask does for both. */
ALWAYS_INLINE bool switch_eager(SWITCH_ARGS, bits_t b, bits_t machine, bits_t maybe,
				enum xst_insn insn)
{
	const bits_t live = LIVE_BITS(WAY_EAGER, insn) | machine;
	struct how how = {true, true, 0, insn, false, 0};

	if ((b & ~maybe) != live || !next || !is_plain(next))
		return false;
	MOVE_APART(next);
	KNOW(prev && next);
	how.once = !(machine | maybe);
	if (how.once)
		how.mask = cpu->mask;
	switch_steps(cpu, prev, next, live | (b & maybe), how);
	return true;
}

ALWAYS_INLINE void switch_plain(SWITCH_ARGS, bits_t policy, enum xst_insn insn)
{
	if (next && !is_plain(next))
		switch_rare(cpu, prev, next);
	else
		switch_steps(cpu, prev, next, cpu->bits,
			     (struct how){true, false, policy, insn, false, 0});
}

/*
 * Nothing is loaded at the switch, so nothing of @next but PKRU matters yet. Either the task's
 * registers are in place and go out, or it has been in the kernel only (or none ran) and there is
 * nothing to do.
 */
#define DEFER_POLICY (XST_B_LOAD_RETURN | XST_B_KEEP)
#define DEFER(insn)  ((struct how){true, false, DEFER_POLICY, insn, false, 0})
#define STAY(insn)   ((struct how){true, true, DEFER_POLICY, insn, false, 0})
#define AWAY_BITS(insn)                                                                            \
	(XST_B_WAY(IS_OLD(insn) ? WAY_DEFER_OLD : WAY_DEFER) | DEFER_POLICY | XST_B_INSN(insn))

ALWAYS_INLINE bool switch_defer_live(SWITCH_ARGS, bits_t b, bits_t machine, enum xst_insn insn)
{
	const bits_t live = AWAY_BITS(insn) | machine | XST_B_LIVE | XST_B_READY;

	if (b != live)
		return false;
	MOVE_APART(next);
	KNOW(prev);
	switch_steps(cpu, prev, next, live, DEFER(insn));
	return true;
}

/* With PKRU beside only from a kernel thread: there is one register then to ask. */
ALWAYS_INLINE bool switch_away(SWITCH_ARGS, bits_t b, bits_t away, struct how how)
{
	const bool pkru = away & XST_B_PKRU;

	if (b != away || (pkru && prev) || XST_TWIN(DEFERRED_LOADS))
		return false;
	MOVE_APART(next);
	switch_steps(cpu, pkru ? NULL : prev, next, away, how);
	return true;
}

ALWAYS_INLINE bool switch_defer_away(SWITCH_ARGS, bits_t b, bits_t machine, enum xst_insn insn)
{
	return switch_away(cpu, prev, next, b, AWAY_BITS(insn) | machine, STAY(insn));
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

/* What is in place need not be plain. */
ALWAYS_INLINE bool return_kept(struct xst_cpu *cpu, struct xst_ctx *cur, bits_t b, bits_t away,
			       struct how how)
{
	if (b != away || !in_place(cpu, cur))
		return false;
	finish_kept(cpu, cur, away, how);
	return true;
}

ALWAYS_INLINE bool return_defer(struct xst_cpu *cpu, struct xst_ctx *cur, bits_t b, bits_t machine,
				enum xst_insn insn)
{
	const bits_t away = AWAY_BITS(insn) | machine;

	if (return_kept(cpu, cur, b, away, DEFER(insn)))
		return true;
	if (b != away || !is_plain(cur))
		return false;
	finish_validate(cpu, cur, away, DEFER(insn));
	return true;
}

/* The same where results known to be INIT are elided: registers are asked once, as they go out. */
#define SKIP(insn)      ((struct how){true, false, SKIP_POLICY, insn, false, 0})
#define SKIP_BITS(insn) (XST_B_WAY(WAY_SKIP) | SKIP_POLICY | XST_B_INSN(insn))

ALWAYS_INLINE bool switch_skip(SWITCH_ARGS, bits_t b, bits_t machine, enum xst_insn insn)
{
	const bits_t live = SKIP_BITS(insn) | machine | XST_B_LIVE | XST_B_READY;

	if (b != live)
		return false;
	MOVE_APART(next);
	KNOW(prev);
	switch_steps(cpu, prev, next, live, SKIP(insn));
	return true;
}

ALWAYS_INLINE bool switch_skip_away(SWITCH_ARGS, bits_t b, bits_t machine, enum xst_insn insn)
{
	/* INIT or not, that stays. */
	return switch_away(cpu, prev, next, b & ~XST_B_INIT, SKIP_BITS(insn) | machine,
			   (struct how){true, true, SKIP_POLICY, insn, false, 0});
}

ALWAYS_INLINE bool return_skip(struct xst_cpu *cpu, struct xst_ctx *cur, bits_t b, bits_t machine,
			       enum xst_insn insn)
{
	const bits_t init = SKIP_BITS(insn) | machine | XST_B_INIT;

	if (b != init || !is_plain(cur))
		return false;
	finish_validate(cpu, cur, init, SKIP(insn));
	return true;
}

ALWAYS_INLINE bool return_skip_away(struct xst_cpu *cpu, struct xst_ctx *cur, bits_t b,
				    bits_t machine, enum xst_insn insn)
{
	const bits_t away = SKIP_BITS(insn) | machine;

	if (return_kept(cpu, cur, b, away, SKIP(insn)))
		return true;
	if (b != away || !is_plain(cur))
		return false;
	finish_validate(cpu, cur, away, SKIP(insn));
	return true;
}

#define XST_WAYS(name, insn)                                                                       \
	static XST_NOINLINE void switch_eager_more_##name(SWITCH_ARGS)                             \
	{                                                                                          \
		if (!switch_eager(cpu, prev, next, cpu->bits, 0, B_MACHINE, insn))                 \
			switch_rare(cpu, prev, next);                                              \
	}                                                                                          \
	static XST_NOINLINE void switch_defer_more_##name(SWITCH_ARGS)                             \
	{                                                                                          \
		switch_steps(cpu, prev, next, cpu->bits, DEFER(insn));                             \
	}                                                                                          \
	static XST_NOINLINE void switch_use_##name(SWITCH_ARGS)                                    \
	{                                                                                          \
		switch_plain(cpu, prev, next, XST_B_LOAD_USE | (cpu->bits & XST_B_KEEP), insn);    \
	}                                                                                          \
	static XST_NOINLINE void return_more_##name(struct xst_cpu *cpu, struct xst_ctx *cur)      \
	{                                                                                          \
		return_plain(cpu, cur, DEFER(insn));                                               \
	}

/* Asked for with nothing beside or, if @pkru, with that. */
#define XST_WAYS_SKIP(name, insn, pkru)                                                            \
	static XST_NOINLINE void switch_skip_more_##name(SWITCH_ARGS)                              \
	{                                                                                          \
		switch_steps(cpu, prev, next, cpu->bits, SKIP(insn));                              \
	}                                                                                          \
	static XST_NOINLINE void switch_skip_##name(SWITCH_ARGS, bits_t b)                         \
	{                                                                                          \
		if (!(b & B_MACHINE)) {                                                            \
			if (switch_skip(cpu, prev, next, b, 0, insn) ||                            \
			    switch_skip_away(cpu, prev, next, b, 0, insn))                         \
				return;                                                            \
		} else if ((pkru) && !(b & B_MACHINE & ~XST_B_PKRU)) {                             \
			if (switch_skip(cpu, prev, next, b, XST_B_PKRU, insn) ||                   \
			    switch_skip_away(cpu, prev, next, b, XST_B_PKRU, insn))                \
				return;                                                            \
		}                                                                                  \
		switch_skip_more_##name(cpu, prev, next);                                          \
	}                                                                                          \
	static XST_NOINLINE void return_skip_more_##name(struct xst_cpu *cpu, struct xst_ctx *cur) \
	{                                                                                          \
		return_plain(cpu, cur, SKIP(insn));                                                \
	}                                                                                          \
	static XST_NOINLINE void return_skip_##name(struct xst_cpu *cpu, struct xst_ctx *cur,      \
						    bits_t b)                                      \
	{                                                                                          \
		if (!(b & B_MACHINE)) {                                                            \
			if (return_skip(cpu, cur, b, 0, insn) ||                                   \
			    return_skip_away(cpu, cur, b, 0, insn))                                \
				return;                                                            \
		} else if ((pkru) && !(b & B_MACHINE & ~XST_B_PKRU)) {                             \
			if (return_skip(cpu, cur, b, XST_B_PKRU, insn) ||                          \
			    return_skip_away(cpu, cur, b, XST_B_PKRU, insn))                       \
				return;                                                            \
		}                                                                                  \
		return_skip_more_##name(cpu, cur);                                                 \
	}

#define XST_WAY_KEEP(name, insn)                                                                   \
	static XST_NOINLINE void switch_keep_##name(SWITCH_ARGS)                                   \
	{                                                                                          \
		switch_plain(cpu, prev, next, XST_B_KEEP, insn);                                   \
	}

XST_WAYS(any, insn_of(cpu->bits))
#ifdef XST_ONLY_INSN
#define FIBERS                     0
#define BY_FORM(event, b, ...)     event##_any(__VA_ARGS__)
/* Nobody's policy any more, and four hundred bytes. */
#define switch_keep_any            switch_rare
#define TODAYS                     XST_ONLY_INSN
#define switch_skip_any(cpu, prev, next, b) switch_rare(cpu, prev, next)
#define return_skip_any(cpu, cur, b) return_rare(cpu, cur)
#else
/* In user mode a switch is nothing but this call: the plainest two come before any question about
 * the way. In a kernel that would cost all other policies a few instructions each. */
#define FIBERS (!XST_WORLD_HAS_TS && !XST_SMALL)
/* Where XSAVES cannot be, neither can its ways: the compiler drops them. */
#define BY_FORM(event, b, ...)                                                                     \
	(XST_WORLD_HAS_XSAVES && (b) >= XST_B_INSN(XST_INSN_XSAVES) ? event##_xsaves(__VA_ARGS__)  \
	 : (b) >= XST_B_INSN(XST_INSN_XSAVEC)			    ? event##_xsavec(__VA_ARGS__)  \
								    : event##_any(__VA_ARGS__))
/* The form of its CPUs is what a kernel's first questions are about. */
#define TODAYS (XST_WORLD_HAS_XSAVES ? XST_INSN_XSAVES : XST_INSN_XSAVEC)
XST_WAY_KEEP(any, insn_of(cpu->bits))
XST_WAYS(xsaves, XST_INSN_XSAVES)
XST_WAY_KEEP(xsaves, XST_INSN_XSAVES)
XST_WAYS(xsavec, XST_INSN_XSAVEC)
XST_WAY_KEEP(xsavec, XST_INSN_XSAVEC)
XST_WAYS_SKIP(xsaves, XST_INSN_XSAVES, true)
XST_WAYS_SKIP(xsavec, XST_INSN_XSAVEC, false)
/* An emulator's CPU: XSAVEOPT, and knows what is INIT. */
static XST_NOINLINE void switch_skip_any(SWITCH_ARGS, bits_t b)
{
	(void)b;
	switch_steps(cpu, prev, next, cpu->bits, SKIP(XST_INSN_XSAVEOPT));
}
static XST_NOINLINE void return_skip_any(struct xst_cpu *cpu, struct xst_ctx *cur, bits_t b)
{
	(void)b;
	return_plain(cpu, cur, SKIP(XST_INSN_XSAVEOPT));
}
#endif

/* The commonest states, in the order of what is to be cheapest: today's form with PKRU, without, the
 * older ones. Each way has a function that xst_switch() jumps to: the arguments are where they were
 * passed. @b is cpu->bits. */
static XST_NOINLINE void switch_eager_first(SWITCH_ARGS, bits_t b)
{
	if (switch_eager(cpu, prev, next, b, XST_B_PKRU, 0, TODAYS) ||
	    switch_eager(cpu, prev, next, b, 0, 0, TODAYS))
		return;
	if (IS_OLD(XST_INSN_FXSAVE) &&
	    (switch_eager(cpu, prev, next, b, 0, 0, XST_INSN_XSAVEOPT) ||
	     switch_eager(cpu, prev, next, b, 0, 0, XST_INSN_FXSAVE)))
		return;
	BY_FORM(switch_eager_more, b, cpu, prev, next);
}

static XST_NOINLINE void switch_defer_first(SWITCH_ARGS, bits_t b)
{
	if (!switch_defer_live(cpu, prev, next, b, XST_B_PKRU, TODAYS) &&
	    !switch_defer_away(cpu, prev, next, b, XST_B_PKRU, TODAYS) &&
	    !switch_defer_live(cpu, prev, next, b, 0, TODAYS) &&
	    !switch_defer_away(cpu, prev, next, b, 0, TODAYS))
		BY_FORM(switch_defer_more, b, cpu, prev, next);
}

static XST_NOINLINE void switch_defer_old(SWITCH_ARGS, bits_t b)
{
	if (!switch_defer_live(cpu, prev, next, b, 0, XST_INSN_XSAVEOPT) &&
	    !switch_defer_live(cpu, prev, next, b, 0, XST_INSN_FXSAVE) &&
	    !switch_defer_away(cpu, prev, next, b, 0, XST_INSN_FXSAVE) &&
	    !switch_defer_away(cpu, prev, next, b, 0, XST_INSN_XSAVEOPT))
		switch_defer_more_any(cpu, prev, next);
}

/* Where it lies in its cache lines moves an eager switch in user mode between 1.043 and 1.051 of the
 * bare pair. */
__attribute__((aligned(64))) void xst_switch(struct xst_cpu *cpu, struct xst_ctx *prev, struct xst_ctx *next)
{
	const bits_t b = XST_SMALL ? cpu->bits & ~B_WAYS : cpu->bits;

	XST_ASSERT(prev == cpu->cur);
	XST_TRACE(cpu, "switch", next);
	if (FIBERS && switch_eager(cpu, prev, next, b, 0, 0, XST_INSN_XSAVEC))
		return;
	if (FIBERS && switch_skip(cpu, prev, next, b, 0, XST_INSN_XSAVEC))
		return;
	if (b & XST_B_WAY(WAY_EAGER))
		switch_eager_first(cpu, prev, next, b);
	else if (b & XST_B_WAY(WAY_DEFER))
		switch_defer_first(cpu, prev, next, b);
	else if (IS_OLD(XST_INSN_FXSAVE) && (b & XST_B_WAY(WAY_DEFER_OLD)))
		switch_defer_old(cpu, prev, next, b);
	else if (b & XST_B_WAY(WAY_SKIP))
		BY_FORM(switch_skip, b, cpu, prev, next, b);
	else if (b & XST_B_WAY(WAY_USE))
		BY_FORM(switch_use, b, cpu, prev, next);
	else if (b & XST_B_WAY(WAY_KEEP))
		BY_FORM(switch_keep, b, cpu, prev, next);
	else
		switch_rare(cpu, prev, next);
}

void xst_return_to_user(struct xst_cpu *cpu)
{
	const bits_t b = XST_SMALL ? cpu->bits & ~B_WAYS : cpu->bits;
	struct xst_ctx *cur;

	if (b & XST_B_READY)
		return;
	cur = cpu->cur;
	if (!cur)
		return;
	XST_TRACE(cpu, "return-to-user", cur);
	if (FIBERS && return_skip(cpu, cur, b, 0, XST_INSN_XSAVEC))
		return;
	if (b & XST_B_WAY(WAY_DEFER)) {
		if (!return_defer(cpu, cur, b, XST_B_PKRU, TODAYS) &&
		    !return_defer(cpu, cur, b, 0, TODAYS))
			BY_FORM(return_more, b, cpu, cur);
	} else if (IS_OLD(XST_INSN_FXSAVE) && (b & XST_B_WAY(WAY_DEFER_OLD))) {
		if (!return_defer(cpu, cur, b, 0, XST_INSN_XSAVEOPT) &&
		    !return_defer(cpu, cur, b, 0, XST_INSN_FXSAVE))
			return_more_any(cpu, cur);
	} else if (b & XST_B_WAY(WAY_SKIP)) {
		BY_FORM(return_skip, b, cpu, cur, b);
	} else {
		return_rare(cpu, cur);
	}
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

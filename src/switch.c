// SPDX-License-Identifier: BSD-2-Clause
/*
 * The switching engine. Every policy runs through the same few steps:
 *
 *   leave()      the running task leaves: save where the policy says so, account the slot
 *   enter()      the next one comes: load now, arm CR0.TS, or leave it to the return to user mode
 *   validate()   the task's registers must be in place now: skip, or load
 */
#include "registers.h"

/* After this many blind slots one is entered with TS set, to see whether the task still uses it. */
#define BLIND_MAX 255u

/* The running task's registers must be in place now. */
static inline void validate(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	cpu->n.validations++;
	clear_ts(cpu);
	if (cpu->policy.keep_owner && in_place(cpu, ctx))
		cpu->n.loads_skipped_owner++;
	else
		load(cpu, ctx);
	if (cpu->dirty) {
		/* They were this task's only copy, and are in use again. */
		cpu->dirty = false;
		set_home(ctx, XST_NO_CPU);
	}
	cpu->init = false;
	cpu->live = true;
}

/* What the slot that ends taught about the task's use. */
static inline void account_slot(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	switch (cpu->slot) {
	case XST_SLOT_USED:
		ctx->use_row = (uint8_t)(ctx->use_row + (ctx->use_row < 255));
		ctx->blind = 0;
		break;
	case XST_SLOT_BLIND:
		ctx->blind++; /* never beyond BLIND_MAX: enter() makes the next one a probe */
		break;
	default:
		ctx->use_row = 0;
		ctx->blind = 0;
		break;
	}
	cpu->slot = XST_SLOT_UNKNOWN;
}

static inline void leave(struct xst_cpu *cpu, struct xst_ctx *prev)
{
	if (cpu->live) {
		cpu->live = false;
		if (cpu->policy.save == XST_SAVE_SWITCH_OUT) {
			save(cpu, prev);
		} else {
			cpu->dirty = true;
			set_home(prev, cpu->id);
		}
	}
	if (cpu->slot != XST_SLOT_UNKNOWN)
		account_slot(cpu, prev);
	if (!(cpu->extras & (EXTRA_PKRU | EXTRA_APART)))
		return;
	if (cpu->apart_live) {
		bool ts = cpu->ts;

		clear_ts(cpu);
		save_apart(cpu, prev);
		if (ts)
			set_ts(cpu);
		cpu->apart_live = false;
	}
	if (cpu->extras & EXTRA_PKRU)
		prev->pkru = cpu->pkru = xst_w_rdpkru(cpu->world);
}

/* A slot begins under a first-use policy. */
static inline void enter_first_use(struct xst_cpu *cpu, struct xst_ctx *next)
{
	const struct xst_policy *p = &cpu->policy;
	const bool keep = p->keep_owner && in_place(cpu, next);
	const bool preload = p->preload_after && next->use_row > p->preload_after;

	if (!keep && !preload) {
		cpu->slot = XST_SLOT_ARMED;
		set_ts(cpu);
	} else if (next->blind == BLIND_MAX) {
		cpu->slot = XST_SLOT_PROBE;
		cpu->n.probes++;
		set_ts(cpu);
	} else {
		cpu->slot = XST_SLOT_BLIND;
		if (!keep)
			cpu->n.preloads++;
		validate(cpu, next);
	}
}

/* A task without an area: it may run until it touches a register. What is behind TS must not be
 * another's unless the policy leaks anyway. */
static void enter_empty(struct xst_cpu *cpu)
{
	if (!xst_policy_leaky(&cpu->policy)) {
		clear_ts(cpu);
		clear_registers(cpu);
	}
	set_ts(cpu);
}

/* Make user mode enterable for the running task, as the policy wants it. */
static inline void prepare(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	if ((cpu->extras & EXTRA_APART) && !cpu->apart_live) {
		load_apart(cpu, ctx->area + cpu->sys->apart_offset);
		cpu->apart_live = true;
	}
	if (!ctx->area)
		enter_empty(cpu);
	else if (cpu->live)
		;
	else if (cpu->policy.load != XST_LOAD_FIRST_USE)
		validate(cpu, ctx);
	else
		set_ts(cpu);
	cpu->ready = true;
}

static inline void enter(struct xst_cpu *cpu, struct xst_ctx *next)
{
	/* PKRU at once: the kernel's own accesses to user memory obey it. */
	if ((cpu->extras & EXTRA_PKRU) && cpu->pkru != next->pkru) {
#ifndef XST_TWIN_NO_PKRU
		xst_w_wrpkru(cpu->world, next->pkru);
#endif
		cpu->pkru = next->pkru;
	}
	cpu->ready = false;
	if (cpu->policy.load == XST_LOAD_RETURN)
		return;
	if (cpu->policy.load == XST_LOAD_FIRST_USE && next->area)
		enter_first_use(cpu, next);
	prepare(cpu, next);
}

void xst_switch(struct xst_cpu *cpu, struct xst_ctx *prev, struct xst_ctx *next)
{
	XST_ASSERT(prev == cpu->cur);
	XST_TRACE(cpu, "switch", next);
	cpu->n.switches++;
	if (prev)
		leave(cpu, prev);
	cpu->cur = next;
	if (next)
		enter(cpu, next);
}

void xst_return_to_user(struct xst_cpu *cpu)
{
	if (cpu->ready || !cpu->cur)
		return;
	XST_TRACE(cpu, "return-to-user", cpu->cur);
	prepare(cpu, cpu->cur);
}

int xst_device_not_available(struct xst_cpu *cpu)
{
	if (!cpu->ts || !cpu->cur)
		return XST_ERR_NOT_OURS;
	XST_TRACE(cpu, "device-not-available", cpu->cur);
	if (!cpu->cur->area)
		return XST_ERR_NEED_BYTES;
	cpu->n.traps++;
	if (cpu->slot != XST_SLOT_UNKNOWN)
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
	set_home(ctx, XST_NO_CPU);
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
	fresh(cpu->sys, ctx);
	ctx->pkru = pkru;
	if (ctx != cpu->cur)
		return XST_OK;
	cpu->n.first_uses++;
	/* Under a first-use policy this slot is one that used the registers. */
	if (cpu->policy.load == XST_LOAD_FIRST_USE)
		cpu->slot = XST_SLOT_USED;
	validate(cpu, ctx);
	cpu->ready = false;
	return XST_OK;
}

void xst_ctx_flush(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	if (!ctx->area)
		return;
	if (ctx != cpu->cur) {
		settle(cpu, ctx);
		return;
	}
	XST_TRACE(cpu, "flush", ctx);
	if (cpu->extras & EXTRA_PKRU)
		ctx->pkru = cpu->pkru = xst_w_rdpkru(cpu->world);
	if (cpu->apart_live) {
		bool ts = cpu->ts;

		clear_ts(cpu);
		save_apart(cpu, ctx);
		if (ts)
			set_ts(cpu);
	}
	if (cpu->live) {
		save(cpu, ctx);
		cpu->init = false; /* still the task's, who may write them */
		if (cpu->insn == XST_INSN_FNSAVE) {
			cpu->live = false;
			cpu->ready = false;
		}
	} else if (xst_ctx_home(ctx) != XST_NO_CPU) {
		settle(cpu, ctx);
	}
}

void xst_ctx_changed(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	ctx->last_cpu = XST_NO_CPU;
	if (cpu->owner == ctx) {
		cpu->owner = NULL;
		cpu->dirty = false;
	}
	set_home(ctx, XST_NO_CPU);
	if (ctx != cpu->cur)
		return;
	XST_TRACE(cpu, "changed", ctx);
	cpu->live = false;
	cpu->apart_live = false;
	cpu->ready = false;
	if ((cpu->extras & EXTRA_PKRU) && cpu->pkru != ctx->pkru) {
		xst_w_wrpkru(cpu->world, ctx->pkru);
		cpu->pkru = ctx->pkru;
	}
}

void xst_ctx_fork(struct xst_cpu *cpu, struct xst_ctx *parent, struct xst_ctx *child)
{
	XST_TRACE(cpu, "fork", child);
	xst_ctx_flush(cpu, parent);
	if (parent != cpu->cur || !(cpu->extras & EXTRA_PKRU))
		child->pkru = parent->pkru;
	else
		child->pkru = parent->pkru = cpu->pkru = xst_w_rdpkru(cpu->world);
	XST_ASSERT(child->area || !parent->area);
	if (parent->area)
		__builtin_memcpy(child->area, parent->area, cpu->sys->ctx_bytes);
	child->last_cpu = XST_NO_CPU;
	child->use_row = 0;
	child->blind = 0;
	child->fault = 0;
}

/* Where are @ctx's registers, if not in its area? They are not wanted any more. */
static void drop(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	const uint32_t home = xst_ctx_home(ctx);

	if (home != XST_NO_CPU && home != cpu->id)
		XST_FETCH(cpu, home, ctx);
	if (cpu->owner == ctx) {
		cpu->owner = NULL;
		cpu->dirty = false;
	}
	set_home(ctx, XST_NO_CPU);
	ctx->last_cpu = XST_NO_CPU;
}

void xst_ctx_exec(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	XST_TRACE(cpu, "exec", ctx);
	drop(cpu, ctx);
	fresh(cpu->sys, ctx);
	if (ctx == cpu->cur && (cpu->extras & EXTRA_PKRU))
		cpu->pkru = xst_w_rdpkru(cpu->world);
	xst_ctx_changed(cpu, ctx);
}

void xst_ctx_exit(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	XST_TRACE(cpu, "exit", ctx);
	drop(cpu, ctx);
	if (ctx != cpu->cur)
		return;
	cpu->live = false;
	cpu->apart_live = false;
	cpu->ready = false;
	cpu->cur = NULL;
	cpu->slot = XST_SLOT_UNKNOWN;
	if (cpu->extras & EXTRA_PKRU)
		cpu->pkru = xst_w_rdpkru(cpu->world);
}

void xst_cpu_evict(struct xst_cpu *cpu)
{
	XST_TRACE(cpu, "evict", cpu->owner);
	evict(cpu);
}

void xst_ctx_migrate(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	XST_TRACE(cpu, "migrate", ctx);
	settle(cpu, ctx);
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
		evict(cpu);
	cpu->policy = *policy;
	cpu->extras &= (uint8_t)~EXTRA_SKIP_INIT;
	if (policy->skip_init && cpu->sys->xgetbv1)
		cpu->extras |= EXTRA_SKIP_INIT;
	/* Registers that are in place stay so; the others wait for their first use or for the return
	 * to user mode, whichever the new policy watches. */
	cpu->slot = XST_SLOT_UNKNOWN;
	cpu->ready = false;
	if (policy->load != XST_LOAD_FIRST_USE)
		clear_ts(cpu);
	cpu->n.flips++;
	cpu->epoch++;
	return XST_OK;
}

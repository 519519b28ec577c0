// SPDX-License-Identifier: BSD-2-Clause
/*
 * The switching engine. Every policy runs through the same few steps:
 *
 *   leave()      the running task leaves: save where the policy says so, account the slot
 *   enter()      the next one comes: load now, arm CR0.TS, or leave it to the return to user mode
 *   validate()   the task's registers must be in place now: skip, or load
 *
 * The XST_TWIN_* defines break one of these on purpose; tests build them to see that they are
 * caught. Nothing else defines them.
 */
#include <xst/switch.h>
#include <xst/world.h>

#include "engine.h"

/* After this many blind slots one is entered with TS set, to see whether the task still uses it. */
#define BLIND_MAX 255u

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

/* Save the live registers into @ctx. Only FNSAVE leaves them unusable. */
static inline void save(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	cpu->n.saves++;
#ifndef XST_TWIN_SKIP_SAVE
	xst_w_save(cpu->world, cpu->insn, ctx->area, cpu->mask);
#endif
	if (cpu->insn == XST_INSN_FNSAVE)
		cpu->owner = NULL;
}

static inline bool in_place(const struct xst_cpu *cpu, const struct xst_ctx *ctx)
{
#ifdef XST_TWIN_STALE_OWNER
	return cpu->owner == ctx;
#else
	return cpu->owner == ctx && ctx->last_cpu == cpu->id;
#endif
}

/* The image was refused: the task gets fresh state, and the caller can see why in ctx->fault. The
 * restore may have changed registers before it faulted, so everything is loaded anew. */
static __attribute__((noinline, cold)) void load_failed(struct xst_cpu *cpu, struct xst_ctx *ctx,
							 int vector)
{
	cpu->n.loads_failed++;
	ctx->fault = (uint8_t)vector;
	XST_TRACE(cpu, "load-failed", ctx);
	xst_engine_fresh((enum xst_insn)cpu->insn, cpu->mask, ctx->area, cpu->sys->layout.bytes);
	vector = xst_w_load(cpu->world, cpu->insn, ctx->area, cpu->mask);
	XST_ASSERT(!vector);
}

static inline void load(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	int vector = 0;

	cpu->owner = ctx;
	ctx->last_cpu = cpu->id;
#ifndef XST_TWIN_SKIP_RESTORE
	vector = xst_w_load(cpu->world, cpu->insn, ctx->area, cpu->mask);
#endif
	if (__builtin_expect(vector, 0))
		load_failed(cpu, ctx, vector);
	else
		cpu->n.loads++;
}

/* The running task's registers must be in place now. */
static inline void validate(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	cpu->n.validations++;
	clear_ts(cpu);
	if (cpu->policy.keep_owner && in_place(cpu, ctx))
		cpu->n.loads_skipped_owner++;
	else
		load(cpu, ctx);
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
	case XST_SLOT_ARMED:
	case XST_SLOT_PROBE:
		ctx->use_row = 0;
		ctx->blind = 0;
		break;
	default:
		break;
	}
	cpu->slot = XST_SLOT_UNKNOWN;
}

static inline void leave(struct xst_cpu *cpu, struct xst_ctx *prev)
{
	if (cpu->live) {
		save(cpu, prev);
		cpu->live = false;
	}
	if (cpu->slot != XST_SLOT_UNKNOWN)
		account_slot(cpu, prev);
	if (cpu->has_pkru)
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

static inline void enter(struct xst_cpu *cpu, struct xst_ctx *next)
{
	/* PKRU at once: the kernel's own accesses to user memory obey it. */
	if (cpu->has_pkru && cpu->pkru != next->pkru) {
#ifndef XST_TWIN_NO_PKRU
		xst_w_wrpkru(cpu->world, next->pkru);
#endif
		cpu->pkru = next->pkru;
	}
	if (cpu->policy.load == XST_LOAD_SWITCH_IN)
		validate(cpu, next);
	else if (cpu->policy.load == XST_LOAD_FIRST_USE)
		enter_first_use(cpu, next);
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
	if (cpu->live || !cpu->cur)
		return;
	if (cpu->policy.load == XST_LOAD_FIRST_USE) {
		set_ts(cpu);
		return;
	}
	XST_TRACE(cpu, "return-to-user", cpu->cur);
	validate(cpu, cpu->cur);
}

int xst_device_not_available(struct xst_cpu *cpu)
{
	if (!cpu->ts || !cpu->cur)
		return XST_ERR_NOT_OURS;
	XST_TRACE(cpu, "device-not-available", cpu->cur);
	cpu->n.traps++;
	if (cpu->slot != XST_SLOT_UNKNOWN)
		cpu->slot = XST_SLOT_USED;
	validate(cpu, cpu->cur);
	return XST_OK;
}

static void fresh(const struct xst_system *sys, struct xst_ctx *ctx)
{
	xst_engine_fresh(sys->insn, sys->mask, ctx->area, sys->layout.bytes);
	ctx->last_cpu = XST_NO_CPU;
	ctx->pkru = sys->init_pkru;
	ctx->use_row = 0;
	ctx->blind = 0;
	ctx->fault = 0;
	ctx->reserved = 0;
}

int xst_ctx_init(const struct xst_system *sys, struct xst_ctx *ctx, void *area, size_t bytes)
{
	if (bytes < sys->ctx_bytes)
		return XST_ERR_NEED_BYTES;
	if ((uintptr_t)area % XST_AREA_ALIGN)
		return XST_ERR_ALIGN;
	ctx->area = area;
	fresh(sys, ctx);
	return XST_OK;
}

void xst_ctx_flush(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	if (ctx != cpu->cur)
		return;
	XST_TRACE(cpu, "flush", ctx);
	if (cpu->has_pkru)
		ctx->pkru = cpu->pkru = xst_w_rdpkru(cpu->world);
	if (!cpu->live)
		return;
	save(cpu, ctx);
	if (!cpu->owner)
		cpu->live = false; /* FNSAVE: loaded again when needed, as after an edit */
	if (!cpu->live && cpu->policy.load == XST_LOAD_FIRST_USE)
		set_ts(cpu);
}

void xst_ctx_changed(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	ctx->last_cpu = XST_NO_CPU;
	if (cpu->owner == ctx)
		cpu->owner = NULL;
	if (ctx != cpu->cur)
		return;
	XST_TRACE(cpu, "changed", ctx);
	cpu->live = false;
	if (cpu->policy.load == XST_LOAD_FIRST_USE)
		set_ts(cpu);
	if (cpu->has_pkru && cpu->pkru != ctx->pkru) {
		xst_w_wrpkru(cpu->world, ctx->pkru);
		cpu->pkru = ctx->pkru;
	}
}

void xst_ctx_fork(struct xst_cpu *cpu, struct xst_ctx *parent, struct xst_ctx *child)
{
	XST_TRACE(cpu, "fork", child);
	xst_ctx_flush(cpu, parent);
	__builtin_memcpy(child->area, parent->area, cpu->sys->layout.bytes);
	child->last_cpu = XST_NO_CPU;
	child->pkru = parent->pkru;
	child->use_row = 0;
	child->blind = 0;
	child->fault = 0;
}

void xst_ctx_exec(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	XST_TRACE(cpu, "exec", ctx);
	fresh(cpu->sys, ctx);
	if (ctx == cpu->cur && cpu->has_pkru)
		cpu->pkru = xst_w_rdpkru(cpu->world);
	xst_ctx_changed(cpu, ctx);
}

void xst_ctx_exit(struct xst_cpu *cpu, struct xst_ctx *ctx)
{
	XST_TRACE(cpu, "exit", ctx);
	ctx->last_cpu = XST_NO_CPU;
	if (cpu->owner == ctx)
		cpu->owner = NULL;
	if (ctx != cpu->cur)
		return;
	cpu->live = false;
	cpu->cur = NULL;
	cpu->slot = XST_SLOT_UNKNOWN;
	if (cpu->has_pkru)
		cpu->pkru = xst_w_rdpkru(cpu->world);
}

static int check_policy(const struct xst_cpu *cpu, const struct xst_policy *policy, unsigned flags,
			struct xst_diag *diag)
{
	int err = xst_policy_check(policy, diag);

	if (err)
		return err;
	if (policy->save == XST_SAVE_DISPLACED || policy->skip_init)
		return xst_diag_set(diag, XST_ERR_UNSUPPORTED, XST_DIAG_NO_COMPONENT, 0, 0, 1,
				    "this engine has no save=displaced and no skip-init");
	if (policy->load == XST_LOAD_FIRST_USE && !XST_WORLD_HAS_TS)
		return xst_diag_set(diag, XST_ERR_UNSUPPORTED, XST_DIAG_NO_COMPONENT, 0, 1, 0,
				    "this world has no CR0.TS");
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
	cpu->policy = *policy;
	cpu->slot = XST_SLOT_UNKNOWN;
	/* Registers that are in place stay so; the others wait for their first use or for the return
	 * to user mode, whichever the new policy watches. */
	if (policy->load == XST_LOAD_FIRST_USE && cpu->cur && !cpu->live)
		set_ts(cpu);
	else
		clear_ts(cpu);
	cpu->n.flips++;
	cpu->epoch++;
	return XST_OK;
}

void xst_cpu_read_counters(const struct xst_cpu *cpu, struct xst_reading *reading)
{
	reading->n = cpu->n;
	reading->bytes_nominal = cpu->n.saves * cpu->sys->layout.bytes;
	reading->epoch = cpu->epoch;
}

void xst_cpu_reset_counters(struct xst_cpu *cpu)
{
	__builtin_memset(&cpu->n, 0, sizeof(cpu->n));
}

bool xst_counters_balanced(const struct xst_counters *n)
{
	return n->validations == n->loads + n->loads_skipped_owner + n->loads_elided_init +
					 n->loads_failed &&
	       n->preloads <= n->loads + n->loads_failed && n->traps <= n->validations;
}

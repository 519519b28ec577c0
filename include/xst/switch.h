/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switching engine: tasks, CPUs, and the events that move registers between them.
 *
 * Who owns the registers, and where the truth is:
 *
 *   cpu->live            cur's registers are in place and may be newer than its area; TS is clear.
 *   !live, owner == C    the registers are a copy of C's area, unless C ran elsewhere since
 *                        (C->last_cpu != cpu->id) or its area was edited (last_cpu = none).
 *   owner == NULL        the registers are nobody's.
 *
 * A task that is not running has its truth in its area, always. Only cpu->owner's *address* is ever
 * looked at, so an exited task's memory may be reused at once (xst_ctx_init() forgets last_cpu).
 *
 * Every function below that takes a struct xst_cpu runs on that CPU, in ring 0, with interrupts
 * off, and may not be preempted. None blocks, allocates or fails, except where a status is returned.
 */
#ifndef XST_SWITCH_H
#define XST_SWITCH_H

#include <xst/policy.h>
#include <xst/prefix.h>
#include <xst/system.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XST_NO_CPU 0xffffffffu

/* An area of @bytes for a task, aligned as XSAVE wants it. */
#define XST_AREA(name, bytes) uint8_t name[bytes] __attribute__((aligned(64)))

/* One task's extended state. Zero is not valid: xst_ctx_init(). */
struct xst_ctx {
	uint8_t *area;      /* the caller's memory, 64-byte aligned */
	uint32_t last_cpu;  /* whose registers last held this task, or XST_NO_CPU */
	uint32_t pkru;      /* valid while the task is not running */
	uint8_t use_row;    /* slots in a row in which it used the registers, up to 255 */
	uint8_t blind;      /* slots in a row in which use could not be seen, up to 255 */
	uint8_t fault;      /* vector of a restore that failed; the task got fresh state */
	uint8_t reserved;
};

/* Counters; one set per CPU. Every one only grows; they go on across a policy change. */
struct xst_counters {
	uint64_t switches;            /* calls of xst_switch() */
	uint64_t validations;         /* the task's registers had to be in place now */
	uint64_t saves;               /* save instructions for a task at switch-out or displacement */
	uint64_t saves_elided;        /* those skip_init avoided */
	uint64_t loads;               /* restore instructions for a task, whatever caused them */
	uint64_t loads_skipped_owner; /* validations that found the registers in place */
	uint64_t loads_elided_init;   /* validations that needed no load: INIT on both sides */
	uint64_t loads_failed;        /* restores that faulted */
	uint64_t preloads;            /* subset of loads done early by preload_after */
	uint64_t probes;              /* slots entered with TS set only to see use */
	uint64_t traps;               /* #NM from TS */
	uint64_t flips;               /* policy changes */
};

/* A reading: the counters, what follows from them, and the epoch they belong to. */
struct xst_reading {
	struct xst_counters n;
	uint64_t bytes_nominal; /* area bytes of the mask times the saves */
	uint64_t epoch;         /* number of policy changes so far */
};

/* What the slot that is running looks like to the preload logic. */
enum xst_slot {
	XST_SLOT_UNKNOWN, /* not entered under a first-use policy */
	XST_SLOT_ARMED,   /* TS set, not used so far */
	XST_SLOT_PROBE,   /* the same, only to see use */
	XST_SLOT_USED,    /* #NM came */
	XST_SLOT_BLIND,   /* registers in place from the start: use cannot be seen */
};

/* One CPU. */
struct xst_cpu {
	struct xst_ctx *cur;   /* running task; NULL: a kernel thread or nothing */
	struct xst_ctx *owner; /* whose registers these are; only compared, never followed */
	const struct xst_system *sys;
	void *world;           /* the world's own: a software CPU; unused in ring 0 */
	uint64_t mask;         /* copies of hot facts of @sys */
	uint32_t id;
	uint32_t pkru;         /* what PKRU holds */
	uint8_t insn;
	bool has_pkru;
	bool live;
	bool ts;               /* what CR0.TS holds */
	uint8_t slot;          /* enum xst_slot */
	struct xst_policy policy;
	uint64_t epoch;
	struct xst_counters n;
};

/* Flags of xst_cpu_set_policy(). */
#define XST_FORCE 1u /* accept a leaky policy on an affected CPU */

/**
 * xst_ctx_init() - give a task its (fresh) state.
 * @sys:   the machine.
 * @ctx:   out; may be memory of an exited task.
 * @area:  64-byte aligned, owned by the caller for as long as the task lives.
 * @bytes: its size; sys->ctx_bytes or more. Bytes beyond that are not touched.
 *
 * Context: any ring in which @area can be written; any CPU; @ctx must not be running.
 * Return:  XST_OK; XST_ERR_NEED_BYTES when @bytes is below sys->ctx_bytes; XST_ERR_ALIGN.
 */
int xst_ctx_init(const struct xst_system *sys, struct xst_ctx *ctx, void *area, size_t bytes);

/**
 * xst_switch() - the CPU goes from one task to another.
 * @cpu:  this CPU.
 * @prev: the task that ran, NULL for a kernel thread or an exited task.
 * @next: the task that will run, NULL for a kernel thread.
 *
 * Context: ring 0, interrupts off. May fault only where a restore of @next's area faults and the
 *          port has no XST_ASM_FIXUP().
 */
void xst_switch(struct xst_cpu *cpu, struct xst_ctx *prev, struct xst_ctx *next);

/**
 * xst_return_to_user() - the running task is about to enter user mode.
 *
 * Context: ring 0, interrupts off from here to the return. May fault as xst_switch().
 */
void xst_return_to_user(struct xst_cpu *cpu);

/**
 * xst_device_not_available() - #NM was raised in user mode.
 *
 * Context: ring 0, interrupts off. May fault as xst_switch().
 * Return:  XST_OK: the instruction can be restarted; XST_ERR_NOT_OURS: the engine had not armed
 *          CR0.TS, the exception has another reason.
 */
int xst_device_not_available(struct xst_cpu *cpu);

/**
 * xst_ctx_flush() - make the area of the running task current (ptrace, core dump, checkpoint).
 *
 * The registers stay in place. A task that does not run needs no flush.
 *
 * Context: ring 0, interrupts off, on the CPU where @ctx runs.
 */
void xst_ctx_flush(struct xst_cpu *cpu, struct xst_ctx *ctx);

/**
 * xst_ctx_changed() - @ctx's area or PKRU was edited: no CPU's registers are a copy of it any more.
 *
 * Context: ring 0, interrupts off; @ctx runs on this CPU or nowhere. Edits of a running task come
 *          between xst_ctx_flush() and this, without a return to user mode or a switch in between.
 */
void xst_ctx_changed(struct xst_cpu *cpu, struct xst_ctx *ctx);

/**
 * xst_ctx_fork() - @child becomes a copy of @parent.
 * @parent: running on this CPU, or not running.
 * @child:  already has an area (xst_ctx_init()); its contents are replaced.
 *
 * Saves at most once and loads nothing, but for FNSAVE, which destroys what it saves.
 *
 * Context: ring 0, interrupts off; both areas can be accessed.
 */
void xst_ctx_fork(struct xst_cpu *cpu, struct xst_ctx *parent, struct xst_ctx *child);

/**
 * xst_ctx_exec() - @ctx begins a new program with fresh state.
 *
 * Context: ring 0, interrupts off; @ctx runs on this CPU or nowhere.
 */
void xst_ctx_exec(struct xst_cpu *cpu, struct xst_ctx *ctx);

/**
 * xst_ctx_exit() - @ctx ends; nothing of it is saved. Afterwards its memory is the caller's again,
 * and xst_switch() gets NULL for it.
 *
 * Context: ring 0, interrupts off; @ctx runs on this CPU or nowhere.
 */
void xst_ctx_exit(struct xst_cpu *cpu, struct xst_ctx *ctx);

/**
 * xst_cpu_set_policy() - turn the knob on this CPU; other CPUs may have other policies.
 * @cpu:    this CPU; a task may be running, its registers may be in place or not.
 * @policy: copied.
 * @flags:  XST_FORCE or 0.
 * @diag:   out, optional.
 *
 * Context: ring 0, interrupts off.
 * Return:  XST_OK; XST_ERR_INVALID (xst_policy_check()); XST_ERR_LEAKY when the policy is leaky and
 *          the CPU affected, without XST_FORCE; XST_ERR_UNSUPPORTED when this world or engine cannot
 *          do it. On error nothing changed.
 */
int xst_cpu_set_policy(struct xst_cpu *cpu, const struct xst_policy *policy, unsigned flags,
		       struct xst_diag *diag);

/**
 * xst_cpu_read_counters() - the counters and what follows from them.
 *
 * Context: on this CPU with interrupts off, or any other CPU where a torn 64-bit read (32-bit
 *          builds) does not matter.
 */
void xst_cpu_read_counters(const struct xst_cpu *cpu, struct xst_reading *reading);

/**
 * xst_cpu_reset_counters() - start counting anew; the epoch goes on.
 */
void xst_cpu_reset_counters(struct xst_cpu *cpu);

/**
 * xst_counters_balanced() - does validations = loads + loads_skipped_owner + loads_elided_init +
 * loads_failed hold, and preloads <= loads, traps <= validations?
 */
bool xst_counters_balanced(const struct xst_counters *n);

#ifdef __cplusplus
}
#endif
#endif

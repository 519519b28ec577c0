/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switching engine: tasks, CPUs, and the events that move registers between them.
 *
 * Who owns the registers, and where the truth is:
 *
 *   LIVE                 cur's registers are in place and may be newer than its area; TS is clear.
 *   DIRTY                the registers are the only copy of owner, who does not run here now
 *                        (save=displaced); owner->home is this CPU.
 *   neither, owner == C  the registers are a copy of C's area, unless C ran elsewhere since
 *                        (C->last_cpu != cpu->id) or its area was edited (last_cpu = none).
 *   owner == NULL        the registers are nobody's.
 *   owner == the CPU     the registers are the kernel's, after an in-kernel section (kernel.h).
 *   INIT                 the registers are known to be INIT.
 *
 * The mask goes with the owner of the registers too, and IA32_XFD with it: a component beyond
 * sys->mask is either in the owner's area, or INIT, and disabled if it is dynamic.
 *
 * A task that is not running has its truth in its area, unless its home says where it is. Only the
 * *address* of owner is looked at unless dirty, so an exited task's memory may be reused at once.
 *
 * Every function below that takes a struct xst_cpu runs on that CPU, in ring 0 (or the world's
 * equivalent), with interrupts off, and may not be preempted. None blocks, allocates or fails,
 * except where a status is returned.
 */
#ifndef XST_SWITCH_H
#define XST_SWITCH_H

#include <xst/perm.h>
#include <xst/policy.h>
#include <xst/prefix.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XST_NO_CPU  0xffffffffu
#define XST_NO_AREA 0xfffffffeu

/* An area of @bytes for a task, aligned as XSAVE wants it. */
#define XST_AREA(name, bytes) uint8_t name[bytes] __attribute__((aligned(64)))

/* One task's extended state. Zero is not valid: xst_ctx_init(). */
struct xst_ctx {
	uint8_t *area;      /* the caller's memory, 64-byte aligned; NULL until the first use */
	uint32_t last_cpu;  /* whose registers last held this task, or XST_NO_CPU */
	uint32_t home;      /* the CPU whose registers hold its only copy, or XST_NO_CPU;
			       XST_NO_AREA while there is no area, and for a guest's: one
			       comparison then tells the plain case */
	uint64_t dynamic;   /* components beyond sys->mask in its image: sys->dynamic or none; a
			       guest's all */
	uint32_t pkru;      /* valid while the task is not running */
	uint8_t use_row;    /* slots in a row in which it used the registers, up to 255 */
	uint8_t blind;      /* slots in a row in which use could not be seen, up to 255 */
	uint8_t fault;      /* vector of a restore that failed; the task got fresh state */
	uint8_t kind;       /* enum xst_ctx_kind */
};

/* Whose a context is. */
enum xst_ctx_kind {
	XST_CTX_TASK,
	XST_CTX_SECTION, /* a section's that may be preempted (kernel.h) */
	XST_CTX_GUEST,   /* a virtual CPU's (guest.h): one image with all that it may have */
};

static inline bool xst_ctx_is_guest(const struct xst_ctx *ctx)
{
	return ctx->kind == XST_CTX_GUEST;
}

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
	uint64_t clears;              /* restores of INIT for a task that has no area yet */
	uint64_t first_uses;          /* areas attached on first use */
	uint64_t apart_saves;         /* the second image: components that TS does not guard */
	uint64_t apart_loads;
	uint64_t apart_failed;        /* subset of apart_loads that faulted; the task got INIT */
	uint64_t kernel_saves;        /* save instructions that sections caused; not in saves */
	uint64_t kernel_init_x87;     /* FNINIT for a section */
	uint64_t kernel_init_mxcsr;   /* MXCSR loaded for a section */
	uint64_t section_longest;     /* in units of XST_CLOCK(); the greatest, not a sum */
	uint64_t xfd_traps;           /* #NM from IA32_XFD */
	uint64_t grows;               /* areas grown for dynamic components */
	uint64_t refusals;            /* growths refused for want of a permission */
	uint64_t kernel_sections;     /* in-kernel sections begun, kernel.h; last, beside their state */
};

/* A reading: the counters, what follows from them, and the epoch they belong to. */
struct xst_reading {
	struct xst_counters n;
	uint64_t bytes_nominal; /* area bytes of the mask times saves + kernel_saves */
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

/*
 * What a CPU's switch path has to look at, in one word: the policy, what this machine needs beside
 * one save and one load, and the state. One comparison then recognises the common case.
 */

/* the policy; neither load bit: at switch-in */
#define XST_B_LOAD_RETURN (1u << 0)
#define XST_B_LOAD_USE    (1u << 1)
#define XST_B_DISPLACED   (1u << 2)
#define XST_B_KEEP        (1u << 3)
#define XST_B_SKIP_INIT   (1u << 4)
/* the machine */
#define XST_B_PKRU     (1u << 5)
#define XST_B_APART    (1u << 6)
#define XST_B_FIP      (1u << 7)
#define XST_B_MASK     (1u << 8) /* owners' masks differ: sys->dynamic, or a guest is one */
#define XST_B_INSN(insn) ((uint32_t)(insn) << 29) /* enum xst_insn on top: compared as a number */
#define XST_B_INSN_OF(b) ((b) >> 29)
/* the code made for this kind of policy, see switch.c: one bit at most */
#define XST_B_WAY(kind) (1u << (19 + (kind)))
/* the state; the first three are explained above */
#define XST_B_LIVE       (1u << 9)
#define XST_B_DIRTY      (1u << 10)
#define XST_B_INIT       (1u << 11)
#define XST_B_APART_LIVE (1u << 12) /* cur's second image is in the registers */
#define XST_B_READY      (1u << 13) /* cur may enter user mode as things stand */
#define XST_B_TS         (1u << 14) /* what CR0.TS holds */
#define XST_B_SLOT       (1u << 15) /* slot is not XST_SLOT_UNKNOWN */
#define XST_B_TILES      (1u << 16) /* cur's tiles are in the registers, all else in its area */

enum xst_section_state {
	XST_SECTION_DOWN,  /* the CPU is not up */
	XST_SECTION_IDLE,  /* none runs */
	XST_SECTION_BUSY,  /* one runs, or is being entered or left */
	XST_SECTION_EARLY, /* one runs on a CPU that is not up: x87 and MMX only */
	/* As IDLE and BUSY, where begin and end have more to do: no short path. */
	XST_SECTION_WATCHED,
	XST_SECTION_WATCHED_BUSY,
};

/* A CPU's in-kernel sections; kernel.h explains them. */
struct xst_sections {
	uint64_t run;       /* XST_SECTION_RUN(): one store says that one runs, and all about it */
	uint8_t in_place;   /* XST_NEED_*: initial values the registers hold while they are the kernel's */
	uint8_t form;       /* enum xst_mxcsr_form */
	bool tiles_live;    /* the user's tiles are in the area below */
	uint8_t in_use;     /* checking builds: what was in use at begin */
	void *tiles;        /* the embedder's area for them, or NULL */
	uint64_t xfd;       /* IA32_XFD at begin */
	uint64_t began;     /* XST_CLOCK() then */
};

#define XST_SECTION_RUN(state, need, caller)                                                       \
	((uint64_t)(uintptr_t)(caller) << 8 | (uint64_t)((need) & 7u) << 3 | (uint64_t)(state))

static inline enum xst_section_state xst_section_state(const struct xst_sections *s)
{
	return (enum xst_section_state)(s->run & 7);
}

/* XST_NEED_*: what the section that runs declared. */
static inline unsigned xst_section_need(const struct xst_sections *s)
{
	return (unsigned)(s->run >> 3 & 7);
}

/* Who began the section that runs, or the last one. Addresses are signed, of 56 bits. */
static inline const void *xst_section_caller(const struct xst_sections *s)
{
	return (const void *)(uintptr_t)((int64_t)s->run >> 8);
}

/* One CPU. */
struct xst_cpu {
	struct xst_ctx *cur;   /* running task; NULL: a kernel thread or nothing */
	struct xst_ctx *owner; /* whose registers these are; followed only while DIRTY */
	const struct xst_system *sys;
	void *world;           /* the world's own: a software CPU; unused in ring 0 */
	uint64_t mask;         /* of a save: sys->mask and what is beyond in owner's area */
	uint64_t xfd;          /* what IA32_XFD holds: sys->dynamic but for that */
	uint32_t bits;         /* XST_B_* */
	uint32_t id;
	uint8_t slot;          /* enum xst_slot */
	bool xinuse_mxcsr;     /* XINUSE[1] is 1 with another MXCSR, too: seen when it came online */
	uint8_t reserved[6];
	struct xst_policy policy;
	uint64_t epoch;
	struct xst_counters n;
	struct xst_sections sections;
	const void *ssp_of;    /* the guest whose shadow-stack pointers software left here */
	uint32_t fixed;        /* of bits, what is no state: what a CPU that comes up has */
};

/* Flags of xst_cpu_set_policy(). */
#define XST_FORCE 1u /* accept a leaky policy on an affected CPU */
#define XST_BOUND 2u /* the caller keeps tasks on their xst_ctx_home(): no XST_FETCH() needed */

/**
 * xst_ctx_init() - give a task its (fresh) state.
 * @sys:   the machine.
 * @ctx:   out; may be memory of an exited task.
 * @area:  64-byte aligned, owned by the caller for as long as the task lives. NULL with @bytes 0:
 *         the task gets its area when it first touches a register, see xst_ctx_attach().
 * @bytes: its size; sys->ctx_bytes or more. Bytes beyond that are not touched.
 *
 * Context: any ring in which @area can be written; any CPU; @ctx must not be running.
 * Return:  XST_OK; XST_ERR_NEED_BYTES when @bytes is below sys->ctx_bytes; XST_ERR_ALIGN;
 *          XST_ERR_UNSUPPORTED for an area to come in a world without CR0.TS, or on a
 *          machine that enables components which CR0.TS does not guard.
 */
int xst_ctx_init(const struct xst_system *sys, struct xst_ctx *ctx, void *area, size_t bytes);

/**
 * xst_ctx_attach() - give @ctx the area it was begun without, with fresh state in it.
 * @ctx: running on this CPU (after xst_device_not_available() said XST_ERR_NEED_BYTES) or nowhere.
 *
 * Allocation at first use is one thing, lazy switching another: it goes with every policy.
 *
 * Context: ring 0, interrupts off.
 * Return:  XST_OK; XST_ERR_NEED_BYTES, XST_ERR_ALIGN as xst_ctx_init(); XST_ERR_INVALID when @ctx
 *          has an area.
 */
int xst_ctx_attach(struct xst_cpu *cpu, struct xst_ctx *ctx, void *area, size_t bytes);

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
 *          CR0.TS, the exception has another reason; XST_ERR_NEED_BYTES: the task has no area yet,
 *          get sys->ctx_bytes bytes, xst_ctx_attach() them and restart the instruction;
 *          XST_ERR_DYNAMIC: IA32_XFD holds back what the task used, see xst_ctx_grow().
 */
int xst_device_not_available(struct xst_cpu *cpu);

/**
 * xst_ctx_grow() - give @ctx room for the dynamic components, after XST_ERR_DYNAMIC or before.
 * @ctx:   running on this CPU or nowhere, with an area (xst_ctx_attach() comes first).
 * @perm:  its process's permission.
 * @area:  64-byte aligned, owned by the caller for as long as the task lives. What ctx->area was is
 *         the caller's again afterwards; it may be the same memory, if that has the room.
 *         NULL to ask.
 * @bytes: its size; sys->grown_bytes or more.
 * @diag:  out, optional: the component, the bytes needed.
 *
 * The state is carried over; what is dynamic begins as INIT. Between the trap and this call the
 * caller may have interrupts on, sleep for memory and change CPUs. On XST_ERR_DENIED the task is
 * sent SIGILL: it may not have the component.
 *
 * Context: ring 0, interrupts off.
 * Return:  XST_OK: the instruction can be restarted; XST_ERR_DENIED; XST_ERR_NEED_BYTES, diag->want
 *          says how many; XST_ERR_ALIGN; XST_ERR_INVALID when @ctx has no area, or room already. On
 *          error nothing changed.
 * Ref:     SDM vol. 1, "Extended Feature Disable (XFD)"
 */
int xst_ctx_grow(struct xst_cpu *cpu, struct xst_ctx *ctx, const struct xst_perm *perm, void *area,
		 size_t bytes, struct xst_diag *diag);

/**
 * xst_ctx_layout() - the layout of @ctx's first image.
 */
static inline const struct xst_layout *xst_ctx_layout(const struct xst_system *sys,
						      const struct xst_ctx *ctx)
{
	return ctx->dynamic ? &sys->grown : &sys->layout;
}

/**
 * xst_ctx_apart() - @ctx's second image, where sys->apart is not 0, laid out by sys->apart_layout.
 */
static inline uint8_t *xst_ctx_apart(const struct xst_system *sys, const struct xst_ctx *ctx)
{
	return ctx->area + (ctx->dynamic ? sys->grown_apart_offset : sys->apart_offset);
}

/**
 * xst_ctx_flush() - make the area of the running task current (ptrace, core dump, checkpoint).
 *
 * The registers stay in place. A task that does not run needs it only under save=displaced.
 *
 * Context: ring 0, interrupts off, on the CPU where @ctx runs, any CPU if it does not run.
 */
void xst_ctx_flush(struct xst_cpu *cpu, struct xst_ctx *ctx);

/**
 * xst_ctx_changed() - @ctx's area or PKRU was edited: no CPU's registers are a copy of it any more.
 *
 * The contract: whatever writes to the area of a task that lives, but for the engine, says so here
 * before the task goes on. Who does not may find the edit ignored, in part or whole: registers that
 * are in place are not loaded, an image with XSTATE_BV 0 counts as INIT without another look at its
 * header, and hardware leaves out of the next save what it thinks is unmodified. Nothing of another
 * task's ever shows.
 *
 * The engine does not judge what was written. An image that the restore refuses raises #GP at the
 * task's next load, told or not: with XST_ASM_FIXUP() the task then gets fresh state and its fault
 * field the vector, without it the kernel faults. So bytes that come from user mode are checked
 * before they are written (xst_image_check(), as sigframe.h and regset.h do), or the port has the
 * fix-up.
 *
 * Context: ring 0, interrupts off; @ctx runs on this CPU or nowhere. Edits of a running task come
 *          between xst_ctx_flush() and this, without a return to user mode or a switch in between.
 */
void xst_ctx_changed(struct xst_cpu *cpu, struct xst_ctx *ctx);

/**
 * xst_ctx_check() - does @ctx hold nothing but what its kind may have?
 * @diag: out, optional: the first component that it may not.
 *
 * Looks at the components its area is for, and at those that the headers of its images name:
 * XSTATE_BV and XCOMP_BV. For state that comes from somewhere else (a checkpoint, another kernel),
 * before it is used; the engine itself tells XST_ASSERT() of a component of guests in a host's
 * image, when it is told of an edit and when such a context is to own the registers: before a save.
 *
 * Context: any ring in which the area can be read; not of a task that runs, unless after
 *          xst_ctx_flush().
 * Return:  XST_OK; XST_ERR_GUEST_ONLY for a component that only guests have, in a task's;
 *          XST_ERR_ILLEGAL_MASK for any other that it may not have here.
 */
int xst_ctx_check(const struct xst_system *sys, const struct xst_ctx *ctx, struct xst_diag *diag);

/**
 * xst_ctx_fork() - @child becomes a copy of @parent.
 * @parent: running on this CPU, or not running.
 * @child:  has just been begun (xst_ctx_init()), with an area if @parent has one.
 *
 * Saves at most once and loads nothing, but for FNSAVE, which destroys what it saves. Dynamic
 * components are not carried over: the child begins without room for them, and may grow as its
 * parent.
 *
 * Context: ring 0, interrupts off; both areas can be accessed.
 */
void xst_ctx_fork(struct xst_cpu *cpu, struct xst_ctx *parent, struct xst_ctx *child);

/**
 * xst_ctx_exec() - @ctx begins a new program with fresh state, and without dynamic components.
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
 * xst_cpu_evict() - write registers that are a task's only copy to its area (save=displaced).
 *
 * What XST_FETCH() makes another CPU do. The registers stay a valid copy.
 *
 * Context: ring 0, interrupts off; also from an inter-processor interrupt.
 */
void xst_cpu_evict(struct xst_cpu *cpu);

/**
 * xst_cpu_idle() - the CPU runs no task and is about to sleep: tiles that are in use would keep it
 * from its deeper sleep states.
 *
 * What only they hold is saved; then they are made INIT. No effect where nothing is dynamic.
 *
 * Context: ring 0, interrupts off; cpu->cur is NULL.
 */
void xst_cpu_idle(struct xst_cpu *cpu);

/**
 * xst_ctx_migrate() - @ctx, not running, will be given to another CPU.
 *
 * With save=displaced there are three ways to let a task change CPUs, all correct: call this on its
 * home when it is marked for migration; never migrate it while xst_ctx_home() is a CPU (bind); or
 * do nothing, and its registers are fetched by XST_FETCH() when they are needed. No effect
 * otherwise.
 *
 * Context: ring 0, interrupts off, any CPU.
 */
void xst_ctx_migrate(struct xst_cpu *cpu, struct xst_ctx *ctx);

/**
 * xst_ctx_home() - the CPU whose registers hold @ctx's only copy, or XST_NO_CPU.
 */
static inline uint32_t xst_ctx_home(const struct xst_ctx *ctx)
{
	const uint32_t home = __atomic_load_n(&ctx->home, __ATOMIC_ACQUIRE);

	return home == XST_NO_AREA ? XST_NO_CPU : home;
}

/**
 * xst_cpu_set_policy() - turn the knob on this CPU; other CPUs may have other policies.
 * @cpu:    this CPU; a task may be running, its registers may be in place or not.
 * @policy: copied.
 * @flags:  XST_FORCE or 0.
 * @diag:   out, optional.
 *
 * Context: ring 0, interrupts off.
 * Return:  XST_OK; XST_ERR_INVALID (xst_policy_check()); XST_ERR_LEAKY when the policy is leaky and
 *          the CPU affected, without XST_FORCE; XST_ERR_UNSUPPORTED when this world has no CR0.TS
 *          for a first-use policy, or save=displaced has neither XST_FETCH() nor XST_BOUND. On
 *          error nothing changed.
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

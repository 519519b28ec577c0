/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What kernel and user mode of the lab share: the system calls, a task's user
 * block, and the values that its registers must hold.
 *
 * The truth about a register is never stored: it is a hash of task, slot, word
 * and the run's seed, computed again at each check, so nothing that the engine
 * could write by mistake can hide a mistake.
 */
#ifndef LAB_RING3_H
#define LAB_RING3_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

enum syscall {
	SYS_YIELD,
	SYS_EXIT,
	SYS_MIGRATE,    /* to CPU @a */
	SYS_PIPE_READ,  /* one byte from pipe @a */
	SYS_PIPE_WRITE, /* one byte into pipe @a */
	SYS_FORK, /* a child that inherits the registers; returns 1, or 0 when there is no room */
	SYS_EXEC, /* registers become INIT */
	SYS_FLIP, /* turn this CPU's policy knob to policy @a of the list (modulo) */
	SYS_HANDOFF,     /* @a rounds of ping-pong with the peer, all inside the kernel */
	SYS_CORRUPTION,  /* @a = struct mismatch; returns 1 when no further one will be printed */
	SYS_CORRUPTIONS, /* @a more, uncounted so far */
	SYS_RAISE,       /* a signal to itself, its frame damaged as @a says */
	SYS_SIGRETURN,   /* back from the handler, with the frame at @a */
	SYS_EXPERIMENT,  /* whatever the experiment makes of @a */
};

/* struct user_block.features: the register files this CPU and this XCR0 have. */
#define FEATURE_AVX      1u
#define FEATURE_AVX512   2u
#define FEATURE_OPMASK64 4u /* AVX512BW: k registers of 64 bits */
#define FEATURE_PKRU     8u
#define FEATURE_SSE      16u
#define FEATURE_FXSR     32u
#define FEATURE_FERR     128u /* x87 exceptions come as IRQ 13 */
#define FEATURE_MF_ANY   64u /* a pending x87 exception comes at any waiting instruction */

/* What a task has live, in one word; the rest it sets to INIT. MXCSR is a thing of its own here. */
#define LIVE(component) (1u << (component))
#define LIVE_MXCSR      (1u << 31)
#define LIVE_ALL        0xffffffffu

/* How a program makes its state small after it used it. */
enum tidy { TIDY_NOTHING, TIDY_VZEROUPPER, TIDY_VZEROALL };

#ifdef __x86_64__
#define VECTOR_REGISTERS 16u
#else
#define VECTOR_REGISTERS 8u /* SDM vol. 1: 32-bit modes have XMM0 to XMM7 */
#endif

/* ring3_regs.S knows these offsets. */
struct user_regs {
	uint64_t vector[32][8];
	uint64_t opmask[8];
	struct {
		uint64_t mantissa;
		uint16_t sign_exponent, unused[3];
	} st[8];
	struct {
		uint32_t fcw, fsw, ftw, fip, fop_fcs, fdp, fds;
	} env; /* the 28-byte form of FLDENV */
	uint32_t mxcsr, pkru;
	uint16_t fcw, fsw;
	uint32_t unused[6];
	uint8_t image[512]; /* FXSAVE or FNSAVE */
};

_Static_assert(offsetof(struct user_regs, opmask) == 2048, "ring3_regs.S");
_Static_assert(offsetof(struct user_regs, st) == 2112, "ring3_regs.S");
_Static_assert(offsetof(struct user_regs, env) == 2240, "ring3_regs.S");
_Static_assert(offsetof(struct user_regs, mxcsr) == 2268, "ring3_regs.S");
_Static_assert(offsetof(struct user_regs, pkru) == 2272, "ring3_regs.S");
_Static_assert(offsetof(struct user_regs, fcw) == 2276, "ring3_regs.S");
_Static_assert(offsetof(struct user_regs, fsw) == 2278, "ring3_regs.S");
_Static_assert(offsetof(struct user_regs, image) == 2304, "ring3_regs.S");

struct mismatch {
	uint32_t owner; /* who found it: a task's number, a guest's is GUEST_OWNER and more */
	uint32_t component;
	const char *reg;
	uint32_t number; /* of the register */
	uint32_t word;   /* 64-bit word within it */
	uint64_t slot, want, got;
};

/* How often a task uses its registers. */
enum use { USE_ALWAYS, USE_SELDOM, USE_NEVER, USE_FIRST, USE_CHANCE };

struct user_block {
	/* Set by the kernel when it (re-)creates the task. */
	uint32_t id;         /* also the owner in the hash */
	uint32_t generation; /* 0 = first task on this memory */
	uint32_t features, mxcsr_mask, pkru_init, cpus;
	uint64_t seed, random;
	uint64_t loops;
	enum use use;
	uint32_t use_first;       /* USE_FIRST: slots that use */
	uint32_t use_million;     /* USE_CHANCE: slots in a million that use */
	uint32_t live;            /* LIVE(), the same in each slot; 0 = at random */
	enum tidy tidy;
	uint32_t peer;            /* `pipe`: which end */
	uint32_t flips;           /* a knob turn every so many slots; 0 = never */
	bool lifecycle, migrates; /* fork, exec, exit; change CPUs */
	bool inherited;           /* just forked: the registers are the parent's */
	/* What the registers hold: INIT, or the values of this owner and slot. */
	bool have_values;
	uint32_t have_owner, have_generation, have_live;
	uint64_t have_slot;
	bool pkru_zero; /* a frame without PKRU was taken back */
	/* Added up by user mode, over all tasks on this memory; the kernel reports them. */
	uint64_t checks, slots, uses, init_checks, fork_checks, migrations, used_up_to;
	/* `pending`: is an exception pending, how many were left so, how many came. */
	bool fault_pending;
	uint64_t faults_left, faults_came, fault_arrivals;
	bool quiet;
	struct user_regs regs __attribute__((aligned(64)));
	struct mismatch mismatch;
	uint8_t stack[8192] __attribute__((aligned(64)));
};

#define MAX_TASKS   16
#define GUEST_OWNER 256u
extern struct user_block user_blocks[MAX_TASKS];

/*
 * `signal`: what is done to a frame. Where a page is missing the kernel does it, else the handler.
 * Those from FIRST_EXTENDED on need an extended frame, FIRST_AVX on one with AVX in it.
 */
enum damage {
	DAMAGE_NONE,
	DAMAGE_PAGE_WRITE, /* a page of the frame is missing while it is written */
	DAMAGE_PAGE_READ,  /* while it is taken back */
	DAMAGE_POINTER,    /* an address of the kernel's is taken back */
	DAMAGE_MXCSR,      /* a reserved bit */
	DAMAGE_FIRST_EXTENDED,
	DAMAGE_MAGIC1 = DAMAGE_FIRST_EXTENDED,
	DAMAGE_MAGIC2,
	DAMAGE_EXTENDED_SIZE, /* too small */
	DAMAGE_SIZE_SMALL,    /* no room for a header */
	DAMAGE_SIZE_LARGE,
	DAMAGE_XFEATURES, /* x87 and SSE alone: legal */
	DAMAGE_BV_SSE,    /* XMM is INIT: legal */
	DAMAGE_BV_63,
	DAMAGE_BV_FOREIGN, /* a component that is not enabled */
	DAMAGE_BV_SUPERVISOR,
	DAMAGE_COMPACTED,
	DAMAGE_XCOMP,
	DAMAGE_HEADER_FIRST, /* reserved bytes */
	DAMAGE_HEADER_LAST,
	DAMAGE_FIRST_AVX,
	DAMAGE_BV_AVX = DAMAGE_FIRST_AVX, /* AVX is INIT: legal */
	DAMAGE_SHORT, /* the image ends before AVX does */
	DAMAGES
};

/* What comes of a signal. */
enum outcome {
	OUTCOME_NOT_DELIVERED, /* the task goes on as if nothing had been */
	OUTCOME_RESTORED,
	OUTCOME_FX_ONLY, /* x87 and SSE of the frame, all else INIT */
	OUTCOME_REFUSED, /* fresh state */
	OUTCOMES
};

/* A task's handler: registers and a stack of its own, and what it and the kernel tell each
 * other. */
#define SIGNAL_TASKS       4u
#define SIGNAL_STACK_BYTES 16384u

struct signal_block {
	uint8_t stack[SIGNAL_STACK_BYTES] __attribute__((aligned(4096)));
	struct user_block own; /* what the handler's registers hold */
	uintptr_t frame;       /* of this signal, */
	uint32_t fx_offset;    /* where its FXSAVE image is, */
	uint32_t damage;       /* and what is to be done to it */
	bool extended;         /* are frames here? */
	uint32_t expect;       /* enum outcome: what the handler says must come of it */
	uint32_t turn;         /* each kind of damage comes in turn */
};

extern struct signal_block signal_blocks[SIGNAL_TASKS];

/* ---- ring3_signal.c ---- */
void user_signal_handler(struct signal_block *s);
enum damage user_signal_damage(const struct user_block *u);

/* ---- ring3_regs.S; @features as above. What stores leaves the registers as they are. ---- */
void user_x87_load(const struct user_regs *regs);
void user_x87_clear(void);
void user_x87_store(struct user_regs *regs);
void user_x87_peek(struct user_regs *regs, uint32_t features); /* an empty stack */
void user_vectors_load(const struct user_regs *regs, uint32_t features);
void user_vectors_store(struct user_regs *regs, uint32_t features);
void user_vzeroupper(void);
void user_vzeroall(void);
void user_x87_fault(const uint16_t *fcw);
uint32_t user_x87_wait(void);
uint32_t user_x87_next(void);
extern const uint8_t user_x87_resume[];

/* ---- ring3_check.c ---- */
/* Another value that belongs to what u->have_* says, for a register that is not among the above. */
uint64_t user_value(const struct user_block *u, unsigned n);
void user_mismatch(struct user_block *u, unsigned component, const char *reg, unsigned number,
		   unsigned word, uint64_t want, uint64_t got);
void user_check(struct user_block *u); /* whatever u->have_* says */
void user_set_new(struct user_block *u, uint64_t slot);
/* Of `pending`: did the exception come, and is the rest of x87 as it was left? */
void user_check_fault(struct user_block *u, bool came, uint16_t fcw);

/* ---- the programs: entered with the block as argument, never return ---- */
void user_worker(struct user_block *u);
void user_pipe(struct user_block *u);
void user_mixed(struct user_block *u);
void user_pending(struct user_block *u);
void user_migrator(struct user_block *u);
void user_handoff(struct user_block *u);
void user_hang(struct user_block *u);
void user_signal(struct user_block *u);
void user_vcpu(struct user_block *u);

/* ---- system calls ---- */
static inline uintptr_t user_syscall(enum syscall number, uintptr_t a)
{
	uintptr_t result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"((uintptr_t)number), "D"(a) : "memory");
	return result;
}

#endif

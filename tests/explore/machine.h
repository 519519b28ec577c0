/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the explorer explores: the real engine on two software CPUs with three tasks and up to two
 * virtual CPUs, what every register ought to hold, and the machine's state as a few bytes.
 *
 * A register component holds a token: 0 is the initial value, every write makes a new one. The engine
 * can only copy values, so all that matters about a token is whose expected value it equals. That is
 * what a packed state keeps, after tasks and CPUs have been put in an order that does not depend on
 * their names.
 */
#ifndef EXPLORE_MACHINE_H
#define EXPLORE_MACHINE_H

#include <xst/bringup.h>
#include <xst/guest.h>
#include <xst/kernel.h>

#include "port_explore.h"
#include "world_model.h"

#define CPUS    2u
#define TASKS   3u
#define GUESTS  2u
#define CTXS    (TASKS + GUESTS) /* tasks first */
#define NONE    CTXS             /* neither */
#define NOWHERE 3u               /* no CPU */

/* The components that are looked at, in this order everywhere. The first GUARDED of them are in the
 * switch mask, the last of these where a task has room for it; the last of all only guests have. */
enum { C_X87, C_SSE, C_AVX, C_TILE, C_CET, C_PKRU, C_CET_S, COMPS };
#define GUARDED    4u
#define TASK_COMPS 6u
extern const uint8_t comp_id[COMPS];
extern const char *const comp_name[COMPS];

#define TOKEN_INIT    0u
#define TOKEN_NEW     14u /* written by the event that is being run */
#define TOKEN_GARBAGE 15u /* nobody's expected value */

/* What may be violated. The names are what reports and tests say. */
#define CHECKS(CHECK)                                                                              \
	CHECK(I1, "a task sees exactly its own values: nobody else's, none lost")                  \
	CHECK(I2, "not leaky: in user mode what is behind TS or XFD is the task's or INIT")         \
	CHECK(I3, "the counters' identities")                                                      \
	CHECK(WORLD, "the engine makes no instruction fault")                                      \
	CHECK(KERNEL, "a section begins with what it declared, saves once, and is never nested")   \
	CHECK(PERM, "a permission only grows, and room comes with it only")                        \
	CHECK(CONTROL, "XCR0, IA32_XSS and XFD are the guest's while it runs, else the host's")    \
	CHECK(P_KEEP, "keep: registers that are in place are not loaded")                          \
	CHECK(P_DEFERRED, "deferred: nothing is loaded for a task that stays in the kernel")       \
	CHECK(P_PRELOAD, "preloading stops after so many blind slots")                             \
	CHECK(P_TRAP, "a trap that TS caused is answered; without first use there is none")        \
	CHECK(P_GUEST, "a virtual CPU costs one save; an exit that stays in the kernel none")

enum check {
	CHECK_NONE,
#define CHECK_ENUM(name, text) CHECK_##name,
	CHECKS(CHECK_ENUM)
#undef CHECK_ENUM
	CHECK_COUNT
};

/* SECTION: in the kernel, and a section runs. */
enum mode { KERNEL, USER, OFFLINE, SECTION };

#define MAX_POLICIES 12u

/* What is explored: fixed for a run. */
struct config {
	struct xst_policy policy[MAX_POLICIES];
	unsigned policies;
	enum xst_insn insn;
	uint32_t comps;      /* bit per component that tasks touch */
	bool knob;           /* policies change */
	bool empty;          /* tasks that get their area at first use */
	bool spoil;          /* images that a restore refuses */
	bool signals;        /* frames are written and taken back */
	bool sections;       /* the kernel uses registers, too */
	unsigned guests;     /* virtual CPUs */
	bool direct;         /* they write their control registers without an exit */
	uint32_t disabled;   /* bit per check that is not made */
	uint64_t without;    /* bit per event that does not happen */
};

struct machine {
	const struct config *cfg;
	unsigned ctxs;                         /* tasks and guests */
	uint32_t has, task_has;                /* bit per component: enabled; for tasks, too */
	uint32_t fixed_bits[MAX_POLICIES];     /* of xst_cpu.bits, by policy */
	unsigned most_rows;                    /* a use_row beyond it changes nothing */
	struct xst_caps caps;
	struct xst_system sys;
	struct mdl_cpu hw[CPUS];
	struct xst_cpu cpu[CPUS];
	struct xst_ctx task[TASKS];
	struct xst_guest guest[GUESTS];
	struct xst_guest made[2];              /* as one begins: without tiles, with them */
	struct xst_ctx *ctx[CTXS];             /* of tasks and of guests */
	uint8_t area[CTXS][2048] __attribute__((aligned(64)));

	/* What ought to be. */
	uint8_t want[CTXS][COMPS];
	uint8_t frame[TASKS][COMPS]; /* what a signal frame of its holds */
	bool has_frame[TASKS];
	struct xst_perm perm[TASKS]; /* each task is a process */
	bool alive[CTXS];
	uint8_t mode[CPUS];
	uint8_t policy[CPUS];    /* index into cfg->policy */
	uint8_t in_place[CPUS];  /* whose valid copy these registers are, or NONE */
	uint8_t blind_row[CTXS]; /* slots in a row that were begun with registers loaded unasked */

	struct mdl_choices choices;
	enum check broken;       /* found while an event ran */
	const char *how;
	bool tainted;            /* a check that is not made would have failed: go no further */
};

/* One word for each task and each CPU, one for what only machines with tiles have, and one for the
 * signal frames in the tasks' memory. With guests, one for what they bring to tasks and CPUs, and
 * two for each. */
struct state {
	uint64_t task[TASKS], cpu[CPUS], tiles, frames;
	uint64_t beside, guest[GUESTS][2];
};

/* How many words of it count. */
static inline unsigned state_words(const struct config *cfg)
{
	return TASKS + CPUS + 2 + (cfg->guests ? 1 + 2 * cfg->guests : 0);
}

/* How names changed when a state was packed: new name -> old name. */
struct naming {
	uint8_t task[CTXS], cpu[CPUS];
};

/* Bring the machine up; returns an error of the library. All tasks are fresh, none runs. */
int machine_up(struct machine *m, const struct config *cfg);
void machine_pack(const struct machine *m, struct state *s, struct naming *names);
void machine_unpack(struct machine *m, const struct state *s);

/* CPU @c is off: nothing of its registers counts any more. */
void machine_sleep(struct machine *m, unsigned c);

/* The virtual CPU is at the beginning of its life, as a process with or without tiles gets it. */
void machine_make_guest(struct machine *m, unsigned g, bool tiles);
/* It has ended, its memory belongs to somebody else; and does that still hold what is not ours? */
void machine_bury(struct machine *m, unsigned g);
bool machine_at_rest(struct machine *m, unsigned g);

/* What the image of a task or guest says of component @k. */
uint8_t machine_image(struct machine *m, unsigned t, unsigned k);
/* Where the image of the components that TS does not guard begins, and the header of either image. */
static inline uint32_t machine_apart(const struct machine *m, unsigned t)
{
	return m->task[t].dynamic ? m->sys.grown_apart_offset : m->sys.apart_offset;
}
static inline uint64_t *machine_header(struct machine *m, unsigned t, bool apart)
{
	return (uint64_t *)(void *)(m->area[t] + (apart ? machine_apart(m, t) : 0) +
				    XST_HEADER_OFFSET);
}
/* Where component @k of a task or guest lies in memory. */
static inline uint8_t *machine_byte(struct machine *m, unsigned t, unsigned k)
{
	uint8_t *area = m->area[t];

	if (k <= C_SSE)
		return area + (k == C_X87 ? 32 : 160);
	/* All of a guest's is in one image. */
	if (t >= TASKS)
		return area + m->guest[t - TASKS].layout.offset[comp_id[k]];
	if (k == C_AVX)
		return area + m->sys.layout.offset[XST_COMP_AVX];
	if (k == C_TILE)
		return area + m->sys.grown.offset[XST_COMP_TILEDATA];
	return area + machine_apart(m, t) + m->sys.apart_layout.offset[XST_COMP_CET_U];
}
/* Its register on CPU @c. */
static inline uint8_t *machine_reg(struct machine *m, unsigned c, unsigned k)
{
	return mdl_reg(&m->hw[c], comp_id[k]);
}
static inline bool machine_has(const struct machine *m, unsigned k)
{
	return m->has >> k & 1u;
}
/* May component @k be in state of this task or guest? Room for tiles is another question. */
static inline bool machine_owns(const struct machine *m, unsigned t, unsigned k)
{
	if (t < TASKS)
		return m->task_has >> k & 1u;
	return m->has >> k & 1u &&
	       (k == C_CET_S || (m->guest[t - TASKS].mask & XST_MASK(comp_id[k])));
}
/* Does software switch the guests' CET_S? */
static inline bool machine_swaps(const struct machine *m, unsigned k)
{
	return k == C_CET_S && m->sys.guest_cet_s;
}
/* Are CPU @c's registers the kernel's, after a section? */
static inline bool machine_kernels(const struct machine *m, unsigned c)
{
	return (const void *)m->cpu[c].owner == (const void *)&m->cpu[c];
}
/* MXCSR is no component: a user's is 1F80 while its XMM registers are INIT, else another value. */
void machine_set_mxcsr(struct machine *m, unsigned c);
#define MXCSR_OTHER (MDL_MXCSR_INIT | 0x20u)
/* Does the guest's image hold component @k? */
static inline bool machine_in_image(const struct machine *m, unsigned g, unsigned k)
{
	return k != C_PKRU && machine_owns(m, TASKS + g, k) && !machine_swaps(m, k);
}
_Static_assert(!__builtin_offsetof(struct xst_guest, ctx), "a guest is found by its registers");
static inline unsigned machine_task(const struct machine *m, const struct xst_ctx *ctx)
{
	if (!ctx)
		return NONE;
	return xst_ctx_is_guest(ctx) ? TASKS + (unsigned)((const struct xst_guest *)(const void *)ctx - m->guest)
			  : (unsigned)(ctx - m->task);
}

/* Eight of a CPU's bits are its state; all others follow from its policy and the machine. */
#define STATE_SHIFT 9u
#define STATE_BITS                                                                                 \
	(XST_B_LIVE | XST_B_DIRTY | XST_B_INIT | XST_B_APART_LIVE | XST_B_READY | XST_B_TS |       \
	 XST_B_SLOT | XST_B_TILES)
_Static_assert(STATE_BITS == 0xffu << STATE_SHIFT, "the packed form wants them side by side");
#define WAY_BITS (0x3fu * XST_B_WAY(0))

#endif

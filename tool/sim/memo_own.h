/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the memo. All lanes' states together have a number: that of a CPU (with what the task that
 * runs there is like) and that of a task. Number 0 is a CPU that did not begin, and no task.
 *
 * Beside the numbers there are, lane by lane in struct machine, the things that would make too many
 * states and of which the engine sees only one bit at a time:
 *
 *   owner[], last[]  is this task's copy in these registers? Whose they are and where a task was
 *                    last, as in struct xst_cpu and struct xst_ctx
 *   dirty            ... and is it the only one, maybe on another CPU?
 *   blind[]          is it 255? What an event makes of it is the same for all others: nothing,
 *                    one more, or 0
 *
 * Each of these bits is part of the key of a transition.
 */
#ifndef SIM_MEMO_OWN_H
#define SIM_MEMO_OWN_H

#include "sim/lane_state.h"
#include "sim/machine.h"
#include "sim/memo.h"

/* Broken on purpose, one at a time, where tests want it. */
enum memo_twin {
	MEMO_TWIN_NONE,
	MEMO_TWIN_PLACE, /* registers that are the task's copy look like any others */
	MEMO_TWIN_AWAY,  /* so do tasks whose only copy another CPU has: the one that comes */
	MEMO_TWIN_LEFT,  /* ... and the one that runs */
	MEMO_TWIN_FULL,  /* 255 blind slots are as good as fewer */
	MEMO_TWIN_ROW,   /* one used slot less decides alike */
	MEMO_TWIN_LOST,  /* an edit is forgotten where the task was before */
	MEMO_TWIN_SAME,  /* a switch to itself with 254 blind slots is remembered */
	MEMO_TWIN_QUICK, /* registers are a task's copy wherever it was since */
	MEMO_TWIN_SLOT,  /* slots that were live differently are counted alike */
	MEMO_TWIN_RUNS,  /* a task that runs looks as if it waits */
	MEMO_TWIN_TURNS, /* nobody asks how often the registers became others */
	MEMO_TWIN_LATE,  /* what is counted with the next event is lost where there is none */
	MEMO_TWINS_COUNT,
};
#ifdef MEMO_TWINS
extern enum memo_twin memo_twin;
#define MEMO_TWIN(name) (memo_twin == MEMO_TWIN_##name)
#else
#define MEMO_TWIN(name) 0
#endif

#define BLIND_FULL   255u
#define BLIND_SAMPLE 100u /* stands for all but 254, where one more is full, and 255 */

/*
 * One lane's part of a state. Of a task, 16 bits; of a CPU, 32, of which the lower half is that of
 * the task that runs.
 */
#define TASK_BEGUN   (1u << 0)
#define TASK_LIVE    (1u << 1) /* XSTATE_BV has SSE */
#define TASK_FULL    (1u << 2) /* blind is 255 */
#define TASK_ROW(n)  ((uint32_t)(n) << 8)
#define TASK_ROW_OF(code) ((code) >> 8 & 0xffu)

#define CPU_BITS_SHIFT 16 /* seven: XST_B_LIVE to XST_B_SLOT */
#define CPU_BITS_STATE (0x7fu << 9)
#define CPU_BITS_OF(code) ((code) >> CPU_BITS_SHIFT << 9 & CPU_BITS_STATE)
#define CPU_SLOT_SHIFT 23
#define CPU_SLOT_MASK  7u
#define CPU_OWNER_SHIFT 26
#define CPU_OWNER_OF(code) ((enum owner)((code) >> CPU_OWNER_SHIFT & 3u))
#define CPU_LIVE    (1u << 28) /* XINUSE has SSE */
#define CPU_BEGUN   (1u << 29)
#define CPU_LAST    (1u << 30) /* the running task's last_cpu is this one */
#define CPU_INITIAL (1u << 31) /* sections: initial values are in place */

enum owner { OWNER_NONE, OWNER_OTHER, OWNER_KERNEL, OWNER_CUR };

struct cpu_codes { uint32_t lane[MEMO_LANES]; };
struct task_codes { uint16_t lane[MEMO_LANES]; };

/* What an event is apart from who takes part in it: of switches, a step's. */
#define EVENT_RARE  0x40u /* and up: all that are no switches */
#define EVENT_EVICT 0xffu

/* The key of a transition: 64 bits. */
#define KEY_OTHER_SHIFT 16 /* state of the other task, which comes or is forked; below: the CPU's */
#define KEY_PLACE_SHIFT 32 /* lanes whose registers are the other's copy */
#define KEY_AWAY_SHIFT  40 /* ... where another CPU has the other's only copy */
#define KEY_LEFT_SHIFT  48 /* ... and the running task's */
#define KEY_EVENT_SHIFT 56

#define MEMO_HASH 0x9e3779b97f4a7c15u /* its upper bits depend on all bits below */

/* What is not done on the short path. */
#define SLOW_FETCH 1u /* copies were fetched from other CPUs */
#define SLOW_OTHER 2u /* the other task changed beside coming to run */
#define SLOW_BEGIN 4u /* the CPU did not begin before */

/* One transition. In one cache line; event 0 with CPU state 0 is no key of any. */
struct memo_entry {
	uint64_t key;
	uint16_t cpu, delta;       /* the state that follows; what is counted */
	uint16_t task, other;      /* states of who ran, and of the other */
	uint64_t blind_keep, blind_add; /* blind = (blind & keep) + add */
	uint16_t own[MEMO_LANES];  /* all ones where the registers stay those of who ran */
	uint8_t lost[MEMO_LANES];  /* all ones where its last_cpu is none any more */
	uint8_t dirty, others;     /* of the CPU */
	uint8_t slow, next;        /* SLOW_*; who runs: 0 nobody, 1 who ran, 2 the other */
	uint8_t fetched, other_fetched, other_lost, other_seen; /* other_seen: its blind is 0 now */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct memo_entry) == 64, "an entry is a cache line");

/* How much one event adds to each counter of each lane. */
#define COUNTERS (sizeof(struct lane_counts) / sizeof(uint64_t))
struct memo_delta {
	uint16_t slot; /* quick.c: a switch after a slot of this kind, as they are counted, plus 1; or 0 */
	uint8_t lane[MEMO_LANES][COUNTERS];
};

/* Things with numbers from 0, found by content. */
struct numbers {
	uint8_t *things;
	uint32_t *slots;     /* number plus 1 by hash, twice as many as things */
	uint32_t size, count, most;
};

struct memo {
	struct machine *machine;  /* the replay's, or its own */
	struct machine own;
	struct memo_entry *entries;
	struct quick *quick;      /* or NULL */
	uint64_t *counts;         /* of all CPUs: memo_begin_counts() */
	unsigned shift;           /* 64 - log2 of how many entries there is room for */
	uint32_t entry_count, entries_most;
	uint8_t lane_count;
	uint8_t displaced;        /* lanes where another CPU may have a task's only copy */
	bool blind;               /* lanes where use may not be seen */
	uint8_t event_mask;       /* of a step's event, what somebody looks at: */
	uint8_t flag_mask;        /* ... the flags, */
	uint8_t live_mask;        /* ... and MEMO_LIVE, or 0 */
	struct memo_entry once;   /* not remembered */
	struct numbers cpu_numbers, task_numbers, deltas;
	struct lane *lane[MEMO_LANES], *trial[MEMO_LANES];
	struct rec events[256];   /* by event: what the trial is given */
	uint32_t fixed_bits[MEMO_LANES];
	uint8_t row_most[MEMO_LANES]; /* rows from here on are as good as this */
	uint16_t fresh;           /* the state of a task that just began */
	bool direct;
	uint64_t looked_up;       /* all that was counted, until memo_settle() */
	struct memo_stats stats;
};

/* memo_table.c */

/**
 * memo_learn() - try what @key says and remember it.
 * @blind: who ran has these, not just some; then it is not remembered.
 *
 * Return: NULL when it cannot be said in these terms, or there are too many states.
 */
const struct memo_entry *memo_learn(struct memo *m, uint64_t key, const uint64_t *blind);
int memo_cpu_number(struct memo *m, const struct cpu_codes *codes);   /* or -1 */
int memo_task_number(struct memo *m, const struct task_codes *codes); /* or -1 */
const struct cpu_codes *memo_cpu_codes(const struct memo *m, unsigned number);
const struct task_codes *memo_task_codes(const struct memo *m, unsigned number);

/*
 * One lane's state as a code and back; the numbers in it are up to who asks. Is it all that there
 * is to say? @owner_was_here: the owner's last_cpu is this one, else the registers are nobody's.
 */
bool memo_task_code(const struct memo *m, unsigned k, const struct lane_task_state *s,
		    uint32_t *code);
bool memo_cpu_code(const struct memo *m, unsigned k, const struct lane_cpu_state *s,
		   bool owner_was_here, bool cur_was_here, uint32_t *code);
struct lane_task_state memo_task_state(uint32_t code, unsigned blind, uint32_t last, uint32_t home);
struct lane_cpu_state memo_cpu_state(const struct memo *m, unsigned k, uint32_t code, uint32_t cur,
				     uint32_t other);

/* The state @number with TASK_FULL where a byte of @blind is 255 and nowhere else; or -1. */
int memo_task_full(struct memo *m, unsigned number, uint64_t blind);

/* As delta @number, and a switch after a slot with these flags; or -1. */
int memo_delta_of_slots(struct memo *m, unsigned number, unsigned flags, unsigned live);

/* memo_settle.c */
void memo_flush(struct memo *m); /* counts to the lanes, transitions and deltas forgotten */

/* So often is one tried by then, and so often must it be looked up to be worth it. */
#define PATIENCE (1u << 20)
#define WORTH    16u

/*
 * A CPU has a counter for each delta, and for each with quick.c's mark beside it. Those of two CPUs are
 * not at the same place of a page: there a processor takes a load for one of what was just stored.
 * DELTA_NONE counts what there was before the first: nothing.
 */
#define MEMO_DELTAS   2048u
#define MEMO_COUNTERS (2 * MEMO_DELTAS + 72)
#define DELTA_NONE    (2 * MEMO_DELTAS)

static inline void memo_begin_counts(struct memo *m, uint32_t cpu)
{
	struct machine_cpu *c = &m->machine->cpus[cpu];

	c->counts = m->counts + (size_t)cpu * MEMO_COUNTERS;
	c->delta = DELTA_NONE;
}

static inline bool memo_is_full(const struct memo *m)
{
	return m->entry_count >= m->entries_most || m->deltas.count == m->deltas.most;
}

#endif

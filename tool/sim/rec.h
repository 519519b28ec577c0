/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recorded workload as records of 16 bytes: what a trace is reduced to, what `xstate record`
 * writes, and all that the simulator looks at. Little endian, as the CPUs this is about.
 *
 *   header         64 bytes, struct rec_header
 *   records        struct rec; a TASK and a RENAME are followed by a NAME
 *   REC_END        the last one; a file without it was cut off
 *
 * Tasks have small numbers, used again after a task's exit, so that tables are dense and a trace of
 * any length needs only as much memory as there are tasks at one time.
 */
#ifndef SIM_REC_H
#define SIM_REC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <xst/comp.h>

#define REC_MAGIC   "XSTTRACE"
#define REC_VERSION 4u

/* A reader gives so many at once: they stay in the nearest caches, and so few calls do not count. */
#define REC_AT_ONCE 2048u

#define REC_TASKS_MAX (1u << 20)
#define REC_CPUS_MAX  4096u

enum rec_kind {
	REC_SWITCH = 1, /* @cpu goes to @task; flags and arg are about the slot that ends; REC_ASSUMED: no
			   event says so, but what the CPU did next */
	REC_FORK,       /* the running task @task makes @arg; a TASK came before */
	REC_EXEC,
	REC_EXIT,
	REC_SIGNAL,     /* a handler runs and, without REC_OPEN, returns */
	REC_SIGRETURN,  /* a handler returns */
	REC_SECTION,    /* the kernel uses the registers, in task @task or with none running;
			   REC_USER: the task came from user mode for it */
	REC_MIGRATE,    /* @task, not running, will run on CPU @arg */
	REC_TASK,       /* @task is another one from now on; @arg is its thread id */
	REC_NAME,       /* 15 bytes of its name: see rec_name() */
	REC_PAUSE,      /* @arg seconds pass */
	REC_LOST,       /* @arg events were lost here; REC_ASSUMED: what follows contradicts what was */
	REC_END,        /* @arg: how many records came before, modulo 2^32; flags: REC_HAS_*; @task:
			   restores the trace has that no SWITCH has; @cpu: in a file,
			   rec_check() of all of the trace before it, and of this */
	REC_RENAME,     /* @task is called otherwise from now on; a NAME follows */
	REC_KINDS,
};

/* flags of all but END */
#define REC_KERNEL  (1u << 0) /* SWITCH: @task is idle or a kernel thread; also in TASK */
#define REC_USER    (1u << 1) /* the task entered user mode, in this slot and before this event */
#define REC_ASSUMED (1u << 2) /* not in the trace, but what it must have been */
#define REC_USED    (1u << 3) /* with USER: and used the registers there. In a file: they were live, or
				 with REC_DIGEST the recorder saw the image change */
#define REC_BLOCKED (1u << 5) /* SWITCH: the task left by itself, it was not preempted */
#define REC_OPEN    (1u << 6) /* SIGNAL: a record of its own says when it returns, if it does */
#define REC_DIGEST  (1u << 4) /* SWITCH: the recorder compared images, REC_USED is its answer */

/* How live a saved image was. */
enum rec_live { REC_INIT, REC_SSE, REC_AVX, REC_AVX512, REC_AMX, REC_LIVES };

/* SWITCH: @arg is what the live mask of the ending slot comes to, in bits 0 to 2, how many restores the
 * trace has in it, in bits 3 to 10, and that mask, components 0 to 19, in bits 11 to 30. The restores are
 * for the check alone: no policy ever sees them. The mask is for people: whether anything was live is what
 * it comes to. */
#define REC_LIVE_OF(arg) ((arg) & 7u)
#define REC_IS_LIVE(arg) (REC_LIVE_OF(arg) != REC_INIT)
#define REC_SEEN_MAX     255u
#define REC_SEEN_SHIFT   3
#define REC_SEEN_OF(arg) ((arg) >> REC_SEEN_SHIFT & REC_SEEN_MAX)
#define REC_MASK_SHIFT   11

static inline uint32_t rec_arg(uint64_t live, uint32_t seen)
{
	const uint32_t mask = (uint32_t)live & 0xfffffu;
	const uint32_t of = mask & (uint32_t)XST_MASK_AMX ? REC_AMX
			  : mask & (uint32_t)XST_MASK_AVX512 ? REC_AVX512
			  : mask & (uint32_t)XST_MASK(XST_COMP_AVX) ? REC_AVX
			  : mask ? REC_SSE : REC_INIT;

	return of | (seen > REC_SEEN_MAX ? REC_SEEN_MAX : seen) << REC_SEEN_SHIFT |
	       mask << REC_MASK_SHIFT;
}

struct rec {
	uint32_t wait_ns; /* since the record before */
	uint32_t task;
	uint16_t cpu;
	uint8_t kind;
	uint8_t flags;
	uint32_t arg;
};
_Static_assert(sizeof(struct rec) == 16, "records are 16 bytes");

/* Of a SWITCH all that matters to a lane but the task: kind, flags and REC_LIVE_OF(), as they lie there. */
#define REC_WHAT_MOST 0x7ffffu

static inline uint32_t rec_what(const struct rec *r)
{
	uint32_t what;

	memcpy(&what, &r->kind, sizeof(what));
	return what & REC_WHAT_MOST;
}

/* What the source of a trace could see. */
#define REC_HAS_FPU      (1u << 0) /* x86_fpu events: which slots were in user mode, what was live */
#define REC_HAS_RESTORES (1u << 1) /* x86_fpu_regs_activated among them: prediction can be checked */
#define REC_HAS_SIGNALS  (1u << 2)
#define REC_HAS_SECTIONS (1u << 3)
#define REC_HAS_MORE     (1u << 4) /* a further piece follows, whose END says the rest of this */

#define REC_MADE_UP (1u << 0) /* by --synthetic, nothing was recorded */

struct rec_header {
	char magic[8];
	uint32_t version;
	uint32_t piece;     /* of a trace that was cut: 0 is the first */
	uint64_t before;    /* rec_sum() of all pieces before: they are of one trace */
	char source[39];    /* what it was made from, in words */
	uint8_t flags;      /* REC_MADE_UP */
};
_Static_assert(sizeof(struct rec_header) == 64, "the header is 64 bytes");

/* Where in its trace a piece of it is. */
struct rec_place {
	uint32_t piece; /* 0 is the first or only one */
	uint64_t sum;   /* rec_sum() of what was before */
};

/* A record in two, for what is added up of many. */
typedef uint64_t rec_halves __attribute__((vector_size(16)));

/*
 * All records but END, added up: so a turned bit is noticed, and two traces are known to be one.
 * What @recs add to @sum.
 */
static inline uint64_t rec_sum(uint64_t sum, const struct rec *recs, size_t count)
{
	rec_halves both = { 0, 0 }, a, b, c, d;
	size_t i = 0;

	/* A cache line at once. */
	for (; i + 4 <= count; i += 4) {
		memcpy(&a, &recs[i], sizeof(a));
		memcpy(&b, &recs[i + 1], sizeof(b));
		memcpy(&c, &recs[i + 2], sizeof(c));
		memcpy(&d, &recs[i + 3], sizeof(d));
		both += (a + b) + (c + d);
	}
	for (; i < count; i++) {
		memcpy(&a, &recs[i], sizeof(a));
		both += a;
	}
	/* Each half by a factor of its own, for a change of one must not undo that of the other. */
	return sum + both[0] * 0x9e3779b97f4a7c15u + both[1] * 0xbf58476d1ce4e5b9u;
}

/*
 * What of it has room in an END: of all records before, their head, and the END's other fields.
 */
static inline uint16_t rec_check(uint64_t sum, const struct rec_header *head, const struct rec *end)
{
	struct rec all[1 + sizeof(*head) / sizeof(*end)];

	memcpy(all, head, sizeof(*head));
	all[sizeof(*head) / sizeof(*end)] = *end;
	all[sizeof(*head) / sizeof(*end)].cpu = 0;
	/* Each by its place: rec_sum() alone would take one field's change for another's. */
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sum = rec_sum(sum, &all[i], 1);
		sum = (sum ^ sum >> 32) * 0xd6e8feb86659fd93u;
	}
	return (uint16_t)(sum >> 48 ^ sum >> 32 ^ sum >> 16 ^ sum);
}

/* A NAME's characters lie around its kind. */
static inline void rec_name_put(struct rec *r, const char *name)
{
	char *p = (char *)r;
	unsigned i;

	for (i = 0; i < 16; i++)
		p[i] = 0;
	for (i = 0; i < 15 && name[i]; i++)
		p[i < 10 ? i : i + 1] = name[i];
	r->kind = REC_NAME;
}

static inline void rec_name_get(const struct rec *r, char name[16])
{
	const char *p = (const char *)r;
	unsigned i;

	for (i = 0; i < 15; i++)
		name[i] = p[i < 10 ? i : i + 1];
	name[15] = '\0';
}

#endif

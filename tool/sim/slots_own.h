/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that make slots share: slots.c, and slots_pool.c for the kernel's random pool. */
#ifndef SIM_SLOTS_OWN_H
#define SIM_SLOTS_OWN_H

#include "sim/rec_out.h"
#include "sim/slots.h"
#include "sim/tasks.h"

struct cpu {
	uint32_t task;
	bool known;
	bool user;          /* in this slot: shown by an event */
	unsigned seen;      /* restores in this slot */
	uint32_t live;
	uint8_t image;      /* enum trace_image of the slot that ends */
	/* a sched_switch whose slot's last event may still come */
	bool ending, live_at_end;
	bool waited;        /* in this slot: it called wait() */
	bool stirs;         /* a fork, whose part in the random pool is not settled */
	char state;
	int32_t next;
	unsigned seen_next; /* restores of the slot that began */
	char comm[TRACE_COMM];
};

struct slots {
	struct rec_out out;
	enum slots_signals signals;
	enum slots_sections sections;
	struct tasks t;
	struct cpu cpus[TRACE_CPUS_MAX];
	uint64_t latest_ns;
	unsigned pool;      /* bytes that wait in the random pool's block */
	bool begun, sigreturns, switched;
	bool waits;         /* the trace shows calls of wait() */
	uint32_t has;
	uint32_t seen_more; /* restores that had no room in their slot's record */
};

/* A record of what happens now. */
static inline int slots_put(struct slots *s, enum rec_kind kind, unsigned cpu, uint32_t task,
			    unsigned flags, uint32_t arg)
{
	return rec_out_put(&s->out, kind, cpu, task, flags, arg);
}

/**
 * slots_settle_fork() - the fork that was last on this CPU: did it fill a block of the pool?
 * slots_wait() - the running task calls wait().
 * slots_release_children() - task @t begins a slot: it may have slept in wait().
 * slots_tell_parent() - task @t is over.
 *
 * Return: 0; -1 when no more records are wanted.
 */
int slots_settle_fork(struct slots *s, unsigned id);
int slots_wait(struct slots *s, unsigned id);
int slots_release_children(struct slots *s, unsigned id, struct task *t);
int slots_tell_parent(struct slots *s, unsigned id, const struct task *t);

#endif

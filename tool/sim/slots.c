// SPDX-License-Identifier: BSD-2-Clause
/*
 * From events to records.
 *
 * A slot is known when it is over: x86_fpu_regs_deactivated comes after the sched_switch that ends
 * it, still in the name of the task that left. So a switch is kept until the CPU's next event.
 * That event, with "load: 1", says that the registers were live, hence that the task was in user
 * mode; its mask is what the save found live. Ref: Linux, arch/x86/kernel/fpu,
 * switch_fpu_prepare().
 */
#include "sim/slots.h"

#include <stdlib.h>
#include <string.h>

#include <xst/comp.h>

#include "sim/programs.h"
#include "sim/slots_own.h"

/* Clocks of CPUs differ by less. */
#define BACK_NS 100000000u

/* rec_arg(), which has room for REC_SEEN_MAX; the rest is counted at the end. */
static uint32_t slot_arg(struct slots *s, uint32_t live, unsigned seen)
{
	const unsigned some = seen < REC_SEEN_MAX ? seen : REC_SEEN_MAX;

	s->seen_more += seen - some;
	return rec_arg(live, some);
}

static uint32_t new_task(struct slots *s, int32_t pid, const char *name, bool kernel)
{
	const uint32_t n = tasks_take(&s->t, pid, name, kernel);

	if (n == NO_TASK || slots_put(s, REC_TASK, 0, n, kernel ? REC_KERNEL : 0, (uint32_t)pid) ||
	    rec_out_name(&s->out, s->t.task[n].name))
		return NO_TASK;
	return n;
}

/* What it is called when it goes on: a program that was begun, or that calls itself so. */
static int rename_task(struct slots *s, unsigned id, uint32_t n, const char *name)
{
	if (!task_rename(&s->t.task[n], name))
		return 0;
	if (slots_put(s, REC_RENAME, id, n, 0, 0))
		return -1;
	return rec_out_name(&s->out, s->t.task[n].name);
}

/* The task of @pid; one that was running when the trace began is met here first. */
static uint32_t get_task(struct slots *s, int32_t pid, const char *name)
{
	const uint32_t n = tasks_find(&s->t, pid);

	return n != NO_TASK || s->t.why ? n : new_task(s, pid, name, program_is_kernel(name));
}

static int put_exit(struct slots *s, unsigned cpu, uint32_t n, unsigned flags)
{
	if (s->t.task[n].gone || n == IDLE)
		return 0;
	s->t.task[n].gone = true;
	return slots_put(s, REC_EXIT, cpu, n, flags, 0);
}

/* The events contradict each other here: some are missing. */
static int put_gap(struct slots *s, unsigned cpu)
{
	return slots_put(s, REC_LOST, cpu, 0, REC_ASSUMED, 1);
}

/* CPU @id goes on with @n, and nothing is said about what it did before. */
static int set_running(struct slots *s, unsigned id, uint32_t n, unsigned flags, uint32_t arg)
{
	struct cpu *c = &s->cpus[id];
	struct task *t = &s->t.task[n], *old = c->known ? &s->t.task[c->task] : NULL;

	if (n != IDLE && t->cpu && t->cpu != id + 1) {
		/* It ran elsewhere by our account: we missed how it left. */
		struct cpu *other = &s->cpus[t->cpu - 1];

		if (put_gap(s, id) || slots_put(s, REC_SWITCH, t->cpu - 1u, IDLE,
					      REC_KERNEL | REC_ASSUMED, slot_arg(s, 0, other->seen)))
			return -1;
		other->task = IDLE;
		other->user = false;
		other->live = 0;
		other->seen = 0;
	}
	if (slots_put(s, REC_SWITCH, id, n, flags | (t->kernel ? REC_KERNEL : 0), arg))
		return -1;
	if (old && c->task != IDLE && c->task != n) {
		old->cpu = 0;
		if (old->gone)
			tasks_free(&s->t, c->task);
	}
	c->known = true;
	c->task = n;
	c->user = c->waited = false;
	c->live = 0;
	c->seen = 0;
	if (n != IDLE)
		t->cpu = (uint16_t)(id + 1);
	return 0;
}

static int finish(struct slots *s, unsigned id);

/* The task of @pid is somewhere else now: where it left a CPU by a switch that was kept, that is complete. */
static int let_go(struct slots *s, int32_t pid)
{
	const uint32_t n = tasks_find(&s->t, pid);
	unsigned cpu;

	if (n == NO_TASK || n == IDLE || !s->t.task[n].cpu)
		return s->t.why ? -1 : 0;
	cpu = s->t.task[n].cpu - 1u;
	return s->cpus[cpu].ending ? finish(s, cpu) : 0;
}

/* A task runs by its next event in its own name that we did not see coming. */
static int resync(struct slots *s, unsigned id, int32_t pid, const char *name)
{
	const struct cpu *c = &s->cpus[id];
	const struct task *t;
	unsigned flags = REC_ASSUMED;
	uint32_t n;

	if (c->known && s->t.task[c->task].pid == pid)
		return 0;
	if (let_go(s, pid))
		return -1;
	t = &s->t.task[c->task];
	/* How its slot ended was missed: a program most likely was in user mode. */
	if (c->known && !t->kernel && !t->dying)
		flags |= REC_USER | REC_USED;
	n = get_task(s, pid, name);
	if (n == NO_TASK)
		return -1;
	if (c->known && put_gap(s, id))
		return -1;
	return set_running(s, id, n, flags, slot_arg(s, flags & REC_USER ? XST_MASK_SSE : 0, c->seen));
}

/* A handler that is pending runs at the first entry to user mode. */
static int put_pending(struct slots *s, unsigned id, struct task *t)
{
	const bool handled = s->signals == SLOTS_SIGNALS_ALL ||
			     (s->signals == SLOTS_SIGNALS_AUTO && t->handles);

	if (!t->child_exited)
		return 0;
	t->child_exited = false;
	if (!handled || (s->has & REC_HAS_SIGNALS))
		return 0;
	return slots_put(s, REC_SIGNAL, id, s->cpus[id].task, REC_ASSUMED, 0);
}

/* It came from user mode to end; what was pending ran before. */
static int put_dead(struct slots *s, unsigned id, bool user)
{
	const uint32_t n = s->cpus[id].task;

	if (s->t.task[n].gone)
		return 0;
	if (user && put_pending(s, id, &s->t.task[n]))
		return -1;
	return put_exit(s, id, n, user ? REC_USER : 0);
}

/* The switch that was kept: the slot is complete now. */
static int finish(struct slots *s, unsigned id)
{
	struct cpu *c = &s->cpus[id];
	const unsigned seen_next = c->seen_next;
	bool user = c->live_at_end, dead;
	unsigned flags, seen;
	uint32_t live, n;
	struct task *t;

	if (slots_settle_fork(s, id))
		return -1;
	c->ending = false;
	/* Who comes may have left another CPU, which has done nothing since; and so on. */
	if (c->next >= 0 && let_go(s, c->next))
		return -1;
	t = &s->t.task[c->task];
	live = c->live;
	seen = c->seen;
	if (!(s->has & REC_HAS_FPU) && !t->kernel && !t->gone) {
		user = true;
		live = (uint32_t)XST_MASK_SSE;
	}
	if (user && t->kernel && c->task != IDLE) {
		/* Named like a kernel thread, but it has registers. */
		t->kernel = false;
		if (slots_put(s, REC_SWITCH, id, c->task, REC_ASSUMED, 0))
			return -1;
	}
	if (user && !t->dying && put_pending(s, id, t))
		return -1;
	/* Without an event of its exit, too: nobody runs again behind one of these. */
	dead = c->task != IDLE && (c->state == 'X' || c->state == 'Z' || (t->dying && !c->state));
	if (dead) {
		if (put_dead(s, id, user) || slots_tell_parent(s, id, t))
			return -1;
	}
	/*
	 * A child has nothing to do in the kernel but to return to user mode. When its registers
	 * are not live after its first slot, they were dropped by an exec that is under way: the
	 * parent of vfork() is woken in the middle of it, and sched_process_exec comes in a later
	 * slot.
	 */
	if (t->fresh && !user && !dead && !t->kernel) {
		t->exec_written = true;
		if (slots_put(s, REC_EXEC, id, c->task, REC_USER | REC_ASSUMED, 0))
			return -1;
	}
	t->fresh = false;
	if (user) {
		t->waits = t->waits && c->waited;
		t->user_before_exec = c->state != 'D';
		t->exec_written = false;
	}
	flags = 0;
	if (user && !t->gone && c->task != IDLE)
		flags = REC_USER | (c->image ? REC_DIGEST : 0u) |
			((c->image ? c->image == TRACE_IMAGE_NEW : live != 0) ? REC_USED : 0u) |
			(c->state && c->state != 'R' ? REC_BLOCKED : 0u);
	/* Not known: its first event will say. */
	n = c->next < 0 ? IDLE : get_task(s, c->next, c->comm);
	if (n == NO_TASK)
		return -1;
	if (set_running(s, id, n, flags, slot_arg(s, flags ? live : 0, seen)) ||
	    (n != IDLE && rename_task(s, id, n, c->comm)))
		return -1;
	c->seen = seen_next;
	c->known = c->next >= 0;
	return slots_release_children(s, id, &s->t.task[n]);
}

static int on_switch(struct slots *s, const struct trace_event *ev)
{
	static const char no_name[TRACE_COMM];
	struct cpu *c = &s->cpus[ev->cpu];

	if (resync(s, ev->cpu, ev->prev, ev->pid == ev->prev ? ev->own : no_name))
		return -1;
	c->ending = true;
	c->live_at_end = false;
	c->image = TRACE_IMAGE_UNKNOWN;
	c->state = ev->state;
	c->next = ev->other;
	c->seen_next = 0;
	memcpy(c->comm, ev->comm, sizeof(c->comm));
	return 0;
}

/* fork(), clone(): called from user mode; the registers are restored first if need be. */
static int on_fork(struct slots *s, const struct trace_event *ev)
{
	struct cpu *c = &s->cpus[ev->cpu];
	struct task *parent = &s->t.task[c->task], *child;
	const bool kernel = parent->kernel, gone = parent->gone, handles = parent->handles;
	uint32_t old = tasks_find(&s->t, ev->other), n;

	if (old != NO_TASK && old != IDLE) {
		/* We missed its exit. */
		if (s->t.task[old].cpu || s->t.why)
			return s->t.why ? -1 : 0;
		if (put_gap(s, ev->cpu) || put_exit(s, ev->cpu, old, 0))
			return -1;
		tasks_free(&s->t, old);
	}
	n = new_task(s, ev->other, ev->comm, kernel);
	if (n == NO_TASK)
		return -1;
	child = &s->t.task[n];
	child->parent = ev->pid;
	child->handles = handles;
	child->fresh = !kernel;
	if (kernel || gone)
		return 0;
	c->user = true;
	c->stirs = true;
	return slots_put(s, REC_FORK, ev->cpu, c->task, REC_USER, n);
}

static int on_exec(struct slots *s, const struct trace_event *ev)
{
	struct cpu *c = &s->cpus[ev->cpu];
	struct task *t = &s->t.task[c->task];
	bool user;

	if (c->task == IDLE || t->gone)
		return 0;
	if (t->kernel) {
		/* A kernel thread becomes a program: a usermode helper. */
		t->kernel = false;
		t->user_before_exec = false;
		if (slots_put(s, REC_SWITCH, ev->cpu, c->task, REC_ASSUMED,
			      slot_arg(s, 0, c->seen)))
			return -1;
		c->seen = 0;
	}
	user = c->user || t->user_before_exec || !(s->has & REC_HAS_FPU);
	t->child_exited = false;
	t->user_before_exec = true;
	c->user = true;
	t->fresh = false;
	if (!t->exec_written && slots_put(s, REC_EXEC, ev->cpu, c->task, user ? REC_USER : 0, 0))
		return -1;
	t->exec_written = false;
	return rename_task(s, ev->cpu, c->task, ev->own);
}

static int on_migrate(struct slots *s, const struct trace_event *ev)
{
	const struct cpu *c = &s->cpus[ev->cpu];
	struct task *t;
	uint32_t n;

	if (let_go(s, ev->other))
		return -1;
	n = tasks_find(&s->t, ev->other);
	if (n == NO_TASK || n == IDLE)
		return s->t.why ? -1 : 0;
	t = &s->t.task[n];
	/* By the stopper thread: sched_exec() looks for an idle CPU while there is little to move. */
	if (c->known && !strncmp(s->t.task[c->task].name, "migration/", 10))
		t->user_before_exec = false;
	return t->cpu ? 0 : slots_put(s, REC_MIGRATE, ev->cpu, n, 0, ev->arg);
}

static int on_dropped(struct slots *s, const struct trace_event *ev)
{
	struct cpu *c = &s->cpus[ev->cpu];

	if (!s->t.task[c->task].dying)
		return 0;
	return put_dead(s, ev->cpu, true);
}

/* Can the running task still do what programs do? */
static bool is_program(const struct slots *s, const struct cpu *c)
{
	const struct task *t = &s->t.task[c->task];

	return !t->kernel && !t->gone;
}

/* It is known that returns of handlers have events. */
static int shows_returns(struct slots *s)
{
	s->sigreturns = true;
	return rec_out_release(&s->out, true);
}

static int take(struct slots *s, const struct trace_event *ev)
{
	struct cpu *c = &s->cpus[ev->cpu];
	bool late;

	/* It does something else: wait() has returned. */
	if (ev->kind != TRACE_SWITCH && ev->kind != TRACE_MIGRATE && ev->kind != TRACE_SECTION)
		s->t.task[c->task].waits = false;
	switch (ev->kind) {
	case TRACE_SWITCH:
		s->switched = true;
		return on_switch(s, ev);
	case TRACE_FORK:
		return on_fork(s, ev);
	case TRACE_EXEC:
		return on_exec(s, ev);
	case TRACE_EXIT:
		s->t.task[c->task].dying = true;
		s->t.task[c->task].last_thread = ev->flag;
		return 0;
	case TRACE_MIGRATE:
		return on_migrate(s, ev);
	case TRACE_WAIT:
		return slots_wait(s, ev->cpu);
	case TRACE_DROPPED:
		return on_dropped(s, ev);
	case TRACE_COPIED:
		c->user = true;
		return 0;
	case TRACE_SIGNAL:
		s->has |= REC_HAS_SIGNALS;
		if (!ev->flag || !is_program(s, c))
			return 0;
		/* Does this trace show returns? If one comes before there are too many records, it does. */
		if (!s->sigreturns && rec_out_hold(&s->out))
			return -1;
		return slots_put(s, REC_SIGNAL, ev->cpu, c->task, s->sigreturns ? REC_OPEN : 0, 0);
	case TRACE_SIGRETURN:
		/* Too late for the records: its handler was taken to return. */
		late = !s->sigreturns && s->out.held_over;
		if (shows_returns(s))
			return -1;
		return late || !is_program(s, c) ? 0
		       : slots_put(s, REC_SIGRETURN, ev->cpu, c->task, 0, 0);
	case TRACE_SECTION:
		s->has |= REC_HAS_SECTIONS;
		return slots_put(s, REC_SECTION, ev->cpu, c->task, 0, 0);
	default:
		return 0;
	}
}

int slots_event(void *arg, const struct trace_event *ev)
{
	struct slots *s = arg;
	struct cpu *c;

	if (ev->kind == TRACE_LOST)
		return slots_put(s, REC_LOST, 0, 0, 0, ev->arg);
	if (ev->kind == TRACE_SIGRETURNS)
		return shows_returns(s);
	if (ev->cpu >= TRACE_CPUS_MAX) {
		s->t.why = "a CPU's number is out of range";
		return -1;
	}
	c = &s->cpus[ev->cpu];
	if (ev->kind == TRACE_ACTIVATED) {
		/* Counted, and nothing else: without it the records are the same. */
		s->has |= REC_HAS_RESTORES;
		if (c->ending)
			c->seen_next++;
		else
			c->seen++;
		return 0;
	}
	if (!s->begun) {
		s->begun = true;
		s->out.written_ns = ev->ns;
	}
	if (ev->ns + BACK_NS < s->latest_ns) {
		s->t.why = "its time runs backwards, as where two traces are put together";
		return -1;
	}
	if (ev->ns > s->latest_ns)
		s->latest_ns = ev->ns;
	s->out.now_ns = ev->ns;
	if (ev->kind == TRACE_DEACTIVATED || ev->kind == TRACE_DROPPED || ev->kind == TRACE_COPIED)
		s->has |= REC_HAS_FPU;
	if (ev->kind == TRACE_DEACTIVATED) {
		/* "load: 0" comes from an exit, in the middle of a slot. */
		if (c->ending && ev->flag) {
			c->live_at_end = true;
			c->image = ev->image;
			c->live = ev->arg & (uint32_t)XST_MASK_TS_GUARDED;
		}
		return c->ending && ev->flag ? finish(s, ev->cpu) : 0;
	}
	if (c->ending && finish(s, ev->cpu))
		return -1;
	if (ev->kind == TRACE_EXEC && ev->other != ev->pid && c->known &&
	    s->t.task[c->task].pid == ev->other) {
		/* A thread takes its leader's id. */
		if (!tasks_move(&s->t, c->task, ev->pid))
			return -1;
	}
	if (ev->kind != TRACE_SWITCH && slots_settle_fork(s, ev->cpu))
		return -1;
	if (ev->kind != TRACE_SWITCH && ev->pid >= 0 && resync(s, ev->cpu, ev->pid, ev->own))
		return -1;
	return c->known || ev->kind == TRACE_SWITCH ? take(s, ev) : 0;
}

int slots_end(struct slots *s)
{
	uint32_t left = s->seen_more;

	if (!s->switched) {
		s->t.why = "not one sched_switch in it, so there is nothing to replay";
		return -1;
	}
	for (unsigned i = 0; i < TRACE_CPUS_MAX; i++)
		if (s->cpus[i].ending && finish(s, i))
			return -1;
	/* Restores of slots that still go on, and of those that had too many. */
	for (unsigned i = 0; i < TRACE_CPUS_MAX; i++)
		left += s->cpus[i].seen;
	if (rec_out_release(&s->out, false) || slots_put(s, REC_END, 0, left, s->has, 0))
		return -1;
	return rec_out_flush(&s->out);
}

struct slots *slots_new(const struct slots_sink *sink, enum slots_signals signals,
			enum slots_sections sections)
{
	struct slots *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->out.give = sink->put;
	s->out.arg = sink->arg;
	s->signals = signals;
	s->sections = sections;
	if (!tasks_begin(&s->t)) {
		free(s);
		return NULL;
	}
	return s;
}

void slots_free(struct slots *s)
{
	if (!s)
		return;
	tasks_end(&s->t);
	rec_out_end(&s->out);
	free(s);
}

const char *slots_why(const struct slots *s)
{
	return s->t.why;
}

uint32_t slots_has(const struct slots *s)
{
	return s->has;
}

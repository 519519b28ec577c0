// SPDX-License-Identifier: BSD-2-Clause
/* trace-cmd's trace.dat, by its own library. */
#include "read/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace-cmd.h>

/* An event of the file that we know, with the places of its fields. */
struct known {
	int id;
	enum trace_kind kind;
	struct tep_event *event;
	struct tep_format_field *field[4];
};

struct dat {
	const struct trace_sink *sink;
	struct trace_tally *tally;
	struct known known[16];
	size_t count;
	bool stopped;
};

static const struct {
	const char *system, *name;
	enum trace_kind kind;
	const char *field[4];
} wanted[] = {
	{ "sched", "sched_switch", TRACE_SWITCH,
	  { "prev_pid", "next_pid", "prev_state", "next_comm" } },
	{ "sched", "sched_migrate_task", TRACE_MIGRATE, { "pid", "dest_cpu" } },
	{ "sched", "sched_process_fork", TRACE_FORK, { "child_pid", NULL, NULL, "child_comm" } },
	{ "sched", "sched_process_exec", TRACE_EXEC, { "old_pid" } },
	{ "sched", "sched_process_exit", TRACE_EXIT, { NULL } },
	{ "x86_fpu", "x86_fpu_regs_activated", TRACE_ACTIVATED, { "xfeatures", "load_fpu" } },
	{ "x86_fpu", "x86_fpu_regs_deactivated", TRACE_DEACTIVATED, { "xfeatures", "load_fpu" } },
	{ "x86_fpu", "x86_fpu_dropped", TRACE_DROPPED, { "xfeatures", "load_fpu" } },
	{ "x86_fpu", "x86_fpu_copy_dst", TRACE_COPIED, { "xfeatures", "load_fpu" } },
	{ "syscalls", "sys_enter_rt_sigreturn", TRACE_SIGRETURN, { NULL } },
	{ "signal", "signal_deliver", TRACE_SIGNAL, { "sa_handler" } },
};

static void find_events(struct dat *d, struct tep_handle *tep)
{
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct tep_event *e = tep_find_event_by_name(tep, wanted[i].system, wanted[i].name);
		struct known *k = &d->known[d->count];

		if (!e)
			continue;
		*k = (struct known){ .id = e->id, .kind = wanted[i].kind, .event = e };
		for (int f = 0; f < 4; f++)
			if (wanted[i].field[f])
				k->field[f] = tep_find_field(e, wanted[i].field[f]);
		d->count++;
	}
}

static unsigned long long value(const struct known *k, int i, struct tep_record *r)
{
	unsigned long long v = 0;

	if (k->field[i] && k->field[i]->offset + k->field[i]->size <= r->size)
		tep_read_number_field(k->field[i], r->data, &v);
	return v;
}

static void name_field(const struct known *k, struct tep_record *r, char out[TRACE_COMM])
{
	const struct tep_format_field *f = k->field[3];
	const char *s;
	size_t n, max;

	memset(out, 0, TRACE_COMM);
	if (!f || f->offset + f->size > r->size)
		return;
	s = (const char *)r->data + f->offset;
	max = (size_t)f->size;
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		/* offset and length of the text behind the record's fixed part */
		uint32_t loc;

		memcpy(&loc, s, sizeof(loc));
		if ((loc & 0xffff) + (loc >> 16) > (uint32_t)r->size)
			return;
		s = (const char *)r->data + (loc & 0xffff);
		max = loc >> 16;
	}
	n = strnlen(s, max);
	memcpy(out, s, n < TRACE_COMM ? n : TRACE_COMM - 1);
}

static int32_t pid_of(unsigned long long v)
{
	return v < TRACE_PID_MAX ? (int32_t)v : -1;
}

static void translate(const struct known *k, struct tep_record *r, struct trace_event *ev)
{
	ev->flag = true;
	ev->prev = ev->other = -1;
	switch (k->kind) {
	case TRACE_SWITCH:
		ev->prev = pid_of(value(k, 0, r));
		ev->other = pid_of(value(k, 1, r));
		ev->state = trace_state(value(k, 2, r));
		name_field(k, r, ev->comm);
		ev->pid = ev->prev;
		break;
	case TRACE_MIGRATE:
		ev->other = pid_of(value(k, 0, r));
		ev->arg = (uint32_t)value(k, 1, r) % TRACE_CPUS_MAX;
		break;
	case TRACE_FORK:
		ev->other = pid_of(value(k, 0, r));
		name_field(k, r, ev->comm);
		break;
	case TRACE_EXEC:
		ev->other = pid_of(value(k, 0, r));
		break;
	case TRACE_SIGNAL:
		ev->flag = value(k, 0, r) > 1;
		break;
	case TRACE_EXIT:
	case TRACE_SIGRETURN:
		break;
	default:
		ev->arg = (uint32_t)value(k, 0, r);
		ev->flag = value(k, 1, r);
	}
}

static int on_record(struct tracecmd_input *handle, struct tep_record *r, int cpu, void *arg)
{
	struct tep_handle *tep = tracecmd_get_tep(handle);
	struct dat *d = arg;
	struct trace_event ev = { .ns = r->ts, .cpu = (uint32_t)cpu, .pid = tep_data_pid(tep, r) };
	const int type = tep_data_type(tep, r);
	const char *own;
	size_t i;

	d->tally->lines++;
	if (r->missed_events) {
		struct trace_event lost = { .kind = TRACE_LOST, .pid = -1 };

		lost.arg = r->missed_events > 0 ? (uint32_t)r->missed_events : 1;
		if (d->sink->event(d->sink->arg, &lost))
			goto stop;
	}
	for (i = 0; i < d->count && d->known[i].id != type; i++)
		;
	if (i == d->count)
		return 0;
	ev.kind = d->known[i].kind;
	if (ev.pid < 0 || ev.pid >= TRACE_PID_MAX)
		ev.pid = -1;
	own = tep_data_comm_from_pid(tep, ev.pid);
	if (own && strcmp(own, "<...>"))
		memcpy(ev.own, own, strnlen(own, TRACE_COMM - 1));
	translate(&d->known[i], r, &ev);
	if ((ev.kind == TRACE_FORK || ev.kind == TRACE_MIGRATE) && ev.other < 0)
		return 0;
	d->tally->events++;
	if (!d->sink->event(d->sink->arg, &ev))
		return 0;
stop:
	d->stopped = true;
	return -1;
}

int trace_read_dat(const char *path, const struct trace_sink *sink, struct trace_tally *tally,
		   char *err, size_t errlen)
{
	struct dat d = { .sink = sink, .tally = tally };
	struct tracecmd_input *handle;
	int result;

	*tally = (struct trace_tally){ 0 };
	/* Its messages would be many; the sentence below is ours. */
	tracecmd_set_loglevel(TEP_LOG_NONE);
	handle = tracecmd_open(path, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!handle) {
		snprintf(err, errlen, "%s: a broken or unfinished trace.dat", path);
		return -1;
	}
	find_events(&d, tracecmd_get_tep(handle));
	result = tracecmd_iterate_events(handle, NULL, 0, on_record, &d);
	tracecmd_close(handle);
	if (d.stopped)
		return -1;
	if (result) {
		snprintf(err, errlen, "%s: its events cannot be read to the end", path);
		return -1;
	}
	if (!tally->events) {
		snprintf(err, errlen, "%s: no scheduler event in it", path);
		return -1;
	}
	return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * trace-cmd's trace.dat. Its own library unpacks the file and puts the CPUs' events in order; what
 * is in an event is read here, where the file's own description says it is.
 */
#include "read/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace-cmd.h>

#include "read/trace_apart.h"

/* An event of the file that we know, with the places of its fields. */
struct known {
	enum trace_kind kind;
	struct tep_format_field *field[4];
};

/* Names are asked for in every event, and it is always the same few tasks. */
#define NAMES 256u

struct dat {
	const struct trace_sink *sink;
	struct trace_tally *tally;
	struct tep_handle *tep;
	struct tep_format_field *type, *pid; /* common to all events */
	bool foreign;                        /* numbers have their bytes in the other order */
	bool stopped, seen;
	struct known known[16];
	size_t count;
	uint8_t by_id[UINT16_MAX + 1];       /* place in known plus 1 */
	struct {
		int32_t pid;                 /* plus 1 */
		char name[TRACE_COMM];
	} names[NAMES];
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
	{ "sched", "sched_process_exit", TRACE_EXIT, { "group_dead" } },
	{ "sched", "sched_process_wait", TRACE_WAIT, { NULL } },
	{ "x86_fpu", "x86_fpu_regs_activated", TRACE_ACTIVATED, { "xfeatures", "load_fpu" } },
	{ "x86_fpu", "x86_fpu_regs_deactivated", TRACE_DEACTIVATED, { "xfeatures", "load_fpu" } },
	{ "x86_fpu", "x86_fpu_dropped", TRACE_DROPPED, { "xfeatures", "load_fpu" } },
	{ "x86_fpu", "x86_fpu_copy_dst", TRACE_COPIED, { "xfeatures", "load_fpu" } },
	{ "syscalls", "sys_enter_rt_sigreturn", TRACE_SIGRETURN, { NULL } },
	{ "signal", "signal_deliver", TRACE_SIGNAL, { "sa_handler" } },
	{ "probe", "kernel_fpu_begin", TRACE_SECTION, { NULL } },
	{ "probe", "kernel_fpu_begin_mask", TRACE_SECTION, { NULL } },
	{ "kprobes", "kernel_fpu_begin", TRACE_SECTION, { NULL } },
	{ "kprobes", "kernel_fpu_begin_mask", TRACE_SECTION, { NULL } },
};
_Static_assert(sizeof(wanted) / sizeof(wanted[0]) <= sizeof(((struct dat *)0)->known) /
						      sizeof(struct known), "room for all");

static void find_events(struct dat *d)
{
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct tep_event *e = tep_find_event_by_name(d->tep, wanted[i].system,
							     wanted[i].name);
		struct known *k = &d->known[d->count];

		if (!e || e->id < 0 || e->id > UINT16_MAX)
			continue;
		*k = (struct known){ .kind = wanted[i].kind };
		for (int f = 0; f < 4; f++)
			if (wanted[i].field[f])
				k->field[f] = tep_find_field(e, wanted[i].field[f]);
		d->by_id[e->id] = (uint8_t)++d->count;
		d->type = tep_find_common_field(e, "common_type");
		d->pid = tep_find_common_field(e, "common_pid");
	}
	d->foreign = tep_is_file_bigendian(d->tep) != tep_is_local_bigendian(d->tep);
}

static bool is_inside(const struct tep_format_field *f, const struct tep_record *r)
{
	return f && f->offset >= 0 && f->size >= 0 && f->offset <= r->size &&
	       f->size <= r->size - f->offset;
}

/* A number, without its sign; 0 when it is not there. The library's own way takes several calls. */
static uint64_t number(const struct dat *d, struct tep_format_field *f, const struct tep_record *r)
{
	unsigned long long v = 0;
	const char *at;
	uint32_t four;

	if (!is_inside(f, r))
		return 0;
	at = (const char *)r->data + f->offset;
	if (d->foreign || (size_t)f->size > sizeof(v)) {
		tep_read_number_field(f, r->data, &v);
	} else if (f->size == sizeof(four)) {
		/* Most are; a copy of any size is a call. */
		memcpy(&four, at, sizeof(four));
		v = four;
	} else if (f->size == sizeof(v)) {
		memcpy(&v, at, sizeof(v));
	} else {
		memcpy(&v, at, (size_t)f->size);
	}
	return v;
}

static void name_field(const struct known *k, const struct tep_record *r, char out[TRACE_COMM])
{
	const struct tep_format_field *f = k->field[3];
	const char *s;
	size_t n, max;

	if (!is_inside(f, r))
		return;
	s = (const char *)r->data + f->offset;
	max = (size_t)f->size;
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		/* offset and length of the text behind the record's fixed part */
		uint32_t loc;

		if (max < sizeof(loc))
			return;
		memcpy(&loc, s, sizeof(loc));
		if ((loc & 0xffff) + (loc >> 16) > (uint32_t)r->size)
			return;
		s = (const char *)r->data + (loc & 0xffff);
		max = loc >> 16;
	}
	n = strnlen(s, max < TRACE_COMM ? max : TRACE_COMM - 1);
	memcpy(out, s, n < TRACE_COMM ? n : TRACE_COMM - 1);
}

static int32_t pid_of(uint64_t v)
{
	return v < TRACE_PID_MAX ? (int32_t)v : -1;
}

/* What a task is called; tracefs does not know every name. */
static const char *name_of(struct dat *d, int32_t pid)
{
	const unsigned at = (unsigned)pid % NAMES;
	const char *own;

	if (d->names[at].pid == pid + 1)
		return d->names[at].name;
	own = tep_data_comm_from_pid(d->tep, pid);
	memset(d->names[at].name, 0, TRACE_COMM);
	if (own && strcmp(own, "<...>"))
		memcpy(d->names[at].name, own, strnlen(own, TRACE_COMM - 1));
	d->names[at].pid = pid + 1;
	return d->names[at].name;
}

static void translate(const struct dat *d, const struct known *k, const struct tep_record *r,
		      struct trace_event *ev)
{
	struct tep_format_field *const *f = k->field;

	ev->flag = true;
	ev->prev = ev->other = -1;
	switch (k->kind) {
	case TRACE_SWITCH:
		ev->prev = pid_of(number(d, f[0], r));
		ev->other = pid_of(number(d, f[1], r));
		ev->state = trace_state(number(d, f[2], r));
		name_field(k, r, ev->comm);
		ev->pid = ev->prev;
		break;
	case TRACE_MIGRATE:
		ev->other = pid_of(number(d, f[0], r));
		ev->arg = (uint32_t)number(d, f[1], r) % TRACE_CPUS_MAX;
		break;
	case TRACE_FORK:
		ev->other = pid_of(number(d, f[0], r));
		name_field(k, r, ev->comm);
		break;
	case TRACE_EXEC:
		ev->other = pid_of(number(d, f[0], r));
		break;
	case TRACE_SIGNAL:
		ev->flag = number(d, f[0], r) > 1;
		break;
	case TRACE_EXIT:
		ev->flag = !f[0] || number(d, f[0], r);
		break;
	case TRACE_WAIT:
	case TRACE_SIGRETURN:
	case TRACE_SECTION:
		break;
	default:
		ev->arg = (uint32_t)number(d, f[0], r);
		ev->flag = number(d, f[1], r);
	}
}

static int on_record(struct tracecmd_input *handle, struct tep_record *r, int cpu, void *arg)
{
	struct dat *d = arg;
	struct trace_event ev = { .ns = r->ts, .cpu = (uint32_t)cpu };
	const unsigned place = d->by_id[number(d, d->type, r) & UINT16_MAX];
	const struct known *k = &d->known[place ? place - 1 : 0];

	(void)handle;
	d->tally->lines++;
	if (r->missed_events) {
		struct trace_event lost = { .kind = TRACE_LOST, .pid = -1 };

		lost.arg = r->missed_events > 0 ? (uint32_t)r->missed_events : 1;
		if (d->sink->event(d->sink->arg, &lost))
			goto stop;
	}
	if (!place)
		return 0;
	ev.kind = k->kind;
	ev.pid = pid_of(number(d, d->pid, r));
	translate(d, k, r, &ev);
	if (ev.pid >= 0)
		memcpy(ev.own, name_of(d, ev.pid), TRACE_COMM);
	if ((ev.kind == TRACE_FORK || ev.kind == TRACE_MIGRATE) && ev.other < 0)
		return 0;
	d->tally->events++;
	if (!d->sink->event(d->sink->arg, &ev))
		return 0;
stop:
	d->stopped = true;
	return -1;
}

static int on_look(struct tracecmd_input *handle, struct tep_record *r, int cpu, void *arg)
{
	struct dat *d = arg;
	const unsigned place = d->by_id[number(d, d->type, r) & UINT16_MAX];

	(void)handle;
	(void)cpu;
	d->seen = d->seen || (place && d->known[place - 1].kind == TRACE_SWITCH);
	return d->seen ? -1 : 0;
}

/* Has the buffer of @handle a switch in it? */
static bool has_switch(struct dat *d, struct tracecmd_input *handle)
{
	d->seen = false;
	if (handle && d->type)
		(void)tracecmd_iterate_events(handle, NULL, 0, on_look, d);
	return d->seen;
}

#define TOP (-1)
#define MIX (-2) /* @err says it */

/*
 * Which buffer is read: the top one, or the one instance that has switches while the top one has none.
 * Those of several instances are several recordings of one machine: they are not added up.
 */
static int choose_buffer(struct dat *d, struct tracecmd_input *handle, const char *path, char *err,
			 size_t errlen)
{
	const int count = tracecmd_buffer_instances(handle);
	const char *first = NULL;
	char names[160] = "";
	int chosen = TOP, with = 0;

	if (count <= 0 || has_switch(d, handle))
		return TOP;
	for (int i = 0; i < count; i++) {
		struct tracecmd_input *one = tracecmd_buffer_instance_handle(handle, i);
		const char *name = tracecmd_buffer_instance_name(handle, i);

		if (has_switch(d, one)) {
			const size_t n = strlen(names);

			snprintf(names + n, sizeof(names) - n, "%s%.40s", with++ ? ", " : "",
				 name ? name : "?");
			if (!first) {
				first = name;
				chosen = i;
			}
		}
		if (one)
			tracecmd_close(one);
	}
	if (with < 2)
		return chosen;
	snprintf(err, errlen, "%s: scheduler events in several instances, %s; choose one: trace-cmd report "
		 "FILE | sed -n 's/^ *%.40s: //p' | xstate sim -", path, names, first ? first : "NAME");
	return MIX;
}

static struct tracecmd_input *open_dat(struct dat *d, const char *path)
{
	struct tracecmd_input *handle = tracecmd_open(path, TRACECMD_FL_LOAD_NO_PLUGINS);

	if (!handle)
		return NULL;
	d->tep = tracecmd_get_tep(handle);
	d->count = 0;
	memset(d->by_id, 0, sizeof(d->by_id));
	find_events(d);
	return handle;
}

/* The library falls over files that were cut off: this is called in a process of its own. */
static int read_dat(const char *path, const struct trace_sink *sink, struct trace_tally *tally,
		    char *err, size_t errlen)
{
	struct dat *d = calloc(1, sizeof(*d));
	struct tracecmd_input *handle, *of = NULL;
	int result, buffer = TOP;

	if (!d) {
		snprintf(err, errlen, "out of memory");
		return -1;
	}
	d->sink = sink;
	d->tally = tally;
	/* Its messages would be many; the sentence below is ours. */
	tracecmd_set_loglevel(TEP_LOG_NONE);
	handle = open_dat(d, path);
	if (handle && tracecmd_buffer_instances(handle) > 0) {
		buffer = choose_buffer(d, handle, path, err, errlen);
		/* What was looked at is behind us: from the start again. */
		tracecmd_close(handle);
		if (buffer == MIX) {
			free(d);
			return -1;
		}
		handle = open_dat(d, path);
	}
	if (handle && buffer >= 0)
		of = tracecmd_buffer_instance_handle(handle, buffer);
	if (!handle || (buffer >= 0 && !of)) {
		snprintf(err, errlen, "%s: a broken or unfinished trace.dat", path);
		free(d);
		return -1;
	}
	result = tracecmd_iterate_events(of ? of : handle, NULL, 0, on_record, d);
	if (of)
		tracecmd_close(of);
	tracecmd_close(handle);
	if (result && !d->stopped)
		snprintf(err, errlen, "%s: its events cannot be read to the end", path);
	else if (!result && !tally->events)
		snprintf(err, errlen, "%s: no scheduler event in it", path);
	if (!tally->events)
		result = -1;
	free(d);
	return result ? -1 : 0;
}

int trace_read_dat(const char *path, const struct trace_sink *sink, struct trace_tally *tally,
		   char *err, size_t errlen)
{
	return trace_read_apart(read_dat, path, sink, tally, err, errlen);
}

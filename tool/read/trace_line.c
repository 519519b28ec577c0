// SPDX-License-Identifier: BSD-2-Clause
/*
 * Traces as text: what `perf script`, `trace-cmd report` and tracefs print. All have the same line:
 *
 *   NAME-PID [CPU] FLAGS TIME: EVENT: FIELDS            ftrace; flags may be missing
 *   NAME  PID [CPU] TIME: SYSTEM:EVENT: FIELDS          perf
 *
 * A name may hold blanks, brackets and anything else but a newline, so a line is read from its
 * first "[digits]" outwards, and fields of an event from its end where a name comes before.
 */
#include "read/trace_line.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A decimal number; false when there is none or it does not fit. */
static bool number(const char **p, const char *end, uint64_t max, uint64_t *v)
{
	const char *s = *p;
	uint64_t n = 0;

	if (s == end || !is_digit(*s))
		return false;
	while (s < end && is_digit(*s)) {
		n = n * 10 + (uint64_t)(*s++ - '0');
		if (n > max)
			return false;
	}
	*p = s;
	*v = n;
	return true;
}

static bool pid_number(const char *p, const char *end, int32_t *pid)
{
	uint64_t v;

	if (!number(&p, end, TRACE_PID_MAX - 1, &v))
		return false;
	*pid = (int32_t)v;
	return true;
}

static const char *find(const char *p, const char *end, const char *what)
{
	return p < end ? memmem(p, (size_t)(end - p), what, strlen(what)) : NULL;
}

/* The last @what in a line. */
static const char *find_last(const char *p, const char *end, const char *what)
{
	const size_t n = strlen(what);

	for (const char *s = end - n; s >= p; s--)
		if (*s == *what && !memcmp(s, what, n))
			return s;
	return NULL;
}

static void copy_name(char name[TRACE_COMM], const char *p, const char *end)
{
	size_t n = end > p ? (size_t)(end - p) : 0;

	if (n >= TRACE_COMM)
		n = TRACE_COMM - 1;
	memcpy(name, p, n);
	memset(name + n, 0, TRACE_COMM - n);
}

/* "key=123" anywhere in the fields: the last one, since a name may hold anything. */
static bool pid_field(const char *p, const char *end, const char *key, int32_t *pid)
{
	const char *at = find_last(p, end, key);

	return at && pid_number(at + strlen(key), end, pid);
}

/* The number that ends at @end, backwards. */
static const char *digits_before(const char *begin, const char *end)
{
	while (end > begin && is_digit(end[-1]))
		end--;
	return end;
}

/* A line is given up; not inline, for nearly none is. */
static __attribute__((noinline, cold)) bool want(struct trace_event *ev, const char *what)
{
	ev->broken = what;
	return false;
}

/* trace-cmd: "make:12 [120] R ==> gcc:13 [120]" */
static bool switch_short(const char *p, const char *end, struct trace_event *ev)
{
	const char *arrow = find_last(p, end, " ==> "), *colon, *q;

	if (!arrow)
		return want(ev, "prev_comm= or ' ==> ' between two tasks");
	/* Before it: name:pid [prio] STATE */
	q = arrow;
	while (q > p && q[-1] != ' ')
		q--;
	ev->state = *q;
	q = find_last(p, q, " [");
	if (!q)
		return want(ev, "[PRIORITY] before ' ==> '");
	/* Where a name was made anonymous its ":pid" may be gone too; prev's is at the line's front. */
	colon = digits_before(p, q);
	if (colon == p || colon[-1] != ':' || !pid_number(colon, q, &ev->prev))
		ev->prev = ev->pid;
	q = find_last(arrow, end, " [");
	if (!q)
		return want(ev, "[PRIORITY] at the end");
	colon = digits_before(arrow, q);
	if (colon[-1] != ':' || !pid_number(colon, q, &ev->other))
		return true;
	copy_name(ev->comm, arrow + 5, colon - 1);
	return true;
}

static bool switch_fields(const char *p, const char *end, struct trace_event *ev)
{
	const char *q, *arrow;

	if (end - p < 10 || memcmp(p, "prev_comm=", 10))
		return switch_short(p, end, ev);
	q = find(p, end, " prev_pid=");
	if (!q || !pid_number(q + 10, end, &ev->prev))
		return want(ev, "prev_pid= and a thread id");
	q = find(q + 10, end, " prev_state=");
	arrow = q ? find(q + 12, end, " ==> next_comm=") : NULL;
	if (!arrow)
		return want(ev, q ? "==> next_comm=" : "prev_state=");
	ev->state = q[12];
	p = arrow + 15;
	q = find_last(p, end, " next_pid=");
	if (!q || !pid_number(q + 10, end, &ev->other))
		return want(ev, "next_pid= and a thread id");
	copy_name(ev->comm, p, q);
	return true;
}

static bool fpu_fields(const char *p, const char *end, struct trace_event *ev)
{
	const char *load = find(p, end, " load: "), *x = load ? find(load, end, " xfeatures: ") : NULL;
	uint64_t mask = 0;

	if (!x || load + 7 >= end)
		return want(ev, load ? "xfeatures: and a mask" : "load: and 0 or 1");
	ev->flag = load[7] == '1';
	for (p = x + 12; p < end && *p != ' '; p++) {
		const char c = *p;

		if (is_digit(c))
			mask = mask << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			mask = mask << 4 | (uint64_t)(c - 'a' + 10);
		else
			return want(ev, "a hexadecimal mask behind xfeatures:");
	}
	ev->arg = (uint32_t)mask;
	return p > x + 12 || want(ev, "a hexadecimal mask behind xfeatures:");
}

static bool fork_fields(const char *p, const char *end, struct trace_event *ev)
{
	const char *c = find(p, end, " child_comm="), *q = find_last(p, end, " child_pid=");

	if (!c || !q || q < c + 12 || !pid_number(q + 11, end, &ev->other))
		return want(ev, c ? "child_pid= and a thread id" : "child_comm=");
	copy_name(ev->comm, c + 12, q);
	return true;
}

static bool migrate_fields(const char *p, const char *end, struct trace_event *ev)
{
	int32_t cpu;

	if (!pid_field(p, end, " pid=", &ev->other))
		return want(ev, "pid= and a thread id");
	if (!pid_field(p, end, " dest_cpu=", &cpu) || (uint32_t)cpu >= TRACE_CPUS_MAX)
		return want(ev, "dest_cpu= and a CPU below 4096");
	ev->arg = (uint32_t)cpu;
	return true;
}

static bool signal_fields(const char *p, const char *end, struct trace_event *ev)
{
	const char *h = find(p, end, " sa_handler=");

	if (!h || h + 12 == end)
		return want(ev, "sa_handler= and an address");
	h += 12;
	if (end - h > 2 && h[0] == '0' && h[1] == 'x')
		h += 2;
	/* SIG_DFL is 0, SIG_IGN 1. */
	while (h < end && *h == '0')
		h++;
	ev->flag = h < end && *h != ' ' && !(*h == '1' && (h + 1 == end || h[1] == ' '));
	return true;
}

struct event_name {
	const char *name;
	enum trace_kind kind;
	bool (*fields)(const char *p, const char *end, struct trace_event *ev);
};

static const struct event_name names[] = {
	{ "sched_switch", TRACE_SWITCH, switch_fields },
	{ "x86_fpu_regs_activated", TRACE_ACTIVATED, fpu_fields },
	{ "x86_fpu_regs_deactivated", TRACE_DEACTIVATED, fpu_fields },
	{ "x86_fpu_dropped", TRACE_DROPPED, fpu_fields },
	{ "x86_fpu_copy_dst", TRACE_COPIED, fpu_fields },
	{ "sched_migrate_task", TRACE_MIGRATE, migrate_fields },
	{ "sched_process_fork", TRACE_FORK, fork_fields },
	{ "sched_process_exec", TRACE_EXEC, NULL },
	{ "sched_process_exit", TRACE_EXIT, NULL },
	{ "sched_process_wait", TRACE_WAIT, NULL },
	{ "signal_deliver", TRACE_SIGNAL, signal_fields },
	{ "sys_enter_rt_sigreturn", TRACE_SIGRETURN, NULL },
	{ "kernel_fpu_begin", TRACE_SECTION, NULL },
	{ "kernel_fpu_begin_mask", TRACE_SECTION, NULL },
};

static const struct event_name *by_name(const char *p, size_t n)
{
	/* Most events of a scheduler trace are wakeups: away with them first. */
	if (n > 8 && p[6] == 'w' && !memcmp(p, "sched_wa", 8))
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == n && !memcmp(names[i].name, p, n))
			return &names[i];
	return NULL;
}

const char *trace_text_kind(enum trace_kind kind)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].kind == kind)
			return names[i].name;
	return NULL;
}

/* Seconds with a fraction, "12946.766538". */
static bool read_time(const char **p, const char *end, uint64_t *ns)
{
	uint64_t s, unit = 100000000;

	if (!number(p, end, 1ull << 33, &s) || *p == end || **p != '.')
		return false;
	s *= 1000000000;
	for ((*p)++; *p < end && is_digit(**p); (*p)++, unit /= 10)
		s += unit * (uint64_t)(**p - '0');
	*ns = s;
	return true;
}

/* What stands before "[CPU]": the name and the thread id. */
static bool read_owner(const char *p, const char *end, struct trace_event *ev)
{
	const char *digits;

	while (end > p && end[-1] == ' ')
		end--;
	if (end > p && end[-1] == ')') {
		/* "(tgid)" of tracefs */
		while (end > p && *end != '(')
			end--;
		while (end > p && end[-1] == ' ')
			end--;
	}
	digits = digits_before(p, end);
	if (digits == end || digits == p)
		return false;
	if (digits - p >= 2 && digits[-1] == '-' && (digits[-2] == ' ' || digits[-2] == ':')) {
		/* perf: ":-1 -1", a task that has ended */
		ev->pid = -1;
		ev->own[0] = '\0';
		return true;
	}
	if (digits[-1] == '/') /* pid/tid */
		digits--;
	else if (digits[-1] != '-' && digits[-1] != ' ')
		return false;
	if (!pid_number(digits + (*digits == '/'), end, &ev->pid))
		return false;
	if (*digits == '/')
		digits = digits_before(p, digits);
	while (p < digits && *p == ' ')
		p++;
	end = digits - (digits > p);
	while (end > p && end[-1] == ' ')
		end--;
	copy_name(ev->own, p, end);
	/* tracefs does not know every name. */
	if (!strcmp(ev->own, "<...>"))
		ev->own[0] = '\0';
	return true;
}

/* What follows "LOST": " 12 EVENTS]", " lost 75", "_SAMPLES lost 75". */
static int lost_line(const char *p, const char *end, struct trace_event *ev)
{
	uint64_t n = 1;

	ev->flag = end - p > 8 && !memcmp(p, "_SAMPLES", 8);
	for (const char *s = p; s < end; s++)
		if (is_digit(*s) && (s == p || s[-1] == ' ')) {
			if (!number(&s, end, UINT32_MAX, &n))
				n = UINT32_MAX;
			break;
		}
	ev->kind = TRACE_LOST;
	ev->arg = (uint32_t)n;
	return 1;
}

/* perf script --header names the events that were asked for, whether there are any or not. */
static int note_line(const char *p, const char *end, struct trace_event *ev)
{
	const char *name = find(p, end, " event : name = ");

	if (!name || !find(name, end, "sys_enter_rt_sigreturn"))
		return 0;
	ev->kind = TRACE_SIGRETURNS;
	return 1;
}

/* Lines that no trace is without: comments, and what trace-cmd prints first. */
static int other_line(const char *p, const char *end, struct trace_event *ev)
{
	const char *lost = find(p, end, "LOST");

	while (p < end && *p == ' ')
		p++;
	if (p < end && *p == '#')
		return note_line(p, end, ev);
	if (p == end)
		return 0;
	/* "CPU:1 [LOST 12 EVENTS]", "PERF_RECORD_LOST lost 12" */
	if (lost)
		return lost_line(lost + 4, end, ev);
	if (find(p, end, "EVENTS DROPPED"))
		return lost_line(end, end, ev);
	if (end - p > 5 && (!memcmp(p, "cpus=", 5) || !memcmp(p, "versi", 5)))
		return 0;
	return -1;
}

/* Is the last thing before the blanks a number, or tracefs's "(tgid)"? */
static bool ends_in_id(const char *p, const char *end)
{
	while (end > p && end[-1] == ' ')
		end--;
	return end > p && (is_digit(end[-1]) || end[-1] == ')');
}

int trace_text_event(const char *line, const char *end, struct trace_event *ev)
{
	const char *p = line, *open, *e;
	const struct event_name *name;
	uint64_t cpu;

	ev->broken = NULL;
	/* "[CPU]" between blanks, and a thread id before that: a name may look alike. */
	for (;;) {
		open = p < end ? memchr(p, '[', (size_t)(end - p)) : NULL;
		if (!open)
			return other_line(line, end, ev);
		p = open + 1;
		if (open > line && open[-1] == ' ' && number(&p, end, UINT32_MAX, &cpu) &&
		    end - p > 2 && p[0] == ']' && p[1] == ' ' && ends_in_id(line, open))
			break;
	}
	p += 2;
	while (p < end && *p == ' ')
		p++;
	if (p < end && !is_digit(*p))
		while (p < end && *p != ' ') /* ftrace's flags: "d..2." */
			p++;
	while (p < end && *p == ' ')
		p++;
	if (!read_time(&p, end, &ev->ns) || p == end || *p != ':')
		return other_line(line, end, ev);
	for (p++; p < end && *p == ' '; )
		p++;
	/* perf, in the name of whoever ran: "PERF_RECORD_LOST lost 75" */
	if (end - p > 16 && !memcmp(p, "PERF_RECORD_LOST", 16))
		return lost_line(p + 16, end, ev);
	e = p;
	for (;;) {
		e = memchr(e, ':', (size_t)(end - e));
		if (!e)
			return -1;
		if (e + 1 == end || e[1] == ' ')
			break;
		p = ++e; /* perf's "sched:" */
	}
	name = by_name(p, (size_t)(e - p));
	if (!name)
		return 0;
	for (p = e + 1; p < end && *p == ' '; )
		p++;
	ev->kind = name->kind;
	if (cpu >= TRACE_CPUS_MAX || !read_owner(line, open, ev)) {
		(void)want(ev, cpu >= TRACE_CPUS_MAX ? "a CPU below 4096 in []"
						     : "a name and a thread id before [CPU]");
		return -1;
	}
	ev->cpu = (uint32_t)cpu;
	ev->state = 0;
	ev->flag = true;
	ev->image = TRACE_IMAGE_UNKNOWN;
	ev->prev = ev->other = -1;
	ev->comm[0] = '\0';
	if (name->kind == TRACE_EXEC)
		return pid_field(p, end, " old_pid=", &ev->other) ||
		       want(ev, "old_pid= and a thread id") ? 1 : -1;
	if (name->kind == TRACE_EXIT)
		ev->flag = !find(p, end, " group_dead=false");
	if (name->fields && !name->fields(p, end, ev))
		return -1;
	/* perf prints what the task is called when it reads, not when it happened. */
	if (name->kind == TRACE_SWITCH && ev->pid != ev->prev)
		ev->pid = ev->prev;
	return 1;
}

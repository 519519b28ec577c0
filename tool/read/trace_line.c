// SPDX-License-Identifier: BSD-2-Clause
/*
 * Traces as text: what `perf script`, `trace-cmd report` and tracefs print. All have the same line:
 *
 *   NAME-PID [CPU] FLAGS TIME: EVENT: FIELDS            ftrace; flags may be missing
 *   NAME  PID [CPU] TIME: SYSTEM:EVENT: FIELDS          perf
 *
 * and what the kernel prints of a system call has no name with a colon:
 *
 *   NAME-PID [CPU] FLAGS TIME: sys_CALL(NAME: VALUE, ...)      its beginning
 *   NAME-PID [CPU] FLAGS TIME: sys_CALL -> 0xVALUE             its end
 *
 * A name may hold blanks, brackets and anything else but a newline, so a line is read from its
 * first "[digits]" outwards, and fields of an event from its end where a name comes before.
 */
#include "read/trace_line.h"

#include <string.h>

#include "read/trace_scan.h"

static bool pid_number(const char *p, const char *end, int32_t *pid)
{
	uint64_t v;

	if (!number(&p, end, TRACE_PID_MAX - 1, &v))
		return false;
	*pid = (int32_t)v;
	return true;
}

/* A thread id that ends at @end: where it begins; *@pid is -1 when it is none. */
static const char *pid_before(const char *begin, const char *end, int32_t *pid)
{
	uint64_t v = 0;
	const char *p = number_before(begin, end, &v);

	*pid = p < end && v < TRACE_PID_MAX ? (int32_t)v : -1;
	return p;
}

/* "key=123" anywhere in the fields: the last one, since a name may hold anything. */
static inline __attribute__((always_inline)) bool
pid_field(const char *p, const char *end, const char *key, int32_t *pid)
{
	const char *at = find_last(p, end, key, '=');

	return at && pid_number(at + strlen(key), end, pid);
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
	const char *arrow = find_last(p, end, " ==> ", '>'), *colon, *q;
	int32_t pid;

	if (!arrow)
		return want(ev, "prev_comm= or ' ==> ' between two tasks");
	/* Before it: name:pid [prio] STATE */
	q = arrow;
	while (q > p && q[-1] != ' ')
		q--;
	ev->state = *q;
	q = find_last(p, q, " [", '[');
	if (!q)
		return want(ev, "[PRIORITY] before ' ==> '");
	/* Where a name was made anonymous its ":pid" may be gone too; prev's is at the line's front. */
	colon = pid_before(p, q, &pid);
	ev->prev = colon > p && colon[-1] == ':' && pid >= 0 ? pid : ev->pid;
	q = find_last(arrow, end, " [", '[');
	if (!q)
		return want(ev, "[PRIORITY] at the end");
	colon = pid_before(arrow, q, &pid);
	if (colon[-1] != ':' || pid < 0)
		return true;
	ev->other = pid;
	copy_name(ev->comm, arrow + 5, colon - 1, end);
	return true;
}

static bool switch_fields(const char *p, const char *end, struct trace_event *ev)
{
	const char *q, *arrow;

	if (end - p < 10 || memcmp(p, "prev_comm=", 10))
		return switch_short(p, end, ev);
	q = find(p, end, " prev_pid=", '=');
	if (!q || !pid_number(q + 10, end, &ev->prev))
		return want(ev, "prev_pid= and a thread id");
	q = find(q + 10, end, " prev_state=", '=');
	arrow = q ? find(q + 12, end, " ==> next_comm=", '>') : NULL;
	if (!arrow)
		return want(ev, q ? "==> next_comm=" : "prev_state=");
	ev->state = q[12];
	p = arrow + 15;
	q = find_last(p, end, " next_pid=", '=');
	if (!q || !pid_number(q + 10, end, &ev->other))
		return want(ev, "next_pid= and a thread id");
	copy_name(ev->comm, p, q, end);
	return true;
}

static bool fpu_fields(const char *p, const char *end, struct trace_event *ev)
{
	const char *load = find(p, end, " load: ", 'l');
	const char *x = load ? find(load, end, " xfeatures: ", 'x') : NULL;
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
	const char *c = find(p, end, " child_comm=", '=');
	const char *q = find_last(p, end, " child_pid=", '=');

	if (!c || !q || q < c + 12 || !pid_number(q + 11, end, &ev->other))
		return want(ev, c ? "child_pid= and a thread id" : "child_comm=");
	copy_name(ev->comm, c + 12, q, end);
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
	const char *h = find(p, end, " sa_handler=", '=');

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
	size_t len;
	enum trace_kind kind;
	bool (*fields)(const char *p, const char *end, struct trace_event *ev);
};

/* The frequent ones first. */
#define NAME(name) name, sizeof(name) - 1
static const struct event_name names[] = {
	{ NAME("sched_switch"), TRACE_SWITCH, switch_fields },
	{ NAME("x86_fpu_regs_activated"), TRACE_ACTIVATED, fpu_fields },
	{ NAME("x86_fpu_regs_deactivated"), TRACE_DEACTIVATED, fpu_fields },
	{ NAME("x86_fpu_dropped"), TRACE_DROPPED, fpu_fields },
	{ NAME("x86_fpu_copy_dst"), TRACE_COPIED, fpu_fields },
	{ NAME("sched_migrate_task"), TRACE_MIGRATE, migrate_fields },
	{ NAME("sched_process_fork"), TRACE_FORK, fork_fields },
	{ NAME("sched_process_exec"), TRACE_EXEC, NULL },
	{ NAME("sched_process_exit"), TRACE_EXIT, NULL },
	{ NAME("sched_process_wait"), TRACE_WAIT, NULL },
	{ NAME("signal_deliver"), TRACE_SIGNAL, signal_fields },
	{ NAME("sys_enter_rt_sigreturn"), TRACE_SIGRETURN, NULL },
	{ NAME("kernel_fpu_begin"), TRACE_SECTION, NULL },
	{ NAME("kernel_fpu_begin_mask"), TRACE_SECTION, NULL },
};

static const struct event_name *by_name(const char *p, size_t n)
{
	/* Most events of a scheduler trace are wakeups: away with them first. */
	if (n > 8 && p[6] == 'w' && !memcmp(p, "sched_wa", 8))
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].len == n && !memcmp(names[i].name, p, n))
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

/* Seconds with a fraction, "12946.766538"; of more than nine digits the rest is not looked at. */
static inline __attribute__((always_inline)) bool
read_time(const char **p, const char *end, uint64_t *ns)
{
	static const uint32_t unit[] = { 1000000000, 100000000, 10000000, 1000000, 100000,
					 10000, 1000, 100, 10, 1 };
	uint64_t s, fraction = 0;
	unsigned n;

	if (!number(p, end, 1ull << 33, &s) || *p == end || **p != '.')
		return false;
	(*p)++;
	n = few_digits(*p, end, &fraction);
	if (n < 8)
		*p += n;
	else
		for (n = 0; *p < end && is_digit(**p); (*p)++)
			if (n < 9) {
				fraction = fraction * 10 + (uint64_t)(**p - '0');
				n++;
			}
	*ns = s * 1000000000 + fraction * unit[n];
	return true;
}

/* What stands before "[CPU]" up to @end: the name and the thread id. The line ends at @limit. */
static inline __attribute__((always_inline)) bool
read_owner(const char *p, const char *end, const char *limit, struct trace_event *ev)
{
	const char *digits;
	int32_t pid;

	if (end[-1] == ')') {
		/* "(tgid)" of tracefs */
		while (end > p && *end != '(')
			end--;
		while (end > p && end[-1] == ' ')
			end--;
	}
	digits = pid_before(p, end, &pid);
	if (digits == end || digits == p)
		return false;
	if (digits - p >= 2 && digits[-1] == '-' && (digits[-2] == ' ' || digits[-2] == ':')) {
		/* perf: ":-1 -1", a task that has ended */
		ev->pid = -1;
		ev->own[0] = '\0';
		return true;
	}
	if (digits[-1] == '/') { /* pid/tid; "migration/0" is a name without one */
		digits--;
		if (digits == p || !is_digit(digits[-1]))
			return false;
	} else if (digits[-1] != '-' && digits[-1] != ' ')
		return false;
	if (pid < 0)
		return false;
	ev->pid = pid;
	if (*digits == '/')
		while (digits > p && is_digit(digits[-1]))
			digits--;
	p = skip_blanks(p, digits);
	end = digits - (digits > p);
	while (end > p && end[-1] == ' ')
		end--;
	copy_name(ev->own, p, end, limit);
	/* tracefs does not know every name. */
	if (ev->own[0] == '<' && !memcmp(ev->own, "<...>", sizeof("<...>")))
		ev->own[0] = '\0';
	return true;
}

#define begins(p, end, with) \
	((size_t)((end) - (p)) >= sizeof(with) - 1 && !memcmp(p, with, sizeof(with) - 1))

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
	const char *name = find(p, end, " event : name = ", ':');

	if (!name || !find(name, end, "sys_enter_rt_sigreturn", 'y'))
		return 0;
	ev->kind = TRACE_SIGRETURNS;
	return 1;
}

/* Lines that no trace is without: comments, and what trace-cmd prints first. */
static int other_line(const char *line, const char *end, struct trace_event *ev)
{
	const char *p = line, *lost = find(p, end, "LOST", 'L');

	/* A symbol may be called so. */
	if (lost && trace_text_part(line, end))
		return -1;
	while (p < end && *p == ' ')
		p++;
	if (p < end && *p == '#')
		return note_line(p, end, ev);
	if (p == end)
		return 0;
	/* "CPU:1 [LOST 12 EVENTS]", "PERF_RECORD_LOST lost 12" */
	if (lost)
		return lost_line(lost + 4, end, ev);
	if (find(p, end, "EVENTS DROPPED", 'V'))
		return lost_line(end, end, ev);
	if (end - p > 5 && (!memcmp(p, "cpus=", 5) || !memcmp(p, "versi", 5)))
		return 0;
	/* perf script --show-round-events, of no task */
	return begins(p, end, "PERF_RECORD_") ? 0 : -1;
}

/*
 * "[CPU]" between blanks, and a thread id or tracefs's "(tgid)" before that: a name may look alike.
 * Return: what is behind the "]", or NULL; *@owner is where what stands before it ends.
 */
static inline __attribute__((always_inline)) const char *
find_cpu(const char *line, const char *end, const char **owner, uint64_t *cpu)
{
	const char *p = line, *q;

	while ((q = near_byte(p, end, '['))) {
		p = q + 1;
		if (q == line || q[-1] != ' ' || !number(&p, end, UINT32_MAX, cpu) ||
		    end - p <= 2 || p[0] != ']' || p[1] != ' ')
			continue;
		while (q > line && q[-1] == ' ')
			q--;
		*owner = q;
		if (q > line && (is_digit(q[-1]) || q[-1] == ')'))
			return p + 1;
	}
	return NULL;
}

/* Behind perf's "sched:", up to the colon that ends the name: where that is, or NULL. */
static const char *find_name(const char **p, const char *end)
{
	const char *colon = *p;

	while ((colon = near_byte(colon, end, ':')) && colon + 1 < end && colon[1] != ' ')
		*p = ++colon;
	return colon;
}

/* What is in all events, before their fields are read. */
static void begin_event(struct trace_event *ev, enum trace_kind kind, uint32_t cpu)
{
	ev->kind = kind;
	ev->cpu = cpu;
	ev->state = 0;
	ev->flag = true;
	ev->image = TRACE_IMAGE_UNKNOWN;
	ev->prev = ev->other = -1;
	ev->comm[0] = '\0';
}

/* What stands before an event, up to where it begins, or NULL. */
static inline __attribute__((always_inline)) const char *
find_event(const char *line, const char *end, const char **owner, uint64_t *cpu, uint64_t *ns)
{
	const char *p = find_cpu(line, end, owner, cpu);

	if (!p)
		return NULL;
	p = skip_blanks(p, end);
	if (p < end && !is_digit(*p)) {
		while (p < end && *p != ' ') /* ftrace's flags: "d..2." */
			p++;
		p = skip_blanks(p, end);
	}
	if (!read_time(&p, end, ns) || p == end || *p != ':')
		return NULL;
	return skip_blanks(p + 1, end);
}

/* An event of @kind, and whose it is. */
static inline __attribute__((always_inline)) bool
read_event(const char *line, const char *owner, const char *end, enum trace_kind kind, uint64_t cpu,
	   struct trace_event *ev)
{
	begin_event(ev, kind, (uint32_t)cpu);
	return (cpu < TRACE_CPUS_MAX && read_owner(line, owner, end, ev)) ||
	       want(ev, cpu >= TRACE_CPUS_MAX ? "a CPU below 4096 in []"
					      : "a name and a thread id before [CPU]");
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Events that are printed without "NAME: ". */
static __attribute__((noinline, cold)) int unnamed(const char *line, const char *end,
						   struct trace_event *ev)
{
	const char *owner, *p, *name;
	uint64_t cpu;

	p = find_event(line, end, &owner, &cpu, &ev->ns);
	if (!p)
		return -1;
	/* "PERF_RECORD_FORK(3:3):(2:2)", "PERF_RECORD_SWITCH OUT preempt" */
	if (begins(p, end, "PERF_RECORD_"))
		return 0;
	/* ftrace: "<stack trace>", which lines follow, and "FUNCTION <-CALLER" */
	if (begins(p, end, "<stack trace") || begins(p, end, "<user stack trace") ||
	    find(p, end, " <-", '<'))
		return 0;
	if (!begins(p, end, "sys_"))
		return -1;
	for (name = p += 4; p < end && is_word(*p); p++)
		;
	if (p > name && begins(p, end, " -> 0x"))
		return 0;
	while (end > p && end[-1] == ' ')
		end--;
	if (p == name || p == end || *p != '(' || end[-1] != ')')
		return -1;
	if (p - name != 12 || memcmp(name, "rt_sigreturn", 12))
		return 0;
	return read_event(line, owner, end, TRACE_SIGRETURN, cpu, ev) ? 1 : -1;
}

enum trace_part trace_text_part(const char *line, const char *end)
{
	const char *p = line, *digits;

	if (begins(p, end, "=> ") || begins(p, end, " => "))
		return TRACE_PART_CALLERS;
	if (begins(p, end, "\t\t[") || begins(p, end, "\t\t "))
		if (find(p, end, ": ", ':') && find(p, end, "/", '/'))
			return TRACE_PART_SPACES;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	for (digits = p; p < end && (is_digit(*p) || (*p >= 'a' && *p <= 'f')); p++)
		;
	if (p == digits || p - digits > 16 || (p < end && *p != ' '))
		return TRACE_PART_NONE;
	/* A tab and 16 columns; or 24, where the tab became blanks. */
	return *line == '\t' || (*line == ' ' && p - line == 24 && !memchr(line, '\t', 24))
		       ? TRACE_PART_STACK : TRACE_PART_NONE;
}

bool trace_text_has(const char *line, const char *end, enum trace_part part)
{
	const char *owner, *p, *q;
	uint64_t cpu, ns;

	p = find_event(line, end, &owner, &cpu, &ns);
	if (!p)
		return false;
	if (part == TRACE_PART_CALLERS)
		return find(p, end, "stack trace", 'k');
	/* perf's: no flags behind the CPU, and a blank before the thread id, which may be -1. */
	for (q = p - 1; *q != ']'; q--)
		;
	if (!is_digit(*skip_blanks(q + 1, end)))
		return false;
	for (q = owner; q > line && (is_digit(q[-1]) || q[-1] == '/'); q--)
		;
	if (q == owner || (q > line && q[-1] != ' ' &&
			   !(q[-1] == '-' && q - 1 > line && (q[-2] == ' ' || q[-2] == ':'))))
		return false;
	return part != TRACE_PART_SPACES || begins(p, end, "PERF_RECORD_NAMESPACES");
}

/* SYSTEM:EVENT: behind a blank or at the line's front: where that is, or NULL. */
static const char *find_system(const char *line, const char *end)
{
	const char *colon = line, *p, *system;

	while ((colon = memchr(colon, ':', (size_t)(end - colon)))) {
		for (system = colon; system > line && is_word(system[-1]); system--)
			;
		for (p = ++colon; p < end && is_word(*p); p++)
			;
		if (system + 1 < colon && p > colon && p < end && *p == ':' && !is_digit(*system) &&
		    !is_digit(*colon) && (p + 1 == end || p[1] == ' ') &&
		    (system == line || system[-1] == ' '))
			return system;
	}
	return NULL;
}

#define TYPE(fields) ": type perf script, or perf script -F +" fields

const char *trace_text_missing(const char *line, const char *end)
{
	const char *system = find_system(line, end), *word = line, *p;
	bool cpu = false, time = false, last = true;
	uint64_t v, ns;

	if (!system) {
		word = find_event(line, end, &p, &v, &ns);
		return word && begins(word, end, "prev_comm=") ? "its event's name" TYPE("event") : NULL;
	}
	if (system == line)
		return NULL;
	/* Word by word; the last is a number of some kind, or there is none. */
	while ((word = skip_blanks(word, system)) < system) {
		const char *stop = memchr(word, ' ', (size_t)(system - word));

		stop = stop ? stop : system;
		p = word + (*word == '[');
		last = number_by_digits(&p, stop, UINT32_MAX, &v);
		if (last && *word == '[')
			cpu |= last = p + 1 == stop && *p == ']';
		else if (last && p < stop && *p == '.')
			time |= last = stop[-1] == ':';
		word = stop;
	}
	if (!last)
		return NULL;
	return cpu && time ? "a thread id" TYPE("tid")
	     : cpu	   ? "a time" TYPE("cpu,+time")
	     : time	   ? "a CPU" TYPE("cpu,+time")
			   : "a CPU and a time" TYPE("cpu,+time");
}

int trace_text_event(const char *line, const char *end, struct trace_event *ev)
{
	const char *p, *owner, *colon;
	const struct event_name *name;
	uint64_t cpu;

	ev->broken = NULL;
	p = find_event(line, end, &owner, &cpu, &ev->ns);
	if (!p)
		return other_line(line, end, ev);
	/* perf, in the name of whoever ran: "PERF_RECORD_LOST lost 75" */
	if (end - p > 16 && *p == 'P' && !memcmp(p, "PERF_RECORD_LOST", 16))
		return lost_line(p + 16, end, ev);
	colon = find_name(&p, end);
	if (!colon)
		return unnamed(line, end, ev);
	name = by_name(p, (size_t)(colon - p));
	if (!name)
		return 0;
	if (!read_event(line, owner, end, name->kind, cpu, ev))
		return -1;
	p = skip_blanks(colon + 1, end);
	if (name->kind == TRACE_EXEC)
		return pid_field(p, end, " old_pid=", &ev->other) ||
		       want(ev, "old_pid= and a thread id") ? 1 : -1;
	if (name->kind == TRACE_EXIT)
		ev->flag = !find(p, end, " group_dead=false", '=');
	if (name->fields && !name->fields(p, end, ev))
		return -1;
	/* perf prints what the task is called when it reads, not when it happened. */
	if (name->kind == TRACE_SWITCH)
		ev->pid = ev->prev;
	return 1;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Traces as text, line by line: events go to the sink, what is none is counted, and what cannot be
 * a trace is refused early.
 */
#include "read/trace_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER (1u << 20)
/*
 * So many lines without a single event are no trace, and where all are events of other kinds it is
 * not of a scheduler; one line of so many bytes is no trace either.
 */
#define FOREIGN_LINES 2000u
#define OTHERS_LINES  100000u
#define LINE_MAX_BYTES 65536u
/* Beyond this share of odd lines the rest cannot be believed either. */
#define ODD_SHARE 100u

/* Where lines go on with a line before: which kind, and the number of the next that may. */
struct parts {
	const char *buf; /* in which the line before is */
	enum trace_part part;
	uint64_t next;
};

static int refuse(const struct trace_input *in, char *err, size_t errlen, const char *fmt, uint64_t n)
{
	int used = snprintf(err, errlen, "%s: ", in->name);

	if (used > 0 && (size_t)used < errlen)
		snprintf(err + used, errlen - (size_t)used, fmt, (unsigned long long)n);
	return -1;
}

/* What is wrong with the first line that is no event, for the end. */
static __attribute__((noinline, cold)) void note_odd(struct trace_tally *t, const char *p,
						     const char *end, const struct trace_event *ev)
{
	const char *of = ev->broken ? trace_text_kind(ev->kind) : NULL;

	if (t->odd++)
		return;
	t->first_odd = t->lines;
	snprintf(t->first_kind, sizeof(t->first_kind), "%s", of ? of : "no event");
	snprintf(t->first_broken, sizeof(t->first_broken), "%s", ev->broken ? ev->broken : "");
	t->first_missing = ev->broken ? NULL : trace_text_missing(p, end);
}

/* The beginning of the line before @p, or @p when there is none. */
static const char *line_before(const char *buf, const char *p)
{
	const char *nl = p > buf ? memrchr(buf, '\n', (size_t)(p - buf) - 1) : NULL;

	return nl ? nl + 1 : buf;
}

/* Does this line belong to the one before, which is still in the buffer? */
static __attribute__((noinline, cold)) bool goes_on(const char *p, const char *end,
						    struct trace_tally *t, struct parts *parts)
{
	const enum trace_part part = trace_text_part(p, end);

	if (part == TRACE_PART_NONE)
		return false;
	if ((parts->next != t->lines || parts->part != part) &&
	    (p == parts->buf || !trace_text_has(line_before(parts->buf, p), p - 1, part)))
		return false;
	parts->part = part;
	parts->next = t->lines + 1;
	t->aside++;
	return true;
}

/* Nothing so far: is this a trace, and of a scheduler? */
static __attribute__((noinline, cold)) bool in_vain(const char *p, const char *end,
						    struct trace_tally *t)
{
	/* perf script begins with what ran already: as many as there are. */
	if (memmem(p, (size_t)(end - p), ": PERF_RECORD_", 14))
		t->aside++;
	return t->lines - t->aside > (t->odd ? FOREIGN_LINES : OTHERS_LINES);
}

/* Too many, and where it began. */
static int refuse_odd(const struct trace_input *in, char *err, size_t errlen,
		      const struct trace_tally *t)
{
	snprintf(err, errlen, t->first_broken[0]
			 ? "%s: %llu of %llu line%s broken; the first is line %llu, %s without %s"
			 : "%s: %llu of %llu line%s broken; the first is line %llu, %s of perf "
			   "script or ftrace",
		 in->name, (unsigned long long)t->odd, (unsigned long long)t->lines,
		 t->lines == 1 ? " is" : t->odd == 1 ? "s is" : "s are",
		 (unsigned long long)t->first_odd, t->first_kind, t->first_broken);
	return -1;
}

/* Lines that are of no trace, or of one whose lines are not whole. */
static int refuse_foreign(const struct trace_input *in, char *err, size_t errlen,
			  const struct trace_tally *t)
{
	if (!t->first_missing)
		return refuse(in, err, errlen, "line %llu is of no trace: neither perf script nor ftrace "
			      "prints such", t->first_odd);
	snprintf(err, errlen, "%s: line %llu of perf script is without %s", in->name,
		 (unsigned long long)t->first_odd, t->first_missing);
	return -1;
}

/* Read to its end, and no event. */
static int refuse_all(const struct trace_input *in, char *err, size_t errlen,
		      const struct trace_tally *t)
{
	if (!t->lines)
		return refuse(in, err, errlen, "empty", 0);
	if (t->first_missing)
		return refuse_foreign(in, err, errlen, t);
	if (t->first_broken[0])
		return refuse_odd(in, err, errlen, t);
	return refuse(in, err, errlen, t->lines == 1 ? "no sched_switch event in its %llu line"
						     : "no sched_switch event in its %llu lines",
		      t->lines);
}

/* One line to its end; 0, -1. */
static int take_line(const struct trace_input *in, const char *p, const char *end,
		     const struct trace_sink *sink, struct trace_tally *t, struct parts *parts,
		     char *err, size_t errlen)
{
	struct trace_event ev;
	int got;

	t->lines++;
	got = trace_text_event(p, end, &ev);
	if (got > 0 && ev.kind == TRACE_SIGRETURNS)
		return sink->event(sink->arg, &ev);
	if (got > 0) {
		t->events++;
		if (ev.kind == TRACE_LOST && ev.flag) {
			t->lost_at_end += ev.arg;
			return 0;
		}
		t->lost_there += ev.kind == TRACE_LOST ? ev.arg : 0;
		return sink->event(sink->arg, &ev);
	}
	if (got < 0) {
		if (goes_on(p, end, t, parts))
			return 0;
		note_odd(t, p, end, &ev);
		if (!t->events && !t->first_broken[0] && t->odd > FOREIGN_LINES / 100)
			return refuse_foreign(in, err, errlen, t);
	}
	if (!t->events && in_vain(p, end, t))
		return refuse(in, err, errlen, "no sched_switch event in the first %llu lines", t->lines);
	if (t->odd > FOREIGN_LINES / 100 && t->odd > (t->lines - t->aside) / ODD_SHARE)
		return refuse_odd(in, err, errlen, t);
	return 0;
}

int trace_lost_rest(const struct trace_sink *sink, struct trace_tally *t)
{
	struct trace_event lost = { .kind = TRACE_LOST, .pid = -1 };
	uint64_t rest = t->lost_at_end > t->lost_there ? t->lost_at_end - t->lost_there : 0;

	for (; rest; rest -= lost.arg) {
		lost.arg = rest > UINT32_MAX ? UINT32_MAX : (uint32_t)rest;
		if (sink->event(sink->arg, &lost))
			return -1;
	}
	if (t->lost_at_end > t->lost_there)
		t->lost_there = t->lost_at_end;
	return 0;
}

int trace_read_text(struct trace_input *in, const struct trace_sink *sink, struct trace_tally *t,
		    char *err, size_t errlen)
{
	char *buf = malloc(BUFFER), *p, *nl, *zero;
	/* In the buffer: the last line, for those that go on with it, and up to @have what follows. */
	size_t have = 0, last = 0;
	struct parts parts = { .buf = buf };
	const char *keep;
	int result = -1;
	long n;

	*t = (struct trace_tally){ 0 };
	if (!buf)
		return refuse(in, err, errlen, "out of memory", 0);
	while ((n = trace_input_read(in, buf + have, BUFFER - have)) > 0) {
		zero = memchr(buf + have, '\0', (size_t)n);
		have += (size_t)n;
		p = buf + last;
		while ((nl = memchr(p, '\n', have - (size_t)(p - buf))) && !(zero && nl > zero)) {
			if (take_line(in, p, nl, sink, t, &parts, err, errlen))
				goto out;
			p = nl + 1;
		}
		if (zero) {
			refuse(in, err, errlen, "a zero byte in line %llu: not a text trace, or broken",
			       t->lines + 1);
			goto out;
		}
		if (have - (size_t)(p - buf) > LINE_MAX_BYTES) {
			refuse(in, err, errlen, "line %llu has no end: not a text trace", t->lines + 1);
			goto out;
		}
		keep = line_before(buf, p);
		if (p - keep > (ptrdiff_t)LINE_MAX_BYTES)
			keep = p;
		last = (size_t)(p - keep);
		have -= (size_t)(keep - buf);
		memmove(buf, keep, have);
	}
	if (n < 0)
		snprintf(err, errlen, "%s: %s", in->name, in->why);
	else if (have > last)
		refuse(in, err, errlen, "cut off in the middle of line %llu", t->lines + 1);
	else if (!t->events)
		refuse_all(in, err, errlen, t);
	else
		result = trace_lost_rest(sink, t);
out:
	free(buf);
	return result;
}

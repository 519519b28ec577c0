// SPDX-License-Identifier: BSD-2-Clause
/* Where a piece of a trace ends and the next one goes on. */
#include "sim/replay_own.h"

#include <string.h>

#include "sim/kept.h"
#include "sim/lane_state.h"

#define MAGIC "XSTSTAT3"

/* The head of a state file. It is of one build: what is in it is as it lies in memory. */
struct head {
	char magic[8];
	char version[24];
	uint64_t of;
	uint32_t lanes, tasks, cpus, piece;
	uint64_t slot_number, sum, span_ns;
	uint32_t named, reserved;
};

/* A CPU of it. */
struct kept_cpu {
	uint32_t cur, frames, turns, sections;
};

static struct head head_of(const struct replay *r, const struct rec_place *place, uint64_t of)
{
	struct head h = { .magic = MAGIC, .of = of, .lanes = (uint32_t)r->lane_count,
			  .tasks = (uint32_t)r->machine.task_count,
			  .cpus = (uint32_t)r->machine.cpu_count,
			  .piece = place->piece, .sum = place->sum, .slot_number = r->slot_number,
			  .span_ns = r->span_before + r->n.span_ns, .named = r->named };

	strncpy(h.version, XSTATE_VERSION, sizeof(h.version) - 1);
	return h;
}

bool replay_count_task(struct replay *r, uint32_t number)
{
	const bool first = !r->who[number].t.counted;

	r->who[number].t.counted = true;
	return first;
}

bool replay_keep(const struct replay *r, FILE *out, const struct rec_place *place, uint64_t of)
{
	const struct head h = head_of(r, place, of);
	struct kept k = { out, FNV_NOTHING };
	bool ok = kept_put(&k, &h, sizeof(h)) && kept_put(&k, r->who, h.tasks * sizeof(*r->who));

	for (uint32_t i = 1; ok && i <= h.tasks; i++)
		ok = kept_put(&k, &r->machine.tasks[i].is, 1);
	for (uint32_t i = 0; ok && i < h.cpus; i++) {
		const struct machine_cpu *c = &r->machine.cpus[i];
		const struct kept_cpu one = { c->cur, c->frames, c->turns, c->sections };

		ok = kept_put(&k, &one, sizeof(one));
	}
	for (size_t i = 0; i < r->memo_count; i++)
		memo_settle(r->memos[i]);
	for (size_t i = 0; ok && i < r->lane_count; i++)
		ok = lane_keep(r->lanes[i], &k, h.tasks, h.cpus);
	return ok && fwrite(&k.sum, sizeof(k.sum), 1, out) == 1;
}

/* Are its bytes those that were written? It is at its beginning before and after. */
static bool is_whole(FILE *in)
{
	struct kept k = { in, FNV_NOTHING };
	uint8_t some[4096];
	uint64_t sum;
	long left;

	if (fseek(in, 0, SEEK_END))
		return false;
	left = ftell(in) - (long)sizeof(sum);
	rewind(in);
	while (left > 0) {
		const size_t n = (unsigned long)left < sizeof(some) ? (size_t)left : sizeof(some);

		if (!kept_get(&k, some, n))
			return false;
		left -= (long)n;
	}
	if (left < 0 || fread(&sum, sizeof(sum), 1, in) != 1 || sum != k.sum)
		return false;
	rewind(in);
	return true;
}

/* Names, and how they were counted. */
static bool who_goes_on(struct replay *r, struct kept *in, uint32_t tasks)
{
	if (!kept_get(in, r->who, tasks * sizeof(*r->who)))
		return false;
	for (uint32_t i = 0; i < tasks; i++) {
		struct who *w = &r->who[i];
		uint8_t counted;

		memcpy(&counted, &w->t.counted, 1);
		if (counted > 1 || !(w->p >= 0 && w->p <= 1) ||
		    !memchr(w->t.name, '\0', sizeof(w->t.name)))
			return false;
		if (w->t.name[0])
			w->p = replay_share(r, w->t.name);
		w->t.slots = w->t.used = 0;
		w->t.ran = false;
	}
	return true;
}

/* Who runs where; false when two say otherwise. */
static bool machine_go_on(struct machine *m, struct kept *in)
{
	uint32_t running = 0;

	for (uint32_t i = 1; i <= m->task_count; i++) {
		uint8_t is;

		if (!kept_get(in, &is, 1) || is > IS_NEW)
			return false;
		running += is == IS_RUNNING;
		m->tasks[i].is = is;
	}
	for (uint32_t i = 0; i < m->cpu_count; i++) {
		struct machine_cpu *c = &m->cpus[i];
		struct kept_cpu one;

		if (!kept_get(in, &one, sizeof(one)) || one.cur > m->task_count ||
		    (one.cur && m->tasks[one.cur].is != IS_RUNNING) || one.frames > one.turns ||
		    one.sections > one.turns - one.frames)
			return false;
		c->cur = one.cur;
		c->frames = one.frames;
		c->turns = one.turns;
		c->sections = one.sections;
		running -= one.cur > 0;
		/* Not on a second CPU. */
		m->tasks[one.cur].is = IS_WAITING;
	}
	for (uint32_t i = 0; i < m->cpu_count; i++)
		if (m->cpus[i].cur)
			m->tasks[m->cpus[i].cur].is = IS_RUNNING;
	return !running;
}

/* A lane has every task that is there, and the same ones running. */
static bool lane_agrees(const struct lane *l, const struct machine *m)
{
	for (uint32_t i = 1; i <= m->task_count; i++) {
		struct lane_task_state t;

		lane_get_task(l, i - 1, &t);
		if (!t.begun && m->tasks[i].is != IS_DEAD)
			return false;
	}
	for (uint32_t i = 0; i < m->cpu_count; i++) {
		struct lane_cpu_state c;

		lane_get_cpu(l, i, &c);
		if (c.cur != m->cpus[i].cur)
			return false;
	}
	return true;
}

/* All behind the head. */
static bool go_on(struct replay *r, struct kept *in, const struct head *h)
{
	uint64_t sum;

	if (h->tasks > REC_TASKS_MAX || h->cpus > REC_CPUS_MAX || h->named > h->tasks ||
	    h->span_ns > INT64_MAX / (h->cpus + 1ull) || !who_goes_on(r, in, h->tasks))
		return false;
	r->machine.task_count = h->tasks;
	r->machine.cpu_count = h->cpus;
	if (!machine_go_on(&r->machine, in))
		return false;
	for (size_t i = 0; i < r->lane_count; i++)
		if (!lane_go_on(r->lanes[i], in, h->tasks, h->cpus) ||
		    !lane_agrees(r->lanes[i], &r->machine))
			return false;
	return fread(&sum, sizeof(sum), 1, in->f) == 1 && sum == in->sum && fgetc(in->f) == EOF;
}

const char *replay_go_on(struct replay *r, FILE *in, struct rec_place *place, uint64_t of)
{
	const struct head mine = head_of(r, &(struct rec_place){ 0 }, of);
	struct kept k = { in, FNV_NOTHING };
	struct head h;

	if (fread(h.magic, sizeof(h.magic), 1, in) != 1 ||
	    memcmp(h.magic, mine.magic, sizeof(h.magic)))
		return "not a state that this version of xstate wrote";
	if (!is_whole(in))
		return "a damaged state: its checksum is not that of its bytes";
	if (!kept_get(&k, &h, sizeof(h)) || memcmp(h.version, mine.version, sizeof(h.version)))
		return "not a state that this version of xstate wrote";
	if (h.lanes != mine.lanes || h.of != mine.of)
		return "not a state of these policies and assumptions";
	if (!go_on(r, &k, &h))
		return "no state of any trace: what is in it contradicts itself";
	r->slot_number = h.slot_number;
	r->span_before = h.span_ns;
	r->cpu_ns_before = h.span_ns * h.cpus;
	r->named = h.named;
	*place = (struct rec_place){ h.piece, h.sum };
	for (size_t i = 0; i < r->memo_count; i++)
		memo_begin(r->memos[i], h.tasks, h.cpus);
	return NULL;
}

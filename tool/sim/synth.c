// SPDX-License-Identifier: BSD-2-Clause
/* A made-up workload. */
#include "sim/synth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xst/comp.h>

#include "sim/rec_out.h"
#include "ui/opt.h"

struct maker {
	struct rec_out out;
	uint64_t random;
};

static uint64_t draw(struct maker *m)
{
	uint64_t z = m->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* In [0, 1). */
static double unit(struct maker *m)
{
	return (double)(draw(m) >> 11) * 0x1p-53;
}

static uint32_t below(struct maker *m, uint32_t n)
{
	return (uint32_t)((draw(m) >> 32) * n >> 32);
}

static bool whole(const char *text, uint64_t min, uint64_t max, uint64_t *v)
{
	return opt_u64(text, v) && *v >= min && *v <= max;
}

static bool share(const char *text, double max, double *v)
{
	return opt_f64(text, v) && *v >= 0 && *v <= max;
}

/* One key's value; false when there is no such key, or not with this value. */
static bool read_key(struct synth *s, const char *key, const char *is)
{
	uint64_t v = 0;
	bool ok;

	if (!strcmp(key, "tasks")) {
		ok = whole(is, 1, SYNTH_TASKS_MAX, &v);
		s->tasks = (uint32_t)v;
		return ok;
	}
	if (!strcmp(key, "cpus")) {
		ok = whole(is, 1, REC_CPUS_MAX, &v);
		s->cpus = (uint32_t)v;
		return ok;
	}
	return !strcmp(key, "slots") ? whole(is, 1, 1ull << 40, &s->slots)
	     : !strcmp(key, "seed") ? opt_u64(is, &s->seed)
	     : !strcmp(key, "use") ? share(is, 1, &s->use)
	     : !strcmp(key, "idle") ? share(is, 1, &s->idle)
	     : !strcmp(key, "mean-us") && share(is, 1e6, &s->mean_us);
}

bool synth_parse(const char *text, struct synth *s, char bad[SYNTH_BAD])
{
	char item[64], seen[7][64];
	unsigned count = 0;

	*s = (struct synth){ .tasks = 8, .cpus = 2, .slots = 1000000, .use = 0.5, .mean_us = 100,
			     .seed = 1 };
	while (opt_item(&text, item, sizeof(item))) {
		char *is = strchr(item, '=');

		snprintf(bad, SYNTH_BAD, "'%s'", item);
		if (!is)
			return false;
		*is++ = '\0';
		for (unsigned i = 0; i < count; i++)
			if (!strcmp(seen[i], item)) {
				snprintf(bad, SYNTH_BAD, "'%s' twice", item);
				return false;
			}
		/* No key is new when all are there. */
		if (count == sizeof(seen) / sizeof(seen[0]) || !read_key(s, item, is))
			return false;
		memcpy(seen[count++], item, sizeof(item));
	}
	/* What is left begins with an element that is none. */
	if (text)
		snprintf(bad, SYNTH_BAD, *text ? "'%.60s'" : "nothing", text);
	else if (s->tasks < s->cpus)
		snprintf(bad, SYNTH_BAD, "%u tasks for %u CPUs", s->tasks, s->cpus);
	return !text && s->tasks >= s->cpus;
}

static int put_tasks(struct maker *m, uint32_t tasks)
{
	for (uint32_t i = 0; i < tasks; i++)
		if (rec_out_put(&m->out, REC_TASK, 0, i + 1, 0, i + 1) ||
		    rec_out_name(&m->out, "synthetic"))
			return -1;
	return 0;
}

int synth_run(const struct synth *s, const struct slots_sink *sink)
{
	struct maker *m = calloc(1, sizeof(*m));
	uint32_t *cur = calloc(s->cpus, sizeof(*cur));
	uint8_t *runs = calloc(s->tasks + 1, 1);
	/* With all CPUs busy, switches of the machine come so many times as often as one CPU's. */
	const double mean_ns = s->mean_us * 1000 / s->cpus;
	int result = -1;

	if (!m || !cur || !runs)
		goto out;
	m->out.give = sink->put;
	m->out.arg = sink->arg;
	m->random = s->seed;
	if (put_tasks(m, s->tasks))
		goto out;
	for (uint64_t i = 0; i < s->slots; ) {
		const uint32_t cpu = below(m, s->cpus);
		const double wait = -mean_ns * log(1 - unit(m));
		struct rec r = { .kind = REC_SWITCH, .cpu = (uint16_t)cpu,
				 .wait_ns = wait < 4e9 ? (uint32_t)wait : 4000000000u };
		bool idle = false;
		uint32_t next;

		if (cur[cpu]) {
			r.flags = REC_USER | REC_BLOCKED | REC_DIGEST;
			r.flags |= unit(m) < s->use ? REC_USED : 0;
			r.arg = rec_arg(XST_MASK_SSE, 0);
			/* Idle lasts as long as a slot: until this CPU's turn comes again. */
			idle = s->idle > 0 && unit(m) < s->idle;
		}
		runs[cur[cpu]] = 0;
		cur[cpu] = 0;
		if (idle) {
			r.flags |= REC_KERNEL;
			if (rec_out_add(&m->out, r))
				goto out;
			continue;
		}
		/* Any task that does not run elsewhere, the one that ran here too. */
		do
			next = 1 + below(m, s->tasks);
		while (runs[next]);
		runs[next] = 1;
		cur[cpu] = r.task = next;
		if (rec_out_add(&m->out, r))
			goto out;
		i++;
	}
	if (!rec_out_put(&m->out, REC_END, 0, 0, REC_HAS_FPU, 0))
		result = rec_out_flush(&m->out);
out:
	free(m);
	free(cur);
	free(runs);
	return result;
}

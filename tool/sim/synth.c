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

#define WHOLE(n) "a whole number from 1 to " n

static const struct key {
	const char *name, *wants;
} keys[] = {
	{ "tasks", WHOLE("65536") },
	{ "cpus", WHOLE("4096") },
	{ "slots", WHOLE("2^40") },
	{ "use", "a share from 0 to 1, as 0.5 or 50%" },
	{ "idle", "a share from 0 to 1, as 0.5 or 50%" },
	{ "mean-us", "microseconds from 0 to 1000000" },
	{ "seed", "a whole number below 2^64" },
};
_Static_assert(SYNTH_TASKS_MAX == 65536 && REC_CPUS_MAX == 4096, "as the words say");

#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* The value of key @k; false when it cannot be this. */
static bool read_key(struct synth *s, size_t k, const char *is)
{
	uint64_t v = 0;
	bool ok = true;

	switch (k) {
	case 0:
		ok = whole(is, 1, SYNTH_TASKS_MAX, &v);
		s->tasks = (uint32_t)v;
		return ok;
	case 1:
		ok = whole(is, 1, REC_CPUS_MAX, &v);
		s->cpus = (uint32_t)v;
		return ok;
	case 2:
		return whole(is, 1, 1ull << 40, &s->slots);
	case 3:
		return share(is, 1, &s->use);
	case 4:
		return share(is, 1, &s->idle);
	case 5:
		return share(is, 1e6, &s->mean_us);
	default:
		return opt_u64(is, &s->seed);
	}
}

/* One of them; false with what is wrong in @bad. */
static bool read_item(struct synth *s, char *item, bool seen[KEYS], char bad[SYNTH_BAD])
{
	char *is = strchr(item, '=');
	size_t k = 0;

	if (is)
		*is++ = '\0';
	while (k < KEYS && strcmp(keys[k].name, item))
		k++;
	if (k == KEYS)
		snprintf(bad, SYNTH_BAD, "there is no '%s'; there are tasks, cpus, slots, use, idle, mean-us "
			 "and seed", item);
	else if (seen[k])
		snprintf(bad, SYNTH_BAD, "'%s' is there twice", item);
	else if (!is)
		snprintf(bad, SYNTH_BAD, "%s wants %s, as in %s=1", item, keys[k].wants, item);
	else if (!read_key(s, k, is))
		snprintf(bad, SYNTH_BAD, "%s wants %s, not '%s'", item, keys[k].wants, is);
	else
		return seen[k] = true;
	return false;
}

bool synth_parse(const char *text, struct synth *s, char bad[SYNTH_BAD])
{
	bool seen[KEYS] = { false };
	char item[64];

	*s = (struct synth){ .tasks = 8, .cpus = 2, .slots = 1000000, .use = 0.5, .mean_us = 100,
			     .seed = 1 };
	while (opt_item(&text, item, sizeof(item)))
		if (!read_item(s, item, seen, bad))
			return false;
	/* What is left begins with an element that is none. */
	if (text)
		snprintf(bad, SYNTH_BAD, *text ? "'%.60s' does not begin with one of tasks=N, cpus=M, "
			 "slots=N, use=P, idle=P, mean-us=T and seed=N" : "nothing stands where one of "
			 "tasks=N, cpus=M, slots=N, use=P, idle=P, mean-us=T and seed=N should", text);
	else if (s->tasks < s->cpus)
		snprintf(bad, SYNTH_BAD, "tasks must be as many as cpus at least, not %u for %u",
			 s->tasks, s->cpus);
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

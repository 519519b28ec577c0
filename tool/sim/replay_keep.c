// SPDX-License-Identifier: BSD-2-Clause
/* Where a piece of a trace ends and the next one goes on. */
#include "sim/replay_own.h"

#include <string.h>

/* The head of a state file. It is of one build: what is in it is as it lies in memory. */
struct kept {
	char magic[8];
	char version[24];
	uint32_t lanes, tasks, cpus, piece;
	uint64_t slot_number, sum, span_ns;
	uint32_t named, reserved;
};

static struct kept kept_head(const struct replay *r, const struct rec_place *place)
{
	struct kept k = { .magic = "XSTSTAT2", .lanes = (uint32_t)r->lane_count,
			  .tasks = (uint32_t)r->machine.task_count,
			  .cpus = (uint32_t)r->machine.cpu_count,
			  .piece = place->piece, .sum = place->sum, .slot_number = r->slot_number,
			  .span_ns = r->span_before + r->n.span_ns, .named = r->named };

	strncpy(k.version, XSTATE_VERSION, sizeof(k.version) - 1);
	return k;
}

bool replay_count_task(struct replay *r, uint32_t number)
{
	const bool first = !r->who[number].counted;

	r->who[number].counted = true;
	return first;
}

bool replay_keep(const struct replay *r, FILE *out, const struct rec_place *place)
{
	const struct kept k = kept_head(r, place);
	bool ok = fwrite(&k, sizeof(k), 1, out) == 1 &&
		  fwrite(r->who, sizeof(*r->who), k.tasks, out) == k.tasks;

	for (uint32_t i = 1; ok && i <= k.tasks; i++)
		ok = fputc(r->machine.tasks[i].is, out) != EOF;
	for (uint32_t i = 0; ok && i < k.cpus; i++)
		ok = fwrite(&r->machine.cpus[i].cur, sizeof(uint32_t), 1, out) == 1 &&
		     fwrite(&r->machine.cpus[i].frames, sizeof(uint32_t), 1, out) == 1 &&
		     fwrite(&r->machine.cpus[i].turns, sizeof(uint32_t), 1, out) == 1 &&
		     fwrite(&r->machine.cpus[i].sections, sizeof(uint32_t), 1, out) == 1;
	for (size_t i = 0; i < r->memo_count; i++)
		memo_settle(r->memos[i]);
	for (size_t i = 0; ok && i < r->lane_count; i++)
		ok = lane_keep(r->lanes[i], out, k.tasks, k.cpus);
	return ok;
}

/* Who runs where; false when two say otherwise. */
static bool machine_go_on(struct machine *m, FILE *in)
{
	uint32_t running = 0;

	for (uint32_t i = 1; i <= m->task_count; i++) {
		const int is = fgetc(in);

		if (is < IS_RUNNING || is > IS_NEW)
			return false;
		running += is == IS_RUNNING;
		m->tasks[i].is = (uint8_t)is;
	}
	for (uint32_t i = 0; i < m->cpu_count; i++) {
		uint32_t cur;

		if (fread(&cur, sizeof(cur), 1, in) != 1 ||
		    fread(&m->cpus[i].frames, sizeof(uint32_t), 1, in) != 1 ||
		    fread(&m->cpus[i].turns, sizeof(uint32_t), 1, in) != 1 ||
		    fread(&m->cpus[i].sections, sizeof(uint32_t), 1, in) != 1 || cur > m->task_count ||
		    (cur && m->tasks[cur].is != IS_RUNNING))
			return false;
		m->cpus[i].cur = cur;
		running -= cur > 0;
	}
	return !running;
}

bool replay_go_on(struct replay *r, FILE *in, struct rec_place *place)
{
	struct kept k, mine = kept_head(r, &(struct rec_place){ 0 });

	if (fread(&k, sizeof(k), 1, in) != 1 || memcmp(k.magic, mine.magic, sizeof(k.magic)) ||
	    memcmp(k.version, mine.version, sizeof(k.version)) || k.lanes != mine.lanes ||
	    k.tasks > REC_TASKS_MAX || k.cpus > REC_CPUS_MAX || k.named > k.tasks ||
	    fread(r->who, sizeof(*r->who), k.tasks, in) != k.tasks)
		return false;
	for (uint32_t i = 0; i < k.tasks; i++) {
		r->who[i].t.name[sizeof(r->who[i].t.name) - 1] = '\0';
		r->who[i].t.slots = r->who[i].t.used = 0;
	}
	r->machine.task_count = k.tasks;
	r->machine.cpu_count = k.cpus;
	if (!machine_go_on(&r->machine, in))
		return false;
	r->slot_number = k.slot_number;
	r->span_before = k.span_ns;
	r->cpu_ns_before = k.span_ns * k.cpus;
	r->named = k.named;
	*place = (struct rec_place){ k.piece, k.sum };
	for (size_t i = 0; i < r->lane_count; i++)
		if (!lane_go_on(r->lanes[i], in, k.tasks, k.cpus))
			return false;
	for (size_t i = 0; i < r->memo_count; i++)
		memo_begin(r->memos[i], k.tasks, k.cpus);
	return true;
}

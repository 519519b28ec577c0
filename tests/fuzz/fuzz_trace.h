/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces as bytes: read, made records, replayed. Beyond not crashing: what slots.c makes of any
 * text must be records that replay.c accepts; and whatever is accepted, the engine's counters add
 * up.
 */
#ifndef TESTS_FUZZ_TRACE_H
#define TESTS_FUZZ_TRACE_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "read/trace_compact.h"
#include "sim/replay.h"
#include "sim/slots.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * The same records again and again: with the engine for each, with what is remembered of it, and a lane
 * alone, which goes a way of its own. They must agree, whatever the records say.
 */
#define FUZZ_LANES   4
#define FUZZ_REPLAYS 4

struct fuzz_machine {
	struct lane *lanes[FUZZ_REPLAYS][FUZZ_LANES];
	struct replay *replay[FUZZ_REPLAYS];
};

static const struct fuzz_replay {
	unsigned first, count; /* of the lanes of the first replay */
	bool direct;
} fuzz_replays[FUZZ_REPLAYS] = { { 0, FUZZ_LANES, true }, { 0, FUZZ_LANES, false },
				 { 2, 1, false }, { 3, 1, false } };

static inline void fuzz_begin(struct fuzz_machine *m)
{
	static const char *const names[FUZZ_LANES] = { "laziest", "lazy-keep", "deferred", "auto" };
	const struct lane_extra extra = { LANE_MARK, true };
	const struct sim_use use = { .kind = SIM_USE_LIVE };
	const struct memo_limits few = { .entries = 40, .deltas = 40, .states = 500 };

	for (int k = 0; k < FUZZ_REPLAYS; k++) {
		const struct fuzz_replay *is = &fuzz_replays[k];

		for (unsigned i = 0; i < is->count; i++)
			m->lanes[k][i] = lane_new(xst_policy_by_name(names[is->first + i]), &extra,
						  is->direct);
		m->replay[k] = replay_new(&use, m->lanes[k], is->count, is->direct ? NULL : &few);
		if (!m->replay[k])
			abort();
	}
}

/* The records, which a replay may change, to all. */
static inline int fuzz_put(void *arg, struct rec *recs, size_t count)
{
	struct fuzz_machine *m = arg;
	struct rec *copy = malloc(count * sizeof(*copy));
	int result = 0;

	if (!copy)
		abort();
	for (int k = FUZZ_REPLAYS - 1; k >= 0; k--) {
		int got;

		memcpy(copy, recs, count * sizeof(*copy));
		got = replay_batch(m->replay[k], copy, count);
		if (k < FUZZ_REPLAYS - 1 && got != result)
			abort();
		result = got;
	}
	free(copy);
	return result;
}

/* Those of replay @k against the first one's. */
static inline void fuzz_compare(const struct fuzz_machine *m, int k, bool refused)
{
	for (unsigned i = 0; i < fuzz_replays[k].count; i++)
		for (unsigned cpu = 0; cpu < replay_cpus(m->replay[0]); cpu++) {
			struct lane_counts first, c;

			lane_counts(m->lanes[0][fuzz_replays[k].first + i], cpu, &first);
			lane_counts(m->lanes[k][i], cpu, &c);
			if (!xst_counters_balanced(&c.n) ||
			    (!refused && memcmp(&c, &first, sizeof(c))))
				abort();
		}
}

static inline void fuzz_end(struct fuzz_machine *m)
{
	/* Where records were refused one has gone further than the other. */
	uint64_t first, number;
	const bool refused = replay_why(m->replay[0], &first);
	struct sim_totals n[FUZZ_REPLAYS];
	bool more;

	for (int k = 0; k < FUZZ_REPLAYS; k++) {
		/* All stumble over the same record, and else have seen the same slots. */
		if (refused && (!replay_why(m->replay[k], &number) || number != first))
			abort();
		(void)replay_end(m->replay[k], &n[k], &more);
		if (!refused && memcmp(&n[k], &n[0], sizeof(n[0])))
			abort();
	}
	for (int k = 0; k < FUZZ_REPLAYS; k++)
		fuzz_compare(m, k, refused);
	for (int k = 0; k < FUZZ_REPLAYS; k++) {
		for (unsigned i = 0; i < fuzz_replays[k].count; i++)
			lane_free(m->lanes[k][i]);
		replay_free(m->replay[k]);
	}
}

/* The bytes as an input that can be read. */
static inline void fuzz_input(struct trace_input *in, const uint8_t *data, size_t size)
{
	const int fd = memfd_create("fuzz", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	(void)trace_input_of(in, fd, "input");
}

static inline void fuzz_sentence(const char *err)
{
	if (err[0] && (strncmp(err, "input: ", 7) || strchr(err, '\n')))
		abort(); /* a refusal is one sentence */
}

#endif

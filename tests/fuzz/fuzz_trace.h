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

#define FUZZ_LANES 4

/* Twice: what is remembered is what the engine does each time, whatever the records say. */
struct fuzz_machine {
	struct lane *lanes[2][FUZZ_LANES];
	struct replay *replay[2];
};

static inline void fuzz_begin(struct fuzz_machine *m)
{
	static const char *const names[FUZZ_LANES] = { "laziest", "lazy-keep", "deferred", "auto" };
	const struct lane_extra extra = { LANE_MARK, true };
	const struct sim_use use = { .kind = SIM_USE_LIVE };
	const struct memo_limits few = { .entries = 40, .deltas = 40, .states = 500 };

	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < FUZZ_LANES; i++)
			m->lanes[k][i] = lane_new(xst_policy_by_name(names[i]), &extra, k);
		m->replay[k] = replay_new(&use, m->lanes[k], FUZZ_LANES, k ? NULL : &few);
		if (!m->replay[k])
			abort();
	}
}

/* The records, which the first replay may change, to both. */
static inline int fuzz_put(void *arg, struct rec *recs, size_t count)
{
	struct fuzz_machine *m = arg;
	struct rec *copy = malloc(count * sizeof(*copy));
	int result[2];

	if (!copy)
		abort();
	memcpy(copy, recs, count * sizeof(*copy));
	result[0] = replay_batch(m->replay[0], recs, count);
	result[1] = replay_batch(m->replay[1], copy, count);
	free(copy);
	if (result[0] != result[1])
		abort();
	return result[0];
}

static inline void fuzz_end(struct fuzz_machine *m)
{
	/* Where records were refused one has gone further than the other. */
	uint64_t number[2];
	const bool refused = replay_why(m->replay[0], &number[0]);
	struct sim_totals n;
	bool more;

	/* Both stumble over the same record. */
	if (refused && (!replay_why(m->replay[1], &number[1]) || number[0] != number[1]))
		abort();
	for (int k = 0; k < 2; k++)
		(void)replay_end(m->replay[k], &n, &more);
	for (int i = 0; i < FUZZ_LANES; i++) {
		for (unsigned cpu = 0; cpu < replay_cpus(m->replay[0]); cpu++) {
			struct lane_counts c[2];

			for (int k = 0; k < 2; k++)
				lane_counts(m->lanes[k][i], cpu, &c[k]);
			if (!xst_counters_balanced(&c[0].n) ||
			    (!refused && memcmp(&c[0], &c[1], sizeof(c[0]))))
				abort();
		}
		for (int k = 0; k < 2; k++)
			lane_free(m->lanes[k][i]);
	}
	for (int k = 0; k < 2; k++)
		replay_free(m->replay[k]);
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

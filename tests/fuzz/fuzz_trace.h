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

struct fuzz_machine {
	struct lane *lanes[FUZZ_LANES];
	struct replay *replay;
};

static inline void fuzz_begin(struct fuzz_machine *m)
{
	static const char *const names[FUZZ_LANES] = { "laziest", "lazy-keep", "deferred", "auto" };
	const struct lane_extra extra = { LANE_MARK, true };
	const struct sim_use use = { .kind = SIM_USE_LIVE };

	for (int i = 0; i < FUZZ_LANES; i++)
		m->lanes[i] = lane_new(xst_policy_by_name(names[i]), &extra, i & 1);
	m->replay = replay_new(&use, m->lanes, FUZZ_LANES);
	if (!m->replay)
		abort();
}

static inline void fuzz_end(struct fuzz_machine *m)
{
	struct sim_totals n;
	bool more;

	(void)replay_end(m->replay, &n, &more);
	for (int i = 0; i < FUZZ_LANES; i++) {
		for (unsigned cpu = 0; cpu < replay_cpus(m->replay); cpu++) {
			struct lane_counts c;

			lane_counts(m->lanes[i], cpu, &c);
			if (!xst_counters_balanced(&c.n))
				abort();
		}
		lane_free(m->lanes[i]);
	}
	replay_free(m->replay);
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

// SPDX-License-Identifier: BSD-2-Clause
/*
 * From arms to a verdict: a trial to see how long a block takes, the plan, the run, and what the
 * controls say about it.
 */
#include "session.h"

#include <math.h>
#include <stdlib.h>

#define TRIAL_BLOCKS 3 /* to see how long a block takes; not used for anything else */

/* What rig_measure() does, with the rests and the progress that belong between blocks. */
struct between {
	struct bench_session *s;
	void (*done)(uint32_t blocks);
};

static void measure(void *world, uint32_t arm, uint64_t placement, struct stats_slice *out)
{
	struct between *b = world;

	if (b->s->measure)
		b->s->measure(b->s->world, arm, placement, out);
	else
		rig_measure(&b->s->rig, arm, placement, out);
}

static void between(void *world, uint32_t done, uint32_t blocks)
{
	struct between *b = world;

	(void)blocks;
	rig_rest(&b->s->rig);
	if (b->done)
		b->done(done);
}

/* Seconds one block takes, rests included. */
static double trial(struct bench_session *s)
{
	struct between world = {.s = s};
	struct stats_bench bench = {.world = &world, .measure = measure, .between = between};
	struct stats_plan plan = {.seed = stats_seed_mix(s->seed, 999),
				  .blocks = TRIAL_BLOCKS,
				  .arms = s->arm_count};
	struct stats_samples samples;
	struct stats_load before, after;

	if (!stats_samples_init(&samples, TRIAL_BLOCKS, s->arm_count))
		return 0;
	stats_load_read(&before);
	stats_run(&bench, &plan, &samples);
	stats_load_read(&after);
	stats_samples_free(&samples);
	return (after.clock - before.clock) / TRIAL_BLOCKS;
}

/* What is ours is not company. */
static void read_load(const struct bench_session *s, struct stats_load *load)
{
	stats_load_read(load);
	if (s->partners)
		load->own += s->partners(s->world);
}

bool session_measure(struct bench_session *s, const volatile sig_atomic_t *stop,
		     void (*total)(uint32_t blocks), void (*done)(uint32_t blocks))
{
	struct between world = {.s = s, .done = done};
	struct stats_bench bench = {
		.world = &world, .measure = measure, .between = between, .stop = stop};
	struct stats_load before, after;
	double block = trial(s);
	bool ok;

	s->plan = (struct stats_plan){.seed = s->seed,
				      .blocks = stats_plan_blocks_for(s->seconds, block),
				      .arms = s->arm_count};
	if (s->plan.blocks < STATS_MIN_SERIES)
		s->plan.blocks = STATS_MIN_SERIES;
	if (!stats_samples_init(&s->samples, s->plan.blocks, s->arm_count))
		return false;
	if (total)
		total(s->plan.blocks);
	read_load(s, &before);
	ok = stats_run(&bench, &s->plan, &s->samples);
	read_load(s, &after);
	s->company = stats_load_between(&before, &after);
	rig_clock_update(&s->rig);
	return ok;
}

bool session_read(struct bench_session *s)
{
	struct stats_spread spread;

	stats_spread_of(s->samples.cycles_per_tick, s->samples.taken, &spread);
	s->cycles_per_tick = spread.median;
	if (!controls_read(&s->rig, &s->samples, s->arms, 0, &s->company,
			   stats_seed_mix(s->seed, 3000), &s->controls))
		return false;
	stats_gate(&s->controls.noise, s->controls.control, CONTROLS,
		   s->claim > 0 ? s->claim : 0.01, s->samples.taken == s->plan.blocks,
		   &s->verdict);
	return true;
}

double session_ns(const struct bench_session *s)
{
	return 1e9 / (s->cycles_per_tick * s->rig.tick_hz);
}

void session_close(struct bench_session *s)
{
	stats_samples_free(&s->samples);
	free(s->arms);
	s->arms = NULL;
	rig_close(&s->rig);
}

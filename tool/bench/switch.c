// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rows of bench switch and what their samples say. All pairs live through the whole run and
 * sleep while it is not their turn; the controls are ping-pongs as well, so that what they resolve
 * is what a row can resolve.
 */
#include "switch.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xst/layout.h>

#define SLICE_SECONDS 0.0008
#define PILOT_LOOPS   50
#define LEAST_LOOPS   20
#define MOST_LOOPS    5000
#define CHAIN         16 /* multiplies in the controls' base */
#define LEAST_DOSE    0.0005 /* of a loop */

#define PKRU XST_MASK(9)
const struct switch_touch switch_touch[SWITCH_TOUCHES] = {
        {"none", "nothing", SNIP_NONE, 0},
        {"x87", "x87", SNIP_touch_x87, 0},
        {"sse", "SSE", SNIP_touch_sse, 0},
        {"avx", "AVX", SNIP_touch_avx, XST_MASK(2)},
        {"avx-vzeroupper", "AVX, VZEROUPPER", SNIP_touch_avx_zeroupper, XST_MASK(2)},
        {"avx-vzeroall", "AVX, VZEROALL", SNIP_touch_avx_zeroall, XST_MASK(2)},
        {"avx512", "AVX-512", SNIP_touch_avx512, XST_MASK_AVX512},
        {"amx", "AMX", SNIP_touch_amx, XST_MASK_AMX},
        {"pkru", "PKRU", SNIP_touch_pkru, PKRU},
};

static const char *why_not_touch(const struct switch_touch *touch, const struct bench_state *state)
{
	uint64_t have = state->all | (state->pkru ? PKRU : 0);

	if ((touch->needs & have) == touch->needs)
		return NULL;
	if (touch->needs == XST_MASK_AMX)
		return state->tiles_why_not ? state->tiles_why_not : "no AMX";
	return touch->needs == PKRU ? "this CPU or kernel has no PKRU"
	                            : "this CPU or kernel has no such registers";
}

static void add_row(struct switch_run *run, enum pair_how how, enum pair_who who, unsigned touch,
                    bool both, uint32_t base)
{
	struct switch_row *row = &run->rows[run->row_count];

	*row = (struct switch_row){.how = how,
	                           .who = who,
	                           .touch = &switch_touch[touch],
	                           .both = both,
	                           .base = base,
	                           .skipped =
	                                   why_not_touch(&switch_touch[touch], &run->s.rig.state)};
	snprintf(row->id, sizeof(row->id), "%s/%s/%s%s", pair_how_name[how], pair_who_name[who],
	         switch_touch[touch].id,
	         !touch ? ""
	         : both ? "/both"
	                : "/one");
	run->row_count++;
}

/* One pair: the base, and what touches with both tasks or also with one. */
static void add_pair(struct switch_run *run, enum pair_how how, enum pair_who who, bool whole)
{
	static const unsigned few[] = {2, 3, 6};
	uint32_t base = run->row_count;

	add_row(run, how, who, 0, false, base);
	if (whole) {
		for (unsigned t = 1; t < SWITCH_TOUCHES; t++) {
			add_row(run, how, who, t, false, base);
			add_row(run, how, who, t, true, base);
		}
		return;
	}
	for (unsigned i = 0; i < sizeof(few) / sizeof(few[0]); i++)
		add_row(run, how, who, few[i], true, base);
}

void switch_rows(struct switch_run *run)
{
	add_pair(run, PAIR_YIELD, PAIR_PROCESS, true);
	add_pair(run, PAIR_YIELD, PAIR_THREAD, false);
	for (int how = PAIR_PIPE; how < PAIR_HOWS; how++)
		for (int who = PAIR_PROCESS; who <= PAIR_THREAD; who++)
			add_pair(run, (enum pair_how)how, (enum pair_who)who, false);
	add_pair(run, PAIR_PIPE, PAIR_IDLE, false);
	add_pair(run, PAIR_FUTEX, PAIR_IDLE, false);
}

/* A CPU for the partner that is elsewhere, or -1. */
static int another_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = 0; i < CPU_SETSIZE && i < sysconf(_SC_NPROCESSORS_CONF); i++) {
		cpu_set_t one, before;

		CPU_ZERO(&one);
		CPU_SET((unsigned)i, &one);
		if (i == cpu || sched_getaffinity(0, sizeof(before), &before) ||
		    sched_setaffinity(0, sizeof(one), &one))
			continue;
		sched_setaffinity(0, sizeof(before), &before);
		return i;
	}
	return -1;
}

static void open_pair(struct switch_run *run, enum pair_who who)
{
	int cpu = who == PAIR_IDLE ? another_cpu(run->s.rig.cpu) : run->s.rig.cpu;

	if (cpu < 0)
		run->pair_missing[who] = "there is no second CPU";
	else if (!pair_open(&run->pair[who], &run->s.rig, who, cpu, &run->pair_missing[who]))
		pair_close(&run->pair[who]);
	else
		run->pair_missing[who] = NULL;
}

static void measure_work(struct switch_run *run, enum pair_who who, const struct pair_work *work,
                         uint64_t placement, struct stats_slice *out, struct pair_count *count)
{
	pair_measure(&run->pair[who], &run->s.rig, work, placement, out, count);
}

/* Loops that make a slice, or 0 when the pair does not answer. */
static uint32_t pilot(struct switch_run *run, enum pair_who who, struct pair_work work)
{
	double best = INFINITY;

	work.loops = PILOT_LOOPS;
	for (int i = 0; i < 3; i++) {
		struct stats_slice slice = {0};

		measure_work(run, who, &work, (uint64_t)(64 + i), &slice, NULL);
		if (slice.failed)
			return 0;
		best = fmin(best, slice.ticks / PILOT_LOOPS);
	}
	return (uint32_t)fmin(MOST_LOOPS,
	                      fmax(LEAST_LOOPS, SLICE_SECONDS * run->s.rig.tick_hz / best));
}

struct pair_work switch_work(const struct switch_row *row)
{
	return (struct pair_work){.how = row->how,
	                          .touch_first = row->touch->snip,
	                          .touch_second = row->both ? row->touch->snip : SNIP_NONE};
}

/* The controls: the same pair as the first row, with a chain of multiplies in each loop. */
static bool is_control(uint32_t arm)
{
	return arm < CONTROL_THROUGHPUT;
}

static struct pair_work control_work(const struct switch_run *run, uint32_t arm)
{
	/* The base, the base again, one and two doses more. */
	uint32_t more = arm < CONTROL_DOSE1 ? 0 : (arm - CONTROL_SAME) * run->s.rig.dose;

	return (struct pair_work){
	        .how = PAIR_YIELD, .chain = CHAIN + more, .loops = run->s.arms[arm].loops};
}

static void measure(void *world, uint32_t arm, uint64_t placement, struct stats_slice *out)
{
	struct switch_run *run = world;
	struct switch_row *row = NULL;
	struct pair_work work;

	if (is_control(arm)) {
		work = control_work(run, arm);
		measure_work(run, PAIR_PROCESS, &work, placement, out, NULL);
		return;
	}
	if (arm < CONTROL_ARMS) {
		rig_measure(&run->s.rig, arm, placement, out);
		return;
	}
	for (uint32_t i = 0; i < run->row_count && !row; i++)
		if (run->rows[i].selected && !run->rows[i].skipped && arm >= run->rows[i].arm &&
		    arm < run->rows[i].arm + run->rows[i].copies)
			row = &run->rows[i];
	if (!row) {
		out->failed = true;
		return;
	}
	work = switch_work(row);
	work.loops = run->s.arms[arm].loops;
	measure_work(run, row->who, &work, placement, out, &row->count);
}

static double partners(void *world)
{
	struct switch_run *run = world;
	double sum = 0;

	for (int who = 0; who < PAIR_WHOS; who++)
		sum += pair_partner_seconds(&run->pair[who]);
	return sum;
}

/* A task that switches waits for its partner by design; what counts is when neither ran. */
static double waiting(const struct switch_run *run)
{
	double wall = 0, lost = 0;

	for (int who = 0; who < PAIR_WHOS; who++) {
		wall += run->pair[who].wall;
		lost += run->pair[who].lost;
	}
	return wall > 0 ? lost / wall : NAN;
}

static bool prepare_controls(struct switch_run *run, const char **why)
{
	struct bench_session *s = &run->s;
	uint32_t loops;

	*why = run->pair_missing[PAIR_PROCESS];
	if (*why)
		return false;
	loops = pilot(run, PAIR_PROCESS, control_work(run, CONTROL_BASE));
	*why = "the second task does not answer";
	if (!loops)
		return false;
	/* Where a switch takes tens of thousands of cycles one multiply could not be found. */
	s->rig.dose = (unsigned)fmax(1, ceil(LEAST_DOSE * SLICE_SECONDS * s->rig.tick_hz / loops *
	                                     s->rig.calibration_cycles / rig_calibrate(&s->rig) /
	                                     s->rig.multiply_cycles));
	for (uint32_t arm = 0; arm < CONTROL_THROUGHPUT; arm++) {
		s->arms[arm].loops = loops;
		controls_name(&s->arms[arm], arm);
	}
	return controls_add_canaries(&s->rig, s->arms, 0, why);
}

/* The square root of what is compared with it makes the most of the time. */
static uint32_t copies_of(const struct switch_run *run, const struct switch_row *row)
{
	const uint32_t index = (uint32_t)(row - run->rows);
	double others = 0;

	if (row->base != index)
		return 1;
	for (uint32_t i = 0; i < run->row_count; i++)
		others += i != index && run->rows[i].base == index && run->rows[i].selected &&
		          !run->rows[i].skipped;
	return (uint32_t)fmin(SWITCH_COPIES, fmax(1, ceil(sqrt(others))));
}

static void prepare_row(struct switch_run *run, struct switch_row *row)
{
	struct bench_session *s = &run->s;
	const struct switch_row *base = &run->rows[row->base];

	row->arm = s->arm_count;
	if (!row->skipped)
		row->skipped = run->pair_missing[row->who];
	if (!row->skipped)
		row->skipped = run->pair[row->who].missing[row->how];
	if (!row->skipped && row != base && base->skipped)
		row->skipped = base->skipped;
	if (row->skipped)
		return;
	/* All of a pair have the same number of loops, so that ticks are compared. */
	s->arms[row->arm].loops =
	        row == base ? pilot(run, row->who, switch_work(row)) : s->arms[base->arm].loops;
	if (!s->arms[row->arm].loops) {
		row->skipped = "the second task does not answer";
		return;
	}
	row->copies = copies_of(run, row);
	for (uint32_t c = 0; c < row->copies; c++) {
		struct bench_arm *arm = &s->arms[s->arm_count++];

		arm->loops = s->arms[row->arm].loops;
		snprintf(arm->name, sizeof(arm->name), c ? "%s #%u" : "%s", row->id, c + 1);
	}
}

bool switch_prepare(struct switch_run *run, const char **why)
{
	struct bench_session *s = &run->s;

	*why = "memory is short";
	s->arms = calloc(CONTROL_ARMS + SWITCH_COPIES * SWITCH_ROWS, sizeof(*s->arms));
	if (!s->arms)
		return false;
	s->arm_count = CONTROL_ARMS;
	s->measure = measure;
	s->partners = partners;
	s->world = run;
	for (uint32_t i = 0; i < run->row_count; i++)
		if (run->rows[i].selected)
			run->rows[run->rows[i].base].selected = true;
	for (int who = 0; who < PAIR_WHOS; who++) {
		bool needed = who == PAIR_PROCESS; /* the controls' */

		for (uint32_t i = 0; i < run->row_count; i++)
			needed |= run->rows[i].selected && run->rows[i].who == (enum pair_who)who;
		if (needed)
			open_pair(run, (enum pair_who)who);
	}
	if (!prepare_controls(run, why))
		return false;
	for (uint32_t i = 0; i < run->row_count; i++)
		if (run->rows[i].selected)
			prepare_row(run, &run->rows[i]);
	s->rig.arms = s->arms;
	return true;
}

/* @x has room for two values of each block and copy. */
static void analyse_row(struct switch_run *run, struct switch_row *row, uint64_t part, double *x)
{
	const struct stats_samples *samples = &run->s.samples;
	const struct switch_row *base = &run->rows[row->base];
	const double loops = run->s.arms[row->arm].loops;
	double *cost = x + run->s.plan.blocks;
	size_t n = 0;

	for (size_t b = 0; b < samples->taken; b++)
		for (uint32_t c = 0; c < row->copies; c++) {
			size_t at = b * samples->arms + row->arm + c;

			if (samples->drop[at] == STATS_KEPT)
				x[n++] = samples->ticks[at] / loops;
		}
	stats_spread_of(x, n, &row->ticks);
	if (row == base)
		return;
	n = stats_series_to_mean(samples, row->arm, base->arm, base->copies, loops, x, cost);
	stats_estimate_of(x, n, stats_seed_mix(run->s.seed, part), &row->ratio);
	stats_estimate_of(cost, n, stats_seed_mix(run->s.seed, part + 500), &row->extra);
}

bool switch_analyse(struct switch_run *run)
{
	double *x = malloc((size_t)SWITCH_COPIES * run->s.plan.blocks * sizeof(*x));

	if (!x)
		return false;
	for (uint32_t i = 0; i < run->row_count; i++)
		if (run->rows[i].selected && !run->rows[i].skipped)
			analyse_row(run, &run->rows[i], 1000 + i, x);
	free(x);
	run->s.company.waiting = waiting(run);
	return session_read(&run->s);
}

void switch_against(struct switch_run *run)
{
	struct against *a = &run->against;

	against_facts(a, &run->s.machine);
	for (size_t k = 0; k < a->n; k++) {
		struct against_row *old = &a->rows[k];

		old->new_log = old->new_se = old->new_ns = NAN;
		for (uint32_t i = 0; i < run->row_count; i++) {
			const struct switch_row *row = &run->rows[i];

			if (!row->selected || row->skipped || strcmp(row->id, old->id))
				continue;
			old->new_ns = switch_ns(run, row);
			if (i != row->base) {
				old->new_log = row->ratio.middle;
				old->new_se = row->ratio.se;
			}
		}
	}
	against_judge(a);
}

double switch_ns(const struct switch_run *run, const struct switch_row *row)
{
	return row->ticks.median / run->s.rig.tick_hz * 1e9;
}

double switch_per_loop(const struct switch_row *row)
{
	/* This task's; the partner switches as often. */
	return row->count.loops ? 2 * (double)row->count.switches / (double)row->count.loops : NAN;
}

void switch_close(struct switch_run *run)
{
	for (int who = 0; who < PAIR_WHOS; who++)
		pair_close(&run->pair[who]);
	beside_close(&run->beside);
	against_close(&run->against);
	session_close(&run->s);
}

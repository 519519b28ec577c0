// SPDX-License-Identifier: BSD-2-Clause
/*
 * One pinned CPU and its clock. TSC ticks are not core cycles: a chain of dependent multiplies of
 * known latency, timed before and after every slice, says how many cycles a tick was just then.
 */
#include "rig.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/resource.h>

#include <x86intrin.h>

#include <xst/layout.h>

#define CALIBRATION_COPIES 8  /* of eight multiplies each */
#define CALIBRATION_LOOPS  34 /* about 2 us */
#define CALIBRATION_TRIES  3
#define OVERHEAD_TRIES     101

static sigjmp_buf fault_exit;
static volatile sig_atomic_t fault_signal, fault_armed;

static void on_fault(int sig)
{
	if (!fault_armed) {
		signal(sig, SIG_DFL); /* not ours: fault again, visibly */
		return;
	}
	fault_signal = sig;
	siglongjmp(fault_exit, 1);
}

static void catch_faults(bool on)
{
	static const int sigs[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP};
	struct sigaction act = {.sa_handler = on ? on_fault : SIG_DFL, .sa_flags = SA_NODEFER};

	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		sigaction(sigs[i], &act, NULL);
}

/* Runs generated code; 0 when it faulted. */
static uint64_t guarded(code_fn *fn)
{
	uint64_t ticks = 0;

	if (sigsetjmp(fault_exit, 0) == 0) {
		fault_armed = 1;
		ticks = fn();
	}
	fault_armed = 0;
	return ticks;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void clock_pair(uint64_t *ns, uint64_t *ticks)
{
	uint64_t best = UINT64_MAX;

	/* The narrowest of a few brackets: no interrupt fell into it. */
	for (int i = 0; i < 20; i++) {
		uint64_t before = __rdtsc(), t = now_ns(), after = __rdtsc();

		if (after - before >= best)
			continue;
		best = after - before;
		*ns = t;
		*ticks = before + (after - before) / 2;
	}
}

void rig_clock_update(struct bench_rig *rig)
{
	uint64_t ns, ticks;

	clock_pair(&ns, &ticks);
	if (ns > rig->clock_ns)
		rig->tick_hz =
			(double)(ticks - rig->clock_ticks) / (double)(ns - rig->clock_ns) * 1e9;
}

static int last_cpu(void)
{
	cpu_set_t set;
	unsigned last = 0;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	for (unsigned i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			last = i;
	return (int)last;
}

static bool take_cpu(struct bench_rig *rig, int cpu)
{
	struct sched_param param = {.sched_priority = 1};
	cpu_set_t set;

	rig->cpu = cpu < 0 ? last_cpu() : cpu;
	CPU_ZERO(&set);
	if (rig->cpu >= CPU_SETSIZE)
		return false;
	CPU_SET((unsigned)rig->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return false;
	rig->realtime =
		sysconf(_SC_NPROCESSORS_ONLN) > 1 && sched_setscheduler(0, SCHED_FIFO, &param) == 0;
	return true;
}

/* Median ticks of a loop on the calibration buffer. */
static double time_of(struct bench_rig *rig, const struct code_body *body, uint32_t loops)
{
	struct code_setup setup;
	struct stats_spread spread;
	double ticks[OVERHEAD_TRIES];
	code_fn *fn;

	state_setup(&rig->state, LIVE_INIT, rig->state.all, 0, &setup);
	setup.start = NULL;
	fn = code_emit(&rig->calibration, 64, &setup, body, 2, loops);
	if (!fn)
		return NAN;
	for (int i = 0; i < OVERHEAD_TRIES; i++)
		ticks[i] = (double)fn();
	stats_spread_of(ticks, OVERHEAD_TRIES, &spread);
	return spread.median;
}

static bool calibrate(struct bench_rig *rig)
{
	const struct code_body nothing = {.copies = 0};
	const struct code_body adds = {.step = {{SNIP_add_chain, 8}}, .copies = CALIBRATION_COPIES};
	const struct code_body chain = {.step = {{SNIP_multiplies, 1}},
					.copies = CALIBRATION_COPIES};
	struct code_setup setup;
	double add, multiply;

	rig->overhead_ticks = time_of(rig, &nothing, 1);
	add = time_of(rig, &adds, CALIBRATION_LOOPS) - rig->overhead_ticks;
	multiply = time_of(rig, &chain, CALIBRATION_LOOPS) - rig->overhead_ticks;
	rig->multiply_cycles = (unsigned)lround(multiply / add);
	rig->dose = 1;
	rig->calibration_cycles =
		8.0 * CALIBRATION_COPIES * CALIBRATION_LOOPS * rig->multiply_cycles;
	state_setup(&rig->state, LIVE_INIT, rig->state.all, 0, &setup);
	setup.start = NULL;
	rig->calibrate = code_emit(&rig->calibration, 64, &setup, &chain, 2, CALIBRATION_LOOPS);
	return rig->calibrate && rig->multiply_cycles > 0;
}

double rig_calibrate(const struct bench_rig *rig)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < CALIBRATION_TRIES; i++) {
		uint64_t ticks = rig->calibrate();

		best = ticks < best ? ticks : best;
	}
	return (double)best - rig->overhead_ticks;
}

bool rig_open(struct bench_rig *rig, uint64_t seed, int cpu, char why[160])
{
	const char *clause;

	memset(rig, 0, sizeof(*rig));
	if (!state_open(&rig->state, seed, &clause)) {
		snprintf(why, 160, "%s", clause);
		return false;
	}
	if (!take_cpu(rig, cpu)) {
		snprintf(why, 160, "CPU %d cannot be had: %s", rig->cpu, strerror(errno));
		goto fail;
	}
	catch_faults(true);
	if (!code_open(&rig->code) || !code_open(&rig->calibration)) {
		snprintf(why, 160, "no memory for generated code: %s", strerror(errno));
		goto fail;
	}
	clock_pair(&rig->clock_ns, &rig->clock_ticks);
	if (!calibrate(rig)) {
		snprintf(why, 160,
			 "the system refuses executable memory, or its clock stands still");
		goto fail;
	}
	rig_clock_update(rig);
	rig->rested = (double)now_ns() * 1e-9;
	return true;
fail:
	rig_close(rig);
	return false;
}

void rig_close(struct bench_rig *rig)
{
	struct sched_param param = {.sched_priority = 0};

	if (rig->realtime)
		sched_setscheduler(0, SCHED_OTHER, &param);
	rig->realtime = false;
	catch_faults(false);
	code_close(&rig->code);
	code_close(&rig->calibration);
	state_close(&rig->state);
}

static code_fn *emit_arm(struct bench_rig *rig, const struct bench_arm *arm, uint64_t placement,
			 uint32_t loops, struct code_setup *setup)
{
	state_setup(&rig->state, arm->live, arm->mask, placement, setup);
	setup->index = arm->index;
	setup->fill_a = arm->fill_a;
	setup->fill_b = arm->fill_b;
	setup->call = arm->call;
	setup->argument = arm->argument;
	return code_emit(&rig->code, placement, setup, &arm->body, RIG_WARM_LOOPS, loops);
}

/* One run of an arm's code; 0 when it faulted. */
static uint64_t run_arm(const struct bench_arm *arm, code_fn *fn, const struct code_setup *setup)
{
	if (arm->place)
		arm->place(arm->world, setup->a, setup->b);
	return guarded(fn);
}

static void read_bv(const struct code_setup *setup, uint64_t bv[2])
{
	memcpy(&bv[0], (const uint8_t *)setup->a + XST_HEADER_OFFSET, sizeof(bv[0]));
	memcpy(&bv[1], (const uint8_t *)setup->b + XST_HEADER_OFFSET, sizeof(bv[1]));
}

/* Did the state stay what it is to be? A hypervisor that saves and restores a guest's registers may
 * mark components in use that were INIT, and then everything costs something else. */
static bool is_steady(const struct bench_arm *arm, const struct code_setup *setup)
{
	uint64_t bv[2];

	read_bv(setup, bv);
	return !arm->steady || (bv[0] == arm->bv[0] && bv[1] == arm->bv[1]);
}

uint64_t rig_once(struct bench_rig *rig, const struct bench_arm *arm, uint64_t placement)
{
	struct code_setup setup;
	code_fn *fn = emit_arm(rig, arm, placement, arm->loops, &setup);

	return fn ? run_arm(arm, fn, &setup) : 0;
}

bool rig_pilot(struct bench_rig *rig, struct bench_arm *arm, const char **why)
{
	double per_loop = INFINITY, seconds = arm->seconds > 0 ? arm->seconds : RIG_SLICE_SECONDS;
	int least = INT_MAX;

	if (!rig->state.image[arm->live]) {
		*why = "this CPU has no such state";
		return false;
	}
	for (int i = 0; i < 5; i++) {
		struct code_setup setup;
		code_fn *fn = emit_arm(rig, arm, 64, 50, &setup);
		uint64_t ticks = fn ? run_arm(arm, fn, &setup) : 0, bv[2];
		int bits;

		if (!ticks) {
			*why = !fn                      ? "the loop is too long"
			       : fault_signal == SIGILL ? "faults (SIGILL)"
			       : fault_signal == SIGFPE ? "faults (SIGFPE)"
							: "faults (SIGSEGV)";
			return false;
		}
		/* The fewest components in use are those that really are. */
		read_bv(&setup, bv);
		bits = __builtin_popcountll(bv[0]) + __builtin_popcountll(bv[1]);
		if (bits < least) {
			least = bits;
			memcpy(arm->bv, bv, sizeof(bv));
		}
		per_loop = fmin(per_loop, (double)ticks / 50);
	}
	arm->loops = (uint32_t)fmin(1e6, fmax(20, seconds * rig->tick_hz / per_loop));
	return true;
}

void rig_measure(void *world, uint32_t arm, uint64_t placement, struct stats_slice *out)
{
	struct bench_rig *rig = world;
	const struct bench_arm *a = &rig->arms[arm];
	struct code_setup setup;
	code_fn *fn = emit_arm(rig, a, placement, a->loops, &setup);
	struct rusage before = {.ru_nivcsw = 0}, after = {.ru_nivcsw = 0};
	uint64_t ticks = 0;

	if (!fn) {
		out->failed = true;
		return;
	}
	out->calibration_cycles = rig->calibration_cycles;
	out->moved = true;
	for (int i = 0; i < RIG_STEADY_TRIES && out->moved; i++) {
		getrusage(RUSAGE_THREAD, &before);
		out->calibration_ticks[0] = rig_calibrate(rig);
		ticks = run_arm(a, fn, &setup);
		out->calibration_ticks[1] = rig_calibrate(rig);
		getrusage(RUSAGE_THREAD, &after);
		out->moved = !is_steady(a, &setup);
	}
	out->ticks = (double)ticks - rig->overhead_ticks;
	out->switched = after.ru_nivcsw != before.ru_nivcsw;
	out->failed = ticks == 0;
}

void rig_rest(struct bench_rig *rig)
{
	double now = (double)now_ns() * 1e-9, rest = (now - rig->rested) * 0.1;
	struct timespec t = {.tv_sec = (time_t)rest};

	t.tv_nsec = (long)((rest - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
	rig->rested = (double)now_ns() * 1e-9;
}

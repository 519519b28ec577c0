// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tests of the lab on real emulators, through the same engine as `xstate lab run`.
 *
 *     t_lab GROUP IMAGES    GROUP: shapes repeat smp signals old moves sweeps twins verdicts
 *                           errata budget
 *
 * IMAGES is the folder with lab.rom and the broken twins. Prints a line for each
 * case; ends with 77 when no emulator is here.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/sweep.h"
#include "lab_test.h"

/* --- shapes: each policy does what its name says, and no more --- */

static bool is(const struct lab_job *j, const char *experiment, const char *policy)
{
	return !strcmp(j->experiment->name, experiment) && !strcmp(j->policy, policy);
}

static bool is_switching(const struct lab_job *j)
{
	return !strcmp(j->experiment->name, "yield") || !strcmp(j->experiment->name, "pipe");
}

static void check_shape(const struct lab_job *j)
{
	const char *where = j->machine->name, *what = j->experiment->name;
	uint64_t loads = get(j, "loads"), uses = get(j, "uses"), traps = get(j, "traps");
	uint64_t skipped = get(j, "loads_skipped_owner");

	if (!strstr(j->policy, "laz"))
		expect(traps == 0, "%s: %s on %s never traps", what, j->policy, where);
	if (is(j, "yield", "lazy")) {
		/* One of two tasks uses the registers, in each of its slots. */
		expect(uses > 100 && loads >= uses - 2 && loads <= uses + 2,
		       "lazy on %s loads for the task that uses the FPU and nobody else", where);
		expect(traps == loads, "lazy on %s traps once for each load", where);
	}
	if (is(j, "yield", "eager"))
		expect(loads > uses * 19 / 10, "eager on %s loads for both tasks", where);
	if (is(j, "yield", "lazy-keep"))
		expect(loads <= 4 && skipped + 10 >= uses,
		       "lazy-keep on %s loads nothing while nobody else uses the FPU", where);
	if (is(j, "yield", "laziest"))
		expect(loads <= 4 && get(j, "saves") <= 4 && skipped + 10 >= uses,
		       "laziest on %s moves nothing while nobody else uses the FPU", where);
	if (is(j, "pipe", "laziest"))
		expect(get(j, "saves") + 4 >= loads && get(j, "saves") <= loads,
		       "laziest on %s saves when another one's registers come", where);
	if (is(j, "pipe", "lazy-keep"))
		expect(skipped <= 4, "lazy-keep on %s loads when the other one used the FPU",
		       where);
	if (is(j, "preload", "lazy-preload") || is(j, "preload", "lazy-keep")) {
		uint64_t slots = get(j, "slots_until_preload_stopped");

		expect(slots >= 1 && slots <= 255,
		       "%s on %s stops preloading within 255 slots of the last use", j->policy,
		       where);
	}
	if (is(j, "preload", "lazy-preload"))
		expect(get(j, "preloads") > 100 && get(j, "probes") > 0,
		       "lazy-preload on %s preloads, and looks now and then", where);
	if (is(j, "preload", "lazy"))
		expect(get(j, "preloads") == 0, "lazy on %s never preloads", where);
	if (is(j, "kthread", "deferred"))
		expect(get(j, "loads_in_kernel_phase") == 0 &&
			       get(j, "switches_in_kernel_phase") > 100,
		       "deferred on %s loads nothing for a task that stays in the kernel", where);
	if (is(j, "kthread", "eager"))
		expect(get(j, "loads_in_kernel_phase") > 100,
		       "eager on %s does load for a task that stays in the kernel", where);
}

/* The engine's instructions per switch do not grow; one CPU, so they are exact. */
static void check_cost(const struct lab_job *j)
{
	/* The worst of yield and pipe over the machines; lower them as the engine gets shorter. */
	static const struct {
		const char *policy;
		double most;
	} limits[POLICIES] = {
		{ "eager", 132 },     { "eager-keep", 132 }, { "lazy", 220 },    { "lazy-preload", 157 },
		{ "lazy-keep", 161 }, { "deferred", 148 },   { "laziest", 265 }, { "auto", 224 },
	};
	double cost = 1e9, most = 0;
	bool counted = lab_result_cost(&j->result, &cost);

	for (size_t p = 0; p < POLICIES; p++)
		if (!strcmp(limits[p].policy, j->policy))
			most = limits[p].most;
	expect(counted && cost <= most, "%s %s on %s: %.1f instructions per switch, at most %.0f",
	       j->experiment->name, j->policy, j->machine->name, cost, most);
}

static void shapes(const struct lab_machine *machines, size_t count)
{
	static const char *const experiments[] = { "yield", "pipe", "preload", "kthread" };
	static struct lab_job jobs[3 * 4 * POLICIES];
	size_t n = 0;

	for (size_t m = 0; m < count; m++)
		for (size_t e = 0; e < 4; e++)
			for (size_t p = 0; p < POLICIES; p++)
				jobs[n++] = job(experiments[e], policies[p], &machines[m]);
	run("lab", jobs, n, QUIET_MS);
	for (size_t i = 0; i < n; i++)
		if (expect_ok(&jobs[i])) {
			check_shape(&jobs[i]);
			if (is_switching(&jobs[i]))
				check_cost(&jobs[i]);
		}
	release(jobs, n);
}

/* --- repeat: one CPU, one seed: the same run, to the last counter --- */

static void repeat(const struct lab_machine *machines, size_t count)
{
	static struct lab_job jobs[3 * 2 * 2];
	size_t n = 0;

	for (size_t m = 0; m < count; m++) {
		for (size_t twice = 0; twice < 2; twice++) {
			jobs[n++] = job("yield", "lazy-keep", &machines[m]);
			jobs[n++] = job("pipe", "deferred", &machines[m]);
		}
	}
	run("lab", jobs, n, QUIET_MS);
	for (size_t i = 0; i < n; i++) {
		if (!expect_ok(&jobs[i]) || i % 4 < 2 || !expect_ok(&jobs[i - 2]))
			continue;
		expect(lab_result_flag(&jobs[i].result, "counted") &&
			       json_equal(jobs[i].result.result, jobs[i - 2].result.result),
		       "two runs of %s %s on %s are equal in every counter",
		       jobs[i].experiment->name, jobs[i].policy, jobs[i].machine->name);
	}
	release(jobs, n);
}

/* --- smp: two CPUs at once, the policy changing under load --- */

static void smp(const struct lab_machine *machines, size_t count)
{
	static const char in_turn[] = "eager,eager-keep,lazy,lazy-preload,lazy-keep,deferred,laziest,auto,"
				      "load=use,keep,preload=1;load=use,skip-init;load=return";
	static struct lab_job jobs[3 * (1 + POLICIES)];
	size_t n = 0;

	for (size_t m = 0; m < count; m++) {
		jobs[n++] = job("flip", in_turn, &machines[m]);
		for (size_t p = 0; p < POLICIES; p++)
			jobs[n++] = job("leak", policies[p], &machines[m]);
	}
	run("lab", jobs, n, QUIET_MS);
	for (size_t i = 0; i < n; i++) {
		const struct lab_job *j = &jobs[i];

		if (!expect_ok(j) || strcmp(j->experiment->name, "flip"))
			continue;
		expect(get(j, "flips") >= 2000, "flip on %s turned the knob thousands of times",
		       j->machine->name);
		/* Read from CR0.TS and from traps, not from the variable that was set. */
		expect(get(j, "ts_checks") > 1000 && get(j, "ts_mismatches") == 0 &&
			       get(j, "traps") > 0 && get(j, "epochs_first_use") > 0 &&
			       get(j, "epochs_other") > 0,
		       "flip on %s: the mode really changed", j->machine->name);
		expect(get(j, "migrations") > 0, "flip on %s moved tasks between CPUs",
		       j->machine->name);
	}
	release(jobs, n);
}

/* --- moves: CPUs change, exceptions wait, memory comes late --- */

static void moves(const struct lab_machine *machines, size_t count)
{
	static struct lab_job jobs[2 * 3 * POLICIES];
	size_t n = 0;

	for (size_t m = 0; m < count; m++) {
		for (size_t p = 0; p < POLICIES; p++) {
			jobs[n++] = job("migrate", policies[p], &machines[m]);
			jobs[n++] = job("pending", policies[p], &machines[m]);
			jobs[n++] = job("pending", policies[p], &machines[m]);
			jobs[n - 1].cpus = 2;
		}
	}
	run("lab", jobs, n, QUIET_MS);
	for (size_t i = 0; i < n; i++) {
		const struct lab_job *j = &jobs[i];

		if (!expect_ok(j))
			continue;
		if (!strcmp(j->experiment->name, "pending"))
			expect(get(j, "faults_left") >= 3000 &&
				       get(j, "faults_came") == get(j, "faults_left"),
			       "%s on %s with %u CPUs: each exception came to its owner", j->policy,
			       j->machine->name, j->cpus);
		else
			expect(get(j, "offlines") > 50 && get(j, "first_uses") > 10 &&
				       get(j, "first_uses") == get(j, "area_traps") &&
				       get(j, "ended_without_area") > 0 &&
				       (get(j, "fetches") > 100) == !strcmp(j->policy, "laziest"),
			       "%s on %s: CPUs went off, areas came at the first use, and only "
			       "laziest fetches", j->policy, j->machine->name);
	}
	release(jobs, n);
}

/* --- signals: whole frames and harmed ones, in the 64-bit kernel and the 32-bit one --- */

static void signals(const struct lab_machine *machines, size_t count)
{
	static const char *const old_names[] = { "bochs:pentium_mmx", "bochs:p3_katmai" };
	struct lab_machine olds[2];
	struct lab_job jobs[4];
	char in_turn[512] = "";
	size_t n = 0, olds_here = find_machines(olds, old_names, 2);

	for (size_t p = 0; p < POLICIES; p++)
		snprintf(in_turn + strlen(in_turn), sizeof(in_turn) - strlen(in_turn), "%s%s",
			 p ? "," : "", policies[p]);
	for (size_t m = 0; m < count; m++)
		jobs[n++] = job("signal", in_turn, &machines[m]);
	for (size_t m = 0; m < olds_here; m++)
		jobs[n++] = job("signal", in_turn, &olds[m]);
	run("lab", jobs, n, QUIET_MS);
	for (size_t i = 0; i < n; i++) {
		const struct lab_job *j = &jobs[i];

		/* The kernel itself fails where a kind of harm did not come under every policy. */
		if (expect_ok(j))
			expect(get(j, "policies") == POLICIES && get(j, "unexpected") == 0 &&
				       get(j, "sent_by_timer") > 20 && get(j, "refused") > 100 &&
				       get(j, "not_delivered") > 20 &&
				       (i >= count || get(j, "fx_only") > 100),
			       "signal on %s: every harm came to what it must", j->machine->name);
	}
	release(jobs, n);
}

/* --- old: the 32-bit kernel, with FNSAVE and with FXSAVE --- */

/* CPUID does not say which MXCSR bits there are: these two lack denormals-are-zeros, and an LDMXCSR
 * that believed CPUID would have faulted in a task. */
static void check_mxcsr_mask(const struct lab_job *j)
{
	const char *name = j->machine->name;
	const char *want = !strcmp(name, "bochs:p3_katmai") || !strcmp(name, "bochs:athlon_xp")
				   ? "0xffbf" : "0xffff";
	const char *got = json_string_value(json_object_get(j->result.boot, "mxcsr_mask"));

	expect(got && !strcmp(got, want), "%s accepts the MXCSR bits %s (wanted %s)", name,
	       got ? got : "?", want);
}

static void old(const struct lab_machine *machines, size_t count)
{
	static const char *const names[] = {
		"bochs:pentium_mmx", "bochs:amd_k6_2_chomper", "bochs:p2_klamath",
		"bochs:p3_katmai", "bochs:athlon_xp", "qemu:pentium", "qemu:pentium3",
		"qemu:athlon", "qemu:n270",
	};
	static const char *const experiments[] = { "yield", "pipe", "pending" };
	static const char *const few[] = { "eager", "lazy-keep", "deferred", "laziest" };
	static struct lab_machine m[9];
	static struct lab_job jobs[9 * (3 * 4 + 1) + 1];
	static char in_turn[200];
	size_t n = 0;

	(void)machines;
	count = find_machines(m, names, 9);
	for (size_t p = 0; p < POLICIES; p++)
		snprintf(in_turn + strlen(in_turn), sizeof(in_turn) - strlen(in_turn), "%s%s",
			 p ? "," : "", policies[p]);
	for (size_t i = 0; i < count; i++) {
		for (size_t e = 0; e < 3; e++)
			for (size_t p = 0; p < 4; p++)
				jobs[n++] = job(experiments[e], few[p], &m[i]);
		jobs[n] = job("flip", in_turn, &m[i]);
		jobs[n++].cpus = 1;
	}
	/* A fork by FNSAVE takes the parent's registers away. */
	if (count) {
		jobs[n] = job("leak", "lazy", &m[0]);
		jobs[n++].cpus = 1;
	}
	run("lab", jobs, n, QUIET_MS);
	for (size_t i = 0; i < n; i++)
		if (expect_ok(&jobs[i])) {
			expect(json_integer_value(json_object_get(jobs[i].result.boot, "bits")) == 32,
			       "%s has no 64-bit mode", jobs[i].machine->name);
			check_mxcsr_mask(&jobs[i]);
		}
	release(jobs, n);

	/* No CR0.NE: x87 exceptions by way of the interrupt controller, as on a PC of old. */
	n = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t p = 0; p < 4 && m[i].emulator == LAB_BOCHS; p++)
			jobs[n++] = job("pending", few[p], &m[i]);
	extra = "ferr=1";
	run("lab", jobs, n, QUIET_MS);
	extra = NULL;
	for (size_t i = 0; i < n; i++)
		if (expect_ok(&jobs[i]))
			expect(get(&jobs[i], "faults_came") == get(&jobs[i], "faults_left"),
			       "%s on %s: each IRQ 13 came to its owner", jobs[i].policy,
			       jobs[i].machine->name);
	release(jobs, n);
}

/* --- sweeps: the break-even is where the formula says; a save writes what is live --- */

static bool near(double a, double b, double part)
{
	return fabs(a - b) <= part * b;
}

static void check_break_even(struct lab_plan *plan)
{
	static const struct lab_costs costs[] = {
		{ 165, 390, 600, 60 }, { 165, 390, 2500, 60 }, { 100, 200, 150, 0 },
	};

	for (size_t c = 0; c < sizeof(costs) / sizeof(costs[0]); c++) {
		plan->costs = costs[c];
		for (size_t i = 0; i < plan->count; i++) {
			const struct lab_job *j = &plan->jobs[i];
			struct lab_break_even b;

			if (strcmp(j->policy, "lazy") || !lab_break_even(plan, j, &b))
				continue;
			expect(near(b.measured, b.formula, 0.02) && near(b.traps, b.measured, 0.02),
			       "lazy on %s, trap of %g cycles: break-even at %.0f using slots per "
			       "million, %.0f by the formula; %.0f traps there",
			       j->machine->name, plan->costs.trap, b.measured, b.formula, b.traps);
		}
	}
}

static const json_t *point(const struct lab_job *j, const char *live)
{
	size_t i;
	json_t *p;

	json_array_foreach (j->result.points, i, p) {
		const char *name = json_string_value(json_object_get(p, "live"));

		if (name && !strcmp(name, live))
			return p;
	}
	expect(false, "live on %s has a point '%s'", j->machine->name, live);
	return NULL;
}

static json_int_t figure(const json_t *p, const char *name)
{
	return json_integer_value(json_object_get(p, name));
}

/* Where the CPU tracks what is INIT; QEMU's does not (qemu-xinuse). */
static void check_live(const struct lab_job *j)
{
	static const struct {
		const char *live, *xstate_bv;
	} wants[] = {
		{ "untouched", "0x0" }, { "x87", "0x1" },     { "SSE", "0x2" },
		{ "x87+SSE", "0x3" },   { "SSE+AVX", "0x6" }, { "SSE+AVX, VZEROUPPER", "0x2" },
	};
	bool skip_init = !strcmp(j->policy, "auto");
	const json_t *all, *init, *upper;

	for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
		const json_t *p = point(j, wants[i].live);
		const char *bv = json_string_value(json_object_get(p, "xstate_bv"));

		expect(bv && !strcmp(bv, wants[i].xstate_bv) && figure(p, "images") > 100,
		       "%s on %s: with %s live a save has XSTATE_BV %s", j->policy, j->machine->name,
		       wants[i].live, bv ? bv : "?");
	}
	all = point(j, "all");
	init = point(j, "init");
	upper = point(j, "all, VZEROUPPER");
	expect(figure(init, "bytes_written") < figure(upper, "bytes_written") &&
		       figure(upper, "bytes_written") < figure(all, "bytes_written"),
	       "%s on %s writes less after VZEROUPPER and least when all is INIT", j->policy,
	       j->machine->name);
	expect(skip_init == (figure(init, "saves") == 0) &&
		       skip_init == (figure(init, "saves_elided") > 100) &&
		       skip_init == (figure(init, "loads_elided_init") > 100) &&
		       figure(all, "saves_elided") == 0,
	       "%s on %s %s INIT", j->policy, j->machine->name,
	       skip_init ? "leaves out saves and loads of" : "saves and loads also");
}

static void sweeps(const struct lab_machine *machines, size_t count)
{
	static struct lab_job jobs[3 * 5];
	struct lab_plan plan = { .jobs = jobs };
	size_t n = 0;

	for (size_t m = 0; m < count; m++) {
		jobs[n++] = job("slots", "eager", &machines[m]);
		jobs[n++] = job("slots", "lazy", &machines[m]);
		jobs[n++] = job("slots", "laziest", &machines[m]);
		jobs[n++] = job("live", "eager", &machines[m]);
		jobs[n++] = job("live", "auto", &machines[m]);
	}
	run("lab", jobs, n, QUIET_MS);
	plan.count = n;
	for (size_t i = 0; i < n; i++)
		if (expect_ok(&jobs[i]) && !strcmp(jobs[i].experiment->name, "live") &&
		    jobs[i].machine->emulator == LAB_BOCHS)
			check_live(&jobs[i]);
	check_break_even(&plan);
	release(jobs, n);
}

/* --- twins: an engine broken in one way is caught; the good one passes the same --- */

static void twins(const struct lab_machine *machines, size_t count)
{
	static const struct {
		const char *image, *experiment, *policy;
	} cases[] = {
		{ "twin-skip-restore", "pipe", "eager" },
		{ "twin-skip-restore", "pipe", "lazy" },
		{ "twin-skip-save", "pipe", "deferred" },
		{ "twin-skip-save", "yield", "lazy" },
		{ "twin-no-ts", "yield", "lazy-keep" },
		{ "twin-no-ts", "pipe", "lazy" },
		{ "twin-stale-owner", "leak", "lazy-keep" },
		{ "twin-stale-owner", "leak", "deferred" },
		{ "twin-no-pkru", "pipe", "eager" },
		{ "twin-no-pkru", "leak", "lazy" },
		{ "twin-edit-kept", "signal", "deferred" },
	};

	enum { CASES = sizeof(cases) / sizeof(cases[0]) };
	static struct lab_job good[2 * CASES], bad[2 * CASES];
	size_t n = 0;

	for (size_t c = 0; c < CASES; c++)
		for (size_t m = 0; m < count; m++, n++)
			good[n] = bad[n] = job(cases[c].experiment, cases[c].policy, &machines[m]);
	run("lab", good, n, QUIET_MS);
	/* Those of one image are neighbours. */
	for (size_t first = 0, c = 1; c <= CASES; c++) {
		if (c < CASES && !strcmp(cases[c].image, cases[first].image))
			continue;
		run(cases[first].image, &bad[first * count], (c - first) * count, QUIET_MS);
		first = c;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t mismatches = 0;

		expect_ok(&good[i]);
		lab_result_u64(&bad[i].result, "ts_mismatches", &mismatches);
		/* By the lab's own checks, not by a crash of the lab. */
		expect(bad[i].result.status == LAB_FAILED && !*bad[i].result.panic &&
			       bad[i].result.end == LAB_END_FAIL &&
			       (bad[i].result.corruption_lines || mismatches),
		       "%s is caught by %s %s on %s", cases[i / count].image,
		       bad[i].experiment->name, bad[i].policy, bad[i].machine->name);
		release(&good[i], 1);
		discard(&bad[i]);
	}
}

/* --- verdicts: every way the lab can end badly is seen for what it is --- */

static void verdicts(const struct lab_machine *machines, size_t count)
{
	static const struct {
		const char *experiment, *reason, *bochs_reason;
	} cases[] = {
		{ "selftest-panic", "panic: selftest", NULL },
		{ "selftest-watchdog", "panic: hang", NULL },
		{ "selftest-hang", "no sign of life", NULL },
		/* Bochs stops the CPU and stays; QEMU ends as if all were well. */
		{ "selftest-triple", "the machine reset itself", "no sign of life" },
	};
	enum { CASES = sizeof(cases) / sizeof(cases[0]), SPEAKING = 2 };
	static struct lab_job jobs[CASES * 2];
	size_t n = 0;

	for (size_t c = 0; c < CASES; c++)
		for (size_t m = 0; m < count; m++)
			jobs[n++] = job(cases[c].experiment, "eager", &machines[m]);
	run("lab", jobs, SPEAKING * count, QUIET_MS);
	run("lab", &jobs[SPEAKING * count], n - SPEAKING * count, 4000);
	for (size_t i = 0; i < n; i++) {
		struct lab_job *j = &jobs[i];
		const char *want = cases[i / count].reason;

		if (j->machine->emulator == LAB_BOCHS && cases[i / count].bochs_reason)
			want = cases[i / count].bochs_reason;
		expect(j->result.status == LAB_FAILED && j->result.boot &&
			       !strncmp(j->result.reason, want, strlen(want)),
		       "%s on %s: %s", j->experiment->name, j->machine->name, j->result.reason);
		discard(j);
	}
}

/* --- errata: the emulators deviate where docs/errata.md says, and nowhere else --- */

static void errata(const struct lab_machine *machines, size_t count)
{
	static struct lab_job jobs[2 * 3];

	for (size_t m = 0; m < count; m++) {
		jobs[m] = job("errata", "eager", &machines[m]);
		jobs[count + m] = job("images", "eager", &machines[m]);
	}
	run("lab", jobs, 2 * count, QUIET_MS);
	for (size_t m = 0; m < count; m++) {
		if (expect_ok(&jobs[m]))
			expect(get(&jobs[m], "unexpected_passes") == 0,
			       "no known erratum of %s is gone", machines[m].name);
		/* What XRSTORS, XRSTOR and FXRSTOR do is what the library predicts. */
		if (expect_ok(&jobs[count + m]))
			expect(get(&jobs[count + m], "restored") > 1000 &&
				       get(&jobs[count + m], "faulted") > 1000,
			       "images restore and fault on %s", machines[m].name);
	}
	release(jobs, 2 * count);
}

/*
 * What the policies cost where nothing disturbs them, beside the instructions that move the state (as
 * report.c counts them, RDPKRU and WRPKRU among these), the lab's assertions counted. `pipe`: from one live task to another. `owner`: to a kernel thread and back,
 * the registers still the task's; two switches and one return to user mode, by the switch.
 */
static void budget(const struct lab_machine *unused, size_t count)
{
	static const struct {
		const char *machine, *experiment, *policy;
		double gcc, clang;
	} paths[] = {
		/* XSAVES, nothing beside */
		{ "bochs:corei7_skylake_x", "pipe", "eager", 32, 39 },
		{ "bochs:corei7_skylake_x", "owner", "deferred", 29, 36 },
		/* XSAVES and PKRU */
		{ "bochs:tigerlake", "pipe", "eager", 39, 46 },
		{ "bochs:tigerlake", "owner", "deferred", 30, 36 },
		/* XSAVEOPT; FXSAVE */
		{ "bochs:corei7_sandy_bridge_2600k", "pipe", "eager", 34, 44 },
		{ "bochs:corei7_sandy_bridge_2600k", "owner", "deferred", 29, 35 },
		{ "bochs:p4_prescott_celeron_336", "pipe", "eager", 33, 45 },
		{ "bochs:p4_prescott_celeron_336", "owner", "deferred", 29, 35 },
		/* XSAVEOPT, PKRU and pointers that leak, elided where INIT */
		{ "qemu:max", "pipe", "auto", 115, 118 },
	};

	enum { PATHS = sizeof(paths) / sizeof(paths[0]) };
	static struct lab_machine machines[PATHS];
	static struct lab_job jobs[PATHS];
	double limits[PATHS];
	size_t n = 0;

	(void)unused;
	(void)count;
	for (size_t i = 0; i < PATHS; i++) {
		if (!find_machines(&machines[n], &paths[i].machine, 1))
			continue;
#ifdef __clang__
		limits[n] = paths[i].clang;
#else
		limits[n] = paths[i].gcc;
#endif
		jobs[n] = job(paths[i].experiment, paths[i].policy, &machines[n]);
		n++;
	}
	run("lab", jobs, n, QUIET_MS);
	for (size_t i = 0; i < n; i++) {
		const struct lab_job *j = &jobs[i];
		double cost = 1e9;

		lab_result_cost(&j->result, &cost);
		expect(j->result.status == LAB_OK && cost <= limits[i],
		       "%s %s on %s: %.1f instructions per switch, at most %.0f",
		       j->experiment->name, j->policy, j->machine->name, cost, limits[i]);
		/* No more of these is taken off than there can be. */
		expect(get(j, "pkru_moves") <= 2 * get(j, "switches"),
		       "PKRU is read and written once a switch at most");
		if (!strcmp(j->experiment->name, "owner"))
			expect(get(j, "loads") <= 2 &&
				       get(j, "loads_skipped_owner") + 4 >= get(j, "uses"),
			       "the registers stayed the task's");
	}
	release(jobs, n);
}

static const struct lab_group groups[] = {
	{ "shapes", shapes, 3 },     { "repeat", repeat, 3 }, { "smp", smp, 2 },
	{ "signals", signals, 2 },
	{ "old", old, 1 },	     { "moves", moves, 2 },	     { "sweeps", sweeps, 3 },
	{ "twins", twins, 2 },	     { "errata", errata, 3 }, { "budget", budget, 1 },
	{ "verdicts", verdicts, 2 },
};

int main(int argc, char **argv)
{
	return lab_test_main(argc, argv, groups, sizeof(groups) / sizeof(groups[0]));
}

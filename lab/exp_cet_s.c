// SPDX-License-Identifier: BSD-2-Clause
/*
 * `cet-s`: the engine with CET_S in no task's state, in guests' only, and in every task's, on one CPU and
 * one after the other. What a switch and a guest's entry and exit take is counted, beside the saves and
 * restores themselves; and whoever has shadow-stack pointers must find his own, whoever came between.
 *
 * No guest runs: what hardware does between entry and exit is no part of this count (`guest` has it).
 * The third case is one that the library refuses; every_task.h says how it is had.
 */
#include <xst/bringup.h>
#include <xst/guest.h>
#include <xst/world.h>

#include "engine.h"
#include "every_task.h"
#include "experiment.h"
#include "report.h"

#define BYTES 4096u
#define SSPS  3u

enum which { NONE, GUESTS, TASKS, CASES };
static const char *const case_names[CASES] = {"none", "guests", "tasks"};

/* A machine of its own, with two tasks and two guests. */
static struct {
	struct xst_system sys;
	struct xst_cpu cpu;
	struct xst_perm perm;
	struct xst_ctx task[2];
	struct xst_guest guest[2];
	uint8_t task_area[2][BYTES] __attribute__((aligned(64)));
	uint8_t guest_area[2][BYTES] __attribute__((aligned(64)));
} m;

static const char *failure;
static uint64_t passes;

static void must(int err, const char *what)
{
	if (err)
		panic("%s: %s", what, xst_strerror(err));
}

static void expect(bool ok, const char *what)
{
	passes += ok;
	if (!ok && !failure)
		failure = what;
}

/* --- the three machines --- */

static void bring_up(enum which which, uint64_t task_super)
{
	const uint64_t user = XST_WANT_ALL_USER | task_super;
	struct xst_caps caps = lab_system.caps;
	int err;

	if (which == NONE)
		caps.xss &= ~XST_MASK_CET_S;
	err = which == TASKS ? every_task_system_compute(&caps, user | XST_MASK_CET_S,
							 lab_system.avoided, &m.sys, NULL)
			     : xst_system_compute(&caps, user | XST_WANT_GUEST_CET,
						  lab_system.avoided, &m.sys, NULL);
	must(err, "a system");
	must(xst_cpu_init(&m.sys, &m.cpu, 0), "a CPU");
	xst_perm_init(&m.sys, &m.perm);
	for (unsigned i = 0; i < 2; i++) {
		struct xst_guest *g = &m.guest[i];

		must(xst_ctx_init(&m.sys, &m.task[i], m.task_area[i], BYTES), "a task");
		must(xst_guest_init(&m.sys, &m.perm, g, m.guest_area[i], BYTES, NULL), "a guest");
		must(xst_guest_set_xcr0(&m.cpu, g, g->mask & XST_MASK_USER, NULL), "XCR0");
		must(xst_guest_set_xss(g, g->mask & XST_MASK_SUPER, NULL), "IA32_XSS");
		must(xst_guest_set_direct(&m.sys, g, XST_DIRECT_SSP, NULL), "its pointers");
	}
}

static void set_policy(const char *name)
{
	must(xst_cpu_set_policy(&m.cpu, xst_policy_by_name(name), 0, NULL), name);
}

/* --- what is counted: a step, and as many calls of nothing with as many arguments --- */

static struct xst_ctx *const task0 = &m.task[0], *const task1 = &m.task[1];

static void switches(void)
{
	xst_switch(&m.cpu, task0, task1);
	xst_switch(&m.cpu, task1, task0);
}

static void no_switches(void)
{
	arch_nothing_of_three(&m.cpu, task0, task1);
	arch_nothing_of_three(&m.cpu, task1, task0);
}

static void deferred(void)
{
	xst_switch(&m.cpu, task0, task1);
	xst_return_to_user(&m.cpu);
	xst_switch(&m.cpu, task1, task0);
	xst_return_to_user(&m.cpu);
}

static void no_deferred(void)
{
	arch_nothing_of_three(&m.cpu, task0, task1);
	arch_nothing(&m.cpu);
	arch_nothing_of_three(&m.cpu, task1, task0);
	arch_nothing(&m.cpu);
}

/* An exit that the kernel handles by itself. */
static void stays(void)
{
	xst_guest_enter(&m.cpu, &m.guest[0]);
	xst_guest_exit(&m.cpu, &m.guest[0]);
}

static void no_stays(void)
{
	arch_nothing_of_two(&m.cpu, &m.guest[0]);
	arch_nothing_of_two(&m.cpu, &m.guest[0]);
}

/* From user mode into a guest, for one exit, and back. */
static void visit(struct xst_guest *guest)
{
	xst_guest_load(&m.cpu, guest);
	xst_guest_enter(&m.cpu, guest);
	xst_guest_exit(&m.cpu, guest);
	xst_guest_put(&m.cpu, guest);
	xst_return_to_user(&m.cpu);
}

static void no_visit(struct xst_guest *guest)
{
	arch_nothing_of_two(&m.cpu, guest);
	arch_nothing_of_two(&m.cpu, guest);
	arch_nothing_of_two(&m.cpu, guest);
	arch_nothing_of_two(&m.cpu, guest);
	arch_nothing(&m.cpu);
}

static void visits(void)
{
	visit(&m.guest[0]);
	visit(&m.guest[1]);
}

static void no_visits(void)
{
	no_visit(&m.guest[0]);
	no_visit(&m.guest[1]);
}

static const struct step {
	const char *policy;
	void (*run)(void), (*nothing)(void);
	unsigned events; /* in one run */
	bool in_guest;   /* guest 0 is loaded meanwhile */
	const char *events_name, *instructions_name, *moves_name, *msr_name;
} steps[] = {
#define STEP(name, policy, run, nothing, events, in_guest)                                         \
	{policy, run, nothing, events, in_guest, name "_events", name "_instructions",              \
	 name "_moves", name "_msr_writes"}
	STEP("eager", "eager", switches, no_switches, 2, false),
	STEP("deferred", "deferred", deferred, no_deferred, 2, false),
	STEP("stay", "deferred", stays, no_stays, 1, true),
	STEP("visit", "deferred", visits, no_visits, 2, false),
};

static uint64_t moves(void)
{
	const struct xst_counters *n = &m.cpu.n;

	return n->saves + n->loads + n->clears + n->apart_saves + n->apart_loads;
}

static uint64_t msr_writes(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 2; i++) {
		const struct xst_guest_counters *n = &m.guest[i].n;

		sum += n->xss_writes + n->xfd_writes + n->xfd_err_writes + n->ssp_writes;
	}
	return sum;
}

static uint64_t ticks(void (*run)(void))
{
	const uint64_t start = arch_rdtsc();

	for (uint64_t i = 0; i < args.loops; i++)
		run();
	return arch_rdtsc() - start;
}

/* Where the TSC counts instructions this is how many. */
static void count(const struct step *s)
{
	uint64_t all, nothing, moved, written;

	set_policy(s->policy);
	xst_switch(&m.cpu, m.cpu.cur, task0);
	xst_return_to_user(&m.cpu);
	if (s->in_guest)
		xst_guest_load(&m.cpu, &m.guest[0]);
	s->run();
	moved = moves();
	written = msr_writes();
	all = ticks(s->run);
	moved = moves() - moved;
	written = msr_writes() - written;
	nothing = ticks(s->nothing);
	if (s->in_guest)
		xst_guest_put(&m.cpu, &m.guest[0]);
	report_field(s->events_name, s->events * args.loops);
	report_field(s->instructions_name, all - nothing - moved);
	report_field(s->moves_name, moved);
	report_field(s->msr_name, written);
}

/* --- who has which pointers --- */

static uint64_t pointer(unsigned owner, unsigned n)
{
	return 0x10000u + 0x1000u * owner + 0x100u * n + (mix64(args.seed + owner) & 0xf8u);
}

static void put_pointers(unsigned owner)
{
	for (unsigned n = 0; n < SSPS; n++)
		xst_w_set_ssp(NULL, n, pointer(owner, n));
}

static bool has_pointers(unsigned owner)
{
	bool same = true;

	for (unsigned n = 0; n < SSPS; n++)
		same &= xst_w_ssp(NULL, n) == pointer(owner, n);
	return same;
}

/* Bit 12 of XSTATE_BV and of XCOMP_BV in an image. */
static unsigned bits_of(const uint8_t *image)
{
	uint64_t bv, comp;

	__builtin_memcpy(&bv, image + XST_HEADER_OFFSET, sizeof(bv));
	__builtin_memcpy(&comp, image + XST_HEADER_OFFSET + 8, sizeof(comp));
	return (unsigned)((bv >> XST_COMP_CET_S & 1) | (comp >> XST_COMP_CET_S & 1) << 1);
}

static void guest_writes(unsigned i)
{
	xst_guest_load(&m.cpu, &m.guest[i]);
	xst_guest_enter(&m.cpu, &m.guest[i]);
	put_pointers(i);
	xst_guest_exit(&m.cpu, &m.guest[i]);
	xst_guest_put(&m.cpu, &m.guest[i]);
}

static void guest_looks(unsigned i)
{
	bool own;

	xst_guest_load(&m.cpu, &m.guest[i]);
	xst_guest_enter(&m.cpu, &m.guest[i]);
	own = has_pointers(i);
	xst_guest_exit(&m.cpu, &m.guest[i]);
	xst_guest_put(&m.cpu, &m.guest[i]);
	expect(own, "a guest's shadow-stack pointers are not its own");
}

static void judge(enum which which)
{
	const unsigned guests = which == NONE ? 0 : 3;
	bool task1_kept;

	set_policy("deferred");
	xst_switch(&m.cpu, m.cpu.cur, task0);
	xst_return_to_user(&m.cpu);
	if (which == TASKS)
		put_pointers(2);
	xst_switch(&m.cpu, task0, task1);
	xst_return_to_user(&m.cpu);
	if (which == TASKS)
		put_pointers(3);
	guest_writes(0);
	guest_writes(1);
	xst_return_to_user(&m.cpu);
	guest_looks(0);
	xst_return_to_user(&m.cpu);
	guest_looks(1);
	xst_ctx_flush(&m.cpu, &m.guest[0].ctx);
	xst_ctx_flush(&m.cpu, &m.guest[1].ctx);
	expect(bits_of(m.guest_area[0]) == guests && bits_of(m.guest_area[1]) == guests,
	       "bit 12 of a guest's image");
	xst_return_to_user(&m.cpu);
	task1_kept = has_pointers(3);
	xst_switch(&m.cpu, task1, task0);
	xst_return_to_user(&m.cpu);
	if (which == TASKS) {
		expect(task1_kept && has_pointers(2), "a task's shadow-stack pointers are not its own");
		expect(bits_of(xst_ctx_apart(&m.sys, task1)) == 3, "bit 12 of a task's image");
	} else {
		expect(!bits_of(m.task_area[0]) && !bits_of(m.task_area[1]) &&
		       (!m.sys.apart || !bits_of(xst_ctx_apart(&m.sys, task1))),
		       "a task's image has CET_S");
	}
}

static bool cet_s_phase(unsigned number)
{
	if (number)
		return false;
	if (lab_system.insn != XST_INSN_XSAVES || !(lab_system.caps.xss & XST_MASK_CET_S))
		report_skipped("no XSAVES with CET_S here");
	report_point_start();
	for (unsigned i = 0; i < 2 * CASES; i++) {
		const enum which which = (enum which)(i % CASES);

		bring_up(which, i < CASES ? XST_MASK_CET_U : 0);
		report_point_begin();
		report_field_text("case", case_names[which]);
		report_field("tasks_have_cet_u", i < CASES);
		report_field("task_bytes", m.sys.host.bytes);
		report_field("guest_bytes", m.sys.guest.bytes);
		for (unsigned s = 0; s < sizeof(steps) / sizeof(steps[0]); s++)
			count(&steps[s]);
		judge(which);
		report_point_end();
		xst_switch(&m.cpu, m.cpu.cur, NULL);
		xst_cpu_offline(&m.cpu);
	}
	engine_cpu_online(&cpus[0]);
	return false;
}

static const char *cet_s_verdict(void)
{
	return failure;
}

static void cet_s_report(void)
{
	report_field("passes", passes);
}

const struct experiment exp_cet_s = {
	.name = "cet-s",
	.summary = "CET_S in no task, in guests only, in every task: what the engine executes",
	.loops = 100,
	.min_cpus = 1,
	.max_cpus = 1,
	.phase = cet_s_phase,
	.verdict = cet_s_verdict,
	.report = cet_s_report,
};

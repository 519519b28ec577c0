// SPDX-License-Identifier: BSD-2-Clause
/*
 * `guest`: virtual machines under SVM or VMX, on the library's guests.
 *
 * First a tour: a guest leads through every kind of exit once, in a known order. Then two virtual
 * CPUs for each CPU, run by threads that have registers of their own; other tasks with registers,
 * kernel threads and sections of the kernel's on the same CPUs. Whoever looks, inside or outside,
 * must find its own values; and an exit after which the kernel stays moves no register at all.
 */
#include "experiment.h"
#include "engine.h"
#include "hypervisor.h"
#include "report.h"
#include "ring3_guest.h"

#define VCPUS_PER_CPU 2u
#define EXITS_PER_SLOT 16u /* of another task: about as often as a thread yields */

static const struct guest_machine *machine;
static uint64_t passes;
static bool toured;

static void tour(void)
{
	static struct vcpu vcpu;

	guest_start(machine, &cpus[0]);
	passes = guest_tour_run(machine, &vcpu, 0);
	toured = passes == (guest_xsetbv_exits() ? TOUR_STEPS : TOUR_XSETBV);
}

static void create_threads(void)
{
	const uint32_t count = VCPUS_PER_CPU * cpu_count < GUEST_MAX ? VCPUS_PER_CPU * cpu_count
								     : GUEST_MAX;
	struct task_spec spec = {.program = user_vcpu, .use = USE_ALWAYS, .live_random = true};

	for (uint32_t id = 0; id < count; id++) {
		hypervisor_create(machine, id, args.loops);
		spec.peer = id;
		spec.cpu = id % cpu_count;
		task_create_user(&spec);
	}
	spec.program = user_worker;
	spec.loops = args.loops / EXITS_PER_SLOT;
	for (uint32_t id = 0; id < cpu_count; id++) {
		spec.cpu = id;
		spec.use = USE_ALWAYS;
		task_create_user(&spec);
		spec.use = USE_SELDOM;
		task_create_user(&spec);
		experiment_kernel_noise(id);
		experiment_hotplug(id);
	}
	lab_total = count * args.loops;
}

static bool guest_phase(unsigned number)
{
	const char *why;

	if (number > 0)
		return false;
	machine = guest_machine(&why);
	if (!machine)
		report_skipped(why);
	if (lab_system.insn < XST_INSN_XSAVE)
		report_skipped("this CPU has no XSAVE, so its guests have nothing to switch");
	tour();
	if (toured)
		create_threads();
	return toured;
}

static uintptr_t guest_call(struct cpu *cpu, uintptr_t exits)
{
	return hypervisor_run(cpu, cpu->current->user->peer, exits);
}

static void guest_saved(const struct xst_ctx *ctx, bool elided)
{
	if (!elided)
		hypervisor_saved(ctx);
}

struct inside {
	uint64_t checks, slots, grown, shrunk, refused, ts_traps, xsaves;
};

static struct inside inside(void)
{
	struct inside sum = {0};

	for (unsigned id = 0; id < GUEST_MAX; id++) {
		const struct guest_block *g = &guest_blocks[id];

		sum.checks += g->own.checks;
		sum.slots += g->own.slots;
		sum.grown += g->grown;
		sum.shrunk += g->shrunk;
		sum.refused += g->refused;
		sum.ts_traps += g->ts_traps;
		sum.xsaves += g->xsaves;
	}
	return sum;
}

static bool has_cet_s(void)
{
	return lab_system.guest.mask & XST_MASK_CET_S;
}

static const char *guest_verdict(void)
{
	struct engine_totals totals;
	struct hypervisor_totals t;
	const struct inside g = inside();

	if (!toured)
		return "a guest did not exit as it must";
	hypervisor_sum(&t);
	if (t.stayed_loads || t.stayed_saves)
		return "an exit after which the kernel stayed moved registers";
	if (t.most_saves > 1)
		return "a thread was saved twice to turn to its virtual CPU";
	if (t.images_wrong)
		return "a guest's CET_S was not in its image";
	if (host_images_wrong)
		return "an image of the host's has CET_S";
	/* Where a virtual CPU stopped it may not have counted its last one. */
	if (t.nm < g.ts_traps || t.nm > g.ts_traps + GUEST_MAX)
		return "a guest's own #NM did not come to it";
	if (!t.stayed || !t.yields || !t.copies || !t.images || !t.by_kind[GUEST_EXIT_INTERRUPT] ||
	    !t.nm || !t.refused || !g.refused ||
	    (lab_system.mask & XST_MASK_AVX && (!g.grown || !g.shrunk)))
		return "too short: not everything happened";
	engine_totals(&totals);
	if (!totals.offlines || (cpu_count > 1 && !t.moves))
		return "too short: no virtual CPU changed CPUs, or no CPU went off and on";
	if (lab_system.guest_cet_s && (!t.cet_reads || !t.ssp_writes))
		return "too short: CET_S was not switched by software";
	if (has_cet_s() && (!t.images_cet || !t.cet_reads || !g.xsaves || !host_images ||
			    (machine->xss_exiting && !t.by_kind[GUEST_EXIT_XSAVES])))
		return "too short: CET_S was not looked at";
	return NULL;
}

static void guest_report(void)
{
	struct engine_totals totals;
	struct hypervisor_totals t;
	const struct inside g = inside();

	engine_totals(&totals);
	hypervisor_sum(&t);
	report_field_text("virtualization", machine->name);
	report_field("passes", passes);
	report_field_hex("guest_mask", lab_system.guest.mask);
	report_field("exits", t.exits);
	report_field("exits_stayed", t.stayed);
	report_field("stayed_loads", t.stayed_loads);
	report_field("stayed_saves", t.stayed_saves);
	report_field("stayed_instructions",
		     engine_guest_instructions(t.stayed_ticks, 2 * t.stayed));
	report_field("exits_interrupt", t.by_kind[GUEST_EXIT_INTERRUPT]);
	report_field("exits_xsetbv", t.by_kind[GUEST_EXIT_XSETBV]);
	report_field("exits_xsaves", t.by_kind[GUEST_EXIT_XSAVES] + t.by_kind[GUEST_EXIT_XRSTORS]);
	report_field("guest_checks", g.checks);
	report_field("guest_nm", t.nm);
	report_field("guest_refused", g.refused);
	report_field("xcr0_grown", g.grown);
	report_field("xcr0_shrunk", g.shrunk);
	report_field("guest_xsaves", g.xsaves);
	report_field("thread_loads", t.loads_of_thread);
	report_field("thread_most_saves", t.most_saves);
	report_field("vcpu_moves", t.moves);
	report_field("vcpu_yields", t.yields);
	report_field("vcpu_flips", t.flips);
	report_field("vcpu_copies", t.copies);
	report_field("offlines", totals.offlines);
	report_field("control_writes", t.writes);
	report_field("ssp_writes", t.ssp_writes);
	report_field("cet_reads", t.cet_reads);
	report_field("guest_images_cet_s", t.images_cet);
	report_field("guest_images_wrong", t.images_wrong);
	report_field("host_images", host_images);
	report_field("host_images_cet_s", host_images_wrong);
}

const struct experiment exp_guest = {
	.name = "guest",
	.summary = "guests under SVM and VMX: registers on both sides of every exit",
	.loops = 2000,
	.preempt = true,
	.guests = true,
	.sections = true,
	.min_cpus = 1,
	.max_cpus = 2,
	.phase = guest_phase,
	.call = guest_call,
	.saved = guest_saved,
	.verdict = guest_verdict,
	.report = guest_report,
};

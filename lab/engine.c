// SPDX-License-Identifier: BSD-2-Clause
/*
 * The wrappers of engine.h.
 *
 * Cost is counted in executed instructions where the machine's TSC counts these
 * (QEMU with -icount shift=0, Bochs with one CPU), on one CPU only; the cost of
 * reading the TSC around a call of nothing is measured at boot and taken off.
 *
 * CR0.TS is checked at each entry to user mode against what the policy promises,
 * with the engine's validations counter as the only hint; #NM are counted here too.
 */
#include "engine.h"
#include <xst/bringup.h>
#include <xst/guest.h>
#include <xst/image.h>
#include <xst/world.h>
#include "experiment.h"
#include "task.h"

#define EVENTS             32u /* a power of two */
#define CALIBRATION_ROUNDS 4096u
#define SPIN_ROUNDS        100000u

enum event_kind {
	EVENT_SWITCH,
	EVENT_RETURN,
	EVENT_TRAP,
	EVENT_FORK,
	EVENT_EXEC,
	EVENT_FLUSH,
	EVENT_CHANGED,
	EVENT_EXIT,
	EVENT_POLICY,
	EVENT_MOVING,
	EVENT_OFFLINE,
	EVENT_ONLINE,
	EVENT_GUEST_LOAD,
	EVENT_GUEST_PUT,
};

static const char *const event_names[] = {
	"switch", "return-to-user", "device-not-available", "fork", "exec", "flush", "changed", "exit",
	"policy", "moving", "offline", "online", "guest-load", "guest-put",
};

struct event {
	uint8_t kind;
	bool ts;
	uint32_t from, to; /* task ids; the same where only one is meant */
	const char *policy;
	uint64_t number, validations, saves, loads;
};

struct side {
	struct event ring[EVENTS];
	uint64_t events;
	const struct xst_policy *policy; /* what the lab last asked for */
	bool flipped;                    /* since the last switch: TS may be either way */
	uint64_t validations_at_switch, kept_at_switch, preloads_at_switch;
	uint64_t ts_checks, ts_mismatches, traps, traps_at_first_use, area_traps;
	uint64_t bound, offlines;
	uint64_t epochs_first_use, epochs_other;
} __attribute__((aligned(64)));

static struct side sides[LAB_MAX_CPUS];

static bool counted, counting;
static uint32_t mismatches_shown;
/* Of CALIBRATION_ROUNDS measurements of nothing, with as many arguments as the events have. */
static uint64_t empty_sum, empty_sum_guest, empty_sum_switch;
static uint64_t cost_switch, cost_return, cost_trap, cost_guest;
static uint64_t calls_switch, calls_return, calls_trap, calls_guest;
static uint64_t pkru_moves;

/* Nothing else may come between the two readings. */
#define COUNTED(which, call)                                                                       \
	do {                                                                                       \
		if (counting) {                                                                    \
			const uint64_t start = arch_rdtsc();                                       \
                                                                                                   \
			call;                                                                      \
			cost_##which += arch_rdtsc() - start;                                      \
			calls_##which++;                                                           \
		} else {                                                                           \
			call;                                                                      \
		}                                                                                  \
	} while (0)

static uint64_t spin_cost(void)
{
	uint64_t start = arch_rdtsc();

	arch_spin(SPIN_ROUNDS);
	return arch_rdtsc() - start;
}

static bool near_spin(uint64_t cost)
{
	uint64_t expected = 2 * SPIN_ROUNDS;

	return cost >= expected - expected / 100 && cost <= expected + expected / 100;
}

void engine_calibrate(void)
{
	uint64_t first = spin_cost(), second = spin_cost();

	counted = cpu_count == 1 && near_spin(first) && near_spin(second) &&
		  (first > second ? first - second : second - first) <= 2;
	counting = counted;
	for (unsigned i = 0; i < CALIBRATION_ROUNDS; i++) {
		uint64_t start = arch_rdtsc();

		arch_nothing_of_three(&cpus[0].fpu, &cpus[0], &cpus[1]);
		empty_sum_switch += arch_rdtsc() - start;
		start = arch_rdtsc();
		arch_nothing_of_two(&cpus[0].fpu, &cpus[0]);
		empty_sum_guest += arch_rdtsc() - start;
		start = arch_rdtsc();
		arch_nothing(&cpus[0].fpu);
		empty_sum += arch_rdtsc() - start;
	}
}

static void remember(struct cpu *cpu, enum event_kind kind, uint32_t from, uint32_t to)
{
	struct side *side = &sides[cpu->id];
	struct event *event = &side->ring[side->events % EVENTS];

	*event = (struct event){
		.kind = (uint8_t)kind,
		.ts = (arch_read_cr0() & CR0_TS) != 0,
		.from = from,
		.to = to,
		.policy = side->policy->name,
		.number = side->events++,
		.validations = cpu->fpu.n.validations,
		.saves = cpu->fpu.n.saves,
		.loads = cpu->fpu.n.loads,
	};
}

void engine_dump_events(const struct cpu *cpu)
{
	const struct side *side = &sides[cpu->id];
	uint64_t first = side->events > EVENTS ? side->events - EVENTS : 0;

	for (uint64_t i = first; i < side->events; i++) {
		const struct event *event = &side->ring[i % EVENTS];

		print("{\"lab\":\"event\",\"cpu\":%u,\"number\":%llu,\"event\":\"%s\",\"from\":%u,"
		      "\"to\":%u,\"ts\":%s,\"policy\":\"%s\",\"validations\":%llu,\"saves\":%llu,"
		      "\"loads\":%llu}\n",
		      cpu->id, (unsigned long long)event->number, event_names[event->kind],
		      event->from, event->to, event->ts ? "true" : "false", event->policy,
		      (unsigned long long)event->validations, (unsigned long long)event->saves,
		      (unsigned long long)event->loads);
	}
}

static bool first_use(const struct side *side)
{
	return side->policy->load == XST_LOAD_FIRST_USE;
}

static void set_policy(struct cpu *cpu, const struct xst_policy *policy)
{
	struct xst_diag diag = {0};
	int err = xst_cpu_set_policy(&cpu->fpu, policy, XST_FORCE, &diag);

	if (err)
		panic("policy %s refused: %s", policy->name, diag.rule ? diag.rule : "?");
	sides[cpu->id].policy = policy;
	sides[cpu->id].flipped = true;
}

void engine_cpu_start(struct cpu *cpu, const struct xst_policy *policy)
{
	int err = xst_cpu_init(&lab_system, &cpu->fpu, cpu->id);

	if (err)
		panic("xst_cpu_init on cpu %u: %s", cpu->id, xst_strerror(err));
	set_policy(cpu, policy);
	xst_cpu_reset_counters(&cpu->fpu);
}

/* Whose registers an event may save, and what had been saved before it. */
struct before {
	const struct xst_ctx *owner;
	uint64_t saves, elided;
};

static struct before look(const struct cpu *cpu)
{
	return (struct before){cpu->fpu.owner, cpu->fpu.n.saves, cpu->fpu.n.saves_elided};
}

static void tell_saved(const struct cpu *cpu, const struct before *before)
{
	const struct xst_counters *n = &cpu->fpu.n;

	if (!experiment->saved)
		return;
	if (n->saves != before->saves || n->saves_elided != before->elided)
		experiment->saved(before->owner, n->saves_elided != before->elided);
}

/*
 * RDPKRU and WRPKRU are to PKRU what XSAVE and XRSTOR are to the rest, and are told apart from what
 * the engine does around them, too. What the switch to come must execute is known outside: one RDPKRU
 * where a task is on either side (it keeps what the one had, or sees whether the other has another),
 * one WRPKRU where the next task's differs. If it executes more, that is the engine's.
 */
static void count_pkru(const struct xst_ctx *previous, const struct xst_ctx *next)
{
	if (!counting || !lab_system.pkru)
		return;
	if (previous || next)
		pkru_moves++;
	if (next && next != previous && next->pkru != xst_rdpkru())
		pkru_moves++;
}

void engine_switch(struct cpu *cpu, const struct task *previous, struct xst_ctx *previous_ctx,
		   struct task *next, struct xst_ctx *next_ctx)
{
	struct side *side = &sides[cpu->id];
	const struct xst_counters *n = &cpu->fpu.n;
	struct before before = look(cpu);

	count_pkru(previous_ctx, next_ctx);
	side->validations_at_switch = n->validations;
	side->kept_at_switch = n->loads_skipped_owner;
	side->preloads_at_switch = n->preloads;
	side->flipped = false;
	COUNTED(switch, xst_switch(&cpu->fpu, previous_ctx, next_ctx));
	tell_saved(cpu, &before);
	if (next->user && n->preloads != side->preloads_at_switch &&
	    next->user->slots >= next->user->used_up_to) {
		/* A use in between: the earlier ones were not too many. */
		if (next->user->used_up_to > next->last_preload_slot)
			next->preloads_after_use = 0;
		next->preloads_after_use++;
		next->last_preload_slot = next->user->slots;
	}
	remember(cpu, EVENT_SWITCH, previous->id, next->id);
}

static void mismatch(struct cpu *cpu, const char *rule)
{
	struct side *side = &sides[cpu->id];

	if (__atomic_fetch_add(&mismatches_shown, 1, __ATOMIC_RELAXED) < 4) {
		print("{\"lab\":\"ts-mismatch\",\"cpu\":%u,\"task\":%u,\"policy\":\"%s\",\"ts\":%s,"
		      "\"rule\":\"%s\"}\n",
		      cpu->id, cpu->current->id, side->policy->name,
		      arch_read_cr0() & CR0_TS ? "true" : "false", rule);
		engine_dump_events(cpu);
	}
	side->ts_mismatches++;
}

/*
 * What can be said from outside. A policy that loads at switch-in or at return to
 * user mode has TS clear here, always. Under first use TS is set unless registers
 * were put in place since the switch, by #NM, by an early load or because they
 * still were the task's.
 */
static void check_ts(struct cpu *cpu, struct side *side)
{
	const struct xst_counters *n = &cpu->fpu.n;
	bool ts = (arch_read_cr0() & CR0_TS) != 0, expected = false;

	if (!cpu->current->fpu.area) {
		/* Whatever the policy: the first use must be seen. */
		expected = true;
	} else if (first_use(side)) {
		if (side->flipped)
			return;
		expected = n->validations == side->validations_at_switch;
		if (!side->policy->keep_owner && n->loads_skipped_owner != side->kept_at_switch)
			mismatch(cpu, "the policy does not keep registers");
		if (!side->policy->preload_after && n->preloads != side->preloads_at_switch)
			mismatch(cpu, "the policy does not load early");
	}
	side->ts_checks++;
	if (ts != expected)
		mismatch(cpu, ts ? "TS is set though registers are in place"
				 : "TS is clear though registers are not in place");
}

void engine_return_to_user(struct cpu *cpu)
{
	uint64_t validations = cpu->fpu.n.validations;
	struct before before = look(cpu);

	COUNTED(return, xst_return_to_user(&cpu->fpu));
	tell_saved(cpu, &before);
	check_ts(cpu, &sides[cpu->id]);
	if (cpu->fpu.n.validations != validations)
		remember(cpu, EVENT_RETURN, cpu->current->id, cpu->current->id);
}

/* The task touches a register for the first time: only now it costs memory. */
static int first_area(struct cpu *cpu, struct task *task)
{
	int err = xst_device_not_available(&cpu->fpu);

	sides[cpu->id].area_traps++;
	if (err == XST_ERR_NEED_BYTES)
		err = xst_ctx_attach(&cpu->fpu, &task->fpu, task_area(task), AREA_BYTES);
	remember(cpu, EVENT_TRAP, task->id, task->id);
	return err;
}

int engine_device_not_available(struct cpu *cpu)
{
	struct side *side = &sides[cpu->id];
	struct before before = look(cpu);
	int err;

	if (!cpu->current->fpu.area)
		return first_area(cpu, cpu->current);
	side->traps++;
	if (first_use(side))
		side->traps_at_first_use++;
	else
		mismatch(cpu, "#NM under a policy that does not set TS");
	COUNTED(trap, err = xst_device_not_available(&cpu->fpu));
	tell_saved(cpu, &before);
	remember(cpu, EVENT_TRAP, cpu->current->id, cpu->current->id);
	return err;
}

/* FNSAVE takes away what was in place. */
static void after_flush(struct cpu *cpu)
{
	if (lab_system.insn == XST_INSN_FNSAVE)
		sides[cpu->id].validations_at_switch = cpu->fpu.n.validations;
}

void engine_fork(struct cpu *cpu, struct task *parent, struct task *child)
{
	xst_ctx_fork(&cpu->fpu, &parent->fpu, &child->fpu);
	after_flush(cpu);
	remember(cpu, EVENT_FORK, parent->id, child->id);
}

void engine_exec(struct cpu *cpu, struct task *task)
{
	xst_ctx_exec(&cpu->fpu, &task->fpu);
	/* What was in place at the switch no longer is. */
	sides[cpu->id].validations_at_switch = cpu->fpu.n.validations;
	remember(cpu, EVENT_EXEC, task->id, task->id);
}

void engine_flush(struct cpu *cpu, struct task *task)
{
	struct before before = look(cpu);

	xst_ctx_flush(&cpu->fpu, &task->fpu);
	after_flush(cpu);
	tell_saved(cpu, &before);
	remember(cpu, EVENT_FLUSH, task->id, task->id);
}

void engine_changed(struct cpu *cpu, struct task *task)
{
	xst_ctx_changed(&cpu->fpu, &task->fpu);
	sides[cpu->id].validations_at_switch = cpu->fpu.n.validations;
	remember(cpu, EVENT_CHANGED, task->id, task->id);
}

void engine_section_ended(struct cpu *cpu)
{
	struct side *side = &sides[cpu->id];

	side->validations_at_switch = cpu->fpu.n.validations;
	/* Of a task that had nothing in place TS stays as it was. */
}

void engine_exit(struct cpu *cpu, struct task *task)
{
	xst_ctx_exit(&cpu->fpu, &task->fpu);
	remember(cpu, EVENT_EXIT, task->id, task->id);
}

void engine_guest_load(struct cpu *cpu, struct task *task, struct xst_guest *guest)
{
	struct before before = look(cpu);

	COUNTED(guest, xst_guest_load(&cpu->fpu, guest));
	task->guest = &guest->ctx;
	tell_saved(cpu, &before);
	remember(cpu, EVENT_GUEST_LOAD, task->id, task->id);
}

void engine_guest_put(struct cpu *cpu, struct task *task, struct xst_guest *guest)
{
	struct side *side = &sides[cpu->id];
	struct before before = look(cpu);

	/* Whatever was put in place since the switch was the guest's. */
	side->validations_at_switch = cpu->fpu.n.validations;
	side->kept_at_switch = cpu->fpu.n.loads_skipped_owner;
	side->preloads_at_switch = cpu->fpu.n.preloads;
	COUNTED(guest, xst_guest_put(&cpu->fpu, guest));
	task->guest = NULL;
	tell_saved(cpu, &before);
	remember(cpu, EVENT_GUEST_PUT, task->id, task->id);
}

void engine_guest_enter(struct cpu *cpu, struct xst_guest *guest)
{
	COUNTED(guest, xst_guest_enter(&cpu->fpu, guest));
}

void engine_guest_exit(struct cpu *cpu, struct xst_guest *guest)
{
	COUNTED(guest, xst_guest_exit(&cpu->fpu, guest));
}

void engine_moving(struct cpu *cpu, struct task *task)
{
	if (task->guest) {
		/* A guest's registers were saved at the switch, and the task's own before. */
	} else if (task_moving == MOVING_MARKED) {
		xst_ctx_migrate(&cpu->fpu, &task->fpu);
	} else if (task_moving == MOVING_BOUND && xst_ctx_home(&task->fpu) == cpu->id) {
		task->cpu = cpu->id;
		sides[cpu->id].bound++;
	}
	remember(cpu, EVENT_MOVING, task->id, task->id);
}

/* Values that are nobody's in every register that the save form reaches. */
static void poison_registers(struct cpu *cpu)
{
	static uint8_t areas[LAB_MAX_CPUS][AREA_BYTES] __attribute__((aligned(64)));
	uint8_t *area = areas[cpu->id];
	const struct xst_system *sys = &lab_system;
	uint32_t from = 32, to = 416;

	xst_fresh_image(sys->insn, sys->mask, area, sys->layout.bytes);
	if (sys->insn == XST_INSN_FNSAVE) {
		area[8] = area[9] = 0; /* all valid */
		from = 28;
		to = 108;
	} else {
		area[4] = 0xff;
	}
	for (uint32_t i = from; i < to; i++)
		area[i] = (uint8_t)(i | 0x41);
	if (sys->insn >= XST_INSN_XSAVE) {
		area[XST_HEADER_OFFSET] |= sys->mask & 7;
		for (uint32_t i = 0; i < 256 && (sys->mask & XST_MASK(XST_COMP_AVX)); i++)
			area[sys->layout.offset[XST_COMP_AVX] + i] = (uint8_t)(i | 0x82);
	}
	if (xst_w_load(NULL, sys->insn, area, sys->mask))
		panic("a good image cannot be loaded");
}

/* What guests had in IA32_PLn_SSP is gone too, and no CPU comes up with a host's IA32_XSS. */
static void poison_supervisor(void)
{
	if (lab_system.caps.xsaves)
		xst_wrmsr(XST_MSR_XSS, 0);
	if (!(lab_system.guest.mask & XST_MASK_CET_S) && !lab_system.guest_cet_s)
		return;
	for (uint32_t n = 0; n < 4; n++)
		xst_wrmsr(XST_MSR_PL_SSP + n, 0x1000 + 8 * n);
}

/* Ref: SDM vol. 3A, "Processor State After Reset": CR0, CR4 and XCR0 */
void engine_cpu_offline(struct cpu *cpu)
{
	uintptr_t cr4;

	xst_cpu_offline(&cpu->fpu);
	xst_clts();
	poison_registers(cpu);
	poison_supervisor();
	if (lab_system.insn >= XST_INSN_XSAVE)
		xst_xsetbv(0, 1);
	cr4 = arch_read_cr4();
	if (cr4)
		xst_write_cr4(cr4 & ~(XST_CR4_OSFXSR | XST_CR4_OSXMMEXCPT | XST_CR4_OSXSAVE |
				      XST_CR4_PKE));
	/* In VMX operation NE cannot be 0. */
	xst_write_cr0((xst_read_cr0() | XST_CR0_TS) &
		      ~(XST_CR0_MP | (cr4 & CR4_VMXE ? 0 : XST_CR0_NE)));
	sides[cpu->id].offlines++;
	remember(cpu, EVENT_OFFLINE, cpu->current->id, cpu->current->id);
}

void engine_cpu_online(struct cpu *cpu)
{
	struct xst_diag diag = {0};
	int err = xst_cpu_online(&cpu->fpu, &diag);

	if (err)
		panic("xst_cpu_online on cpu %u: %s, %s", cpu->id, xst_strerror(err),
		      diag.rule ? diag.rule : "?");
	remember(cpu, EVENT_ONLINE, cpu->current->id, cpu->current->id);
}

void engine_set_policy(struct cpu *cpu, const struct xst_policy *policy)
{
	struct side *side = &sides[cpu->id];

	set_policy(cpu, policy);
	if (first_use(side))
		side->epochs_first_use++;
	else
		side->epochs_other++;
	remember(cpu, EVENT_POLICY, cpu->current->id, cpu->current->id);
}

void engine_sum_counters(struct xst_counters *sum)
{
	uint64_t *to = (uint64_t *)sum;

	for (unsigned i = 0; i < sizeof(*sum) / sizeof(*to); i++) {
		to[i] = 0;
		for (uint32_t id = 0; id < cpu_count; id++)
			to[i] += ((const uint64_t *)&cpus[id].fpu.n)[i];
	}
	sum->section_longest = 0;
	for (uint32_t id = 0; id < cpu_count; id++)
		if (cpus[id].fpu.n.section_longest > sum->section_longest)
			sum->section_longest = cpus[id].fpu.n.section_longest;
}

/* Whole instructions: the calibration is an average, so it is taken off the sum. */
static uint64_t net_cost(uint64_t cost, uint64_t calls, uint64_t empty)
{
	uint64_t off = (calls * empty + CALIBRATION_ROUNDS / 2) / CALIBRATION_ROUNDS;

	return cost > off ? cost - off : 0;
}

uint64_t engine_guest_ticks(void)
{
	return cost_guest;
}

uint64_t engine_guest_instructions(uint64_t ticks, uint64_t calls)
{
	return counted ? net_cost(ticks, calls, empty_sum_guest) : 0;
}

void engine_totals(struct engine_totals *totals)
{
	struct xst_counters sum;

	*totals = (struct engine_totals){
		.counted = counted,
		.instructions_switch = net_cost(cost_switch, calls_switch, empty_sum_switch),
		.instructions_return = net_cost(cost_return, calls_return, empty_sum),
		.instructions_trap = net_cost(cost_trap, calls_trap, empty_sum),
		.instructions_guest = net_cost(cost_guest, calls_guest, empty_sum_guest),
		.pkru_moves = pkru_moves,
	};
	for (uint32_t id = 0; id < cpu_count; id++) {
		const struct side *side = &sides[id];

		totals->ts_checks += side->ts_checks;
		totals->ts_mismatches += side->ts_mismatches;
		totals->traps += side->traps;
		totals->traps_at_first_use += side->traps_at_first_use;
		totals->area_traps += side->area_traps;
		totals->bound += side->bound;
		totals->offlines += side->offlines;
		totals->fetches += cpus[id].fetches;
		totals->epochs_first_use += side->epochs_first_use;
		totals->epochs_other += side->epochs_other;
		if (!xst_counters_balanced(&cpus[id].fpu.n))
			totals->counter_error = "the counter identity does not hold";
	}
	engine_sum_counters(&sum);
	if (sum.traps != totals->traps)
		totals->counter_error = "the engine counted another number of #NM than the lab";
	if (sum.flips != totals->epochs_first_use + totals->epochs_other)
		totals->counter_error = "the engine counted another number of flips than the lab";
}

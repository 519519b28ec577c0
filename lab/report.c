// SPDX-License-Identifier: BSD-2-Clause
/* Writes the lines that report.h names. */
#include "report.h"
#include "engine.h"
#include "experiment.h"
#include "task.h"

#define PRINT_CORRUPTIONS 8u
#define STOP_CORRUPTIONS  256u /* the verdict is clear; do not spend minutes on it */

static uint32_t corruptions;

/* The counters by the library's own field names. A new one breaks the assertion below. */
#define COUNTER(name)                                                                              \
	{                                                                                          \
#name, offsetof(struct xst_counters, name)                                         \
	}
static const struct {
	const char *name;
	size_t offset;
} counters[] = {
	COUNTER(switches),
	COUNTER(validations),
	COUNTER(saves),
	COUNTER(saves_elided),
	COUNTER(loads),
	COUNTER(loads_skipped_owner),
	COUNTER(loads_elided_init),
	COUNTER(loads_failed),
	COUNTER(preloads),
	COUNTER(probes),
	COUNTER(traps),
	COUNTER(flips),
	COUNTER(clears),
	COUNTER(first_uses),
	COUNTER(apart_saves),
	COUNTER(apart_loads),
	COUNTER(apart_failed),
	COUNTER(kernel_sections),
	COUNTER(kernel_saves),
	COUNTER(kernel_init_x87),
	COUNTER(kernel_init_mxcsr),
	COUNTER(section_longest),
	COUNTER(xfd_traps),
	COUNTER(grows),
	COUNTER(refusals),
};
#undef COUNTER

#define COUNTERS (sizeof(counters) / sizeof(counters[0]))
_Static_assert(sizeof(struct xst_counters) == COUNTERS * sizeof(uint64_t),
	       "a counter is missing in the table");

/* One line is put together in pieces. */
static char line[4096];
static size_t used;

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	used += format_text(line + used, used < sizeof(line) ? sizeof(line) - used : 0, format,
			    list);
	va_end(list);
	if (used >= sizeof(line))
		panic("a result line of more than %u bytes", (unsigned)sizeof(line));
}

static void add_text(const char *name, const char *value)
{
	add(",\"%s\":", name);
	if (!value) {
		add("null");
		return;
	}
	add("\"");
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			add("\\");
		add("%c", *value);
	}
	add("\"");
}

static void add_number(const char *name, uint64_t value)
{
	add(",\"%s\":%llu", name, (unsigned long long)value);
}

static void add_bool(const char *name, bool value)
{
	add(",\"%s\":%s", name, value ? "true" : "false");
}

static void add_hex(const char *name, uint64_t value)
{
	add(",\"%s\":\"0x%llx\"", name, (unsigned long long)value);
}

static void begin(const char *kind)
{
	used = 0;
	add("{\"lab\":\"%s\"", kind);
}

static void finish(void)
{
	add("}\n");
	print_text(line);
}

static bool boot_reported;

void report_boot(void)
{
	const struct xst_caps *caps = &lab_system.caps;

	boot_reported = true;
	begin("boot");
	add_text("vendor", caps->vendor);
	add_number("family", caps->family);
	add_number("model", caps->model);
	add_number("stepping", caps->stepping);
	add_number("cpus", cpu_count);
	add_text("emulator", machine_name());
	add_hex("xcr0", lab_system.xcr0);
	add_hex("xss", lab_system.xss);
	add_hex("mask", lab_system.mask);
	add_text("insn", xst_insn_name(lab_system.insn));
	add_hex("avoided", lab_system.avoided);
	add_number("bits", 8 * sizeof(uintptr_t));
	add_number("area_bytes", lab_system.ctx_bytes);
	add_bool("pkru", lab_system.pkru);
	add_hex("mxcsr_mask", lab_system.caps.mxcsr_mask);
	finish();
}

void report_progress(void)
{
	print("{\"lab\":\"progress\",\"done\":%llu,\"total\":%llu}\n",
	      (unsigned long long)lab_progress(), (unsigned long long)lab_total);
}

uint64_t report_corruption_count(void)
{
	return __atomic_load_n(&corruptions, __ATOMIC_SEQ_CST);
}

void report_corruptions(uint32_t more)
{
	if (__atomic_add_fetch(&corruptions, more, __ATOMIC_SEQ_CST) >= STOP_CORRUPTIONS)
		report_result("registers were corrupted; stopped early");
}

uintptr_t report_corruption(const struct cpu *cpu, const struct mismatch *m)
{
	uint32_t number = __atomic_fetch_add(&corruptions, 1, __ATOMIC_SEQ_CST);

	if (number >= PRINT_CORRUPTIONS)
		return 1;
	print("{\"lab\":\"corruption\",\"task\":%u,\"cpu\":%u,\"component\":\"%s\","
	      "\"register\":\"%s%u\",\"word\":%u,\"slot\":%llu,\"want\":\"0x%llx\","
	      "\"got\":\"0x%llx\"}\n",
	      m->owner, cpu->id, xst_comp_info(m->component)->text, m->reg, m->number, m->word,
	      (unsigned long long)m->slot, (unsigned long long)m->want, (unsigned long long)m->got);
	if (number == 0)
		engine_dump_events(cpu);
	return 0;
}

void report_field(const char *name, uint64_t value)
{
	add_number(name, value);
}

void report_field_text(const char *name, const char *value)
{
	add_text(name, value);
}

void report_field_hex(const char *name, uint64_t value)
{
	add_hex(name, value);
}

static bool leaks_speculatively(void)
{
	for (unsigned i = 0; i < policy_count; i++) {
		if (xst_policy_leaky(policies[i]) && lab_system.leaky_cpu)
			return true;
	}
	return false;
}

static void begin_result(const char *status, const char *reason)
{
	begin("result");
	add_text("experiment", args.experiment);
	add_text("policy", args.policy);
	add_number("cpus", args.cpus);
	add_text("status", status);
	add_text("reason", reason);
	add_hex("seed", args.seed);
}

void report_skipped(const char *reason)
{
	/* Even if nothing is known yet of the CPU: it did boot. */
	if (!boot_reported)
		report_boot();
	begin_result("skipped", reason);
	finish();
	lab_exit(true);
}

/* What the engine executed beside the save and restore instructions themselves. */
static uint64_t engine_instructions(const struct engine_totals *totals,
				    const struct xst_counters *n)
{
	uint64_t all = totals->instructions_switch + totals->instructions_return +
		       totals->instructions_trap + totals->instructions_guest;
	uint64_t moves = n->saves + n->loads + n->clears + n->apart_saves + n->apart_loads +
			 totals->pkru_moves;

	return totals->counted ? all - moves : 0;
}

static void add_counters(const struct xst_counters *n, const struct xst_counters *before)
{
	for (unsigned i = 0; i < COUNTERS; i++) {
		size_t at = counters[i].offset;
		uint64_t now = *(const uint64_t *)((const uint8_t *)n + at);

		/* The longest one is no sum. */
		if (at != offsetof(struct xst_counters, section_longest))
			now -= *(const uint64_t *)((const uint8_t *)before + at);
		add_number(counters[i].name, now);
	}
}

static struct {
	struct xst_counters n;
	uint64_t instructions, slots, uses;
} point_before;

static void point_take(void)
{
	struct engine_totals totals;

	engine_totals(&totals);
	engine_sum_counters(&point_before.n);
	point_before.instructions = engine_instructions(&totals, &point_before.n);
	point_before.slots = point_before.uses = 0;
	for (unsigned i = 0; i < MAX_TASKS; i++) {
		point_before.slots += user_blocks[i].slots;
		point_before.uses += user_blocks[i].uses;
	}
}

void report_point_start(void)
{
	point_take();
}

void report_point_begin(void)
{
	begin("point");
}

void report_point_end(void)
{
	struct xst_counters n = point_before.n;
	uint64_t instructions = point_before.instructions, slots = point_before.slots;
	uint64_t uses = point_before.uses;

	point_take();
	add_number("slots", point_before.slots - slots);
	add_number("uses", point_before.uses - uses);
	add_number("engine_instructions", point_before.instructions - instructions);
	add_counters(&point_before.n, &n);
	finish();
}

void report_result(const char *reason)
{
	static const struct xst_counters zero;
	static uint32_t reporting;
	struct engine_totals totals;
	struct xst_counters sum;
	uint64_t checks = 0, init_checks = 0, fork_checks = 0, slots = 0, uses = 0, migrations = 0;

	/* Two CPUs may find the same end. */
	if (__atomic_exchange_n(&reporting, 1, __ATOMIC_SEQ_CST))
		arch_halt();
	engine_totals(&totals);
	engine_sum_counters(&sum);
	for (unsigned i = 0; i < MAX_TASKS; i++) {
		const struct user_block *u = &user_blocks[i];

		checks += u->checks;
		init_checks += u->init_checks;
		fork_checks += u->fork_checks;
		slots += u->slots;
		uses += u->uses;
		migrations += u->migrations;
	}
	if (!reason && corruptions)
		reason = "registers were corrupted";
	if (!reason && totals.ts_mismatches)
		reason = "CR0.TS was not what the policy promises";
	if (!reason)
		reason = totals.counter_error;

	begin_result(reason ? "failed" : experiment_status(), reason);
	add_bool("counted", totals.counted);
	add_number("engine_instructions", engine_instructions(&totals, &sum));
	add_number("instructions_switch", totals.instructions_switch);
	add_number("instructions_return", totals.instructions_return);
	add_number("instructions_trap", totals.instructions_trap);
	add_number("instructions_guest", totals.instructions_guest);
	add_number("pkru_moves", totals.pkru_moves);
	add_bool("leaks_speculatively", leaks_speculatively());
	add_number("corruptions", corruptions);
	add_number("checks", checks);
	add_counters(&sum, &zero);
	add_number("slots", slots);
	add_number("uses", uses);
	add_number("init_checks", init_checks);
	add_number("fork_checks", fork_checks);
	add_number("migrations", migrations);
	add_number("ts_checks", totals.ts_checks);
	add_number("ts_mismatches", totals.ts_mismatches);
	add_number("epochs_first_use", totals.epochs_first_use);
	add_number("epochs_other", totals.epochs_other);
	add_number("area_traps", totals.area_traps);
	experiment_report();
	finish();
	lab_exit(!reason);
}

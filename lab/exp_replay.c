// SPDX-License-Identifier: BSD-2-Clause
/*
 * `replay`: sequences of events that the explorer (tests/explore) printed, executed on two CPUs with
 * real registers. After every event each register, image and CR0.TS must be what the explorer's software
 * CPU predicted: this judges the model by the emulators, and finds a counterexample again.
 *
 * All of it runs in ring 0: "user mode" is a word here, but the instructions, the traps they raise and
 * the engine are the real ones. CPU 0 reads the text, the other CPU does what it is told.
 *
 *     start POLICY COMPONENTS
 *     EVENT cpuN [TASK] [COMPONENT] | cpu0 ... | cpu1 ... | images ...
 *
 * A value is a letter: what that task expects; 0: the initial value; ?: anything.
 */
#include "experiment.h"
#include "engine.h"
#include "report.h"
#include "xst_port.h"
#include <xst/bringup.h>
#include <xst/world.h>
#include "replay.h"

#define SEQUENCE_BYTES 49136

/* The runner patches it into the image, as it does with the command line. */
static const volatile struct {
	char magic[16];
	char text[SEQUENCE_BYTES];
} sequence = {"XSTLAB-SEQS-v1", "-"};

static struct xst_ctx tasks_fpu[REPLAY_TASKS];
static uint8_t areas[REPLAY_TASKS][AREA_BYTES] __attribute__((aligned(64)));
static bool alive[REPLAY_TASKS];
static uint64_t want[REPLAY_TASKS][REPLAY_COMPS];
static bool offline[2];
static uint32_t comps[REPLAY_COMPS], comp_count;
static uint64_t fresh_value, sequences, events, values, switches, loads, saves, traps;
static unsigned line_number;
static char problem[160];

__attribute__((format(printf, 1, 2))) static void disagree(const char *format, ...)
{
	va_list list;

	if (*problem)
		return;
	va_start(list, format);
	format_text(problem, sizeof(problem), format, list);
	va_end(list);
	print("{\"lab\":\"disagreement\",\"line\":%u,\"what\":\"%s\"}\n", line_number, problem);
}

/* ---- one word of the text ---- */

struct word {
	char text[32];
};

static const volatile char *next_word(const volatile char *at, struct word *word)
{
	unsigned n = 0;

	while (*at == ' ')
		at++;
	while (*at && *at != ' ' && *at != '\n' && n < sizeof(word->text) - 1)
		word->text[n++] = *at++;
	word->text[n] = '\0';
	return at;
}

static bool is(const struct word *word, const char *text)
{
	return text_equal(word->text, text);
}

static unsigned task_of(const struct word *word)
{
	unsigned t = (unsigned)(word->text[0] - 'A');

	return t < REPLAY_TASKS ? t : REPLAY_TASKS;
}

static unsigned comp_of(const struct word *word)
{
	unsigned k;

	for (k = 0; k < REPLAY_COMPS && !is(word, replay_comp_names[k]); k++)
		;
	return k;
}

/* ---- work for one CPU, done there ---- */

typedef void work(struct cpu *cpu, unsigned a, unsigned b);

static struct {
	work *work;
	unsigned a, b;
	uint32_t asked, done;
} remote;

static void on_cpu(unsigned id, work *what, unsigned a, unsigned b)
{
	if (id == this_cpu()->id) {
		what(this_cpu(), a, b);
		return;
	}
	remote.work = what;
	remote.a = a;
	remote.b = b;
	__atomic_store_n(&remote.asked, remote.asked + 1, __ATOMIC_RELEASE);
	/* It may want registers from here. */
	while (__atomic_load_n(&remote.done, __ATOMIC_ACQUIRE) != remote.asked)
		arch_irq_window();
}

static _Noreturn void other_cpu(void)
{
	for (;;) {
		while (__atomic_load_n(&remote.asked, __ATOMIC_ACQUIRE) == remote.done)
			arch_irq_window();
		remote.work(this_cpu(), remote.a, remote.b);
		__atomic_store_n(&remote.done, remote.done + 1, __ATOMIC_RELEASE);
	}
}

static struct xst_ctx *ctx_of(unsigned t)
{
	return t < REPLAY_TASKS ? &tasks_fpu[t] : NULL;
}

static unsigned current(const struct cpu *cpu)
{
	return cpu->fpu.cur ? (unsigned)(cpu->fpu.cur - tasks_fpu) : REPLAY_TASKS;
}

static void do_switch(struct cpu *cpu, unsigned t, unsigned b)
{
	(void)b;
	xst_switch(&cpu->fpu, cpu->fpu.cur, ctx_of(t));
}

static void do_return(struct cpu *cpu, unsigned a, unsigned b)
{
	(void)a, (void)b;
	xst_return_to_user(&cpu->fpu);
}

static void do_trap(struct cpu *cpu)
{
	unsigned t = current(cpu);
	int err = xst_device_not_available(&cpu->fpu);

	if (err == XST_ERR_NEED_BYTES)
		err = xst_ctx_attach(&cpu->fpu, &tasks_fpu[t], areas[t], AREA_BYTES);
	if (err)
		disagree("the engine does not know the trap: %s", xst_strerror(err));
}

static void do_use(struct cpu *cpu, unsigned k, unsigned b)
{
	uint64_t value = replay_new_value(k, ++fresh_value);
	unsigned vector = replay_write_register(k, value);

	(void)b;
	if (vector == VECTOR_NM)
		do_trap(cpu);
	else if (vector)
		disagree("vector %u from a register", vector);
	else if (current(cpu) < REPLAY_TASKS)
		want[current(cpu)][k] = value;
}

static void do_clear(struct cpu *cpu, unsigned k, unsigned b)
{
	(void)b;
	if (replay_clear_register(k))
		disagree("a register that is in place cannot be cleared");
	else if (current(cpu) < REPLAY_TASKS)
		want[current(cpu)][k] = replay_initial(k);
}

static void do_flush(struct cpu *cpu, unsigned t, unsigned b)
{
	(void)b;
	xst_ctx_flush(&cpu->fpu, &tasks_fpu[t]);
}

static void do_edit(struct cpu *cpu, unsigned t, unsigned k)
{
	uint64_t value = replay_new_value(k, ++fresh_value);

	xst_ctx_flush(&cpu->fpu, &tasks_fpu[t]);
	replay_write_image(&tasks_fpu[t], k, value);
	xst_ctx_changed(&cpu->fpu, &tasks_fpu[t]);
	want[t][k] = value;
}

static void do_spoil(struct cpu *cpu, unsigned t, unsigned b)
{
	(void)b;
	xst_ctx_flush(&cpu->fpu, &tasks_fpu[t]);
	areas[t][XST_HEADER_OFFSET + 16] = 1;
	xst_ctx_changed(&cpu->fpu, &tasks_fpu[t]);
	for (unsigned k = 0; k < REPLAY_GUARDED; k++)
		want[t][k] = replay_initial(k);
}

static void begin_task(unsigned t, bool empty)
{
	int err = empty ? xst_ctx_init(&lab_system, &tasks_fpu[t], NULL, 0) :
			  xst_ctx_init(&lab_system, &tasks_fpu[t], areas[t], AREA_BYTES);

	if (err)
		disagree("a task cannot begin: %s", xst_strerror(err));
	alive[t] = true;
	for (unsigned k = 0; k < REPLAY_COMPS; k++)
		want[t][k] = replay_initial(k);
}

static void do_new(struct cpu *cpu, unsigned t, unsigned empty)
{
	(void)cpu;
	begin_task(t, empty);
}

static void do_fork(struct cpu *cpu, unsigned child, unsigned b)
{
	unsigned parent = current(cpu);

	(void)b;
	begin_task(child, !tasks_fpu[parent].area);
	xst_ctx_fork(&cpu->fpu, &tasks_fpu[parent], &tasks_fpu[child]);
	for (unsigned k = 0; k < REPLAY_COMPS; k++)
		want[child][k] = want[parent][k];
}

static void do_exec(struct cpu *cpu, unsigned a, unsigned b)
{
	(void)a, (void)b;
	for (unsigned k = 0; k < REPLAY_COMPS; k++)
		want[current(cpu)][k] = replay_initial(k);
	xst_ctx_exec(&cpu->fpu, cpu->fpu.cur);
}

static void do_exit(struct cpu *cpu, unsigned t, unsigned b)
{
	(void)b;
	xst_ctx_exit(&cpu->fpu, &tasks_fpu[t]);
	alive[t] = false;
}

static struct xst_policy policy;

static void do_knob(struct cpu *cpu, unsigned a, unsigned b)
{
	struct xst_diag diag = {0};

	(void)a, (void)b;
	if (xst_cpu_set_policy(&cpu->fpu, &policy, XST_FORCE, &diag))
		disagree("policy refused: %s", diag.rule);
}

static void do_settle(struct cpu *cpu, unsigned t, unsigned b)
{
	(void)b;
	xst_ctx_migrate(&cpu->fpu, &tasks_fpu[t]);
}

static void do_offline(struct cpu *cpu, unsigned a, unsigned b)
{
	(void)a, (void)b;
	engine_cpu_offline(cpu);
	offline[cpu->id] = true;
}

static void do_online(struct cpu *cpu, unsigned a, unsigned b)
{
	(void)a, (void)b;
	engine_cpu_online(cpu);
	offline[cpu->id] = false;
}

/* ---- what the registers hold ---- */

static struct registers seen[2];

static void do_look(struct cpu *cpu, unsigned a, unsigned b)
{
	(void)a, (void)b;
	replay_read_registers(&seen[cpu->id]);
}

static void check(const char *where, unsigned number, unsigned k, char expected, uint64_t got)
{
	unsigned t = (unsigned)(expected - 'A');

	if (expected == '?')
		return;
	values++;
	if (expected != '0' && t >= REPLAY_TASKS)
		disagree("'%c' is no value", expected);
	else if (got != (expected == '0' ? replay_initial(k) : want[t][k]))
		disagree("%s%u %s should be %c, it is 0x%llx", where, number, replay_comp_names[k],
			 expected, (unsigned long long)got);
}

/* "cpu0 A user lazy owner=A TS sse=A pkru=0" */
static const volatile char *check_cpu(const volatile char *at, unsigned id)
{
	bool ts = false, looked = false;
	struct word word;

	for (at = next_word(at, &word); word.text[0] && word.text[0] != '|';
	     at = next_word(at, &word)) {
		unsigned k, length;

		if (is(&word, "off")) {
			if (!offline[id])
				disagree("cpu%u should be off", id);
			continue;
		}
		if (is(&word, "TS"))
			ts = true;
		for (k = 0; k < REPLAY_COMPS; k++) {
			const char *name = replay_comp_names[k];

			for (length = 0; name[length] && name[length] == word.text[length]; length++)
				;
			if (name[length] || word.text[length] != '=')
				continue;
			if (!looked)
				on_cpu(id, do_look, 0, 0);
			looked = true;
			check("cpu", id, k, word.text[length + 1], seen[id].value[k]);
		}
	}
	values += looked;
	if (looked && ts != seen[id].ts)
		disagree("cpu%u: CR0.TS should be %s", id, ts ? "set" : "clear");
	return at;
}

/* "A:0A B:??" */
static const volatile char *check_images(const volatile char *at)
{
	struct word word;

	for (at = next_word(at, &word); word.text[0]; at = next_word(at, &word)) {
		unsigned t = task_of(&word);

		if (t == REPLAY_TASKS || word.text[1] != ':' || !tasks_fpu[t].area) {
			disagree("no image is called %s", word.text);
			return at;
		}
		for (unsigned i = 0; i < comp_count && word.text[2 + i]; i++)
			check("image ", t, comps[i], word.text[2 + i],
			      replay_read_image(&tasks_fpu[t], comps[i]));
	}
	return at;
}

static const volatile char *check_prediction(const volatile char *at)
{
	struct word word;

	while (*at && *at != '\n') {
		at = next_word(at, &word);
		if (is(&word, "cpu0") || is(&word, "cpu1"))
			at = check_cpu(at, (unsigned)(word.text[3] - '0'));
		else if (is(&word, "images"))
			at = check_images(at);
		else if (!is(&word, "|"))
			disagree("not understood: %s", word.text);
	}
	return at;
}

/* ---- the sequence ---- */

static const struct {
	const char *name;
	work *work;
	enum { NOTHING, TASK, COMP, TASK_COMP, POLICY } argument;
} table[] = {
	{"switch", do_switch, TASK}, {"migrate", do_switch, TASK},   {"return", do_return, NOTHING},
	{"use", do_use, COMP},       {"clear", do_clear, COMP},      {"read", do_flush, TASK},
	{"edit", do_edit, TASK_COMP}, {"spoil", do_spoil, TASK},     {"fork", do_fork, TASK},
	{"new", do_new, TASK},       {"exec", do_exec, NOTHING},     {"exit", do_exit, TASK},
	{"knob", do_knob, POLICY},   {"settle", do_settle, TASK},    {"offline", do_offline, NOTHING},
	{"online", do_online, NOTHING},
};

static void take_counters(struct cpu *cpu)
{
	switches += cpu->fpu.n.switches;
	loads += cpu->fpu.n.loads;
	saves += cpu->fpu.n.saves;
	traps += cpu->fpu.n.traps;
	if (!xst_counters_balanced(&cpu->fpu.n))
		disagree("the counters do not add up");
}

/* As the explorer's machine begins: nothing runs, nobody owns a register, all are INIT. */
static void do_start(struct cpu *cpu, unsigned a, unsigned b)
{
	int err;

	(void)a, (void)b;
	take_counters(cpu);
	if (offline[cpu->id])
		do_online(cpu, 0, 0);
	err = xst_cpu_init(&lab_system, &cpu->fpu, cpu->id);
	if (err)
		disagree("xst_cpu_init: %s", xst_strerror(err));
	do_knob(cpu, 0, 0);
}

static bool parse_policy(const struct word *word)
{
	static char name[32];
	unsigned i = 0;

	do
		name[i] = word->text[i];
	while (word->text[i++]);
	return xst_policy_parse(name, &policy, NULL) == XST_OK;
}

static void start(const volatile char *at)
{
	struct word word;

	at = next_word(at, &word);
	if (!parse_policy(&word))
		disagree("no policy is called %s", word.text);
	comp_count = 0;
	next_word(at, &word);
	for (char *from = word.text; *from && comp_count < REPLAY_COMPS;) {
		struct word one;
		unsigned n = 0;

		for (; *from && *from != ','; from++)
			one.text[n++] = *from;
		one.text[n] = '\0';
		from += *from == ',';
		comps[comp_count] = comp_of(&one);
		if (comps[comp_count] == REPLAY_COMPS || !replay_has(comps[comp_count]))
			report_skipped("this machine lacks a component of the sequence");
		comp_count++;
	}
	for (unsigned id = 0; id < 2; id++)
		on_cpu(id, do_start, 0, 0);
	for (unsigned t = 0; t < REPLAY_TASKS; t++)
		begin_task(t, false);
	sequences++;
}

static const volatile char *event(const volatile char *at, const struct word *name)
{
	struct word word;
	unsigned e, id, a = 0, b = 0;

	for (e = 0; e < sizeof(table) / sizeof(table[0]) && !is(name, table[e].name); e++)
		;
	at = next_word(at, &word);
	id = (unsigned)(word.text[3] - '0');
	if (e == sizeof(table) / sizeof(table[0]) || id > 1 || !sequences) {
		disagree("no event: %s", name->text);
		return at;
	}
	if (table[e].argument != NOTHING)
		at = next_word(at, &word);
	if (table[e].argument == TASK || table[e].argument == TASK_COMP)
		a = task_of(&word);
	else if (table[e].argument == COMP)
		a = comp_of(&word);
	else if (table[e].argument == POLICY && !parse_policy(&word))
		disagree("no policy is called %s", word.text);
	if (table[e].argument == TASK_COMP) {
		at = next_word(at, &word);
		b = comp_of(&word);
	}
	for (at = next_word(at, &word); word.text[0] && word.text[0] != '|';
	     at = next_word(at, &word))
		b |= is(&word, "without-area");
	/* What each may be asked for; the explorer never prints anything else. */
	if ((a >= REPLAY_TASKS && table[e].work != do_switch && table[e].argument != COMP) ||
	    a > REPLAY_COMPS || b >= REPLAY_COMPS) {
		disagree("%s of what?", name->text);
		return at;
	}
	on_cpu(id, table[e].work, a, b);
	events++;
	this_cpu()->progress++;
	return at;
}

static void run_all(void)
{
	const volatile char *at = sequence.text;

	while (*at && !*problem) {
		struct word word;

		line_number++;
		if (*at == '#') {
			while (*at && *at != '\n')
				at++;
		} else {
			at = next_word(at, &word);
			if (is(&word, "start")) {
				start(at);
				while (*at && *at != '\n')
					at++;
			} else if (word.text[0]) {
				at = event(at, &word);
				if (!*problem)
					at = check_prediction(at);
			}
		}
		while (*at && *at != '\n')
			at++;
		at += *at == '\n';
	}
	for (unsigned id = 0; id < 2; id++)
		take_counters(&cpus[id]);
}

static bool replay_phase(unsigned number)
{
	if (number == 0) {
		if (sequence.text[0] == '-')
			panic("replay needs a sequence of events");
		if (lab_system.insn < XST_INSN_XSAVE)
			report_skipped("sequences are replayed with XSAVE and its kin only");
		task_create_kernel(other_cpu, 1);
		return true;
	}
	/* The other CPU's idle thread may not have begun it yet: the first command waits. */
	run_all();
	for (unsigned id = 0; id < 2; id++)
		xst_cpu_reset_counters(&cpus[id].fpu);
	return false;
}

static const char *replay_verdict(void)
{
	if (*problem)
		return problem;
	return events ? NULL : "the sequence holds no event";
}

static void replay_report(void)
{
	report_field("sequences", sequences);
	report_field("events", events);
	report_field("passes", values);
	report_field("replayed_switches", switches);
	report_field("replayed_saves", saves);
	report_field("replayed_loads", loads);
	report_field("replayed_traps", traps);
	report_field("lines", line_number);
}

const struct experiment exp_replay = {
	.name = "replay",
	.summary = "the explorer's sequences on real registers",
	.loops = 1,
	.min_cpus = 2,
	.max_cpus = 2,
	.phase = replay_phase,
	.verdict = replay_verdict,
	.report = replay_report,
};

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Run the real switching engine through every interleaving of events, on two CPUs with three tasks.
 *
 *   machine.c   the machine and its states as a few bytes
 *   events.c    what can happen, and what must hold afterwards: the place to add an event
 *   frames.c    the same of signal frames and tiles; sections.c of the kernel's own use
 *   guests.c    of virtual CPUs; guest_state.c what their owners do with them
 *   search.c    breadth first, every state once
 *   print.c     a violation as text, and back
 *
 * Exit: 0 nothing violated (or what --expect names was, and nothing else), 1 the opposite, 2 usage.
 */
#include <getopt.h>
#include <stdlib.h>

#include "print.h"

static struct machine machine;
static struct config config;
static struct search search;

static struct options {
	bool mix;             /* begin with every pair of policies */
	bool complete;        /* the search must come to its end */
	uint32_t at_least;    /* so many states must be found */
	enum check expect;
	const char *replay;
	unsigned walk, sequences;
	uint64_t seed;
} opt;

static const char usage[] =
	"usage: explore [options]\n"
	"  --policy A,B...    names or 'all'; a policy of fields goes alone, in quotes\n"
	"  --preload N        preload_after of the policies that have one (default 1)\n"
	"  --insn NAME        fnsave fxsave xsave xsaveopt xsavec xsaves (default xsaves)\n"
	"  --comps A,B...     what tasks touch: x87 sse avx tile cet pkru (default sse,pkru); and\n"
	"                     guests: cets\n"
	"  --mix              begin with every pair of the policies on the two CPUs\n"
	"  --knob             policies change while running\n"
	"  --empty            tasks that get their area at first use\n"
	"  --spoil            images that a restore refuses\n"
	"  --signals          signal frames, good and bad; ptrace that clears bits of XSTATE_BV\n"
	"  --sections         the kernel uses registers, in tasks and in interrupts\n"
	"  --guests N         so many virtual CPUs, 1 or 2, beside the tasks\n"
	"  --direct           they write control registers without an exit\n"
	"  --without A,B...   events that do not happen\n"
	"  --states N         stop after so many distinct states (default 100000)\n"
	"  --depth N          stop at this depth\n"
	"  --complete         fail unless all that can be reached was\n"
	"  --at-least N       fail with fewer distinct states\n"
	"  --twin NAME        break the engine; --expect CHECK: it must be caught by this check,\n"
	"                     and by no other when this one is not made\n"
	"  --replay FILE      run a printed sequence ('-': standard input)\n"
	"  --walk N --seed S  N random steps, each also from the packed state: same result?\n"
	"  --sequences N      print N random walks of --walk steps each, with what the registers then\n"
	"                     hold, for `xstate lab run replay --sequence`\n"
	"  --progress\n";

static int fail(const char *what, const char *which)
{
	fprintf(stderr, "explore: %s '%s'\n%s", what, which, usage);
	return 2;
}

static bool add_policy(const char *name)
{
	if (config.policies == MAX_POLICIES)
		return false;
	return xst_policy_parse(name, &config.policy[config.policies++], NULL) == XST_OK;
}

static bool parse_policies(char *list)
{
	char *name;
	unsigned i;

	config.policies = 0;
	if (!strcmp(list, "all")) {
		for (i = 0; i < XST_POLICY_COUNT; i++)
			config.policy[config.policies++] = *xst_policy_at(i);
		return true;
	}
	if (strchr(list, '='))
		return add_policy(list);
	for (name = strtok(list, ","); name; name = strtok(NULL, ","))
		if (!add_policy(name))
			return false;
	return config.policies > 0;
}

static bool parse_comps(char *list)
{
	char *name;
	unsigned k;

	config.comps = 0;
	for (name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		for (k = 0; k < COMPS && strcmp(name, comp_name[k]); k++)
			;
		if (k == COMPS)
			return false;
		config.comps |= 1u << k;
	}
	return config.comps != 0;
}

static bool parse_events(char *list)
{
	char *name;

	for (name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		const unsigned e = event_row(name);

		if (e == event_count)
			return false;
		config.without |= 1ULL << e;
	}
	return config.without != 0;
}

static bool parse_insn(const char *name)
{
	unsigned i;

	for (i = XST_INSN_FNSAVE; i <= XST_INSN_XSAVES; i++)
		if (!strcmp(name, xst_insn_name((enum xst_insn)i))) {
			config.insn = (enum xst_insn)i;
			return true;
		}
	return false;
}

static bool parse_check(const char *name, enum check *check)
{
	unsigned i;

	for (i = 1; i < CHECK_COUNT; i++)
		if (!strcmp(name, check_name((enum check)i))) {
			*check = (enum check)i;
			return true;
		}
	return false;
}

static bool parse_twin(const char *name)
{
	static const char *const names[] = {"",
#define TWIN_NAME(name, check, text) #name,
					    TWINS(TWIN_NAME)};
	unsigned i;

	for (i = 1; i < EXPLORE_TWIN_COUNT; i++)
		if (!strcmp(name, names[i])) {
			explore_twin = (enum explore_twin)i;
			return true;
		}
	return false;
}

enum { O_POLICY, O_PRELOAD, O_INSN, O_COMPS, O_MIX, O_KNOB, O_EMPTY, O_SPOIL, O_SIGNALS, O_SECTIONS,
       O_GUESTS, O_DIRECT, O_WITHOUT, O_STATES, O_DEPTH, O_COMPLETE, O_AT_LEAST, O_TWIN, O_EXPECT,
       O_REPLAY, O_WALK, O_SEED, O_SEQUENCES, O_PROGRESS };

static const struct option long_options[] = {
	{"policy", 1, NULL, O_POLICY},     {"preload", 1, NULL, O_PRELOAD},
	{"insn", 1, NULL, O_INSN},         {"comps", 1, NULL, O_COMPS},
	{"mix", 0, NULL, O_MIX},           {"knob", 0, NULL, O_KNOB},
	{"empty", 0, NULL, O_EMPTY},       {"spoil", 0, NULL, O_SPOIL},
	{"signals", 0, NULL, O_SIGNALS},   {"sections", 0, NULL, O_SECTIONS},
	{"guests", 1, NULL, O_GUESTS},     {"direct", 0, NULL, O_DIRECT},
	{"without", 1, NULL, O_WITHOUT},
	{"states", 1, NULL, O_STATES},     {"depth", 1, NULL, O_DEPTH},
	{"complete", 0, NULL, O_COMPLETE}, {"at-least", 1, NULL, O_AT_LEAST},
	{"twin", 1, NULL, O_TWIN},         {"expect", 1, NULL, O_EXPECT},
	{"replay", 1, NULL, O_REPLAY},     {"walk", 1, NULL, O_WALK},
	{"seed", 1, NULL, O_SEED},         {"sequences", 1, NULL, O_SEQUENCES},
	{"progress", 0, NULL, O_PROGRESS}, {NULL, 0, NULL, 0},
};

static int parse_option(int o, unsigned *preload)
{
	switch (o) {
	case O_POLICY:
		return parse_policies(optarg) ? 0 : fail("no policies", optarg);
	case O_INSN:
		return parse_insn(optarg) ? 0 : fail("no instruction", optarg);
	case O_COMPS:
		return parse_comps(optarg) ? 0 : fail("no components", optarg);
	case O_WITHOUT:
		return parse_events(optarg) ? 0 : fail("no events", optarg);
	case O_TWIN:
		return parse_twin(optarg) ? 0 : fail("no twin", optarg);
	case O_EXPECT:
		return parse_check(optarg, &opt.expect) ? 0 : fail("no check", optarg);
	case O_PRELOAD:
		*preload = (unsigned)atoi(optarg);
		return 0;
	case O_MIX:
		opt.mix = true;
		return 0;
	case O_KNOB:
		config.knob = true;
		return 0;
	case O_EMPTY:
		config.empty = true;
		return 0;
	case O_SPOIL:
		config.spoil = true;
		return 0;
	case O_SIGNALS:
		config.signals = true;
		return 0;
	case O_SECTIONS:
		config.sections = true;
		return 0;
	case O_GUESTS:
		config.guests = (unsigned)strtoul(optarg, NULL, 0);
		return config.guests && config.guests <= GUESTS ? 0 : fail("no number of guests", optarg);
	case O_DIRECT:
		config.direct = true;
		return 0;
	case O_STATES:
		search.max_states = (uint32_t)strtoul(optarg, NULL, 0);
		return 0;
	case O_DEPTH:
		search.max_depth = (uint32_t)strtoul(optarg, NULL, 0);
		return 0;
	case O_COMPLETE:
		opt.complete = true;
		return 0;
	case O_AT_LEAST:
		opt.at_least = (uint32_t)strtoul(optarg, NULL, 0);
		return 0;
	case O_REPLAY:
		opt.replay = optarg;
		return 0;
	case O_WALK:
		opt.walk = (unsigned)strtoul(optarg, NULL, 0);
		return 0;
	case O_SEED:
		opt.seed = strtoull(optarg, NULL, 0);
		return 0;
	case O_SEQUENCES:
		opt.sequences = (unsigned)strtoul(optarg, NULL, 0);
		return 0;
	case O_PROGRESS:
		search.progress = true;
		return 0;
	default:
		return 2;
	}
}

/* The states to begin with: every policy on both CPUs, or every pair. */
static unsigned make_roots(struct state *roots)
{
	unsigned count = 0, a, b;

	for (a = 0; a < config.policies; a++)
		for (b = 0; b < config.policies; b++) {
			struct naming names;

			if (opt.mix ? b > a : b != a)
				continue;
			if (config.knob && !opt.mix && a)
				continue;
			if (xst_cpu_set_policy(&machine.cpu[0], &config.policy[a], XST_FORCE, NULL) ||
			    xst_cpu_set_policy(&machine.cpu[1], &config.policy[b], XST_FORCE, NULL))
				continue;
			machine.policy[0] = (uint8_t)a;
			machine.policy[1] = (uint8_t)b;
			machine_pack(&machine, &roots[count++], &names);
		}
	return count;
}

static void print_table(void)
{
	unsigned e, p;

	printf("%-9s %12s %12s", "event", "runs", "new states");
	for (p = 0; p < config.policies; p++)
		printf(" %12.12s", config.policy[p].name);
	putchar('\n');
	for (e = 0; e < event_count; e++) {
		uint64_t sum = 0;

		for (p = 0; p < config.policies; p++)
			sum += search.run[e][p];
		if (!sum)
			continue;
		printf("%-9s %12llu %12llu", events[e].name, (unsigned long long)sum,
		       (unsigned long long)search.fresh[e]);
		for (p = 0; p < config.policies; p++)
			printf(" %12llu", (unsigned long long)search.run[e][p]);
		putchar('\n');
	}
}

static void print_outcome(void)
{
	printf("%s: %u distinct states, depth %u%s, %llu events run, %.2f s, %.0f states/s\n",
	       xst_insn_name(config.insn), search.states, search.depth,
	       search.complete ? " (complete)" : "", (unsigned long long)search.steps, search.seconds,
	       search.states / (search.seconds > 0 ? search.seconds : 1e-9));
	if (!search.broken)
		return;
	printf("VIOLATED %s (%s): %s\nafter %u events:\n", check_name(search.broken),
	       check_text(search.broken), search.how, search.path_length);
	print_path(stdout, &machine, &search);
}

static int explore(void)
{
	struct state roots[MAX_POLICIES * MAX_POLICIES];
	const unsigned count = make_roots(roots);

	if (!count || !search_run(&search, roots, count)) {
		fprintf(stderr, "explore: no memory for %u states\n", search.max_states);
		return 2;
	}
	print_outcome();
	return 0;
}

/* A twin must be caught by its check, and when that one is not made by no other. */
static int expect(void)
{
	const uint32_t states = search.max_states;

	if (explore() || search.broken != opt.expect) {
		printf("expected a violation of %s, found %s\n", check_name(opt.expect),
		       check_name(search.broken));
		return 1;
	}
	memset(&search, 0, sizeof(search));
	search.m = &machine;
	search.max_states = states;
	config.disabled = 1u << opt.expect;
	if (machine_up(&machine, &config) || explore() || search.broken) {
		printf("without %s: caught by %s too\n", check_name(opt.expect),
		       check_name(search.broken));
		return 1;
	}
	printf("without %s nothing else is violated (%llu steps would be)\n", check_name(opt.expect),
	       (unsigned long long)search.tainted);
	return search.tainted ? 0 : 1;
}

/* "start POLICY COMPONENTS": where a sequence starts, for the lab. */
static void print_start(void)
{
	const char *comma = " ";
	unsigned k;

	printf("start %s", config.policy[machine.policy[0]].name);
	for (k = 0; k < COMPS; k++)
		if (config.comps >> k & 1u) {
			printf("%s%s", comma, comp_name[k]);
			comma = ",";
		}
	putchar('\n');
}

static int replay(void)
{
	FILE *in = strcmp(opt.replay, "-") ? fopen(opt.replay, "r") : stdin;
	struct state root[MAX_POLICIES * MAX_POLICIES];
	struct session s;
	char line[1024];
	enum check broken = CHECK_NONE;
	unsigned number = 0;

	if (!in)
		return fail("cannot read", opt.replay);
	(void)make_roots(root);
	session_begin(&s, &machine, &root[0]);
	print_start();
	while (!broken && fgets(line, sizeof(line), in)) {
		struct step step;

		number++;
		if (line[0] == '#' || line[0] == '\n' || !strncmp(line, "start ", 6))
			continue;
		if (!parse_step(line, &s, &step)) {
			fprintf(stderr, "explore: line %u: no event that can happen: %s", number, line);
			return 2;
		}
		print_step(stdout, &s, &step);
		broken = session_step(&s, &step);
		print_machine(stdout, &s);
		putchar('\n');
	}
	if (in != stdin)
		fclose(in);
	if (broken)
		printf("VIOLATED %s (%s): %s\n", check_name(broken), check_text(broken), machine.how);
	return broken ? 1 : 0;
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Mostly one of the first rows: switch, migrate, return, use; of guests', load, put or run. */
static unsigned random_event(uint64_t *x)
{
	if (!(next_random(x) >> 8 & 3))
		return (unsigned)(next_random(x) % event_count);
	if (config.guests && (next_random(x) >> 8 & 1))
		return event_row("load") + (unsigned)(next_random(x) % 3);
	return (unsigned)(next_random(x) % 4);
}

static struct step random_step(uint64_t *x)
{
	struct step step = {0};

	do {
		step.event = (uint8_t)random_event(x);
		step.cpu = (uint8_t)(next_random(x) % CPUS);
		step.arg = (uint8_t)(next_random(x) % events[step.event].args);
		step.answers = (uint32_t)(next_random(x) & 0xff);
	} while (!event_can(&machine, step.event, step.cpu, step.arg));
	return step;
}

/*
 * Does a packed state hold everything? Walk at random; take each step from the machine as it is and
 * once more from its packed state: both must end in the same state.
 */
static int walk(void)
{
	struct state root[MAX_POLICIES * MAX_POLICIES], packed, direct, again;
	uint64_t x = opt.seed ? opt.seed : 0x1234567;
	struct naming names;
	unsigned i;

	printf("seed %#llx\n", (unsigned long long)x);
	(void)make_roots(root);
	machine_unpack(&machine, &root[0]);
	for (i = 0; i < opt.walk; i++) {
		struct step step;

		machine_pack(&machine, &packed, &names);
		machine_unpack(&machine, &packed);
		step = random_step(&x);
		/* First with whatever the last event left behind in memory that is not packed. */
		if (search_step(&machine, &step)) {
			printf("step %u violates %s: %s\n", i, check_name(machine.broken), machine.how);
			return 1;
		}
		machine_pack(&machine, &direct, &names);
		if (machine_up(&machine, &config))
			return 1;
		machine_unpack(&machine, &packed);
		(void)search_step(&machine, &step);
		machine_pack(&machine, &again, &names);
		if (memcmp(&direct, &again, state_words(&config) * sizeof(uint64_t))) {
			printf("step %u (%s): a packed state leads elsewhere\n", i,
			       events[step.event].name);
			return 1;
		}
	}
	printf("%u random steps: packed states hold everything\n", i);
	return 0;
}

/* The events that lab/exp_replay.c has a row for. */
static bool lab_knows(const struct step *step)
{
	static const char *const names[] = {"switch", "migrate", "return", "use",  "clear", "read",
					    "edit",   "spoil",   "fork",   "new",  "exec",  "exit",
					    "knob",   "settle",  "offline", "online"};
	unsigned i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(events[step->event].name, names[i]))
			return true;
	return false;
}

/* Does this step begin a slot with a probe? The bound of blind slots is 2 here and 255 in the lab. */
static bool probes(const struct step *step)
{
	static struct machine before;
	bool yes;

	before = machine;
	(void)search_step(&machine, step);
	yes = machine.cpu[0].n.probes || machine.cpu[1].n.probes;
	machine = before;
	return yes;
}

/* What the lab replays: one step a line and the machine after it. */
static int print_sequences(void)
{
	struct state root[MAX_POLICIES * MAX_POLICIES];
	uint64_t x = opt.seed ? opt.seed : 0x1234567;
	unsigned i, n;

	printf("# seed %#llx\n", (unsigned long long)x);
	(void)make_roots(root);
	for (n = 0; n < opt.sequences; n++) {
		struct session s;

		session_begin(&s, &machine, &root[0]);
		print_start();
		for (i = 0; i < opt.walk; i++) {
			struct step step;

			do
				step = random_step(&x);
			while (!lab_knows(&step) || probes(&step));
			print_step(stdout, &s, &step);
			if (session_step(&s, &step)) {
				printf(" violates %s: %s\n", check_name(machine.broken), machine.how);
				return 1;
			}
			print_machine(stdout, &s);
			putchar('\n');
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned preload = 1, i;
	int o;

	config.insn = XST_INSN_XSAVES;
	config.comps = 1u << C_SSE | 1u << C_PKRU;
	search.m = &machine;
	search.max_states = 100000;
	(void)add_policy("auto");
	while ((o = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
		const int err = parse_option(o, &preload);

		if (err)
			return err;
	}
	if (optind < argc)
		return fail("what is", argv[optind]);
	if (config.guests && config.signals)
		return fail("not together with --guests:", "--signals");
	if (!config.guests && (config.comps >> C_CET_S & 1u))
		return fail("only guests have", comp_name[C_CET_S]);
	for (i = 0; i < config.policies; i++)
		if (config.policy[i].preload_after)
			config.policy[i].preload_after = (uint8_t)preload;
	if (preload < 1 || preload > 5 || search.max_states < 1 || machine_up(&machine, &config)) {
		fprintf(stderr, "explore: this machine cannot be\n");
		return 2;
	}
	if (opt.replay)
		return replay();
	if (opt.sequences)
		return print_sequences();
	if (opt.walk)
		return walk();
	if (opt.expect)
		return expect();
	if (explore())
		return 2;
	print_table();
	if (opt.complete && !search.complete)
		printf("not complete: give more --states\n");
	if (search.states < opt.at_least)
		printf("fewer than %u states\n", opt.at_least);
	return search.broken || (opt.complete && !search.complete) || search.states < opt.at_least;
}

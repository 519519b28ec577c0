// SPDX-License-Identifier: BSD-2-Clause
/* xstate lab: boot the lab on emulated machines and compare switching policies. */
#include "cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <xst/policy.h>

#include "lab/list.h"
#include "lab/print.h"
#include "lab/run.h"
#include "lab/sweep.h"
#include "ui/opt.h"
#include "ui/outfile.h"
#include "ui/ui.h"

#define SEED_DEFAULT 0x7857a7e
#define CPUS_MAX     4
#define LIST_MAX     32
#define POLICY_MAX   64 /* characters of one */

/* Every policy that has a name, on one CPU of each kind the lab knows. */
#define MACHINES_DEFAULT "qemu:max,bochs:tigerlake,bochs:ryzen"

enum {
	O_POLICY = 1, O_MACHINE, O_CPUS, O_SEED, O_LOOPS, O_TIMEOUT, O_QUIET, O_JOBS, O_ROM, O_KEEP,
	O_ARG, O_COST, O_OUTPUT, O_SEQUENCE,
};

static const struct opt run_options[] = {
	{ O_POLICY, 0, "policy", "LIST", "policies by name or fields (load=use,keep,\npreload=5), comma separated, ; between two of\nfields; default: all that have a name" },
	{ O_MACHINE, 0, "machine", "LIST",
	  "qemu:MODEL, bochs:MODEL, kvm:host;\ndefault: qemu:max,bochs:tigerlake,bochs:ryzen" },
	{ O_CPUS, 0, "cpus", "N", "CPUs of the machine; default: what the experiment is for" },
	{ O_SEED, 0, "seed", "N", "where random values begin, or 'random'; default 0x7857a7e" },
	{ O_LOOPS, 0, "loops", "N", "length of an experiment; default: its own" },
	{ O_TIMEOUT, 0, "timeout", "S", "longest time for one boot; default 120s" },
	{ O_QUIET, 0, "silence", "S", "longest silence of one boot; default 20s" },
	{ O_JOBS, 0, "jobs", "N", "emulators at a time; default: number of CPUs here" },
	{ O_ROM, 0, "rom", "FILE", "another image of the lab" },
	{ O_KEEP, 0, "keep", NULL, "keep the output of good runs too, and say where it is" },
	{ O_COST, 0, "cost", "LIST",
	  "cycles assumed for 'slots'; default\nsave=165,restore=390,trap=600,ts=60" },
	{ O_OUTPUT, 'o', "output", "FILE", "also write the results as JSON, for xstate report" },
	{ O_SEQUENCE, 0, "sequence", "FILE", "what 'replay' executes, as the explorer prints it" },
	{ O_ARG, 0, "arg", "KEY=VALUE", "one more argument for the lab's kernel: tasks, tick,\nuse, preempt, cet, ferr, mode, watchdog" },
	{ 0 },
};

static const struct opt_usage run_usage = {
	.cmd = "xstate lab run",
	.summary = "boot the lab, compare switching policies",
	.synopsis = "[EXPERIMENT...] [options]",
	.about = "Boots one small kernel per experiment, policy and machine. Every task keeps\n"
		 "verifying all of its registers. Prints a table of counts and what they mean.\n"
		 "Without arguments: experiments yield and pipe; 'all' is every experiment.\n"
		 "Exit status: 0 (also with skips), 1 on any corruption or failure, 3 if nothing\n"
		 "could run.\n",
	.opts = run_options,
	.examples = "xstate lab run                                   the classic comparison\n"
		    "xstate lab run pipe --policy eager,lazy-keep     two policies, one experiment\n"
		    "xstate lab run flip --machine qemu:max --cpus 2  change the policy under load\n"
		    "xstate lab run -o lab.json && xstate report lab.json   the same as a page\n",
};

static const struct opt no_options[] = { { 0 } };

static const struct opt_usage list_usage = {
	.cmd = "xstate lab list",
	.summary = "experiments, policies and emulators",
	.synopsis = "[options]",
	.opts = no_options,
};

static const struct opt_usage lab_usage = {
	.cmd = "xstate lab",
	.summary = "eager or lazy? Boot a small kernel on emulated CPUs and count",
	.synopsis = "COMMAND ...",
	.opts = no_options,
	.examples = "xstate lab run    the classic comparison, about a minute\n",
};

/* What the command line asks for. */
struct request {
	const struct lab_experiment *experiments[LIST_MAX];
	size_t experiment_count;
	char policies[LIST_MAX][POLICY_MAX];
	size_t policy_count;
	struct lab_machine machines[LIST_MAX];
	size_t machine_count;
	unsigned cpus; /* 0: as the experiment says */
	const char *rom_path;
	const char *output;
	struct outfile out;
	char extra[256];
	char *sequence;
	struct lab_plan plan;
};

static int add_experiment(struct request *q, const char *name)
{
	const struct lab_experiment *e = lab_experiment_find(name);
	bool all = !strcmp(name, "all");

	if (!e && !all)
		return ui_error(run_usage.cmd, UI_USAGE,
				"no experiment '%s'; 'xstate lab list' shows them", name);
	for (const struct lab_experiment *k = lab_experiments; k->name; k++) {
		if (k != e && (!all || k->hidden))
			continue;
		if (q->experiment_count == LIST_MAX)
			return ui_error(run_usage.cmd, UI_USAGE, "too many experiments");
		q->experiments[q->experiment_count++] = k;
	}
	return UI_OK;
}

static int add_policies(struct request *q, const char *list, struct opt_parser *p)
{
	size_t length;

	for (const char *at = list; at; ) {
		struct xst_diag diag = { 0 };
		struct xst_policy policy;
		const char *text = at;
		char *kept;

		at = xst_policy_item(at, &length);
		if (!length) {
			opt_bad(p, "names separated by commas");
			return p->status;
		}
		if (q->policy_count == LIST_MAX)
			return ui_error(run_usage.cmd, UI_USAGE, "too many policies");
		kept = q->policies[q->policy_count];
		if (length >= POLICY_MAX)
			return ui_error(run_usage.cmd, UI_USAGE, "a policy of %zu characters",
					length);
		memcpy(kept, text, length);
		kept[length] = '\0';
		if (xst_policy_parse(kept, &policy, &diag))
			return ui_error(run_usage.cmd, UI_USAGE,
					strchr(kept, '=') || strchr(kept, ',') ?
						"policy '%s': %s" :
						"no policy '%s'; 'xstate lab list' shows them",
					kept, diag.rule);
		q->policy_count++;
	}
	return UI_OK;
}

static int add_machines(struct request *q, const char *list, struct opt_parser *p)
{
	char name[80], why[300];

	while (opt_item(&list, name, sizeof(name))) {
		if (q->machine_count == LIST_MAX)
			return ui_error(run_usage.cmd, UI_USAGE, "too many machines");
		if (!lab_machine_parse(name, &q->machines[q->machine_count], why, sizeof(why)))
			return ui_error(run_usage.cmd, UI_USAGE, "%s", why);
		q->machine_count++;
	}
	if (!list)
		return UI_OK;
	opt_bad(p, "machines separated by commas");
	return p->status;
}

/* What the kernel would end the run for; @word is KEY=VALUE. */
static int check_extra(const char *word)
{
	static const struct {
		const char *key;
		uint64_t least, most;
		bool option;
	} known[] = {
#define ARG(key, least, most, option) { #key, least, most, option },
#include "../lab/args.def"
#undef ARG
	};
	const size_t n = strcspn(word, "="), count = sizeof(known) / sizeof(known[0]);
	char names[200] = "";
	uint64_t v;

	for (size_t i = 0; i < count; i++) {
		if (strlen(known[i].key) != n || strncmp(known[i].key, word, n)) {
			if (!known[i].option)
				snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
					 names[0] ? ", " : "", known[i].key);
			continue;
		}
		if (known[i].option)
			return ui_error(run_usage.cmd, UI_USAGE, "--arg %s: it has an option, --%s",
					known[i].key, known[i].key);
		if (opt_u64(word + n + 1, &v) && v >= known[i].least && v <= known[i].most)
			return UI_OK;
		return ui_error(run_usage.cmd, UI_USAGE, "--arg %s wants a number from %" PRIu64 " to %"
				PRIu64 ", not '%s'", known[i].key, known[i].least, known[i].most,
				word + n + 1);
	}
	return ui_error(run_usage.cmd, UI_USAGE, "the lab has no argument '%.*s', but %s", (int)n, word,
			names);
}

/* Every argument, when the image is our own: another one may know others. */
static int check_extras(const struct request *q)
{
	char word[sizeof(q->extra)];
	int status = UI_OK;

	for (const char *at = q->extra; *at && status == UI_OK && !q->rom_path; at += at[0] == ' ') {
		const size_t n = strcspn(at, " ");

		snprintf(word, sizeof(word), "%.*s", (int)n, at);
		status = check_extra(word);
		at += n;
	}
	return status;
}

static int add_extra(struct request *q, struct opt_parser *p)
{
	size_t used = strlen(q->extra);

	if (!strchr(p->arg, '=') || strchr(p->arg, ' ') || p->arg[0] == '=') {
		opt_bad(p, "KEY=VALUE without blanks");
		return p->status;
	}
	if (used + strlen(p->arg) + 2 > sizeof(q->extra))
		return ui_error(run_usage.cmd, UI_USAGE, "too many arguments");
	snprintf(q->extra + used, sizeof(q->extra) - used, "%s%s", used ? " " : "", p->arg);
	q->plan.extra = q->extra;
	return UI_OK;
}

static int read_sequence(struct request *q, const char *path)
{
	char why[600];

	free(q->sequence);
	q->sequence = lab_sequence_read(path, why, sizeof(why));
	q->plan.sequence = q->sequence;
	return q->sequence ? UI_OK : ui_error(run_usage.cmd, UI_USAGE, "%s", why);
}

static int read_seed(struct request *q, struct opt_parser *p)
{
	if (strcmp(p->arg, "random"))
		return opt_get_u64(p, 0, UINT64_MAX, &q->plan.seed) ? UI_OK : p->status;
	if (getrandom(&q->plan.seed, sizeof(q->plan.seed), 0) != sizeof(q->plan.seed))
		return ui_error(run_usage.cmd, UI_CANNOT, "this system gives no random seed");
	return UI_OK;
}

/* -1: go on; else the exit status. */
static int read_command(struct request *q, int argc, char **argv)
{
	struct opt_parser p;
	uint64_t v;
	int id, status;

	opt_begin(&p, &run_usage, argc, argv);
	while ((id = opt_next(&p)) != OPT_END) {
		bool ok = true;

		status = UI_OK;
		switch (id) {
		case OPT_ARG:
			status = add_experiment(q, p.arg);
			break;
		case O_POLICY:
			status = add_policies(q, p.arg, &p);
			break;
		case O_MACHINE:
			status = add_machines(q, p.arg, &p);
			break;
		case O_CPUS:
			ok = opt_get_u64(&p, 1, CPUS_MAX, &v);
			q->cpus = ok ? (unsigned)v : 0;
			break;
		case O_SEED:
			status = read_seed(q, &p);
			break;
		case O_LOOPS:
			ok = opt_get_u64(&p, 1, 1000000000, &q->plan.loops);
			break;
		case O_TIMEOUT:
			ok = opt_get_ms(&p, 100, 86400000, &q->plan.timeout_ms);
			break;
		case O_QUIET:
			ok = opt_get_ms(&p, 100, 86400000, &q->plan.quiet_ms);
			break;
		case O_JOBS:
			ok = opt_get_u64(&p, 1, 64, &v);
			q->plan.parallel = ok ? (unsigned)v : 1;
			break;
		case O_ROM:
			q->rom_path = p.arg;
			break;
		case O_OUTPUT:
			q->output = p.arg;
			break;
		case O_KEEP:
			q->plan.keep_all = true;
			break;
		case O_COST:
			if (!lab_costs_parse(p.arg, &q->plan.costs)) {
				opt_bad(&p, "save=N,restore=N,trap=N,ts=N, cycles from 0 to 1e9");
				return p.status;
			}
			break;
		case O_SEQUENCE:
			status = read_sequence(q, p.arg);
			break;
		case O_ARG:
			status = add_extra(q, &p);
			break;
		default:
			return p.status;
		}
		if (!ok)
			return p.status;
		if (status != UI_OK)
			return status;
	}
	return -1;
}

static int add_defaults(struct request *q)
{
	struct opt_parser none = { .usage = &run_usage };
	bool given = q->policy_count > 0;
	int status = UI_OK;

	if (!q->experiment_count)
		for (const struct lab_experiment *e = lab_experiments; e->name; e++)
			if (e->standard)
				q->experiments[q->experiment_count++] = e;
	for (unsigned i = 0; !given && status == UI_OK && i < XST_POLICY_COUNT; i++)
		status = add_policies(q, xst_policy_at(i)->name, &none);
	if (status == UI_OK && !q->machine_count)
		status = add_machines(q, MACHINES_DEFAULT, &none);
	return status;
}

static bool make_jobs(struct request *q)
{
	struct lab_plan *plan = &q->plan;
	struct lab_job *job;

	plan->jobs = calloc(q->experiment_count * q->machine_count * q->policy_count,
			    sizeof(*plan->jobs));
	if (!plan->jobs)
		return false;
	for (size_t e = 0; e < q->experiment_count; e++) {
		for (size_t m = 0; m < q->machine_count; m++) {
			for (size_t p = 0; p < q->policy_count; p++) {
				bool join = p && !q->experiments[e]->one_policy;

				job = &plan->jobs[join ? plan->count - 1 : plan->count++];
				job->experiment = q->experiments[e];
				job->machine = &q->machines[m];
				job->cpus = q->cpus ? q->cpus : job->experiment->cpus;
				snprintf(job->policy + strlen(job->policy),
					 sizeof(job->policy) - strlen(job->policy), "%s%s",
					 join ? ";" : "", q->policies[p]);
			}
		}
	}
	return true;
}

static void settle_kvm(struct request *q)
{
	for (size_t i = 0; i < q->machine_count; i++) {
		struct lab_machine *m = &q->machines[i];
		const struct lab_tool *t;

		if (m->emulator != LAB_KVM)
			continue;
		lab_probe_kvm(q->plan.rom);
		t = lab_tool(LAB_KVM);
		m->usable = t->usable;
		snprintf(m->reason, sizeof(m->reason), "%s", t->reason);
	}
}

static int verdict(const struct lab_plan *plan)
{
	bool ok = false, failed = false;

	for (size_t i = 0; i < plan->count; i++) {
		ok |= plan->jobs[i].result.status == LAB_OK ||
		      plan->jobs[i].result.status == LAB_KNOWN_FAILURE;
		failed |= plan->jobs[i].result.status == LAB_FAILED;
	}
	return failed ? UI_NO : ok ? UI_OK : UI_CANNOT;
}

static void report(const struct request *q)
{
	const struct lab_plan *plan = &q->plan;

	if (ui.json)
		lab_print_json(stdout, plan);
	else
		lab_print_table(stdout, plan);
	fflush(stdout);
	lab_print_failures(stderr, plan, q->rom_path);
	if (verdict(plan) == UI_CANNOT)
		ui_note("nothing could run: %s", plan->jobs[0].result.reason);
	for (size_t i = 0; plan->keep_all && i < plan->count; i++)
		if (plan->jobs[i].result.status == LAB_OK)
			ui_note("output of %s, %s on %s: %s", plan->jobs[i].experiment->name,
				plan->jobs[i].policy, plan->jobs[i].machine->name,
				plan->jobs[i].kept);
}

static unsigned cpus_here(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

static void drop_output(void *out)
{
	outfile_drop(out);
}

static int lab_run_verb(int argc, char **argv)
{
	static struct request q;
	struct lab_rom rom;
	char why[600];
	int status;

	q.plan = (struct lab_plan){ .rom = &rom, .parallel = cpus_here(), .seed = SEED_DEFAULT,
				    .timeout_ms = 120000, .quiet_ms = 20000, .progress = true,
				    .costs = { .save = 165, .restore = 390, .trap = 600, .ts = 60 } };
	status = read_command(&q, argc, argv);
	if (status >= 0)
		return status;
	status = check_extras(&q);
	if (status == UI_OK)
		status = add_defaults(&q);
	if (status != UI_OK)
		return status;
	if (!lab_rom_load(&rom, q.rom_path, why, sizeof(why)))
		return ui_error(run_usage.cmd, q.rom_path ? UI_USAGE : UI_CANNOT, "%s", why);
	/* Before the boots, so that an impossible place is told at once. */
	if (q.output && !outfile_open(&q.out, q.output)) {
		lab_rom_free(&rom);
		return ui_error(run_usage.cmd, UI_USAGE, "cannot write %s: %s", q.output, strerror(errno));
	}
	q.plan.give_up = drop_output;
	q.plan.give_up_argument = &q.out;
	settle_kvm(&q);
	if (!make_jobs(&q) || !lab_run(&q.plan, why, sizeof(why))) {
		status = ui_error(run_usage.cmd, UI_CANNOT, "%s",
				  q.plan.jobs ? why : "out of memory");
		goto out;
	}
	report(&q);
	status = verdict(&q.plan);
	if (q.output) {
		lab_print_json(q.out.f, &q.plan);
		if (!outfile_commit(&q.out))
			status = ui_error(run_usage.cmd, UI_USAGE, "cannot write %s: %s", q.output,
					  strerror(errno));
	}
out:
	outfile_drop(&q.out);
	for (size_t i = 0; i < q.plan.count; i++)
		lab_result_free(&q.plan.jobs[i].result);
	free(q.plan.jobs);
	free(q.sequence);
	lab_rom_free(&rom);
	return status;
}

static int lab_list_verb(int argc, char **argv)
{
	struct opt_parser p;
	struct lab_rom rom;
	char why[600];
	int id;

	opt_begin(&p, &list_usage, argc, argv);
	while ((id = opt_next(&p)) != OPT_END) {
		if (id == OPT_ARG)
			return ui_error(list_usage.cmd, UI_USAGE, "no argument is wanted: '%s'",
					p.arg);
		return p.status;
	}
	if (lab_rom_load(&rom, NULL, why, sizeof(why))) {
		lab_probe_kvm(&rom);
		lab_rom_free(&rom);
	}
	if (ui.json)
		lab_list_json(stdout);
	else
		lab_list_people(stdout);
	return UI_OK;
}

int cmd_lab(int argc, char **argv)
{
	static const struct opt_verb verbs[] = {
		{ "run", "boot, measure and compare", lab_run_verb },
		{ "list", "experiments, policies and emulators", lab_list_verb },
		{ NULL, NULL, NULL },
	};

	return opt_dispatch(&lab_usage, verbs, argc, argv);
}

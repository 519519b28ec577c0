// SPDX-License-Identifier: BSD-2-Clause
/* xstate sim: replay a recorded workload under every policy, and say what it costs. */
#include "cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/trace.h"
#include "sim/fnv.h"
#include "sim/hypothesis.h"
#include "sim/run.h"
#include "ui/opt.h"
#include "ui/table.h"
#include "ui/ui.h"

#define NAMES_MAX 1024
#define SWEEP_MAX 200
#define DEFAULT_COSTS "zen3"

enum {
	O_POLICY = 1, O_USE, O_SIGNALS, O_SECTIONS, O_COSTS, O_TRAP, O_TS, O_IPI, O_GUEST, O_BARE, O_HYPOTHETICAL,
	O_PROGRAMS, O_DIRECT, O_SAVE, O_STATE, O_CUT, O_MERGE, O_SYNTHETIC, O_SWEEP, O_SEED,
};

static const struct opt options[] = {
	{ O_POLICY, 0, "policy", "LIST", "policies by name or fields (load=use,keep,\npreload=5), comma separated, ; between two of\nfields; default: all that have a name" },
	{ O_USE, 0, "use", "HOW", "which slots used the registers: live (at most\nthese; the default), all, none, p=0.3, or\nby-comm=FILE with lines 'program 0.3'; programs\nnot named there: none, or as a line '* 0.1' says" },
	{ O_SIGNALS, 0, "signals", "HOW", "handlers where the trace has no signal events:\nauto (SIGCHLD, by program), none, all" },
	{ O_SECTIONS, 0, "sections", "HOW", "the kernel's own use of the registers where the\ntrace has no events of it: auto (its random pool\nat forks and ends of tasks), none" },
	{ O_COSTS, 'c', "costs", "FILE", "prices: what 'xstate bench insn -o FILE' wrote,\nor a built-in table (zen3, zen3-fxsr,\nemerald-rapids, k10); default zen3" },
	{ O_TRAP, 0, "trap", "LOW-HIGH", "cycles of #NM and back" },
	{ O_TS, 0, "ts", "LOW-HIGH", "cycles of a write of CR0.TS" },
	{ O_IPI, 0, "ipi", "LOW-HIGH", "cycles of an interrupt to another CPU" },
	{ O_GUEST, 0, "guest", NULL, "assume the traps of a guest" },
	{ O_BARE, 0, "bare-metal", NULL, "assume the traps of a machine without hypervisor" },
	{ O_HYPOTHETICAL, 0, "hypothetical", NULL, "rows for ideas nobody built" },
	{ O_PROGRAMS, 0, "programs", NULL, "count by program too" },
	{ O_DIRECT, 0, "direct", NULL, "run the engine for every record, also where what it\ndoes is known from before: slower, the same counts" },
	{ O_SAVE, 'o', "save", "FILE", "write the trace as records, for faster reading\n(elsewhere -o is the result; here that is -j > FILE)" },
	{ O_STATE, 0, "state", "FILE", "begin where FILE left off, and write it: for the\npieces of one trace" },
	{ O_CUT, 0, "cut", "N", "with --save: pieces of N records, FILE.0, FILE.1" },
	{ O_MERGE, 0, "merge", NULL, "arguments are results (-j) to be added up; give\n-c again, prices are not taken from them" },
	{ O_SYNTHETIC, 0, "synthetic", "SPEC", "no trace: tasks=8,cpus=2,slots=1000000,use=0.5,\nidle=0,mean-us=100,seed=1, any of them" },
	{ O_SWEEP, 0, "sweep", "N", "with --synthetic: use from 0 to 1 in N steps" },
	{ O_SEED, 0, "seed", "N", "for --use p=...; default 1" },
	{ 0 },
};

static const struct opt_usage usage = {
	.cmd = "xstate sim",
	.summary = "replay a recorded workload under every switching policy",
	.synopsis = "TRACE... [options]",
	.about = "Reads what 'xstate record' or perf or trace-cmd wrote: our records, perf script and\n"
		 "ftrace text, each also packed by xz, perf.data, trace.dat; '-' is standard input.\n"
		 "Several traces are several machines. Prints counts, costs, the break-even between\n"
		 "eager and lazy, and how well restores were predicted.\n",
	.opts = options,
	.examples = "xstate sim trace.xst                        all policies, built-in prices\n"
		    "perf script | xstate sim - -c costs.json    with this machine's prices\n"
		    "xstate sim --merge *.json -c costs.json     many machines' results as one\n"
		    "xstate sim --synthetic use=0.2,tasks=16     no trace at all\n",
};

struct request {
	struct sim_plan plan;
	struct sim_state state;
	struct sim_costs costs;
	struct sim_range trap, ts, ipi; /* high < 0: not given */
	int guest;                      /* -1: as the costs say */
	const char *costs_name, *synthetic;
	const char **paths;
	size_t path_count;
	bool hypothetical, merge, given; /* given: policies */
	bool assumed;                    /* --use, --signals, --seed or --programs were given */
	uint64_t sweep;
};

static int refuse(const char *what)
{
	return ui_error(usage.cmd, UI_USAGE, "%s", what);
}

static int add_policies(struct request *q, const char *list)
{
	for (const char *at = list; at; ) {
		struct xst_diag diag = { 0 };
		struct xst_policy policy;
		char name[SIM_NAME];
		const char *text = at;
		size_t length;

		at = xst_policy_item(at, &length);
		if (!length || length >= sizeof(name))
			return refuse("--policy wants names or fields separated by commas");
		memcpy(name, text, length);
		name[length] = '\0';
		if (xst_policy_parse(name, &policy, &diag))
			return ui_error(usage.cmd, UI_USAGE, "policy '%s': %s", name, diag.rule);
		if (sim_row_find(&q->plan.rows, name))
			return ui_error(usage.cmd, UI_USAGE, "policy '%s' is asked for twice", name);
		if (!sim_row_add(&q->plan.rows, name, &policy, ""))
			return refuse("too many policies");
	}
	return UI_OK;
}

static bool read_range(const char *text, struct sim_range *r)
{
	char low[32];
	const char *dash = strchr(text, '-');
	size_t n = dash ? (size_t)(dash - text) : strlen(text);

	if (!n || n >= sizeof(low))
		return false;
	memcpy(low, text, n);
	low[n] = '\0';
	return opt_f64(low, &r->low) && opt_f64(dash ? dash + 1 : low, &r->high) && r->low >= 0 &&
	       r->low <= r->high && r->high <= 1e9;
}

/* A name that is listed already, or NULL. */
static const struct sim_use_name *find_name(const struct sim_use *use, const char *name)
{
	for (size_t i = 0; i < use->name_count; i++)
		if (!strcmp(use->names[i].name, name))
			return &use->names[i];
	return NULL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Takes "program 0.3" apart; NULL, or what is wrong with it. Names may have blanks in them. */
static const char *add_name(struct sim_use *use, char *line)
{
	char text[32], *share, *end = line + strlen(line);
	double p;

	while (end > line && is_blank(end[-1]))
		*--end = '\0';
	for (share = end; share > line && !is_blank(share[-1]); )
		share--;
	/* .5 is 0.5. */
	if (share == line || (size_t)snprintf(text, sizeof(text), "%s%s", share[0] == '.' && share[1] ? "0" : "",
					      share) >= sizeof(text) ||
	    !opt_f64(text, &p) || !(p >= 0 && p <= 1))
		return "does not end with a blank and a share from 0 to 1, as 0.5 or 50%";
	for (end = share; end > line && is_blank(end[-1]); )
		*--end = '\0';
	if (end == line || end - line > 15)
		return "has no program's name of 1 to 15 characters";
	if (use->name_count == NAMES_MAX)
		return "is one too many: there are 1024 names at most";
	if (find_name(use, line))
		return "has a name that is there already; each name once";
	if (!strcmp(line, "*"))
		use->p = p;
	snprintf(use->names[use->name_count].name, 16, "%.15s", line);
	use->names[use->name_count++].p = p;
	return NULL;
}

static int bad_names(const char *path, const char *why)
{
	return ui_error(usage.cmd, UI_USAGE, "%s: %s", path, why);
}

/* Lines of a program's name and the share of its slots that use the registers; "*" is all others. */
static int read_names(struct request *q, const char *path)
{
	struct sim_use *use = &q->plan.use;
	char *line = NULL;
	size_t room = 0;
	struct stat st;
	FILE *f = fopen(path, "re");
	int status = UI_OK;

	if (!f)
		return bad_names(path, strerror(errno));
	if (fstat(fileno(f), &st) || !(S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode))) {
		fclose(f);
		return bad_names(path, "is no file of programs' names");
	}
	free(use->names);
	use->name_count = 0;
	use->p = 0;
	use->names = calloc(NAMES_MAX, sizeof(*use->names));
	q->plan.rows.use_content = FNV_NOTHING;
	for (unsigned number = 1; use->names && status == UI_OK && getline(&line, &room, f) >= 0;
	     number++) {
		const char *why = NULL;

		/* Two files of one path are known apart. */
		q->plan.rows.use_content = fnv(q->plan.rows.use_content, line, strlen(line));
		line[strcspn(line, "\n")] = '\0';
		if (line[strspn(line, " \t\r\n")] && line[0] != '#')
			why = add_name(use, line);
		if (why)
			status = ui_error(usage.cmd, UI_USAGE, "%s: line %u %s", path, number, why);
	}
	free(line);
	if (status == UI_OK && ferror(f))
		status = bad_names(path, strerror(errno));
	else if (status == UI_OK && !use->names)
		status = ui_error(usage.cmd, UI_CANNOT, "out of memory");
	else if (status == UI_OK && !use->name_count)
		status = bad_names(path, "no program's name in it");
	fclose(f);
	return status;
}

static int read_use(struct request *q, struct opt_parser *p)
{
	struct sim_use *use = &q->plan.use;
	const char *how = p->arg;

	snprintf(q->plan.rows.use, sizeof(q->plan.rows.use), "%s", how);
	if (!strcmp(how, "live"))
		use->kind = SIM_USE_LIVE;
	else if (!strcmp(how, "all"))
		use->kind = SIM_USE_ALL;
	else if (!strcmp(how, "none"))
		use->kind = SIM_USE_NONE;
	else if (!strncmp(how, "p=", 2) && opt_f64(how + 2, &use->p) && use->p >= 0 && use->p <= 1)
		use->kind = SIM_USE_SHARE;
	else if (!strncmp(how, "by-comm=", 8)) {
		use->kind = SIM_USE_NAMES;
		return read_names(q, how + 8);
	} else {
		opt_bad(p, "live, all, none, p=0 to p=1, or by-comm=FILE");
		return p->status;
	}
	return UI_OK;
}

static int read_signals(struct request *q, struct opt_parser *p)
{
	static const char *const names[] = { "auto", "none", "all" };

	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(p->arg, names[i])) {
			q->plan.signals = (enum slots_signals)i;
			snprintf(q->plan.rows.signals, sizeof(q->plan.rows.signals), "%s", names[i]);
			return UI_OK;
		}
	opt_bad(p, "auto, none or all");
	return p->status;
}

static int read_sections(struct request *q, struct opt_parser *p)
{
	if (!strcmp(p->arg, "auto"))
		q->plan.sections = SLOTS_SECTIONS_AUTO;
	else if (!strcmp(p->arg, "none"))
		q->plan.sections = SLOTS_SECTIONS_NONE;
	else {
		opt_bad(p, "auto or none");
		return p->status;
	}
	snprintf(q->plan.rows.sections, sizeof(q->plan.rows.sections), "%s", p->arg);
	return UI_OK;
}

static int read_option(struct request *q, int id, struct opt_parser *p)
{
	struct sim_range *r = id == O_TRAP ? &q->trap : id == O_TS ? &q->ts : &q->ipi;

	switch (id) {
	case OPT_ARG:
		for (size_t i = 0; i < q->path_count; i++)
			if (!strcmp(p->arg, "-") && !strcmp(q->paths[i], "-"))
				return ui_error(usage.cmd, UI_USAGE, "standard input can be read once only");
		q->paths[q->path_count++] = p->arg;
		return UI_OK;
	case O_POLICY:
		q->given = true;
		return add_policies(q, p->arg);
	case O_USE:
		q->assumed = true;
		return read_use(q, p);
	case O_SIGNALS:
		q->assumed = true;
		return read_signals(q, p);
	case O_SECTIONS:
		q->assumed = true;
		return read_sections(q, p);
	case O_COSTS:
		q->costs_name = p->arg;
		return UI_OK;
	case O_TRAP:
	case O_TS:
	case O_IPI:
		if (read_range(p->arg, r))
			return UI_OK;
		opt_bad(p, "cycles, or two of them as LOW-HIGH");
		return p->status;
	case O_GUEST:
	case O_BARE:
		if (q->guest >= 0 && q->guest != (id == O_GUEST))
			return refuse("--guest and --bare-metal exclude each other");
		q->guest = id == O_GUEST;
		return UI_OK;
	case O_HYPOTHETICAL:
		q->hypothetical = true;
		return UI_OK;
	case O_PROGRAMS:
		q->assumed = q->plan.programs = true;
		return UI_OK;
	case O_DIRECT:
		q->plan.direct = true;
		return UI_OK;
	case O_SAVE:
		q->plan.save = p->arg;
		return UI_OK;
	case O_STATE:
		q->state.path = p->arg;
		q->plan.state = &q->state;
		return UI_OK;
	case O_CUT:
		return opt_get_u64(p, 2, UINT32_MAX, &q->plan.cut) ? UI_OK : p->status;
	case O_MERGE:
		q->merge = true;
		return UI_OK;
	case O_SYNTHETIC:
		q->synthetic = p->arg;
		return UI_OK;
	case O_SWEEP:
		return opt_get_u64(p, 1, SWEEP_MAX, &q->sweep) ? UI_OK : p->status;
	case O_SEED:
		/* A result has it as a number of JSON, which --merge must be able to read. */
		if (!opt_get_u64(p, 0, INT64_MAX, &q->plan.use.seed))
			return p->status;
		q->assumed = true;
		q->plan.rows.seed = q->plan.use.seed;
		return UI_OK;
	default:
		return p->status;
	}
}

/* Neither a table nor a file. */
static int bad_table(const char *name)
{
	char names[160] = "";

	for (size_t i = 0, at = 0; sim_costs_names(i) && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? ", " : "",
				       sim_costs_names(i));
	return ui_error(usage.cmd, UI_USAGE, "%s: no such file, and the built-in tables are %s", name,
			names);
}

static int read_costs(struct request *q)
{
	const char *name = q->costs_name ? q->costs_name : DEFAULT_COSTS;
	char err[400];

	if (!sim_costs_builtin(&q->costs, name) && sim_costs_read(&q->costs, name, err, sizeof(err)))
		return access(name, F_OK) && !strchr(name, '/') ? bad_table(name)
								 : ui_error(usage.cmd, UI_USAGE, "%s", err);
	/* Otherwise the answer says so. */
	if (q->costs.rough && (ui.json || q->sweep))
		ui_note("%s: measured while the machine was not quiet, or not to the end; its prices are "
			"rough, and so is a verdict by them", name);
	if (q->guest >= 0)
		sim_costs_ring0(&q->costs, q->guest);
	if (q->trap.high >= 0)
		q->costs.trap = q->trap;
	if (q->ts.high >= 0)
		q->costs.ts = q->ts;
	if (q->ipi.high >= 0)
		q->costs.interrupt = q->ipi;
	return UI_OK;
}

/* What cannot go together, and what is missing. */
static int settle(struct request *q)
{
	if (q->merge && (q->synthetic || q->plan.save || q->plan.rows.row_count || q->hypothetical ||
			 q->assumed))
		return refuse("--merge takes policies and assumptions from the results");
	if (q->sweep && !q->synthetic)
		return refuse("--sweep goes with --synthetic");
	if (q->sweep && q->plan.save)
		return refuse("--sweep writes no records: each of its points would be a trace");
	if (q->synthetic && q->path_count)
		return refuse("--synthetic takes no trace");
	if (q->plan.cut && (!q->plan.save || !strcmp(q->plan.save, "-") || q->plan.state))
		return refuse("--cut makes the pieces, so it needs --save FILE and not '-'; --state FILE is for a "
			      "later run, which reads one of them");
	if (q->plan.state && (q->synthetic || q->merge || q->plan.save))
		return refuse("--state goes with the pieces of a trace");
	if (q->plan.state && !strcmp(q->state.path, "-"))
		return refuse("--state wants a file: it is read, and written behind the answer");
	if (q->plan.save && q->path_count > 1)
		return refuse("--save takes one trace");
	if (q->merge && !q->path_count)
		return refuse("--merge wants results of xstate sim -j to add up, '-' for standard input");
	if (!q->synthetic && !q->path_count)
		return refuse("name a trace, '-' for standard input, or --synthetic");
	for (unsigned i = 0; !q->merge && !q->given && i < XST_POLICY_COUNT; i++)
		(void)sim_row_add(&q->plan.rows, xst_policy_at(i)->name, xst_policy_at(i), "");
	if (q->hypothetical)
		sim_hypotheses_add(&q->plan.rows);
	return read_costs(q);
}

static void show(const struct request *q, const struct sim_result *r)
{
	if (q->plan.save && !strcmp(q->plan.save, "-"))
		ui_note("%llu record%s written", (unsigned long long)r->total.records,
			r->total.records == 1 ? "" : "s");
	else if (ui.json)
		sim_print_json(stdout, r, &q->costs);
	else
		sim_print(stdout, r, &q->costs);
}

static int run_traces(struct request *q)
{
	struct sim_result sum = { 0 };
	char err[400];
	int status = UI_OK;

	for (size_t i = 0; i < q->path_count && status == UI_OK; i++) {
		const int bad = q->merge ? sim_result_read(&sum, q->paths[i], err, sizeof(err))
					 : sim_run(&q->plan, q->paths[i], &sum, err, sizeof(err));

		if (bad)
			status = ui_error(usage.cmd, bad == TRACE_CANNOT ? UI_CANNOT : UI_USAGE, "%s",
					  err);
	}
	if (status == UI_OK && q->merge && !q->costs_name)
		ui_note("no -c: the prices are those of the built-in table %s", DEFAULT_COSTS);
	if (status == UI_OK)
		show(q, &sum);
	/* Where the answer cannot be written, whoever calls says so at the end. */
	if (status == UI_OK && !fflush(stdout) && !ferror(stdout) &&
	    sim_state_commit(&q->state, err, sizeof(err)))
		status = ui_error(usage.cmd, UI_USAGE, "%s", err);
	outfile_drop(&q->state.next);
	sim_result_free(&sum);
	return status;
}

/* A list of names of which none was seen is a mistake, most likely. */
static void note_unseen(const struct sim_plan *plan)
{
	const struct sim_use *use = &plan->use;
	char names[3 * 18] = "";
	size_t count = 0, at = 0;

	for (size_t i = 0; use->kind == SIM_USE_NAMES && i < use->name_count; i++) {
		const struct sim_use_name *n = &use->names[i];

		if (n->seen)
			return;
		if (strcmp(n->name, "*") && count++ < 3)
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", at ? ", " : "",
					       n->name);
	}
	if (count)
		ui_note("--use %s: no program of these is in %s: %s%s", plan->rows.use,
			plan->state ? "this piece of the trace" : "the trace", names,
			count > 3 ? ", ..." : "");
}

/* A row for each point of the sweep: cycles per slot at the middle of the prices. */
static void sweep_row(struct table *t, const struct request *q, const struct sim_result *r,
		      double use)
{
	table_cell(t, "%.3f", use);
	table_cell(t, "%.3f", r->total.slots ? (double)r->total.used_slots / (double)r->total.slots : 0);
	for (size_t i = 0; i < r->row_count; i++) {
		const struct sim_range x = sim_row_cycles(r, &q->costs, i);

		table_cell(t, "%.1f", (x.low + x.high) / 2 / (double)r->total.slots);
	}
}

static int run_synthetic(struct request *q)
{
	const uint64_t points = q->sweep ? q->sweep + 1 : 1;
	struct table *t = NULL;
	struct synth s;
	char err[400], wrong[SYNTH_BAD];

	if (!synth_parse(q->synthetic, &s, wrong))
		return ui_error(usage.cmd, UI_USAGE, "--synthetic: %s", wrong);
	for (uint64_t i = 0; i < points; i++) {
		struct sim_result sum = { 0 };
		int bad;

		if (q->sweep)
			s.use = (double)i / (double)q->sweep;
		bad = sim_run_synth(&q->plan, &s, &sum, err, sizeof(err));
		if (bad)
			return ui_error(usage.cmd, bad == TRACE_CANNOT ? UI_CANNOT : UI_USAGE,
					"%s", err);
		if (q->sweep && !ui.json) {
			if (!t) {
				t = table_new();
				table_column(t, "use asked", TABLE_RIGHT);
				table_column(t, "used", TABLE_RIGHT);
				for (size_t k = 0; k < sum.row_count; k++)
					table_column(t, q->plan.rows.rows[k].name, TABLE_RIGHT);
			}
			sweep_row(t, q, &sum, s.use);
		} else {
			show(q, &sum);
		}
		sim_result_free(&sum);
	}
	if (t) {
		printf("cycles per slot, at the middle of the prices\n");
		table_print(t, stdout);
		table_free(t);
	}
	return UI_OK;
}

int cmd_sim(int argc, char **argv)
{
	static struct request q;
	struct opt_parser p;
	int id, status = UI_OK;

	memset(&q, 0, sizeof(q));
	q.guest = -1;
	q.trap.high = q.ts.high = q.ipi.high = -1;
	q.plan.use.seed = q.plan.rows.seed = 1;
	snprintf(q.plan.rows.use, sizeof(q.plan.rows.use), "live");
	snprintf(q.plan.rows.signals, sizeof(q.plan.rows.signals), "auto");
	snprintf(q.plan.rows.sections, sizeof(q.plan.rows.sections), "auto");
	q.paths = calloc((size_t)argc + 1, sizeof(*q.paths));
	if (!q.paths)
		return ui_error(usage.cmd, UI_CANNOT, "out of memory");
	opt_begin(&p, &usage, argc, argv);
	while (status == UI_OK && (id = opt_next(&p)) != OPT_END) {
		if (id == OPT_STOP) {
			status = p.status;
			goto out;
		}
		status = read_option(&q, id, &p);
	}
	if (status == UI_OK)
		status = settle(&q);
	if (status == UI_OK)
		status = q.synthetic ? run_synthetic(&q) : run_traces(&q);
	if (status == UI_OK)
		note_unseen(&q.plan);
out:
	free(q.plan.use.names);
	free(q.paths);
	return status;
}

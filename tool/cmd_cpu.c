// SPDX-License-Identifier: BSD-2-Clause
/*
 * xstate cpu: what this or that CPU has, where, how big. This file reads the command line and the
 * CPUs it names; cpu/ holds the answers.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "cpu/cpu.h"
#include "ui/opt.h"
#include "ui/progress.h"
#include "ui/table.h"
#include "ui/ui.h"

enum {
	OPT_FROM = 1, OPT_DIFF, OPT_BASELINE, OPT_LEAVES, OPT_AUDIT, OPT_FOOTPRINT, OPT_HEADER,
	OPT_XCR0, OPT_XSS, OPT_BASE, OPT_ORDER, OPT_ALIGN, OPT_TASKS, OPT_GUEST_STATE, OPT_COSTS,
};

static const struct opt options[] = {
	{ OPT_FROM, 0, "from", "CPU", "host (the default), a CPUID dump or our own JSON, - for\n"
				      "standard input; several may follow" },
	{ OPT_DIFF, 0, "diff", NULL, "two CPUs: may A's state be restored on B" },
	{ OPT_BASELINE, 0, "baseline", NULL, "many CPUs: what all have, and which one costs what" },
	{ OPT_AUDIT, 0, "audit", NULL, "is what the CPU enumerates sound; exit 1 if not" },
	{ OPT_LEAVES, 0, "leaves", NULL, "the leaf 0DH that a guest with --xcr0 and --xss must be\n"
					 "shown" },
	{ OPT_XCR0, 0, "xcr0", "MASK", "a profile; alone: is it legal here, and how large" },
	{ OPT_XSS, 0, "xss", "MASK", "the same for supervisor state" },
	{ OPT_HEADER, 0, "c-header", "PREFIX", "the layout as C (and assembler) definitions" },
	{ OPT_FOOTPRINT, 0, "footprint", NULL, "what state costs in memory" },
	{ OPT_GUEST_STATE, 0, "guest-state", NULL, "CET_S in no task, in guests only, in every task: what\n"
						   "each costs" },
	{ OPT_COSTS, 0, "costs", "FILE", "guest-state: prices, as for xstate sim" },
	{ OPT_BASE, 0, "base", "BYTES", "footprint: the structure that holds it (this kernel's\n"
					"task_struct)" },
	{ OPT_ORDER, 0, "slab-order", "N", "footprint: a slab has 2^N pages" },
	{ OPT_ALIGN, 0, "align", "BYTES", "footprint: alignment of the structure" },
	{ OPT_TASKS, 0, "tasks", "N", "footprint: for so many tasks (10000)" },
	{ 0 },
};

static const struct opt_usage usage = {
	.cmd = CPU_CMD,
	.summary = "what this or that CPU has, where, how big",
	.synopsis = "[--from CPU...] [--diff A B | --baseline CPU... | --audit CPU | ...]",
	.about = "A CPU is 'host', a dump (cpuid -r, InstLatx64/AIDA64, libcpuid raw, Firecracker\n"
		 "fingerprint or template) or the JSON that this command prints.\n",
	.opts = options,
	.examples = "xstate cpu                                   this machine\n"
		    "xstate cpu --from dumps/*.txt                many, one row each\n"
		    "xstate cpu --diff a.txt b.txt                will A's state restore on B\n"
		    "xstate cpu --xcr0 0x202e7 --from spr.txt     would XSETBV accept it\n"
		    "xstate cpu --footprint --base 10048 --slab-order 3 --align 64\n"
		    "xstate cpu --guest-state --from spr.txt --base 10048 --slab-order 3 --align 64\n",
};

struct command {
	int mode; /* 0: show */
	struct cpu_request req;
	const char **specs;
	unsigned spec_count;
};

static int set_mode(struct command *c, int mode)
{
	if (c->mode && c->mode != mode)
		return ui_error(CPU_CMD, UI_USAGE,
				"--diff, --baseline, --audit, --leaves, --c-header, "
				"--footprint and --guest-state exclude each other");
	c->mode = mode;
	return UI_OK;
}

/* One option; UI_OK to go on. */
static int take(struct command *c, struct opt_parser *p, int id)
{
	struct cpu_request *req = &c->req;

	switch (id) {
	case OPT_ARG:
	case OPT_FROM:
		c->specs[c->spec_count++] = p->arg;
		return UI_OK;
	case OPT_XCR0:
		req->xcr0_given = true;
		return opt_get_u64(p, 0, UINT64_MAX, &req->xcr0) ? UI_OK : p->status;
	case OPT_XSS:
		req->xss_given = true;
		return opt_get_u64(p, 0, UINT64_MAX, &req->xss) ? UI_OK : p->status;
	case OPT_HEADER:
		req->prefix = p->arg;
		return set_mode(c, id);
	case OPT_COSTS:
		req->costs = p->arg;
		return UI_OK;
	case OPT_BASE:
		return opt_get_bytes(p, 1, 1 << 22, &req->base_bytes) ? UI_OK : p->status;
	case OPT_ORDER:
		req->order_given = true;
		return opt_get_u64(p, 0, 10, &req->slab_order) ? UI_OK : p->status;
	case OPT_ALIGN:
		return opt_get_bytes(p, 1, 1 << 22, &req->align_bytes) ? UI_OK : p->status;
	case OPT_TASKS:
		return opt_get_u64(p, 1, 1ULL << 32, &req->tasks) ? UI_OK : p->status;
	default:
		return set_mode(c, id);
	}
}

static int read_one(const char *spec, struct cpu_source *src)
{
	char err[512];

	if (!read_cpu(spec, src, err, sizeof(err)))
		return UI_OK;
	return ui_error(CPU_CMD, UI_USAGE, "%s", err);
}

static int run_one(const struct command *c, const struct cpu_source *src)
{
	switch (c->mode) {
	case OPT_AUDIT:
		return cpu_audit(src);
	case OPT_LEAVES:
		return cpu_leaves(src, &c->req);
	case OPT_HEADER:
		return cpu_c_header(src, &c->req);
	case OPT_FOOTPRINT:
		return cpu_footprint(src, &c->req);
	case OPT_GUEST_STATE:
		return cpu_guest_state(src, &c->req);
	default:
		if (c->req.xcr0_given || c->req.xss_given)
			return cpu_profile(src, &c->req);
		if (ui.json)
			cpu_show_json(src);
		else
			cpu_show(src);
		return UI_OK;
	}
}

/* Each CPU for itself: a bad one does not stop the others, the worst status wins. */
static int run_each(const struct command *c)
{
	bool rows = c->spec_count > 1 && !c->mode && !ui.json && !c->req.xcr0_given &&
		    !c->req.xss_given;
	struct table *t = rows ? cpu_rows_begin() : NULL;
	struct progress bar;
	int status = UI_OK;
	unsigned i, shown = 0;

	progress_begin(&bar, "reading", c->spec_count);
	for (i = 0; i < c->spec_count; i++) {
		struct cpu_source src;
		int one = read_one(c->specs[i], &src);

		if (!one && rows && ++shown)
			cpu_rows_add(t, &src);
		else if (!one)
			one = run_one(c, &src);
		if (one > status)
			status = one;
		read_cpu_free(&src);
		if (rows)
			progress_update(&bar, i + 1);
		else if (!ui.json && i + 1 < c->spec_count && c->mode != OPT_AUDIT)
			printf("\n");
	}
	progress_end(&bar);
	if (shown)
		table_print(t, stdout);
	table_free(t);
	return status;
}

/* All together: with one missing, the answer would be about something else. */
static int run_together(const struct command *c)
{
	struct cpu_source *srcs = calloc(c->spec_count, sizeof(*srcs));
	int status = UI_OK;
	unsigned i, n;

	if (!srcs)
		return ui_error(CPU_CMD, UI_USAGE, "out of memory");
	for (n = 0; n < c->spec_count; n++) {
		int one = read_one(c->specs[n], &srcs[n]);

		if (one > status)
			status = one;
	}
	if (!status)
		status = c->mode == OPT_DIFF ? cpu_diff(&srcs[0], &srcs[1])
					     : cpu_baseline(srcs, c->spec_count);
	for (i = 0; i < n; i++)
		read_cpu_free(&srcs[i]);
	free(srcs);
	return status;
}

/* An option that only another question needs is not passed over. */
static const char *idle_option(const struct command *c)
{
	const bool memory = c->mode == OPT_FOOTPRINT || c->mode == OPT_GUEST_STATE;

	if (!memory && c->req.base_bytes)
		return "--base";
	if (!memory && c->req.order_given)
		return "--slab-order";
	if (!memory && c->req.align_bytes)
		return "--align";
	if (!memory && c->req.tasks)
		return "--tasks";
	return c->req.costs && c->mode != OPT_GUEST_STATE ? "--costs" : NULL;
}

static int run(struct command *c)
{
	const char *idle = idle_option(c);

	if (idle)
		return ui_error(CPU_CMD, UI_USAGE, "%s has a meaning for %s only", idle,
				c->req.costs && !strcmp(idle, "--costs")
					? "--guest-state"
					: "--footprint and --guest-state");
	if (!c->spec_count && c->mode != OPT_DIFF && c->mode != OPT_BASELINE)
		c->specs[c->spec_count++] = "host";
	if (c->mode == OPT_DIFF && c->spec_count != 2)
		return ui_error(CPU_CMD, UI_USAGE, "--diff wants two CPUs, not %u", c->spec_count);
	if (c->mode == OPT_BASELINE && c->spec_count < 2)
		return ui_error(CPU_CMD, UI_USAGE, "--baseline wants two or more CPUs, not %u",
				c->spec_count);
	if (c->mode == OPT_DIFF || c->mode == OPT_BASELINE)
		return run_together(c);
	return run_each(c);
}

int cmd_cpu(int argc, char **argv)
{
	struct opt_parser p;
	struct command c = {0};
	int id, status = UI_OK;

	/* As many CPUs as words at most, and the default. */
	c.specs = calloc((size_t)argc + 1, sizeof(*c.specs));
	if (!c.specs)
		return ui_error(CPU_CMD, UI_USAGE, "out of memory");
	opt_begin(&p, &usage, argc, argv);
	while (!status && (id = opt_next(&p)) != OPT_END) {
		if (id == OPT_STOP) {
			status = p.status;
			goto out;
		}
		status = take(&c, &p, id);
	}
	if (!status)
		status = run(&c);
out:
	free(c.specs);
	return status;
}

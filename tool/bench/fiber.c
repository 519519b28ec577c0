// SPDX-License-Identifier: BSD-2-Clause
/*
 * The ways to switch, their arms, and what the samples say. A turn of an arm's loop is a few times
 * there and back, so what is compared is the switch in its steady state; all save areas are the same
 * two, at the same place in a block.
 */
#include "fiber.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Short, so that a state is likely to stay what it is for that long. */
#define SLICE_SECONDS 0.00003
#define COPIES (FIBER_PER_LOOP / 2) /* there and back */

#define KEEPS_FIBER (KEEPS_CALLEE_SAVED | KEEPS_CONTROL)
#define KEEPS_IMAGE (KEEPS_CONTROL | KEEPS_LEGACY)

const struct fiber_switch fiber_switch[FIBER_SWITCHES] = {
	{.id = "pair", .sort = FIBER_PAIR, .keeps = KEEPS_IMAGE | KEEPS_ALL},
	{"library-eager", "library, eager", "eager", FIBER_LIBRARY, PEERS,
	 KEEPS_IMAGE | KEEPS_ALL, false},
	{"library-eager-keep", "library, eager-keep", "eager-keep", FIBER_LIBRARY, PEERS,
	 KEEPS_IMAGE | KEEPS_ALL, false},
	{"library-deferred", "library, deferred", "deferred", FIBER_LIBRARY, PEERS,
	 KEEPS_IMAGE | KEEPS_ALL, false},
	{"library-auto", "library, auto", "auto", FIBER_LIBRARY, PEERS, KEEPS_IMAGE | KEEPS_ALL,
	 false},
	{.id = "fxsave", .name = "FXSAVE+FXRSTOR", .sort = FIBER_PAIR, .keeps = KEEPS_IMAGE,
	 .legacy = true},
	{"hand", "by hand", NULL, FIBER_STACKS, PEER_HAND, KEEPS_FIBER, false},
	{"setjmp", "setjmp and longjmp", NULL, FIBER_STACKS, PEER_SETJMP, KEEPS_CALLEE_SAVED,
	 false},
	{"boost", "boost.context", NULL, FIBER_STACKS, PEER_BOOST, KEEPS_FIBER, false},
	{"swapcontext", "glibc swapcontext", NULL, FIBER_STACKS, PEER_UCONTEXT, KEEPS_FIBER,
	 false},
};

const enum live fiber_live[FIBER_LIVES] = {LIVE_INIT, LIVE_SSE, LIVE_AVX, LIVE_AVX512};

const struct fiber_goal fiber_goal[FIBER_GOALS] = {
	{"eager-switch", "an eager switch through the library, against the bare pair",
	 "library-eager", 1.05, false},
	{"init-switch", "skip_init with both sides INIT, against the bare pair", "library-auto",
	 0.15, true},
};

const char *const fiber_ruling_name[4] = {"reached", "missed", "undecided", "not measured"};

/* A pair, and what fills its areas, for each save form. */
static const struct {
	const char *name;
	enum snip there, back, fill_a, fill_b;
} forms[] = {
	[XST_INSN_FNSAVE] = {NULL, SNIP_NONE, SNIP_NONE, SNIP_NONE, SNIP_NONE},
	[XST_INSN_FXSAVE] = {"FXSAVE+FXRSTOR", SNIP_fx_there, SNIP_fx_back, SNIP_fxsave,
			     SNIP_fxsave_b},
	[XST_INSN_XSAVE] = {"XSAVE+XRSTOR", SNIP_xsave_there, SNIP_xsave_back, SNIP_xsave,
			    SNIP_xsave_b},
	[XST_INSN_XSAVEOPT] = {"XSAVEOPT+XRSTOR", SNIP_xsaveopt_there, SNIP_xsaveopt_back,
			       SNIP_xsave, SNIP_xsave_b},
	[XST_INSN_XSAVEC] = {"XSAVEC+XRSTOR", SNIP_xsavec_there, SNIP_xsavec_back, SNIP_xsavec,
			     SNIP_xsavec_b},
};

static void use_form(struct fiber_way *way, enum xst_insn insn)
{
	way->there = forms[insn].there;
	way->back = forms[insn].back;
	way->fill_a = forms[insn].fill_a;
	way->fill_b = forms[insn].fill_b;
}

static void open_library(const struct bench_state *state, struct fiber_way *way, const char *policy)
{
	const char *why;

	way->library = library_open(state->all ? state->all : XST_MASK_LEGACY, state->area_bytes,
				    policy, &why);
	if (!way->library) {
		way->skipped = why;
		return;
	}
	use_form(way, library_system(way->library)->insn);
	way->mask = library_system(way->library)->mask;
}

void fiber_way_open(const struct bench_state *state, unsigned number,
		    void (*inside)(void *argument), void *argument, struct fiber_way *way)
{
	const struct fiber_switch *what = &fiber_switch[number];

	*way = (struct fiber_way){.what = what, .mask = state->all};
	if (what->sort == FIBER_STACKS) {
		way->peer = peer_open(what->peer, inside, argument, &way->skipped);
		if (!way->peer)
			return;
		way->skipped = NULL;
		way->call = peer_call(way->peer);
		way->there = SNIP_call_there;
		return;
	}
	/* The pair is the one the library would use, with its mask. */
	open_library(state, way, what->sort == FIBER_LIBRARY ? what->policy : "eager");
	if (way->skipped)
		return;
	if (what->legacy)
		use_form(way, XST_INSN_FXSAVE);
	if (what->sort == FIBER_LIBRARY) {
		way->call = library_call(way->library);
		way->there = way->call->then ? SNIP_call_then_there : SNIP_call_there;
		way->back = way->call->then ? SNIP_call_then_back : SNIP_call_back;
	}
}

void fiber_way_close(struct fiber_way *way)
{
	library_close(way->library);
	peer_close(way->peer);
	*way = (struct fiber_way){0};
}

static void fill_arm(const struct fiber_row *row, struct bench_arm *arm)
{
	const struct fiber_way *way = row->way;

	*arm = (struct bench_arm){.live = row->live,
				  .mask = way->mask,
				  .fill_a = way->fill_a,
				  .fill_b = way->fill_b};
	arm->body = (struct code_body){.step = {{way->there, 1}, {way->back, 1}}, .copies = COPIES};
	if (way->call) {
		arm->call = way->call->function;
		arm->argument = (void *)way->call->argument;
	}
	arm->steady = true;
	arm->seconds = SLICE_SECONDS;
	if (way->what->sort == FIBER_LIBRARY) {
		arm->place = library_place;
		arm->world = way->library;
	}
	snprintf(arm->name, sizeof(arm->name), "%.40s/%s", way->what->id, live_name[row->live]);
}

bool fiber_prepare(struct fiber_run *run, const char **why)
{
	struct bench_session *s = &run->s;

	*why = "memory is short";
	s->arms = calloc(CONTROL_ARMS + FIBER_SWITCHES * FIBER_LIVES, sizeof(*s->arms));
	if (!s->arms)
		return false;
	for (unsigned i = 0; i < FIBER_SWITCHES; i++)
		fiber_way_open(&s->rig.state, i, NULL, NULL, &run->way[i]);
	if (run->way[0].skipped) {
		*why = run->way[0].skipped;
		return false;
	}
	run->pair = forms[library_system(run->way[0].library)->insn].name;
	if (!controls_add(&s->rig, s->arms, 0, why))
		return false;
	s->arm_count = CONTROL_ARMS;
	for (unsigned l = 0; l < FIBER_LIVES; l++)
		for (unsigned i = 0; i < FIBER_SWITCHES; i++) {
			struct fiber_row *row = &run->row[run->rows++];

			row->way = &run->way[i];
			row->live = fiber_live[l];
			row->arm = s->arm_count;
			row->skipped = row->way->skipped;
			if (row->skipped)
				continue;
			fill_arm(row, &s->arms[row->arm]);
			if (rig_pilot(&s->rig, &s->arms[row->arm], &row->skipped))
				s->arm_count++;
		}
	s->rig.arms = s->arms;
	return true;
}

/* Switches in a slice of a row. */
static double units_of(const struct fiber_run *run, const struct fiber_row *row)
{
	return (double)FIBER_PER_LOOP * run->s.arms[row->arm].loops;
}

static const struct fiber_row *row_of(const struct fiber_run *run, const char *id, enum live live)
{
	for (uint32_t i = 0; i < run->rows; i++)
		if (run->row[i].live == live && !strcmp(run->row[i].way->what->id, id))
			return &run->row[i];
	return NULL;
}

static void analyse_row(struct fiber_run *run, struct fiber_row *row, uint64_t part, double *x)
{
	const struct stats_samples *samples = &run->s.samples;
	const struct fiber_row *base = row_of(run, "pair", row->live);
	const double units = units_of(run, row);
	size_t n = stats_series_level(samples, row->arm, units, x);

	stats_spread_of(x, n, &row->cycles);
	stats_estimate_of(x, n, stats_seed_mix(run->s.seed, part), &row->middle);
	if (base->skipped)
		return;
	/* A slice of each arm has another number of switches. */
	n = stats_series_ratio(samples, row->arm, base->arm, x);
	for (size_t i = 0; i < n; i++)
		x[i] -= log(units / units_of(run, base));
	stats_estimate_of(x, n, stats_seed_mix(run->s.seed, part + 500), &row->ratio);
}

bool fiber_analyse(struct fiber_run *run)
{
	double *x = malloc(run->s.plan.blocks * sizeof(*x));

	if (!x)
		return false;
	for (uint32_t i = 0; i < run->rows; i++)
		if (!run->row[i].skipped)
			analyse_row(run, &run->row[i], 1000 + i, x);
	free(x);
	return session_read(&run->s);
}

const struct fiber_row *fiber_goal_row(const struct fiber_run *run, unsigned goal, enum live live)
{
	if (fiber_goal[goal].init_only && live != LIVE_INIT)
		return NULL;
	return row_of(run, fiber_goal[goal].way, live);
}

enum fiber_ruling fiber_rule(const struct fiber_goal *goal, const struct fiber_row *row)
{
	const double limit = log(goal->limit);

	if (row->skipped || !row->ratio.n)
		return FIBER_NOT_MEASURED;
	if (row->ratio.high <= limit)
		return FIBER_REACHED;
	return row->ratio.low > limit ? FIBER_MISSED : FIBER_UNDECIDED;
}

bool fiber_missed(const struct fiber_run *run)
{
	for (unsigned g = 0; g < FIBER_GOALS; g++)
		for (unsigned l = 0; l < FIBER_LIVES; l++) {
			const struct fiber_row *row = fiber_goal_row(run, g, fiber_live[l]);

			if (row && fiber_rule(&fiber_goal[g], row) == FIBER_MISSED)
				return true;
		}
	return false;
}

void fiber_close(struct fiber_run *run)
{
	for (unsigned i = 0; i < FIBER_SWITCHES; i++)
		fiber_way_close(&run->way[i]);
	session_close(&run->s);
}

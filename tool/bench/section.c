// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rows of `xstate bench kernel`, their arms, and what the samples say. A turn of an arm's loop is
 * eight sections, or eight blocks; the variants differ in the steps before and after the same work.
 */
#include "section.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xst/kernel.h>

#define SLACK 4096u /* the prefetch reaches beyond; blocks begin with pages, as in a RAID */

const char *const section_ruling_name[4] = {"reached", "missed", "undecided", "not measured"};

const struct section_goal section_goal[SECTION_GOALS] = {
	{"need-0", "begin and end, integer SIMD, state saved", "pair/0", 15, false},
	{"need-mxcsr", "begin and end, MXCSR in place", "pair/mxcsr-in-place", 15, false},
	{"need-x87", "begin and end, x87 in place", "pair/x87-in-place", 15, false},
	{"xor-avx", "AVX parity of 4 KiB blocks, a section each", "xor-avx/section-0", 0.98, true},
};

const struct section_record section_record[SECTION_RECORDS] = {
	{"without", 38616, 25797, 23147},
	{"FNINIT and LDMXCSR", 23318, 22562, 20431},
	{"LDMXCSR only", 26451, 25777, 23178},
};

static void add(struct section_run *run, struct section_what what)
{
	if (run->rows < SECTION_ROWS_MAX)
		run->row[run->rows++].what = what;
}

static void add_pairs(struct section_run *run)
{
	const struct section_what pairs[] = {
		{.id = "pair/0", .name = "library: nothing declared", .library = true},
		{.id = "pair/mxcsr-in-place", .name = "library: MXCSR, in place", .library = true,
		 .need = XST_NEED_MXCSR, .in_place = true},
		{.id = "pair/x87-in-place", .name = "library: x87, in place", .library = true,
		 .need = XST_NEED_X87, .in_place = true},
		{.id = "pair/mxcsr", .name = "library: MXCSR, loaded", .library = true,
		 .need = XST_NEED_MXCSR},
		{.id = "pair/x87", .name = "library: x87, loaded", .library = true,
		 .need = XST_NEED_X87},
		{.id = "pair/both", .name = "library: both, loaded", .library = true,
		 .need = XST_NEED_EFI},
		{.id = "old/both", .name = "FNINIT, LDMXCSR", .old = SNIP_old_both},
		{.id = "old/ldmxcsr", .name = "LDMXCSR", .old = SNIP_old_ldmxcsr},
		{.id = "old/vldmxcsr", .name = "VLDMXCSR", .old = SNIP_old_vldmxcsr, .avx = true},
		{.id = "old/vzeroupper", .name = "VZEROUPPER, LDMXCSR", .old = SNIP_old_vzeroupper,
		 .avx = true},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		add(run, pairs[i]);
}

#define XOR_WAY(tag, text, function, is_avx)                                                       \
	{                                                                                          \
		{.id = tag "/none", .name = "no section", .way = text, .work = function,           \
		 .avx = is_avx},                                                                   \
		{.id = tag "/section-0", .name = "library: nothing declared", .way = text,         \
		 .work = function, .library = true, .base = tag "/none", .avx = is_avx},           \
		{.id = tag "/section-mxcsr", .name = "library: MXCSR", .way = text,                \
		 .work = function, .library = true, .need = XST_NEED_MXCSR, .base = tag "/none",   \
		 .avx = is_avx},                                                                   \
		{.id = tag "/old-both", .name = "FNINIT, LDMXCSR", .way = text, .work = function,  \
		 .old = SNIP_old_both, .base = tag "/none", .avx = is_avx},                        \
		{.id = tag "/old-ldmxcsr", .name = "LDMXCSR", .way = text, .work = function,       \
		 .old = SNIP_old_ldmxcsr, .base = tag "/none", .avx = is_avx},                     \
		{.id = tag "/old-vldmxcsr", .name = "VLDMXCSR", .way = text, .work = function,     \
		 .old = SNIP_old_vldmxcsr, .base = tag "/none", .avx = true},                      \
		{.id = tag "/old-vzeroupper", .name = "VZEROUPPER, LDMXCSR", .way = text,          \
		 .work = function, .old = SNIP_old_vzeroupper, .base = tag "/none", .avx = true},  \
	}

static void add_parities(struct section_run *run)
{
	const struct section_what ways[3][7] = {
		XOR_WAY("xor-avx", "avx", xor_avx, true),
		XOR_WAY("xor-prefetch", "sse with prefetch", xor_sse_prefetch, false),
		XOR_WAY("xor-sse", "generic sse", xor_sse, false),
	};
	const struct section_what more[] = {
		{.id = "xor-avx/2/none", .name = "no section", .sources = 2},
		{.id = "xor-avx/2/section-0", .name = "library: nothing declared", .sources = 2,
		 .library = true, .base = "xor-avx/2/none"},
		{.id = "xor-avx/3/none", .name = "no section", .sources = 3},
		{.id = "xor-avx/3/section-0", .name = "library: nothing declared", .sources = 3,
		 .library = true, .base = "xor-avx/3/none"},
		{.id = "xor-avx/4/none", .name = "no section", .sources = 4},
		{.id = "xor-avx/4/section-0", .name = "library: nothing declared", .sources = 4,
		 .library = true, .base = "xor-avx/4/none"},
	};

	for (size_t w = 0; w < 3; w++)
		for (size_t i = 0; i < 7; i++) {
			struct section_what what = ways[w][i];

			what.sort = SECTION_XOR;
			what.sources = 1;
			add(run, what);
		}
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		struct section_what what = more[i];

		what.sort = SECTION_XOR;
		what.way = "avx";
		what.work = xor_avx;
		what.avx = true;
		add(run, what);
	}
}

static void fill_arm(struct section_run *run, struct section_row *row, struct bench_arm *arm)
{
	const struct section_what *what = &row->what;
	unsigned step = 0;

	*arm = (struct bench_arm){.live = LIVE_INIT, .mask = run->s.rig.state.all};
	arm->body.copies = SECTION_PER_LOOP;
	if (what->in_place)
		arm->body.step[step++].snip = SNIP_section_in_place;
	if (what->old != SNIP_NONE)
		arm->body.step[step++].snip = what->old;
	if (what->sort == SECTION_XOR || what->library)
		arm->body.step[step++].snip = SNIP_section_step;
	for (unsigned i = 0; i < step; i++)
		arm->body.step[i].times = 1;
	arm->argument = row->call;
	snprintf(arm->name, sizeof(arm->name), "%s", what->id);
}

static void fill_call(struct section_run *run, struct section_row *row, const void **from)
{
	section_user_call(run->user, row->call);
	row->call->work = row->what.work;
	row->call->step = row->what.sort == SECTION_PAIR ? section_pair_of(row->what.need)
			  : !row->what.library		 ? section_block_none
			  : row->what.need		 ? section_block_mxcsr
							 : section_block_0;
	row->call->to = run->blocks;
	row->call->from = (const void *const *)from;
	row->call->sources = row->what.sources;
}

bool section_prepare(struct section_run *run, const char **why)
{
	struct bench_session *s = &run->s;
	const size_t block = SECTION_BLOCK + SLACK;
	static const void *from[SECTION_SOURCES];

	add_pairs(run);
	add_parities(run);
	run->user = section_user_open(why);
	if (!run->user)
		return false;
	*why = "memory is short";
	s->arms = calloc(CONTROL_ARMS + SECTION_ROWS_MAX, sizeof(*s->arms));
	run->calls = calloc(SECTION_ROWS_MAX, sizeof(*run->calls));
	run->blocks = aligned_alloc(SECTION_BLOCK, (SECTION_SOURCES + 1) * block);
	if (!s->arms || !run->calls || !run->blocks)
		return false;
	for (size_t i = 0; i < (SECTION_SOURCES + 1) * block; i++)
		run->blocks[i] = (uint8_t)(stats_seed_mix(s->seed, i) | 1);
	for (unsigned i = 0; i < SECTION_SOURCES; i++)
		from[i] = run->blocks + (i + 1) * block;
	if (!controls_add(&s->rig, s->arms, 0, why))
		return false;
	s->arm_count = CONTROL_ARMS;
	for (uint32_t i = 0; i < run->rows; i++) {
		struct section_row *row = &run->row[i];

		row->call = &run->calls[i];
		row->arm = s->arm_count;
		fill_call(run, row, from);
		fill_arm(run, row, &s->arms[row->arm]);
		if (row->what.avx && !(s->rig.state.all & XST_MASK_AVX))
			row->skipped = "no AVX";
		else if (rig_pilot(&s->rig, &s->arms[row->arm], &row->skipped))
			s->arm_count++;
	}
	s->rig.arms = s->arms;
	return true;
}

static double units_of(const struct section_run *run, const struct section_row *row)
{
	return (double)SECTION_PER_LOOP * run->s.arms[row->arm].loops;
}

const struct section_row *section_row_of(const struct section_run *run, const char *id)
{
	for (uint32_t i = 0; i < run->rows; i++)
		if (!strcmp(run->row[i].what.id, id))
			return &run->row[i];
	return NULL;
}

static void analyse_row(struct section_run *run, struct section_row *row, uint64_t part, double *x)
{
	const struct stats_samples *samples = &run->s.samples;
	const struct section_row *base = row->what.base ? section_row_of(run, row->what.base) : NULL;
	const double units = units_of(run, row);
	size_t n = stats_series_level(samples, row->arm, units, x);

	stats_spread_of(x, n, &row->cycles);
	stats_estimate_of(x, n, stats_seed_mix(run->s.seed, part), &row->middle);
	if (!base || base->skipped)
		return;
	/* Throughput: time of the base by time of this one. */
	n = stats_series_ratio(samples, base->arm, row->arm, x);
	for (size_t i = 0; i < n; i++)
		x[i] += log(units / units_of(run, base));
	stats_estimate_of(x, n, stats_seed_mix(run->s.seed, part + 500), &row->throughput);
}

bool section_analyse(struct section_run *run)
{
	double *x = malloc(run->s.plan.blocks * sizeof(*x));

	if (!x)
		return false;
	for (uint32_t i = 0; i < run->rows; i++)
		if (!run->row[i].skipped)
			analyse_row(run, &run->row[i], 1000 + i, x);
	free(x);
	section_user_counters(run->user, run->counters);
	return session_read(&run->s);
}

enum section_ruling section_rule(const struct section_run *run, const struct section_goal *goal)
{
	const struct section_row *row = section_row_of(run, goal->row);
	const struct stats_estimate *e;

	if (!row || row->skipped)
		return SECTION_NOT_MEASURED;
	e = goal->at_least ? &row->throughput : &row->middle;
	if (!e->n)
		return SECTION_NOT_MEASURED;
	if (goal->at_least) {
		if (e->low >= log(goal->limit))
			return SECTION_REACHED;
		return e->high < log(goal->limit) ? SECTION_MISSED : SECTION_UNDECIDED;
	}
	if (e->high <= goal->limit)
		return SECTION_REACHED;
	return e->low > goal->limit ? SECTION_MISSED : SECTION_UNDECIDED;
}

bool section_missed(const struct section_run *run)
{
	for (unsigned g = 0; g < SECTION_GOALS; g++)
		if (section_rule(run, &section_goal[g]) == SECTION_MISSED)
			return true;
	return false;
}

void section_close(struct section_run *run)
{
	section_user_close(run->user);
	free(run->calls);
	free(run->blocks);
	session_close(&run->s);
}

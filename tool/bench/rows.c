// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rows, as tables: the save and restore families crossed with live sets and masks, and
 * everything else one by one.
 */
#include "rows.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <xst/comp.h>

enum need {
	NEED_NOTHING,
	NEED_XSAVE,
	NEED_XSAVEOPT,
	NEED_XSAVEC,
	NEED_XGETBV1,
	NEED_AVX,
	NEED_AVX512,
	NEED_PKU,
};

static const char *lacks(const struct bench_state *s, enum need need)
{
	bool avx = s->all & XST_MASK(XST_COMP_AVX);
	bool avx512 = (s->all & XST_MASK_AVX512) == XST_MASK_AVX512;

	switch (need) {
	case NEED_NOTHING:
		return NULL;
	case NEED_XSAVE:
		return s->all ? NULL : "no XSAVE";
	case NEED_XSAVEOPT:
		return s->all && s->caps.xsaveopt ? NULL : "no XSAVEOPT";
	case NEED_XSAVEC:
		return s->all && s->caps.xsavec ? NULL : "no XSAVEC";
	case NEED_XGETBV1:
		return s->all && s->caps.xgetbv1 ? NULL : "no XGETBV with ECX = 1";
	case NEED_AVX:
		return avx ? NULL : "no AVX";
	case NEED_AVX512:
		return avx512 ? NULL : "no AVX-512";
	case NEED_PKU:
		return s->pkru ? NULL : "protection keys are not enabled";
	}
	return NULL;
}

/* Save, restore and both, crossed with live sets and masks. */
static const struct {
	const char *name, *format;
	enum need need;
	enum snip insn, fill_a, fill_b;
	uint32_t per, copies;
} families[] = {
	{"XSAVE", "standard", NEED_XSAVE, SNIP_xsave, SNIP_NONE, SNIP_NONE, 1, 4},
	{"XSAVEOPT", "standard", NEED_XSAVEOPT, SNIP_xsaveopt, SNIP_NONE, SNIP_NONE, 1, 4},
	{"XSAVEC", "compacted", NEED_XSAVEC, SNIP_xsavec, SNIP_NONE, SNIP_NONE, 1, 4},
	{"XRSTOR", "standard", NEED_XSAVE, SNIP_xrstor, SNIP_xsave, SNIP_NONE, 1, 4},
	{"XRSTOR", "compacted", NEED_XSAVEC, SNIP_xrstor, SNIP_xsavec, SNIP_NONE, 1, 4},
	{"XSAVE+XRSTOR", "standard", NEED_XSAVE, SNIP_xsave_switches, SNIP_xsave, SNIP_xsave_b, 2,
	 2},
	{"XSAVEOPT+XRSTOR", "standard", NEED_XSAVEOPT, SNIP_xsaveopt_switches, SNIP_xsave,
	 SNIP_xsave_b, 2, 2},
	{"XSAVEC+XRSTOR", "compacted", NEED_XSAVEC, SNIP_xsavec_switches, SNIP_xsavec,
	 SNIP_xsavec_b, 2, 2},
};

/* The same for the older formats, which have no mask. */
static const struct {
	const char *name, *format;
	enum snip insn, fill_a, fill_b;
	uint32_t per, copies;
	enum live live[3]; /* ends at the second LIVE_INIT */
} legacy[] = {
	{"FNSAVE", "fnsave", SNIP_fnsave, SNIP_NONE, SNIP_NONE, 1, 4, {LIVE_INIT}},
	{"FRSTOR", "fnsave", SNIP_frstor, SNIP_fnsave, SNIP_NONE, 1, 4, {LIVE_INIT, LIVE_X87}},
	{"FNSAVE+FRSTOR",
	 "fnsave",
	 SNIP_fn_switches,
	 SNIP_fnsave,
	 SNIP_fnsave_b,
	 2,
	 2,
	 {LIVE_INIT, LIVE_X87}},
	{"FXSAVE",
	 "fxsave",
	 SNIP_fxsave,
	 SNIP_NONE,
	 SNIP_NONE,
	 1,
	 4,
	 {LIVE_INIT, LIVE_X87, LIVE_SSE}},
	{"FXRSTOR",
	 "fxsave",
	 SNIP_fxrstor,
	 SNIP_fxsave,
	 SNIP_NONE,
	 1,
	 4,
	 {LIVE_INIT, LIVE_X87, LIVE_SSE}},
	{"FXSAVE+FXRSTOR",
	 "fxsave",
	 SNIP_fx_switches,
	 SNIP_fxsave,
	 SNIP_fxsave_b,
	 2,
	 2,
	 {LIVE_INIT, LIVE_X87, LIVE_SSE}},
};

/* One by one. @id "" means the name in small letters. */
static const struct {
	const char *id, *name, *detail;
	enum need need;
	enum live live;
	enum snip pre, insn;
	uint32_t index, per, copies;
} singles[] = {
	{"", "FNINIT", NULL, NEED_NOTHING, LIVE_INIT, SNIP_NONE, SNIP_fninit, 0, 1, 8},
	{"fninit/used", "FNINIT", "after x87 use", NEED_NOTHING, LIVE_INIT, SNIP_use_x87,
	 SNIP_fninit, 0, 1, 8},
	{"", "FNCLEX", NULL, NEED_NOTHING, LIVE_INIT, SNIP_NONE, SNIP_fnclex, 0, 1, 8},
	{"", "FLDCW", NULL, NEED_NOTHING, LIVE_INIT, SNIP_NONE, SNIP_fldcw, 0, 1, 16},
	{"", "FNSTCW", NULL, NEED_NOTHING, LIVE_INIT, SNIP_NONE, SNIP_fnstcw, 0, 1, 16},
	{"", "EMMS", NULL, NEED_NOTHING, LIVE_INIT, SNIP_NONE, SNIP_emms, 0, 1, 16},
	{"emms/used", "EMMS", "after MMX use", NEED_NOTHING, LIVE_INIT, SNIP_use_mmx, SNIP_emms, 0,
	 1, 16},
	{"ldmxcsr/same", "LDMXCSR", "same value", NEED_NOTHING, LIVE_SSE, SNIP_NONE, SNIP_ldmxcsr,
	 0, 1, 16},
	{"ldmxcsr/changed", "LDMXCSR", "other value", NEED_NOTHING, LIVE_SSE, SNIP_NONE,
	 SNIP_ldmxcsr_changed, 0, 2, 8},
	{"ldmxcsr/upper", "LDMXCSR", "upper halves in use", NEED_AVX, LIVE_AVX, SNIP_use_upper,
	 SNIP_ldmxcsr, 0, 1, 16},
	{"vldmxcsr/same", "VLDMXCSR", "same value", NEED_AVX, LIVE_SSE, SNIP_NONE, SNIP_vldmxcsr, 0,
	 1, 16},
	{"vldmxcsr/changed", "VLDMXCSR", "other value", NEED_AVX, LIVE_SSE, SNIP_NONE,
	 SNIP_vldmxcsr_changed, 0, 2, 8},
	{"vldmxcsr/upper", "VLDMXCSR", "upper halves in use", NEED_AVX, LIVE_AVX, SNIP_use_upper,
	 SNIP_vldmxcsr, 0, 1, 16},
	{"", "STMXCSR", NULL, NEED_NOTHING, LIVE_SSE, SNIP_NONE, SNIP_stmxcsr, 0, 1, 16},
	{"", "STMXCSR+LDMXCSR", NULL, NEED_NOTHING, LIVE_SSE, SNIP_NONE, SNIP_stldmxcsr, 0, 1, 16},
	{"", "VZEROUPPER", NULL, NEED_AVX, LIVE_INIT, SNIP_NONE, SNIP_vzeroupper, 0, 1, 16},
	{"vzeroupper/upper", "VZEROUPPER", "upper halves in use", NEED_AVX, LIVE_AVX,
	 SNIP_use_upper, SNIP_vzeroupper, 0, 1, 16},
	{"", "VZEROALL", NULL, NEED_AVX, LIVE_INIT, SNIP_NONE, SNIP_vzeroall, 0, 1, 16},
	{"vzeroall/upper", "VZEROALL", "upper halves in use", NEED_AVX, LIVE_AVX, SNIP_use_upper,
	 SNIP_vzeroall, 0, 1, 16},
	{"xgetbv/0", "XGETBV", "ECX = 0", NEED_XSAVE, LIVE_INIT, SNIP_NONE, SNIP_xgetbv, 0, 1, 8},
	{"xgetbv/1", "XGETBV", "ECX = 1", NEED_XGETBV1, LIVE_INIT, SNIP_NONE, SNIP_xgetbv, 1, 1, 8},
	{"", "RDPKRU", NULL, NEED_PKU, LIVE_INIT, SNIP_NONE, SNIP_rdpkru, 0, 1, 16},
	{"", "WRPKRU", "same value", NEED_PKU, LIVE_INIT, SNIP_NONE, SNIP_wrpkru, 0, 1, 8},
};

/* A save right behind a long x87 instruction, with integer work to overlap it with. */
static const struct {
	const char *id, *detail;
	enum snip pre;
} flights[] = {
	{"none", "no x87 in flight", SNIP_fly_none},    {"fdiv", "4 FDIV in flight", SNIP_fly_fdiv},
	{"fsqrt", "4 FSQRT in flight", SNIP_fly_fsqrt}, {"fsin", "FSIN in flight", SNIP_fly_fsin},
	{"fptan", "FPTAN in flight", SNIP_fly_fptan},
};

#define FLIGHT_MULTIPLIES 40

/* Work in two orders; which form depends on the widest registers. */
static const struct {
	const char *id, *detail;
	enum snip sse, avx, avx512;
} orders[] = {
	{"modified", "registers modified", SNIP_opt_modified_sse, SNIP_opt_modified_avx,
	 SNIP_opt_modified_512},
	{"kept", "registers not modified", SNIP_opt_kept_sse, SNIP_opt_kept_avx, SNIP_opt_kept_512},
};

static void lower(char *s)
{
	for (; *s; s++)
		*s = (char)tolower((unsigned char)*s);
}

static struct insn_row *start_row(struct insn_row *rows, uint32_t *n, const char *name)
{
	struct insn_row *row = &rows[*n];

	if (*n >= ROWS_MAX)
		return NULL;
	memset(row, 0, sizeof(*row));
	row->name = name;
	row->selected = true;
	row->per = row->copies = 1;
	(*n)++;
	return row;
}

static void add_family(const struct bench_state *s, struct insn_row *rows, uint32_t *n, size_t f,
		       uint64_t mask)
{
	const char *why = lacks(s, families[f].need);

	for (int live = 0; live < LIVE_COUNT; live++) {
		struct insn_row *row;

		/* A live set beyond the mask is the same as the one within it. */
		if (!s->image[live] || (s->live[live] & ~mask))
			continue;
		if (live == LIVE_X87_AVX && mask != (s->all & 7))
			continue; /* all that the narrow mask covers; of the wide one a mere part */
		row = start_row(rows, n, families[f].name);
		if (!row)
			return;
		row->format = families[f].format;
		row->live = (enum live)live;
		row->masked = true;
		row->mask = mask;
		row->insn = families[f].insn;
		row->fill_a = families[f].fill_a;
		row->fill_b = families[f].fill_b;
		row->per = families[f].per;
		row->copies = families[f].copies;
		row->skipped = why;
		snprintf(row->id, sizeof(row->id), "%s%s/%#llx/%s", families[f].name,
			 families[f].insn == SNIP_xrstor && families[f].fill_a == SNIP_xsavec
				 ? "-compacted"
				 : "",
			 (unsigned long long)mask, live_name[live]);
		lower(row->id);
		if (why)
			return; /* once is enough */
	}
}

/* Two masks: what every AVX program needs, and everything this CPU has. */
static void add_families(const struct bench_state *s, struct insn_row *rows, uint32_t *n)
{
	uint64_t narrow = s->all & 7;

	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		if (narrow != s->all)
			add_family(s, rows, n, f, narrow);
		add_family(s, rows, n, f, s->all);
	}
}

static void add_legacy(const struct bench_state *s, struct insn_row *rows, uint32_t *n)
{
	for (size_t i = 0; i < sizeof(legacy) / sizeof(legacy[0]); i++) {
		for (int l = 0; l < 3 && (l == 0 || legacy[i].live[l] != LIVE_INIT); l++) {
			struct insn_row *row = start_row(rows, n, legacy[i].name);

			if (!row)
				return;
			row->format = legacy[i].format;
			row->live = legacy[i].live[l];
			row->insn = legacy[i].insn;
			row->fill_a = legacy[i].fill_a;
			row->fill_b = legacy[i].fill_b;
			row->per = legacy[i].per;
			row->copies = legacy[i].copies;
			row->mask = s->all;
			snprintf(row->id, sizeof(row->id), "%s/%s", row->name,
				 live_name[row->live]);
			lower(row->id);
		}
	}
}

static void add_singles(const struct bench_state *s, struct insn_row *rows, uint32_t *n)
{
	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++) {
		struct insn_row *row = start_row(rows, n, singles[i].name);

		if (!row)
			return;
		row->detail = singles[i].detail;
		row->live = singles[i].live;
		row->pre = singles[i].pre;
		row->insn = singles[i].insn;
		row->index = singles[i].index;
		row->per = singles[i].per;
		row->copies = singles[i].copies;
		row->skipped = lacks(s, singles[i].need);
		/* PKRU is written with the value it has, or this program could not go on. */
		if (row->insn == SNIP_wrpkru)
			row->mask = s->pkru_now;
		snprintf(row->id, sizeof(row->id), "%s",
			 singles[i].id[0] ? singles[i].id : row->name);
		lower(row->id);
	}
}

static void add_orders(const struct bench_state *s, struct insn_row *rows, uint32_t *n)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct insn_row *row = start_row(rows, n, "XRSTOR+XSAVEOPT");

		if (!row)
			return;
		row->detail = orders[i].detail;
		row->format = "standard";
		row->live = LIVE_ALL;
		row->masked = true;
		row->mask = s->all;
		row->fill_a = SNIP_xsave;
		row->insn = !lacks(s, NEED_AVX512) ? orders[i].avx512
			    : !lacks(s, NEED_AVX)  ? orders[i].avx
						   : orders[i].sse;
		row->copies = 4;
		row->skipped = lacks(s, NEED_XSAVEOPT);
		snprintf(row->id, sizeof(row->id), "xrstor+xsaveopt/%s", orders[i].id);
	}
}

static void add_flights(const struct bench_state *s, struct insn_row *rows, uint32_t *n)
{
	bool xsave = s->all != 0;

	for (size_t i = 0; i < sizeof(flights) / sizeof(flights[0]); i++) {
		struct insn_row *row = start_row(rows, n, xsave ? "XSAVE" : "FXSAVE");

		if (!row)
			return;
		row->detail = flights[i].detail;
		row->format = xsave ? "standard" : "fxsave";
		row->live = LIVE_SSE;
		row->masked = xsave;
		row->mask = s->all;
		row->pre = flights[i].pre;
		row->insn = xsave ? SNIP_xsave : SNIP_fxsave;
		row->post = SNIP_multiply;
		row->post_times = FLIGHT_MULTIPLIES;
		row->copies = 4;
		snprintf(row->id, sizeof(row->id), "in-flight/%s", flights[i].id);
	}
}

uint32_t rows_make(const struct bench_state *state, struct insn_row *rows)
{
	uint32_t n = 0;

	add_legacy(state, rows, &n);
	add_families(state, rows, &n);
	add_orders(state, rows, &n);
	add_flights(state, rows, &n);
	add_singles(state, rows, &n);
	return n;
}

struct insn_row *rows_find(struct insn_row *rows, uint32_t n, const char *id)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(rows[i].id, id))
			return &rows[i];
	return NULL;
}

/* %s is the widest mask; an id without one is taken as it is. */
static const struct {
	const char *question, *base, *then;
	enum effect_kind kind;
} questions[] = {
	{"XSAVE of INIT state, against all live", "xsave/%s/all", "xsave/%s/init", EFFECT_RATIO},
	{"init optimisation of XSAVEOPT: INIT state, against all live", "xsaveopt/%s/all",
	 "xsaveopt/%s/init", EFFECT_RATIO},
	{"init optimisation of XSAVEC: INIT state, against all live", "xsavec/%s/all",
	 "xsavec/%s/init", EFFECT_RATIO},
	{"XRSTOR of INIT state, against all live", "xrstor/%s/all", "xrstor/%s/init", EFFECT_RATIO},
	{"modified optimisation of XSAVEOPT: not modified since XRSTOR, against modified",
	 "xrstor+xsaveopt/modified", "xrstor+xsaveopt/kept", EFFECT_RATIO},
	{"XSAVEC instead of XSAVE in a switch, all live", "xsave+xrstor/%s/all",
	 "xsavec+xrstor/%s/all", EFFECT_RATIO},
	{"components more in the mask, INIT all: XSAVEC and XRSTOR", "xsavec+xrstor/0x7/avx",
	 "xsavec+xrstor/%s/avx", EFFECT_CYCLES},
	{"one component more, 256 bytes and live: XSAVEC and XRSTOR", "xsavec+xrstor/%s/sse",
	 "xsavec+xrstor/%s/avx", EFFECT_CYCLES},
	{"LDMXCSR of another value, against the same", "ldmxcsr/same", "ldmxcsr/changed",
	 EFFECT_CYCLES},
	{"LDMXCSR with upper halves in use, against without", "ldmxcsr/same", "ldmxcsr/upper",
	 EFFECT_CYCLES},
	{"VLDMXCSR with upper halves in use, against without", "vldmxcsr/same", "vldmxcsr/upper",
	 EFFECT_CYCLES},
	{"FNINIT after x87 use, against none", "fninit", "fninit/used", EFFECT_CYCLES},
	{"save waits for FDIV in flight", "in-flight/none", "in-flight/fdiv", EFFECT_CYCLES},
	{"save waits for FSQRT in flight", "in-flight/none", "in-flight/fsqrt", EFFECT_CYCLES},
	{"save waits for FSIN in flight", "in-flight/none", "in-flight/fsin", EFFECT_CYCLES},
	{"save waits for FPTAN in flight", "in-flight/none", "in-flight/fptan", EFFECT_CYCLES},
};

static void put_id(char *out, size_t room, const char *pattern, uint64_t mask)
{
	const char *at = strstr(pattern, "%s");

	if (at)
		snprintf(out, room, "%.*s%#llx%s", (int)(at - pattern), pattern,
			 (unsigned long long)mask, at + 2);
	else
		snprintf(out, room, "%s", pattern);
}

uint32_t effects_make(const struct bench_state *state, struct insn_row *rows, uint32_t n,
		      struct insn_effect *effects)
{
	uint32_t count = 0;

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]) && count < EFFECTS_MAX;
	     i++) {
		struct insn_effect *e = &effects[count];

		memset(e, 0, sizeof(*e));
		e->question = questions[i].question;
		e->kind = questions[i].kind;
		put_id(e->base, sizeof(e->base), questions[i].base, state->all);
		put_id(e->then, sizeof(e->then), questions[i].then, state->all);
		count += strcmp(e->base, e->then) && rows_find(rows, n, e->base) &&
			 rows_find(rows, n, e->then);
	}
	return count;
}

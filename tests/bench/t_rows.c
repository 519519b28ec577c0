// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is measured on which CPU: invented CPUs from a Pentium III to one with everything, so that
 * rows for state this machine lacks are checked too. And the counters' plumbing, on a software
 * event that every kernel has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "bench/counters.h"
#include "bench/rows.h"

static struct insn_row rows[ROWS_MAX];
static struct insn_effect effects[EFFECTS_MAX];
static uint32_t n, questions;

static void give(struct bench_state *s, unsigned id, uint32_t bytes, uint32_t offset)
{
	s->caps.comp[id] = (struct xst_comp_caps){
		.bytes = bytes, .offset = offset, .align64 = id >= 17, .xfd = id == 18};
}

/* A CPU whose XCR0 is @all; XSAVE and what follows come with it. */
static void invent(struct bench_state *s, uint64_t all, bool newer, bool pkru)
{
	const char *why;

	memset(s, 0, sizeof(*s));
	s->caps.fxsr = true;
	s->caps.xsave = s->caps.osxsave = all != 0;
	s->caps.xsaveopt = s->caps.xsavec = s->caps.xgetbv1 = newer;
	s->caps.xcr0 = s->enabled = s->all = all;
	s->pkru = pkru;
	s->pkru_now = 0x55555554;
	give(s, 2, 256, 576);
	give(s, 5, 64, 1088);
	give(s, 6, 512, 1152);
	give(s, 7, 1024, 1664);
	give(s, 17, 64, 2752);
	give(s, 18, 8192, 2816);
	assert_true(state_build(s, 99, &why));
	n = rows_make(s, rows);
	questions = effects_make(s, rows, n, effects);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++)
			if (!strcmp(rows[i].id, rows[j].id))
				fail_msg("%s is there twice", rows[i].id);
}

static const struct insn_row *row(const char *id)
{
	const struct insn_row *r = rows_find(rows, n, id);

	if (!r)
		fail_msg("no row %s", id);
	return r;
}

static void measured(const char *id)
{
	if (row(id)->skipped)
		fail_msg("%s: %s", id, row(id)->skipped);
}

static void cpu_without_xsave(void **state)
{
	struct bench_state s;

	(void)state;
	invent(&s, 0, false, false);
	measured("fnsave+frstor/x87");
	measured("fxsave/sse");
	measured("fxsave+fxrstor/sse");
	measured("ldmxcsr/changed");
	measured("in-flight/fsin");
	assert_int_equal(row("in-flight/fsin")->insn, SNIP_fxsave);
	assert_string_equal(row("vzeroupper")->skipped, "no AVX");
	assert_string_equal(row("xgetbv/0")->skipped, "no XSAVE");
	assert_string_equal(row("rdpkru")->skipped, "protection keys are not enabled");
	for (uint32_t i = 0; i < n; i++)
		if (rows[i].masked && !rows[i].skipped)
			fail_msg("%s needs XSAVE", rows[i].id);
	state_close(&s);
}

/* A row is not compared with itself. */
static bool asked(const char *base, const char *then)
{
	for (uint32_t i = 0; i < questions; i++)
		if (!strcmp(effects[i].base, base) && !strcmp(effects[i].then, then))
			return true;
	return false;
}

static void cpu_with_avx(void **state)
{
	struct bench_state s;

	(void)state;
	invent(&s, 7, false, false); /* Sandy Bridge: no XSAVEOPT here, no XSAVEC */
	measured("xsave/0x7/init");
	measured("xsave/0x7/avx");
	measured("xsave/0x7/all");
	assert_null(rows_find(rows, n, "xsave/0x7/x87+avx")); /* it is called all */
	assert_null(rows_find(rows, n, "xsave/0x7/avx-512"));
	assert_string_equal(row("xsavec/0x7/init")->skipped, "no XSAVEC");
	assert_string_equal(row("xrstor+xsaveopt/kept")->skipped, "no XSAVEOPT");
	assert_int_equal(row("xrstor+xsaveopt/kept")->insn, SNIP_opt_kept_avx);
	measured("vldmxcsr/upper");
	state_close(&s);
	invent(&s, 7, true, false);
	measured("xsavec+xrstor/0x7/avx");
	assert_true(asked("xsavec+xrstor/0x7/sse", "xsavec+xrstor/0x7/avx"));
	assert_false(asked("xsavec+xrstor/0x7/avx", "xsavec+xrstor/0x7/avx"));
	state_close(&s);
}

static void cpu_with_everything(void **state)
{
	struct bench_state s;

	(void)state;
	invent(&s, 0x600e7, true, true);
	measured("xsavec/0x7/x87+avx");
	measured("xsavec/0x600e7/avx-512");
	measured("xsavec/0x600e7/all");
	measured("xsavec/0x600e7/all+amx");
	measured("xrstor-compacted/0x600e7/all+amx");
	measured("wrpkru");
	assert_true(row("wrpkru")->mask == 0x55555554); /* the value it has: harmless */
	assert_int_equal(row("wrpkru")->index, 0);
	assert_int_equal(row("xrstor+xsaveopt/modified")->insn, SNIP_opt_modified_512);
	assert_int_equal(questions, 16);
	assert_true(asked("xsavec+xrstor/0x7/avx", "xsavec+xrstor/0x600e7/avx"));
	assert_true(asked("xsavec+xrstor/0x600e7/sse", "xsavec+xrstor/0x600e7/avx"));
	for (uint32_t i = 0; i < n; i++)
		assert_null(rows[i].skipped);
	/* Tiles are configured, or loading them would fault: palette 1, 16 rows of 64 bytes. */
	assert_int_equal(s.image[LIVE_AMX][2752], 1);
	assert_int_equal(s.image[LIVE_AMX][2752 + 16 + 14], 64);
	assert_int_equal(s.image[LIVE_AMX][2752 + 48 + 7], 16);
	for (uint32_t i = 0; i < 8192; i++)
		assert_int_not_equal(s.image[LIVE_AMX][2816 + i], 0);
	state_close(&s);
}

static void counters_count(void **state)
{
	const struct counter_kind soft[2] = {
		{"task clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
		{"page faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	};
	const struct counter_kind odd = {"nothing", 0x7fffffff, 0};
	struct counters c;
	uint64_t first[COUNTERS_MAX], second[COUNTERS_MAX];
	volatile unsigned x = 1;

	(void)state;
	assert_false(counters_open(&c, &odd, 1));
	assert_true(c.why_not[0] != 0);
	if (!counters_open(&c, soft, 2)) {
		print_message("no software events: %s\n", c.why_not);
		skip();
	}
	counters_start(&c);
	assert_true(counters_stop(&c, first));
	counters_start(&c);
	for (unsigned i = 0; i < 20000000; i++)
		x = x * 3 + i;
	assert_true(counters_stop(&c, second));
	assert_true(second[0] > 1000000);      /* nanoseconds: 20 M turns take more than 1 ms */
	assert_true(second[0] > 2 * first[0]); /* and start sets to zero */
	counters_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_without_xsave),
		cmocka_unit_test(cpu_with_avx),
		cmocka_unit_test(cpu_with_everything),
		cmocka_unit_test(counters_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

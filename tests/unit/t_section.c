// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sections beyond the ordinary: those that may be preempted, and machines with tiles, whose owner is not
 * always that of the other registers.
 */
#include "t.h"

#include <xst/perm.h>

#include "cases.h"
#include "sections.h"

#define TILE XST_COMP_TILEDATA

/* --- the kind that may be preempted --- */

/* A section with an area of its own: the CPU is taken away from it, another task runs, and an
 * ordinary section too. */
static void preemptible(void **state)
{
	static uint8_t area[RIG_BYTES] __attribute__((aligned(64)));
	struct xst_section own;
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x207, xst_policy_at(p)->name), XST_OK);
		assert_int_equal(xst_section_init(&rig.sys, &own, NULL, 0), XST_ERR_NEED_BYTES);
		assert_int_equal(xst_section_init(&rig.sys, &own, area, sizeof(area)), XST_OK);
		user_runs();
		rig_put_pkru(&rig, 0, 0x12345670);
		assert_int_equal(xst_section_begin(CPU, &own), XST_OK);
		assert_int_equal(xst_section_begin(CPU, &own), XST_ERR_NESTED);
		assert_int_equal(fcw(), 0x037f);
		assert_int_equal(HW->mxcsr, 0x1f80);
		assert_int_equal(xst_w_rdpkru(HW), 0x12345670);
		section_uses(XST_NEED_EFI);
		rig_go(&rig, 0, B);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0);
		rig_put(&rig, 0, XST_COMP_SSE, 0x21);
		section(0);
		rig_go(&rig, 0, &own.ctx);
		xst_section_resume(CPU, &own);
		assert_int_equal(HW->regs.SSE[0], 0x99);
		assert_int_equal(HW->regs.X87[32], 0x99);
		xst_section_end(CPU, &own);
		assert_ptr_equal(CPU->cur, A);
		user_is_whole();
		assert_int_equal(xst_w_rdpkru(HW), 0x12345670);
		rig_go(&rig, 0, B);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0x21);
		assert_int_equal(counters()->kernel_sections, 2);
		/* A kernel thread's. */
		rig_go(&rig, 0, NULL);
		assert_int_equal(xst_section_begin(CPU, &own), XST_OK);
		xst_section_end(CPU, &own);
		assert_ptr_equal(CPU->cur, NULL);
	}
}

static uint8_t first_area[RIG_BYTES] __attribute__((aligned(64)));
static uint8_t second_area[RIG_BYTES] __attribute__((aligned(64)));
static struct xst_section first, second;

static __attribute__((noinline)) int begin_first(void)
{
	return xst_section_begin(CPU, &first);
}

static __attribute__((noinline)) int begin_second(void)
{
	return xst_section_begin(CPU, &second);
}

static __attribute__((noinline)) int end_second(void)
{
	xst_section_end(CPU, &second);
	return 0;
}

static void two_sections(const char *policy)
{
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x207, policy), XST_OK);
	assert_int_equal(xst_section_init(&rig.sys, &first, first_area, RIG_BYTES), XST_OK);
	assert_int_equal(xst_section_init(&rig.sys, &second, second_area, RIG_BYTES), XST_OK);
	mdl_misuse = on_misuse;
	reports = 0;
}

/* Inside one of its kind, inside an ordinary one; the one that runs goes on, and both are named. */
static void preemptible_ones_do_not_nest(void **state)
{
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		two_sections(xst_policy_at(p)->name);
		user_runs();
		assert_int_equal(begin_first(), XST_OK);
		section_uses(XST_NEED_EFI);
		assert_int_equal(begin_second(), XST_ERR_NESTED);
		assert_int_equal(reports, 1);
		assert_int_equal(seen.misuse, XST_MISUSE_NESTED);
		assert_true(lies_in(seen.outer, begin_first));
		assert_true(lies_in(seen.caller, begin_second));
		assert_int_equal(HW->regs.SSE[0], 0x99);
		assert_ptr_equal(CPU->cur, &first.ctx);
		xst_section_end(CPU, &first);
		user_is_whole();

		assert_int_equal(xst_kernel_begin(CPU, 0), XST_OK);
		assert_int_equal(begin_second(), XST_ERR_NESTED);
		assert_int_equal(reports, 2);
		xst_kernel_end(CPU);
		user_is_whole();
		/* Another task may have one meanwhile. */
		assert_int_equal(begin_first(), XST_OK);
		rig_go(&rig, 0, B);
		assert_int_equal(begin_second(), XST_OK);
		xst_section_end(CPU, &second);
		rig_go(&rig, 0, &first.ctx);
		xst_section_resume(CPU, &first);
		xst_section_end(CPU, &first);
		user_is_whole();
		assert_int_equal(reports, 2);
		mdl_misuse = NULL;
	}
}

static void an_end_needs_its_begin(void **state)
{
	(void)state;
	two_sections("eager");
	user_runs();
	end_second();
	assert_int_equal(reports, 1);
	assert_int_equal(seen.misuse, XST_MISUSE_NO_BEGIN);
	assert_true(lies_in(seen.caller, end_second));
	assert_ptr_equal(CPU->cur, A);
	user_is_whole();
	/* Twice; and of one that runs elsewhere. */
	assert_int_equal(begin_first(), XST_OK);
	end_second();
	assert_int_equal(reports, 2);
	xst_section_end(CPU, &first);
	xst_section_end(CPU, &first);
	assert_int_equal(reports, 3);
	user_is_whole();
	mdl_misuse = NULL;
}

/* --- tiles that the library does not switch --- */

static uint8_t tiles[XST_TILES_BYTES] __attribute__((aligned(64)));

/* A kernel that leaves the tiles to nobody but its sections; t_perm.c has those that switch them. */
static void amx_up(void)
{
	const uint64_t want = XST_WANT_ALL_USER & ~XST_MASK_AMX;

	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x602e7, "deferred"), XST_OK);
	mdl_reset(HW, &rig.caps);
	assert_int_equal(xst_system_init(&rig.sys, want), XST_OK);
	assert_int_equal(xst_cpu_init(&rig.sys, CPU, 0), XST_OK);
	assert_int_equal(xst_cpu_set_policy(CPU, xst_policy_by_name("deferred"), 0, NULL), XST_OK);
	assert_int_equal(xst_ctx_init(&rig.sys, &rig.task[0], rig.area[0], RIG_BYTES), XST_OK);
	assert_int_equal(mdl_xsetbv(HW, rig.sys.xcr0 | XST_MASK_AMX), 0);
}

static void user_has_tiles(void)
{
	assert_int_equal(mdl_access(HW, XST_COMP_TILEDATA, true), 0);
	memset(HW->regs.TILECFG, 0x44, sizeof(HW->regs.TILECFG));
	memset(HW->regs.TILEDATA, 0x55, sizeof(HW->regs.TILEDATA));
	mdl_wrote(HW, XST_COMP_TILECFG);
	mdl_wrote(HW, XST_COMP_TILEDATA);
}

/* KFP-09: a section's save does not name the tiles; live ones stay where they are, unsaved. PKRU is
 * not an image's matter, so the mask is 2E7 without 200. */
static void tiles_stay(void **state)
{
	uint64_t saves;

	(void)state;
	amx_up();
	assert_int_equal(CPU->mask & XST_MASK_AMX, 0);
	assert_int_equal(CPU->mask, 0x2e7 & ~XST_MASK_PKRU);
	user_runs();
	user_has_tiles();
	saves = HW->saves;
	section(XST_NEED_EFI);
	assert_int_equal(HW->saves, saves + 1);
	assert_true(mdl_xgetbv1(HW) & XST_MASK_TILEDATA);
	assert_int_equal(HW->regs.TILEDATA[8191], 0x55);
	user_is_whole();
	assert_int_equal(HW->regs.TILECFG[63], 0x44);
}

/* A section that needs tiles gets them, whatever XFD says, and gives back what the user had. */
static void tiles_needed(void **state)
{
	(void)state;
	amx_up();
	assert_int_equal(xst_kernel_begin(CPU, XST_NEED_TILES), XST_ERR_UNSUPPORTED);
	assert_int_equal(xst_kernel_give_tiles(CPU, tiles, sizeof(tiles) - 1), XST_ERR_NEED_BYTES);
	assert_int_equal(xst_kernel_give_tiles(CPU, tiles + 8, sizeof(tiles)), XST_ERR_ALIGN);
	assert_int_equal(xst_kernel_give_tiles(CPU, tiles, sizeof(tiles)), XST_OK);

	/* Without permission: XFD is set, and set again afterwards; the tiles are released. */
	user_runs();
	HW->xfd = XST_MASK_TILEDATA;
	assert_int_equal(xst_kernel_begin(CPU, XST_NEED_TILES), XST_OK);
	assert_int_equal(HW->xfd, 0);
	user_has_tiles(); /* the kernel's, this time */
	xst_kernel_end(CPU);
	assert_int_equal(HW->xfd, XST_MASK_TILEDATA);
	assert_int_equal(mdl_xgetbv1(HW) & XST_MASK_AMX, 0);
	assert_int_equal(HW->regs.TILEDATA[0], 0);
	assert_int_equal(counters()->kernel_saves, 1);
	user_is_whole();

	/* With live tiles: saved, and back. */
	HW->xfd = 0;
	user_has_tiles();
	assert_int_equal(xst_kernel_begin(CPU, XST_NEED_TILES | XST_NEED_MXCSR), XST_OK);
	memset(HW->regs.TILEDATA, 0x77, sizeof(HW->regs.TILEDATA));
	mdl_wrote(HW, XST_COMP_TILEDATA);
	xst_kernel_end(CPU);
	assert_int_equal(counters()->kernel_saves, 3);
	user_is_whole();
	assert_int_equal(HW->regs.TILEDATA[0], 0x55);
	assert_int_equal(HW->regs.TILEDATA[8191], 0x55);
	assert_int_equal(HW->regs.TILECFG[0], 0x44);

	/* A machine without them. */
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x2e7, "deferred"), XST_OK);
	assert_int_equal(xst_kernel_give_tiles(CPU, tiles, sizeof(tiles)), XST_ERR_UNSUPPORTED);
	assert_int_equal(xst_kernel_begin(CPU, XST_NEED_TILES), XST_ERR_UNSUPPORTED);
	assert_int_equal(xst_kernel_begin(CPU, 0), XST_OK);
	xst_kernel_end(CPU);
}

/* --- tiles of tasks that have room for them --- */

static XST_AREA(large[RIG_TASKS], 12288);

static struct mdl_cpu *grown_up(const char *policy)
{
	struct xst_perm perm;

	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x602e7, policy), XST_OK);
	xst_perm_init(&rig.sys, &perm);
	assert_int_equal(xst_perm_request(&rig.sys, &perm, XST_PERM_HOST, TILE, NULL, NULL), XST_OK);
	memset(large, 0xa5, sizeof(large));
	user_runs();
	assert_null(rig_use(&rig, 0, TILE));
	assert_int_equal(xst_ctx_grow(CPU, A, &perm, large[0], sizeof(large[0]), NULL), XST_OK);
	user_is_whole();
	rig_put(&rig, 0, TILE, 0x55);
	return HW;
}

/* Tiles are neither saved nor loaded by sections and returns; their place in the area stays as it was. */
static void tiles_of_a_task_stay(void **state)
{
	const uint8_t *place;
	uint64_t saves, loads;
	unsigned p, i;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		grown_up(xst_policy_at(p)->name);
		place = A->area + rig.sys.grown.offset[TILE];
		memset(A->area + rig.sys.grown.offset[TILE], 0xee, 8192);
		saves = counters()->kernel_saves;
		for (i = 0; i < 3; i++) {
			loads = counters()->loads;
			section(XST_NEED_EFI);
			section(0);
			assert_int_equal(HW->regs.TILEDATA[8191], 0x55);
			assert_int_equal(place[0], 0xee);
			assert_int_equal(place[8191], 0xee);
			assert_int_equal(counters()->kernel_saves, saves + i + 1);
			user_is_whole();
			assert_int_equal(counters()->loads, loads + 1);
			assert_int_equal(rig_see(&rig, 0, TILE), 0x55);
			rig_put(&rig, 0, TILE, 0x55);
		}
		assert_int_equal(place[8191], 0xee);
		/* Who looks at the area finds all of it there, and so does who comes next. */
		section(XST_NEED_EFI);
		xst_ctx_flush(CPU, A);
		assert_int_equal(place[0], 0x55);
		assert_int_equal(place[8191], 0x55);
		user_is_whole();
		rig_put(&rig, 0, TILE, 0x56);
		section(0);
		rig_go(&rig, 0, B);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0);
		assert_int_equal(place[8191], 0x56);
		rig_go(&rig, 0, A);
		user_is_whole();
		assert_int_equal(rig_see(&rig, 0, TILE), 0x56);
		(void)counters();
	}
}

/* A section that needs tiles saves them once, to its own area, and no trap comes under TS. */
static void tiles_of_a_task_are_lent(void **state)
{
	uint64_t saves;
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		grown_up(xst_policy_at(p)->name);
		memset(A->area + rig.sys.grown.offset[TILE], 0xee, 8192);
		assert_int_equal(xst_kernel_give_tiles(CPU, tiles, sizeof(tiles)), XST_OK);
		/* Under a first-use policy the end sets TS. */
		section(0);
		saves = counters()->kernel_saves;
		assert_int_equal(xst_kernel_begin(CPU, XST_NEED_TILES), XST_OK);
		assert_int_equal(counters()->kernel_saves, saves + 1);
		memset(HW->regs.TILEDATA, 0x77, sizeof(HW->regs.TILEDATA));
		mdl_wrote(HW, TILE);
		xst_kernel_end(CPU);
		assert_int_equal(A->area[rig.sys.grown.offset[TILE]], 0xee);
		user_is_whole();
		assert_int_equal(rig_see(&rig, 0, TILE), 0x55);
		(void)counters();
	}
}

static void tiles_are_given_to_a_cpu_that_is_up(void **state)
{
	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x602e7, "eager"), XST_OK);
	xst_cpu_offline(CPU);
	assert_int_equal(xst_kernel_give_tiles(CPU, tiles, sizeof(tiles)), XST_ERR_NOT_UP);
	assert_int_equal(xst_cpu_online(CPU, NULL), XST_OK);
	assert_int_equal(xst_kernel_give_tiles(CPU, tiles, sizeof(tiles)), XST_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(preemptible),
		cmocka_unit_test(preemptible_ones_do_not_nest),
		cmocka_unit_test(an_end_needs_its_begin),
		CASE("KFP-09", tiles_stay),
		cmocka_unit_test(tiles_needed),
		cmocka_unit_test(tiles_of_a_task_stay),
		cmocka_unit_test(tiles_of_a_task_are_lent),
		cmocka_unit_test(tiles_are_given_to_a_cpu_that_is_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Dynamic components: who may have them, how a context gets room, and what becomes of IA32_XFD. AMX is
 * rare and its emulators are broken, so the software CPU stands for it.
 */
#include "t.h"

#include <xst/kernel.h>
#include <xst/uabi.h>

#include "cases.h"
#include "rig.h"

#define SPR 0x602e7ULL /* Sapphire Rapids: all but MPX and APX */
#define TILE XST_COMP_TILEDATA

static struct rig r;
static struct xst_perm perm;
static XST_AREA(large[RIG_TASKS], 12288);

static void up(enum xst_insn insn, uint64_t xss, const char *policy)
{
	unsigned i;

	assert_int_equal(rig_up_xss(&r, insn, SPR, xss, policy), XST_OK);
	xst_perm_init(&r.sys, &perm);
	memset(large, 0xa5, sizeof(large));
	for (i = 0; i < RIG_TASKS; i++)
		assert_int_equal(r.task[i].dynamic, 0);
}

static void allow(void)
{
	assert_int_equal(xst_perm_request(&r.sys, &perm, XST_PERM_HOST, TILE, NULL, NULL), XST_OK);
}

/* The running task of @cpu uses tiles: the trap, and the room. */
static void grow(unsigned cpu, unsigned task)
{
	assert_null(rig_use(&r, cpu, TILE));
	assert_int_equal(xst_ctx_grow(&r.cpu[cpu], &r.task[task], &perm, large[task], 12288, NULL),
			 XST_OK);
}

/* --- permissions --- */

static void what_a_process_has(void **state)
{
	struct xst_perm child;

	(void)state;
	up(XST_INSN_XSAVES, XST_MASK_CET_U, "eager");
	assert_int_equal(perm.host, 0x202e7 | XST_MASK_CET_U);
	assert_int_equal(perm.guest, perm.host);
	/* A request adds: nothing else comes or goes, supervisor components least of all. */
	allow();
	assert_int_equal(perm.host, SPR | XST_MASK_CET_U);
	assert_int_equal(perm.guest, 0x202e7 | XST_MASK_CET_U);
	allow();
	assert_int_equal(xst_perm_request(&r.sys, &perm, XST_PERM_GUEST, TILE, NULL, NULL), XST_OK);
	assert_int_equal(perm.guest, SPR | XST_MASK_CET_U);
	child = perm;
	assert_int_equal(child.host, perm.host);
	xst_perm_init(&r.sys, &perm);
	assert_int_equal(perm.host, 0x202e7 | XST_MASK_CET_U);
}

static void what_cannot_be_asked_for(void **state)
{
	static const unsigned bad[] = {0, 1, XST_COMP_AVX, XST_COMP_TILECFG, XST_COMP_CET_U, 63, 64, 4096};
	struct xst_diag d;
	unsigned i;

	(void)state;
	up(XST_INSN_XSAVES, 0, "eager");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(xst_perm_request(&r.sys, &perm, XST_PERM_HOST, bad[i], NULL, &d),
				 XST_ERR_INVALID);
		assert_int_equal(d.component, bad[i]);
	}
	assert_int_equal(perm.host, 0x202e7);
}

static void a_vcpu_locks(void **state)
{
	struct xst_diag d;
	struct xst_perm child;

	(void)state;
	up(XST_INSN_XSAVES, 0, "eager");
	xst_perm_lock_guest(&perm);
	assert_int_equal(xst_perm_request(&r.sys, &perm, XST_PERM_GUEST, TILE, NULL, &d),
			 XST_ERR_LOCKED);
	assert_int_equal(d.component, TILE);
	assert_int_equal(perm.guest, 0x202e7);
	allow(); /* the host's own is another matter */
	child = perm;
	assert_int_equal(xst_perm_request(&r.sys, &child, XST_PERM_GUEST, TILE, NULL, NULL),
			 XST_ERR_LOCKED);
	/* What is granted stays so, and asking again is no error. */
	perm.guest |= XST_MASK_TILEDATA;
	assert_int_equal(xst_perm_request(&r.sys, &perm, XST_PERM_GUEST, TILE, NULL, NULL), XST_OK);
	xst_perm_init(&r.sys, &perm);
	assert_false(perm.guest_locked);
}

/* Linux on such a machine: AT_MINSIGSTKSZ is 11952, of which 11008 are the image. SIGSTKSZ is 8192. */
static void sigaltstack(void **state)
{
	struct xst_perm_stacks stacks = {944, 8192};
	struct xst_diag d;

	(void)state;
	up(XST_INSN_XSAVES, 0, "eager");
	assert_int_equal(xst_uabi_bytes(&r.sys, perm.host & XST_MASK_USER, NULL), 2816);
	assert_int_equal(xst_uabi_bytes(&r.sys, SPR, NULL), 11008);
	/* Before there is a permission any stack will do; with it none as small as that. */
	assert_int_equal(xst_perm_check_stack(&r.sys, &perm, 944, 8192, NULL), XST_OK);
	assert_int_equal(xst_perm_request(&r.sys, &perm, XST_PERM_HOST, TILE, &stacks, &d),
			 XST_ERR_NEED_BYTES);
	assert_int_equal(d.want, 11952);
	assert_int_equal(d.got, 8192);
	assert_int_equal(perm.host, 0x202e7);
	/* A guest gets no signals here. */
	assert_int_equal(xst_perm_request(&r.sys, &perm, XST_PERM_GUEST, TILE, &stacks, &d), XST_OK);
	stacks.smallest = 11951;
	assert_int_equal(xst_perm_request(&r.sys, &perm, XST_PERM_HOST, TILE, &stacks, &d),
			 XST_ERR_NEED_BYTES);
	stacks.smallest = 11952;
	assert_int_equal(xst_perm_request(&r.sys, &perm, XST_PERM_HOST, TILE, &stacks, &d), XST_OK);
	assert_int_equal(xst_perm_check_stack(&r.sys, &perm, 944, 8192, &d), XST_ERR_NEED_BYTES);
	assert_int_equal(d.want, 11952);
	assert_int_equal(xst_perm_check_stack(&r.sys, &perm, 944, 11952, &d), XST_OK);
	/* None installed: nothing to check. */
	xst_perm_init(&r.sys, &perm);
	stacks.smallest = 0;
	assert_int_equal(xst_perm_request(&r.sys, &perm, XST_PERM_HOST, TILE, &stacks, &d), XST_OK);
}

/* Where tiles cannot be had a hypervisor goes on without them. */
static void refused_for_guests(void **state)
{
	struct xst_caps caps;
	struct xst_system sys;
	struct xst_diag d;

	(void)state;
	mdl_caps_make(&caps, SPR, 0, XST_INSN_XSAVES);
	caps.xfd = false;
	assert_int_equal(xst_system_compute(&caps, XST_WANT_ALL_USER, 0, &sys, NULL), XST_OK);
	xst_perm_init(&sys, &perm);
	assert_int_equal(xst_perm_request(&sys, &perm, XST_PERM_GUEST, TILE, NULL, &d),
			 XST_ERR_UNSUPPORTED);
	assert_int_equal(d.component, TILE);
	assert_int_equal(perm.guest, 0x2e7);
	assert_int_equal(xst_uabi_bytes(&sys, perm.guest, NULL), 2696);
}

/* --- the machine --- */

static void what_a_machine_enables(void **state)
{
	static const struct {
		enum xst_insn insn;
		uint32_t small, grown;
	} want[] = {
		{XST_INSN_XSAVE, 2816, 11008}, {XST_INSN_XSAVEOPT, 2816, 11008},
		/* 576 + 256 + 64 + 512 + 1024, TILECFG at 2432, TILEDATA at 2496 */
		{XST_INSN_XSAVEC, 2496, 10688}, {XST_INSN_XSAVES, 2496, 10688},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		up(want[i].insn, 0, "eager");
		assert_int_equal(r.sys.insn, want[i].insn);
		assert_int_equal(r.sys.xcr0, SPR);
		assert_int_equal(r.sys.mask, 0x200e7);
		assert_int_equal(r.sys.dynamic, XST_MASK_TILEDATA);
		assert_int_equal(r.sys.ctx_bytes, want[i].small);
		assert_int_equal(r.sys.grown_bytes, want[i].grown);
		assert_int_equal(r.hw[0].xfd, XST_MASK_TILEDATA);
		assert_int_equal(r.hw[1].xfd, XST_MASK_TILEDATA);
	}
	/* The second image makes way. */
	up(XST_INSN_XSAVES, XST_MASK_CET_U, "eager");
	assert_int_equal(r.sys.apart_offset, 2496);
	assert_int_equal(r.sys.grown_apart_offset, 10688);
	assert_int_equal(r.sys.grown_bytes, 10688 + 576 + 16);
}

/* --- growing --- */

static void without_permission(void **state)
{
	struct xst_diag d;

	(void)state;
	up(XST_INSN_XSAVES, 0, "auto");
	rig_go(&r, 0, &r.task[0]);
	rig_put(&r, 0, XST_COMP_SSE, 0x11);
	assert_null(rig_use(&r, 0, TILE));
	assert_int_equal(r.hw[0].xfd_err, 0);
	assert_int_equal(r.cpu[0].n.xfd_traps, 1);
	assert_int_equal(xst_ctx_grow(&r.cpu[0], &r.task[0], &perm, large[0], 12288, &d),
			 XST_ERR_DENIED);
	assert_int_equal(d.component, TILE);
	assert_int_equal(r.cpu[0].n.refusals, 1);
	assert_int_equal(r.cpu[0].n.grows, 0);
	/* Nothing changed, and it goes on as before. */
	assert_ptr_equal(r.task[0].area, r.area[0]);
	assert_int_equal(rig_see(&r, 0, XST_COMP_SSE), 0x11);
	assert_null(rig_use(&r, 0, TILE));
	assert_int_equal(large[0][0], 0xa5);
}

static void what_growing_refuses(void **state)
{
	struct xst_cpu *cpu = &r.cpu[0];
	struct xst_ctx empty;
	struct xst_diag d;

	(void)state;
	up(XST_INSN_XSAVES, 0, "auto");
	allow();
	rig_go(&r, 0, &r.task[0]);
	rig_put(&r, 0, XST_COMP_SSE, 0x11);
	assert_int_equal(xst_ctx_grow(cpu, &r.task[0], &perm, NULL, 0, &d), XST_ERR_NEED_BYTES);
	assert_int_equal(d.want, r.sys.grown_bytes);
	assert_int_equal(xst_ctx_grow(cpu, &r.task[0], &perm, large[0], r.sys.grown_bytes - 1, &d),
			 XST_ERR_NEED_BYTES);
	assert_int_equal(xst_ctx_grow(cpu, &r.task[0], &perm, large[0] + 16, 12000, &d),
			 XST_ERR_ALIGN);
	assert_int_equal(rig_see(&r, 0, XST_COMP_SSE), 0x11);
	assert_int_equal(xst_ctx_grow(cpu, &r.task[0], &perm, large[0], r.sys.grown_bytes, &d), XST_OK);
	assert_int_equal(rig_see(&r, 0, XST_COMP_SSE), 0x11);
	assert_int_equal(xst_ctx_grow(cpu, &r.task[0], &perm, large[1], 12288, &d), XST_ERR_INVALID);
	assert_ptr_equal(r.task[0].area, large[0]);
	/* Room for the first registers comes first. */
	assert_int_equal(xst_ctx_init(&r.sys, &empty, NULL, 0), XST_OK);
	assert_int_equal(xst_ctx_grow(cpu, &empty, &perm, large[2], 12288, &d), XST_ERR_INVALID);
	assert_int_equal(cpu->n.refusals, 0);
	assert_int_equal(cpu->n.grows, 1);
}

/* Two tasks with tiles and one without, on one CPU, under every policy and form: all see their own. */
static void tiles_are_switched(void **state)
{
	unsigned p, insn, round, t;

	(void)state;
	for (insn = XST_INSN_XSAVE; insn <= XST_INSN_XSAVES; insn++) {
		for (p = 0; p < XST_POLICY_COUNT; p++) {
			up((enum xst_insn)insn, 0, xst_policy_at(p)->name);
			allow();
			for (t = 0; t < 3; t++) {
				rig_go(&r, 0, &r.task[t]);
				rig_put(&r, 0, XST_COMP_SSE, (uint8_t)(0x10 + t));
				if (t == 2)
					continue;
				grow(0, t);
				assert_int_equal(rig_see(&r, 0, XST_COMP_SSE), 0x10 + t);
				assert_int_equal(rig_see(&r, 0, TILE), 0);
				rig_put(&r, 0, TILE, (uint8_t)(0x20 + t));
			}
			for (round = 0; round < 9; round++) {
				t = round % 3;
				rig_go(&r, 0, round % 2 ? NULL : &r.task[(t + 1) % 3]);
				rig_go(&r, 0, &r.task[t]);
				assert_int_equal(rig_see(&r, 0, XST_COMP_SSE), 0x10 + t);
				if (t == 2) {
					assert_null(rig_use(&r, 0, TILE));
				} else {
					assert_int_equal(rig_see(&r, 0, TILE), 0x20 + t);
				}
			}
			assert_int_equal(r.hw[0].surprise, 0);
			assert_int_equal(r.cpu[0].n.loads_failed, 0);
			assert_true(xst_counters_balanced(&r.cpu[0].n));
		}
	}
}

/* Growing carries over both images, also of a task that does not run, and in place. */
static void growing_carries_over(void **state)
{
	(void)state;
	up(XST_INSN_XSAVES, XST_MASK_CET_U, "laziest");
	allow();
	rig_go(&r, 0, &r.task[0]);
	rig_put(&r, 0, XST_COMP_SSE, 0x11);
	rig_put(&r, 0, XST_COMP_CET_U, 0x12);
	rig_put_pkru(&r, 0, 0x55555550);
	rig_go(&r, 0, NULL);
	assert_int_equal(xst_ctx_home(&r.task[0]), 0);
	assert_int_equal(xst_ctx_grow(&r.cpu[1], &r.task[0], &perm, large[0], 12288, NULL), XST_OK);
	memset(r.area[0], 0x77, RIG_BYTES); /* the caller's again */
	rig_go(&r, 1, &r.task[0]);
	assert_int_equal(rig_see(&r, 1, XST_COMP_SSE), 0x11);
	assert_int_equal(rig_see(&r, 1, XST_COMP_CET_U), 0x12);
	assert_int_equal(r.hw[1].regs.PKRU[0], 0x50);
	rig_put(&r, 1, TILE, 0x13);

	/* A task whose area had the room from the start. */
	assert_int_equal(xst_ctx_init(&r.sys, &r.task[1], large[1], 12288), XST_OK);
	rig_go(&r, 0, &r.task[1]);
	rig_put(&r, 0, XST_COMP_SSE, 0x21);
	rig_put(&r, 0, XST_COMP_CET_U, 0x22);
	grow(0, 1);
	assert_int_equal(rig_see(&r, 0, XST_COMP_SSE), 0x21);
	assert_int_equal(rig_see(&r, 0, XST_COMP_CET_U), 0x22);
	assert_int_equal(rig_see(&r, 0, TILE), 0);
	assert_int_equal(rig_see(&r, 1, TILE), 0x13);
}

/* Out to user space and back, tiles and all; not back into a task that has no room for them. */
static void tiles_leave_and_come_back(void **state)
{
	static XST_AREA(outside, 12288);
	struct xst_uabi t = {.sys = &r.sys};
	struct xst_layout layout;
	struct xst_image image = {outside, sizeof(outside), &layout};
	struct xst_diag d;

	(void)state;
	up(XST_INSN_XSAVES, XST_MASK_CET_U, "auto");
	allow();
	rig_go(&r, 0, &r.task[0]);
	rig_put(&r, 0, XST_COMP_AVX, 3);
	rig_put(&r, 0, XST_COMP_CET_U, 5);
	grow(0, 0);
	rig_put(&r, 0, TILE, 4);
	xst_ctx_flush(&r.cpu[0], &r.task[0]);
	t.ctx = &r.task[0];
	assert_int_equal(xst_uabi_layout(&r.sys, perm.host & XST_MASK_USER, &layout, NULL), XST_OK);
	assert_int_equal(xst_uabi_get(&t, &image, &d), XST_OK);
	assert_int_equal(outside[layout.offset[TILE] + 8191], 4);
	outside[layout.offset[TILE]] = 6;
	assert_int_equal(xst_uabi_set(&t, &image, XST_UABI_MXCSR_BY_BV, &d), XST_OK);
	xst_ctx_changed(&r.cpu[0], &r.task[0]);
	assert_int_equal(rig_see(&r, 0, TILE), 6);
	assert_int_equal(rig_see(&r, 0, XST_COMP_AVX), 3);
	assert_int_equal(rig_see(&r, 0, XST_COMP_CET_U), 5);
	t.ctx = &r.task[1];
	assert_int_equal(xst_uabi_set(&t, &image, XST_UABI_MXCSR_BY_BV, &d), XST_ERR_LIVE);
	assert_int_equal(d.component, TILE);
}

/* An image may claim tiles that its area has no room for: nothing there is taken for tiles. */
static void bits_without_room(void **state)
{
	uint8_t *bv = r.area[0] + XST_HEADER_OFFSET;

	(void)state;
	up(XST_INSN_XSAVE, 0, "eager");
	allow();
	rig_go(&r, 0, &r.task[0]);
	rig_put(&r, 0, XST_COMP_SSE, 0x11);
	xst_ctx_flush(&r.cpu[0], &r.task[0]);
	bv[2] |= 4; /* TILEDATA */
	xst_ctx_changed(&r.cpu[0], &r.task[0]);
	assert_int_equal(rig_see(&r, 0, XST_COMP_SSE), 0x11);
	assert_int_equal(r.cpu[0].n.loads_failed, 0);
	grow(0, 0);
	assert_int_equal(rig_see(&r, 0, TILE), 0);
	assert_int_equal(rig_see(&r, 0, XST_COMP_SSE), 0x11);
}

/* --- IA32_XFD --- */

static void xfd_is_written_when_it_differs(void **state)
{
	uint64_t writes;
	unsigned i;

	(void)state;
	up(XST_INSN_XSAVES, 0, "eager");
	allow();
	writes = r.hw[0].xfd_writes;
	for (i = 0; i < 8; i++) {
		rig_go(&r, 0, &r.task[i % 2]);
		rig_put(&r, 0, XST_COMP_SSE, 1);
	}
	assert_int_equal(r.hw[0].xfd_writes, writes);
	rig_go(&r, 0, &r.task[0]);
	grow(0, 0);
	rig_put(&r, 0, TILE, 2);
	assert_int_equal(r.hw[0].xfd_writes, writes + 1);
	assert_int_equal(r.hw[0].xfd, 0);
	for (i = 0; i < 4; i++) {
		rig_go(&r, 0, NULL);
		rig_go(&r, 0, &r.task[0]);
	}
	assert_int_equal(r.hw[0].xfd_writes, writes + 1);
	/* On to one without, on to another without: one write, and the tiles are nobody's. */
	rig_go(&r, 0, &r.task[1]);
	rig_go(&r, 0, &r.task[2]);
	assert_int_equal(r.hw[0].xfd_writes, writes + 2);
	assert_int_equal(r.hw[0].xfd, XST_MASK_TILEDATA);
	assert_true(mdl_is_init(&r.hw[0], TILE));
	/* And back: before the restore, which would fault. */
	rig_go(&r, 0, &r.task[0]);
	assert_int_equal(rig_see(&r, 0, TILE), 2);
	assert_int_equal(r.cpu[0].n.loads_failed, 0);
}

/* The cache of IA32_XFD after a reset: 0 in the register, whatever it was, and either way round. */
static void xfd_after_resume(void **state)
{
	static const uint64_t left[] = {0, XST_MASK_TILEDATA};
	unsigned i, t;

	(void)state;
	for (i = 0; i < 2; i++) {
		for (t = 0; t < 2; t++) {
			up(XST_INSN_XSAVES, 0, "eager");
			allow();
			rig_go(&r, 0, &r.task[t]);
			if (!t)
				grow(0, 0);
			rig_put(&r, 0, XST_COMP_SSE, 5);
			if (!t)
				rig_put(&r, 0, TILE, 6);
			xst_cpu_offline(&r.cpu[0]);
			mdl_reset(&r.hw[0], &r.caps);
			r.hw[0].xfd = left[i];
			assert_int_equal(xst_cpu_online(&r.cpu[0], NULL), XST_OK);
			assert_int_equal(r.hw[0].xfd, r.cpu[0].xfd);
			assert_int_equal(rig_see(&r, 0, XST_COMP_SSE), 5);
			if (t)
				assert_null(rig_use(&r, 0, TILE));
			else
				assert_int_equal(rig_see(&r, 0, TILE), 6);
			assert_int_equal(r.cpu[0].n.loads_failed, 0);
		}
	}
}

/* The same of IA32_XSS: what the register held before counts for nothing. */
static void xss_after_resume(void **state)
{
	(void)state;
	up(XST_INSN_XSAVES, XST_MASK_CET_U, "eager");
	rig_go(&r, 0, &r.task[0]);
	rig_put(&r, 0, XST_COMP_CET_U, 7);
	assert_int_equal(r.hw[0].xss, XST_MASK_CET_U);
	xst_cpu_offline(&r.cpu[0]);
	mdl_reset(&r.hw[0], &r.caps);
	assert_int_equal(r.hw[0].xss, 0);
	assert_int_equal(xst_cpu_online(&r.cpu[0], NULL), XST_OK);
	assert_int_equal(r.hw[0].xss, XST_MASK_CET_U);
	assert_int_equal(rig_see(&r, 0, XST_COMP_CET_U), 7);
}

static void an_unlike_cpu(void **state)
{
	struct xst_caps other;

	(void)state;
	up(XST_INSN_XSAVES, 0, "eager");
	other = r.caps;
	other.xfd = false;
	r.hw[1].caps = &other;
	xst_cpu_offline(&r.cpu[1]);
	assert_int_equal(xst_cpu_online(&r.cpu[1], NULL), XST_ERR_MISMATCH);
}

/* --- fork, exec, exit, idle --- */

static void fork_carries_no_tiles(void **state)
{
	unsigned insn;

	(void)state;
	for (insn = XST_INSN_XSAVE; insn <= XST_INSN_XSAVES; insn++) {
		up((enum xst_insn)insn, insn == XST_INSN_XSAVES ? XST_MASK_CET_U : 0, "auto");
		allow();
		rig_go(&r, 0, &r.task[0]);
		rig_put(&r, 0, XST_COMP_AVX, 3);
		if (r.sys.apart)
			rig_put(&r, 0, XST_COMP_CET_U, 9);
		grow(0, 0);
		rig_put(&r, 0, TILE, 4);
		xst_ctx_fork(&r.cpu[0], &r.task[0], &r.task[1]);
		assert_int_equal(rig_see(&r, 0, TILE), 4);
		rig_go(&r, 1, &r.task[1]);
		assert_int_equal(rig_see(&r, 1, XST_COMP_AVX), 3);
		if (r.sys.apart)
			assert_int_equal(rig_see(&r, 1, XST_COMP_CET_U), 9);
		/* It may still have them, and begins with its own. */
		grow(1, 1);
		assert_int_equal(rig_see(&r, 1, TILE), 0);
		assert_int_equal(rig_see(&r, 1, XST_COMP_AVX), 3);
		assert_int_equal(r.hw[0].surprise | r.hw[1].surprise, 0);
	}
}

static void exec_takes_them_away(void **state)
{
	(void)state;
	up(XST_INSN_XSAVES, XST_MASK_CET_U, "auto");
	allow();
	rig_go(&r, 0, &r.task[0]);
	grow(0, 0);
	rig_put(&r, 0, TILE, 4);
	rig_put(&r, 0, XST_COMP_CET_U, 5);
	xst_perm_init(&r.sys, &perm);
	xst_ctx_exec(&r.cpu[0], &r.task[0]);
	assert_int_equal(r.task[0].dynamic, 0);
	assert_int_equal(rig_see(&r, 0, XST_COMP_CET_U), 0);
	assert_null(rig_use(&r, 0, TILE));
	assert_int_equal(xst_ctx_grow(&r.cpu[0], &r.task[0], &perm, large[1], 12288, NULL),
			 XST_ERR_DENIED);
	/* Another program that asks again may have the same memory. */
	allow();
	grow(0, 0);
	assert_int_equal(rig_see(&r, 0, TILE), 0);
}

/* A dead task's tiles are nobody's: not its successor's, who gets room without a restore of them. */
static void exit_leaves_none(void **state)
{
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		up(XST_INSN_XSAVES, 0, xst_policy_at(p)->name);
		allow();
		rig_go(&r, 0, &r.task[0]);
		grow(0, 0);
		rig_put(&r, 0, TILE, 4);
		xst_ctx_exit(&r.cpu[0], &r.task[0]);
		rig_go(&r, 0, &r.task[1]);
		xst_return_to_user(&r.cpu[0]);
		grow(0, 1);
		assert_int_equal(rig_see(&r, 0, TILE), 0);
	}
}

/* An in-kernel section takes the registers of a task with tiles, and of one without. */
static void sections_keep_them(void **state)
{
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		up(XST_INSN_XSAVES, 0, xst_policy_at(p)->name);
		allow();
		rig_go(&r, 0, &r.task[0]);
		grow(0, 0);
		rig_put(&r, 0, TILE, 4);
		rig_put(&r, 0, XST_COMP_SSE, 5);
		assert_int_equal(xst_kernel_begin(&r.cpu[0], XST_NEED_EFI), XST_OK);
		memset(mdl_reg(&r.hw[0], XST_COMP_SSE), 0x99, 16);
		mdl_wrote(&r.hw[0], XST_COMP_SSE);
		xst_kernel_end(&r.cpu[0]);
		assert_int_equal(rig_see(&r, 0, TILE), 4);
		assert_int_equal(rig_see(&r, 0, XST_COMP_SSE), 5);
		rig_go(&r, 0, &r.task[1]);
		assert_int_equal(xst_kernel_begin(&r.cpu[0], 0), XST_OK);
		xst_kernel_end(&r.cpu[0]);
		assert_int_equal(rig_see(&r, 0, XST_COMP_SSE), 0);
		assert_null(rig_use(&r, 0, TILE));
		assert_int_equal(r.hw[0].surprise, 0);
	}
}

static void idle_releases_tiles(void **state)
{
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		up(XST_INSN_XSAVES, 0, xst_policy_at(p)->name);
		allow();
		rig_go(&r, 0, &r.task[0]);
		grow(0, 0);
		rig_put(&r, 0, TILE, 4);
		rig_put(&r, 0, XST_COMP_AVX, 5);
		rig_go(&r, 0, NULL);
		xst_cpu_idle(&r.cpu[0]);
		assert_true(mdl_is_init(&r.hw[0], TILE));
		assert_int_equal(r.hw[0].xinuse & XST_MASK_AMX, 0);
		rig_go(&r, 0, &r.task[0]);
		assert_int_equal(rig_see(&r, 0, TILE), 4);
		assert_int_equal(rig_see(&r, 0, XST_COMP_AVX), 5);
		assert_int_equal(r.hw[0].surprise, 0);
	}
	/* Nothing in use: nothing is done, and the registers stay in place. */
	up(XST_INSN_XSAVES, 0, "deferred");
	rig_go(&r, 0, &r.task[0]);
	rig_put(&r, 0, XST_COMP_AVX, 5);
	rig_go(&r, 0, NULL);
	xst_cpu_idle(&r.cpu[0]);
	rig_go(&r, 0, &r.task[0]);
	assert_int_equal(rig_see(&r, 0, XST_COMP_AVX), 5);
	assert_int_equal(r.cpu[0].n.loads_skipped_owner, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_process_has),
		cmocka_unit_test(what_cannot_be_asked_for),
		cmocka_unit_test(a_vcpu_locks),
		CASE("ABI-08", sigaltstack),
		CASE("ABI-11", refused_for_guests),
		cmocka_unit_test(what_a_machine_enables),
		cmocka_unit_test(without_permission),
		cmocka_unit_test(what_growing_refuses),
		cmocka_unit_test(tiles_are_switched),
		cmocka_unit_test(growing_carries_over),
		cmocka_unit_test(tiles_leave_and_come_back),
		cmocka_unit_test(bits_without_room),
		cmocka_unit_test(xfd_is_written_when_it_differs),
		CASE("SEC-12", xfd_after_resume),
		CASE("MIG-17", xss_after_resume),
		cmocka_unit_test(an_unlike_cpu),
		cmocka_unit_test(fork_carries_no_tiles),
		cmocka_unit_test(exec_takes_them_away),
		cmocka_unit_test(exit_leaves_none),
		cmocka_unit_test(sections_keep_them),
		cmocka_unit_test(idle_releases_tiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

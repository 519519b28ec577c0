// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a switch of the engine moves with CET_S in no task, in guests only and in every task: the figures of
 * `xstate cpu --guest-state`, found once more by the engine itself on the software CPU. The third machine
 * is the one that the library refuses (model/every_task.h).
 */
#include "t.h"

#include "every_task.h"
#include "rig.h"

#define XCR0 0x207ULL /* x87, SSE, AVX, PKRU */
#define CET  (XST_MASK_CET_U | XST_MASK_CET_S)
#define USER (XST_WANT_ALL_USER | XST_MASK_CET_U)

static struct rig r;

enum which { NONE, GUESTS, TASKS };

static void up(enum which which, const char *policy)
{
	const uint64_t xss = which == NONE ? XST_MASK_CET_U : CET;
	struct xst_policy p;
	unsigned i;

	assert_int_equal(rig_up_want(&r, XST_INSN_XSAVES, XCR0, xss, USER | XST_WANT_GUEST_CET, policy),
			 XST_OK);
	if (which != TASKS)
		return;
	/* The same CPU with another system; every task begins anew. */
	assert_int_equal(xst_policy_parse(policy, &p, NULL), XST_OK);
	assert_int_equal(every_task_system_compute(&r.caps, USER | CET, 0, &r.sys, NULL), XST_OK);
	assert_int_equal(xst_cpu_init(&r.sys, &r.cpu[0], 0), XST_OK);
	assert_int_equal(xst_cpu_set_policy(&r.cpu[0], &p, XST_FORCE, NULL), XST_OK);
	for (i = 0; i < 2; i++)
		assert_int_equal(xst_ctx_init(&r.sys, &r.task[i], r.area[i], RIG_BYTES), XST_OK);
}

static void fill(unsigned i, uint8_t value)
{
	memset(mdl_reg(&r.hw[0], i), value, mdl_reg_bytes(&r.hw[0], i));
	mdl_wrote(&r.hw[0], i);
}

/* The running task uses all that it has, but CET_S only if it is told to. */
static void use(bool cet_s)
{
	rig_put(&r, 0, XST_COMP_X87, 0x11);
	rig_put(&r, 0, XST_COMP_SSE, 0x12);
	rig_put(&r, 0, XST_COMP_AVX, 0x13);
	r.hw[0].mxcsr = 0x1fa0;
	fill(XST_COMP_CET_U, 0x10);
	if (cet_s)
		fill(XST_COMP_CET_S, 0x20);
}

/* A switch between two tasks that have come and gone before. */
static void moved(bool has_cet_s, bool changes_it, uint64_t *written, uint64_t *read)
{
	unsigned i;

	rig_go(&r, 0, &r.task[0]);
	use(has_cet_s);
	rig_go(&r, 0, &r.task[1]);
	use(has_cet_s);
	for (i = 0; i < 2; i++) {
		rig_go(&r, 0, &r.task[i]);
		use(has_cet_s && changes_it);
	}
	r.hw[0].written_bytes = r.hw[0].read_bytes = 0;
	rig_go(&r, 0, &r.task[0]);
	xst_return_to_user(&r.cpu[0]);
	*written = r.hw[0].written_bytes;
	*read = r.hw[0].read_bytes;
	assert_int_equal(r.hw[0].surprise, 0);
}

/* Headers 16 each; x87 152, MXCSR and its mask 8, XMM 256, AVX 256; CET_U 16. */
#define WRITTEN (16 + 152 + 8 + 256 + 256 + 16 + 16)
#define READ    (64 + 152 + 4 + 256 + 256 + 64 + 16)

static void a_switch_moves(void **state)
{
	static const struct {
		enum which which;
		bool has, changes;
		unsigned more;
	} cases[] = {
		{NONE, false, false, 0},
		{GUESTS, false, false, 0},
		{TASKS, false, false, 0},
		/* The second image is not the one that was restored from last: live means written. */
		{TASKS, true, false, 24},
		{TASKS, true, true, 24},
	};
	static const char *const policies[] = {"eager", "deferred"};
	unsigned i, p;

	(void)state;
	for (p = 0; p < 2; p++) {
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			uint64_t written, read;

			up(cases[i].which, policies[p]);
			moved(cases[i].has, cases[i].changes, &written, &read);
			assert_int_equal(written, WRITTEN + cases[i].more);
			assert_int_equal(read, READ + cases[i].more);
		}
	}
}

/* What a task's and a guest's state hold, and what they take. */
static void sizes(void **state)
{
	static const struct {
		uint64_t task, guest;
		uint32_t task_bytes, guest_bytes;
	} want[] = {
		[NONE] = {XST_MASK_CET_U, XST_MASK_CET_U, 832 + 592, 848},
		[GUESTS] = {XST_MASK_CET_U, CET, 832 + 592, 872},
		[TASKS] = {CET, CET, 832 + 616, 872},
	};
	unsigned i;

	(void)state;
	for (i = NONE; i <= TASKS; i++) {
		up((enum which)i, "eager");
		assert_int_equal(r.sys.host.mask & XST_MASK_SUPER, want[i].task);
		assert_int_equal(r.sys.guest.mask & XST_MASK_SUPER, want[i].guest);
		assert_int_equal(r.sys.host.bytes, want[i].task_bytes);
		assert_int_equal(r.sys.guest.bytes, want[i].guest_bytes);
		assert_int_equal(r.sys.guest_cet_s, i == NONE);
		/* Only the experiment lets a task have it. */
		assert_int_equal(xst_profile_check(&r.sys, &r.sys.host, XST_MASK_CET_S, NULL),
				 i == TASKS ? XST_OK : XST_ERR_GUEST_ONLY);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_moves),
		cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

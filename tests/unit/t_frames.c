// SPDX-License-Identifier: BSD-2-Clause
/* Signal frames and ptrace's register sets of tasks on software CPUs of every kind. */
#include "t.h"

#include "cases.h"
#include "frames_fill.h"

#define AMX_XCR0 0x602e7ULL

static struct xst_diag diag;
static uint8_t one[FRAMES_BYTES], two[FRAMES_BYTES];
static struct xst_layout layout;

/* What goes in comes out, whatever is inside. */
static void state_round_trip(void **state)
{
	(void)state;
	for (size_t m = 0; m < MACHINES; m++) {
		up(m, 3);
		assert_int_equal(frames_state(&frames, one, &layout), XST_OK);
		fill(two, &layout, layout.mask, 3);
		if (machines[m].insn == XST_INSN_FNSAVE) {
			memset(two + XST_OFF_XMM, 0, XST_OFF_RESERVED - XST_OFF_XMM);
			xst_put32(two, XST_OFF_MXCSR, XST_MXCSR_INIT);
			xst_put64(two, XST_OFF_XSTATE_BV, XST_MASK_X87);
		}
		assert_memory_equal(one, two, layout.bytes);
	}
}

static void sizes(void **state)
{
	int bytes;

	(void)state;
	frames_up(&frames, XST_INSN_FNSAVE, 0, 0);
	assert_int_equal(xst_sigframe_bytes(&frames.sys, 0, XST_FRAME_32, NULL), 112);
	assert_int_equal(xst_sigframe_bytes(&frames.sys, 0, XST_FRAME_64, &diag),
			 XST_ERR_UNSUPPORTED);
	frames_up(&frames, XST_INSN_FXSAVE, 0, 0);
	assert_int_equal(xst_sigframe_bytes(&frames.sys, 0, XST_FRAME_64, NULL), 512);
	assert_int_equal(xst_sigframe_bytes(&frames.sys, 0, XST_FRAME_32, NULL), 624);
	assert_int_equal(xst_sigframe_bytes(&frames.sys, 4, XST_FRAME_64, &diag),
			 XST_ERR_NOT_ENUMERATED);
	frames_up(&frames, XST_INSN_XSAVES, 0x2e7, 0);
	assert_int_equal(xst_sigframe_bytes(&frames.sys, 0, XST_FRAME_64, NULL), 2696 + 4);
	frames_up(&frames, XST_INSN_XSAVES, AMX_XCR0, 0);
	/* What everybody has, and what permission for AMX makes of it. */
	assert_int_equal(xst_sigframe_bytes(&frames.sys, 0, XST_FRAME_64, NULL), 2816 + 4);
	bytes = xst_sigframe_bytes(&frames.sys, AMX_XCR0, XST_FRAME_32, NULL);
	assert_int_equal(bytes, 11008 + 4 + 112);
	/* As Linux's "max sigframe size" on such machines. */
	assert_int_equal(xst_sigframe_stack_bytes(2696 + 4 + 112, 736), 3632);
	assert_true(xst_sigframe_stack_bytes((uint32_t)bytes, 736) > 11900);
	for (uintptr_t sp = 0x7fff0000; sp < 0x7fff0100; sp += 8)
		for (int kind = XST_FRAME_64; kind <= XST_FRAME_32; kind++) {
			const uint32_t fx = kind == XST_FRAME_32 ? 112 : 0;
			const uintptr_t at =
				xst_sigframe_place(sp, 2700, (enum xst_frame_kind)kind);

			assert_true((at + fx) % 64 == 0 && at + 2700 <= sp + fx &&
				    at + 2700 + 64 > sp - fx);
		}
}

/* A frame is written, the registers change, the frame is taken back: exactly what was there. */
static void frame_round_trip(void **state)
{
	struct xst_frame frame;

	(void)state;
	for (size_t m = 0; m < MACHINES; m++)
		for (int kind = has_64(m) ? XST_FRAME_64 : XST_FRAME_32; kind <= XST_FRAME_32;
		     kind++) {
			const enum xst_frame_kind k = (enum xst_frame_kind)kind;
			int bytes;

			up(m, 5);
			bytes = xst_sigframe_bytes(&frames.sys, 0, k, NULL);
			memset(frames.user, 0xcc, sizeof(frames.user));
			frames_state(&frames, one, &layout);
			assert_int_equal(xst_sigframe_write(&frames.t, k, frames.user, NULL),
					 XST_OK);
			for (int i = bytes; i < bytes + 256; i++)
				assert_int_equal(frames.user[i], 0xcc);
			assert_int_equal(xst_sigframe_restore(&frames.t, k, NULL, &frame, NULL),
					 XST_OK);
			frames_state(&frames, two, &layout);
			assert_memory_not_equal(one, two, layout.bytes);
			assert_int_equal(
				xst_sigframe_restore(&frames.t, k, frames.user, &frame, NULL),
				XST_OK);
			assert_int_equal(frame.extended, machines[m].insn >= XST_INSN_XSAVE);
			assert_true(frames_loads(&frames));
			frames_state(&frames, two, &layout);
			assert_memory_equal(one, two, layout.bytes);
			/* And what the reader of files makes of it. */
			if (!frame.extended)
				continue;
			assert_int_equal(xst_sigframe_read(frames.user, (size_t)bytes, k,
							   layout.bytes, &frame, NULL),
					 XST_OK);
			assert_true(frame.extended && frame.xfeatures == layout.mask &&
				    frame.xstate_size == layout.bytes &&
				    frame.extended_size == (uint32_t)bytes);
		}
}

/* No byte of a frame or a set depends on what memory held before: nothing undefined leaves. */
static void nothing_undefined_leaves(void **state)
{
	static const enum xst_regset sets[] = {XST_REGSET_I387, XST_REGSET_FPX, XST_REGSET_XSTATE};

	(void)state;
	for (size_t m = 0; m < MACHINES; m++) {
		int bytes = 0;

		for (int pass = 0; pass < 2; pass++) {
			static uint8_t first[FRAMES_BYTES];
			uint8_t *out = pass ? two : first;
			size_t at = 0;

			up(m, 9);
			bytes = xst_sigframe_bytes(&frames.sys, 0, XST_FRAME_32, NULL);
			memset(frames.scratch, pass ? 0xaa : 0x55, sizeof(frames.scratch));
			memset(frames.user, pass ? 0x77 : 0x88, sizeof(frames.user));
			/* Bytes of the area that no save writes hold whatever was there. */
			if (machines[m].insn >= XST_INSN_FXSAVE)
				memset(frames.area + XST_OFF_RESERVED, pass ? 0x33 : 0xcc, 96);
			assert_int_equal(
				xst_sigframe_write(&frames.t, XST_FRAME_32, frames.user, NULL),
				XST_OK);
			memcpy(out, frames.user, (size_t)bytes);
			at = (size_t)bytes;
			for (size_t s = 0; s < 3; s++) {
				int n = xst_regset_bytes(&frames.sys, 0, sets[s], NULL);

				if (n < 0)
					continue;
				memset(frames.scratch, pass ? 0xaa : 0x55, sizeof(frames.scratch));
				assert_int_equal(xst_regset_get(&frames.t, sets[s], 0, out + at,
								(size_t)n, NULL),
						 n);
				at += (size_t)n;
			}
			if (pass)
				assert_memory_equal(first, two, at);
		}
	}
}

/* Memory that ends anywhere within the frame: an error, and the task is what it was. */
static void memory_that_ends(void **state)
{
	(void)state;
	for (size_t m = 0; m < MACHINES; m++) {
		int bytes;

		up(m, 2);
		bytes = xst_sigframe_bytes(&frames.sys, 0, XST_FRAME_32, NULL);
		assert_int_equal(xst_sigframe_write(&frames.t, XST_FRAME_32, frames.user, NULL), 0);
		frames_remember(&frames);
		for (int n = 0; n < bytes; n += n < 700 ? 1 : 61) {
			frames.user_bytes = (size_t)n;
			assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_32, frames.user,
							      NULL, &diag),
					 XST_ERR_FAULT);
			assert_true(frames_unchanged(&frames));
		}
		for (int n = 0; n < bytes; n += n < 700 ? 7 : 61) {
			frames.user_bytes = (size_t)n;
			assert_int_equal(
				xst_sigframe_write(&frames.t, XST_FRAME_32, frames.user, &diag),
				XST_ERR_FAULT);
			assert_true(frames_unchanged(&frames));
		}
		frames.t.scratch_bytes = XST_FRAME_SCRATCH_MIN - 1;
		assert_int_equal(xst_sigframe_write(&frames.t, XST_FRAME_32, frames.user, &diag),
				 XST_ERR_NEED_BYTES);
		assert_int_equal(
			xst_sigframe_restore(&frames.t, XST_FRAME_32, frames.user, NULL, &diag),
			XST_ERR_NEED_BYTES);
	}
}

/* What is wrong with a frame, and what comes of it: refused, or only its FXSAVE part counts. */
static const struct {
	uint32_t offset;
	uint64_t value;
	uint8_t bytes;
	bool refused;
} malformed[] = {
	{464, 0x12345678, 4, false},	     /* magic1 */
	{468, 100, 4, false},		     /* extended_size too small */
	{468, 3, 4, false},		     /* and below that of the magic */
	{480, 512, 4, false},		     /* xstate_size without a header */
	{480, 0xffffffff, 4, false},	     /* larger than the kernel's */
	{480, 2700, 4, false},		     /* by one word */
	{2696, 0xdeadbeef, 4, false},	     /* magic2 */
	{480, 2432, 4, false},		     /* magic2 is not where the size says */
	{24, 0x80001f80, 4, true},	     /* reserved MXCSR bits */
	{24, 0x00011f80, 4, true},	     /* the lowest of them */
	{512, 0x8000000000000003u, 8, true}, /* XSTATE_BV[63] */
	{512, 0x407, 8, true},		     /* not enabled */
	{512, 0x807, 8, true},		     /* a supervisor component */
	{512, 0x40007, 8, true},	     /* not permitted */
	{520, 0x8000000000000000u, 8, true}, /* compacted */
	{520, 0x8000000000000007u, 8, true},
	{520, 0x7, 8, true},
	{528, 1, 1, true}, /* reserved header bytes, the first */
	{543, 0x80, 1, true},
	{575, 1, 1, true}, /* and the last */
};

static void malformed_frames(void **state)
{
	static uint8_t good[FRAMES_BYTES];
	struct xst_frame frame;

	(void)state;
	for (int kind = XST_FRAME_64; kind <= XST_FRAME_32; kind++) {
		const enum xst_frame_kind k = (enum xst_frame_kind)kind;
		const uint32_t fx = kind == XST_FRAME_32 ? 112 : 0;

		up(5, 4); /* XSAVES, 0x2e7, CET_U */
		assert_int_equal(xst_sigframe_write(&frames.t, k, frames.user, NULL), XST_OK);
		memcpy(good, frames.user, sizeof(good));
		xst_sigframe_restore(&frames.t, k, NULL, NULL, NULL);
		for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
			int err;

			memcpy(frames.user, good, sizeof(good));
			memcpy(frames.user + fx + malformed[i].offset, &malformed[i].value,
			       malformed[i].bytes);
			frames_remember(&frames);
			err = xst_sigframe_restore(&frames.t, k, frames.user, &frame, &diag);
			if (malformed[i].refused) {
				assert_int_equal(err, XST_ERR_FAULT);
				assert_true(frames_unchanged(&frames));
				continue;
			}
			assert_int_equal(err, XST_OK);
			assert_false(frame.extended);
			assert_non_null(frame.why);
			/* x87 and SSE of the frame, all else INIT, no rights but the hardware's. */
			frames_state(&frames, two, &layout);
			assert_true(xst_get64(two, XST_OFF_XSTATE_BV) == XST_MASK_LEGACY);
			assert_memory_equal(two + XST_OFF_XMM, good + fx + XST_OFF_XMM, 256);
			assert_int_equal(frames.ctx.pkru, 0);
			assert_true(frames_loads(&frames));
			xst_sigframe_restore(&frames.t, k, NULL, NULL, NULL);
		}
	}
}

/* A frame of an older or a smaller kernel, and xfeatures that leave something out. */
static void smaller_frames(void **state)
{
	struct xst_frame frame;
	static uint8_t good[FRAMES_BYTES];

	(void)state;
	up(5, 6);
	assert_int_equal(xst_sigframe_write(&frames.t, XST_FRAME_64, frames.user, NULL), XST_OK);
	memcpy(good, frames.user, sizeof(good));
	/* x87, SSE and AVX, of a kernel that knows no more. */
	xst_put32(frames.user, 468, 836);
	xst_put64(frames.user, 472, 7);
	xst_put32(frames.user, 480, 832);
	xst_put64(frames.user, XST_OFF_XSTATE_BV, 7);
	xst_put32(frames.user, 832, XST_FRAME_MAGIC2);
	frames.user_bytes = 836;
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, frames.user, &frame, NULL),
			 0);
	assert_true(frame.extended);
	frames_state(&frames, two, &layout);
	assert_true(xst_get64(two, XST_OFF_XSTATE_BV) == 7);
	assert_memory_equal(two + 576, good + 576, 256);
	/* A live component behind the end of the image is nothing to guess at. */
	xst_put64(frames.user, XST_OFF_XSTATE_BV, 0x27);
	xst_put64(frames.user, 472, 0x27);
	frames_remember(&frames);
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, frames.user, &frame, &diag),
			 XST_ERR_FAULT);
	assert_true(frames_unchanged(&frames));
	/* But one that xfeatures leaves out is INIT and needs no place. */
	xst_put64(frames.user, 472, 0x7);
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, frames.user, &frame, NULL),
			 0);
	frames_state(&frames, two, &layout);
	assert_true(xst_get64(two, XST_OFF_XSTATE_BV) == 7);
	/* MXCSR is judged with AVX alone, and not without both; it counts with SSE. */
	memcpy(frames.user, good, sizeof(good));
	frames.user_bytes = sizeof(frames.user);
	xst_put64(frames.user, 472, 4);
	xst_put32(frames.user, XST_OFF_MXCSR, 0x1fa5);
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, frames.user, &frame, NULL),
			 0);
	frames_state(&frames, two, &layout);
	assert_int_equal(xst_get32(two, XST_OFF_MXCSR), XST_MXCSR_INIT);
	for (unsigned i = XST_OFF_XMM; i < XST_OFF_RESERVED; i++)
		assert_int_equal(two[i], 0);
	xst_put32(frames.user, XST_OFF_MXCSR, 0xffffffff);
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, frames.user, &frame, NULL),
			 XST_ERR_FAULT);
	xst_put64(frames.user, 472, 1);
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, frames.user, &frame, NULL),
			 0);
	frames_state(&frames, two, &layout);
	assert_int_equal(xst_get32(two, XST_OFF_MXCSR), XST_MXCSR_INIT);
	assert_true(xst_get64(two, XST_OFF_XSTATE_BV) == 1);
}

/* Tiles that are INIT are not written, but have their room. */
static void tiles_that_are_init(void **state)
{
	struct xst_frame frame;
	int bytes;

	(void)state;
	frames_up(&frames, XST_INSN_XSAVES, AMX_XCR0, 0);
	frames.t.mask = AMX_XCR0;
	bytes = xst_sigframe_bytes(&frames.sys, AMX_XCR0, XST_FRAME_64, NULL);
	assert_int_equal(bytes, 11012);
	memset(frames.user, 0xcc, sizeof(frames.user));
	/* The tiles' pages need not even be there but for the last word. */
	assert_int_equal(xst_sigframe_write(&frames.t, XST_FRAME_64, frames.user, NULL), XST_OK);
	for (int i = 2816; i < 11008; i++)
		assert_int_equal(frames.user[i], 0xcc);
	assert_int_equal(xst_get32(frames.user, 11008), XST_FRAME_MAGIC2);
	assert_int_equal(xst_get32(frames.user, 480), 11008);
	assert_true(xst_get64(frames.user, 472) == AMX_XCR0);
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, frames.user, &frame, NULL),
			 0);
	assert_true(frame.extended);
	/* Live tiles, and a task that has no room for them. */
	xst_put64(frames.user, XST_OFF_XSTATE_BV, 0x60003);
	frames_remember(&frames);
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, frames.user, &frame, &diag),
			 XST_ERR_LIVE);
	assert_true(frames_unchanged(&frames));
}

/* A task that has room for its tiles: they go out and come back as all else does. */
static void tiles_that_are_live(void **state)
{
	struct xst_frame frame;
	struct xst_image image = {one, sizeof(one), &layout};

	(void)state;
	frames_up(&frames, XST_INSN_XSAVES, AMX_XCR0, 0);
	frames_grow(&frames);
	assert_int_equal(xst_uabi_layout(&frames.sys, frames.t.mask, &layout, NULL), XST_OK);
	assert_int_equal(layout.bytes, 11008);
	fill(one, &layout, AMX_XCR0, 5);
	assert_int_equal(xst_uabi_set(&frames.t, &image, XST_UABI_MXCSR_ALWAYS, NULL), XST_OK);
	assert_true(frames_loads(&frames));
	assert_int_equal(xst_sigframe_write(&frames.t, XST_FRAME_64, frames.user, NULL), XST_OK);
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, NULL, &frame, NULL), XST_OK);
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, frames.user, &frame, NULL),
			 XST_OK);
	frames_state(&frames, two, &layout);
	assert_memory_equal(one, two, layout.bytes);
	/* Frames that have no place for them cannot be made of it. */
	frames.t.mask = 0;
	assert_int_equal(xst_sigframe_write(&frames.t, XST_FRAME_64, frames.user, &diag),
			 XST_ERR_LIVE);
	assert_int_equal(diag.component, XST_COMP_TILEDATA);
}

static void pkru_of_frames_and_sets(void **state)
{
	struct xst_frame frame;

	(void)state;
	up(5, 1);
	frames.ctx.pkru = 0x55555550;
	assert_int_equal(xst_sigframe_write(&frames.t, XST_FRAME_64, frames.user, NULL), XST_OK);
	frames.ctx.pkru = 0xaaaaaaa8;
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, frames.user, &frame, NULL),
			 0);
	assert_int_equal(frames.ctx.pkru, 0x55555550);
	/* ptrace: what XSTATE does not have is 0. */
	assert_true(xst_regset_get(&frames.t, XST_REGSET_XSTATE, 0, one, sizeof(one), NULL) ==
		    2696);
	xst_put32(one, 2688, 0x4);
	assert_int_equal(xst_regset_set(&frames.t, XST_REGSET_XSTATE, 0, one, 2696, NULL), XST_OK);
	assert_int_equal(frames.ctx.pkru, 4);
	assert_int_equal(xst_regset_set(&frames.t, XST_REGSET_FPX, 0, one, 512, NULL), XST_OK);
	assert_int_equal(frames.ctx.pkru, 4);
	xst_put64(one, XST_OFF_XSTATE_BV, 7);
	assert_int_equal(xst_regset_set(&frames.t, XST_REGSET_XSTATE, 0, one, 2696, NULL), XST_OK);
	assert_int_equal(frames.ctx.pkru, 0);
	/* A new program, or no frame at all: the kernel's default. */
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, NULL, &frame, NULL), XST_OK);
	assert_int_equal(frames.ctx.pkru, XST_PKRU_DEFAULT);
}

/* The supervisor component of the second image belongs to the kernel: nobody outside moves it. */
static void supervisor_state_stays(void **state)
{
	struct xst_frame frame;
	uint8_t *apart;

	(void)state;
	up(6, 1);
	assert_true(frames.sys.apart == (XST_MASK_CET_U | XST_MASK_APX));
	apart = frames.area + frames.sys.apart_offset;
	xst_put64(apart, XST_OFF_XSTATE_BV, xst_get64(apart, XST_OFF_XSTATE_BV) | XST_MASK_CET_U);
	memset(apart + frames.sys.apart_layout.offset[XST_COMP_CET_U], 0x5c, 16);
	assert_int_equal(xst_sigframe_write(&frames.t, XST_FRAME_64, frames.user, NULL), XST_OK);
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, NULL, &frame, NULL), XST_OK);
	assert_true(xst_get64(apart, XST_OFF_XSTATE_BV) == XST_MASK_CET_U);
	assert_int_equal(xst_sigframe_restore(&frames.t, XST_FRAME_64, frames.user, &frame, NULL),
			 0);
	assert_true(xst_get64(apart, XST_OFF_XSTATE_BV) == (XST_MASK_CET_U | XST_MASK_APX));
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(apart[frames.sys.apart_layout.offset[XST_COMP_CET_U] + i], 0x5c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_round_trip),
		cmocka_unit_test(sizes),
		cmocka_unit_test(frame_round_trip),
		CASE("SEC-14", nothing_undefined_leaves),
		cmocka_unit_test(memory_that_ends),
		cmocka_unit_test(malformed_frames),
		cmocka_unit_test(smaller_frames),
		cmocka_unit_test(tiles_that_are_init),
		cmocka_unit_test(tiles_that_are_live),
		CASE("ABI-13", pkru_of_frames_and_sets),
		cmocka_unit_test(supervisor_state_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

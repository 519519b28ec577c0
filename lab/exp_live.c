// SPDX-License-Identifier: BSD-2-Clause
/*
 * `live`: two tasks displace each other in every slot, with one set of components
 * live after the other. What does a save write, and what may be left out because it
 * is INIT? The last settings are of programs that clear what they no longer need.
 */
#include "experiment.h"
#include "report.h"

#define X87    LIVE(XST_COMP_X87)
#define SSE    (LIVE(XST_COMP_SSE) | LIVE_MXCSR)
#define AVX    LIVE(XST_COMP_AVX)
#define AVX512 (LIVE(XST_COMP_OPMASK) | LIVE(XST_COMP_ZMM_HI256) | LIVE(XST_COMP_HI16_ZMM))
#define NONE   (1u << 30) /* names no component, and is not zero */

static const struct setting {
	const char *name;
	uint32_t live;
	enum tidy tidy;
	bool never; /* no register is touched at all */
} settings[] = {
	{"untouched", NONE, TIDY_NOTHING, true},
	{"init", NONE, TIDY_NOTHING, false},
	{"x87", X87, TIDY_NOTHING, false},
	{"SSE", SSE, TIDY_NOTHING, false},
	{"x87+SSE", X87 | SSE, TIDY_NOTHING, false},
	{"SSE+AVX", SSE | AVX, TIDY_NOTHING, false},
	{"x87+SSE+AVX", X87 | SSE | AVX, TIDY_NOTHING, false},
	{"AVX-512", AVX512, TIDY_NOTHING, false},
	{"all", LIVE_ALL, TIDY_NOTHING, false},
	{"SSE+AVX, VZEROUPPER", SSE | AVX, TIDY_VZEROUPPER, false},
	{"all, VZEROUPPER", LIVE_ALL, TIDY_VZEROUPPER, false},
	{"AVX, VZEROALL", AVX | LIVE(XST_COMP_SSE), TIDY_VZEROALL, false},
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* Of one setting. */
static uint64_t seen, bytes, component_count, images;

/* What the save that just came wrote, by the form and by its header. */
static void live_saved(const struct xst_ctx *ctx, bool elided)
{
	const struct xst_system *sys = &lab_system;
	uint64_t bv = sys->mask;

	if (sys->insn >= XST_INSN_XSAVE)
		__builtin_memcpy(&bv, ctx->area + XST_HEADER_OFFSET, sizeof(bv));
	seen |= bv;
	images++;
	for (unsigned i = 0; i < 32; i++)
		component_count += (bv & XST_MASK(i)) != 0;
	if (elided) {
		bytes += sizeof(bv); /* the library writes XSTATE_BV */
		return;
	}
	if (sys->insn <= XST_INSN_XSAVE) {
		bytes += sys->layout.bytes;
		return;
	}
	bytes += XST_EXT_OFFSET - XST_HEADER_OFFSET;
	for (unsigned i = 0; i < 32; i++) {
		if (bv & XST_MASK(i))
			bytes += i < 2 ? xst_comp_info(i)->bytes : sys->caps.comp[i].bytes;
	}
}

static bool live_phase(unsigned number)
{
	struct task_spec spec = {.program = user_worker, .loops = args.loops};

	lab_total = SETTINGS * 2 * args.loops;
	if (number == 0) {
		report_point_start();
	} else {
		report_point_begin();
		report_field_text("live", settings[number - 1].name);
		report_field_hex("xstate_bv", seen);
		report_field("images", images);
		report_field("components", component_count);
		report_field("bytes_written", bytes);
		report_field("bytes_nominal", images * lab_system.layout.bytes);
		report_point_end();
	}
	seen = bytes = component_count = images = 0;
	if (number == SETTINGS)
		return false;
	spec.use = settings[number].never ? USE_NEVER : USE_ALWAYS;
	spec.live = settings[number].live;
	spec.tidy = settings[number].tidy;
	task_create_user(&spec);
	task_create_user(&spec);
	return true;
}

const struct experiment exp_live = {
	.name = "live",
	.summary = "what a save writes, by the components that are live",
	.loops = 300,
	.min_cpus = 1,
	.max_cpus = 1,
	.phase = live_phase,
	.saved = live_saved,
};

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Images of live state in the standard format. XRSTOR from such an image is the one way to make
 * XINUSE exactly what a measurement wants: VZEROUPPER, FNINIT or writing zeros leave components in
 * use on some CPU or other.
 */
#include "state.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <xst/insn.h>
#include <xst/layout.h>

#include "stats/plan.h"

#define ARCH_GET_XCOMP_PERM 0x1022
#define ARCH_REQ_XCOMP_PERM 0x1023

const char *const live_name[LIVE_COUNT] = {
	"INIT", "x87", "SSE", "AVX", "x87+AVX", "AVX-512", "all", "all+AMX",
};

static const uint64_t live_mask[LIVE_COUNT] = {
	[LIVE_X87] = XST_MASK(0),
	[LIVE_SSE] = XST_MASK(1),
	[LIVE_AVX] = XST_MASK(1) | XST_MASK(2),
	[LIVE_X87_AVX] = XST_MASK_LEGACY | XST_MASK(2),
	[LIVE_AVX512] = XST_MASK(1) | XST_MASK(2) | XST_MASK_AVX512,
	[LIVE_ALL] = XST_MASK_LEGACY | XST_MASK(2) | XST_MASK_AVX512,
	[LIVE_AMX] = XST_MASK_LEGACY | XST_MASK(2) | XST_MASK_AVX512 | XST_MASK_AMX,
};

/* Deterministic bytes that are never zero. */
static void fill(uint8_t *p, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(stats_seed_mix(seed, i) % 255 + 1);
}

static void fill_x87(uint8_t *image, uint64_t seed)
{
	image[4] = 0xff; /* abridged tag byte: all eight valid */
	for (unsigned r = 0; r < 8; r++) {
		uint8_t *st = image + 32 + 16 * r;

		fill(st, 8, stats_seed_mix(seed, r));
		st[7] |= 0x80; /* integer bit: a normal number */
		st[8] = 0xff;
		st[9] = 0x3f; /* exponent 0: 1 <= x < 2 */
	}
}

static void fill_tilecfg(uint8_t *cfg)
{
	cfg[0] = 1; /* palette 1: eight tiles of 16 rows of 64 bytes */
	for (unsigned t = 0; t < 8; t++) {
		cfg[16 + 2 * t] = 64;
		cfg[48 + t] = 16;
	}
}

static void make_image(uint8_t *image, const struct xst_layout *layout, uint64_t bv, uint64_t seed)
{
	const uint32_t mxcsr = 0x1f80;
	const uint16_t fcw = 0x037f;

	memcpy(image, &fcw, 2);
	memcpy(image + 24, &mxcsr, 4);
	memcpy(image + XST_HEADER_OFFSET, &bv, 8);
	for (unsigned i = 0; i < 63; i++) {
		uint8_t *at = image + layout->offset[i];

		if (!(bv & XST_MASK(i)))
			continue;
		if (i == XST_COMP_X87)
			fill_x87(image, seed);
		else if (i == XST_COMP_SSE)
			fill(image + 160, 256, stats_seed_mix(seed, 100));
		else if (i == 17)
			fill_tilecfg(at);
		else
			fill(at, layout->size[i], stats_seed_mix(seed, 100 + i));
	}
}

/* Is this live set, on this CPU, one that another name already stands for? */
static bool is_duplicate(const struct bench_state *s, int l)
{
	if (l == LIVE_ALL)
		return false;
	for (int k = 0; k < LIVE_COUNT; k++)
		if (s->live[k] == s->live[l] && (k < l || (k == LIVE_ALL && k != l)))
			return true;
	return false;
}

static const char *ask_for_tiles(uint64_t enabled)
{
	if ((enabled & XST_MASK_AMX) != XST_MASK_AMX)
		return "this CPU or kernel has no AMX";
	if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, 18) == 0)
		return NULL;
	return errno == EINVAL ? "the kernel does not know how to grant AMX tiles"
			       : "the kernel refused AMX tiles";
}

static void find_state(struct bench_state *s)
{
	s->tiles_why_not = "this CPU or kernel has no AMX";
	if (!s->caps.xsave || !s->caps.osxsave)
		return;
	s->enabled = xst_xgetbv(0);
	s->tiles_why_not = ask_for_tiles(s->enabled);
	s->all = s->enabled & (XST_MASK_LEGACY | XST_MASK(2) | XST_MASK_AVX512 | XST_MASK_AMX);
	if (s->tiles_why_not)
		s->all &= ~XST_MASK_AMX;
}

bool state_build(struct bench_state *s, uint64_t seed, const char **why)
{
	struct xst_layout layout = {.bytes = XST_EXT_OFFSET};
	size_t step, at = 0;

	*why = "CPUID describes no usable XSAVE layout";
	if (s->all && xst_layout_compute(&s->caps, s->all, XST_STANDARD, &layout, NULL) < 0)
		return false;
	s->area_bytes = (layout.bytes + 63) & ~63u;
	/* Steps of an odd number of half pages: areas never share their low 12 address bits. */
	step = ((s->area_bytes + BENCH_AREA_SLACK + 4095) & ~(size_t)4095) + 2048;
	s->memory_bytes = step * (LIVE_COUNT + 4);
	s->memory = mmap(NULL, s->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	*why = "memory is short";
	if (s->memory == MAP_FAILED) {
		s->memory = NULL;
		return false;
	}
	memset(s->memory, 0, s->memory_bytes);
	s->keep = s->memory;
	s->operands = (void *)(s->memory + (at += step));
	s->area[0] = s->memory + (at += step);
	s->area[1] = s->memory + (at += step);
	*s->operands = (struct bench_operands){.mxcsr = {0x1f80, 0x9f80},
					       .mxcsr_out = 0x1f80,
					       .fcw = 0x037f,
					       .x = 0.7390851332151607};
	/* A CPU with FXSAVE only keeps x87 and SSE in such images too. */
	for (int l = 0; l < LIVE_COUNT; l++)
		s->live[l] = live_mask[l] & (s->all ? s->all : XST_MASK_LEGACY);
	for (int l = 0; l < LIVE_COUNT; l++) {
		at += step;
		if (is_duplicate(s, l))
			continue;
		s->image[l] = s->memory + at;
		make_image(s->image[l], &layout, s->live[l], stats_seed_mix(seed, (uint64_t)l));
	}
	return true;
}

bool state_open(struct bench_state *s, uint64_t seed, const char **why)
{
	memset(s, 0, sizeof(*s));
	*why = "this CPU has no FXSAVE";
	if (xst_caps_native(&s->caps) < 0 || !s->caps.fxsr)
		return false;
	find_state(s);
	s->pkru = s->caps.ospke;
	if (s->pkru)
		s->pkru_now = xst_rdpkru();
	return state_build(s, seed, why);
}

void state_close(struct bench_state *s)
{
	if (s->memory)
		munmap(s->memory, s->memory_bytes);
	memset(s, 0, sizeof(*s));
}

void state_setup(const struct bench_state *s, enum live live, uint64_t mask, uint64_t placement,
		 struct code_setup *out)
{
	size_t shift = (size_t)(placement >> 32) % (BENCH_AREA_SLACK / 64) * 64;

	*out = (struct code_setup){.keep = s->keep,
				   .start = s->image[live],
				   .all = s->all,
				   .a = s->area[0] + shift,
				   .b = s->area[1] + shift,
				   .operands = s->operands,
				   .mask = mask};
	memset((uint8_t *)out->a + XST_HEADER_OFFSET, 0, XST_HEADER_BYTES);
	memset((uint8_t *)out->b + XST_HEADER_OFFSET, 0, XST_HEADER_BYTES);
}

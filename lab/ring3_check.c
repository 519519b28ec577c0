// SPDX-License-Identifier: BSD-2-Clause
/*
 * User mode's check of every register a task has, and the loading of new values.
 *
 * Built with general registers only: the only instructions that touch extended
 * state are those of ring3_regs.S, called from here.
 */
#include "lab.h"
#include "ring3.h"

struct user_block user_blocks[MAX_TASKS];

/* Word numbers in the hash: each register has words of its own. */
enum word {
	WORD_VECTOR = 0,   /* 8 a register */
	WORD_OPMASK = 256, /* 1 each */
	WORD_ST = 264,     /* 2 each: mantissa, sign and exponent */
	WORD_FCW = 280,
	WORD_FSW,
	WORD_MXCSR,
	WORD_PKRU,
};

static uint64_t hash_base(const struct user_block *u, uint32_t owner, uint32_t generation,
			  uint64_t slot)
{
	return mix64(mix64(u->seed ^ ((uint64_t)owner << 48) ^ ((uint64_t)generation << 32)) +
		     slot);
}

/* Never zero: bit 0 is always set. */
static uint64_t value(uint64_t base, unsigned word)
{
	uint64_t x = (base + word) * 0x9fb21c651e98df25u;

	return (x ^ (x >> 29)) | 1;
}

static uint64_t opmask_value(const struct user_block *u, uint64_t base, unsigned n)
{
	uint64_t k = value(base, WORD_OPMASK + n);

	return u->features & FEATURE_OPMASK64 ? k : k & 0xffff;
}

/* A normal number: integer bit set, exponent in the middle of the range. */
static uint64_t st_mantissa(uint64_t base, unsigned n)
{
	return value(base, WORD_ST + 2 * n) | (1ull << 63);
}

static uint16_t st_sign_exponent(uint64_t base, unsigned n)
{
	uint64_t x = value(base, WORD_ST + 2 * n + 1) >> 8;

	return (uint16_t)((x & 0x8000) | (0x3c00 + (x & 0x7ff)));
}

/* Exceptions masked, rounding varies; precision 01 is reserved. */
static uint16_t fcw_value(uint64_t base)
{
	static const uint16_t precision[4] = {0x000, 0x200, 0x300, 0x200};
	uint64_t x = value(base, WORD_FCW) >> 8;

	return (uint16_t)(0x7f | precision[x & 3] | ((x & 0xc) << 8));
}

/* TOP, C0, C2, C3 and sticky exception flags; all masked, so ES stays clear. */
static uint16_t fsw_value(uint64_t base)
{
	uint64_t x = value(base, WORD_FSW) >> 8;

	return (uint16_t)(x & 0x7d3f);
}

/* Sticky flags, rounding, FTZ and - where this CPU has them - DAZ and MM; exceptions masked. */
static uint32_t mxcsr_value(const struct user_block *u, uint64_t base)
{
	uint32_t x = (uint32_t)(value(base, WORD_MXCSR) >> 8);

	return (x & u->mxcsr_mask & 0x2e07fu) | 0x1f80u;
}

/* Key 0 guards our own pages and stays open. */
static uint32_t pkru_value(uint64_t base)
{
	return ((uint32_t)(value(base, WORD_PKRU) >> 8) & ~3u) | 4u;
}

static void mismatch(struct user_block *u, const char *component, const char *reg, unsigned number,
		     unsigned word, uint64_t want, uint64_t got)
{
	if (u->quiet) {
		user_syscall(SYS_CORRUPTIONS, 1);
		return;
	}
	u->mismatch.component = component;
	u->mismatch.reg = reg;
	u->mismatch.number = number;
	u->mismatch.word = word;
	u->mismatch.slot = u->have_slot;
	u->mismatch.want = want;
	u->mismatch.got = got;
	u->quiet = user_syscall(SYS_CORRUPTION, (uintptr_t)&u->mismatch) != 0;
}

static const char *vector_component(unsigned number, unsigned word)
{
	if (number >= 16)
		return "Hi16_ZMM";
	return word >= 4 ? "ZMM_Hi256" : word >= 2 ? "AVX" : "SSE";
}

static const char *vector_name(const struct user_block *u)
{
	return u->features & FEATURE_AVX512 ? "zmm" : u->features & FEATURE_AVX ? "ymm" : "xmm";
}

/* What all checks share; @base is 0 when the registers must be INIT. */
static void check_vectors(struct user_block *u, uint64_t base, bool init)
{
	const struct user_regs *r = &u->regs;
	unsigned registers = u->features & FEATURE_AVX512 ? 32 : 16;
	unsigned words = u->features & FEATURE_AVX512 ? 8 : u->features & FEATURE_AVX ? 4 : 2;

	for (unsigned n = 0; n < registers; n++) {
		for (unsigned w = 0; w < words; w++) {
			uint64_t want = init ? 0 : value(base, WORD_VECTOR + 8 * n + w);

			if (r->vector[n][w] != want)
				mismatch(u, vector_component(n, w), vector_name(u), n, w, want,
					 r->vector[n][w]);
		}
	}
	if (u->features & FEATURE_AVX512) {
		for (unsigned n = 0; n < 8; n++) {
			uint64_t want = init ? 0 : opmask_value(u, base, n);

			if (r->opmask[n] != want)
				mismatch(u, "opmask", "k", n, 0, want, r->opmask[n]);
		}
	}
}

static void check_pkru(struct user_block *u, uint32_t want)
{
	if ((u->features & FEATURE_PKRU) && u->regs.pkru != want)
		mismatch(u, "PKRU", "pkru", 0, 0, want, u->regs.pkru);
}

static void check_values(struct user_block *u)
{
	struct user_regs *r = &u->regs;
	uint64_t base = hash_base(u, u->have_owner, u->have_generation, u->have_slot);

	user_regs_store(r, u->features);
	check_vectors(u, base, false);
	for (unsigned n = 0; n < 8; n++) {
		uint64_t mantissa = st_mantissa(base, n);
		uint16_t sign_exponent = st_sign_exponent(base, n);

		if (r->st[n].mantissa != mantissa)
			mismatch(u, "x87", "st", n, 0, mantissa, r->st[n].mantissa);
		if (r->st[n].sign_exponent != sign_exponent)
			mismatch(u, "x87", "st", n, 1, sign_exponent, r->st[n].sign_exponent);
	}
	if (r->fcw != fcw_value(base))
		mismatch(u, "x87", "fcw", 0, 0, fcw_value(base), r->fcw);
	if (r->fsw != fsw_value(base))
		mismatch(u, "x87", "fsw", 0, 0, fsw_value(base), r->fsw);
	if (r->mxcsr != mxcsr_value(u, base))
		mismatch(u, "SSE", "mxcsr", 0, 0, mxcsr_value(u, base), r->mxcsr);
	check_pkru(u, pkru_value(base));
}

#define FXSAVE_FTW 4
#define FXSAVE_ST  32

static void check_init(struct user_block *u)
{
	struct user_regs *r = &u->regs;

	user_regs_peek(r, u->features);
	check_vectors(u, 0, true);
	for (unsigned n = 0; n < 8; n++) {
		uint64_t low = 0;
		uint16_t high = 0;

		for (unsigned i = 0; i < 8; i++)
			low |= (uint64_t)r->fxsave[FXSAVE_ST + 16 * n + i] << (8 * i);
		for (unsigned i = 0; i < 2; i++)
			high = (uint16_t)(high |
					  (r->fxsave[FXSAVE_ST + 16 * n + 8 + i] << (8 * i)));
		if (low)
			mismatch(u, "x87", "st", n, 0, 0, low);
		if (high)
			mismatch(u, "x87", "st", n, 1, 0, high);
	}
	if (r->fxsave[FXSAVE_FTW])
		mismatch(u, "x87", "ftw", 0, 0, 0, r->fxsave[FXSAVE_FTW]);
	if (r->fcw != 0x37f)
		mismatch(u, "x87", "fcw", 0, 0, 0x37f, r->fcw);
	if (r->fsw)
		mismatch(u, "x87", "fsw", 0, 0, 0, r->fsw);
	if (r->mxcsr != 0x1f80)
		mismatch(u, "SSE", "mxcsr", 0, 0, 0x1f80, r->mxcsr);
	check_pkru(u, u->pkru_init);
	u->init_checks++;
}

void user_check(struct user_block *u)
{
	if (u->have_values)
		check_values(u);
	else
		check_init(u);
	u->checks++;
}

void user_set_new(struct user_block *u, uint64_t slot)
{
	struct user_regs *r = &u->regs;
	uint64_t base = hash_base(u, u->id, u->generation, slot);

	for (unsigned n = 0; n < 32; n++) {
		for (unsigned w = 0; w < 8; w++)
			r->vector[n][w] = value(base, WORD_VECTOR + 8 * n + w);
	}
	for (unsigned n = 0; n < 8; n++) {
		r->opmask[n] = opmask_value(u, base, n);
		r->st[n].mantissa = st_mantissa(base, n);
		r->st[n].sign_exponent = st_sign_exponent(base, n);
	}
	r->env.fcw = fcw_value(base);
	r->env.fsw = fsw_value(base);
	r->env.ftw = 0xffff;
	r->env.fip = r->env.fop_fcs = r->env.fdp = r->env.fds = 0;
	r->mxcsr = mxcsr_value(u, base);
	r->pkru = pkru_value(base);
	user_regs_load(r, u->features);
	u->have_values = true;
	u->have_owner = u->id;
	u->have_generation = u->generation;
	u->have_slot = slot;
	u->uses++;
}

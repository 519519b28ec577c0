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
	WORD_OWN = 288, /* what a program keeps elsewhere */
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

void user_mismatch(struct user_block *u, unsigned component, const char *reg, unsigned number,
		   unsigned word, uint64_t want, uint64_t got)
{
	if (u->quiet) {
		user_syscall(SYS_CORRUPTIONS, 1);
		return;
	}
	u->mismatch.owner = u->id;
	u->mismatch.component = component;
	u->mismatch.reg = reg;
	u->mismatch.number = number;
	u->mismatch.word = word;
	u->mismatch.slot = u->have_slot;
	u->mismatch.want = want;
	u->mismatch.got = got;
	u->quiet = user_syscall(SYS_CORRUPTION, (uintptr_t)&u->mismatch) != 0;
}

static const char *vector_name(const struct user_block *u)
{
	return u->features & FEATURE_AVX512 ? "zmm" : u->features & FEATURE_AVX ? "ymm" : "xmm";
}

/* The component that holds @word of vector register @number. */
static unsigned component_of(unsigned number, unsigned word)
{
	if (number >= 16)
		return XST_COMP_HI16_ZMM;
	return word >= 4 ? XST_COMP_ZMM_HI256 : word >= 2 ? XST_COMP_AVX : XST_COMP_SSE;
}

static unsigned vector_registers(const struct user_block *u)
{
	return VECTOR_REGISTERS * (u->features & FEATURE_AVX512 ? VECTOR_REGISTERS / 8 : 1);
}

static bool live(uint32_t set, unsigned component)
{
	return set & LIVE(component);
}

/* @set is what is live, the rest must be INIT. */
static void check_vectors(struct user_block *u, uint64_t base, uint32_t set)
{
	const struct user_regs *r = &u->regs;
	unsigned words = u->features & FEATURE_AVX512 ? 8 : u->features & FEATURE_AVX ? 4 : 2;
	uint32_t mxcsr = set & LIVE_MXCSR ? mxcsr_value(u, base) : 0x1f80;

	for (unsigned n = 0; n < vector_registers(u); n++) {
		for (unsigned w = 0; w < words; w++) {
			uint64_t want = live(set, component_of(n, w)) ?
						value(base, WORD_VECTOR + 8 * n + w) :
						0;

			if (r->vector[n][w] != want)
				user_mismatch(u, component_of(n, w), vector_name(u), n, w, want,
					 r->vector[n][w]);
		}
	}
	for (unsigned n = 0; n < 8 && u->features & FEATURE_AVX512; n++) {
		uint64_t want = live(set, XST_COMP_OPMASK) ? opmask_value(u, base, n) : 0;

		if (r->opmask[n] != want)
			user_mismatch(u, XST_COMP_OPMASK, "k", n, 0, want, r->opmask[n]);
	}
	if (r->mxcsr != mxcsr)
		user_mismatch(u, XST_COMP_SSE, "mxcsr", 0, 0, mxcsr, r->mxcsr);
}

static void check_x87(struct user_block *u, uint64_t base)
{
	struct user_regs *r = &u->regs;

	user_x87_store(r);
	for (unsigned n = 0; n < 8; n++) {
		uint64_t mantissa = st_mantissa(base, n);
		uint16_t sign_exponent = st_sign_exponent(base, n);

		if (r->st[n].mantissa != mantissa)
			user_mismatch(u, XST_COMP_X87, "st", n, 0, mantissa, r->st[n].mantissa);
		if (r->st[n].sign_exponent != sign_exponent)
			user_mismatch(u, XST_COMP_X87, "st", n, 1, sign_exponent, r->st[n].sign_exponent);
	}
	if (r->fcw != fcw_value(base))
		user_mismatch(u, XST_COMP_X87, "fcw", 0, 0, fcw_value(base), r->fcw);
	if (r->fsw != fsw_value(base))
		user_mismatch(u, XST_COMP_X87, "fsw", 0, 0, fsw_value(base), r->fsw);
}

uint64_t user_value(const struct user_block *u, unsigned n)
{
	return value(hash_base(u, u->have_owner, u->have_generation, u->have_slot), WORD_OWN + n);
}

/* Where FXSAVE and FNSAVE put things, and what an empty stack looks like there. */
#define FXSAVE_FTW       4
#define FXSAVE_ST        32
#define FXSAVE_ST_STEP   16
#define FXSAVE_EMPTY     0
#define FNSAVE_FTW       8
#define FNSAVE_ST        28
#define FNSAVE_ST_STEP   10
#define FNSAVE_EMPTY     0xff

static void check_x87_init(struct user_block *u)
{
	struct user_regs *r = &u->regs;
	bool fxsr = u->features & FEATURE_FXSR;
	unsigned ftw = fxsr ? FXSAVE_FTW : FNSAVE_FTW;
	uint8_t empty = fxsr ? FXSAVE_EMPTY : FNSAVE_EMPTY;

	user_x87_peek(r, u->features);
	for (unsigned n = 0; n < 8; n++) {
		const uint8_t *st = r->image + (fxsr ? FXSAVE_ST + n * FXSAVE_ST_STEP :
						       FNSAVE_ST + n * FNSAVE_ST_STEP);
		uint64_t low = 0;
		uint16_t high = 0;

		for (unsigned i = 0; i < 8; i++)
			low |= (uint64_t)st[i] << (8 * i);
		for (unsigned i = 0; i < 2; i++)
			high = (uint16_t)(high | (st[8 + i] << (8 * i)));
		if (low)
			user_mismatch(u, XST_COMP_X87, "st", n, 0, 0, low);
		if (high)
			user_mismatch(u, XST_COMP_X87, "st", n, 1, 0, high);
	}
	if (r->image[ftw] != empty)
		user_mismatch(u, XST_COMP_X87, "ftw", 0, 0, empty, r->image[ftw]);
	if (r->fcw != 0x37f)
		user_mismatch(u, XST_COMP_X87, "fcw", 0, 0, 0x37f, r->fcw);
	if (r->fsw)
		user_mismatch(u, XST_COMP_X87, "fsw", 0, 0, 0, r->fsw);
}

void user_check(struct user_block *u)
{
	uint32_t set = u->have_values ? u->have_live : 0;
	uint32_t pkru = u->pkru_init;
	uint64_t base = 0;

	if (u->have_values) {
		base = hash_base(u, u->have_owner, u->have_generation, u->have_slot);
		pkru = u->pkru_zero ? 0 : pkru_value(base);
	} else {
		u->init_checks++;
	}
	/* In 32-bit builds x87 comes first: the vectors' part uses no x87. */
	if (live(set, XST_COMP_X87))
		check_x87(u, base);
	else
		check_x87_init(u);
	user_vectors_store(&u->regs, u->features);
	if (u->features & FEATURE_SSE)
		check_vectors(u, base, set);
	if ((u->features & FEATURE_PKRU) && u->regs.pkru != pkru)
		user_mismatch(u, XST_COMP_PKRU, "pkru", 0, 0, pkru, u->regs.pkru);
	u->checks++;
}

void user_check_fault(struct user_block *u, bool came, uint16_t fcw)
{
	const uint16_t zero_divide = 4;
	struct user_regs *r = &u->regs;

	user_x87_peek(r, u->features);
	if (!came)
		user_mismatch(u, XST_COMP_X87, "fault", 0, 0, 1, 0);
	if (r->fcw != fcw)
		user_mismatch(u, XST_COMP_X87, "fcw", 0, 0, fcw, r->fcw);
	if ((r->fsw & 0x3f) != zero_divide)
		user_mismatch(u, XST_COMP_X87, "fsw", 0, 0, zero_divide, r->fsw);
	u->checks++;
}

/* What the programs' own way to tidy up leaves live. */
static uint32_t tidied(uint32_t set, enum tidy tidy)
{
	const uint32_t upper = LIVE(XST_COMP_AVX) | LIVE(XST_COMP_ZMM_HI256);

	if (tidy == TIDY_NOTHING)
		return set;
	return set & ~(tidy == TIDY_VZEROALL ? upper | LIVE(XST_COMP_SSE) : upper);
}

static uint32_t live_set(struct user_block *u)
{
	uint64_t r;

	if (u->live)
		return u->live;
	r = random_next(&u->random);
	return r & 1 ? LIVE_ALL : (uint32_t)(r >> 32);
}

void user_set_new(struct user_block *u, uint64_t slot)
{
	struct user_regs *r = &u->regs;
	uint64_t base = hash_base(u, u->id, u->generation, slot);
	uint32_t set = live_set(u);
	enum tidy tidy = u->features & FEATURE_AVX ? u->tidy : TIDY_NOTHING;

	for (unsigned n = 0; n < vector_registers(u); n++) {
		for (unsigned w = 0; w < 8; w++)
			r->vector[n][w] = live(set, component_of(n, w)) ?
						  value(base, WORD_VECTOR + 8 * n + w) :
						  0;
	}
	for (unsigned n = 0; n < 8; n++) {
		r->opmask[n] = live(set, XST_COMP_OPMASK) ? opmask_value(u, base, n) : 0;
		r->st[n].mantissa = st_mantissa(base, n);
		r->st[n].sign_exponent = st_sign_exponent(base, n);
	}
	r->env.fcw = fcw_value(base);
	r->env.fsw = fsw_value(base);
	r->env.ftw = 0xffff;
	r->env.fip = r->env.fop_fcs = r->env.fdp = r->env.fds = 0;
	r->mxcsr = set & LIVE_MXCSR ? mxcsr_value(u, base) : 0x1f80;
	r->pkru = pkru_value(base);
	if (live(set, XST_COMP_X87))
		user_x87_load(r);
	else
		user_x87_clear();
	user_vectors_load(r, u->features);
	if (tidy == TIDY_VZEROUPPER)
		user_vzeroupper();
	else if (tidy == TIDY_VZEROALL)
		user_vzeroall();
	u->have_values = true;
	u->pkru_zero = false;
	u->have_owner = u->id;
	u->have_generation = u->generation;
	u->have_slot = slot;
	u->have_live = tidied(set, tidy);
	u->uses++;
}

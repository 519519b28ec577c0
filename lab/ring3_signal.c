// SPDX-License-Identifier: BSD-2-Clause
/*
 * User mode's side of `signal`: the handler. It must find its registers INIT, loads others, harms the
 * frame it was given, says what must come of that, and returns.
 *
 * The frame is known here by its layout in memory alone, as programs know it.
 */
#include "lab.h"
#include "ring3.h"

#define OFF_MXCSR	  24u
#define OFF_MAGIC1	  464u
#define OFF_EXTENDED_SIZE 468u
#define OFF_XFEATURES	  472u
#define OFF_XSTATE_SIZE	  480u
#define OFF_XSTATE_BV	  512u
#define OFF_XCOMP_BV	  520u
#define OFF_HEADER_REST	  528u
#define OFF_EXTENDED	  576u
#define MAGIC2		  0x46505845u
#define KERNEL_ADDRESS	  0x101000u /* code of the kernel */

struct signal_block signal_blocks[SIGNAL_TASKS];

enum damage user_signal_damage(const struct user_block *u)
{
	struct signal_block *s = &signal_blocks[u->id];
	uint32_t kinds = DAMAGES;

	if (!s->extended)
		kinds = u->features & FEATURE_SSE ? DAMAGE_FIRST_EXTENDED : DAMAGE_MXCSR;
	else if (!(u->features & FEATURE_AVX))
		kinds = DAMAGE_FIRST_AVX;
	return (enum damage)(s->turn++ % kinds);
}

static void put32(uint8_t *fx, uint32_t offset, uint32_t value)
{
	__builtin_memcpy(fx + offset, &value, sizeof(value));
}

static void put64(uint8_t *fx, uint32_t offset, uint64_t value)
{
	__builtin_memcpy(fx + offset, &value, sizeof(value));
}

static void flip_bv(uint8_t *fx, unsigned bit)
{
	fx[OFF_XSTATE_BV + bit / 8] ^= (uint8_t)(1u << bit % 8);
}

static uint32_t xstate_size(const uint8_t *fx)
{
	uint32_t size;

	__builtin_memcpy(&size, fx + OFF_XSTATE_SIZE, sizeof(size));
	return size;
}

/* Damage that leaves the FXSAVE image to count. */
static bool spoil_words(uint8_t *fx, uint32_t damage)
{
	switch (damage) {
	case DAMAGE_MAGIC1:
		put32(fx, OFF_MAGIC1, 0);
		return true;
	case DAMAGE_MAGIC2:
		put32(fx, xstate_size(fx), 0);
		return true;
	case DAMAGE_EXTENDED_SIZE:
		put32(fx, OFF_EXTENDED_SIZE, xstate_size(fx));
		return true;
	case DAMAGE_SIZE_SMALL:
		put32(fx, OFF_XSTATE_SIZE, OFF_EXTENDED - 1);
		return true;
	case DAMAGE_SIZE_LARGE:
		put32(fx, OFF_XSTATE_SIZE, 0xffffff00u);
		return true;
	default:
		return false;
	}
}

/* Damage that no restore may survive. */
static bool spoil_state(uint8_t *fx, uint32_t damage)
{
	switch (damage) {
	case DAMAGE_MXCSR:
		fx[OFF_MXCSR + 3] = 0x80;
		return true;
	case DAMAGE_BV_63:
		flip_bv(fx, 63);
		return true;
	case DAMAGE_BV_FOREIGN:
		flip_bv(fx, XST_COMP_LWP);
		return true;
	case DAMAGE_BV_SUPERVISOR:
		flip_bv(fx, XST_COMP_CET_U);
		return true;
	case DAMAGE_COMPACTED:
		put64(fx, OFF_XCOMP_BV, 1ull << 63);
		return true;
	case DAMAGE_XCOMP:
		put64(fx, OFF_XCOMP_BV, 3);
		return true;
	case DAMAGE_HEADER_FIRST:
		fx[OFF_HEADER_REST] = 1;
		return true;
	case DAMAGE_HEADER_LAST:
		fx[OFF_EXTENDED - 1] = 1;
		return true;
	case DAMAGE_SHORT:
		put32(fx, OFF_XSTATE_SIZE, OFF_EXTENDED);
		put32(fx, OFF_EXTENDED, MAGIC2);
		return true;
	case DAMAGE_PAGE_READ:
	case DAMAGE_POINTER:
		return true;
	default:
		return false;
	}
}

/* Harm the frame, and say what the interrupted program's registers must hold afterwards. */
static void harm(struct signal_block *s, struct user_block *u)
{
	uint8_t *fx = (uint8_t *)s->frame + s->fx_offset;

	s->expect = OUTCOME_RESTORED;
	if (spoil_words(fx, s->damage)) {
		s->expect = OUTCOME_FX_ONLY;
		u->have_live &= LIVE(XST_COMP_X87) | LIVE(XST_COMP_SSE) | LIVE_MXCSR;
		u->pkru_zero = true;
	} else if (spoil_state(fx, s->damage)) {
		s->expect = OUTCOME_REFUSED;
		u->have_values = false;
	} else if (s->damage == DAMAGE_XFEATURES) {
		put64(fx, OFF_XFEATURES, 3);
		u->have_live &= LIVE(XST_COMP_X87) | LIVE(XST_COMP_SSE) | LIVE_MXCSR;
		u->pkru_zero = true;
	} else if (s->damage == DAMAGE_BV_SSE) {
		flip_bv(fx, XST_COMP_SSE);
		u->have_live &= ~LIVE(XST_COMP_SSE);
	} else if (s->damage == DAMAGE_BV_AVX) {
		fx[OFF_XSTATE_BV] &= (uint8_t)~LIVE(XST_COMP_AVX);
		u->have_live &= ~LIVE(XST_COMP_AVX);
	}
}

void user_signal_handler(struct signal_block *s)
{
	struct user_block *own = &s->own;

	own->have_values = false;
	user_check(own);
	user_set_new(own, ++own->slots);
	harm(s, &user_blocks[own->peer]);
	for (;;)
		user_syscall(SYS_SIGRETURN,
			     s->damage == DAMAGE_POINTER ? KERNEL_ADDRESS : s->frame);
}

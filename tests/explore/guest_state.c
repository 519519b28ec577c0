// SPDX-License-Identifier: BSD-2-Clause
/* Events of a virtual CPU that does not run at the moment: what its owner does with its state. */
#include <xst/uabi.h>

#include "steps.h"

/* KVM's form of it. */
static uint8_t copy[XST_KVM_XSAVE_BYTES] __attribute__((aligned(64)));

/* May code on CPU @c work on it? While it is loaded that is its thread's. */
static bool at_hand(const struct machine *m, unsigned c, unsigned g)
{
	return g < m->cfg->guests && is_free(m, c) && m->alive[TASKS + g] &&
	       (cur(m, c) == TASKS + g || !m->guest[g].loaded);
}

/* The component has its initial value from now on, wherever it is. */
static void becomes_init(struct machine *m, unsigned g, unsigned k)
{
	if (!machine_owns(m, TASKS + g, k))
		return;
	m->want[TASKS + g][k] = TOKEN_INIT;
	forget(m, TASKS + g);
}

bool can_control(const struct machine *m, unsigned c, unsigned a)
{
	const unsigned g = a % GUESTS, what = a / GUESTS;
	const struct xst_guest *guest = &m->guest[g];
	const bool xsave = m->sys.insn >= XST_INSN_XSAVE;

	if (!at_hand(m, c, g))
		return false;
	if (what < CONTROL_XSS)
		return xsave && guest->xcr0 != xcr0_of(guest, what);
	if (what < CONTROL_XFD)
		return m->caps.xsaves && guest->xss != xss_of(guest, what - CONTROL_XSS);
	if (what == CONTROL_ODD)
		return xsave;
	if (!(guest->mask & XST_MASK_TILEDATA))
		return false;
	return what == CONTROL_XFD_ERR ? guest->xfd_err != 0
				       : guest->xfd != xfd_of(what - CONTROL_XFD);
}

/* Each of these is refused, and nothing has changed. */
static void try_odd(struct machine *m, unsigned c, struct xst_guest *guest)
{
	const struct xst_guest before = *guest;
	const uint64_t none = guest->mask & XST_MASK_TILEDATA ? XST_MASK_SSE : XST_MASK_TILEDATA;
	struct xst_cpu *cpu = &m->cpu[c];

	if (!xst_guest_set_xcr0(cpu, guest, XST_MASK_SSE, NULL) ||
	    !xst_guest_set_xcr0(cpu, guest, guest->mask | XST_MASK_X87 | XST_MASK_LWP, NULL) ||
	    !xst_guest_set_xss(guest, XST_MASK_PT, NULL) ||
	    !xst_guest_set_xfd(cpu, guest, none, NULL) || !xst_guest_set_xfd_err(guest, none, NULL) ||
	    memcmp(&before, guest, sizeof(before)))
		breaks(m, CHECK_CONTROL, "a guest enables what it may not have");
}

void run_control(struct machine *m, unsigned c, unsigned a)
{
	const unsigned g = a % GUESTS, what = a / GUESTS;
	struct xst_guest *guest = &m->guest[g];
	struct xst_cpu *cpu = &m->cpu[c];
	uint64_t had = guest->xcr0, v;
	bool right;

	m->mode[c] = KERNEL;
	if (what == CONTROL_ODD) {
		try_odd(m, c, guest);
		return;
	}
	if (what < CONTROL_XSS) {
		v = xcr0_of(guest, what);
		right = !xst_guest_set_xcr0(cpu, guest, v, NULL) && guest->xcr0 == v;
		if (v & ~had & XST_MASK_AVX)
			becomes_init(m, g, C_AVX);
		if (v & ~had & XST_MASK_TILEDATA)
			becomes_init(m, g, C_TILE);
	} else if (what < CONTROL_XFD) {
		v = xss_of(guest, what - CONTROL_XSS);
		right = !xst_guest_set_xss(guest, v, NULL) && guest->xss == v;
	} else if (what < CONTROL_XFD_ERR) {
		v = xfd_of(what - CONTROL_XFD);
		right = !xst_guest_set_xfd(cpu, guest, v, NULL) && guest->xfd == v;
		if (v)
			becomes_init(m, g, C_TILE);
	} else {
		right = !xst_guest_set_xfd_err(guest, 0, NULL) && !guest->xfd_err;
	}
	if (!right)
		breaks(m, CHECK_CONTROL, "a guest may not write what it has");
}

bool can_cet(const struct machine *m, unsigned c, unsigned a)
{
	return at_hand(m, c, a % GUESTS) &&
	       (machine_owns(m, TASKS + a % GUESTS, C_CET) || machine_has(m, C_CET_S));
}

void run_cet(struct machine *m, unsigned c, unsigned a)
{
	const unsigned g = a % GUESTS, t = TASKS + g;
	const bool swaps = machine_swaps(m, C_CET_S), has = machine_owns(m, t, C_CET);
	struct xst_cet cet;
	unsigned n;
	int err;

	m->mode[c] = KERNEL;
	xst_guest_get_cet(&m->cpu[c], &m->guest[g], &cet);
	if (cet.u_cet != m->want[t][C_CET] || cet.ssp[0] >> (swaps ? 2 : 0) != m->want[t][C_CET_S])
		breaks(m, CHECK_I1, "the shadow-stack registers that are read are not the guest's");
	/* A token is a pointer only where it is shifted: elsewhere there is none. */
	cet.u_cet = has ? TOKEN_NEW : 0;
	for (n = 0; n < 3; n++)
		cet.ssp[n] = swaps ? (uint64_t)TOKEN_NEW << 2 : 0;
	if (a / GUESTS == CET_ODD)
		cet.ssp[2] = 1;
	err = xst_guest_set_cet(&m->cpu[c], &m->guest[g], &cet, NULL);
	if ((err != XST_OK) != (a / GUESTS == CET_ODD))
		breaks(m, CHECK_WORLD, "good shadow-stack registers are refused, or bad ones are not");
	if (err)
		return;
	m->want[t][C_CET] = has ? TOKEN_NEW : TOKEN_INIT;
	m->want[t][C_CET_S] = swaps ? TOKEN_NEW : TOKEN_INIT;
	forget(m, t);
}

bool can_reset(const struct machine *m, unsigned c, unsigned a)
{
	return at_hand(m, c, a % GUESTS);
}

void run_reset(struct machine *m, unsigned c, unsigned a)
{
	const unsigned g = a % GUESTS;
	const struct xst_guest *guest = &m->guest[g];

	m->mode[c] = KERNEL;
	xst_guest_reset(&m->cpu[c], &m->guest[g],
			a / GUESTS == RESET_ALL ? XST_GUEST_RESET : XST_GUEST_INIT);
	if (a / GUESTS == RESET_INIT) {
		becomes_init(m, g, C_CET);
		becomes_init(m, g, C_CET_S);
		return;
	}
	if (guest->xcr0 != XST_MASK_X87 || guest->xss || guest->xfd || guest->xfd_err)
		breaks(m, CHECK_CONTROL, "a reset leaves a control register");
	set_all(m, TASKS + g, TOKEN_INIT);
	forget(m, TASKS + g);
}

/* Is component @k one that copies hold? */
static bool in_copies(const struct machine *m, unsigned g, unsigned k)
{
	return machine_owns(m, TASKS + g, k) && (XST_MASK(comp_id[k]) & XST_MASK_USER);
}

static uint8_t *copy_byte(const struct xst_layout *layout, unsigned k)
{
	return copy + (k == C_X87 ? 32u : layout->offset[comp_id[k]]);
}

/* FNSAVE's image lies elsewhere: its token is no part of the conversion. */
bool can_copy(const struct machine *m, unsigned c, unsigned g)
{
	return m->sys.insn >= XST_INSN_FXSAVE && at_hand(m, c, g);
}

void run_copyout(struct machine *m, unsigned c, unsigned g)
{
	const unsigned t = TASKS + g;
	const struct xst_guest *guest = &m->guest[g];
	struct xst_layout layout;
	unsigned k;

	m->mode[c] = KERNEL;
	memset(copy, 0xa5, sizeof(copy));
	if (xst_guest_copy_bytes(&m->sys, guest) != sizeof(copy) ||
	    xst_guest_copy_out(&m->cpu[c], &m->guest[g], copy, sizeof(copy), NULL) ||
	    xst_uabi_layout(&m->sys, guest->mask & XST_MASK_USER, &layout, NULL)) {
		breaks(m, CHECK_WORLD, "a guest's state cannot be copied out");
		return;
	}
	for (k = 0; k < COMPS; k++) {
		const uint64_t mask = XST_MASK(comp_id[k]);
		const uint8_t want = guest->xfd & mask ? TOKEN_INIT : m->want[t][k];
		uint64_t bv;

		if (!in_copies(m, g, k))
			continue;
		memcpy(&bv, copy + XST_HEADER_OFFSET, sizeof(bv));
		if (*copy_byte(&layout, k) != want || (want && !(bv & mask)))
			breaks(m, CHECK_I1, "the copy is not the guest's state");
	}
}

bool can_copyin(const struct machine *m, unsigned c, unsigned a)
{
	return can_copy(m, c, a % GUESTS);
}

/* What is copied in: new values or none, with a header that is right or not. */
static void make_copy(const struct machine *m, unsigned g, unsigned how,
		      const struct xst_layout *layout)
{
	uint64_t *words = (uint64_t *)(void *)(copy + XST_HEADER_OFFSET);
	unsigned k;

	for (k = 0; k < COMPS; k++) {
		if (!in_copies(m, g, k))
			continue;
		*copy_byte(layout, k) = TOKEN_NEW;
		if (how != COPY_EMPTY)
			words[0] |= XST_MASK(comp_id[k]);
	}
	if (how == COPY_ODD)
		words[1] = XST_XCOMP_COMPACT;
	if (how == COPY_SHORT && layout->bytes == XST_EXT_OFFSET)
		words[0] |= XST_MASK_LWP; /* no guest has it */
}

/* It is, where it is odd or ends too early; what IA32_XFD disables is not looked for. */
static bool is_bad(const struct machine *m, unsigned g, unsigned how,
		   const struct xst_layout *layout)
{
	const uint64_t far = layout->mask & ~XST_MASK_LEGACY & ~XST_MASK_TILECFG;

	if (how != COPY_SHORT)
		return how == COPY_ODD;
	return layout->bytes == XST_EXT_OFFSET || (far & ~m->guest[g].xfd);
}

void run_copyin(struct machine *m, unsigned c, unsigned a)
{
	const unsigned g = a % GUESTS, how = a / GUESTS, t = TASKS + g;
	struct xst_guest *guest = &m->guest[g];
	struct xst_layout layout;
	const struct xst_image image = {copy, sizeof(copy), &layout};
	unsigned k;
	int err;

	m->mode[c] = KERNEL;
	if (xst_uabi_layout(&m->sys, guest->mask & XST_MASK_USER, &layout, NULL) ||
	    xst_image_fresh(&image, m->sys.caps.mxcsr_mask, NULL)) {
		breaks(m, CHECK_WORLD, "there are no copies here");
		return;
	}
	make_copy(m, g, how, &layout);
	err = xst_guest_copy_in(&m->cpu[c], guest, copy,
				how == COPY_SHORT ? XST_EXT_OFFSET : sizeof(copy), NULL);
	if ((err != XST_OK) != is_bad(m, g, how, &layout))
		breaks(m, CHECK_WORLD, "a good copy is refused, or a bad one is not");
	if (err) {
		if (!is_whole(m, t))
			breaks(m, CHECK_I1, "a copy that was refused changed the guest");
		return;
	}
	for (k = 0; k < COMPS; k++)
		if (in_copies(m, g, k) && !(k == C_PKRU && how == COPY_EMPTY))
			m->want[t][k] = how == COPY_EMPTY || (guest->xfd & XST_MASK(comp_id[k]))
						? TOKEN_INIT
						: TOKEN_NEW;
	forget(m, t);
}

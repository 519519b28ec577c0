// SPDX-License-Identifier: BSD-2-Clause
/* Events of signal frames and of tiles: what a kernel does with state besides switching. */
#include <xst/uabi.h>

#include "steps.h"

/* What frames are made of: the image that user space knows, with all that the task may have. */
static uint8_t outside[4096] __attribute__((aligned(64)));

static uint8_t *outside_byte(const struct xst_layout *layout, unsigned k)
{
	return k == C_X87 ? outside + 32 : outside + layout->offset[comp_id[k]];
}

/* Is component @k one that frames hold? */
static bool in_frames(const struct machine *m, unsigned k)
{
	return machine_owns(m, 0, k) && k != C_CET;
}

static bool uabi_of(struct machine *m, unsigned t, struct xst_uabi *uabi, struct xst_layout *layout)
{
	*uabi = (struct xst_uabi){.sys = &m->sys, .ctx = &m->task[t]};
	memset(layout, 0, sizeof(*layout));
	return xst_uabi_layout(&m->sys, m->sys.xcr0, layout, NULL) == XST_OK &&
	       layout->bytes <= sizeof(outside);
}

/* The task goes on with fresh registers: a handler begins, or a frame was refused. */
static void give_fresh(struct machine *m, unsigned c, unsigned t)
{
	struct xst_uabi uabi;
	struct xst_layout layout;
	const struct xst_image fresh = {outside, sizeof(outside), &layout};
	const uint8_t cet = m->want[t][C_CET];

	if (!uabi_of(m, t, &uabi, &layout) ||
	    xst_image_fresh(&fresh, m->sys.caps.mxcsr_mask, NULL) ||
	    xst_uabi_set(&uabi, &fresh, XST_UABI_MXCSR_ALWAYS, NULL))
		breaks(m, CHECK_WORLD, "a fresh state is refused");
	xst_ctx_changed(&m->cpu[c], &m->task[t]);
	set_all(m, t, TOKEN_INIT);
	m->want[t][C_CET] = cet;
	forget(m, t);
}

bool can_signal(const struct machine *m, unsigned c, unsigned a)
{
	const unsigned t = cur(m, c);

	(void)a;
	return m->cfg->signals && m->sys.insn >= XST_INSN_FXSAVE && t != NONE &&
	       can_read(m, c, t) && !m->has_frame[t];
}

void run_signal(struct machine *m, unsigned c, unsigned a)
{
	const unsigned t = cur(m, c);
	struct xst_uabi uabi;
	struct xst_layout layout;
	const struct xst_image to = {outside, sizeof(outside), &layout};
	unsigned k;

	(void)a;
	xst_ctx_flush(&m->cpu[c], &m->task[t]);
	m->mode[c] = KERNEL;
	if (!uabi_of(m, t, &uabi, &layout) || xst_uabi_get(&uabi, &to, NULL)) {
		breaks(m, CHECK_WORLD, "a frame cannot be written");
		return;
	}
	for (k = 0; k < COMPS; k++) {
		m->frame[t][k] = in_frames(m, k) ? *outside_byte(&layout, k) : TOKEN_INIT;
		if (in_frames(m, k) && m->frame[t][k] != m->want[t][k])
			breaks(m, CHECK_I1, "the frame that is written is not the task's state");
	}
	m->has_frame[t] = true;
	give_fresh(m, c, t);
}

bool can_sigreturn(const struct machine *m, unsigned c, unsigned a)
{
	const unsigned t = cur(m, c);

	(void)a;
	return is_free(m, c) && t != NONE && m->has_frame[t] && m->task[t].area;
}

/* Back from a handler. A frame may be harmed, or name tiles that this task has no room for: then
 * nothing of it counts. */
static void take_frame(struct machine *m, unsigned c, bool harmed)
{
	const unsigned t = cur(m, c);
	const bool no_room = m->frame[t][C_TILE] && !m->task[t].dynamic;
	struct xst_uabi uabi;
	struct xst_layout layout;
	const struct xst_image from = {outside, sizeof(outside), &layout};
	uint64_t *words = (uint64_t *)(void *)(outside + XST_HEADER_OFFSET);
	unsigned k;
	int err = XST_OK;

	xst_ctx_flush(&m->cpu[c], &m->task[t]);
	m->mode[c] = KERNEL;
	m->has_frame[t] = false;
	if (!uabi_of(m, t, &uabi, &layout) ||
	    xst_image_fresh(&from, m->sys.caps.mxcsr_mask, NULL)) {
		breaks(m, CHECK_WORLD, "there are no frames here");
		return;
	}
	for (k = 0; k < COMPS; k++) {
		if (!in_frames(m, k) || !m->frame[t][k])
			continue;
		*outside_byte(&layout, k) = m->frame[t][k];
		words[0] |= XST_MASK(comp_id[k]);
	}
	words[1] = harmed; /* XCOMP_BV */
	err = xst_uabi_set(&uabi, &from, XST_UABI_MXCSR_ALWAYS, NULL);
	if ((err != XST_OK) != (harmed || no_room))
		breaks(m, CHECK_WORLD, "a good frame is refused, or a bad one is not");
	if (err) {
		if (!spoiled(m, t) && !is_whole(m, t))
			breaks(m, CHECK_I1, "a frame that was refused changed the task");
		give_fresh(m, c, t);
		return;
	}
	xst_ctx_changed(&m->cpu[c], &m->task[t]);
	for (k = 0; k < COMPS; k++)
		if (in_frames(m, k))
			m->want[t][k] = m->frame[t][k];
	forget(m, t);
}

void run_sigreturn(struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	take_frame(m, c, false);
}

void run_badframe(struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	take_frame(m, c, true);
}

bool can_permit(const struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	return machine_has(m, C_TILE) && is_free(m, c) && cur(m, c) < TASKS && !may_tile(m, cur(m, c));
}

void run_permit(struct machine *m, unsigned c, unsigned a)
{
	struct xst_perm *perm = &m->perm[cur(m, c)];
	const uint64_t had = perm->host;

	(void)a;
	m->mode[c] = KERNEL;
	if (xst_perm_request(&m->sys, perm, XST_PERM_HOST, XST_COMP_TILEDATA, NULL, NULL) ||
	    perm->host != (had | XST_MASK_TILEDATA))
		breaks(m, CHECK_PERM, "a request does not add what it asks for, and that only");
}

bool can_grow(const struct machine *m, unsigned c, unsigned t)
{
	return machine_has(m, C_TILE) && can_read(m, c, t) && may_tile(m, t) && !m->task[t].dynamic;
}

/* Room before the first use, wherever the task's registers are. */
void run_grow(struct machine *m, unsigned c, unsigned t)
{
	m->mode[c] = KERNEL;
	trap_xfd(m, c, t);
}

bool can_idle(const struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	return machine_has(m, C_TILE) && is_free(m, c) && !m->cpu[c].cur;
}

void run_idle(struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	/* Where XINUSE cannot be read, they count as in use. */
	if ((m->cpu[c].mask & XST_MASK_TILEDATA) &&
	    (!m->sys.xgetbv1 || (m->hw[c].xinuse & XST_MASK_AMX)))
		m->in_place[c] = NONE;
	xst_cpu_idle(&m->cpu[c]);
	if (*machine_reg(m, c, C_TILE) != TOKEN_INIT)
		breaks(m, CHECK_WORLD, "tiles are in use while the CPU sleeps");
}

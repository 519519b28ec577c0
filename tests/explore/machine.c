// SPDX-License-Identifier: BSD-2-Clause
/* Two CPUs, three tasks and their guests: brought up, and where everything lies. */
#include "machine.h"

const uint8_t comp_id[COMPS] = {XST_COMP_X87, XST_COMP_SSE, XST_COMP_AVX,
				XST_COMP_TILEDATA, XST_COMP_CET_U, XST_COMP_PKRU, XST_COMP_CET_S};
const char *const comp_name[COMPS] = {"x87", "sse", "avx", "tile", "cet", "pkru", "cets"};

enum explore_twin explore_twin;

/* xst_switch() and its kin find the machine they fetch on here. */
static struct machine *the_machine;

void mdl_fetch(struct xst_cpu *cpu, uint32_t home, struct xst_ctx *ctx)
{
	struct machine *m = the_machine;

	(void)ctx;
	if (home >= CPUS || home == cpu->id || m->mode[home] == OFFLINE) {
		m->broken = CHECK_WORLD;
		m->how = "registers are fetched from a CPU that cannot have them";
		return;
	}
	xst_cpu_evict(&m->cpu[home]);
}

uint8_t machine_image(struct machine *m, unsigned t, unsigned k)
{
	const struct xst_guest *guest = t < TASKS ? NULL : &m->guest[t - TASKS];

	if (k == C_PKRU)
		return (uint8_t)(guest ? guest->pkru : m->task[t].pkru);
	if (guest && machine_swaps(m, k))
		return (uint8_t)(guest->ssp[0] >> 2);
	if (guest && k == C_TILE && !(guest->mask & XST_MASK_TILEDATA))
		return TOKEN_INIT;
	if (guest)
		return m->sys.insn >= XST_INSN_XSAVE &&
				       !(*machine_header(m, t, false) & XST_MASK(comp_id[k]))
			       ? TOKEN_INIT
			       : *machine_byte(m, t, k);
	if (!m->task[t].area || (k == C_TILE && !m->task[t].dynamic))
		return TOKEN_INIT;
	if (m->sys.insn >= XST_INSN_XSAVE && !(*machine_header(m, t, k == C_CET) & XST_MASK(comp_id[k])))
		return TOKEN_INIT;
	return *machine_byte(m, t, k);
}

void machine_set_mxcsr(struct machine *m, unsigned c)
{
	m->hw[c].mxcsr = m->hw[c].regs.SSE[0] ? MXCSR_OTHER : MDL_MXCSR_INIT;
}

static int learn_bits(struct machine *m)
{
	unsigned i;
	int err = XST_OK;

	for (i = 0; i < m->cfg->policies && !err; i++) {
		err = xst_cpu_set_policy(&m->cpu[0], &m->cfg->policy[i], XST_FORCE, NULL);
		m->fixed_bits[i] = m->cpu[0].bits & ~STATE_BITS;
		if (m->cfg->policy[i].preload_after && m->cfg->policy[i].preload_after >= m->most_rows)
			m->most_rows = m->cfg->policy[i].preload_after + 1u;
	}
	return err;
}

static void set_components(struct machine *m)
{
	unsigned k;

	for (k = 0; k < COMPS; k++) {
		const uint64_t mask = XST_MASK(comp_id[k]);

		if ((m->sys.mask | m->sys.dynamic | m->sys.apart | (m->sys.pkru ? XST_MASK_PKRU : 0)) & mask)
			m->task_has |= 1u << k;
		if (m->cfg->guests && ((m->sys.guest.max & mask) || machine_swaps(m, k)))
			m->has |= 1u << k;
		/* Other restores know no XINUSE. */
		if ((m->cfg->comps >> k & 1u) && m->cfg->insn >= XST_INSN_XSAVE)
			m->choices.about |= mask;
	}
	m->has |= m->task_has;
}

void machine_make_guest(struct machine *m, unsigned g, bool tiles)
{
	m->guest[g] = m->made[tiles];
	m->guest[g].ctx.area = m->area[TASKS + g];
}

void machine_bury(struct machine *m, unsigned g)
{
	unsigned k;

	for (k = 0; k < COMPS; k++) {
		m->want[TASKS + g][k] = TOKEN_INIT;
		if (machine_in_image(m, g, k))
			*machine_byte(m, TASKS + g, k) = TOKEN_GARBAGE;
	}
}

bool machine_at_rest(struct machine *m, unsigned g)
{
	unsigned k;

	for (k = 0; k < COMPS; k++)
		if (machine_in_image(m, g, k) && *machine_byte(m, TASKS + g, k) != TOKEN_GARBAGE)
			return false;
	return true;
}

/* Of the control registers all that it may be left. */
static void leave_direct(struct machine *m, struct xst_guest *guest)
{
	uint32_t bit;

	for (bit = XST_DIRECT_XCR0; m->cfg->direct && bit <= XST_DIRECT_SSP; bit <<= 1)
		(void)xst_guest_set_direct(&m->sys, guest, guest->direct | bit, NULL);
}

/* How guests begin; and those of the beginning, whose systems have enabled all that they may. */
static int guests_up(struct machine *m)
{
	struct xst_perm perm;
	unsigned g;
	int err;

	xst_perm_init(&m->sys, &perm);
	err = xst_guest_init(&m->sys, &perm, &m->made[0], m->area[TASKS], sizeof(m->area[0]), NULL);
	if (!err && m->sys.dynamic)
		err = xst_perm_request(&m->sys, &m->perm[0], XST_PERM_GUEST, XST_COMP_TILEDATA,
				       NULL, NULL);
	if (!err)
		err = xst_guest_init(&m->sys, &m->perm[0], &m->made[1], m->area[TASKS],
				     sizeof(m->area[0]), NULL);
	for (g = 0; g < 2; g++)
		leave_direct(m, &m->made[g]);
	for (g = 0; g < m->cfg->guests && !err; g++) {
		struct xst_guest *guest = &m->guest[g];

		err = xst_guest_init(&m->sys, &m->perm[0], guest, m->area[TASKS + g],
				     sizeof(m->area[0]), NULL);
		guest->direct = m->made[1].direct;
		if (!err && m->sys.insn >= XST_INSN_XSAVE)
			err = xst_guest_set_xcr0(&m->cpu[0], guest, guest->mask & XST_MASK_USER, NULL);
		if (!err)
			err = xst_guest_set_xss(guest, guest->mask & XST_MASK_SUPER, NULL);
		m->alive[TASKS + g] = true;
	}
	return err;
}

int machine_up(struct machine *m, const struct config *cfg)
{
	uint64_t xcr0 = 0, xss;
	unsigned c, t;
	int err;

	memset(m, 0, sizeof(*m));
	the_machine = m;
	m->cfg = cfg;
	m->ctxs = TASKS + cfg->guests;
	for (t = 0; t < CTXS; t++)
		m->ctx[t] = t < TASKS ? &m->task[t] : &m->guest[t - TASKS].ctx;
	for (t = 0; t < COMPS; t++)
		if (cfg->comps >> t & 1u)
			xcr0 |= XST_MASK(comp_id[t]);
	xcr0 |= XST_MASK_LEGACY;
	xss = xcr0 & XST_MASK_SUPER;
	xcr0 &= ~xss;
	if (xcr0 & XST_MASK_AMX)
		xcr0 |= XST_MASK_AMX;
	/* Guests with CET_S have CET_U, too. */
	mdl_caps_make(&m->caps, xcr0, xss | (xss & XST_MASK_CET_S ? XST_MASK_CET_U : 0), cfg->insn);
	m->caps.cet_ss = xss != 0;
	/* Components are bytes here. AVX is moved, so that bring-up's self-test of whole registers,
	 * which wants it right behind the header, sees that it does not apply. */
	m->caps.comp[XST_COMP_AVX].bytes = xcr0 & XST_MASK_AVX ? 1 : 0;
	m->caps.comp[XST_COMP_AVX].offset = XST_EXT_OFFSET + 4;
	if (xcr0 & XST_MASK_AMX) {
		m->caps.comp[XST_COMP_TILECFG].bytes = m->caps.comp[XST_COMP_TILEDATA].bytes = 1;
		m->caps.comp[XST_COMP_TILECFG].offset = XST_EXT_OFFSET + 64;
		m->caps.comp[XST_COMP_TILEDATA].offset = XST_EXT_OFFSET + 128;
	}
	for (c = 0; c < CPUS; c++) {
		mdl_reset(&m->hw[c], &m->caps);
		m->hw[c].choices = &m->choices;
	}
	mdl_current = &m->hw[0];
	err = xst_system_init(&m->sys, XST_WANT_ALL_USER | xss);
	m->sys.init_pkru = TOKEN_INIT;
	for (c = 0; c < CPUS && !err; c++) {
		m->cpu[c].world = &m->hw[c];
		err = xst_cpu_init(&m->sys, &m->cpu[c], c);
		if (!err && !c)
			err = learn_bits(m);
		if (!err)
			err = xst_cpu_set_policy(&m->cpu[c], &cfg->policy[0], XST_FORCE, NULL);
		m->cpu[c].n = (struct xst_counters){0};
		m->in_place[c] = NONE;
	}
	for (t = 0; t < TASKS && !err; t++) {
		err = xst_ctx_init(&m->sys, &m->task[t], m->area[t], sizeof(m->area[t]));
		m->alive[t] = true;
		xst_perm_init(&m->sys, &m->perm[t]);
	}
	set_components(m);
	return err || !cfg->guests ? err : guests_up(m);
}

void machine_sleep(struct machine *m, unsigned c)
{
	struct mdl_cpu *hw = &m->hw[c];
	unsigned k;

	for (k = 0; k < COMPS; k++)
		*machine_reg(m, c, k) = TOKEN_GARBAGE;
	hw->xinuse = 0;
	hw->xmodified = ~0ULL;
	hw->info.area = 0;
	m->cpu[c].owner = NULL;
	m->in_place[c] = NONE;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * The events. Each runs the engine's function as a kernel would, on CPU @c, and says what every
 * register of the tasks concerned ought to hold from now on.
 */
#include "steps.h"

void breaks(struct machine *m, enum check check, const char *how)
{
	if (m->cfg->disabled >> check & 1u) {
		m->tainted = true;
	} else if (!m->broken) {
		m->broken = check;
		m->how = how;
	}
}

/* Whose thread that is: a task's, or the guest itself where a thread of the kernel runs it. */
unsigned thread(const struct machine *m, unsigned c)
{
	const unsigned t = cur(m, c);

	return t < TASKS || t == NONE || !m->guest[t - TASKS].user
		       ? t
		       : machine_task(m, m->guest[t - TASKS].user);
}

/* What runs when thread @t does: while a guest is loaded, that. */
static unsigned turned_to(const struct machine *m, unsigned t)
{
	unsigned g;

	for (g = 0; g < m->cfg->guests && t < TASKS; g++)
		if (m->alive[TASKS + g] && m->guest[g].loaded && m->guest[g].user == &m->task[t])
			return TASKS + g;
	return t;
}

bool runs_nowhere(const struct machine *m, unsigned t)
{
	return cur(m, 0) != t && cur(m, 1) != t;
}

/* Neither off nor in a section, which nothing may interrupt but an interrupt. */
bool is_free(const struct machine *m, unsigned c)
{
	return m->mode[c] == KERNEL || m->mode[c] == USER;
}

/* Is @t a task that code on CPU @c may work on? A thread that has turned to a guest is busy. */
static bool reachable(const struct machine *m, unsigned c, unsigned t)
{
	return is_free(m, c) && m->alive[t] && (cur(m, c) == t || runs_nowhere(m, t)) &&
	       turned_to(m, t) == t;
}

static uint64_t *header(const struct machine *m, unsigned t)
{
	return (uint64_t *)(uintptr_t)(m->area[t] + XST_HEADER_OFFSET);
}

bool spoiled(const struct machine *m, unsigned t)
{
	return m->sys.insn >= XST_INSN_XSAVE && m->alive[t] && m->task[t].area && header(m, t)[2];
}

void set_all(struct machine *m, unsigned t, uint8_t token)
{
	memset(m->want[t], token, COMPS);
}

/* No CPU's registers are a copy of @t's image any more. */
void forget(struct machine *m, unsigned t)
{
	unsigned c;

	for (c = 0; c < CPUS; c++)
		if (m->in_place[c] == t)
			m->in_place[c] = NONE;
}

/* Switch and migrate: the same to the engine, counted apart. */
static bool elsewhere(const struct machine *m, unsigned c, unsigned t)
{
	return t != NONE && (m->ctx[t]->last_cpu == 1 - c || m->ctx[t]->home == 1 - c);
}

/* Is there such a thread, and does it run nowhere? */
static bool can_go(const struct machine *m, unsigned c, unsigned t)
{
	if (!is_free(m, c) || thread(m, c) == t)
		return false;
	if (t == NONE)
		return true;
	if (!m->alive[t] || thread(m, 1 - c) == t)
		return false;
	return t < TASKS || (m->guest[t - TASKS].loaded && !m->guest[t - TASKS].user);
}

static bool can_switch(const struct machine *m, unsigned c, unsigned t)
{
	return can_go(m, c, t) && !elsewhere(m, c, turned_to(m, t));
}

static bool can_migrate(const struct machine *m, unsigned c, unsigned t)
{
	return can_go(m, c, t) && elsewhere(m, c, turned_to(m, t));
}

/* The engine went from one context to @t's: a switch, or a thread turned to a guest or back. */
void switched(struct machine *m, unsigned c, unsigned t)
{
	struct xst_cpu *cpu = &m->cpu[c];

	m->mode[c] = KERNEL;
	if (cpu->policy.load == XST_LOAD_RETURN && (cpu->n.loads || cpu->n.validations))
		breaks(m, CHECK_P_DEFERRED, "the switch itself loads");
	if (t == NONE || cpu->policy.load != XST_LOAD_FIRST_USE)
		return;
	if (!cpu->n.validations)
		m->blind_row[t] = 0;
	else if (++m->blind_row[t] > XST_BLIND_MAX)
		breaks(m, CHECK_P_PRELOAD, "no probe after so many slots");
}

static void run_switch(struct machine *m, unsigned c, unsigned a)
{
	struct xst_cpu *cpu = &m->cpu[c];
	const unsigned t = turned_to(m, a);

	xst_switch(cpu, cpu->cur, t == NONE ? NULL : m->ctx[t]);
	switched(m, c, t);
}

static bool can_return(const struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	return m->mode[c] == KERNEL && cur(m, c) < TASKS;
}

static void run_return(struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	xst_return_to_user(&m->cpu[c]);
	m->mode[c] = USER;
}

/* Would an access fault? Nothing but a look: IA32_XFD_ERR stays as it is. */
static int access_vector(const struct machine *m, unsigned c, unsigned k)
{
	struct mdl_cpu *hw = (struct mdl_cpu *)(uintptr_t)&m->hw[c];
	const uint64_t xfd_err = hw->xfd_err;
	const int vector = mdl_access(hw, comp_id[k], k >= C_AVX);

	hw->xfd_err = xfd_err;
	return vector;
}

bool may_tile(const struct machine *m, unsigned t)
{
	return m->perm[t].host & XST_MASK_TILEDATA;
}

/* Under TS every guarded component traps alike: one of them will do. */
static bool can_use(const struct machine *m, unsigned c, unsigned k)
{
	if (m->mode[c] != USER || !(m->cfg->comps >> k & 1u) || !machine_owns(m, cur(m, c), k))
		return false;
	return !access_vector(m, c, k) || !(m->hw[c].cr0 & MDL_CR0_TS) ||
	       !(m->cfg->comps & ((1u << k) - 1));
}

/* #NM because of IA32_XFD: the task gets room if it may, else the kernel would send it SIGILL. */
void trap_xfd(struct machine *m, unsigned c, unsigned t)
{
	const int err = xst_ctx_grow(&m->cpu[c], &m->task[t], &m->perm[t], m->area[t],
				     sizeof(m->area[t]), NULL);

	if (err != (may_tile(m, t) ? XST_OK : XST_ERR_DENIED))
		breaks(m, CHECK_PERM, "room is given or refused against the permission");
	if (err)
		return;
	/* The caller's memory may hold anything. */
	*machine_byte(m, t, C_TILE) = TOKEN_GARBAGE;
	forget(m, t);
}

static void trap(struct machine *m, unsigned c)
{
	struct xst_cpu *cpu = &m->cpu[c];
	struct xst_ctx *ctx = cpu->cur;
	const bool empty = !ctx->area;
	int err = xst_device_not_available(cpu);

	m->mode[c] = KERNEL;
	if (err == XST_ERR_DYNAMIC) {
		trap_xfd(m, c, machine_task(m, ctx));
		return;
	}
	if (err == XST_ERR_NEED_BYTES && empty)
		err = xst_ctx_attach(cpu, ctx, m->area[machine_task(m, ctx)], sizeof(m->area[0]));
	if (err)
		breaks(m, CHECK_P_TRAP, "the engine does not know the trap");
	else if (m->hw[c].cr0 & MDL_CR0_TS)
		breaks(m, CHECK_P_TRAP, "the instruction would trap again");
	m->blind_row[machine_task(m, ctx)] = 0;
}

static void run_use(struct machine *m, unsigned c, unsigned k)
{
	const unsigned t = cur(m, c);

	if (mdl_access(&m->hw[c], comp_id[k], k >= C_AVX)) {
		trap(m, c);
		return;
	}
	*machine_reg(m, c, k) = TOKEN_NEW;
	mdl_wrote(&m->hw[c], comp_id[k]);
	m->want[t][k] = TOKEN_NEW;
}

static bool can_clear(const struct machine *m, unsigned c, unsigned k)
{
	return can_use(m, c, k) && !access_vector(m, c, k) &&
	       (m->want[cur(m, c)][k] || (m->hw[c].xinuse & XST_MASK(comp_id[k]) && k != C_PKRU));
}

static void run_clear(struct machine *m, unsigned c, unsigned k)
{
	mdl_init(&m->hw[c], comp_id[k]);
	m->want[cur(m, c)][k] = TOKEN_INIT;
}

bool can_read(const struct machine *m, unsigned c, unsigned t)
{
	return reachable(m, c, t) && m->task[t].area && !spoiled(m, t);
}

/* Is all that @t's images say its own? Its area is current. */
bool is_whole(struct machine *m, unsigned t)
{
	unsigned k;

	for (k = 0; k < COMPS; k++)
		if (machine_owns(m, t, k) && machine_image(m, t, k) != m->want[t][k])
			return false;
	return true;
}

static void run_read(struct machine *m, unsigned c, unsigned t)
{
	xst_ctx_flush(&m->cpu[c], &m->task[t]);
	m->mode[c] = KERNEL;
	if (!is_whole(m, t))
		breaks(m, CHECK_I1, "the image that is read is not the task's state");
}

static bool can_edit(const struct machine *m, unsigned c, unsigned a)
{
	const unsigned t = a / COMPS, k = a % COMPS;

	return can_read(m, c, t) && (m->cfg->comps >> k & 1u) && machine_owns(m, t, k) &&
	       (k != C_TILE || m->task[t].dynamic);
}

static uint8_t *image_of(struct machine *m, unsigned t, unsigned k)
{
	return k == C_CET ? xst_ctx_apart(&m->sys, &m->task[t]) : m->area[t];
}

static void run_edit(struct machine *m, unsigned c, unsigned a)
{
	const unsigned t = a / COMPS, k = a % COMPS;
	uint8_t *bv = image_of(m, t, k) + XST_HEADER_OFFSET;

	xst_ctx_flush(&m->cpu[c], &m->task[t]);
	if (k == C_PKRU) {
		m->task[t].pkru = TOKEN_NEW;
	} else {
		*machine_byte(m, t, k) = TOKEN_NEW;
		if (m->sys.insn >= XST_INSN_XSAVE)
			bv[comp_id[k] / 8] = (uint8_t)(bv[comp_id[k] / 8] | 1u << comp_id[k] % 8);
	}
	xst_ctx_changed(&m->cpu[c], &m->task[t]);
	m->mode[c] = KERNEL;
	m->want[t][k] = TOKEN_NEW;
	forget(m, t);
}

static bool can_wipe(const struct machine *m, unsigned c, unsigned a)
{
	return m->cfg->signals && m->sys.insn >= XST_INSN_XSAVE && can_edit(m, c, a) &&
	       m->want[a / COMPS][a % COMPS];
}

/* XSTATE_BV does not name the component: it is INIT, whatever lies there, and PKRU is 0. */
static void run_wipe(struct machine *m, unsigned c, unsigned a)
{
	const unsigned t = a / COMPS, k = a % COMPS;
	uint8_t *bv = image_of(m, t, k) + XST_HEADER_OFFSET + comp_id[k] / 8;

	xst_ctx_flush(&m->cpu[c], &m->task[t]);
	if (k == C_PKRU)
		m->task[t].pkru = 0;
	else
		*bv = (uint8_t)(*bv & ~(1u << comp_id[k] % 8));
	xst_ctx_changed(&m->cpu[c], &m->task[t]);
	m->mode[c] = KERNEL;
	m->want[t][k] = TOKEN_INIT;
	forget(m, t);
}

static bool can_spoil(const struct machine *m, unsigned c, unsigned t)
{
	return m->cfg->spoil && m->sys.insn >= XST_INSN_XSAVE && can_read(m, c, t);
}

/* A reserved header byte is set: the restore will refuse it, and the task gets fresh registers. */
static void run_spoil(struct machine *m, unsigned c, unsigned t)
{
	xst_ctx_flush(&m->cpu[c], &m->task[t]);
	header(m, t)[2] = 1;
	xst_ctx_changed(&m->cpu[c], &m->task[t]);
	m->mode[c] = KERNEL;
	memset(m->want[t], TOKEN_INIT, GUARDED);
	forget(m, t);
}

static bool can_fork(const struct machine *m, unsigned c, unsigned child)
{
	return is_free(m, c) && cur(m, c) < TASKS && !m->alive[child];
}

static void begin(struct machine *m, unsigned t, bool empty)
{
	const int err = empty ? xst_ctx_init(&m->sys, &m->task[t], NULL, 0)
			      : xst_ctx_init(&m->sys, &m->task[t], m->area[t], sizeof(m->area[t]));

	if (err)
		breaks(m, CHECK_WORLD, "a task cannot begin");
	m->alive[t] = true;
	m->blind_row[t] = 0;
	xst_perm_init(&m->sys, &m->perm[t]);
	m->has_frame[t] = false;
	set_all(m, t, TOKEN_INIT);
}

static void run_fork(struct machine *m, unsigned c, unsigned child)
{
	struct xst_ctx *parent = m->cpu[c].cur;

	begin(m, child, !parent->area);
	xst_ctx_fork(&m->cpu[c], parent, &m->task[child]);
	m->mode[c] = KERNEL;
	memcpy(m->want[child], m->want[machine_task(m, parent)], COMPS);
	m->want[child][C_TILE] = TOKEN_INIT;
	m->perm[child] = m->perm[machine_task(m, parent)];
	/* Its memory is a copy, too. */
	m->has_frame[child] = m->has_frame[machine_task(m, parent)];
	memcpy(m->frame[child], m->frame[machine_task(m, parent)], COMPS);
	if (m->cpu[c].n.saves > 1 || m->cpu[c].n.loads)
		breaks(m, CHECK_I3, "a fork saves at most once and loads nothing");
}

/* No CPU takes part: let it be the first one's event. */
static bool can_new(const struct machine *m, unsigned c, unsigned a)
{
	return !c && !m->alive[a % TASKS] && (a < TASKS || (m->cfg->empty && !m->sys.apart));
}

static void run_new(struct machine *m, unsigned c, unsigned a)
{
	(void)c;
	begin(m, a % TASKS, a >= TASKS);
}

static bool can_exec(const struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	return is_free(m, c) && cur(m, c) < TASKS;
}

static void run_exec(struct machine *m, unsigned c, unsigned a)
{
	const unsigned t = cur(m, c);

	(void)a;
	xst_perm_init(&m->sys, &m->perm[t]);
	m->has_frame[t] = false;
	m->blind_row[t] = 0; /* another programme: what is known of its slots begins anew */
	xst_ctx_exec(&m->cpu[c], m->cpu[c].cur);
	m->mode[c] = KERNEL;
	set_all(m, t, TOKEN_INIT);
	forget(m, t);
}

static bool can_exit(const struct machine *m, unsigned c, unsigned t)
{
	return reachable(m, c, t);
}

static void run_exit(struct machine *m, unsigned c, unsigned t)
{
	xst_ctx_exit(&m->cpu[c], &m->task[t]);
	m->mode[c] = KERNEL;
	m->alive[t] = false;
	m->has_frame[t] = false;
	set_all(m, t, TOKEN_INIT);
	forget(m, t);
}

/* The slot that runs is cut short, and counts for nothing: a change of policy, a suspend. */
static void drop_slot(struct machine *m, unsigned c)
{
	if (m->cpu[c].cur)
		m->blind_row[cur(m, c)] = 0;
}

static bool can_knob(const struct machine *m, unsigned c, unsigned p)
{
	return m->cfg->knob && m->mode[c] != OFFLINE && p < m->cfg->policies && p != m->policy[c];
}

static void run_knob(struct machine *m, unsigned c, unsigned p)
{
	if (xst_cpu_set_policy(&m->cpu[c], &m->cfg->policy[p], XST_FORCE, NULL))
		breaks(m, CHECK_WORLD, "a policy is refused");
	m->policy[c] = (uint8_t)p;
	if (m->mode[c] != SECTION)
		m->mode[c] = KERNEL;
	drop_slot(m, c);
}

static bool can_settle(const struct machine *m, unsigned c, unsigned t)
{
	return is_free(m, c) && m->alive[t] && runs_nowhere(m, t) &&
	       xst_ctx_home(m->ctx[t]) != XST_NO_CPU;
}

static void run_settle(struct machine *m, unsigned c, unsigned t)
{
	xst_ctx_migrate(&m->cpu[c], m->ctx[t]);
	if (xst_ctx_home(m->ctx[t]) != XST_NO_CPU)
		breaks(m, CHECK_I1, "marked for migration, but its registers are still elsewhere");
}

static bool can_offline(const struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	return is_free(m, c);
}

static void run_offline(struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	xst_cpu_offline(&m->cpu[c]);
	m->mode[c] = OFFLINE;
	drop_slot(m, c);
	machine_sleep(m, c);
}

static bool can_online(const struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	return m->mode[c] == OFFLINE;
}

/* Reset leaves anything in the registers. */
static void run_online(struct machine *m, unsigned c, unsigned a)
{
	unsigned k;

	(void)a;
	mdl_reset(&m->hw[c], &m->caps);
	m->hw[c].choices = &m->choices;
	for (k = 0; k < COMPS; k++)
		*machine_reg(m, c, k) = TOKEN_GARBAGE;
	m->hw[c].xinuse = ~0ULL;
	/* And in IA32_XFD the contrary of what it was. */
	m->hw[c].xfd = m->sys.dynamic & m->cpu[c].mask;
	m->hw[c].cr0 = MDL_CR0_TS | MDL_CR0_EM;
	if (xst_cpu_online(&m->cpu[c], NULL))
		breaks(m, CHECK_WORLD, "a CPU does not come back");
	m->mode[c] = KERNEL;
}

/* clang-format off */
const struct event events[] = {
	{"switch",  ARG_TASK,      CTXS + 1,      can_switch,  run_switch,  "another task, or none"},
	{"migrate", ARG_TASK,      CTXS,          can_migrate, run_switch,  "the same, of a task that ran on the other CPU"},
	{"return",  ARG_NONE,      1,             can_return,  run_return,  "to user mode"},
	{"use",     ARG_COMP,      COMPS,         can_use,     run_use,     "the task writes a register, or #NM"},
	{"clear",   ARG_COMP,      COMPS,         can_clear,   run_clear,   "the task makes a component INIT"},
	{"read",    ARG_TASK,      TASKS,         can_read,    run_read,    "ptrace, core dump: look at the image"},
	{"edit",    ARG_TASK_COMP, TASKS * COMPS, can_edit,    run_edit,    "ptrace: change the image"},
	{"wipe",    ARG_TASK_COMP, TASKS * COMPS, can_wipe,    run_wipe,    "ptrace: a component that XSTATE_BV does not name"},
	{"spoil",   ARG_TASK,      TASKS,         can_spoil,   run_spoil,   "make an image that a restore refuses"},
	{"fork",    ARG_TASK,      TASKS,         can_fork,    run_fork,    "the running task gets a child"},
	{"new",     ARG_TASK,      2 * TASKS,     can_new,     run_new,     "a fresh task, with an area or without"},
	{"exec",    ARG_NONE,      1,             can_exec,    run_exec,    "the running task begins a programme"},
	{"exit",    ARG_TASK,      TASKS,         can_exit,    run_exit,    "a task ends, its memory is reused"},
	{"knob",    ARG_POLICY,    MAX_POLICIES,  can_knob,    run_knob,    "another policy on this CPU"},
	{"settle",  ARG_TASK,      CTXS,          can_settle,  run_settle,  "a task is marked for migration"},
	{"offline", ARG_NONE,      1,             can_offline, run_offline, "the CPU goes down or to sleep"},
	{"online",  ARG_NONE,      1,             can_online,  run_online,  "it comes back, its registers lost"},
	{"signal",  ARG_NONE,      1,             can_signal,  run_signal,  "a frame is written, the handler begins"},
	{"sigreturn", ARG_NONE,    1,             can_sigreturn, run_sigreturn, "the frame is taken back"},
	{"badframe", ARG_NONE,     1,             can_sigreturn, run_badframe, "the same, and it is refused"},
	{"permit",  ARG_NONE,      1,             can_permit,  run_permit,  "the running task asks for tiles"},
	{"grow",    ARG_TASK,      TASKS,         can_grow,    run_grow,    "a task gets room for them"},
	{"idle",    ARG_NONE,      1,             can_idle,    run_idle,    "a CPU without a task releases them"},
	{"begin",   ARG_NEED,      4,             can_begin,   run_begin,   "the kernel begins a section"},
	{"end",     ARG_NONE,      1,             can_end,     run_end,     "and ends it"},
	{"irq",     ARG_NEED,      4,             can_irq,     run_irq,     "an interrupt has a section of its own"},
	{"vcpu",    ARG_GUEST,     GUESTS,        can_vcpu,    run_vcpu,    "the running task makes a virtual CPU"},
	{"destroy", ARG_GUEST,     GUESTS,        can_destroy, run_destroy, "it ends, its memory is reused"},
	{"load",    ARG_GUEST,     GUESTS,        can_load,    run_load,    "the running thread turns to a virtual CPU"},
	{"put",     ARG_GUEST_NONE, 1,            can_put,     run_put,     "and back to itself"},
	{"run",     ARG_DEED,      DEEDS,         can_run,     run_run,     "enter, something the guest does, exit"},
	{"control", ARG_CONTROL,   GUESTS * CONTROLS, can_control, run_control, "a write of XCR0, IA32_XSS or XFD, judged"},
	{"cet",     ARG_GUEST_HOW, GUESTS * 2,    can_cet,     run_cet,     "shadow-stack registers are read and written"},
	{"reset",   ARG_GUEST_HOW, GUESTS * 2,    can_reset,   run_reset,   "#RESET, #INIT"},
	{"copyout", ARG_GUEST,     GUESTS,        can_copy,    run_copyout, "KVM_GET_XSAVE2"},
	{"copyin",  ARG_GUEST_HOW, GUESTS * 4,    can_copyin,  run_copyin,  "KVM_SET_XSAVE: accepted and refused"},
	{"gpermit", ARG_GUEST_NONE, 1,            can_gpermit, run_gpermit, "the running task asks for tiles in guests"},
};
/* clang-format on */
const unsigned event_count = sizeof(events) / sizeof(events[0]);
_Static_assert(sizeof(events) / sizeof(events[0]) <= MAX_EVENTS, "more events than counters");

unsigned event_row(const char *name)
{
	unsigned e;

	for (e = 0; e < event_count && strcmp(events[e].name, name); e++)
		;
	return e;
}

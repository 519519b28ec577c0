/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of events share: questions about a machine, and what every event may have to say. */
#ifndef EXPLORE_STEPS_H
#define EXPLORE_STEPS_H

#include "events.h"

/* @how a check is violated; not said twice, nor when it is not made. */
void breaks(struct machine *m, enum check check, const char *how);
static inline unsigned cur(const struct machine *m, unsigned c)
{
	return machine_task(m, m->cpu[c].cur);
}
unsigned thread(const struct machine *m, unsigned c);
bool runs_nowhere(const struct machine *m, unsigned t);
void switched(struct machine *m, unsigned c, unsigned t);
bool is_free(const struct machine *m, unsigned c);
bool spoiled(const struct machine *m, unsigned t);
void set_all(struct machine *m, unsigned t, uint8_t token);
void forget(struct machine *m, unsigned t);
bool may_tile(const struct machine *m, unsigned t);
void trap_xfd(struct machine *m, unsigned c, unsigned t);
bool can_read(const struct machine *m, unsigned c, unsigned t);
bool is_whole(struct machine *m, unsigned t);

/* Events of frames.c, for the table. */
bool can_signal(const struct machine *m, unsigned c, unsigned a);
void run_signal(struct machine *m, unsigned c, unsigned a);
bool can_sigreturn(const struct machine *m, unsigned c, unsigned a);
void run_sigreturn(struct machine *m, unsigned c, unsigned a);
void run_badframe(struct machine *m, unsigned c, unsigned a);
bool can_permit(const struct machine *m, unsigned c, unsigned a);
void run_permit(struct machine *m, unsigned c, unsigned a);
bool can_grow(const struct machine *m, unsigned c, unsigned t);
void run_grow(struct machine *m, unsigned c, unsigned t);
bool can_idle(const struct machine *m, unsigned c, unsigned a);
void run_idle(struct machine *m, unsigned c, unsigned a);

/* Events of sections.c, for the table. */
bool can_begin(const struct machine *m, unsigned c, unsigned need);
void run_begin(struct machine *m, unsigned c, unsigned need);
bool can_end(const struct machine *m, unsigned c, unsigned a);
void run_end(struct machine *m, unsigned c, unsigned a);
bool can_irq(const struct machine *m, unsigned c, unsigned need);
void run_irq(struct machine *m, unsigned c, unsigned need);

/* What a guest does between enter and exit. */
enum deed {
	DEED_NOTHING,
	DEED_RESTORE, /* an XRSTOR of its own, from where the host has its image */
	DEED_XFD_ERR, /* without an exit, as the next ones: 0 */
	DEED_XFD,     /* none, or tiles */
	DEED_XSS = DEED_XFD + 2,  /* none, or all it may have */
	DEED_XCR0 = DEED_XSS + 2, /* x87; and SSE; all it may have */
	DEED_WRITE = DEED_XCR0 + 3,
	DEED_CLEAR = DEED_WRITE + COMPS,
	DEEDS = DEED_CLEAR + COMPS
};

/* What is written to its control registers by who is asked before. */
enum control {
	CONTROL_XCR0, /* and IA32_XSS, XFD: as above */
	CONTROL_XSS = CONTROL_XCR0 + 3,
	CONTROL_XFD = CONTROL_XSS + 2,
	CONTROL_XFD_ERR = CONTROL_XFD + 2,
	CONTROL_ODD, /* what it may not have */
	CONTROLS
};

/* How a reset, a write of CET registers or a copy is meant. */
enum { RESET_ALL, RESET_INIT };
enum { CET_GOOD, CET_ODD };
enum { COPY_ALL, COPY_EMPTY, COPY_ODD, COPY_SHORT };

/* Events of guests.c and guest_state.c, for the table. */
bool can_vcpu(const struct machine *m, unsigned c, unsigned g);
void run_vcpu(struct machine *m, unsigned c, unsigned g);
bool can_destroy(const struct machine *m, unsigned c, unsigned g);
void run_destroy(struct machine *m, unsigned c, unsigned g);
bool can_load(const struct machine *m, unsigned c, unsigned g);
void run_load(struct machine *m, unsigned c, unsigned g);
bool can_put(const struct machine *m, unsigned c, unsigned a);
void run_put(struct machine *m, unsigned c, unsigned a);
bool can_run(const struct machine *m, unsigned c, unsigned deed);
void run_run(struct machine *m, unsigned c, unsigned deed);
bool can_control(const struct machine *m, unsigned c, unsigned a);
void run_control(struct machine *m, unsigned c, unsigned a);
bool can_cet(const struct machine *m, unsigned c, unsigned a);
void run_cet(struct machine *m, unsigned c, unsigned a);
bool can_reset(const struct machine *m, unsigned c, unsigned a);
void run_reset(struct machine *m, unsigned c, unsigned a);
bool can_copy(const struct machine *m, unsigned c, unsigned g);
void run_copyout(struct machine *m, unsigned c, unsigned g);
bool can_copyin(const struct machine *m, unsigned c, unsigned a);
void run_copyin(struct machine *m, unsigned c, unsigned a);
bool can_gpermit(const struct machine *m, unsigned c, unsigned a);
void run_gpermit(struct machine *m, unsigned c, unsigned a);

/* What such a number stands for in a guest's register. */
uint64_t xcr0_of(const struct xst_guest *guest, unsigned v);
uint64_t xss_of(const struct xst_guest *guest, unsigned v);
uint64_t xfd_of(unsigned v);

#endif

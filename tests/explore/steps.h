/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of events share: questions about a machine, and what every event may have to say. */
#ifndef EXPLORE_STEPS_H
#define EXPLORE_STEPS_H

#include "events.h"

/* @how a check is violated; not said twice, nor when it is not made. */
void breaks(struct machine *m, enum check check, const char *how);
unsigned cur(const struct machine *m, unsigned c);
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

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An experiment, no part of the library: what xst_system_compute() would decide if CET_S were not for
 * guests only. The build compiles system.c a second time for it, with XST_CET_S_IN_TASKS (comp.def) and
 * other names, so it is the library's own arithmetic that is compared, and the engine runs what it
 * gives as it runs any other machine: all that it knows of one is in struct xst_system.
 */
#ifndef EVERY_TASK_H
#define EVERY_TASK_H

#include <xst/system.h>

/**
 * every_task_system_compute() - xst_system_compute() where @want may name CET_S for tasks, as it names
 * CET_U.
 */
int every_task_system_compute(const struct xst_caps *caps, uint64_t want, uint32_t avoid,
			      struct xst_system *sys, struct xst_diag *diag);

#endif

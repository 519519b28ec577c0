/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a task's name tells where a trace is silent: whether it is a kernel thread, and whether it
 * handles SIGCHLD.
 */
#ifndef SIM_PROGRAMS_H
#define SIM_PROGRAMS_H

#include <stdbool.h>

/**
 * program_is_kernel() - is a thread of this name one of the kernel's own?
 */
bool program_is_kernel(const char *name);

/**
 * program_handles_sigchld() - does the program of this name install a handler for SIGCHLD?
 */
bool program_handles_sigchld(const char *name);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals that end a recording: to whom they are passed on, and what is said of them. */
#ifndef RECORD_STOP_H
#define RECORD_STOP_H

#include <signal.h>
#include <sys/types.h>

struct record_stop {
	volatile sig_atomic_t by; /* the signal that asked for an end, or 0 */
	volatile pid_t running;   /* perf, which is told, or 0 */
	sigset_t caught;          /* the signals that ask for it */
};

extern struct record_stop record_stop;

/**
 * record_stop_catch() - from here on a signal ends the recording, and not us: perf and its file would
 * be left behind.
 */
void record_stop_catch(void);

/**
 * record_tell_unstarted() - a signal came before there was anything to end.
 *
 * Return: the exit status.
 */
int record_tell_unstarted(const char *cmd, const char *command);

/**
 * record_tell_end() - how @command ended, when there is something to say.
 */
void record_tell_end(const char *command, int status);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A progress bar on stderr: only when stderr is a terminal, only once the work has
 * taken half a second, never with --quiet. Without these it costs nothing and
 * prints nothing, so a verb calls it unconditionally.
 */
#ifndef UI_PROGRESS_H
#define UI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	const char *what;
	uint64_t total;
	uint64_t begun_ms;
	uint64_t drawn_ms; /* when the bar was last drawn, 0: never */
	bool shown;	   /* whether this process shows bars at all */
};

/**
 * progress_begin() - work of @total steps begins.
 * @what: what is done, "booting"; must stay valid until progress_end().
 */
void progress_begin(struct progress *p, const char *what, uint64_t total);

/**
 * progress_update() - @done steps are done; draws at most ten times a second.
 */
void progress_update(struct progress *p, uint64_t done);

/**
 * progress_hide() - remove the bar so that something else can be printed.
 *
 * The next update draws it again.
 */
void progress_hide(struct progress *p);

/**
 * progress_end() - the work is over; removes the bar.
 */
void progress_end(struct progress *p);

/**
 * progress_format() - the bar as text, at most @width columns wide.
 * @elapsed_ms: time since the beginning; the remaining time is estimated from it.
 */
void progress_format(char *buf, size_t size, int width, const char *what, uint64_t done,
		     uint64_t total, uint64_t elapsed_ms);

/**
 * ui_now_ms() - a clock that never goes back.
 */
uint64_t ui_now_ms(void);

#endif

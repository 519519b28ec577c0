// SPDX-License-Identifier: BSD-2-Clause
/*
 * The progress bar. Drawing is kept apart from formatting, which is pure and
 * tested.
 */
#include "ui/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ui/ui.h"

#define QUIET_MS  500
#define REDRAW_MS 100
#define BAR_MAX	  30

uint64_t ui_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static bool wanted(void)
{
	const char *term = getenv("TERM");

	return !ui.quiet && term && *term && strcmp(term, "dumb") && isatty(STDERR_FILENO) == 1;
}

static void format_eta(char *buf, size_t size, uint64_t done, uint64_t total, uint64_t elapsed_ms)
{
	double left;
	uint64_t s;

	if (!done || !total) {
		snprintf(buf, size, "--:--");
		return;
	}
	left = (double)elapsed_ms / (double)done * (double)(total - done);
	s = left > 3.6e8 ? 360000 : (uint64_t)(left / 1000 + 0.999);
	if (s >= 3600)
		snprintf(buf, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600,
			 s / 60 % 60, s % 60);
	else
		snprintf(buf, size, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
}

void progress_format(char *buf, size_t size, int width, const char *what, uint64_t done,
		     uint64_t total, uint64_t elapsed_ms)
{
	char tail[80], eta[32], bar[BAR_MAX + 1];
	int room, fill;

	if (done > total)
		done = total;
	format_eta(eta, sizeof(eta), done, total, elapsed_ms);
	snprintf(tail, sizeof(tail), "%" PRIu64 "/%" PRIu64 ", %s left", done, total, eta);
	room = width - (int)strlen(what) - (int)strlen(tail) - 4;
	if (room > BAR_MAX)
		room = BAR_MAX;
	if (room < 5) {
		snprintf(buf, size, "%s", tail);
		return;
	}
	fill = total ? (int)((double)room * (double)done / (double)total) : 0;
	memset(bar, '.', (size_t)room);
	memset(bar, '#', (size_t)fill);
	bar[room] = '\0';
	snprintf(buf, size, "%s [%s] %s", what, bar, tail);
}

void progress_begin(struct progress *p, const char *what, uint64_t total)
{
	memset(p, 0, sizeof(*p));
	p->what = what;
	p->total = total;
	p->begun_ms = ui_now_ms();
	p->shown = wanted();
}

void progress_update(struct progress *p, uint64_t done)
{
	char line[256];
	uint64_t now;

	if (!p->shown)
		return;
	now = ui_now_ms();
	if (now - p->begun_ms < QUIET_MS || (p->drawn_ms && now - p->drawn_ms < REDRAW_MS))
		return;
	progress_format(line, sizeof(line), ui_width(stderr) - 1, p->what, done, p->total,
			now - p->begun_ms);
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
	p->drawn_ms = now;
}

void progress_hide(struct progress *p)
{
	if (!p->drawn_ms)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	p->drawn_ms = 0;
}

void progress_end(struct progress *p)
{
	progress_hide(p);
	p->shown = false;
}

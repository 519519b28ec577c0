/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Manners every verb shares: how it was asked to speak (people or JSON, colours,
 * quiet), how it reports an error, and what its exit status means.
 */
#ifndef UI_UI_H
#define UI_UI_H

#include <stdbool.h>
#include <stdio.h>

/* Exit statuses of every verb. */
enum ui_exit {
	UI_OK = 0,     /* yes, or done */
	UI_NO = 1,     /* the verdict is no: incompatible, a finding, a corruption */
	UI_USAGE = 2,  /* wrong usage, unreadable input, output that cannot be written */
	UI_CANNOT = 3, /* this machine cannot do it */
};

enum ui_color {
	UI_COLOR_AUTO, /* when the stream is a terminal, NO_COLOR is unset and TERM is not dumb */
	UI_COLOR_ALWAYS,
	UI_COLOR_NEVER,
};

/* One look for one meaning; the same everywhere. */
enum ui_style {
	UI_PLAIN,
	UI_HEAD, /* headings */
	UI_GOOD,
	UI_BAD,
	UI_WARN,
	UI_FAINT,
};

/* Set once while the command line is read, then only read. */
struct ui_settings {
	bool json;
	bool pretty;
	bool quiet;
	enum ui_color color;
};

extern struct ui_settings ui;

/**
 * ui_error() - report an error the way it was asked for.
 * @cmd:    the command in full, "xstate lab run".
 * @status: exit status that goes with it (enum ui_exit).
 * @fmt:    one sentence without a full stop or newline.
 *
 * People read "cmd: sentence" on stderr. In JSON mode an xstate.error/1 object
 * goes to stdout as well, so call it before a document was begun there.
 *
 * Return: @status, so that a verb can `return ui_error(...)`.
 */
int ui_error(const char *cmd, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * ui_note() - a remark on stderr; silent with --quiet.
 */
void ui_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/**
 * ui_styled() - whether @out gets colours now.
 */
bool ui_styled(FILE *out);

/**
 * ui_on() - escape sequence that begins @style on @out, or "".
 * ui_off() - the one that ends it, or "".
 */
const char *ui_on(FILE *out, enum ui_style style);
const char *ui_off(FILE *out, enum ui_style style);

/**
 * ui_width() - columns a line on @out may use.
 *
 * Return: the terminal's width, else $COLUMNS, else 100; never below 40.
 */
int ui_width(FILE *out);

/**
 * ui_flush() - make sure that what was printed arrived.
 * @status: the exit status so far.
 *
 * Return: @status, or UI_USAGE with an error when stdout could not be written.
 */
int ui_flush(int status);

#endif

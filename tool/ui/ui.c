// SPDX-License-Identifier: BSD-2-Clause
/*
 * Errors, notes, colours and widths. Colours are decided per stream: a table may
 * go to a file while errors stay on the terminal.
 */
#include "ui/ui.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ui/json.h"
#include "ui/utf8.h"

#define WIDTH_DEFAULT 100
#define WIDTH_MIN     40

struct ui_settings ui;

int ui_error(const char *cmd, int status, const char *fmt, ...)
{
	char sentence[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);

	fflush(stdout);
	if (ui.json) {
		struct jw w;

		jw_begin(&w, stdout, ui.pretty);
		jw_object(&w, NULL);
		jw_string(&w, "schema", "xstate.error/1");
		jw_string(&w, "error", sentence);
		jw_i64(&w, "exit", status);
		jw_end(&w);
		jw_finish(&w);
	}
	/* The sentence may hold a file's name, and that may hold anything. */
	fprintf(stderr, "%s%s:%s ", ui_on(stderr, UI_BAD), cmd, ui_off(stderr, UI_BAD));
	utf8_print(stderr, sentence, strlen(sentence));
	fputc('\n', stderr);
	return status;
}

void ui_note(const char *fmt, ...)
{
	va_list ap;

	if (ui.quiet)
		return;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

bool ui_styled(FILE *out)
{
	const char *term, *no;

	if (ui.color != UI_COLOR_AUTO)
		return ui.color == UI_COLOR_ALWAYS;
	no = getenv("NO_COLOR");
	if (no && *no)
		return false;
	term = getenv("TERM");
	if (!term || !*term || !strcmp(term, "dumb"))
		return false;
	return isatty(fileno(out)) == 1;
}

const char *ui_on(FILE *out, enum ui_style style)
{
	static const char *const seq[] = {
		[UI_PLAIN] = "",         [UI_HEAD] = "\033[1m",  [UI_GOOD] = "\033[32m",
		[UI_BAD] = "\033[1;31m", [UI_WARN] = "\033[33m", [UI_FAINT] = "\033[2m",
	};

	return ui_styled(out) ? seq[style] : "";
}

const char *ui_off(FILE *out, enum ui_style style)
{
	return style != UI_PLAIN && ui_styled(out) ? "\033[0m" : "";
}

int ui_width(FILE *out)
{
	struct winsize ws;
	const char *env;
	long width = 0;

	if (isatty(fileno(out)) == 1 && ioctl(fileno(out), TIOCGWINSZ, &ws) == 0)
		width = ws.ws_col;
	if (width <= 0) {
		env = getenv("COLUMNS");
		width = env ? strtol(env, NULL, 10) : 0;
	}
	if (width <= 0 || width > 10000)
		return WIDTH_DEFAULT;
	return width < WIDTH_MIN ? WIDTH_MIN : (int)width;
}

int ui_flush(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fputs("xstate: cannot write the output\n", stderr);
	return UI_USAGE;
}

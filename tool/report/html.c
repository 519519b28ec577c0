// SPDX-License-Identifier: BSD-2-Clause
/* HTML: escaping, tables, sections. The looks are in style.css, which is built in. */
#include "report/html.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "report/assets.h"
#include "ui/number.h"
#include "ui/utf8.h"

/* Control characters, and those that turn the direction of everything behind them. */
static bool is_hidden(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

void html_text(FILE *out, const char *s)
{
	uint32_t c;

	while ((c = utf8_next(&s))) {
		switch (c) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			utf8_put(out, is_hidden(c) ? 0xfffd : c);
		}
	}
}

static void text_v(FILE *out, const char *fmt, va_list args)
{
	char buf[1024];

	vsnprintf(buf, sizeof(buf), fmt, args);
	html_text(out, buf);
}

void html_f(FILE *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text_v(out, fmt, args);
	va_end(args);
}

void html_head(struct page *p, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
	      p->out);
	html_text(p->out, title);
	fputs("</title>\n<style>\n", p->out);
	fwrite(report_style, 1, report_style_bytes, p->out);
	fputs("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the "
	      "results</a>\n",
	      p->out);
}

void html_tail(struct page *p)
{
	fputs("</main>\n<footer>Written by xstate " XSTATE_VERSION
	      ". This page loads nothing: everything is in it.</footer>\n<script>\n",
	      p->out);
	fwrite(report_script, 1, report_script_bytes, p->out);
	fputs("</script>\n</body>\n</html>\n", p->out);
}

void html_section(struct page *p, const char *id, const char *heading)
{
	if (p->sections < sizeof(p->section) / sizeof(p->section[0]))
		p->section[p->sections++] = id;
	fprintf(p->out, "<section aria-labelledby=\"h-%s\">\n<h2 id=\"h-%s\">", id, id);
	html_text(p->out, heading);
	fputs("</h2>\n", p->out);
}

void html_section_end(struct page *p)
{
	fputs("</section>\n", p->out);
}

void html_table(struct page *p, const char *caption, const char *heads, bool folded)
{
	if (folded)
		fputs("<details><summary>The figures as a table</summary>\n", p->out);
	p->folded = folded;
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", p->out);
	html_text(p->out, caption);
	fputs("\"><table><caption>", p->out);
	html_text(p->out, caption);
	fputs("</caption><thead><tr>", p->out);
	while (*heads) {
		size_t n = strcspn(heads, "|");
		int number = *heads == '#';

		fputs(number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">", p->out);
		html_f(p->out, "%.*s", (int)n - number, heads + number);
		fputs("</th>", p->out);
		heads += n + (heads[n] == '|');
	}
	fputs("</tr></thead><tbody>", p->out);
}

void html_row(struct page *p)
{
	fputs("\n<tr>", p->out); /* HTML ends the row before by itself */
}

void html_head_cell(struct page *p, const char *fmt, ...)
{
	va_list args;

	fputs("<th scope=\"row\">", p->out);
	va_start(args, fmt);
	text_v(p->out, fmt, args);
	va_end(args);
	fputs("</th>", p->out);
}

void html_cell(struct page *p, const char *fmt, ...)
{
	va_list args;

	fputs("<td>", p->out);
	va_start(args, fmt);
	text_v(p->out, fmt, args);
	va_end(args);
	fputs("</td>", p->out);
}

/* Formats of our own, from a literal at every call. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void number_cell(struct page *p, const char *fmt, double x, double y)
{
	char buf[96] = "";

	if (isfinite(x) && isfinite(y))
		snprintf(buf, sizeof(buf), fmt, x, y);
	fputs("<td class=\"n\">", p->out);
	html_text(p->out, buf);
	fputs("</td>", p->out);
}
#pragma GCC diagnostic pop

void html_number(struct page *p, const char *fmt, double x)
{
	number_cell(p, fmt, x, 0); /* the second is not in @fmt */
}

void html_interval(struct page *p, const char *fmt, double low, double high)
{
	number_cell(p, fmt, low, high);
}

void html_range(struct page *p, double low, double high, unsigned digits)
{
	char buf[NUMBER_TEXT] = "";

	if (isfinite(low) && isfinite(high))
		range_text(buf, low, high, " to ", digits);
	fputs("<td class=\"n\">", p->out);
	html_text(p->out, buf);
	fputs("</td>", p->out);
}

void html_table_end(struct page *p)
{
	fputs("\n</tbody></table></div>\n", p->out);
	if (p->folded)
		fputs("</details>\n", p->out);
}

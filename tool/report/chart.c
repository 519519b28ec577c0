// SPDX-License-Identifier: BSD-2-Clause
/* Charts: scales and marks. Text is never scaled: the two widths are laid out, not stretched. */
#include "report/chart.h"

#include <math.h>
#include <string.h>

#include "ui/number.h"
#include "ui/utf8.h"

#define CURVE_COLORS 6 /* further curves have them again, dashed */
#define LETTER       7.2 /* width of one, about */

/* One drawing: its width and the part of it that the scale covers. */
struct plot {
	struct page *page;
	const struct chart *chart;
	bool narrow;
	double width, left, right;
	double low, high; /* of the scale */
	double step;
};

static double nice_step(double span, int about)
{
	double raw = span / about, unit = pow(10, floor(log10(raw)));
	static const double times[] = {1, 2, 5, 10};

	for (size_t i = 0; i < 4; i++)
		if (times[i] * unit >= raw * 0.999)
			return times[i] * unit;
	return 10 * unit;
}

static void scale(struct plot *d, double low, double high)
{
	if (!(high - low > 1e-9 * fmax(1e-3, fabs(low))))
		high = low + 1;
	d->step = nice_step(high - low, d->narrow ? 4 : 7);
	d->low = floor(low / d->step + 1e-9) * d->step;
	d->high = ceil(high / d->step - 1e-9) * d->step;
}

static double at(const struct plot *d, double x)
{
	return d->left + (x - d->low) / (d->high - d->low) * (d->right - d->left);
}

static void figure_begin(struct page *p, const struct chart *c)
{
	p->figures++;
	fputs("<figure class=\"chart\"><figcaption>", p->out);
	html_text(p->out, c->title);
	fputs("<span>", p->out);
	html_text(p->out, c->about);
	fputs("</span></figcaption>\n", p->out);
}

static void svg_begin(struct plot *d, double height)
{
	struct page *p = d->page;
	const char *kind = d->narrow ? "narrow" : "wide";

	fprintf(p->out,
	        "<svg class=\"%s\" viewBox=\"0 0 %g %g\" role=\"img\" tabindex=\"0\" "
	        "aria-labelledby=\"t%u%c d%u%c\"><title id=\"t%u%c\">",
	        kind, d->width, height, p->figures, kind[0], p->figures, kind[0], p->figures,
	        kind[0]);
	html_text(p->out, d->chart->title);
	fprintf(p->out, "</title><desc id=\"d%u%c\">", p->figures, kind[0]);
	html_f(p->out, "%s. The table below has the figures.", d->chart->about);
	fputs("</desc>\n", p->out);
}

static void text(struct plot *d, double x, double y, const char *class, const char *s)
{
	fprintf(d->page->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
	html_text(d->page->out, s);
	fputs("</text>", d->page->out);
}

static void line(struct plot *d, double x1, double y1, double x2, double y2, const char *class)
{
	fprintf(d->page->out,
	        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>", x1, y1, x2,
	        y2, class);
}

static void tick_text(double v, double step, char buf[32])
{
	int digits = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);

	if (fabs(v) < step * 1e-6)
		v = 0;
	if (fabs(v) >= 1e6)
		snprintf(buf, 32, "%g", v);
	else
		snprintf(buf, 32, "%.*f", digits > 6 ? 6 : digits, v);
}

/* Vertical lines with their numbers, and the unit at the end. */
static void x_axis(struct plot *d, double top, double bottom, const char *unit)
{
	char buf[32];

	for (int i = 0; d->low + i * d->step <= d->high + d->step / 2; i++) {
		double v = d->low + i * d->step;

		tick_text(v, d->step, buf);
		line(d, at(d, v), top, at(d, v), bottom, "grid");
		text(d, at(d, v), bottom + 15, "t m", buf);
	}
	text(d, d->right, bottom + 31, "t e", unit);
}

static struct plot plot_for(struct page *p, const struct chart *c, bool narrow, double label_room)
{
	struct plot d = {.page = p, .chart = c, .narrow = narrow};

	d.width = narrow ? 304 : 760;
	d.left = narrow ? 18 : label_room;
	d.right = d.width - (narrow ? 18 : 24);
	return d;
}

/* Where a row's label goes: beside its mark, or above it when there is no room. What is too long
 * for its place ends in dots; title and table have all of it. */
static void row_label(struct plot *d, double y, const char *label)
{
	size_t most = (size_t)((d->narrow ? d->width : d->left - 10) / LETTER);
	char buf[CHART_LABEL + 4];
	const char *end = label;

	for (size_t i = 0; i < most && *end; i++)
		utf8_next(&end);
	snprintf(buf, sizeof(buf), "%.*s%s", (int)(end - label), label, *end ? "\xe2\x80\xa6" : "");
	if (d->narrow)
		text(d, 2, y - 12, "", buf);
	else
		text(d, d->left - 10, y + 4, "e", buf);
}

static double label_room(size_t longest)
{
	double room = 24 + LETTER * (double)longest;

	return room > 330 ? 330 : room < 90 ? 90 : room;
}

static void legend(struct page *p, const struct chart *c)
{
	if (!c->parts[0])
		return;
	fputs("<ul class=\"legend\">", p->out);
	for (int i = 0; i < 3 && c->parts[i]; i++) {
		fprintf(p->out, "<li><i class=\"c%d\"></i>", i + 1);
		html_text(p->out, c->parts[i]);
		fputs("</li>", p->out);
	}
	fputs("</ul>\n", p->out);
}

static void bars(struct plot *d, const struct chart_bar *bar, size_t n, double most)
{
	double row = d->narrow ? 42 : 26, top = 6, bottom = top + row * (double)n;

	d->right -= d->narrow ? 44 : 40; /* for the values */
	scale(d, 0, most);
	svg_begin(d, bottom + 38);
	x_axis(d, top, bottom, d->chart->unit);
	for (size_t i = 0; i < n; i++) {
		double y = top + row * (double)i + (d->narrow ? 29 : 13), from = 0;

		row_label(d, y, bar[i].label);
		fputs("<g>", d->page->out);
		fputs("<title>", d->page->out);
		html_f(d->page->out, "%s: %s", bar[i].label, bar[i].value);
		fputs("</title>", d->page->out);
		for (int k = 0; k < 3; k++) {
			double part = bar[i].part[k];

			if (!(part > 0))
				continue;
			fprintf(d->page->out,
			        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
			        "class=\"bar c%d\"/>",
			        at(d, from), y - 7, fmax(0.5, at(d, from + part) - at(d, from)), 14,
			        k + 1);
			from += part;
		}
		text(d, at(d, from) + 6, y + 4, "t", bar[i].value);
		fputs("</g>\n", d->page->out);
	}
	fputs("</svg>\n", d->page->out);
}

void chart_bars(struct page *p, const struct chart *c, const struct chart_bar *bar, size_t n)
{
	double most = 0;
	size_t longest = 0;

	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (int k = 0; k < 3; k++)
			sum += bar[i].part[k] > 0 ? bar[i].part[k] : 0;
		most = fmax(most, sum);
		longest = strlen(bar[i].label) > longest ? strlen(bar[i].label) : longest;
	}
	figure_begin(p, c);
	legend(p, c);
	for (int narrow = 0; narrow < 2; narrow++) {
		struct plot d = plot_for(p, c, narrow, label_room(longest));

		bars(&d, bar, n, most);
	}
	fputs("</figure>\n", p->out);
}

static double inside(const struct plot *d, double x)
{
	return fmin(fmax(x, d->low), d->high);
}

static void ranges(struct plot *d, const struct chart_range *range, size_t n, double low,
                   double high, double zero)
{
	double row = d->narrow ? 42 : 24, top = 6, bottom = top + row * (double)n;

	scale(d, low, high);
	svg_begin(d, bottom + 38);
	x_axis(d, top, bottom, d->chart->unit);
	line(d, at(d, zero), top, at(d, zero), bottom, "zero");
	for (size_t i = 0; i < n; i++) {
		const struct chart_range *r = &range[i];
		double y = top + row * (double)i + (d->narrow ? 29 : 12);
		char middle[NUMBER_TEXT], ends[NUMBER_TEXT];

		row_label(d, y, r->label);
		fprintf(d->page->out, "<g class=\"%s\"><title>", r->faint ? "faint" : "c1");
		html_f(d->page->out, "%s: %s (%s) %s", r->label,
		       number_text(middle, r->middle, 3),
		       range_text(ends, r->low, r->high, " to ", 3), d->chart->unit);
		fputs("</title>", d->page->out);
		if (isfinite(r->truth))
			line(d, at(d, inside(d, r->truth)), y - 9, at(d, inside(d, r->truth)),
			     y + 9, "truth");
		if (isfinite(r->low) && isfinite(r->high))
			line(d, at(d, inside(d, r->low)), y, at(d, inside(d, r->high)), y,
			     "whisker");
		fprintf(d->page->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/></g>\n",
		        at(d, inside(d, r->middle)), y);
	}
	fputs("</svg>\n", d->page->out);
}

void chart_ranges(struct page *p, const struct chart *c, const struct chart_range *range, size_t n,
                  double zero)
{
	double low = zero, high = zero;
	size_t longest = 0;

	for (size_t i = 0; i < n; i++) {
		low = fmin(low, fmin(range[i].middle, range[i].low));
		high = fmax(high, fmax(range[i].middle, range[i].high));
		if (isfinite(range[i].truth))
			high = fmax(high, range[i].truth);
		longest = strlen(range[i].label) > longest ? strlen(range[i].label) : longest;
	}
	figure_begin(p, c);
	for (int narrow = 0; narrow < 2; narrow++) {
		struct plot d = plot_for(p, c, narrow, label_room(longest));

		ranges(&d, range, n, low, high, zero);
	}
	fputs("</figure>\n", p->out);
}

/* Horizontal lines; y counts from the top in SVG. */
struct y_scale {
	double top, bottom, high, step;
};

static double up(const struct y_scale *s, double y)
{
	return s->bottom - y / s->high * (s->bottom - s->top);
}

static void curves(struct plot *d, const struct chart_curve *curve, size_t n, double x_high,
                   double y_high, double mark_x, const char *mark)
{
	struct y_scale s = {.top = 22, .bottom = d->narrow ? 210 : 290};
	char buf[32];

	s.step = nice_step(y_high > 1e-9 ? y_high : 1, 5);
	s.high = ceil(y_high / s.step - 1e-9) * s.step;
	if (!(s.high > 0))
		s.high = s.step;
	d->left = d->narrow ? 42 : 56;
	scale(d, 0, x_high);
	svg_begin(d, s.bottom + 38);
	text(d, 2, 12, "t", d->chart->unit);
	x_axis(d, s.top, s.bottom, d->chart->x_unit);
	for (int i = 0; i * s.step <= s.high + s.step / 2; i++) {
		tick_text(i * s.step, s.step, buf);
		line(d, d->left, up(&s, i * s.step), d->right, up(&s, i * s.step), "grid");
		text(d, d->left - 6, up(&s, i * s.step) + 4, "t e", buf);
	}
	if (isfinite(mark_x) && mark_x >= d->low && mark_x <= d->high) {
		double x = at(d, mark_x);
		bool flip = x > (d->left + d->right) / 2;

		line(d, x, s.top, x, s.bottom, "mark");
		text(d, flip ? x - 6 : x + 6, s.top + 12, flip ? "t e" : "t", mark);
	}
	for (size_t i = 0; i < n; i++) {
		fprintf(d->page->out, "<g class=\"c%zu%s\"><title>", i % CURVE_COLORS + 1,
		        i < CURVE_COLORS ? "" : " dash");
		html_text(d->page->out, curve[i].name);
		fputs("</title><polyline class=\"curve\" points=\"", d->page->out);
		for (size_t k = 0; k < curve[i].n; k++)
			fprintf(d->page->out, "%s%.1f,%.1f", k ? " " : "", at(d, curve[i].x[k]),
			        up(&s, curve[i].y[k]));
		fputs("\"/>", d->page->out);
		for (size_t k = 0; k < curve[i].n; k++)
			fprintf(d->page->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>",
			        at(d, curve[i].x[k]), up(&s, curve[i].y[k]));
		fputs("</g>\n", d->page->out);
	}
	fputs("</svg>\n", d->page->out);
}

void chart_curves(struct page *p, const struct chart *c, const struct chart_curve *curve, size_t n,
                  double mark_x, const char *mark)
{
	double x_high = 0, y_high = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < curve[i].n; k++) {
			x_high = fmax(x_high, curve[i].x[k]);
			y_high = fmax(y_high, curve[i].y[k]);
		}
	figure_begin(p, c);
	fputs("<ul class=\"legend\">", p->out);
	for (size_t i = 0; i < n; i++) {
		fprintf(p->out, "<li><i class=\"c%zu%s\"></i>", i % CURVE_COLORS + 1,
		        i < CURVE_COLORS ? "" : " dash");
		html_text(p->out, curve[i].name);
		fputs("</li>", p->out);
	}
	fputs("</ul>\n", p->out);
	for (int narrow = 0; narrow < 2; narrow++) {
		struct plot d = plot_for(p, c, narrow, 56);

		curves(&d, curve, n, x_high, y_high, mark_x, mark);
	}
	fputs("</figure>\n", p->out);
}

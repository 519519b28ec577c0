// SPDX-License-Identifier: BSD-2-Clause
/* What a result means, in words. Every sentence is made from its sums and from prices. */
#include "sim/result.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "ui/number.h"

/* What is counted is one, or more. */
static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Is one row the cheapest wherever the prices lie? */
static bool cheapest(const struct sim_result *r, const struct sim_costs *c, size_t *best)
{
	size_t found = 0;
	double least = INFINITY;

	for (size_t i = 0; i < r->row_count; i++) {
		const struct sim_range x = sim_row_cycles(r, c, i);

		if (!r->rows[i].hypothesis[0] && x.low + x.high < least) {
			least = x.low + x.high;
			found = i;
		}
	}
	*best = found;
	for (size_t i = 0; i < r->row_count; i++)
		if (i != found && !r->rows[i].hypothesis[0] &&
		    sim_row_between(r, c, &r->rows[found], &r->rows[i]).high > 0)
			return false;
	return true;
}

/* Cycles as a share of one CPU; where no time passed, by the slot. */
static double amount(const struct sim_result *r, const struct sim_costs *c, double cycles)
{
	if (!r->total.span_ns)
		return r->total.slots ? cycles / (double)r->total.slots : cycles;
	return 100 * cycles / ((double)r->total.span_ns * c->ghz);
}

static const char *unit(const struct sim_result *r)
{
	return r->total.span_ns ? "% of one CPU" : "cycles a slot";
}

static const char *say_use(const struct sim_result *r, const struct sim_costs *c, char *buf,
			   size_t size)
{
	struct sim_even e;

	(void)sim_result_even(r, c, &e);
	if (e.used_least >= 0)
		snprintf(buf, size, "Used: %.0f of a million slots, whose image changed.", e.used);
	else if (!strcmp(r->use, "live") && r->total.digest_slots)
		snprintf(buf, size, "Used: at most %.0f of a million slots. Saved images were compared in "
			 "%.1f %% of those in user mode; the others had live registers at their end.",
			 e.used, 100 * (double)r->total.digest_slots / (double)r->total.user_slots);
	else if (!strcmp(r->use, "live") && r->total.traces && !r->total.traces_with_fpu)
		snprintf(buf, size, "Used: at most %.0f of a million slots. The trace has no events of "
			 "the FPU, so every slot in user mode is taken for one; --use assumes less.",
			 e.used);
	else if (!strcmp(r->use, "live"))
		snprintf(buf, size, "Used: at most %.0f of a million slots. So many had live registers "
			 "at their end, which stay live once a program has touched them.", e.used);
	else
		snprintf(buf, size, "Used: %.0f of a million slots, as assumed by --use %s.", e.used,
			 r->use);
	return buf;
}

/* Neither is there for the other to be compared with, and what would help. */
static void say_not_counted(const struct sim_result *r, char *buf, size_t size)
{
	const bool eager = sim_row_find(r, "eager"), lazy = sim_row_find(r, "lazy");

	if (!eager || !lazy)
		snprintf(buf, size, "to have it counted, and a verdict on the two, --policy must list "
			 "%s%s%s as well.", eager ? "" : "eager", eager || lazy ? "" : " and ",
			 lazy ? "" : "lazy");
	else if (!r->total.used_slots)
		snprintf(buf, size, "it cannot be counted where no slot used the registers.");
	else
		snprintf(buf, size, "it cannot be counted where lazy was never trapped.");
}

#define MILLION 1e6

/* Above which share eager is cheaper; where that is more than all slots, at none. */
static void even_range(char *buf, size_t size, struct sim_range x)
{
	char text[NUMBER_TEXT];

	if (x.low > MILLION)
		snprintf(buf, size, "at no share of slots");
	else if (x.high > MILLION)
		snprintf(buf, size, "above %s used slots of a million, or at no share of slots,",
			 number_text(text, x.low, 0));
	else
		snprintf(buf, size, "above %s used slots of a million",
			 range_text(text, x.low, x.high, " to ", 0));
}

/* The counts and the formula tell two stories: what each takes a slot for. */
static void say_apart(const struct sim_result *r, const struct sim_even *e, char *buf, size_t size)
{
	const struct sim_row *eager = sim_row_find(r, "eager"), *lazy = sim_row_find(r, "lazy");
	const double slots = (double)r->total.slots, used = (double)r->total.used_slots;
	const uint64_t most = sim_row_counts(r, lazy, true).n.traps;
	const double apart[] = { e->counted.low / e->formula.low, e->counted.high / e->formula.high };
	char saves[NUMBER_TEXT], loads[NUMBER_TEXT], traps[NUMBER_TEXT];

	if (fmax(apart[0], apart[1]) <= 2 && fmin(apart[0], apart[1]) >= 0.5)
		return;
	snprintf(buf, size, " The two differ since the formula takes a save and a restore for each slot, "
		 "and a trap for each used one; here eager makes %s saves and %s restores a slot, and lazy "
		 "%s traps a used slot.",
		 number_text(saves, (double)eager->n.n.saves / slots, 2),
		 number_text(loads, (double)eager->n.n.loads / slots, 2),
		 range_text(traps, (double)lazy->n.n.traps / used, (double)most / used, " to ", 2));
}

static const char *say_even(const struct sim_result *r, const struct sim_costs *c, char *buf,
			    size_t size)
{
	char formula[NUMBER_TEXT], counted[240], trap[NUMBER_TEXT], ts[NUMBER_TEXT];
	struct sim_even e;
	const bool known = sim_result_even(r, c, &e);
	int at;

	range_text(formula, e.formula.low, e.formula.high, " to ", 0);
	range_text(trap, c->trap.low, c->trap.high, " to ", 0);
	range_text(ts, c->ts.low, c->ts.high, " to ", 0);
	if (known) {
		even_range(counted, sizeof(counted), e.counted);
		at = snprintf(buf, size, "Break-even: eager is cheaper than lazy %s by the counts of %s, "
			      "above %s by the formula; the range is that of the prices, trap %s "
			      "cycles, CR0.TS %s%s.", counted,
			      r->total.traces > 1 ? "these traces" : "this trace", formula, trap, ts,
			      r->total.signal_turns ? ", and of what handlers touch" : "");
		if (at > 0 && (size_t)at < size)
			say_apart(r, &e, buf + at, size - (size_t)at);
		return buf;
	}
	at = snprintf(buf, size, "Break-even: by the formula eager is cheaper than lazy above %s used "
		      "slots of a million; ", formula);
	if (at > 0 && (size_t)at < size)
		say_not_counted(r, buf + at, size - (size_t)at);
	return buf;
}

static bool is_open(struct sim_range x)
{
	return x.low <= 0 && x.high >= 0;
}

/* Prices decide nothing, at either end of what handlers touch; or they do as well. */
static const char *depends_on(const struct sim_result *r, const struct sim_costs *c,
			      const struct sim_row *eager, const struct sim_row *lazy)
{
	const struct lane_counts most = sim_row_counts(r, lazy, true);

	if (!r->total.signal_turns)
		return "the price of a trap and of CR0.TS";
	if (!is_open(sim_costs_between(c, &r->total, &eager->n, &lazy->n)) &&
	    !is_open(sim_costs_between(c, &r->total, &eager->n, &most)))
		return "what handlers touch";
	return "the price of a trap and of CR0.TS and on what handlers touch";
}

static const char *say_signals(const struct sim_result *r, char *buf, size_t size)
{
	const struct sim_totals *n = &r->total;

	if (!n->signal_turns)
		return NULL;
	snprintf(buf, size, "Signals: what handlers, and programs behind them, touch is not known. In slots "
		 "that used the registers %llu handler%s began, and with returns the registers became "
		 "others %llu time%s: policies that wait for the first use cost least where nothing was "
		 "touched until the slot ended, and most where they were touched anew each time, a trap, a "
		 "restore and for each handler a save more. The work of signals is in cycles/slot, too.",
		 (unsigned long long)n->signal_frames, plural(n->signal_frames),
		 (unsigned long long)n->signal_turns, plural(n->signal_turns));
	return buf;
}

static const char *say_sections(const struct sim_result *r, char *buf, size_t size)
{
	const unsigned long long inside = r->total.sections_inside;

	if (!inside)
		return NULL;
	snprintf(buf, size, "Sections: %llu of the kernel's own uses of the registers %s in slots that "
		 "used them. That a program went back to user mode between two of these is not in a "
		 "trace: it is taken to, when its slot ends. Wherever it did before, each policy makes a "
		 "restore and a save more than it says here, those that wait for the first use only "
		 "where it touched them, after a trap: at most %llu of each.", inside,
		 inside == 1 ? "was" : "were", inside);
	return buf;
}

static const char *say_verdict(const struct sim_result *r, const struct sim_costs *c, char *buf,
			       size_t size)
{
	const struct sim_row *eager = sim_row_find(r, "eager"), *lazy = sim_row_find(r, "lazy");
	struct sim_range d;
	char x[NUMBER_TEXT], y[NUMBER_TEXT];
	/* What is missing may have been anything. */
	const char *of = sim_holds(r, c) > SIM_DEPENDS ? "Verdict on what the trace does have" : "Verdict";
	const char *whatever = r->total.signal_turns ? " and whatever handlers touch" : "";
	double a, b;

	if (!eager || !lazy)
		return NULL;
	d = sim_row_between(r, c, eager, lazy);
	a = amount(r, c, d.low);
	b = amount(r, c, d.high);
	if (d.high < 0)
		snprintf(buf, size, "%s: eager beats lazy here, over the whole range of prices%s, by %s "
			 "%s.", of, whatever, range_text(x, -b, -a, " to ", 2), unit(r));
	else if (d.low > 0)
		snprintf(buf, size, "%s: lazy beats eager here, over the whole range of prices%s, by %s "
			 "%s.", of, whatever, range_text(x, a, b, " to ", 2), unit(r));
	else if (!(d.low < 0) && !(d.high > 0))
		snprintf(buf, size, "%s: none; eager and lazy cost the same here.", of);
	else
		snprintf(buf, size, "%s: eager or lazy depends on %s: from %s %s in eager's favour to "
			 "%s in lazy's.", of, depends_on(r, c, eager, lazy), number_text(x, -a, 2),
			 unit(r), number_text(y, b, 2));
	return buf;
}

/* What a verdict by measured prices is worth. */
static const char *say_rough(const struct sim_costs *c, char *buf, size_t size)
{
	char stopped[100] = "";

	if (!c->rough)
		return NULL;
	if (c->planned)
		snprintf(stopped, sizeof(stopped), "the measurement was stopped after %u of %u blocks",
			 c->blocks, c->planned);
	else if (c->rough & COSTS_SHORT)
		snprintf(stopped, sizeof(stopped), "the measurement was not done to its end");
	snprintf(buf, size, "Rough: %s%s%s. So the prices are rough, and a verdict by them is, too.",
		 c->rough & COSTS_LOUD      ? "when the prices were measured the machine was not quiet"
		 : c->rough & COSTS_UNKNOWN ? "nothing says how quiet the machine was when the prices "
					      "were measured"
					    : "",
		 c->rough & (COSTS_LOUD | COSTS_UNKNOWN) && stopped[0] ? ", and " : "", stopped);
	return buf;
}

static const char *say_best(const struct sim_result *r, const struct sim_costs *c, char *buf,
			    size_t size)
{
	size_t best, rows = 0;
	const bool always = cheapest(r, c, &best);
	const struct sim_range x = sim_row_cycles(r, c, best);
	char text[NUMBER_TEXT];

	for (size_t i = 0; i < r->row_count; i++)
		rows += !r->rows[i].hypothesis[0];
	if (rows < 2)
		return NULL;

	snprintf(buf, size, "Least work: %s, %s, %s %s.", r->rows[best].name,
		 always ? "whatever the prices" : "at the middle of the prices but not everywhere",
		 range_text(text, amount(r, c, x.low), amount(r, c, x.high), " to ", 2), unit(r));
	return buf;
}

/* Slots whose save and restore have no price in the table, and what was taken for it. */
static const char *say_prices(const struct sim_result *r, const struct sim_costs *c, char *buf,
			      size_t size)
{
	const uint64_t *slots = &r->total.live_init_slots;
	char share[NUMBER_TEXT];
	size_t at = 0;

	if (c->fallback[0])
		at = (size_t)snprintf(buf, size, "Prices: those of the instructions named above, for %s.",
				      c->fallback);
	for (int i = 0; i < REC_LIVES; i++) {
		const enum rec_live live = (enum rec_live)i, other = sim_costs_stand_in(c, live);

		if (other == live || !slots[i])
			continue;
		at += (size_t)snprintf(buf + at, size - at, "%s %s was live at the end of %s %% of the "
				       "slots in user mode and has no price in this table: that of %s "
				       "stands in, which is too %s.", at ? "" : "Prices:", sim_costs_live(live),
				       number_text(share, 100 * (double)slots[i] /
							  (double)r->total.user_slots, 2),
				       sim_costs_live(other), other < live ? "low" : "high");
	}
	return at ? buf : NULL;
}

#define OFF_PERCENT 2 /* a check that is off by more is explained, as far as the trace tells */
#define FEW         200 /* restores, of which each is half a percent */

/* Reasons, one behind the other, as long as there is room. */
struct reasons {
	char *buf;
	size_t size, at;
	unsigned count;
};

static void reason(struct reasons *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void reason(struct reasons *l, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(l->buf + l->at, l->size - l->at, "%s", l->count++ ? "; " : " ");

	l->at += n > 0 ? (size_t)n : 0;
	if (l->at >= l->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(l->buf + l->at, l->size - l->at, fmt, ap);
	va_end(ap);
	l->at += n > 0 ? (size_t)n : 0;
	if (l->at >= l->size)
		l->at = l->size - 1;
}

/*
 * Events that some traces do not have, and what was assumed for them. Each of them makes restores: with
 * none assumed there can only be too few in the prediction. @many: there are too many.
 */
static void missing(struct reasons *l, const struct sim_totals *n, const char *what, uint64_t with,
		    const char *assumed, uint64_t count, bool off, bool many)
{
	char of[60] = "there are no";

	/* Nor is it a reason that nothing was there to assume. */
	if (with >= n->traces || ((many || !off) && !count))
		return;
	if (with)
		snprintf(of, sizeof(of), "%llu of %llu traces %s no",
			 (unsigned long long)(n->traces - with), (unsigned long long)n->traces,
			 n->traces - with == 1 ? "has" : "have");
	if (off)
		reason(l, "%s %s, and %s not assumed either", of, what, assumed);
	else
		reason(l, "%s %s, %s assumed instead (%llu)", of, what, assumed,
		       (unsigned long long)count);
}

/* What may be behind it, by what the trace has and has not: nothing that it does not show. */
static void why_off(struct reasons *l, const struct sim_result *r, bool many)
{
	const struct sim_totals *n = &r->total;
	const size_t holes = sim_parts_holes(&r->parts);
	const uint64_t none = n->traces - n->traces_with_restores;
	char each[NUMBER_TEXT];

	if (n->observed_restores < FEW)
		reason(l, "restores are so few that each is %s %% of them",
		       number_text(each, 100 / (double)n->observed_restores, 2));
	if (many && n->traces_with_restores < n->traces)
		reason(l, "%llu trace%s without restores (of %llu) %s predicted all the same",
		       (unsigned long long)none, plural(none), (unsigned long long)n->traces,
		       none == 1 ? "is" : "are");
	if (n->lost_events)
		reason(l, "events were lost (%llu)", (unsigned long long)n->lost_events);
	if (n->gaps)
		reason(l, "the trace contradicts itself (%llu time%s)", (unsigned long long)n->gaps,
		       plural(n->gaps));
	if (holes)
		reason(l, "pieces of a trace are missing (%zu place%s)", holes, plural(holes));
	if (n->odd_lines)
		reason(l, "there are lines that are no event (%llu)", (unsigned long long)n->odd_lines);
	missing(l, n, "signal events", n->traces_with_signals, "handlers were", n->signals_assumed,
		!strcmp(r->signals, "none"), many);
	/* A handler that jumps out of itself restores nothing. */
	if (many && n->returns_assumed)
		reason(l, "of %llu signal%s it does not tell whether their handlers returned "
		       "(sys_enter_rt_sigreturn), and they were taken to",
		       (unsigned long long)n->returns_assumed, plural(n->returns_assumed));
	missing(l, n, "events of the kernel's own use of the registers", n->traces_with_sections,
		"uses were", n->sections_assumed, !strcmp(r->sections, "none"), many);
	missing(l, n, "events of saves", n->traces_with_fpu, "slots in user mode were", n->user_slots,
		false, many);
}

/* Why the check is not about all that happened, or NULL. */
static const char *in_part(const struct sim_result *r)
{
	return r->total.lost_events ? "events were lost"
	       : sim_parts_holes(&r->parts) ? "a piece of a trace is missing"
	       : sim_has_many_gaps(&r->total) ? "the trace contradicts itself" : NULL;
}

static const char *say_check(const struct sim_result *r, char *buf, size_t size)
{
	const struct sim_row *d = sim_row_find(r, "deferred");
	const double seen = (double)r->total.observed_restores;
	struct reasons l = { .buf = buf, .size = size };
	const char *part = in_part(r);
	double off;

	if (sim_parts_made_up(&r->parts))
		return NULL;
	if (!r->total.observed_restores) {
		snprintf(buf, size, "Check: none; the trace has no events of restores "
			 "(x86_fpu_regs_activated), so nothing says how well they are predicted.");
		return buf;
	}
	if (!d) {
		snprintf(buf, size, "Check: none; to have the %llu restore%s that the trace has compared with "
			 "what is predicted, --policy must list deferred as well.",
			 (unsigned long long)r->total.observed_restores,
			 plural(r->total.observed_restores));
		return buf;
	}
	off = 100 * ((double)d->n.n.loads - seen) / seen;
	l.at = (size_t)snprintf(buf, size, "Check: deferred predicts %llu restore%s, the trace has "
				"%llu: %+.2f %%.", (unsigned long long)d->n.n.loads, plural(d->n.n.loads),
				(unsigned long long)r->total.observed_restores, off);
	if (fabs(off) > OFF_PERCENT) {
		l.at += (size_t)snprintf(buf + l.at, size - l.at, " That is more than %d %% off, so "
					 "trust the counts no further. What the trace tells of why:",
					 OFF_PERCENT);
		why_off(&l, r, off > 0);
		snprintf(buf + l.at, size - l.at, "%s", l.count ? "." : " nothing.");
		return buf;
	}
	if (part)
		l.at += (size_t)snprintf(buf + l.at, size - l.at, " That is within %d %%, but %s: it says "
					 "nothing of what the trace does not have.", OFF_PERCENT, part);
	else
		l.at += (size_t)snprintf(buf + l.at, size - l.at, " That is within %d %%, so what is counted "
					 "of restores is to be trusted.", OFF_PERCENT);
	/* A piece does not know what events its trace has; its last one does. */
	if (r->total.traces_with_sections || !r->total.traces)
		return buf;
	/* Whoever loses the registers to the kernel has to restore them. */
	if (r->total.sections_assumed)
		snprintf(buf + l.at, size - l.at, " Where the kernel used the registers itself the "
			 "trace does not show: %llu time%s assumed, when forks and ends of tasks had "
			 "filled a block of its random pool, and no others.",
			 (unsigned long long)r->total.sections_assumed,
			 r->total.sections_assumed == 1 ? " is" : "s are");
	else if ((double)d->n.n.loads < seen)
		snprintf(buf + l.at, size - l.at, " Where the kernel used the registers itself the "
			 "trace does not show; those that it took them from restore, too.");
	return buf;
}

static const char *say_lost(const struct sim_result *r, char *buf, size_t size)
{
	if (!r->total.lost_events)
		return NULL;
	snprintf(buf, size, "Incomplete: %llu event%s lost, so all of this is about a part of what "
		 "happened.", (unsigned long long)r->total.lost_events,
		 r->total.lost_events == 1 ? " was" : "s were");
	return buf;
}

static const char *say_gaps(const struct sim_result *r, char *buf, size_t size)
{
	const struct sim_totals *n = &r->total;
	char share[NUMBER_TEXT];

	if (!n->gaps)
		return NULL;
	snprintf(buf, size, "Gaps: at %llu place%s, %s %% of its %llu switch%s, the trace contradicts "
		 "itself, as if events had been taken out. %s", (unsigned long long)n->gaps,
		 plural(n->gaps),
		 number_text(share, 100 * (double)n->gaps / (double)(n->switches ? n->switches : 1), 2),
		 (unsigned long long)n->switches, n->switches == 1 ? "" : "es",
		 sim_has_many_gaps(n) ? "That is more than 1 %, so all of this is about a part of what "
					"happened."
				      : "Up to 1 % that changes little, and the counts are taken as "
					"they are.");
	return buf;
}

static const char *say_pauses(const struct sim_result *r, char *buf, size_t size)
{
	if (!r->total.day_pauses)
		return NULL;
	snprintf(buf, size, "Pause: for more than a day there is no event, %llu time%s. It is counted as "
		 "time, and makes every share of a CPU smaller.",
		 (unsigned long long)r->total.day_pauses, plural(r->total.day_pauses));
	return buf;
}

static const char *say_odd(const struct sim_result *r, char *buf, size_t size)
{
	const bool one = r->total.odd_lines == 1;

	if (!r->total.odd_lines)
		return NULL;
	snprintf(buf, size, "Odd: %llu line%s damaged, or no event of any kind, and %s passed over.",
		 (unsigned long long)r->total.odd_lines, one ? " is" : "s are", one ? "was" : "were");
	return buf;
}

static const char *say_parts(const struct sim_result *r, char *buf, size_t size)
{
	const size_t holes = sim_parts_holes(&r->parts);

	if (holes)
		snprintf(buf, size, "Incomplete: at %zu place%s a piece of a trace is missing, before or "
			 "behind one that is here.", holes, plural(holes));
	return holes ? buf : NULL;
}

static const char *say_made_up(const struct sim_result *r, char *buf, size_t size)
{
	if (sim_parts_mixed(&r->parts))
		snprintf(buf, size, "Mixed: recorded workloads and made-up ones are added up.");
	else if (sim_parts_made_up(&r->parts))
		snprintf(buf, size, "Made up: by --synthetic; nothing of it was recorded.");
	else
		return NULL;
	return buf;
}

const char *sim_verdict(const struct sim_result *r, const struct sim_costs *c, unsigned paragraph,
			char *buf, size_t size)
{
	for (unsigned i = 0, said = 0; i < 15; i++) {
		const char *p = i == 0 ? say_use(r, c, buf, size)
			      : i == 1 ? say_even(r, c, buf, size)
			      : i == 2 ? say_verdict(r, c, buf, size)
			      : i == 3 ? say_rough(c, buf, size)
			      : i == 4 ? say_best(r, c, buf, size)
			      : i == 5 ? say_signals(r, buf, size)
			      : i == 6 ? say_sections(r, buf, size)
			      : i == 7 ? say_check(r, buf, size)
			      : i == 8 ? say_lost(r, buf, size)
			      : i == 9 ? say_gaps(r, buf, size)
			      : i == 10 ? say_odd(r, buf, size)
			      : i == 11 ? say_parts(r, buf, size)
			      : i == 12 ? say_pauses(r, buf, size)
			      : i == 13 ? say_prices(r, c, buf, size)
				       : say_made_up(r, buf, size);

		if (p && said++ == paragraph)
			return p;
	}
	return NULL;
}

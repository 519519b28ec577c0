// SPDX-License-Identifier: BSD-2-Clause
/* Prices: built in, or read from a result of xstate bench insn; and sums of counts times prices. */
#include "sim/costs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_JANSSON
#include "sim/load.h"
#endif

struct builtin {
	const char *name;
	double ghz;
	bool guest;
	enum rec_live measured;
	const char *source;
	struct sim_range save[REC_LIVES], load[REC_LIVES];
};

#define R(low, high) { low, high },
#define CPU(name, ghz, guest, measured, source, saves, loads) \
	{ #name, ghz, guest, REC_##measured, source, { saves }, { loads } },
#define MORE(...)
static const struct builtin builtins[] = {
#include "sim/costs.def"
};
#undef CPU
#undef MORE

static const struct more {
	const char *name;
	struct sim_range init, live;
} mores[] = {
#undef R
#define R(low, high) { low, high }
#define CPU(...)
#define MORE(name, init, live) { #name, init, live },
#include "sim/costs.def"
};
#undef CPU
#undef MORE
#undef R

const char *sim_costs_names(size_t i)
{
	return i < sizeof(builtins) / sizeof(builtins[0]) ? builtins[i].name : NULL;
}

void sim_costs_ring0(struct sim_costs *c, bool guest)
{
	/*
	 * Nobody measures these from user mode. Bare metal: a fault and IRET on CPUs of twenty
	 * years; CLTS and MOV CR0 from "30" to "over 100 and serialising". A guest may leave to its
	 * hypervisor for each. What was claimed for such costs is of this size too.
	 */
	c->guest = guest;
	c->trap = guest ? (struct sim_range){ 400, 4000 } : (struct sim_range){ 300, 1500 };
	c->ts = guest ? (struct sim_range){ 30, 2000 } : (struct sim_range){ 30, 200 };
	c->interrupt = guest ? (struct sim_range){ 2000, 20000 } : (struct sim_range){ 1000, 5000 };
	/* From a plain RDMSR to a WRMSR that serialises; a hypervisor may see either. */
	c->msr = guest ? (struct sim_range){ 30, 4000 } : (struct sim_range){ 30, 400 };
	c->init_read = (struct sim_range){ 30, 50 };
	c->clear = (struct sim_range){ 7, 8 };
}

bool sim_costs_builtin(struct sim_costs *c, const char *name)
{
	for (size_t i = 0; sim_costs_names(i); i++) {
		const struct builtin *b = &builtins[i];

		if (strcmp(b->name, name))
			continue;
		memset(c, 0, sizeof(*c));
		snprintf(c->source, sizeof(c->source), "built in, %s: %s", b->name, b->source);
		c->ghz = b->ghz;
		c->priced = (2u << b->measured) - 1;
		memcpy(c->save, b->save, sizeof(c->save));
		memcpy(c->load, b->load, sizeof(c->load));
		for (size_t k = 0; k < sizeof(mores) / sizeof(mores[0]); k++) {
			if (strcmp(mores[k].name, name))
				continue;
			c->init_more = mores[k].init;
			c->live_more = mores[k].live;
		}
		sim_costs_ring0(c, b->guest);
		return true;
	}
	return false;
}

#ifdef HAVE_JANSSON
static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

/* Does a row tell of images that are as live as @live? */
static bool is_of(const char *name, enum rec_live live)
{
	static const char *const names[REC_LIVES][2] = {
		[REC_INIT] = { "INIT", "INIT" }, [REC_SSE] = { "SSE", "x87" },
		[REC_AVX] = { "AVX", "x87+AVX" }, [REC_AVX512] = { "AVX-512", "all" },
		[REC_AMX] = { "AMX", "AMX" },
	};

	return !strcmp(name, names[live][0]) || !strcmp(name, names[live][1]);
}

/* All rows of @insn for @live together; false when there is none. */
static bool take_rows(const json_t *rows, const char *insn, const char *format, enum rec_live live,
		      struct sim_range *out)
{
	bool found = false;
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row) {
		const char *name = json_string_value(json_object_get(row, "instruction"));
		const char *shape = json_string_value(json_object_get(row, "format"));
		const char *state = json_string_value(json_object_get(row, "live"));
		const double low = number(row, "low_quartile_cycles");
		const double high = number(row, "high_quartile_cycles");

		if (!name || !state || strcmp(name, insn) || !is_of(state, live) ||
		    (format && (!shape || strcmp(shape, format))) || !(low > 0) || !(high >= low) ||
		    high > 1e6)
			continue;
		*out = found ? (struct sim_range){ low < out->low ? low : out->low,
						   high > out->high ? high : out->high }
			     : (struct sim_range){ low, high };
		found = true;
	}
	return found;
}

/* Live sets that were not measured cost what the next smaller one does. */
static bool take_all(const json_t *rows, const char *insn, const char *format,
		     struct sim_range out[REC_LIVES], unsigned *priced)
{
	bool any = false;

	*priced = 0;
	for (int live = 0; live < REC_LIVES; live++) {
		if (take_rows(rows, insn, format, (enum rec_live)live, &out[live])) {
			for (int k = 0; !any && k < live; k++)
				out[k] = out[live];
			any = true;
			*priced |= 1u << live;
		} else if (any) {
			out[live] = out[live - 1];
		}
	}
	return any;
}

/* Is @id "xsavec+xrstor/MASK/LIVE"? */
static bool is_switch_of(const char *id, const char *live)
{
	const char *end = id ? strrchr(id, '/') : NULL;

	return end && !strncmp(id, "xsavec+xrstor/", strlen("xsavec+xrstor/")) && !strcmp(end + 1, live);
}

/* The two paired comparisons of a switch with one component more. */
static void fill_more(struct sim_costs *c, const json_t *effects)
{
	size_t i;
	json_t *e;

	json_array_foreach(effects, i, e) {
		const char *base = json_string_value(json_object_get(e, "base"));
		const char *then = json_string_value(json_object_get(e, "then"));
		const char *unit = json_string_value(json_object_get(e, "unit"));
		const double low = number(e, "low"), high = number(e, "high");

		if (!is_switch_of(then, "avx") || !unit || strcmp(unit, "cycles") || !(low <= high) ||
		    !(high > 0) || high > 1e6)
			continue;
		if (is_switch_of(base, "avx"))
			c->init_more = (struct sim_range){ low > 0 ? low : 0, high };
		else if (is_switch_of(base, "sse"))
			c->live_more = (struct sim_range){ low > 0 ? low : 0, high };
	}
}

/* Would the run itself have said that nothing is to be decided by it? */
static void fill_rough(struct sim_costs *c, const json_t *doc)
{
	json_t *limits = json_object_get(doc, "noise_limits"), *limit;
	const json_t *noise = json_object_get(doc, "noise");
	const double done = number(doc, "blocks_done"), planned = number(doc, "blocks_planned");
	const char *key;

	json_object_foreach(limits, key, limit)
		if (number(noise, key) > json_number_value(limit))
			c->rough |= COSTS_LOUD;
	if (!json_object_size(limits))
		c->rough |= COSTS_UNKNOWN;
	if (json_is_true(json_object_get(doc, "complete")))
		return;
	c->rough |= COSTS_SHORT;
	if (done >= 0 && done < planned && planned < 1e9) {
		c->blocks = (unsigned)done;
		c->planned = (unsigned)planned;
	}
}

static const struct pair {
	const char *save, *load, *format;
} pairs[] = {
	{ "XSAVEC", "XRSTOR", "compacted" },
	{ "XSAVEOPT", "XRSTOR", "standard" },
	{ "XSAVE", "XRSTOR", "standard" },
	{ "FXSAVE", "FXRSTOR", NULL },
	{ "FNSAVE", "FRSTOR", NULL },
};

/* Of pairs before @used one half may be there; and what is left at last moves little. */
static void fill_fallback(struct sim_costs *c, const json_t *rows, size_t used)
{
	struct sim_range any[REC_LIVES];
	unsigned priced;

	for (size_t i = 0; i < used; i++) {
		const bool save = take_all(rows, pairs[i].save, NULL, any, &priced);
		const bool load = take_all(rows, pairs[i].load, pairs[i].format, any, &priced);

		/* One XRSTOR is in several pairs: a CPU without XSAVEC misses nothing. */
		if (save || (load && strcmp(pairs[i].load, pairs[used].load))) {
			snprintf(c->fallback, sizeof(c->fallback), "of the better %s and %s the file "
				 "has no %s", pairs[i].save, pairs[i].load,
				 save ? pairs[i].load : pairs[i].save);
			return;
		}
	}
	if (used + 1 == sizeof(pairs) / sizeof(pairs[0]))
		snprintf(c->fallback, sizeof(c->fallback), "they move nothing but x87, and the file has "
			 "no better ones");
}

/* A CPU's name, which may have blanks behind it, and none that is too long for a line. */
static const char *cpu_name(const json_t *machine, char *buf, size_t size)
{
	const char *name = json_string_value(json_object_get(machine, "cpu"));
	size_t n;

	snprintf(buf, size, "%s", name ? name : "");
	for (n = strlen(buf); n && (buf[n - 1] == ' ' || buf[n - 1] == '\t'); n--)
		buf[n - 1] = '\0';
	return n ? buf : "an unnamed CPU";
}

static bool fill(struct sim_costs *c, const json_t *doc, const char *path)
{
	const json_t *machine = json_object_get(doc, "machine"), *rows = json_object_get(doc, "costs");
	char cpu[100];

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		unsigned saves, loads;

		if (!take_all(rows, pairs[i].save, NULL, c->save, &saves) ||
		    !take_all(rows, pairs[i].load, pairs[i].format, c->load, &loads))
			continue;
		c->priced = saves & loads;
		c->ghz = number(machine, "tsc_hz") * number(doc, "cycles_per_tick") / 1e9;
		snprintf(c->source, sizeof(c->source), "%s: %s and %s on %s", path, pairs[i].save,
			 pairs[i].load, cpu_name(machine, cpu, sizeof(cpu)));
		fill_more(c, json_object_get(doc, "effects"));
		fill_rough(c, doc);
		fill_fallback(c, rows, i);
		sim_costs_ring0(c, json_is_string(json_object_get(machine, "hypervisor")));
		return c->ghz > 0.05 && c->ghz < 100;
	}
	return false;
}

int sim_costs_read(struct sim_costs *c, const char *path, char *err, size_t errlen)
{
	json_t *doc = sim_load(path, false, "xstate.bench/1", "a result of xstate bench insn -o", err,
			       errlen);
	const char *kind = json_string_value(json_object_get(doc, "kind"));
	int result = -1;

	memset(c, 0, sizeof(*c));
	if (doc && (!kind || strcmp(kind, "insn")))
		snprintf(err, errlen, "%s: %s%.40s, and prices come from xstate bench insn -o", path,
			 kind ? "of xstate bench " : "it does not say of which xstate bench it is",
			 kind ? kind : "");
	else if (doc && !fill(c, doc, path))
		snprintf(err, errlen, "%s: no pair of save and restore was measured in it", path);
	else if (doc)
		result = 0;
	json_decref(doc);
	return result;
}
#else
int sim_costs_read(struct sim_costs *c, const char *path, char *err, size_t errlen)
{
	(void)c;
	snprintf(err, errlen, "%s: this build cannot read JSON, it was made without Jansson", path);
	return -1;
}
#endif

/* Weighed by how live the images of user slots were. */
static struct sim_range mean(const struct sim_range of[REC_LIVES], const struct sim_totals *n)
{
	const uint64_t *slots = &n->live_init_slots;
	struct sim_range sum = { 0, 0 };
	double all = 0;

	for (int i = 0; i < REC_LIVES; i++) {
		sum.low += (double)slots[i] * of[i].low;
		sum.high += (double)slots[i] * of[i].high;
		all += (double)slots[i];
	}
	return all > 0 ? (struct sim_range){ sum.low / all, sum.high / all } : of[REC_SSE];
}

struct sim_range sim_costs_save(const struct sim_costs *c, const struct sim_totals *n)
{
	return mean(c->save, n);
}

struct sim_range sim_costs_load(const struct sim_costs *c, const struct sim_totals *n)
{
	return mean(c->load, n);
}

const char *sim_costs_live(enum rec_live live)
{
	static const char *const names[REC_LIVES] = { "INIT", "SSE", "AVX", "AVX-512", "AMX" };

	return names[live];
}

enum rec_live sim_costs_stand_in(const struct sim_costs *c, enum rec_live live)
{
	int i = (int)live;

	while (i >= 0 && !(c->priced >> i & 1))
		i--;
	for (; i < 0; i = (int)live)
		while (live < REC_AMX && !(c->priced >> live & 1))
			live++;
	return (enum rec_live)i;
}

#define PRICES 6

static void price_list(const struct sim_costs *c, const struct sim_totals *n,
		       struct sim_range out[PRICES])
{
	out[0] = sim_costs_save(c, n);
	out[1] = sim_costs_load(c, n);
	out[2] = c->trap;
	out[3] = c->ts;
	out[4] = c->interrupt;
	out[5] = c->init_read;
}

static void count_list(const struct lane_counts *n, double out[PRICES])
{
	out[0] = (double)(n->n.saves + n->n.kernel_saves);
	out[1] = (double)(n->n.loads + n->n.clears);
	out[2] = (double)n->n.traps;
	out[3] = (double)n->ts_writes;
	out[4] = (double)n->interrupts;
	out[5] = (double)n->init_reads;
}

struct sim_range sim_costs_of(const struct sim_costs *c, const struct sim_totals *n,
			      const struct lane_counts *counts, double clears)
{
	struct sim_range price[PRICES], sum = { clears * c->clear.low, clears * c->clear.high };
	double count[PRICES];

	price_list(c, n, price);
	count_list(counts, count);
	for (int i = 0; i < PRICES; i++) {
		sum.low += count[i] * price[i].low;
		sum.high += count[i] * price[i].high;
	}
	return sum;
}

struct sim_range sim_costs_between(const struct sim_costs *c, const struct sim_totals *n,
				   const struct lane_counts *a, const struct lane_counts *b)
{
	struct sim_range price[PRICES], sum = { 0, 0 };
	double ca[PRICES], cb[PRICES];

	price_list(c, n, price);
	count_list(a, ca);
	count_list(b, cb);
	for (int i = 0; i < PRICES; i++) {
		const double d = ca[i] - cb[i];

		sum.low += d * (d > 0 ? price[i].low : price[i].high);
		sum.high += d * (d > 0 ? price[i].high : price[i].low);
	}
	return sum;
}

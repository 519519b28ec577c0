/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of a report. Each looks through all results for what it can show, and shows nothing
 * when there is none; report_write() puts them in order.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "read/results.h"
#include "report/html.h"

/* What a save, a restore, a first-use trap and a change of CR0.TS are taken to cost, cycles. */
struct report_costs {
	double save, restore, trap, ts;
	char from[160]; /* where save and restore come from, in words */
	double pair_ns; /* a save and a restore measured here; NAN: not known */
};

struct report {
	struct results results;
	struct report_costs costs;
	struct page page;
};

/**
 * report_write() - the whole page.
 *
 * Return: false when memory is short.
 */
bool report_write(struct report *r, FILE *out);

/**
 * report_is() - is this result of that schema and kind? @kind NULL: any.
 */
bool report_is(const struct result *result, const char *schema, const char *kind);

/**
 * report_bench() - the next xstate.bench/1 document of a kind, from @from on; results.n when none
 * is left.
 */
size_t report_bench(const struct report *r, const char *kind, size_t from);

/**
 * report_machine() - a result's CPU in a few words; when there are several results, the file and
 * which of the runs in it. @result is one of @r's.
 */
void report_machine(const struct report *r, const struct result *result, char *buf, size_t size);

/**
 * report_fold() - when there are many runs of a kind, each lies behind a line to open it.
 * @begin: the line; else what ends it.
 */
#define REPORT_FEW 4 /* runs that each are said and shown for themselves */
void report_fold(struct report *r, const struct result *result, bool begin);

/**
 * report_costs_find() - from a cost table among the results, else figures on record.
 */
void report_costs_find(struct report *r);

/**
 * report_work() - cycles that a lab's counts cost by @costs: the three parts of a bar.
 * @policy: its name decides whether switches pay for CR0.TS.
 */
void report_work(const struct report_costs *costs, const json_t *counts, const char *policy,
                 double part[3]);

/**
 * report_sweep() - how many results from @first on are one sweep of a made-up workload; 1: it is
 * none.
 */
size_t report_sweep(const struct report *r, size_t first);

/**
 * report_workload() - what to call a result of xstate sim: its file, and which of several in it.
 */
void report_workload(const struct report *r, size_t i, char *buf, size_t size);

/**
 * report_words() - what a result of xstate sim says in words, a paragraph each; first what its trace
 * lacks.
 * @much: LEAST: the verdict and what it is worth; BRIEF: what was asked; ALL.
 */
enum report_much { REPORT_LEAST, REPORT_BRIEF, REPORT_ALL };
void report_words(const struct result *result, FILE *out, enum report_much much);

/**
 * report_fleet() - the sentences in brief about many hosts: those joined, and, when they are too
 * many for a sentence each, those that are not.
 *
 * Return: true when no run of bench switch needs a sentence of its own any more.
 */
bool report_fleet(struct report *r);

/* The sections, in order. */
void part_brief(struct report *r);
void part_lab(struct report *r);
void part_break_even(struct report *r);
void part_sim(struct report *r);
void part_effects(struct report *r);
void part_costs(struct report *r);
void part_merge(struct report *r);
void part_share(struct report *r);
void part_trust(struct report *r);
void part_samples(struct report *r);
void part_history(struct report *r);
void part_machines(struct report *r);

#endif

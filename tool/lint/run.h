/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run over many files: sweep them all, keep those that matter, judge these together.
 */
#ifndef LINT_RUN_H
#define LINT_RUN_H

#include "lint/graph.h"

struct lint_applied {
	const char *kind; /* "owner" */
	const char *name;
	const char *reason;
	unsigned times;
};

struct lint_run {
	struct lint_conf *conf;
	const char *profile;   /* NULL: chosen by what the files are */
	const char *config;    /* NULL: none */
	const char *debug_dir; /* where separate debug files are, NULL: the usual places */
	unsigned threads;
	bool lines;

	/* Filled in by lint_run(): */
	struct lint_object **obj; /* those that matter */
	size_t nobj;
	struct lint_graph *graph;
	struct lint_failure *failed;
	size_t nfailed;
	uint64_t objects, insns, code_bytes, fp_insns; /* over all objects */
	bool guessed;         /* the profile was chosen by a file's kernel */
	size_t other_kernels; /* files of kernels that another profile is for */
};

/**
 * lint_run() - check @n files.
 *
 * Files that cannot be read are in run->failed; the others are judged all the same.
 *
 * Return: false with a sentence in @why when nothing could be judged.
 */
bool lint_run(struct lint_run *run, char **paths, size_t n, char *why, size_t why_bytes);
void lint_run_free(struct lint_run *run);

/**
 * lint_lines() - source lines of all findings, where debug information is at hand.
 */
void lint_lines(struct lint_run *run);

/* What the summary of one object holds. */
struct lint_row {
	const struct lint_object *obj;
	uint64_t fp_insns, state_insns;
	uint32_t fp;                               /* FP_ bits over all its functions */
	size_t begins, ends;                       /* calls */
	uint32_t need;                             /* over all sections */
	size_t exact, under, over, unknown, empty; /* sections by verdict */
	size_t errors, warnings, notes;            /* findings, known ones not counted */
	size_t answer_functions[ANSWERS];
	uint64_t answer_insns[ANSWERS];
};

/**
 * lint_rows() - summaries of all objects of a run, malloc'd.
 */
struct lint_row *lint_rows(const struct lint_run *run);

void lint_families_text(uint32_t fp, char *buf, size_t bytes);

/**
 * lint_needs_text() - "x87|MXCSR", or "nothing".
 */
void lint_needs_text(uint32_t need, char *buf, size_t bytes);

/* What the output says besides findings. */
struct lint_show {
	bool notes;           /* list notes one by one */
	const char *baseline; /* NULL: none */
	size_t fixed;         /* entries of the baseline that no longer occur */
};

void lint_print_text(const struct lint_run *run, const struct lint_show *show);
void lint_print_json(const struct lint_run *run, const struct lint_show *show);
void lint_print_sarif(const struct lint_run *run, const struct lint_show *show);

#endif

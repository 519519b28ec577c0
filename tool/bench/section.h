/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of `xstate bench kernel`: what the begin and end of an in-kernel section cost, by the library in
 * user mode and as kernels did it, and what is left of a RAID parity's speed with one section a block.
 */
#ifndef TOOL_BENCH_SECTION_H
#define TOOL_BENCH_SECTION_H

#include <stddef.h>

#include "session.h"
#include "stats/series.h"

#define SECTION_BLOCK 4096u
#define SECTION_SOURCES 4u

typedef void xor_fn(void *to, const void *const from[SECTION_SOURCES], unsigned sources,
		    unsigned long bytes);
/* lab/xor.S */
xor_fn xor_avx, xor_sse_prefetch, xor_sse;

/* What the snippets find at R15; they know the offsets. */
struct section_call {
	void *cpu;
	void *in_place; /* the library's note of what is in place */
	void (*step)(const struct section_call *call); /* a section, or a block with one or without */
	xor_fn *work;
	void *to;
	const void *const *from;
	uint64_t sources;
	uint32_t mxcsr; /* at 56 */
};
_Static_assert(offsetof(struct section_call, mxcsr) == 56, "snip.def");

struct section_user;

/**
 * section_user_open() - a CPU of the library whose registers are the kernel's.
 *
 * Extended registers are lost.
 *
 * Return: NULL and a clause in @why when it does not come up here.
 */
struct section_user *section_user_open(const char **why);
void section_user_close(struct section_user *u);
/* Fills the part of @call that is the library's. */
void section_user_call(struct section_user *u, struct section_call *call);
/* An empty section that declares @need; NULL for a need that no row has. */
void (*section_pair_of(unsigned need))(const struct section_call *call);
/* One block without a section, with one that declares nothing, and with one that declares MXCSR: the
 * short path is inline, as in a kernel. */
void section_block_none(const struct section_call *call);
void section_block_0(const struct section_call *call);
void section_block_mxcsr(const struct section_call *call);
/* Counters so far: sections, FNINIT, MXCSR loads, saves. */
void section_user_counters(const struct section_user *u, uint64_t out[4]);

enum section_sort { SECTION_PAIR, SECTION_XOR };

/* One thing that is measured. */
struct section_what {
	const char *id, *name;
	enum section_sort sort;
	unsigned need;  /* of the library's section */
	bool library;   /* with begin and end of ours */
	bool in_place;  /* initial values are in place */
	enum snip old;  /* what kernels did instead */
	xor_fn *work;
	const char *way;
	unsigned sources;
	bool avx;
	const char *base; /* id of the row that a throughput is compared with */
};

#define SECTION_ROWS_MAX 48
#define SECTION_PER_LOOP 8u

struct section_row {
	struct section_what what;
	const char *skipped;
	uint32_t arm;
	struct section_call *call;
	struct stats_spread cycles;
	struct stats_estimate middle;     /* cycles */
	struct stats_estimate throughput; /* logarithm, against the same without a section */
};

enum section_ruling { SECTION_REACHED, SECTION_MISSED, SECTION_UNDECIDED, SECTION_NOT_MEASURED };
extern const char *const section_ruling_name[4];

struct section_goal {
	const char *id, *text, *row;
	double limit;
	bool at_least; /* a throughput; else cycles, at most */
};
#define SECTION_GOALS 4
extern const struct section_goal section_goal[SECTION_GOALS];

/* What was on record before: MB/s of the three ways. */
struct section_record {
	const char *what;
	unsigned avx, prefetch, sse;
};
#define SECTION_RECORDS 3
extern const struct section_record section_record[SECTION_RECORDS];
#define SECTION_RECORD_HOST "E3-1280 v2 (Ivy Bridge), 2021"

struct section_run {
	struct bench_session s;
	struct section_user *user;
	struct section_row row[SECTION_ROWS_MAX];
	uint32_t rows;
	struct section_call *calls; /* one a row, and the blocks behind them */
	uint8_t *blocks;
	uint64_t counters[4];
};

bool section_prepare(struct section_run *run, const char **why);
bool section_analyse(struct section_run *run);
const struct section_row *section_row_of(const struct section_run *run, const char *id);
enum section_ruling section_rule(const struct section_run *run, const struct section_goal *goal);
bool section_missed(const struct section_run *run);
void section_close(struct section_run *run);
void section_json(const struct section_run *run, struct jw *w);
void section_print(const struct section_run *run, FILE *out);

#endif

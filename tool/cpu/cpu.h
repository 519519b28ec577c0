/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of `xstate cpu`, one file each; cmd_cpu.c reads the command line and calls one of them.
 * Each returns an exit status.
 */
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "read/cpu.h"
#include "ui/json.h"

#define CPU_CMD "xstate cpu"

/* What the command line asked for. */
struct cpu_request {
	bool xcr0_given, xss_given;
	uint64_t xcr0, xss;
	const char *prefix; /* --c-header */
	/* --footprint; 0: find out on this machine */
	uint64_t base_bytes, slab_order, align_bytes, tasks;
	bool order_given;
	const char *costs; /* --guest-state: a built-in table or a file; NULL: by the CPU's vendor */
};

#define CPU_TASKS_DEFAULT 10000

/* printf for people of what may come from a file: no terminal escape gets through. */
void cpu_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Print one CPU in full (show.c): people get a table, programs a line of JSON. */
void cpu_show(const struct cpu_source *src);
void cpu_show_json(const struct cpu_source *src);
/* Print many, one row each. */
struct table;
struct table *cpu_rows_begin(void);
void cpu_rows_add(struct table *t, const struct cpu_source *src);

int cpu_profile(const struct cpu_source *src, const struct cpu_request *req);
int cpu_diff(const struct cpu_source *a, const struct cpu_source *b);
int cpu_baseline(const struct cpu_source *srcs, unsigned count);
int cpu_leaves(const struct cpu_source *src, const struct cpu_request *req);
int cpu_audit(const struct cpu_source *src);
int cpu_c_header(const struct cpu_source *src, const struct cpu_request *req);
int cpu_footprint(const struct cpu_source *src, const struct cpu_request *req);
int cpu_guest_state(const struct cpu_source *src, const struct cpu_request *req);

/* The structure that holds a task's state, as asked for or as this machine says (footprint.c). */
struct slab;
int cpu_find_slab(const struct cpu_request *req, struct slab *s);

/* One caveat with its evidence (findings.c). */
struct finding {
	uint32_t caveat;    /* enum xst_caveat */
	uint64_t components; /* the components it is about; 0: the CPU as a whole */
	uint32_t leaf, subleaf;
	char reg[12]; /* "ECX", "EAX[4]"; "" when no single number tells */
	uint64_t got, want;
	bool has_want;
	char hint[160]; /* what it looks like: "the sum of a CPU that also has 17, 18"; or "" */
};

#define FINDINGS_MAX 128

/* Everything odd about @src. @each: one finding per component, and the exhaustive checks too. */
unsigned cpu_findings(const struct cpu_source *src, bool each, struct finding *out);
/* "sum-standard: the standard size ... (leaf 0xd.0 ECX is 11008, want 2688; ...)" */
void cpu_finding_text(const struct finding *f, char *buf, size_t size);

/* XCR0 and IA32_XSS in force, as the sums imply (inforce.c): what must be, what may be enabled. */
struct in_force {
	unsigned xcr0_count, xss_count; /* masks that fit; 0: none does */
	uint64_t xcr0_all, xcr0_any;    /* intersection and union of those */
	uint64_t xss_all, xss_any;
	bool unaligned; /* no mask fits, but one would if 64-byte alignment were forgotten */
};

void cpu_in_force(const struct cpu_source *src, bool with_xss, struct in_force *f);

/* Small words (words.c). */
const char *cpu_comp_name(unsigned id, char buf[16]);
/* "AVX PKRU", "none" */
const char *cpu_mask_names(uint64_t mask, char *buf, size_t size);
const char *cpu_title(const struct cpu_source *src, char *buf, size_t size);
/* XCR0 legal for this source with everything in it that excludes nothing: its user components. */
uint64_t cpu_user_mask(const struct cpu_source *src);
/* Bytes that a signal frame with @area_bytes of state needs on its stack; see words.c. */
uint32_t cpu_signal_stack_bytes(uint32_t area_bytes);

#endif

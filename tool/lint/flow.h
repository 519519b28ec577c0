/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of flow share: the instructions of one function, and the state of a path. */
#ifndef LINT_FLOW_H
#define LINT_FLOW_H

#include "lint/env.h"
#include "lint/graph.h"

#define STATES_MAX  24 /* protocol states kept apart at one place */
#define WIDEN_AFTER 4  /* joins at one place before ranges are given up */
#define STEPS_MAX   4000000
#define FRAGMENTS   2
#define MEMO_MAX    4096

enum base { BASE_ENTRY, BASE_IN, BASE_ENDED, BASE_RELEASED };

struct proto {
	uint8_t base;
	uint8_t nest;
	uint8_t set;    /* NEED_ bits that the code itself has established */
	uint8_t site;   /* of base IN */
	uint8_t nested; /* site of the outermost nestable begin */
};

struct state {
	struct proto p;
	struct env env;
	uint32_t joins;
	bool todo;
};

struct block {
	struct state *list[STATES_MAX];
	uint32_t n;
};

struct fragment {
	uint32_t node;
	uint32_t sec, off, size;
	uint32_t first;  /* index of its first instruction */
	uint32_t *index; /* offset to instruction + 1 */
};

struct flow {
	struct lint_graph *g;
	struct lint_node *n;
	uint32_t id;
	bool emit, quiet;
	struct fragment frag[FRAGMENTS];
	uint32_t nfrag;
	struct lint_insn *insn;
	uint8_t *mark;    /* MARK_ bits of each instruction */
	uint32_t *leader; /* instruction to block + 1 */
	uint32_t ninsn;
	struct block *block;
	uint32_t nblock;
	uint32_t *work;
	uint32_t nwork, work_cap;
	uint64_t steps;
	bool over;
	/* results */
	uint32_t sum, need, fp, set_exits;
	bool exited;
	uint32_t first_use, uses, first_end;
	struct lint_site *site;
	uint32_t nsite;
	uint8_t *used[255];       /* of each site: which FP instructions were counted, bit by bit */
	struct state *table_jump; /* states at a computed jump */
	uint32_t ntable_jump;
};

enum {
	MARK_EXTRA = 1, /* has edges that the instruction does not show */
	MARK_FALLS = 2, /* a jump that may be patched into nothing */
	MARK_RELOC = 4, /* an immediate or displacement is relocated */
	MARK_SEEN = 8,
	MARK_USED = 16, /* counted among the uses as entered */
	MARK_WARN = 32, /* a trap that execution continues after */
};

enum after { AFTER_GO, AFTER_STOP, AFTER_RETURN };

/* The function's code, decoded and with its edges (flow_code.c). */
bool flow_prepare(struct flow *f);
uint32_t flow_insn_at(const struct flow *f, uint32_t sec, uint32_t off);
const struct fragment *flow_fragment(const struct flow *f, uint32_t i);
const char *flow_mnemonic(const struct flow *f, uint32_t i);

/* Where the code ends that alternatives replace from instruction @i on. */
uint32_t flow_replaced_end(const struct flow *f, uint32_t i);

/* First entry at or behind a place in a list whose items begin with section and offset. */
size_t flow_place(const void *list, size_t n, size_t item, uint32_t sec, uint32_t off);

/* What instructions, calls and returns do to the protocol state (flow_protocol.c). */
void flow_use_fp(struct flow *f, uint32_t i, struct proto *p);
enum after flow_call(struct flow *f, uint32_t i, const struct lint_link *l, struct proto *p,
                     struct env *env, bool jump);
void flow_indirect(struct flow *f, uint32_t i, struct proto *p);
void flow_leave(struct flow *f, uint32_t i, const struct proto *p, const struct env *env);
bool flow_inner_jump(const struct env *env);
uint32_t flow_link_first(const struct flow *f, uint32_t i);
const struct lint_link *flow_link(const struct flow *f, uint32_t i);
const struct lint_role *flow_role(const struct flow *f, const struct lint_link *l);

#endif

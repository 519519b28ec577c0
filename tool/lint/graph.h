/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All functions of all objects given, who calls whom, and what each function asks of its
 * callers. Nodes are functions; links are calls and jumps from one to another.
 */
#ifndef LINT_GRAPH_H
#define LINT_GRAPH_H

#include "lint/conf.h"
#include "lint/decode.h"
#include "lint/finding.h"
#include "lint/object.h"

#define NO_NODE UINT32_MAX

/* What a caller must know of a function. */
enum lint_sum {
	SUM_REQUIRES = 1 << 0, /* uses FP as entered: the caller must be in a section */
	SUM_STATE = 1 << 1,    /* the same, by instructions that manage the state */
	SUM_BEGINS = 1 << 2,   /* begins a section as entered: the caller must not be in one */
	SUM_ENDS = 1 << 3,     /* may end its caller's section */
	SUM_LEAVES = 1 << 4,   /* may return with its caller's section ended */
	SUM_KEEPS = 1 << 5,    /* may return with it as it was */
	SUM_SETS_X87 = 1 << 6, /* sets the x87 control state whichever way it returns */
	SUM_SETS_MXCSR = 1 << 7,
	SUM_INDIRECT = 1 << 8, /* calls through a pointer as entered */
	SUM_LIMIT = 1 << 9,
	SUM_BEGINS_VIA = 1 << 10, /* calls a function that begins a section as entered */
};

/* In which states a call is made. */
enum lint_seen { SEEN_ENTRY = 1, SEEN_IN = 2, SEEN_OUT = 4 };

/* A name that some object leaves undefined. */
struct lint_extern {
	const char *name;
	uint32_t node; /* where it is defined, or NO_NODE */
	struct lint_role *role;
	struct lint_extern *next;
};

struct lint_link {
	uint32_t off;            /* of the instruction, in its section */
	uint32_t node;           /* callee, or NO_NODE */
	struct lint_extern *ext; /* when it is not defined in the same object */
	uint8_t kind;            /* enum lint_event_kind: EV_CALL, EV_JUMP or EV_INDIRECT */
	uint8_t seen;            /* SEEN_ bits */
	bool alt;                /* made by code that may be patched in here */
	uint32_t from;           /* the node it belongs to */
	uint32_t next_caller;    /* next link to the same node */
};

enum lint_verdict {
	VERDICT_NONE,
	VERDICT_EXACT,
	VERDICT_UNDER,
	VERDICT_OVER,
	VERDICT_UNKNOWN,
	VERDICT_EMPTY
};

/* A section: one begin and all that runs until its end. */
struct lint_site {
	uint32_t off;
	uint32_t pair;
	int mask;       /* declared; -1: not a constant */
	uint32_t need;  /* NEED_ bits */
	uint32_t fp;    /* FP_ bits */
	uint32_t insns; /* FP instructions in the function itself */
	bool calls_fp;
	bool indirect; /* something in it is reached through a pointer nobody resolved */
	bool unknown;  /* holds instructions whose needs are unknown */
	enum lint_verdict verdict;
	bool external; /* calls functions that are in none of the files */
};

struct lint_node {
	struct lint_object *obj;
	uint32_t func;
	uint32_t whole;   /* the function that this is the cold part of, else itself */
	uint32_t cold;    /* its cold part, or NO_NODE */
	uint32_t instead; /* of a weak function: the one that the linker takes, or NO_NODE */
	struct lint_role *role;
	uint32_t link, nlink; /* in lint_graph.link */
	uint32_t callers;     /* first link to it; UINT32_MAX: none */
	bool protocol;        /* calls begins or ends itself */
	bool queued, analysed;
	bool out; /* may be entered outside any section */
	uint32_t sum;
	uint32_t need; /* NEED_ bits of what it uses as entered */
	uint32_t fp;
	uint32_t version;         /* counts changes of the summary */
	uint32_t first_use, uses; /* FP used as entered: where first, how many instructions */
	uint32_t first_end;
	struct lint_site *site;
	size_t nsite;
};

struct lint_graph {
	struct lint_conf *conf;
	struct lint_object **obj;
	size_t nobj;
	uint32_t *base; /* first node of each object */
	struct lint_node *node;
	size_t nnode;
	struct lint_link *link;
	size_t nlink;
	struct lint_extern **bucket;
	size_t nbucket;
	struct lint_findings found;
	struct lint_flow_memo *memo;
	size_t resolved; /* functions reached through pointers that are called in sections only */
	uint64_t flows;  /* functions followed, again and again counted */
};

/**
 * lint_graph_new() - build the graph of @nobj swept objects and let summaries settle.
 *
 * Return: NULL when memory ran out.
 */
struct lint_graph *lint_graph_new(struct lint_conf *conf, struct lint_object **obj, size_t nobj);

/**
 * lint_graph_check() - find what is wrong, into graph->found.
 *
 * Return: false when memory ran out: what was found is not all.
 */
bool lint_graph_check(struct lint_graph *g);
void lint_graph_free(struct lint_graph *g);

static inline struct lint_func *lint_node_func(const struct lint_node *n)
{
	return &n->obj->func[n->func];
}

static inline const char *lint_node_name(const struct lint_node *n)
{
	return lint_node_func(n)->name;
}

/* The state of one function's own use of FP, for the table: who answers for it. */
enum lint_answer {
	ANSWER_NONE,
	ANSWER_SELF,
	ANSWER_DIRECT,
	ANSWER_EXPORTED,
	ANSWER_POINTER,
	ANSWER_NOCALLER,
	ANSWER_OWNER,
	ANSWERS
};

/**
 * lint_graph_answer() - who answers for the FP use of a function.
 */
enum lint_answer lint_graph_answer(const struct lint_graph *g, uint32_t node);

/**
 * lint_flow() - follow all paths of one function and renew its summary.
 * @emit: also note findings.
 *
 * Return: whether the summary changed.
 */
bool lint_flow(struct lint_graph *g, uint32_t node, bool emit);

/* What a call with these constant arguments asks of its caller. */
uint32_t lint_flow_with(struct lint_graph *g, uint32_t node, const uint64_t *args, unsigned known);
void lint_flow_forget(struct lint_graph *g);

/**
 * lint_finding_at() - a finding with the place filled in.
 */
struct lint_finding lint_finding_at(const struct lint_graph *g, enum lint_rule rule, uint32_t node,
                                    uint32_t off);

#endif

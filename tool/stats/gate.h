/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * May this run decide anything? A run carries its own proof: an arm that is the base again and
 * must differ by nothing, arms with a known dose that must be found, and figures of noise. If one
 * of them is wrong the answer is a refusal with its reason, never a winner.
 */
#ifndef TOOL_STATS_GATE_H
#define TOOL_STATS_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "series.h"

/* Figures of noise, as shares unless said otherwise. NAN, not known, is a reason to
 * refuse: quiet has to be shown. */
struct stats_noise {
	double throughput_spread; /* canary limited by throughput: interquartile range / median */
	double latency_spread;    /* canary limited by latency: the same */
	double dropped;           /* samples that do not count */
	double steal;             /* CPUs' worth the hypervisor took */
	double waiting;           /* time we waited for a CPU */
	double others;            /* CPUs' worth of other programs */
	double lag1;              /* largest correlation of neighbouring differences */
};

/* Up to which noise a claim is answered; docs/measuring.md has the reasons. */
extern const struct stats_noise stats_noise_limits;

/* An arm whose true effect is known. All in logarithms of the ratio to the base. */
struct stats_control {
	const char *name;
	double truth; /* 0 for the base itself again */
	struct stats_estimate estimate;
};

enum stats_ruling {
	STATS_RESOLVED,
	STATS_REFUSED_SHORT,   /* too few blocks, or interrupted */
	STATS_REFUSED_NOISE,   /* a figure of noise is beyond its limit */
	STATS_REFUSED_POWER,   /* the minimum detectable effect exceeds the claim */
	STATS_REFUSED_CONTROL, /* a control was not found where it is */
	STATS_REFUSED_UNSEEN   /* a dose of the claimed size was not told from nothing */
};

struct stats_verdict {
	enum stats_ruling ruling;
	double mde;       /* largest of the controls', a relative difference */
	char reason[256]; /* one sentence, for every ruling */
};

/**
 * stats_control_ok() - is a control's truth inside its interval?
 * @c:	   the control.
 * @among: how many controls are looked at together, at least 1. The intervals are widened so
 *	   that all of them hold at once with 95 % (Bonferroni): three controls judged each at 95 %
 *	   would refuse one good run in seven.
 */
bool stats_control_ok(const struct stats_control *c, size_t among);

/**
 * stats_control_word() - what a control says, in words: "found", "not found", "not resolved" (its
 * truth is in the interval, but so is 0: such a dose is not told from nothing), "too few blocks".
 * @among: as above.
 */
const char *stats_control_word(const struct stats_control *c, size_t among);

/**
 * stats_gate() - may an effect of size @claim be decided from this run?
 * @noise:    its figures.
 * @controls: the base again and doses; at least one of each for a useful answer.
 * @n:	      how many.
 * @claim:    relative size, 0.002 for 0.2 %.
 * @complete: false when the run ended before the planned number of blocks.
 * @out:      the ruling and its reason.
 */
void stats_gate(const struct stats_noise *noise, const struct stats_control *controls, size_t n,
		double claim, bool complete, struct stats_verdict *out);

#endif

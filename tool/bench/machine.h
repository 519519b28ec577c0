/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a result must say about the machine it comes from, so that two results can be compared
 * years later.
 */
#ifndef TOOL_BENCH_MACHINE_H
#define TOOL_BENCH_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <xst/caps.h>

#include "ui/json.h"

#define MACHINE_MITIGATIONS 40

struct bench_machine {
	char cpu[49], vendor[13];
	unsigned family, model, stepping;
	char microcode[24];
	char kernel[200];    /* release and version */
	char hypervisor[13]; /* CPUID's name for it; "" when there is none */
	char clocksource[24];
	char date[24]; /* UTC, ISO 8601 */
	char boot[40]; /* the kernel's id of the time since it started, or "" */
	unsigned cpus;
	bool tsc_invariant;
	struct {
		char name[32], text[120];
	} mitigation[MACHINE_MITIGATIONS];
	unsigned mitigations;
};

/**
 * machine_read() - ask the CPU and the kernel.
 * @caps: what CPUID said.
 */
void machine_read(const struct xst_caps *caps, struct bench_machine *out);

/**
 * machine_json() - write it as the object "machine".
 * @tick_hz: of the time stamp counter, as measured.
 */
void machine_json(const struct bench_machine *m, double tick_hz, struct jw *w);

/**
 * machine_print() - the same for people, a few lines.
 */
void machine_print(const struct bench_machine *m, double tick_hz, FILE *out);

#endif

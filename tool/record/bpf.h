/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recording with programs inside the kernel, events.bpf.c: without perf, and with an answer whether
 * a slot used the registers, since saved images are compared.
 */
#ifndef RECORD_BPF_H
#define RECORD_BPF_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "read/trace.h"

struct bpf_recorder;

/**
 * bpf_recorder_open() - the programs are loaded and run from here on.
 * @buffer: bytes for events that wait to be taken, a power of two; 0: as many as should do.
 * @why: out, on failure: why this machine cannot, half a sentence.
 *
 * Return: NULL when it cannot: no root, a kernel without BTF, without the x86_fpu tracepoints or
 * before 6.2, a CPU without XSAVE, or no memory.
 */
struct bpf_recorder *bpf_recorder_open(uint32_t buffer, char *why, size_t size);

/**
 * bpf_recorder_run() - run @command and give all events until its end to @sink.
 * @stopped: not 0: end it. @status: out, the command's exit status.
 *
 * Return: 0; -1 when the command could not be started (@status is an errno) or @sink wants no more.
 */
int bpf_recorder_run(struct bpf_recorder *r, char **command, const struct trace_sink *sink,
		     const volatile sig_atomic_t *stopped, int *status);
void bpf_recorder_close(struct bpf_recorder *r);

#endif

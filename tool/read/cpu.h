/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "CPU" on a command line: this host, a CPUID dump in any known format, or our own JSON. One
 * function reads them all; what comes out is the same plain data.
 */
#ifndef READ_CPU_H
#define READ_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xst/caps.h>

enum cpu_format {
	CPU_HOST,
	CPU_CPUID_R,     /* cpuid -r */
	CPU_INSTLATX64,  /* InstLatx64 and AIDA64 text; the head of libcpuid's tests */
	CPU_LIBCPUID,    /* libcpuid raw: basic_cpuid[0]=... */
	CPU_FIRECRACKER, /* fingerprint or template JSON */
	CPU_JSON,        /* xstate.cpu/1 */
};

#define CPU_REMARKS_MAX 8

struct cpu_source {
	const char *source; /* as it was asked for */
	enum cpu_format format;
	struct xst_caps caps;         /* of the first logical CPU */
	struct xst_caps_extra extra;  /* what the source knew beyond CPUID */
	struct xst_cpuid_leaf *leaves; /* its CPUID, as read */
	size_t leaf_count;
	unsigned cpus;       /* logical CPUs that the source describes */
	bool enabled_known;  /* host only: XCR0 in force was read */
	uint64_t xcr0_enabled;
	unsigned minsigstksz; /* host only: the kernel's own number, 0 = unknown */
	/* What is odd about the source itself, in words: unknown bits, CPUs that disagree. */
	char remarks[CPU_REMARKS_MAX][160];
	unsigned remark_count;
};

/**
 * read_cpu() - read the CPU that @spec names.
 * @spec:   "host", a path ("-" is standard input), its format being detected.
 * @out:    out; release with read_cpu_free(), also after an error.
 * @err:    out, one sentence without a full stop on error.
 * @errlen: bytes at @err.
 *
 * Return: 0, or -1 when @spec is unreadable, no dump, or one that is damaged.
 */
int read_cpu(const char *spec, struct cpu_source *out, char *err, size_t errlen);

/**
 * read_cpu_text() - the same from @len bytes at @text; @spec only names them.
 */
int read_cpu_text(const char *spec, const char *text, size_t len, struct cpu_source *out,
		  char *err, size_t errlen);

void read_cpu_free(struct cpu_source *src);

/**
 * cpu_format_name() - what people call @format.
 */
const char *cpu_format_name(enum cpu_format format);

#endif

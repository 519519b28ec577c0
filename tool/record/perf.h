/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording with perf: where programs inside the kernel cannot, or where perf's own file is wanted. */
#ifndef RECORD_PERF_H
#define RECORD_PERF_H

#include <stdbool.h>
#include <stdint.h>

/**
 * perf_record() - run @command and record all CPUs until its end, or until a signal (record/stop.h).
 * @cmd: as errors call it. @data: perf's file, which is there. @words: of @command.
 * @buffer_kib: for each CPU; 0: as much as should do.
 * @sections: out, the kernel's own sections will be seen in it.
 *
 * Return: 0, or the exit status, and what is wrong was said.
 */
int perf_record(const char *cmd, const char *data, char **command, int words, uint64_t buffer_kib,
		bool *sections);

#endif

// SPDX-License-Identifier: BSD-2-Clause
/* Names of kernel threads and of programs, from programs.def. */
#include "sim/programs.h"

#include <stddef.h>
#include <string.h>

static const char *const kernel_prefixes[] = {
#define KTHREAD(prefix) prefix,
#include "sim/programs.def"
};

static const char *const sigchld[] = {
#define SIGCHLD_BY(name) name,
#include "sim/programs.def"
};

bool program_is_kernel(const char *name)
{
	for (size_t i = 0; i < sizeof(kernel_prefixes) / sizeof(kernel_prefixes[0]); i++)
		if (!strncmp(name, kernel_prefixes[i], strlen(kernel_prefixes[i])))
			return true;
	return false;
}

bool program_handles_sigchld(const char *name)
{
	for (size_t i = 0; i < sizeof(sigchld) / sizeof(sigchld[0]); i++)
		if (!strcmp(name, sigchld[i]))
			return true;
	return false;
}

// SPDX-License-Identifier: BSD-2-Clause
/* Our own JSON behind its schema. */
#include "fuzz_cpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_cpu("{\"schema\":\"xstate.cpu/1\",", data, size);
	return 0;
}

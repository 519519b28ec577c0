// SPDX-License-Identifier: BSD-2-Clause
/* Firecracker's JSON from its modifiers on. */
#include "fuzz_cpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_cpu("{\"cpuid_modifiers\":[", data, size);
	return 0;
}

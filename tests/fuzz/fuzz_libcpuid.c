// SPDX-License-Identifier: BSD-2-Clause
/* libcpuid's raw format behind a first leaf, so that the format is settled. */
#include "fuzz_cpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_cpu("basic_cpuid[0]=0000000d 756e6547 6c65746e 49656e69\n", data, size);
	return 0;
}

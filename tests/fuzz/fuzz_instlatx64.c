// SPDX-License-Identifier: BSD-2-Clause
/* InstLatx64/AIDA64 text behind a first leaf, so that the format is settled. */
#include "fuzz_cpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_cpu("CPUID 00000000: 0000000D-756E6547-6C65746E-49656E69\n", data, size);
	return 0;
}

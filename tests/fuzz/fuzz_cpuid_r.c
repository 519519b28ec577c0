// SPDX-License-Identifier: BSD-2-Clause
/* cpuid -r text behind a first leaf, so that the format is settled. */
#include "fuzz_cpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_cpu("   0x00000000 0x00: eax=0x0000000d ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n", data, size);
	return 0;
}

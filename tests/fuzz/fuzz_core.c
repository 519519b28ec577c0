// SPDX-License-Identifier: BSD-2-Clause
/* ELF cores as bytes: read, decide on a layout, read registers. */
#include "fuzz_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_read(IMAGE_CORE, data, size);
	return 0;
}

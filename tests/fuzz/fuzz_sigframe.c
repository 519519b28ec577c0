// SPDX-License-Identifier: BSD-2-Clause
/* Signal frames, 64- and 32-bit as bytes: read, decide on a layout, read registers. */
#include "fuzz_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_read(IMAGE_FRAME, data, size);
	fuzz_read(IMAGE_FRAME32, data, size);
	return 0;
}

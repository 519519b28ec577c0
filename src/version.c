// SPDX-License-Identifier: BSD-2-Clause
/* Which version was compiled. */
#include <xst/version.h>

uint32_t xst_version(void)
{
	return XST_VERSION;
}

// SPDX-License-Identifier: BSD-2-Clause
/* What compilers call for 64-bit arithmetic in 32-bit mode; the lab links no libgcc. */
#include <stdint.h>

uint64_t __udivmoddi4(uint64_t a, uint64_t b, uint64_t *rest);
uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b);

uint64_t __udivmoddi4(uint64_t a, uint64_t b, uint64_t *rest)
{
	uint64_t quotient = 0, remainder = 0;

	for (unsigned i = 64; i--;) {
		uint64_t carry = remainder >> 63;

		remainder = remainder << 1 | (a >> i & 1);
		if (carry || remainder >= b) {
			remainder -= b;
			quotient |= 1ull << i;
		}
	}
	if (rest)
		*rest = remainder;
	return quotient;
}

uint64_t __udivdi3(uint64_t a, uint64_t b)
{
	return __udivmoddi4(a, b, 0);
}

uint64_t __umoddi3(uint64_t a, uint64_t b)
{
	uint64_t rest;

	__udivmoddi4(a, b, &rest);
	return rest;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers that are all in use at once, while something happens. */
#ifndef LIVE_H
#define LIVE_H

#include <stdint.h>

/* live.S knows the offsets. */
struct live {
	uint8_t vector[32][64]; /* XMM, YMM or ZMM; 16 of them without AVX-512 */
	uint64_t opmask[8];
	uint8_t st[8][16]; /* ten bytes of each */
	uint32_t mxcsr;
	uint16_t fcw;
	uint16_t pad;
};

enum live_level { LIVE_SSE, LIVE_AVX, LIVE_AVX512 };

/* Load @in into the registers, call @middle (which may be NULL, and must preserve them), spin
 * @spins rounds, and store the registers to @out. */
void live_sse(const struct live *in, struct live *out, void (*middle)(void), uint64_t spins);
void live_avx(const struct live *in, struct live *out, void (*middle)(void), uint64_t spins);
void live_avx512(const struct live *in, struct live *out, void (*middle)(void), uint64_t spins);

#endif

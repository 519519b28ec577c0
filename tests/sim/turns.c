// SPDX-License-Identifier: BSD-2-Clause
/*
 * A task that sleeps N times between slots in which it uses the registers, or only has them live.
 *
 *	turns NAME keep|x87|sse|avx|opmask|zmm|hi16 N
 *
 * Between two sleeps nothing but these instructions runs in user mode: no library, no compiler's idea.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

/* nanosleep() without errno, and without a register but the general ones. */
static long sleep_raw(const struct timespec *t)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"((long)SYS_nanosleep), "D"(t), "S"(0L)
			 : "rcx", "r11", "memory");
	return result;
}

/* What one turn does; each changes one component, and the ones below it as little as can be. */
enum kind { KEEP, X87, SSE, AVX, OPMASK, ZMM, HI16, KINDS };

static const char *const names[KINDS] = { "keep", "x87", "sse", "avx", "opmask", "zmm", "hi16" };

static void turn(enum kind kind, int i, const uint64_t value[8])
{
	switch (kind) {
	case X87:
		__asm__ volatile("fld1; faddp" : : : "memory");
		break;
	case SSE:
		__asm__ volatile("paddq %%xmm6, %%xmm6; pinsrw $0, %k0, %%xmm6" : : "r"(i) : "xmm6");
		break;
	case AVX:
		__asm__ volatile("vmovdqu (%0), %%ymm7" : : "r"(value), "m"(value[3]) : "xmm7");
		break;
	case OPMASK:
		__asm__ volatile("kmovw %k0, %%k3" : : "r"(i));
		break;
	case ZMM:
		__asm__ volatile("vmovdqu64 (%0), %%zmm7" : : "r"(value), "m"(value[7]) : "xmm7");
		break;
	case HI16:
		__asm__ volatile("vmovdqu64 (%0), %%zmm20" : : "r"(value), "m"(value[7]));
		break;
	default:
		break;
	}
}

int main(int argc, char **argv)
{
	static const struct timespec pause = { .tv_nsec = 500000 };
	const int turns = argc == 4 ? atoi(argv[3]) : 0;
	uint64_t value[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	enum kind kind = KEEP;

	while (argc == 4 && kind < KINDS && strcmp(argv[2], names[kind]))
		kind++;
	if (kind == KINDS || turns <= 0 || prctl(PR_SET_NAME, argv[1]))
		return 2;
	if ((kind >= AVX && !__builtin_cpu_supports("avx")) ||
	    (kind >= OPMASK && !__builtin_cpu_supports("avx512f")))
		return 77;
	/* Live from here on: the values of xmm6 and of the stack's top. */
	__asm__ volatile("movdqu %0, %%xmm6; fld1" : : "m"(value) : "xmm6");
	for (int i = 1; i <= turns; i++) {
		/* The last word that the component alone has. */
		value[kind == AVX ? 3 : 7]++;
		turn(kind, i, value);
		if (sleep_raw(&pause))
			return 1;
	}
	return 0;
}

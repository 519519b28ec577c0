// SPDX-License-Identifier: BSD-2-Clause
/*
 * A task that sleeps N times between slots in which it uses the registers, or only has them live.
 *
 *	turns NAME keep|x87|sse|avx N
 *
 * Between two sleeps nothing but these instructions runs in user mode, no library and no compiler's idea.
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

int main(int argc, char **argv)
{
	static const struct timespec pause = { .tv_nsec = 500000 };
	const char *how = argc == 4 ? argv[2] : "";
	const int turns = argc == 4 ? atoi(argv[3]) : 0;
	const int kind = !strcmp(how, "keep") ? 0 : !strcmp(how, "x87") ? 1 : !strcmp(how, "sse") ? 2
		       : !strcmp(how, "avx") ? 3 : -1;
	uint64_t value[4] = { 1, 2, 3, 4 };

	if (kind < 0 || turns <= 0 || prctl(PR_SET_NAME, argv[1]))
		return 2;
	if (kind == 3 && !__builtin_cpu_supports("avx"))
		return 77;
	/* Live from here on: the values of xmm6 and of the stack's top. */
	__asm__ volatile("movdqu %0, %%xmm6; fld1" : : "m"(value) : "xmm6");
	for (int i = 0; i < turns; i++) {
		value[3]++;
		if (kind == 1)
			__asm__ volatile("fld1; faddp" : : : "memory");
		else if (kind == 2)
			__asm__ volatile("paddq %%xmm6, %%xmm6; pinsrw $0, %k0, %%xmm6"
					 : : "r"(i) : "xmm6");
		else if (kind == 3)
			__asm__ volatile("vmovdqu %0, %%ymm7" : : "m"(value) : "xmm7");
		if (sleep_raw(&pause))
			return 1;
	}
	return 0;
}

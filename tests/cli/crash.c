// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program with known values in its registers that stops where a core can be taken of it: by the
 * kernel (it aborts itself) or by a debugger (crash wait).
 */
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint8_t pattern[64];

int main(int argc, char **argv)
{
	long pid = getpid();
	long call = argc > 1 && !strcmp(argv[1], "wait") ? SYS_pause : SYS_kill;

	(void)argv;
	for (unsigned i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 3 + 1);
	/* From here to the system call nothing else may touch the registers. */
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512bw"))
		__asm__ volatile("vmovdqu64 %0, %%zmm2\n\tvmovdqu64 %0, %%zmm20\n\t"
				 "kxnorq %%k0, %%k0, %%k3" : : "m"(pattern));
	else if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vmovups %0, %%ymm2" : : "m"(pattern));
	else
		__asm__ volatile("movups %0, %%xmm2" : : "m"(pattern));
	__asm__ volatile("fninit\n\tfld1\n\tfldpi\n\tfldz\n\tsyscall"
			 : "+a"(call) : "D"(pid), "S"(6L) : "rcx", "r11", "memory");
	return (int)call;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptrace's register sets of a live child: the kernel's bytes are ours, what it refuses we refuse, and
 * what was set is what the child has in its registers when it goes on.
 *
 *	t_ptrace [STOPS] [SEED]
 *
 * At each stop the set is read, then written 50 times, mutated: whole, too short, too long, as FPX.
 * Left out of the comparison of bytes are those that no register fills: Linux gives back what
 * it was given there (MXCSR_MASK, six bytes of each ST), we give zeros.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

#define STOPS_DEFAULT 400u
#define WRITES	      50u

void child_loop(const void *before, void *after, uint64_t mask);
__asm__(".text\n"
	".globl child_loop\n"
	"child_loop:\n"
	"	mov %rdx, %r8\n"
	"1:	mov %r8, %rax\n"
	"	mov %r8, %rdx\n"
	"	shr $32, %rdx\n"
	"	xrstor64 (%rdi)\n"
	"	int3\n"
	"	mov %r8, %rax\n"
	"	mov %r8, %rdx\n"
	"	shr $32, %rdx\n"
	"	xsave64 (%rsi)\n"
	"	int3\n"
	"	jmp 1b\n");

static struct host h;
static pid_t child;
static uint8_t *before, *after; /* shared with the child */
static uint8_t set[IMAGE_ROOM], kernels[IMAGE_ROOM], ours[IMAGE_ROOM], saved[IMAGE_ROOM];
static uint64_t stops, writes, taken, refused, fpx_taken, fpx_refused, reads;

static int fail(const char *what)
{
	printf("stop %llu, write %llu: %s\n", (unsigned long long)stops, (unsigned long long)writes,
	       what);
	return -1;
}

static int stopped(void)
{
	int status;

	if (ptrace(PTRACE_CONT, child, 0, 0) || waitpid(child, &status, 0) != child ||
	    !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		return fail("the child did not stop where it should");
	return 0;
}

/* Bytes read, or -1. */
static long kernel_get(unsigned type, void *to, size_t bytes)
{
	struct iovec iov = {to, bytes};

	return ptrace(PTRACE_GETREGSET, child, type, &iov) ? -1 : (long)iov.iov_len;
}

static int kernel_set(unsigned type, const void *from, size_t bytes)
{
	struct iovec iov = {(void *)(uintptr_t)from, bytes};

	return ptrace(PTRACE_SETREGSET, child, type, &iov) ? -errno : 0;
}

/* What no register fills, and the x87 bits of images that never were in one. */
static void clean(uint8_t *p)
{
	unsigned i;

	xst_put64(p, 0, xst_get64(p, 0) & 0x07ff00ffffffffffULL);
	xst_put32(p, XST_OFF_MXCSR_MASK, 0);
	for (i = XST_OFF_ST + 8; i < XST_OFF_XMM; i += 16)
		xst_put64(p, i, xst_get16(p, i));
}

static int same_set(size_t bytes)
{
	clean(kernels);
	clean(ours);
	/* With AVX alone Linux shows what it was given, or what was there before: not what the task
	 * will have, and that is what we show. */
	if (bytes > XST_LEGACY_BYTES &&
	    (xst_get64(kernels, XST_OFF_XSTATE_BV) & (XST_MASK_SSE | XST_MASK_AVX)) == XST_MASK_AVX)
		xst_put32(kernels, XST_OFF_MXCSR, XST_MXCSR_INIT);
	for (size_t i = 0; i < bytes; i++)
		if (kernels[i] != ours[i]) {
			printf("byte %zu: the kernel 0x%02x, we 0x%02x\n", i, kernels[i], ours[i]);
			return fail("the sets differ");
		}
	return 0;
}

static int compare_xstate(void)
{
	const size_t bytes = h.layout.bytes;

	memset(kernels, 0xcc, bytes);
	if (kernel_get(NT_X86_XSTATE, kernels, IMAGE_ROOM) != (long)bytes)
		return fail("the kernel's set has another size");
	if (xst_regset_get(&h.t, XST_REGSET_XSTATE, 0, ours, bytes, NULL) != (int)bytes)
		return fail("our set has another size");
	return same_set(bytes);
}

/* Parts, as ptrace reads them: whole words from the beginning. */
static int compare_parts(void)
{
	const size_t n = 8 * rng_below(&h.rng, h.layout.bytes / 8 + 4);
	long got = kernel_get(NT_X86_XSTATE, kernels, n);

	reads++;
	memset(ours, 0, sizeof(ours));
	if (got != xst_regset_get(&h.t, XST_REGSET_XSTATE, 0, ours, n, NULL))
		return fail("a part has another size");
	for (long i = 0; i < got; i++)
		if (kernels[i] != ours[i] && i >= XST_OFF_XMM)
			return fail("a part differs");
	return 0;
}

/* Write @set, as much as @bytes of it; both verdicts. Negative on disagreement, else accepted? */
static int both_set(unsigned type, enum xst_regset which, size_t bytes)
{
	const size_t whole = (size_t)xst_regset_bytes(&h.sys, h.mask, which, NULL);
	int kernel = kernel_set(type, set, bytes);
	/* The regset layer cuts off what is too long, and wants whole words. */
	int we = bytes % 8
			 ? XST_ERR_INVALID
			 : xst_regset_set(&h.t, which, 0, set, bytes < whole ? bytes : whole, NULL);

	writes++;
	if ((kernel < 0) != (we < 0)) {
		printf("%zu bytes of %zu, XSTATE_BV 0x%llx XCOMP_BV 0x%llx MXCSR 0x%x: the kernel "
		       "%d, "
		       "we %d\n",
		       bytes, whole, (unsigned long long)xst_get64(set, XST_OFF_XSTATE_BV),
		       (unsigned long long)xst_get64(set, XST_OFF_XCOMP_BV),
		       xst_get32(set, XST_OFF_MXCSR), kernel, we);
		return fail("verdicts differ");
	}
	return we == XST_OK;
}

static int write_xstate(void)
{
	size_t bytes = h.layout.bytes;
	int ok;

	memcpy(set, saved, bytes);
	for (uint64_t n = rng_below(&h.rng, 3); n < 2; n++)
		image_mutate(&h.rng, &h.caps, h.sys.xcr0, set);
	/* CPUs differ in what they keep of pointers that are not canonical. */
	xst_put32(set, XST_OFF_FIP + 4, 0);
	xst_put32(set, XST_OFF_FDP + 4, 0);
	if (!rng_below(&h.rng, 10))
		bytes = rng_below(&h.rng, bytes + 64);
	ok = both_set(NT_X86_XSTATE, XST_REGSET_XSTATE, bytes);
	if (ok < 0)
		return -1;
	*(ok ? &taken : &refused) += 1;
	return compare_xstate();
}

static int write_fpx(void)
{
	int ok;

	memcpy(set, saved, XST_LEGACY_BYTES);
	rng_fill(&h.rng, set + XST_OFF_XMM, 256);
	set[rng_below(&h.rng, XST_OFF_MXCSR_MASK)] ^= (uint8_t)(1u << rng_below(&h.rng, 8));
	xst_put32(set, XST_OFF_FIP + 4, 0);
	xst_put32(set, XST_OFF_FDP + 4, 0);
	ok = both_set(NT_PRFPREG, XST_REGSET_FPX, XST_LEGACY_BYTES);
	if (ok < 0)
		return -1;
	*(ok ? &fpx_taken : &fpx_refused) += 1;
	if (kernel_get(NT_PRFPREG, kernels, XST_LEGACY_BYTES) != (long)XST_LEGACY_BYTES ||
	    xst_regset_get(&h.t, XST_REGSET_FPX, 0, ours, XST_LEGACY_BYTES, NULL) !=
		    (int)XST_LEGACY_BYTES)
		return fail("FPX has another size");
	return same_set(XST_OFF_RESERVED) < 0 ? -1 : compare_xstate();
}

static int one_stop(void)
{
	const size_t bytes = h.layout.bytes;
	int err = 0;

	stops++;
	host_random(&h, set);
	memset(set + XST_OFF_RESERVED, 0, XST_OFF_XSTATE_BV - XST_OFF_RESERVED);
	memcpy(before, set, IMAGE_ROOM);
	if (stopped() < 0)
		return -1;
	/* The child's own registers, as the kernel has them: taken and given back. */
	if (kernel_get(NT_X86_XSTATE, saved, IMAGE_ROOM) != (long)bytes)
		return fail("the kernel's set has another size");
	if (xst_regset_set(&h.t, XST_REGSET_XSTATE, 0, saved, bytes, NULL))
		return fail("we refuse what the kernel gave");
	if (compare_xstate() < 0 || compare_parts() < 0)
		return -1;
	if (memcmp(kernels + XST_OFF_XMM, set + XST_OFF_XMM, 256))
		return fail("the set is not what the child loaded");
	for (unsigned i = 0; i < WRITES && !err; i++)
		err = rng_below(&h.rng, 4) ? write_xstate() : write_fpx();
	if (err)
		return err;
	/* And now for real. */
	host_state(&h, ours);
	memset(after + XST_OFF_XSTATE_BV, 0, XST_HEADER_BYTES);
	if (stopped() < 0)
		return -1;
	return host_same(&h, ours, after, "the child's registers")
		       ? 0
		       : fail("they are not what was set");
}

int main(int argc, char **argv)
{
	const uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 0) : STOPS_DEFAULT;
	const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	int status, bad = 0, skip;
	long bytes;

	before = mmap(NULL, 2 * IMAGE_ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (before == MAP_FAILED)
		return 1;
	after = before + IMAGE_ROOM;
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		child_loop(before, after, xst_xgetbv(0) & ~XST_MASK_TILEDATA);
		_exit(1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
		printf("skipped: no child can be traced here\n");
		return SKIP;
	}
	bytes = kernel_get(NT_X86_XSTATE, kernels, IMAGE_ROOM);
	if (bytes < (long)XST_EXT_OFFSET) {
		printf("skipped: the kernel has no NT_X86_XSTATE\n");
		skip = SKIP;
	} else {
		/* The set says itself what it was made with. */
		skip = host_start(&h, xst_regset_xcr0(kernels, (size_t)bytes));
	}
	if (!skip && (long)h.layout.bytes != bytes)
		bad = fail("the kernel's size is not ours");
	printf("seed %llu, mask 0x%llx, %u bytes\n", (unsigned long long)seed,
	       (unsigned long long)h.mask, h.layout.bytes);
	rng_seed(&h.rng, seed);
	while (!skip && !bad && stops < wanted)
		bad = one_stop();
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	if (skip)
		return skip;
	printf("%llu stops, %llu writes: XSTATE taken by both %llu, refused by both %llu; FPX %llu "
	       "and "
	       "%llu; %llu parts read\n",
	       (unsigned long long)stops, (unsigned long long)writes, (unsigned long long)taken,
	       (unsigned long long)refused, (unsigned long long)fpx_taken,
	       (unsigned long long)fpx_refused, (unsigned long long)reads);
	if (wanted >= STOPS_DEFAULT && (taken < 1000 || refused < 1000 || fpx_refused < 100))
		bad = 1;
	if (bad)
		printf("repeat with: t_ptrace %llu %llu\n", (unsigned long long)wanted,
		       (unsigned long long)seed);
	return bad ? 1 : 0;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Signal frames and register sets of a 32-bit process on this machine's own Linux.
 *
 *	t_frames32 CHILD [FRAMES] [SEED]
 *
 * The child (child32.S) loads registers, sends itself a signal and stores registers; traced, it
 * stops in its handler, where its frame is read in its memory, changed or replaced by one of ours,
 * and then honoured by the kernel's sigreturn. The sets I387 and FPX are compared at each stop.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

#include <xst/reg.h>

#define FRAMES_DEFAULT 2000u
#define NT_FPX	       0x46e62b7f
#define UC_FPSTATE     96u  /* in a 32-bit ucontext: flags, link, stack, 19 words of sigcontext */
#define XMM_BYTES      128u /* a 32-bit process has XMM0-7 */

static struct host h;
static pid_t child;
static uint32_t before_at, after_at, fp_at, frame_bytes;
static uint8_t before[IMAGE_ROOM], after[IMAGE_ROOM], want[IMAGE_ROOM];
static uint8_t frame[IMAGE_ROOM], kernels[IMAGE_ROOM];
static uint64_t frames, counts[3], sets;

static int fail(const char *what)
{
	printf("frame %llu: %s\n", (unsigned long long)frames, what);
	return -1;
}

/* On the way through a stop that is the signal's own. */
static int go_on(unsigned stage, struct user_regs_struct *regs)
{
	int status, sig = 0;

	for (;;) {
		if (ptrace(PTRACE_CONT, child, 0, sig) || waitpid(child, &status, 0) != child ||
		    !WIFSTOPPED(status))
			return fail("the child is gone");
		if (WSTOPSIG(status) == SIGTRAP)
			break;
		if (WSTOPSIG(status) != SIGUSR1) {
			printf("signal %d\n", WSTOPSIG(status));
			return fail("another signal came to the child");
		}
		sig = SIGUSR1;
	}
	if (ptrace(PTRACE_GETREGS, child, 0, regs) || (regs->rdx & 0xff) != stage)
		return fail("the child stopped somewhere else");
	return 0;
}

static int move(uint32_t at, void *data, size_t bytes, bool write)
{
	const struct iovec ours = {data, bytes}, its = {(void *)(uintptr_t)at, bytes};
	const ssize_t n = write ? process_vm_writev(child, &ours, 1, &its, 1, 0)
				: process_vm_readv(child, &ours, 1, &its, 1, 0);

	return n == (ssize_t)bytes ? 0 : fail("the child's memory cannot be moved");
}

/* A 32-bit process cannot reach the rest, and its pointers have 32 bits. */
static void narrow(uint8_t *image)
{
	memset(image + XST_OFF_XMM + XMM_BYTES, 0, XST_OFF_RESERVED - XST_OFF_XMM - XMM_BYTES);
	memset(image + XST_OFF_FOP, 0, XST_OFF_MXCSR - XST_OFF_FOP);
	for (unsigned i = 2; i < 20; i++) {
		uint8_t *p = image + h.layout.offset[i];

		if (!(h.layout.mask & XST_MASK(i)))
			continue;
		if (i == XST_COMP_AVX)
			memset(p + XMM_BYTES, 0, 128);
		if (i == XST_COMP_ZMM_HI256)
			memset(p + 256, 0, 256);
		if (i == XST_COMP_HI16_ZMM)
			memset(p, 0, 1024);
	}
}

static void random_image(uint8_t *out)
{
	const struct xst_image image = {out, IMAGE_ROOM, &h.layout};

	host_random(&h, out);
	narrow(out);
	/* Hi16_ZMM of zeros need not be in use; that is no difference. */
	if (xst_uabi_set(&h.t, &image, XST_UABI_MXCSR_ALWAYS, NULL))
		abort();
	host_state(&h, out);
	memset(out + XST_OFF_RESERVED, 0, XST_OFF_XSTATE_BV - XST_OFF_RESERVED);
}

/* Of a frame that the kernel made: its words, and the registers that were loaded. */
static int check_kernels(void)
{
	struct xst_frame found;
	static uint8_t copy[IMAGE_ROOM];

	if (xst_sigframe_read(frame, frame_bytes, XST_FRAME_32, 0, &found, NULL) ||
	    !found.extended || found.fx_offset != XST_FRAME_LEGACY_BYTES ||
	    found.xfeatures != h.mask || found.xstate_size != h.layout.bytes ||
	    found.extended_size != frame_bytes)
		return fail("the kernel's words are not ours");
	if (xst_sigframe_restore(&h.t, XST_FRAME_32, frame, &found, NULL) || !found.extended)
		return fail("the kernel's frame is refused");
	host_state(&h, want);
	memcpy(copy, before, sizeof(copy));
	narrow(want);
	return host_same(&h, copy, want, "read") ? 0 : fail("what was read is not what was loaded");
}

/* The FNSAVE part as the kernel has it: it keeps FOP apart from the code segment. */
static int compare_legacy(const uint8_t *a, const uint8_t *b, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (a[i] != b[i] && i != 18 && i != 19) {
			printf("byte %zu: the kernel 0x%02x, we 0x%02x\n", i, a[i], b[i]);
			return fail("the FNSAVE parts differ");
		}
	return 0;
}

static int change(void)
{
	const struct xst_image image = {frame + XST_FRAME_LEGACY_BYTES, h.layout.bytes, &h.layout};
	uint8_t value[32];
	uint32_t mxcsr = 0x1f80u | ((uint32_t)rng_next(&h.rng) & 0x603f);

	rng_fill(&h.rng, value, sizeof(value));
	xst_image_set(&image, "xmm3", value, 16);
	if (h.layout.mask & XST_MASK_AVX)
		xst_image_set(&image, "ymm5", value, 32);
	xst_image_set(&image, "mxcsr", &mxcsr, 4);
	/* x87 comes from the FNSAVE part: ST2 is at 28 + 20. */
	memcpy(frame + 28 + 20, value, 8);
	return 0;
}

/* A frame of ours for other registers; what is not registers must be the kernel's. */
static int write_other(void)
{
	struct xst_uabi t = h.t;
	static uint8_t other[IMAGE_ROOM];

	memcpy(kernels, frame, sizeof(kernels));
	random_image(other);
	memset(frame, 0, sizeof(frame));
	if (xst_sigframe_write(&t, XST_FRAME_32, frame, NULL))
		return fail("our frame could not be written");
	if (memcmp(frame + 112 + XST_OFF_SOFTWARE, kernels + 112 + XST_OFF_SOFTWARE, 48) ||
	    memcmp(frame + 110, kernels + 110, 2) ||
	    memcmp(frame + 112 + h.layout.bytes, kernels + 112 + h.layout.bytes, 4))
		return fail("our words are not the kernel's");
	return 0;
}

/* I387 and FPX of the stopped child. */
static int compare_sets(const struct user_regs_struct *regs)
{
	struct iovec iov = {kernels, sizeof(kernels)};
	static uint8_t ours[IMAGE_ROOM];
	struct xst_layout l = h.layout;
	const struct xst_image image = {kernels, IMAGE_ROOM, &l};
	uint8_t fpx[XST_LEGACY_BYTES];

	if (ptrace(PTRACE_GETREGSET, child, NT_X86_XSTATE, &iov) || iov.iov_len != h.layout.bytes ||
	    xst_uabi_set(&h.t, &image, XST_UABI_MXCSR_BY_BV, NULL))
		return fail("its XSTATE set is not ours");
	h.t.sel.fcs = (uint16_t)regs->cs;
	h.t.sel.fds = (uint16_t)regs->ds;
	iov = (struct iovec){kernels, sizeof(kernels)};
	if (ptrace(PTRACE_GETREGSET, child, NT_PRFPREG, &iov) || iov.iov_len != XST_FNSAVE_BYTES)
		return fail("its I387 set has another size");
	if (xst_regset_get(&h.t, XST_REGSET_I387, 0, ours, sizeof(ours), NULL) != 108 ||
	    compare_legacy(kernels, ours, 108) < 0)
		return -1;
	/* The code segment of an x87 instruction is not known to Linux, nor to us. */
	iov = (struct iovec){fpx, sizeof(fpx)};
	if (ptrace(PTRACE_GETREGSET, child, NT_FPX, &iov) || iov.iov_len != sizeof(fpx))
		return fail("its FPX set has another size");
	if (xst_regset_get(&h.t, XST_REGSET_FPX, 0, ours, sizeof(ours), NULL) != (int)sizeof(fpx) ||
	    memcmp(ours + XST_OFF_ST, fpx + XST_OFF_ST, XST_OFF_RESERVED - XST_OFF_ST))
		return fail("its FPX set is not ours");
	sets += 3;
	return 0;
}

/* I387 written by both: the same x87 state comes of it. */
static int write_i387(void)
{
	static uint8_t ours[IMAGE_ROOM];
	uint8_t set[XST_FNSAVE_BYTES];
	struct iovec iov = {set, sizeof(set)};

	if (xst_regset_get(&h.t, XST_REGSET_I387, 0, set, sizeof(set), NULL) != (int)sizeof(set))
		return fail("I387 cannot be read");
	rng_fill(&h.rng, set + 28, 80);
	xst_put16(set, 8, (uint16_t)rng_next(&h.rng)); /* tags */
	if (ptrace(PTRACE_SETREGSET, child, NT_PRFPREG, &iov) ||
	    xst_regset_set(&h.t, XST_REGSET_I387, 0, set, sizeof(set), NULL))
		return fail("I387 is not taken by both");
	iov = (struct iovec){kernels, sizeof(kernels)};
	if (ptrace(PTRACE_GETREGSET, child, NT_X86_XSTATE, &iov) ||
	    xst_regset_get(&h.t, XST_REGSET_XSTATE, 0, ours, sizeof(ours), NULL) !=
		    (int)iov.iov_len)
		return fail("XSTATE cannot be read after I387 was written");
	narrow(kernels);
	narrow(ours);
	return host_same(&h, ours, kernels, "I387") ? 0 : fail("I387 came to other registers");
}

static int one(void)
{
	struct user_regs_struct regs;
	struct xst_frame found;
	uint32_t pointer;
	int way = (int)(frames % 3);

	if (go_on(1, &regs) < 0)
		return -1;
	before_at = (uint32_t)regs.rax;
	after_at = (uint32_t)regs.rcx;
	random_image(before);
	memset(after, 0, XST_EXT_OFFSET);
	regs.rbx = h.sys.xcr0;
	if (move(before_at, before, h.layout.bytes, true) ||
	    move(after_at, after, XST_EXT_OFFSET, true) || ptrace(PTRACE_SETREGS, child, 0, &regs))
		return fail("the child cannot be prepared");
	if (go_on(2, &regs) < 0 || move((uint32_t)regs.rax + UC_FPSTATE, &pointer, 4, false))
		return -1;
	fp_at = pointer;
	if (move(fp_at, frame, frame_bytes, false) || check_kernels() < 0)
		return -1;
	counts[way]++;
	if ((way == 1 && change() < 0) || (way == 2 && write_other() < 0))
		return -1;
	if (move(fp_at, frame, frame_bytes, true))
		return -1;
	if (xst_sigframe_restore(&h.t, XST_FRAME_32, frame, &found, NULL))
		return fail("we refuse what the kernel is to take");
	host_state(&h, want);
	if (go_on(3, &regs) < 0 || move(after_at, after, h.layout.bytes, false))
		return -1;
	narrow(want);
	narrow(after);
	if (!host_same(&h, want, after, "came back"))
		return fail("what came back is not what the frame said");
	frames++;
	return compare_sets(&regs) < 0 ? -1 : write_i387();
}

int main(int argc, char **argv)
{
	const uint64_t wanted = argc > 2 ? strtoull(argv[2], NULL, 0) : FRAMES_DEFAULT;
	const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : (uint64_t)time(NULL);
	int status, bad = 0, skip;

	if (argc < 2) {
		printf("skipped: no 32-bit program could be built\n");
		return SKIP;
	}
	skip = host_start(&h, 0);
	if (skip)
		return skip;
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl(argv[1], argv[1], (char *)NULL);
		_exit(errno == ENOEXEC ? SKIP : 1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
		printf("skipped: this kernel does not run 32-bit programs\n");
		return SKIP;
	}
	frame_bytes = (uint32_t)xst_sigframe_bytes(&h.sys, h.mask, XST_FRAME_32, NULL);
	printf("seed %llu, mask 0x%llx, frames of %u bytes\n", (unsigned long long)seed,
	       (unsigned long long)h.mask, frame_bytes);
	rng_seed(&h.rng, seed);
	while (!bad && frames < wanted)
		bad = one();
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	printf("%llu frames read only, %llu changed, %llu written by us; %llu sets compared\n",
	       (unsigned long long)counts[0], (unsigned long long)counts[1],
	       (unsigned long long)counts[2], (unsigned long long)sets);
	if (bad)
		printf("repeat with: t_frames32 CHILD %llu %llu\n", (unsigned long long)wanted,
		       (unsigned long long)seed);
	return bad ? 1 : 0;
}

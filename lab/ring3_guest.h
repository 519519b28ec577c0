/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a guest of the lab and the kernel that runs it share: the guest's block of memory, which is
 * all that it can write, and its programs. Its registers are checked as those of user mode are, with
 * a user block of its own.
 */
#ifndef LAB_RING3_GUEST_H
#define LAB_RING3_GUEST_H

#include "ring3.h"
#include "guest.h"

#define GUEST_IMAGE_BYTES 1024u

struct guest_block {
	struct user_block own; /* its values are those of GUEST_OWNER + number */
	uint8_t image[GUEST_IMAGE_BYTES] __attribute__((aligned(64))); /* of CET_S, by XSAVES */
	/* Set by the kernel when it creates the guest. */
	bool svm;         /* VMMCALL, else VMCALL */
	bool xsetbv_exits;
	uint64_t xcr0, xss; /* at most; it begins with 1 and 0 */
	uint32_t ssps;      /* IA32_PL0_SSP and on: 4, 3 without CET_U, or none */
	uint32_t features;  /* with all of XCR0 */
	/* What it did, and what it has. */
	uint64_t steps; /* of the tour: where it is */
	uint64_t xcr0_now, xss_now;
	bool settled;   /* its registers are what own.have_* says, and stay so until it goes on */
	uint64_t ts_traps, grown, shrunk, refused, xsaves;
} __attribute__((aligned(4096)));

extern struct guest_block guest_blocks[GUEST_MAX];

/* What the tour leads to, in this order; the last one for ever. */
enum tour_step {
	TOUR_HLT,
	TOUR_CALL,
	TOUR_CPUID,
	TOUR_RDMSR,
	TOUR_WRMSR,
	TOUR_NM,
	TOUR_UD,
	TOUR_PF,
	TOUR_SYSCALL,
	TOUR_XSETBV,
	TOUR_END,
	TOUR_STEPS
};

/* ---- guest_tour.c: how many of the steps came as they must, up to the first that did not ---- */
unsigned guest_tour_run(const struct guest_machine *machine, struct vcpu *v, uint32_t id);

/* ---- ring3_guest.c: entered with the block as argument, never return ---- */
void guest_tour(struct guest_block *g);
void guest_worker(struct guest_block *g);

/* What IA32_PLn_SSP must be. */
uint64_t guest_ssp(const struct guest_block *g, uint32_t n);

/* ---- ring3_guest.S: those with a result return the vector of a fault, or 0 ---- */
void guest_hlt(void);
void guest_vmmcall(void);
void guest_vmcall(void);
uint32_t guest_cpuid(uint32_t leaf);
uint32_t guest_xsetbv(uint64_t value);
uint32_t guest_wrmsr(uint32_t msr, uint64_t value);
uint32_t guest_rdmsr(uint32_t msr, uint64_t *value);
uint32_t guest_touch_under_ts(void);
uint32_t guest_undefined(void);
uint32_t guest_peek(const void *address);
uint32_t guest_xsaves(void *image, uint64_t mask);
uint32_t guest_xrstors(const void *image, uint64_t mask);

#endif

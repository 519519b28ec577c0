/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lab as a hypervisor on the library: what a thread does that runs a virtual CPU (guest.h), how it
 * answers exits, and what it looks at from outside while it does.
 */
#ifndef LAB_HYPERVISOR_H
#define LAB_HYPERVISOR_H

#include <xst/guest.h>
#include "guest.h"
#include "task.h"

/* Added up over virtual CPUs; each has its own. */
struct hypervisor_totals {
	uint64_t exits;
	uint64_t by_kind[GUEST_EXITS];
	/* Of the exits: nothing but the answer came between this one and the one before. */
	uint64_t stayed, stayed_loads, stayed_saves, stayed_ticks;
	uint64_t loads_of_thread; /* times the thread turned to its virtual CPU, */
	uint64_t most_saves;      /* and how often it was saved for that at most */
	uint64_t yields, moves, flips, copies, cet_reads;
	uint64_t images;          /* of guests that were looked at, */
	uint64_t images_cet;      /* and had CET_S in both bitmaps and the guest's pointers in it, */
	uint64_t images_wrong;    /* or should have had it and did not */
	uint64_t refused;         /* values that the library refused and the guest got #GP for */
	uint64_t nm;              /* #NM that were the guest's own */
	uint64_t writes;          /* of XCR0, IA32_XSS and PKRU, by enter and exit */
	uint64_t ssp_writes;      /* of IA32_PLn_SSP, where software switches them */
};

void hypervisor_create(const struct guest_machine *machine, uint32_t id, uint64_t exits);
/* The calling thread runs virtual CPU @id for @exits exits at most, interrupts not counted. True:
 * more are to come. */
bool hypervisor_run(struct cpu *cpu, uint32_t id, uint64_t exits);
void hypervisor_sum(struct hypervisor_totals *sum);
/* @ctx was just saved. If it is a task's and its image says what is in it: images, and those that
 * name what only guests have. */
void hypervisor_saved(const struct xst_ctx *ctx);
extern uint64_t host_images, host_images_wrong;

#endif

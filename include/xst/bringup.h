/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bringing a machine and its CPUs up: enable what the system decided, believe nobody, test it.
 */
#ifndef XST_BRINGUP_H
#define XST_BRINGUP_H

#include <xst/switch.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * xst_system_init() - read this CPU, decide what the machine enables, and prove it on this CPU.
 * @want: components wanted, see xst_system_compute(); XST_WANT_ALL_USER.
 * @sys:  out; complete on success.
 *
 * Enables the features on this CPU, reads MXCSR_MASK, then compares the compacted size CPUID sums up with the one
 * computed, and saves a known image in the chosen form to see every byte arrive in its place. A
 * form that fails is avoided (sys->avoided says why) and the next older one is tried: hypervisors
 * and emulators lie.
 *
 * Context: ring 0, interrupts off, first CPU; registers are lost. Uses about 3.5 KiB of stack.
 * Return:  XST_OK; errors of xst_system_compute(); XST_ERR_MISMATCH when no form works.
 */
int xst_system_init(struct xst_system *sys, uint64_t want);

/**
 * xst_cpu_init() - prepare one CPU, the first included: xst_cpu_online() with the default policy.
 * @sys: the machine.
 * @cpu: out; zeroed and filled. Its member world is kept: a software world sets it before.
 * @id:  any number that no other CPU has, but XST_NO_CPU.
 *
 * The policy is "auto" until xst_cpu_set_policy().
 *
 * Context: ring 0 on that CPU, interrupts off. Uses about 3.5 KiB of stack.
 * Return:  as xst_cpu_online(); XST_ERR_INVALID for a bad @id.
 */
int xst_cpu_init(const struct xst_system *sys, struct xst_cpu *cpu, uint32_t id);

/**
 * xst_cpu_online() - the CPU comes (back) up: after xst_cpu_offline(), a resume or a reset.
 *
 * Enables the features, tests the save form, sets all registers to INIT. Counters and policy stay; a
 * task that was running (suspend) goes on and is loaded when it returns to user mode.
 *
 * Context: ring 0 on that CPU, interrupts off.
 * Return:  XST_OK; XST_ERR_MISMATCH when this CPU is not like the first one (hybrid, hotplug), @diag
 *          names the component.
 */
int xst_cpu_online(struct xst_cpu *cpu, struct xst_diag *diag);

/**
 * xst_cpu_offline() - the CPU goes down or to sleep: its registers will be lost.
 *
 * What only they hold is saved, the running task's registers too. Not in an in-kernel section.
 *
 * Context: ring 0 on that CPU, interrupts off.
 */
void xst_cpu_offline(struct xst_cpu *cpu);

#ifdef __cplusplus
}
#endif
#endif

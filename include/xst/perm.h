/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may use what is too large for everybody: the permission of a process.
 *
 * AMX's tiles need 8 KiB in every image and every signal frame, so a process asks for them first.
 * One permission belongs to a process; all its tasks share it. Beside what they may use themselves
 * it holds what guests that they run may use. A context gets the room at the first use, by
 * xst_ctx_grow(), if the permission says so.
 *
 *   begin, exec    what every process has: xst_perm_init()
 *   fork           the child's is a copy, lock and all; so is what a copied struct gives
 *   thread         shares its process's
 *   request        adds, never takes away: supervisor components least of all
 *   first vCPU     xst_guest_init() locks what guests may have: its image has its size now
 *
 * Pure data; the caller keeps two requests of one process from running at the same time.
 */
#ifndef XST_PERM_H
#define XST_PERM_H

#include <xst/system.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero is not valid: xst_perm_init(). Masks of components, user and supervisor. */
struct xst_perm {
	uint64_t host;  /* what its tasks may have */
	uint64_t guest; /* what its guests may have */
	bool guest_locked;
};

enum xst_perm_of { XST_PERM_HOST, XST_PERM_GUEST };

/* Signal frames of a process on alternate stacks. */
struct xst_perm_stacks {
	uint32_t overhead; /* of a frame beside the image: registers, siginfo, magic, alignment */
	uint64_t smallest; /* of the alternate stacks its threads have installed; 0: none has one */
};

/**
 * xst_perm_init() - the permission a program begins with: all that is enabled but what is dynamic.
 * @sys:  the machine.
 * @perm: out; at exec, the process's old one.
 *
 * Context: any ring; pure; never faults.
 */
void xst_perm_init(const struct xst_system *sys, struct xst_perm *perm);

/**
 * xst_perm_request() - a process asks for a dynamic component.
 * @sys:       the machine.
 * @perm:      its permission; on error nothing changed.
 * @of:        for its tasks or for its guests.
 * @component: which (XST_COMP_TILEDATA).
 * @stacks:    for XST_PERM_HOST, or NULL: its alternate signal stacks, which must have room for a
 *             frame with the component before it is granted. Guests get no signals here: not
 *             looked at.
 * @diag:      out, optional.
 *
 * To ask for what one has is no error.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_INVALID for a component that is not dynamic; XST_ERR_UNSUPPORTED when
 *          the machine does not enable it (the caller goes on without: perm still says what there is);
 *          XST_ERR_LOCKED for a guest after xst_perm_lock_guest(); XST_ERR_NEED_BYTES when an
 *          alternate stack is too small, diag->want says how many bytes it needs.
 */
int xst_perm_request(const struct xst_system *sys, struct xst_perm *perm, enum xst_perm_of of,
		     unsigned component, const struct xst_perm_stacks *stacks,
		     struct xst_diag *diag);

/**
 * xst_perm_lock_guest() - a vCPU was made: what guests may have does not change any more.
 *
 * Context: any ring; pure; never faults.
 */
static inline void xst_perm_lock_guest(struct xst_perm *perm)
{
	perm->guest_locked = true;
}

/**
 * xst_perm_check_stack() - may a thread install an alternate signal stack of this size?
 * @overhead: as in struct xst_perm_stacks.
 * @bytes:    the stack's size.
 * @diag:     out, optional: the bytes it needs.
 *
 * As in Linux, only processes with a dynamic component are held to it: older programs have smaller
 * stacks and never got a signal on them.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_NEED_BYTES.
 */
int xst_perm_check_stack(const struct xst_system *sys, const struct xst_perm *perm,
			 uint32_t overhead, uint64_t bytes, struct xst_diag *diag);

#ifdef __cplusplus
}
#endif
#endif

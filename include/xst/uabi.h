/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One task's user state as it leaves the kernel and comes back: what signal frames and register
 * sets have in common.
 *
 * Outside, the state is one image in the standard format, whatever the CPU saves with inside:
 *
 *	inside	FNSAVE, FXSAVE, XSAVE or compacted image; what CR0.TS does not guard in an image
 *		of its own; PKRU beside them; supervisor components
 *	outside	x87 to the last user component, PKRU among them; XSTATE_BV; no supervisor
 *		component, no byte that no register fills
 *
 * All functions here work on memory alone. The caller makes the area current before
 * (xst_ctx_flush()) and, when something was set, says so after (xst_ctx_changed()), both on the CPU
 * where the task runs, with no return to user mode in between.
 *
 * What comes back is judged whole before anything is written: a refused input changes no byte of
 * the task. Supervisor components are never touched.
 *
 * Ref: Linux, copy_xstate_to_uabi_buf(), copy_uabi_to_xstate()
 */
#ifndef XST_UABI_H
#define XST_UABI_H

#include <xst/switch.h>
#include <xst/x87.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A 64-bit kernel saves with the REX.W forms: 64-bit pointers and no selectors. */
#ifdef __x86_64__
#define XST_UABI_WIDE true
#else
#define XST_UABI_WIDE false
#endif

/* A task, what its frames and sets may hold, and memory to work in. */
struct xst_uabi {
	const struct xst_system *sys;
	struct xst_ctx *ctx;
	uint64_t mask; /* user components; 0: all that XCR0 enables but what is dynamic. With
			  permission for that: struct xst_perm's host, its user part */
	/* A guest's image has its own layout, and all its components in one (guest.h); NULL: a task's. */
	const struct xst_layout *inside;
	uint64_t drop; /* live components that become INIT on the way */
	/* Code and data segment of a 32-bit process: its FNSAVE form has room for them, the 64-bit
	 * kernel's FXSAVE has not. */
	struct xst_x87_selectors sel;
	/* Work memory: xst_uabi_bytes() or more, more for frames; of any alignment. Holds the
	 * task's registers afterwards: it must not be shown to anybody. */
	void *scratch;
	size_t scratch_bytes;
};

/**
 * xst_uabi_layout() - the layout of a task's state outside.
 * @sys:    the machine.
 * @mask:   user components; 0: all that XCR0 enables but what is dynamic. x87 and SSE are there in
 *          any case.
 * @layout: out; standard format; bytes is 576 or more, on machines without XSAVE too.
 * @diag:   out, optional.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_NOT_ENUMERATED when @mask has a component that this CPU does not list as
 *          a user component; XST_ERR_OVERLAP.
 */
int xst_uabi_layout(const struct xst_system *sys, uint64_t mask, struct xst_layout *layout,
		    struct xst_diag *diag);

/**
 * xst_uabi_bytes() - the size of that image: what ptrace's XSTATE set has, and work memory needs.
 *
 * Context: any ring; pure; never faults.
 * Return:  the bytes, 576 or more; errors of xst_uabi_layout().
 */
int xst_uabi_bytes(const struct xst_system *sys, uint64_t mask, struct xst_diag *diag);

/**
 * xst_uabi_get() - write a task's state out.
 * @t:    the task; its area is current. A task without an area has fresh state. @t->scratch is not
 *        used.
 * @to:   an image with the layout of xst_uabi_layout(); every byte of it is written.
 * @diag: out, optional.
 *
 * XSTATE_BV[9] is 1 when PKRU is not 0, XSTATE_BV[1] also when MXCSR is not 1F80H.
 *
 * Context: any ring; never faults on valid memory.
 * Return:  XST_OK; XST_ERR_NEED_BYTES; XST_ERR_INVALID when the area holds no valid image;
 *          XST_ERR_LIVE when a live component has no place in @to. On error nothing was written.
 */
int xst_uabi_get(const struct xst_uabi *t, const struct xst_image *to, struct xst_diag *diag);

/* What to make of MXCSR. Both rules are the kernel's, for different callers. */
enum xst_uabi_mxcsr {
	/* ptrace: counts when XSTATE_BV has SSE, else it becomes 1F80H; judged when XSTATE_BV has
	 * x87, SSE or AVX. (With AVX and no SSE Linux itself may hand out an older value.) */
	XST_UABI_MXCSR_BY_BV,
	XST_UABI_MXCSR_ALWAYS, /* signal frames: counts and is judged, as XRSTOR does */
};

/**
 * xst_uabi_set() - make an image the task's state.
 * @t:     the task; its area is current. @t->scratch is not used.
 * @from:  the image, in memory that nobody else can change meanwhile; its layout as above. It may
 *         end early when no live component lies behind its end.
 * @mxcsr: see there.
 * @diag:  out, optional.
 *
 * Components that XSTATE_BV does not name become INIT, PKRU 0. Refused are: a component outside the
 * layout, XCOMP_BV or reserved header bytes that are not 0, reserved MXCSR bits, live components
 * that the memory or the task has no room for.
 *
 * Context: any ring; never faults on valid memory.
 * Return:  XST_OK; XST_ERR_FAULT (header or MXCSR); XST_ERR_LIVE; XST_ERR_NEED_BYTES also for a
 *          task that has no area yet (xst_ctx_attach() first). On error nothing was changed.
 */
int xst_uabi_set(const struct xst_uabi *t, const struct xst_image *from, enum xst_uabi_mxcsr mxcsr,
		 struct xst_diag *diag);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine's port in the explorer: the model's, and a broken twin chosen at run time. */
#ifndef PORT_EXPLORE_H
#define PORT_EXPLORE_H

#include "port_model.h"

/* TWIN(name, check that is meant to catch it, why it is wrong) */
#define TWINS(TWIN)                                                                                \
	TWIN(SKIP_SAVE, I1, "the save at switch-out is left out")                                  \
	TWIN(SKIP_RESTORE, I1, "the load is left out")                                             \
	TWIN(STALE_OWNER, I1, "registers count as the task's although it ran elsewhere since")     \
	TWIN(NO_TS, I1, "CR0.TS is not set for a task whose registers are not in place")           \
	TWIN(NO_PKRU, I1, "PKRU is not switched")                                                  \
	TWIN(NO_FETCH, I1, "registers left on another CPU are not fetched")                        \
	TWIN(REUSED_ADDRESS, I1, "a new task at a dead one's address inherits its registers")      \
	TWIN(EDIT_KEPT, I1, "an edit of the image does not make the registers stale")              \
	TWIN(APART_SKIPPED, I1, "what CR0.TS does not guard is left to first use")                 \
	TWIN(WIPE_BEFORE_SAVE, I1, "modified optimisation: the area is edited before the save")    \
	TWIN(OTHER_MASK, I1, "a second save with another mask moves the components")               \
	TWIN(XFD_CACHED, I1, "a CPU that comes up believes what IA32_XFD held before")              \
	TWIN(XFD_LATE, I1, "IA32_XFD is written after the restore instead of before")              \
	TWIN(TILES_FORKED, I1, "a child gets its parent's tiles")                                  \
	TWIN(IDLE_KEPT, I1, "released tiles do not make the registers nobody's")                   \
	TWIN(FRAME_PKRU, I1, "PKRU is not taken from a frame")                                     \
	TWIN(FRAME_HALF, I1, "a frame that is refused has changed the task")                       \
	TWIN(TILES_LEFT, I2, "a task's tiles stay in the registers behind IA32_XFD")               \
	TWIN(SUPER_LOST, PERM, "a permission loses its supervisor components")                     \
	TWIN(EMPTY_LEAKS, I2, "another's registers stay behind TS of a task without an area")      \
	TWIN(MISCOUNT, I3, "a skipped load is not counted")                                        \
	TWIN(KEEP_FORGETS, P_KEEP, "registers that are in place are loaded again")                 \
	TWIN(DEFERRED_LOADS, P_DEFERRED, "the load is not put off to the return to user mode")     \
	TWIN(BLIND_FOREVER, P_PRELOAD, "preloading never stops")                                   \
	TWIN(SECTION_KEEPS_USER, I1, "a section begins and the user's state is not saved")         \
	TWIN(SECTION_KEEPS_OWNER, I1, "registers stay somebody's copy though a section used them") \
	TWIN(SECTION_NO_TS, I1, "a section ends under a first-use policy without TS")              \
	TWIN(SECTION_TRUSTS_USER, KERNEL, "a user's control words count as initial values")        \
	TWIN(SECTION_DROPS_TILES, I1, "tiles that stayed in place are not saved when another comes")   \
	TWIN(SECTION_FLAGS_STAY, KERNEL, "what a section declared counts as in place after it")    \
	TWIN(GUEST_KEEPS_USER, I1, "a thread turns to a guest and its own state is not saved")     \
	TWIN(GUEST_LEFT, I1, "what only guests have stays in the registers of the next task")      \
	TWIN(GUEST_KEPT, I1, "the same of a task whose registers wait for their first use")        \
	TWIN(GUEST_ELIDED, I1, "what XINUSE says nothing of counts as INIT")                       \
	TWIN(GUEST_GROWN, I1, "components that are new in XCR0 keep what they held")               \
	TWIN(GUEST_PKRU, I1, "the host's PKRU is not back after an exit")                          \
	TWIN(GUEST_SSP, I1, "a CPU that comes up believes whose shadow-stack pointers it had")     \
	TWIN(GUEST_SSP_STALE, I1, "pointers count as the guest's although it ran elsewhere since") \
	TWIN(GUEST_XFD, I1, "what IA32_XFD disables is copied in and out")                         \
	TWIN(GUEST_COPY_HALF, I1, "a copy that is refused has changed the guest")                  \
	TWIN(GUEST_OWNER_KEPT, I1, "a destroyed guest's registers still count as its own")         \
	TWIN(GUEST_XCR0, CONTROL, "the host's XCR0 is not back after an exit")                     \
	TWIN(GUEST_XSS, CONTROL, "the host's IA32_XSS is not back after an exit")                  \
	TWIN(GUEST_XFD_ERR, CONTROL, "the guest's IA32_XFD_ERR is left to the host")               \
	TWIN(GUEST_UNLOCKED, PERM, "what guests may have grows after the first was made")          \
	TWIN(GUEST_EXIT_SAVES, P_GUEST, "every exit saves the guest's registers")

enum explore_twin {
	EXPLORE_TWIN_NONE,
#define TWIN_ENUM(name, check, text) EXPLORE_TWIN_##name,
	TWINS(TWIN_ENUM)
#undef TWIN_ENUM
	EXPLORE_TWIN_COUNT,
	/* Another way to have guests, not a defect: t_guest.c turns it on. */
	EXPLORE_TWIN_GUEST_NO_CET_S
};

extern enum explore_twin explore_twin;

#define XST_TWIN(name) (explore_twin == EXPLORE_TWIN_##name)

#endif

// SPDX-License-Identifier: BSD-2-Clause
/* The table of experiments. */
#include "lab/experiment.h"

#include <stddef.h>
#include <string.h>

const struct lab_experiment lab_experiments[] = {
	{ "yield", "one task uses the FPU, one does not; they yield to each other", 1, true, true,
	  false },
	{ "pipe", "two tasks wake each other through pipes, both use the FPU", 1, true, true,
	  false },
	{ "preload", "a task stops using the FPU: when does preloading stop?", 1, false, true,
	  false },
	{ "kthread", "a user task switches with kernel threads and stays in the kernel", 1, false,
	  true, false },
	{ "owner", "a user task takes turns with a kernel thread: are its registers kept?", 1, false,
	  true, false },
	{ "flip", "the policy is changed under load, on all CPUs, among those of --policy", 2,
	  false, false, false },
	{ "leak", "does any task ever see another's registers?", 2, false, true, false },
	{ "migrate", "tasks change CPUs, CPUs go off and on, memory comes at first use", 2, false,
	  true, false },
	{ "pending", "an x87 exception left pending at a switch: who gets it?", 1, false, true,
	  false },
	{ "signal", "signal frames, whole and harmed: what becomes of the task?", 1, false, false,
	  false },
	{ "slots", "p of a million slots use the FPU: where is the break-even?", 1, false, true,
	  false },
	{ "live", "what a save writes, by the components that are live", 1, false, true, false },
	{ "mask", "what a section in the kernel costs, by what it declares", 1, false, true, false },
	{ "xor", "parity of 4 KiB blocks, a section each: is anything loaded for nothing?", 1, false,
	  true, false },
	{ "irq", "sections in interrupts, in the middle of sections and after restores", 2, false, true,
	  false },
	{ "efi", "calls of firmware with FCW 037F and MXCSR 1F80", 1, false, true, false },
	{ "mmx", "MMX copies before CR4.OSFXSR and over pending x87 exceptions", 1, false, true, false },
	{ "guest", "guests under SVM and VMX: registers on both sides of every exit", 2, false,
	  true, false },
	{ "cet-s", "CET_S in no task, in guests only, in every task: what the engine executes", 1, false,
	  false, false },
	{ "errata", "what the machine does otherwise than the manuals say", 1, false, false,
	  false },
	{ "images", "do XRSTORS, XRSTOR and FXRSTOR do what the library predicts?", 1, false, false,
	  false },
	{ "replay", "do the explorer's sequences (--sequence) go as it predicted?", 2, false, false,
	  true },
	{ "selftest-panic", "the kernel panics", 1, false, true, true },
	{ "selftest-triple", "the CPU triple-faults", 1, false, true, true },
	{ "selftest-hang", "the kernel hangs with interrupts off", 1, false, true, true },
	{ "selftest-watchdog", "tasks make no progress, the kernel notices", 1, false, true,
	  true },
	{ NULL, NULL, 0, false, false, false },
};

const struct lab_experiment *lab_experiment_find(const char *name)
{
	for (const struct lab_experiment *e = lab_experiments; e->name; e++)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

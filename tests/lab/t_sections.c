// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel's own sections on real emulators: the library saves once and loads nothing for nothing, and
 * built to check sections it says what was misused and nothing about what was not.
 *
 *     t_sections GROUP IMAGES    GROUP: sections checking
 */
#include <string.h>

#include "lab_test.h"

static void expect_sections(const struct lab_job *j)
{
	if (!expect_ok(j))
		return;
	expect(get(j, "sections") > 100 && get(j, "unneeded_loads") == 0 &&
		       get(j, "missing_loads") == 0 && get(j, "wrong_values") == 0 &&
		       get(j, "saved_twice") == 0 && get(j, "misuses_reported") == 0,
	       "%s %s on %s: no FNINIT, LDMXCSR or save too many or too few", j->experiment->name,
	       j->policy, j->machine->name);
	if (!strcmp(j->experiment->name, "xor"))
		expect(get(j, "kernel_init_x87") + get(j, "kernel_init_mxcsr") == 0 &&
			       get(j, "blocks") > 1000 && get(j, "wrong_words") == 0,
		       "xor on %s loads no control word", j->machine->name);
	if (!strcmp(j->experiment->name, "efi"))
		expect(get(j, "firmware_calls") > 1000 && get(j, "firmware_complaints") == 0,
		       "efi on %s: the firmware has its convention", j->machine->name);
	if (!strcmp(j->experiment->name, "irq"))
		expect(get(j, "irqs_in_section") > 100 && get(j, "irqs_after_restore") > 100 &&
			       get(j, "nmis") > 100 && get(j, "sections_refused") > 100,
		       "irq %s on %s: in sections, after restores, as NMI", j->policy,
		       j->machine->name);
}

/* A library built to check sections says what was misused, and nothing about what was not. */
static void checking(const struct lab_machine *machines, size_t count)
{
	const struct lab_machine *machine = &machines[count - 1];
	struct lab_job j = job("mask", "deferred", machine);

	run("check-sections", &j, 1, QUIET_MS);
	if (expect_ok(&j))
		expect(get(&j, "misuses") > 50 && get(&j, "misuses_reported") == get(&j, "misuses"),
		       "each of %llu misuses on %s is reported",
		       (unsigned long long)get(&j, "misuses"), machine->name);
	release(&j, 1);
	j = job("irq", "lazy-keep", machine);
	run("check-sections", &j, 1, QUIET_MS);
	if (expect_ok(&j))
		expect(get(&j, "misuses_reported") == 0, "no correct section on %s is reported",
		       machine->name);
	release(&j, 1);
	j = job("irq", "deferred", machine);
	run("twin-section-keeps-user", &j, 1, QUIET_MS);
	expect(j.result.status == LAB_FAILED && j.result.corruption_lines && !*j.result.panic,
	       "twin-section-keeps-user is caught by irq on %s", machine->name);
	discard(&j);
}

static void sections(const struct lab_machine *machines, size_t count)
{
	static const char *const names[] = { "bochs:pentium_mmx", "bochs:amd_k6_2_chomper",
					     "bochs:p2_klamath" };
	static const char *const irq[] = { "eager", "lazy-keep", "laziest", "auto" };
	static struct lab_machine old_machine[3];
	static struct lab_job jobs[3 * 9 + 3 * 2];
	const size_t olds = find_machines(old_machine, names, 3);
	size_t n = 0;

	for (size_t m = 0; m < count; m++) {
		jobs[n++] = job("mask", "auto", &machines[m]);
		jobs[n++] = job("mask", "lazy", &machines[m]);
		jobs[n++] = job("xor", "auto", &machines[m]);
		jobs[n++] = job("efi", "deferred", &machines[m]);
		for (size_t p = 0; p < 4; p++)
			jobs[n++] = job("irq", irq[p], &machines[m]);
	}
	for (size_t m = 0; m < olds; m++) {
		jobs[n++] = job("efi", "eager", &old_machine[m]);
		jobs[n++] = job("mmx", "deferred", &old_machine[m]);
	}
	run("lab", jobs, n, QUIET_MS);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(jobs[i].experiment->name, "mmx"))
			expect_sections(&jobs[i]);
		else if (expect_ok(&jobs[i]))
			expect(get(&jobs[i], "copies") > 1000 && get(&jobs[i], "early_copies") == 3 &&
				       get(&jobs[i], "faults_came") == get(&jobs[i], "faults_left"),
			       "mmx on %s: copies over pending exceptions, which come to their owner",
			       jobs[i].machine->name);
	}
	release(jobs, n);
}

static const struct lab_group groups[] = {
	{ "sections", sections, 3 },
	{ "checking", checking, 2 },
};

int main(int argc, char **argv)
{
	return lab_test_main(argc, argv, groups, sizeof(groups) / sizeof(groups[0]));
}

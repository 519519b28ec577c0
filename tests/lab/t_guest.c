// SPDX-License-Identifier: BSD-2-Clause
/*
 * Guests on real emulators: SVM on QEMU and Bochs, VMX and CET_S on Bochs. Registers are looked at
 * by the guests and the tasks themselves; that none moved for nothing is in the counters.
 *
 *     t_guest GROUP IMAGES    GROUP: guest guest-full
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_test.h"

/* Exits of each virtual CPU; there are two for each CPU. */
#define QUICK_EXITS "loops=1000"
#define FULL_EXITS  "loops=25000"
/* XCR0, IA32_XSS and PKRU are written there and back where the guest's differ. */
#define STAYED_LIMIT 104u
#define PATIENT_MS  (5 * QUIET_MS) /* a busy machine */
#define SECOND_SEED 0x9e3779b9u

/* --- what a good run says --- */

static bool has_cet_s(const struct lab_job *j)
{
	const char *mask = json_string_value(json_object_get(j->result.result, "guest_mask"));

	return mask && strtoull(mask, NULL, 16) & 0x1000;
}

static void check_guests(const struct lab_job *j, uint64_t exits)
{
	const char *name = j->machine->name;
	const uint64_t stayed = get(j, "exits_stayed");
	const bool in_turn = strchr(j->policy, ',');
	const char *policy = in_turn ? "all policies in turn" : j->policy;

	expect(get(j, "exits") >= exits && get(j, "guest_checks") > exits / 2 && get(j, "checks") > 100 &&
		       get(j, "exits_interrupt") > 20,
	       "%s on %s, %u CPUs: guests and tasks kept their registers over %llu exits", policy, name,
	       j->cpus, (unsigned long long)get(j, "exits"));
	expect(stayed > exits / 4 && get(j, "stayed_loads") == 0 && get(j, "stayed_saves") == 0,
	       "%s on %s: %llu exits after which the kernel stayed moved nothing", policy, name,
	       (unsigned long long)stayed);
	if (lab_result_flag(&j->result, "counted"))
		expect(get(j, "stayed_instructions") > 10 * stayed &&
			       get(j, "stayed_instructions") <= STAYED_LIMIT * stayed,
		       "%s on %s: entry and exit take the engine %.1f instructions then, at most %u", policy,
		       name, (double)get(j, "stayed_instructions") / (double)stayed, STAYED_LIMIT);
	expect(get(j, "thread_loads") > 20 && get(j, "thread_most_saves") <= 1,
	       "%s on %s: a thread that turns to its virtual CPU is saved at most once", policy, name);
	expect(get(j, "vcpu_yields") > 20 && get(j, "offlines") > 1 && get(j, "vcpu_copies") > 10 &&
		       get(j, "guest_nm") > 20 && get(j, "guest_refused") > 20 &&
		       get(j, "xcr0_grown") > 5 && (j->cpus == 1 || get(j, "vcpu_moves") > 5) &&
		       (!in_turn || get(j, "vcpu_flips") > 20),
	       "%s on %s: threads yield, virtual CPUs move, CPUs go off, XCR0 grows", policy, name);
	if (has_cet_s(j))
		expect(get(j, "guest_images_cet_s") > 5 && get(j, "guest_images_wrong") == 0 &&
			       get(j, "guest_xsaves") > 5 && get(j, "exits_xsaves") > 5 &&
			       get(j, "host_images") > 100 && get(j, "host_images_cet_s") == 0,
		       "%s on %s: CET_S is in every guest's image, with its pointers, and in no task's",
		       policy, name);
}

static void join_policies(char *list, size_t size)
{
	list[0] = '\0';
	for (size_t p = 0; p < POLICIES; p++)
		snprintf(list + strlen(list), size - strlen(list), "%s%s", p ? "," : "", policies[p]);
}

static struct lab_job guest_job(const char *policy, const struct lab_machine *machine, unsigned cpus)
{
	struct lab_job j = job("guest", policy, machine);

	j.cpus = cpus;
	return j;
}

/* --- guest: CET_S without XSAVES: software writes the MSRs when another guest had them --- */

static void without_xsaves(void)
{
	static const char *const name = "bochs:tigerlake";
	struct lab_machine machine;
	struct lab_job j;

	if (!find_machines(&machine, &name, 1))
		return;
	j = guest_job("deferred", &machine, 2);
	run("no-xsaves", &j, 1, QUIET_MS);
	if (expect_ok(&j)) {
		check_guests(&j, 4000);
		expect(get(&j, "ssp_writes") > 100 && get(&j, "ssp_writes") < get(&j, "exits") &&
			       get(&j, "cet_reads") > 20 && get(&j, "guest_images_wrong") == 0,
		       "without XSAVES software keeps the pointers of guests on %s apart", name);
	}
	release(&j, 1);
}

/* --- guest: one policy on one CPU, and all in turn on two; then the twins --- */

static void twins(void)
{
	static const struct {
		const char *image, *machine, *reason; /* reason NULL: registers were wrong */
	} cases[] = {
		{ "twin-guest-xcr0", "qemu:max", "XCR0 was not the host's" },
		{ "twin-skip-restore", "bochs:ryzen", NULL },
		{ "twin-guest-no-cet-s", "bochs:tigerlake", NULL },
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct lab_machine machine;
		struct lab_job bad;

		if (!find_machines(&machine, &cases[c].machine, 1))
			continue;
		bad = guest_job("deferred", &machine, 1);
		run(cases[c].image, &bad, 1, QUIET_MS);
		expect(bad.result.status == LAB_FAILED && !*bad.result.panic &&
			       bad.result.end == LAB_END_FAIL &&
			       (cases[c].reason ? strstr(bad.result.reason, cases[c].reason) != NULL
						: bad.result.corruption_lines > 0),
		       "%s is caught on %s: %s", cases[c].image, bad.machine->name, bad.result.reason);
		discard(&bad);
	}
}

static void guest(const struct lab_machine *machines, size_t count)
{
	struct lab_job jobs[3 * 2];
	char in_turn[512];
	size_t n = 0;

	join_policies(in_turn, sizeof(in_turn));
	extra = QUICK_EXITS;
	for (size_t m = 0; m < count; m++) {
		jobs[n++] = guest_job("deferred", &machines[m], 1);
		jobs[n++] = guest_job(in_turn, &machines[m], 2);
	}
	run("lab", jobs, n, QUIET_MS);
	for (size_t i = 0; i < n; i++)
		if (expect_ok(&jobs[i]))
			check_guests(&jobs[i], 2000);
	release(jobs, n);
	without_xsaves();
	twins();
}

/* --- guest-full: every policy, 10^5 exits each; then other values --- */

static void guest_full(const struct lab_machine *machines, size_t count)
{
	static struct lab_job jobs[3 * (POLICIES + 1)];
	char in_turn[512];

	join_policies(in_turn, sizeof(in_turn));
	extra = FULL_EXITS;
	for (unsigned seed = 0; seed < 2; seed++) {
		size_t n = 0;

		for (size_t m = 0; m < count; m++) {
			for (size_t p = 0; p < POLICIES && !seed; p++)
				jobs[n++] = guest_job(policies[p], &machines[m], 2);
			jobs[n++] = guest_job(in_turn, &machines[m], 2);
		}
		test_seed = seed ? SECOND_SEED : SEED;
		printf("seed 0x%llx\n", (unsigned long long)test_seed);
		run("lab", jobs, n, PATIENT_MS);
		for (size_t i = 0; i < n; i++)
			if (expect_ok(&jobs[i]))
				check_guests(&jobs[i], 100000);
		release(jobs, n);
	}
}

static const struct lab_group groups[] = {
	{ "guest", guest, 3 },
	{ "guest-full", guest_full, 3 },
};

int main(int argc, char **argv)
{
	return lab_test_main(argc, argv, groups, sizeof(groups) / sizeof(groups[0]));
}

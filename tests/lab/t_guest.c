// SPDX-License-Identifier: BSD-2-Clause
/*
 * Guests on real emulators: SVM on QEMU and Bochs, VMX on Bochs.
 *
 *     t_guest GROUP IMAGES    GROUP: guest
 */
#include <string.h>

#include "lab_test.h"

static void guest(const struct lab_machine *machines, size_t count)
{
	struct lab_job jobs[3];
	size_t n = 0;

	for (size_t m = 0; m < count; m++)
		jobs[n++] = job("guest", "deferred", &machines[m]);
	run("lab", jobs, n, QUIET_MS);
	for (size_t i = 0; i < n; i++)
		if (expect_ok(&jobs[i]))
			expect(get(&jobs[i], "passes") >= 9, "guests on %s exit as they must",
			       jobs[i].machine->name);
	release(jobs, n);
}

static const struct lab_group groups[] = {
	{ "guest", guest, 3 },
};

int main(int argc, char **argv)
{
	return lab_test_main(argc, argv, groups, sizeof(groups) / sizeof(groups[0]));
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * What people hand to `xstate lint` as text: after a "b" a baseline, after anything else a
 * configuration. Whatever is accepted must answer questions about any function.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lint/finding.h"
#include "lint/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char here[] = "lib.ko", path[] = "/lib/modules/lib.ko";

static void configuration(const char *text)
{
	static const char *const names[] = {"f",         "mutex_lock",    "kernel_fpu_begin_mask",
	                                    "my.isra.0", "a.part.1.cold", ""};
	struct lint_object obj = {.path = path, .module = here, .relocatable = true};
	struct lint_conf *conf = lint_conf_new();
	char why[512];
	size_t i;

	if (!conf)
		abort();
	if (lint_conf_text(conf, text, "fuzz", why, sizeof(why)) &&
	    (conf->profile[0] || lint_conf_profile(conf, "linux-6.1", why, sizeof(why)))) {
		lint_conf_settle(conf);
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			const struct lint_role *any = lint_conf_role(conf, names[i], NULL);
			const struct lint_role *of = lint_conf_role(conf, names[i], &obj);

			/* Knowing the object only adds facts. */
			if (any && (!of || of->rank < any->rank))
				abort();
			if (of && (of->kind == ROLE_BEGIN || of->kind == ROLE_END) &&
			    of->pair >= conf->npair)
				abort();
		}
		lint_conf_object(conf, here);
	}
	lint_conf_free(conf);
}

static void baseline(const char *text, size_t bytes)
{
	struct lint_object obj = {.path = path, .module = here, .tag = here};
	struct lint_finding list[4];
	struct lint_findings all = {.list = list, .n = 4};
	char place[64], why[512];
	size_t fixed = 0, i, known = 0;
	int fd = memfd_create("baseline", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, bytes) != (ssize_t)bytes)
		abort();
	memset(list, 0, sizeof(list));
	for (i = 0; i < 4; i++) {
		list[i].rule = i == 3 ? RULE_MAY_SLEEP : RULE_FP_OUTSIDE;
		list[i].function = i < 2 ? "f" : "g";
		list[i].module = here;
		list[i].lint_object = &obj;
	}
	snprintf(place, sizeof(place), "/proc/self/fd/%d", fd);
	if (lint_baseline_read(&all, place, &fixed, why, sizeof(why)))
		for (i = 0; i < 4; i++)
			known += list[i].known;
	/* Every known finding has an entry of its own. */
	if (known + fixed > bytes)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (size && text[0] == 'b')
		baseline(text + 1, size - 1);
	else if (size)
		configuration(text + 1);
	free(text);
	return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
/* trace-cmd's files. Their library may fall over one; whatever it does, there is an answer here. */
#include "fuzz_trace.h"

#include <stdio.h>

static int put(void *arg, struct rec *recs, size_t count)
{
	if (fuzz_put(arg, recs, count))
		abort(); /* our own records are good */
	return 0;
}

const char *__asan_default_options(void);

/* The library asks for what a broken file says. */
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_machine m;
	const struct slots_sink sink = { put, &m };
	struct slots *slots = slots_new(&sink, SLOTS_SIGNALS_AUTO, SLOTS_SECTIONS_AUTO);
	const struct trace_sink events = { slots_event, slots };
	const int fd = memfd_create("fuzz", 0);
	struct trace_tally tally;
	char err[512] = "", path[64];
	int bad;

	if (!slots || fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fuzz_begin(&m);
	bad = trace_read_dat(path, &events, &tally, err, sizeof(err));
	if (bad && !err[0] && !slots_why(slots))
		abort();
	if (err[0] && (strncmp(err, path, strlen(path)) || strchr(err, '\n')))
		abort(); /* a refusal is one sentence */
	if (!bad && slots_end(slots) && !slots_why(slots))
		abort();
	fuzz_end(&m);
	slots_free(slots);
	close(fd);
	return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
/* perf script and ftrace text. */
#include "fuzz_trace.h"

static int put(void *arg, struct rec *recs, size_t count)
{
	if (fuzz_put(arg, recs, count))
		abort(); /* our own records are good */
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_machine m;
	const struct slots_sink sink = { put, &m };
	struct slots *slots = slots_new(&sink, SLOTS_SIGNALS_ALL, SLOTS_SECTIONS_AUTO);
	const struct trace_sink events = { slots_event, slots };
	struct trace_tally tally;
	struct trace_input in;
	char err[512] = "";
	int bad;

	if (!slots)
		abort();
	fuzz_begin(&m);
	fuzz_input(&in, data, size);
	bad = trace_read_text(&in, &events, &tally, err, sizeof(err));
	if (bad && !err[0] && !slots_why(slots))
		abort();
	fuzz_sentence(err);
	if (!bad && slots_end(slots) && !slots_why(slots))
		abort();
	fuzz_end(&m);
	slots_free(slots);
	trace_input_close(&in);
	return 0;
}

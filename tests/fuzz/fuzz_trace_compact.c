// SPDX-License-Identifier: BSD-2-Clause
/* Our own records: a first byte says whether head and end are made right, so that the middle is met. */
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool framed = size && data[0] & 1;
	struct rec_header head = { .magic = REC_MAGIC, .version = REC_VERSION };
	struct fuzz_machine m;
	struct trace_input in;
	struct rec_place place = { 0 };
	char err[512] = "";
	uint64_t number;
	uint64_t sum = 0;
	uint8_t *bytes;
	int bad;

	if (!size)
		return 0;
	data++;
	size--;
	if (framed)
		size -= size % sizeof(struct rec);
	bytes = calloc(1, size + sizeof(head) + sizeof(struct rec));
	if (!bytes)
		abort();
	if (framed) {
		struct rec end = { .kind = REC_END, .arg = (uint32_t)(size / sizeof(end)) };

		memcpy(bytes, &head, sizeof(head));
		memcpy(bytes + sizeof(head), data, size);
		for (size_t at = 0; at < size; at += sizeof(struct rec)) {
			struct rec r;

			memcpy(&r, data + at, sizeof(r));
			sum = rec_sum(sum, &r, 1);
		}
		end.cpu = rec_check(sum, &head, &end);
		memcpy(bytes + sizeof(head) + size, &end, sizeof(end));
		size += sizeof(head) + sizeof(end);
	} else {
		memcpy(bytes, data, size);
	}
	fuzz_begin(&m);
	fuzz_input(&in, bytes, size);
	bad = trace_read_compact(&in, &place, fuzz_put, &m, err, sizeof(err));
	if (bad && !err[0] && !replay_why(m.replay[0], &number))
		abort();
	fuzz_sentence(err);
	fuzz_end(&m);
	trace_input_close(&in);
	free(bytes);
	return 0;
}

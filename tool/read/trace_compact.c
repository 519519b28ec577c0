// SPDX-License-Identifier: BSD-2-Clause
/* Our own records, sim/rec.h, read in batches. */
#include "read/trace_compact.h"

#include <string.h>

#define BATCH 8192u /* in the second cache; so few calls do not count */

static int check_header(const struct trace_input *in, const struct rec_header *head,
			const struct rec_place *place, char *err, size_t errlen)
{
	if (head->version != REC_VERSION)
		snprintf(err, errlen, "%s: records of version %u, this program reads version %u",
			 in->name, head->version, REC_VERSION);
	else if (head->piece != place->piece && place->piece)
		snprintf(err, errlen, "%s: piece %u of a trace, where piece %u comes next", in->name,
			 head->piece, place->piece);
	else if (head->piece != place->piece)
		snprintf(err, errlen, "%s: piece %u of a trace: --state goes on from the one before",
			 in->name, head->piece);
	else if (head->before != place->sum)
		snprintf(err, errlen, "%s: piece %u of another trace, or cut otherwise, than the piece "
			 "before it", in->name, head->piece);
	else
		return 0;
	return -1;
}

/* A batch's records up to its END into the sum, which END then must name. */
static bool is_whole(uint64_t *sum, const struct rec *recs, size_t count)
{
	const struct rec *last = &recs[count - 1];

	if (last->kind != REC_END) {
		*sum = rec_sum(*sum, recs, count);
		return true;
	}
	*sum = rec_sum(*sum, recs, count - 1);
	return last->cpu == rec_check(*sum);
}

static int broken(const struct trace_input *in, char *err, size_t errlen)
{
	snprintf(err, errlen, "%s: broken: its records do not add up to their checksum", in->name);
	return -1;
}

int trace_read_compact(struct trace_input *in, struct rec_place *place,
		       int (*put)(void *arg, struct rec *recs, size_t count), void *arg, char *err,
		       size_t errlen)
{
	struct rec_header head;
	static _Thread_local struct rec recs[BATCH];
	size_t have = 0, whole;
	long n = trace_input_read(in, &head, sizeof(head));

	if (n != (long)sizeof(head) || memcmp(head.magic, REC_MAGIC, sizeof(head.magic))) {
		snprintf(err, errlen, "%s: cut off in its header", in->name);
		return -1;
	}
	if (check_header(in, &head, place, err, errlen))
		return -1;
	while ((n = trace_input_read(in, (char *)recs + have, sizeof(recs) - have)) > 0) {
		have += (size_t)n;
		whole = have / sizeof(recs[0]);
		if (whole && !is_whole(&place->sum, recs, whole))
			return broken(in, err, errlen);
		if (whole && put(arg, recs, whole))
			return -1;
		have -= whole * sizeof(recs[0]);
		memmove(recs, recs + whole, have);
	}
	if (n < 0)
		snprintf(err, errlen, "%s: %s", in->name, in->why);
	else if (have)
		snprintf(err, errlen, "%s: cut off in the middle of a record", in->name);
	return n < 0 || have ? -1 : 0;
}

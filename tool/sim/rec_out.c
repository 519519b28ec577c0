// SPDX-License-Identifier: BSD-2-Clause
/* Records on their way out. */
#include "sim/rec_out.h"

#define NS 1000000000u

int rec_out_flush(struct rec_out *o)
{
	const size_t n = o->fill;

	o->fill = 0;
	return n ? o->give(o->arg, o->batch, n) : 0;
}

int rec_out_add(struct rec_out *o, struct rec r)
{
	o->batch[o->fill++] = r;
	o->written++;
	return o->fill == REC_BATCH ? rec_out_flush(o) : 0;
}

int rec_out_put(struct rec_out *o, enum rec_kind kind, unsigned cpu, uint32_t task, unsigned flags,
		uint32_t arg)
{
	uint64_t wait = o->now_ns > o->written_ns ? o->now_ns - o->written_ns : 0;

	if (wait > UINT32_MAX) {
		if (rec_out_add(o, (struct rec){ .kind = REC_PAUSE, .arg = (uint32_t)(wait / NS) }))
			return -1;
		wait %= NS;
	}
	if (o->now_ns > o->written_ns)
		o->written_ns = o->now_ns;
	/* All before it, the pause too. */
	if (kind == REC_END)
		arg = o->written;
	return rec_out_add(o, (struct rec){ (uint32_t)wait, task, (uint16_t)cpu, (uint8_t)kind,
					    (uint8_t)flags, arg });
}

int rec_out_name(struct rec_out *o, const char *name)
{
	struct rec r;

	rec_name_put(&r, name);
	return rec_out_add(o, r);
}

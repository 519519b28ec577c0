// SPDX-License-Identifier: BSD-2-Clause
/* Records on their way out. */
#include "sim/rec_out.h"

#include <stdlib.h>

#define NS 1000000000u

int rec_out_flush(struct rec_out *o)
{
	const size_t n = o->fill;

	if (o->holding && o->held_count + n <= REC_HELD) {
		memcpy(o->held + o->held_count, o->batch, n * sizeof(*o->batch));
		o->held_count += n;
		o->fill = 0;
		return 0;
	}
	if (o->holding) {
		o->held_over = true;
		return rec_out_release(o, false);
	}
	o->fill = 0;
	return n ? o->give(o->arg, o->batch, n) : 0;
}

int rec_out_hold(struct rec_out *o)
{
	if (o->holding || o->held_over)
		return 0;
	if (rec_out_flush(o))
		return -1;
	if (!o->held)
		o->held = malloc(REC_HELD * sizeof(*o->held));
	o->holding = o->held;
	o->held_over = !o->held;
	return 0;
}

static void open_signals(struct rec *recs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (recs[i].kind == REC_SIGNAL && !(recs[i].flags & REC_ASSUMED))
			recs[i].flags |= REC_OPEN;
}

int rec_out_release(struct rec_out *o, bool open)
{
	const size_t count = o->held_count;

	if (!o->holding)
		return 0;
	if (open) {
		open_signals(o->held, count);
		open_signals(o->batch, o->fill);
	}
	o->holding = false;
	o->held_count = 0;
	for (size_t i = 0; i < count; i += REC_BATCH)
		if (o->give(o->arg, o->held + i, count - i < REC_BATCH ? count - i : REC_BATCH))
			return -1;
	return rec_out_flush(o);
}

void rec_out_end(struct rec_out *o)
{
	free(o->held);
	o->held = NULL;
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

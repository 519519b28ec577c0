// SPDX-License-Identifier: BSD-2-Clause
/*
 * What every run says alike: the machine, the protocol, the controls, the claim and the raw samples,
 * as JSON; the head and the verdict for people.
 */
#include "session.h"

#include <math.h>

#include "ui/table.h"
#include "ui/ui.h"

static void json_claim(const struct bench_session *s, struct jw *w)
{
	if (!(s->claim > 0)) {
		jw_null(w, "claim");
		return;
	}
	jw_object(w, "claim");
	jw_f64(w, "size_percent", 100 * s->claim);
	jw_bool(w, "resolvable", s->verdict.ruling == STATS_RESOLVED);
	jw_f64(w, "mde_percent", 100 * s->verdict.mde);
	jw_string(w, "reason", s->verdict.reason);
	jw_end(w);
}

static void json_protocol(const struct bench_session *s, struct jw *w)
{
	jw_u64(w, "seed", s->seed);
	jw_u64(w, "blocks_planned", s->plan.blocks);
	jw_u64(w, "blocks_done", s->samples.taken);
	jw_bool(w, "complete", s->samples.taken == s->plan.blocks);
	jw_i64(w, "cpu", s->rig.cpu);
	jw_bool(w, "realtime", s->rig.realtime);
	jw_f64(w, "cycles_per_tick", s->cycles_per_tick);
	jw_u64(w, "multiply_cycles", s->rig.multiply_cycles);
	jw_f64(w, "clock_overhead_ticks", s->rig.overhead_ticks);
	jw_u64(w, "warm_loops", RIG_WARM_LOOPS);
	jw_f64(w, "slice_seconds", RIG_SLICE_SECONDS);
}

void session_json_head(const struct bench_session *s, const char *kind, struct jw *w)
{
	jw_object(w, NULL);
	jw_string(w, "schema", "xstate.bench/1");
	jw_string(w, "kind", kind);
	jw_string(w, "boot", s->machine.boot[0] ? s->machine.boot : NULL);
	machine_json(&s->machine, s->rig.tick_hz, w);
	json_protocol(s, w);
	controls_json(&s->controls, w);
	json_claim(s, w);
}

/* Ticks as they were read; a sample that was dropped is there too, and listed as such. */
void session_json_samples(const struct bench_session *session, struct jw *w)
{
	const struct stats_samples *s = &session->samples;

	jw_object(w, "samples");
	jw_array(w, "cycles_per_tick");
	for (uint32_t b = 0; b < s->taken; b++)
		jw_f64(w, NULL, s->cycles_per_tick[b]);
	jw_end(w);
	jw_array(w, "arms");
	for (uint32_t a = 0; a < s->arms; a++) {
		jw_object(w, NULL);
		jw_string(w, "name", session->arms[a].name);
		jw_u64(w, "loops", session->arms[a].loops);
		jw_array(w, "ticks");
		for (uint32_t b = 0; b < s->taken; b++)
			jw_i64(w, NULL, llround(s->ticks[(size_t)b * s->arms + a]));
		jw_end(w);
		jw_array(w, "dropped_blocks");
		for (uint32_t b = 0; b < s->taken; b++)
			if (s->drop[(size_t)b * s->arms + a] != STATS_KEPT)
				jw_u64(w, NULL, b);
		jw_end(w);
		jw_end(w);
	}
	jw_end(w);
	jw_end(w);
}

void session_print_head(const struct bench_session *s, FILE *out)
{
	machine_print(&s->machine, s->rig.tick_hz, out);
	fprintf(out, "CPU %d %s, core clock %.3f of the TSC, IMUL %u cycles, seed %llu\n",
		s->rig.cpu, s->rig.realtime ? "as a real-time task (SCHED_FIFO)" : "pinned",
		s->cycles_per_tick, s->rig.multiply_cycles, (unsigned long long)s->seed);
	fprintf(out, "%u of %u blocks of %u slices%s\n\n", s->samples.taken, s->plan.blocks,
		s->arm_count,
		s->samples.taken < s->plan.blocks
			? "; interrupted, this is what is known so far"
			: "");
}

void session_print_verdict(const struct bench_session *s, FILE *out)
{
	controls_print(&s->controls, out);
	if (s->claim > 0) {
		bool yes = s->verdict.ruling == STATS_RESOLVED;

		fprintf(out, "\n%s%s%s: %s\n", ui_on(out, yes ? UI_GOOD : UI_BAD),
			yes ? "Resolvable" : "Refused", ui_off(out, yes ? UI_GOOD : UI_BAD),
			s->verdict.reason);
	} else if (s->verdict.ruling == STATS_REFUSED_NOISE ||
		   s->verdict.ruling == STATS_REFUSED_CONTROL) {
		fprintf(out, "\n%sDo not decide by these figures%s: %s\n", ui_on(out, UI_WARN),
			ui_off(out, UI_WARN), s->verdict.reason);
	}
}

// SPDX-License-Identifier: BSD-2-Clause
/* One trace from its bytes to its result. */
#include "sim/run.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/trace_compact.h"
#include "sim/hypothesis.h"
#include "ui/progress.h"
#include "ui/ui.h"

struct run {
	const struct sim_plan *plan;
	const struct trace_input *in; /* or NULL */
	struct sim_result own;
	struct lane *lanes[SIM_ROWS_MAX];
	struct replay *replay;
	struct slots *slots;
	struct trace_writer writer;
	bool writing;
	char piece_path[PATH_MAX];
	uint64_t written;        /* in this piece */
	uint32_t piece;          /* that is written */
	struct rec_place place;  /* where reading is; before it: this trace's part */
	struct sim_part part;
	bool summed;             /* by the reader */
	uint64_t odd;            /* lines */
	struct outfile state;    /* what will be plan->state->next */
	struct progress bar;
	char failed[300];        /* why records could not be written */
	const char *why;
	bool unwritten;          /* it is what was to be written that failed */
};

/* Would writing to @path destroy what is read? */
static bool is_input(const struct run *run, const char *path)
{
	struct stat in, out;

	return run->in && !fstat(run->in->fd, &in) && S_ISREG(in.st_mode) && !stat(path, &out) &&
	       in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

/* Open the next file to write: the only one, or a piece. */
static int begin_writing(struct run *run, const char *source, char *err, size_t errlen)
{
	const struct sim_plan *plan = run->plan;
	const char *path = plan->save;

	if (plan->cut) {
		path = run->piece_path;
		if ((size_t)snprintf(run->piece_path, sizeof(run->piece_path), "%s.%u", plan->save,
				     run->piece) >= sizeof(run->piece_path)) {
			snprintf(err, errlen, "the name is too long: %s", plan->save);
			return -1;
		}
	}
	if (is_input(run, path)) {
		snprintf(err, errlen, "%s: it is the trace that is read", path);
		return -1;
	}
	run->written = 0;
	run->writing = !trace_write_begin(&run->writer, path, plan->into, source, run->part.made_up,
					  &(struct rec_place){ run->piece, run->writer.sum }, err,
					  errlen);
	return run->writing ? 0 : -1;
}

/* A piece is complete by itself: it has an END. */
static int next_piece(struct run *run)
{
	struct rec end = { .kind = REC_END, .flags = REC_HAS_MORE, .arg = (uint32_t)run->written };

	if (trace_write(&run->writer, &end, 1) ||
	    trace_write_end(&run->writer, true, run->failed, sizeof(run->failed)))
		return -1;
	run->writing = false;
	run->piece++;
	return begin_writing(run, "a piece", run->failed, sizeof(run->failed));
}

/* An earlier cut of more pieces leaves some behind ours. */
static void look_behind(struct run *run)
{
	if (run->plan->cut &&
	    (size_t)snprintf(run->piece_path, sizeof(run->piece_path), "%s.%u", run->plan->save,
			     run->piece + 1) < sizeof(run->piece_path) &&
	    !access(run->piece_path, F_OK))
		ui_note("%s is not of this trace: an earlier cut left it, and maybe others",
			run->piece_path);
}

static int write_records(struct run *run, struct rec *recs, size_t count)
{
	while (count) {
		const uint64_t room = run->plan->cut ? run->plan->cut - run->written : count;
		const size_t part = room < count ? (size_t)room : count;
		const struct rec *last = &recs[part - 1];

		/* The END counts the records of its piece; the caller's stays as it is. */
		if (last->kind == REC_END && run->plan->cut) {
			struct rec end = *last;

			end.arg = (uint32_t)(run->written + part - 1);
			return (part > 1 && trace_write(&run->writer, recs, part - 1)) ||
			       trace_write(&run->writer, &end, 1) ? -1 : 0;
		}
		if (trace_write(&run->writer, recs, part))
			return -1;
		run->written += part;
		recs += part;
		count -= part;
		if (run->plan->cut && run->written == run->plan->cut && next_piece(run))
			return -1;
	}
	return 0;
}

/* Records have what was assumed when they were made; it can be taken away. */
static void drop_assumed(const struct sim_plan *plan, struct rec *recs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct rec *r = &recs[i];

		if ((r->kind == REC_SECTION && plan->sections == SLOTS_SECTIONS_NONE &&
		     (r->flags & REC_ASSUMED)) ||
		    (r->kind == REC_SIGNAL && plan->signals == SLOTS_SIGNALS_NONE &&
		     (r->flags & REC_ASSUMED)))
			recs[i] = (struct rec){ .wait_ns = r->wait_ns, .kind = REC_PAUSE };
	}
}

static int put(void *arg, struct rec *recs, size_t count)
{
	struct run *run = arg;

	if (run->summed && (run->plan->sections == SLOTS_SECTIONS_NONE ||
			    run->plan->signals == SLOTS_SIGNALS_NONE))
		drop_assumed(run->plan, recs, count);
	/* Written before the reader's flags are in them. */
	errno = 0;
	if (run->writing && write_records(run, recs, count)) {
		if (!run->failed[0])
			snprintf(run->failed, sizeof(run->failed), "cannot write %s: %s",
				 run->writer.path, strerror(errno));
		run->unwritten = true;
		return -1;
	}
	if (!run->summed)
		run->place.sum = rec_sum(run->place.sum, recs,
					 count - (recs[count - 1].kind == REC_END));
	if (run->in)
		progress_update(&run->bar, run->in->raw);
	return replay_batch(run->replay, recs, count);
}

/* What was asked: a state goes on with nothing else. */
static uint64_t asked(const struct sim_plan *plan)
{
	const struct sim_result *r = &plan->rows;
	uint64_t sum = FNV_NOTHING;

	for (size_t i = 0; i < r->row_count; i++) {
		sum = fnv(sum, r->rows[i].name, strlen(r->rows[i].name) + 1);
		sum = fnv(sum, r->rows[i].hypothesis, strlen(r->rows[i].hypothesis) + 1);
	}
	sum = fnv(sum, r->use, strlen(r->use) + 1);
	sum = fnv(sum, r->signals, strlen(r->signals) + 1);
	sum = fnv(sum, r->sections, strlen(r->sections) + 1);
	sum = fnv(sum, &r->use_content, sizeof(r->use_content));
	if (plan->use.kind == SIM_USE_SHARE || plan->use.kind == SIM_USE_NAMES)
		sum = fnv(sum, &r->seed, sizeof(r->seed));
	return fnv(sum, &plan->programs, sizeof(plan->programs));
}

/* Where the piece before ended, if there was one; and where this one's end will be kept. */
static int open_state(struct run *run, char *err, size_t errlen)
{
	struct sim_state *state = run->plan->state;

	if (sim_state_begin(state, run->replay, &run->place, asked(run->plan), &run->state, err, errlen))
		return -1;
	if (!is_input(run, state->path))
		return 0;
	snprintf(err, errlen, "%s: it is the trace that is read", state->path);
	return -1;
}

static int write_state(struct run *run, char *err, size_t errlen)
{
	const struct rec_place next = { run->place.piece + 1, run->place.sum };

	return !run->state.f ? 0
			     : sim_state_write(run->plan->state, run->replay, &next,
					       asked(run->plan), &run->state, err, errlen);
}

/* The counts of a task that ends go to its program. */
static void task_over(void *arg, uint32_t number)
{
	struct run *run = arg;
	const struct replay_task *t = replay_task(run->replay, number);
	struct sim_result one = { .row_count = run->own.row_count };
	struct sim_task_row row = { .slots = number ? t->slots : 0,
				    .used = number ? t->used : 0 };
	/* Whatever policies made of it: which tasks and programs there are is the trace's. */
	const bool ran = number && (t->slots || t->ran);
	bool any = !number || ran || t->counted;
	char err[64];

	snprintf(row.name, sizeof(row.name), "%s", number ? t->name : "idle");
	for (size_t i = 0; i < one.row_count; i++) {
		row.n[i] = lane_take_task(run->lanes[i], number);
		any = any || row.n[i].saves || row.n[i].loads || row.n[i].traps;
	}
	if (!any)
		return;
	row.tasks = ran && replay_count_task(run->replay, number);
	memcpy(one.rows, run->own.rows, sizeof(one.rows));
	memcpy(one.use, run->own.use, sizeof(one.use));
	memcpy(one.signals, run->own.signals, sizeof(one.signals));
	memcpy(one.sections, run->own.sections, sizeof(one.sections));
	one.seed = run->own.seed;
	one.use_content = run->own.use_content;
	one.programs = true;
	one.tasks = &row;
	one.task_count = 1;
	for (size_t i = 0; i < one.row_count; i++)
		memset(&one.rows[i].n, 0, sizeof(one.rows[i].n));
	if (!sim_result_add(&run->own, &one, err, sizeof(err)))
		run->why = "out of memory";
}

/* By the word of a file of records, which whoever saved it cannot have forgotten. */
static bool is_made_up(const struct trace_input *in)
{
	struct rec_header head;

	if (!in || trace_input_format(in) != TRACE_COMPACT || in->head_len < sizeof(head))
		return false;
	memcpy(&head, in->head, sizeof(head));
	return head.flags & REC_MADE_UP;
}

static int begin(struct run *run, const struct sim_plan *plan, const struct trace_input *in,
		 const char *source, bool made_up, char *err, size_t errlen)
{
	const struct slots_sink sink = { put, run };
	const struct memo_limits usual = { 0 };
	size_t i;

	memset(run, 0, sizeof(*run));
	run->plan = plan;
	run->in = in;
	run->part.made_up = made_up || is_made_up(in);
	memcpy(run->own.rows, plan->rows.rows, sizeof(run->own.rows));
	memcpy(run->own.use, plan->rows.use, sizeof(run->own.use));
	memcpy(run->own.signals, plan->rows.signals, sizeof(run->own.signals));
	memcpy(run->own.sections, plan->rows.sections, sizeof(run->own.sections));
	run->own.row_count = plan->rows.row_count;
	run->own.seed = plan->rows.seed;
	run->own.use_content = plan->rows.use_content;
	run->own.programs = plan->programs;
	for (i = 0; i < run->own.row_count; i++) {
		run->own.rows[i].policy.name = run->own.rows[i].name;
		run->lanes[i] = lane_new(&run->own.rows[i].policy, &run->own.rows[i].extra,
					 plan->programs);
		if (!run->lanes[i])
			break;
	}
	run->replay = replay_new(&plan->use, run->lanes, run->own.row_count,
				 plan->direct ? NULL : &usual);
	run->slots = slots_new(&sink, plan->signals, plan->sections);
	if (i < run->own.row_count || !run->replay || !run->slots) {
		snprintf(err, errlen, "out of memory");
		return TRACE_CANNOT;
	}
	if (plan->programs)
		replay_on_exit(run->replay, task_over, run);
	if (plan->state && open_state(run, err, errlen))
		return -1;
	run->part.before = run->place.sum;
	if (!plan->save || !begin_writing(run, source, err, errlen))
		return 0;
	run->unwritten = true;
	return -1;
}

/* What the lanes counted, CPU by CPU. */
static void take_counts(struct run *run)
{
	struct sim_result *own = &run->own;
	const unsigned cpus = replay_cpus(run->replay);

	own->cpus = calloc(cpus ? cpus : 1, sizeof(*own->cpus));
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		for (size_t i = 0; i < own->row_count; i++) {
			struct lane_counts n;

			lane_counts(run->lanes[i], cpu, &n);
			sim_hypothesis_counts(&own->rows[i], &n);
			lane_counts_add(&own->rows[i].n, &n);
			if (own->cpus)
				own->cpus[cpu].n[i] = n;
		}
		if (own->cpus)
			own->cpus[cpu].cpu = cpu;
	}
	own->cpu_count = own->cpus ? cpus : 0;
}

static int fail(char *err, size_t errlen, const char *name, const char *why)
{
	snprintf(err, errlen, "%s: %s", name, why);
	return -1;
}

static int end(struct run *run, const char *name, int result, struct sim_result *sum, char *err,
	       size_t errlen)
{
	struct sim_totals totals = { 0 };
	int late;

	if (!result) {
		result = replay_end(run->replay, &totals, &run->part.more);
		if (run->own.programs)
			task_over(run, 0);
		totals.odd_lines += run->odd;
		/* Whatever was found behind it by the tasks' accounts is in own already. */
		sim_totals_add(&run->own.total, &totals);
		run->part.after = run->place.sum;
		if (result)
			snprintf(err, errlen, "%s: cut off", name);
		else if (!totals.switches && totals.traces && !run->part.before)
			result = fail(err, errlen, name, "not one task switch in it");
		else if (!sim_parts_add(&run->own.parts, &run->part))
			result = -1;
	}
	late = run->writing ? trace_write_end(&run->writer, !result, err, errlen) : 0;
	run->unwritten |= late || (!result && write_state(run, err, errlen));
	if (run->unwritten)
		result = SIM_UNWRITTEN;
	outfile_drop(&run->state);
	if (!result) {
		take_counts(run);
		look_behind(run);
		if (!sim_result_add(sum, &run->own, err, errlen))
			result = -1;
	}
	for (size_t i = 0; i < run->own.row_count; i++)
		lane_free(run->lanes[i]);
	replay_free(run->replay);
	slots_free(run->slots);
	sim_result_free(&run->own);
	return result;
}

/* Whose word it is that nothing more is wanted. */
static void explain(const struct run *run, const char *name, char *err, size_t errlen)
{
	uint64_t number;
	const char *wrong = replay_why(run->replay, &number);
	const char *why = run->why ? run->why : wrong ? wrong : slots_why(run->slots);

	if (run->unwritten)
		snprintf(err, errlen, "%s", run->failed);
	else if (why == wrong && why && number && !err[0])
		snprintf(err, errlen, "%s: record %llu: %s", name, (unsigned long long)number, why);
	else if (why && !err[0])
		snprintf(err, errlen, "%s: %s", name, why);
}

static int read_events(struct run *run, struct trace_input *in, enum trace_format format,
		       const char *path, char *err, size_t errlen)
{
	const struct trace_sink sink = { slots_event, run->slots };
	struct trace_tally tally = { 0 };
	int result;

	if (run->plan->state) {
		snprintf(err, errlen, "%s: --state is for pieces that --cut made", in->name);
		return -1;
	}
	if (format != TRACE_TEXT && (!in->size || in->unpack)) {
		snprintf(err, errlen, "%s: a %s must be a file of its own, unpacked", in->name,
			 format == TRACE_DAT ? "trace.dat" : "perf.data");
		return -1;
	}
	if (format == TRACE_TEXT)
		result = trace_read_text(in, &sink, &tally, err, errlen);
	else if (format == TRACE_PERF_DATA)
		result = trace_read_perf_data(path, &sink, &tally, err, errlen);
	else
#ifdef HAVE_TRACECMD
		result = trace_read_dat(path, &sink, &tally, err, errlen);
#else
	{
		snprintf(err, errlen, "%s: this build cannot read trace.dat, it was made without "
			 "libtracecmd; print it with trace-cmd report", in->name);
		result = TRACE_CANNOT;
	}
#endif
	run->odd = tally.odd;
	return result ? result : slots_end(run->slots);
}

int sim_run(const struct sim_plan *plan, const char *path, struct sim_result *sum, char *err,
	    size_t errlen)
{
	struct trace_input in;
	enum trace_format format;
	struct run *run;
	int result;

	err[0] = '\0';
	if (trace_input_open(&in, path)) {
		snprintf(err, errlen, "%s: %s", in.name, in.why);
		trace_input_close(&in);
		return -1;
	}
	run = calloc(1, sizeof(*run));
	if (!run) {
		snprintf(err, errlen, "out of memory");
		trace_input_close(&in);
		return TRACE_CANNOT;
	}
	result = begin(run, plan, &in, in.name, false, err, errlen);
	if (result)
		goto out;
	progress_begin(&run->bar, "reading", in.size);
	format = trace_input_format(&in);
	run->summed = format == TRACE_COMPACT;
	result = run->summed ? trace_read_compact(&in, &run->place, put, run, err, errlen)
			     : read_events(run, &in, format, path, err, errlen);
	progress_end(&run->bar);
	if (result)
		explain(run, in.name, err, errlen);
out:
	if (run->replay && run->slots)
		result = end(run, in.name, result, sum, err, errlen);
	trace_input_close(&in);
	free(run);
	return result;
}

/* What does not come from a file. */
static int run_source(const struct sim_plan *plan, const char *name, const struct sim_feed *feed,
		      const struct synth *synth, struct sim_result *sum, char *err, size_t errlen)
{
	struct run *run = calloc(1, sizeof(*run));
	int result;

	err[0] = '\0';
	if (!run) {
		snprintf(err, errlen, "out of memory");
		return TRACE_CANNOT;
	}
	result = begin(run, plan, NULL, name, synth, err, errlen);
	if (!result) {
		const struct slots_sink records = { put, run };
		const struct trace_sink events = { slots_event, run->slots };

		result = synth ? synth_run(synth, &records)
			       : feed->run(feed->arg, &events, err, errlen);
		if (!result && feed)
			result = slots_end(run->slots);
		if (result)
			explain(run, name, err, errlen);
	}
	if (run->replay && run->slots)
		result = end(run, name, result, sum, err, errlen);
	free(run);
	return result;
}

int sim_run_synth(const struct sim_plan *plan, const struct synth *synth, struct sim_result *sum,
		  char *err, size_t errlen)
{
	return run_source(plan, "synthetic", NULL, synth, sum, err, errlen);
}

int sim_record(const struct sim_feed *feed, struct outfile *out, enum slots_sections sections,
	       struct sim_totals *totals, char *err, size_t errlen)
{
	const struct sim_plan plan = { .sections = sections, .save = out->path, .into = out };
	struct sim_result sum = { 0 };
	int result = run_source(&plan, "xstate record", feed, NULL, &sum, err, errlen);

	*totals = sum.total;
	sim_result_free(&sum);
	return result;
}

int sim_convert(const char *path, struct outfile *out, enum slots_sections sections,
		struct sim_totals *totals, char *err, size_t errlen)
{
	const struct sim_plan plan = { .sections = sections, .save = out->path, .into = out };
	struct sim_result sum = { 0 };
	int result = sim_run(&plan, path, &sum, err, errlen);

	*totals = sum.total;
	sim_result_free(&sum);
	return result;
}

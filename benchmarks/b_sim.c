// SPDX-License-Identifier: BSD-2-Clause
/*
 * How fast a recorded workload is replayed. Promises: one policy takes records at a quarter at
 * least of the speed at which this thread can read memory, with all cores at 0.6 of what one of
 * them reads; text is taken in at five million lines a second. All policies at once shall do 40
 * million slots a second on a quiet core; what they do is printed beside that.
 *
 * The other policies alone are measured too, and the slowest is told.
 *
 * Each round measures everything once, one after the other, so that a neighbour slows down all of
 * it; ratios are those within a round, and their median is told. Time is the thread's own, so that
 * waiting for a CPU does not count. Threads are processes here: they share nothing but the file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "read/trace_compact.h"
#include "sim/run.h"

#define ROUNDS 7
#define SLOTS  4000000u
#define LINES  400000u

struct records {
	struct rec *recs;
	size_t count;
};

struct round {
	double read, one, cores, all, direct, lines; /* bytes, four times slots, lines a second */
	double alone[XST_POLICY_COUNT];              /* slots */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int keep(void *arg, struct rec *recs, size_t count)
{
	struct records *r = arg;

	memcpy(r->recs + r->count, recs, count * sizeof(*recs));
	r->count += count;
	return 0;
}

static int ignore(void *arg, struct rec *recs, size_t count)
{
	(void)arg;
	(void)recs;
	(void)count;
	return 0;
}

/*
 * The ceiling: every byte looked at, by sums that do not wait for each other; so many at once that it
 * does not matter where this loop lies.
 */
static __attribute__((noinline)) double read_all(const struct records *r)
{
	const rec_halves *p = (const rec_halves *)(const void *)r->recs;
	const size_t n = r->count / 16 * 16;
	volatile uint64_t sink;
	rec_halves sum[4] = { { 0 } };
	const double t = now();

	for (size_t i = 0; i < n; i += 16) {
		sum[0] += (p[i] + p[i + 1]) + (p[i + 2] + p[i + 3]);
		sum[1] += (p[i + 4] + p[i + 5]) + (p[i + 6] + p[i + 7]);
		sum[2] += (p[i + 8] + p[i + 9]) + (p[i + 10] + p[i + 11]);
		sum[3] += (p[i + 12] + p[i + 13]) + (p[i + 14] + p[i + 15]);
	}
	sum[0] += sum[1] + sum[2] + sum[3];
	sink = sum[0][0] ^ sum[0][1];
	(void)sink;
	return (double)n * sizeof(*p) / (now() - t);
}

/*
 * The records as a file of the folder's file system, as a trace is one: what has just been written is
 * still in memory, in pieces as large as that file system has them.
 */
static int make_file(struct records *r)
{
	const struct rec_header head = { .magic = REC_MAGIC, .version = REC_VERSION };
	char name[] = "b_sim-XXXXXX";
	const int fd = mkstemp(name);
	FILE *f = fdopen(dup(fd), "w");

	unlink(name);
	r->recs[r->count - 1].cpu = rec_check(rec_sum(0, r->recs, r->count - 1), &head,
					      &r->recs[r->count - 1]);
	if (!f || fwrite(&head, sizeof(head), 1, f) != 1 ||
	    fwrite(r->recs, sizeof(*r->recs), r->count, f) != r->count || fclose(f))
		exit(1);
	return fd;
}

static int replay(void *arg, struct rec *recs, size_t count)
{
	return replay_batch(arg, recs, count);
}

/*
 * Slots a second from the file through policies @from to @to, as the command does it, --direct or
 * not. What is learned on the way counts.
 */
static double replay_all(int fd, unsigned from, unsigned to, bool direct)
{
	const struct lane_extra none = { LANE_FETCH, false };
	const struct sim_use use = { .kind = SIM_USE_LIVE };
	const struct memo_limits usual = { 0 };
	struct lane *lanes[XST_POLICY_COUNT];
	struct rec_place place = { 0 };
	struct trace_input in;
	struct replay *r;
	struct sim_totals n;
	char err[256] = "";
	uint64_t number;
	bool more;
	double t;

	for (unsigned i = from; i <= to; i++)
		lanes[i - from] = lane_new(xst_policy_at(i), &none, false);
	r = replay_new(&use, lanes, to - from + 1, direct ? NULL : &usual);
	lseek(fd, 0, SEEK_SET);
	t = now();
	if (trace_input_of(&in, dup(fd), "records") ||
	    trace_read_compact(&in, &place, replay, r, err, sizeof(err)) ||
	    replay_end(r, &n, &more) || n.switches < SLOTS) {
		const char *why = replay_why(r, &number);

		fprintf(stderr, "%s %s\n", err, why ? why : "");
		exit(1);
	}
	t = now() - t;
	trace_input_close(&in);
	replay_free(r);
	for (unsigned i = from; i <= to; i++)
		lane_free(lanes[i - from]);
	return (double)n.switches / t;
}

/* The same on all cores at once, each with records enough of its own. */
static double replay_on_cores(const char *path, unsigned policy, long cores)
{
	int ends[2];
	double sum = 0, one;

	if (pipe(ends))
		exit(1);
	for (long i = 0; i < cores; i++)
		if (!fork()) {
			/* With a place in the file of its own. */
			one = replay_all(open(path, O_RDONLY), policy, policy, false);
			_exit(write(ends[1], &one, sizeof(one)) != sizeof(one));
		}
	for (long i = 0; i < cores; i++) {
		if (read(ends[0], &one, sizeof(one)) != sizeof(one))
			exit(1);
		sum += one;
	}
	while (wait(NULL) > 0)
		;
	close(ends[0]);
	close(ends[1]);
	return sum;
}

/* A text trace like those of perf script, in memory. */
static int make_text(void)
{
	const int fd = memfd_create("trace", 0);
	FILE *f = fdopen(dup(fd), "w");

	for (unsigned i = 0; f && i < LINES / 4; i++) {
		const unsigned a = 1000 + i % 7, b = 1000 + (i + 1) % 7;
		const unsigned s = 100 + i / 10000, us = i % 10000 * 100;

		fprintf(f, "            make %5u [000] %5u.%06u:                  sched:sched_switch: "
			"prev_comm=make prev_pid=%u prev_prio=120 prev_state=S ==> next_comm=cc1 "
			"next_pid=%u next_prio=120\n", a, s, us, a, b);
		fprintf(f, "            make %5u [000] %5u.%06u:    x86_fpu:x86_fpu_regs_deactivated: "
			"x86/fpu: 0xffff88814900ae40 load: 1 xfeatures: a02 xcomp_bv: "
			"8000000000000a07\n", a, s, us + 3);
		fprintf(f, "             cc1 %5u [000] %5u.%06u:      x86_fpu:x86_fpu_regs_activated: "
			"x86/fpu: 0xffff88810406bf00 load: 1 xfeatures: a02 xcomp_bv: "
			"8000000000000a07\n", b, s, us + 7);
		fprintf(f, "             cc1 %5u [000] %5u.%06u:                  sched:sched_wakeup: "
			"comm=make pid=%u prio=120 target_cpu=000\n", b, s, us + 20, a);
	}
	if (!f || fclose(f))
		exit(1);
	return fd;
}

static double read_text(int fd)
{
	const struct slots_sink sink = { ignore, NULL };
	struct slots *slots = slots_new(&sink, SLOTS_SIGNALS_AUTO, SLOTS_SECTIONS_AUTO);
	const struct trace_sink events = { slots_event, slots };
	struct trace_tally tally = { 0 };
	struct trace_input in;
	char err[256] = "";
	double t;

	lseek(fd, 0, SEEK_SET);
	t = now();
	if (trace_input_of(&in, dup(fd), "text") ||
	    trace_read_text(&in, &events, &tally, err, sizeof(err)) || slots_end(slots)) {
		fprintf(stderr, "%s\n", err);
		exit(1);
	}
	t = now() - t;
	trace_input_close(&in);
	slots_free(slots);
	return (double)tally.lines / t;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const struct round *r, double (*of)(const struct round *))
{
	double v[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		v[i] = of(&r[i]);
	qsort(v, ROUNDS, sizeof(v[0]), by_value);
	return v[ROUNDS / 2];
}

#define SLOT_BYTES sizeof(struct rec)

static double of_read(const struct round *r) { return r->read / 1e9; }
static double of_one(const struct round *r) { return r->one / 1e6; }
static double of_one_ratio(const struct round *r) { return r->one * SLOT_BYTES / r->read; }
static double of_cores_ratio(const struct round *r) { return r->cores * SLOT_BYTES / r->read; }
static double of_all(const struct round *r) { return r->all / 1e6; }
static double of_direct(const struct round *r) { return r->direct / 1e6; }
static double of_lines(const struct round *r) { return r->lines / 1e6; }

/* The policy that takes longest alone; @speed: M slots a second, the median. */
static const char *slowest(const struct round *r, double *speed)
{
	unsigned is = 0;

	for (unsigned p = 0; p < XST_POLICY_COUNT; p++) {
		double v[ROUNDS];

		for (int i = 0; i < ROUNDS; i++)
			v[i] = r[i].alone[p] / 1e6;
		qsort(v, ROUNDS, sizeof(v[0]), by_value);
		if (!p || v[ROUNDS / 2] < *speed) {
			*speed = v[ROUNDS / 2];
			is = p;
		}
	}
	return xst_policy_at(is)->name;
}

int main(void)
{
	const struct synth synth = { .tasks = 64, .cpus = 4, .slots = SLOTS, .use = 0.95, .idle = 0.1,
				     .mean_us = 100, .seed = 1 };
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	const struct slots_sink sink = { keep, &(struct records){ 0 } };
	struct records *r = sink.arg;
	struct round rounds[ROUNDS];
	const int text = make_text();
	const unsigned deferred = 5;
	char path[64];
	const char *name;
	double slow = 0;
	int file;

	r->recs = mmap(NULL, (size_t)2 * SLOTS * sizeof(*r->recs), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->recs == MAP_FAILED || synth_run(&synth, &sink) ||
	    strcmp(xst_policy_at(deferred)->name, "deferred"))
		return 1;
	file = make_file(r);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	for (int i = 0; i < ROUNDS; i++) {
		struct round *k = &rounds[i];

		k->read = read_all(r);
		k->one = replay_all(file, deferred, deferred, false);
		k->cores = replay_on_cores(path, deferred, cores);
		k->all = replay_all(file, 0, XST_POLICY_COUNT - 1, false);
		k->direct = replay_all(file, 0, XST_POLICY_COUNT - 1, true);
		k->lines = read_text(text);
		for (unsigned p = 0; p < XST_POLICY_COUNT; p++)
			k->alone[p] = replay_all(file, p, p, false);
	}
	printf("reading memory            %8.2f GB/s a thread\n", median(rounds, of_read));
	printf("one policy, deferred      %8.1f M slots/s a thread, %.2f of it (at least 0.25)%s\n",
	       median(rounds, of_one), median(rounds, of_one_ratio),
	       median(rounds, of_one_ratio) < 0.25 ? " MISSED" : "");
	printf("the same on %2ld cores                         together %.2f of it (at least 0.6 with enough "
	       "of them)\n", cores, median(rounds, of_cores_ratio));
	name = slowest(rounds, &slow);
	printf("%-12s the slowest  %8.1f M slots/s a thread\n", name, slow);
	printf("all %u policies at once    %8.1f M slots/s a thread (40 on a quiet core)\n",
	       XST_POLICY_COUNT, median(rounds, of_all));
	printf("the same, --direct        %8.1f M slots/s a thread: the engine for every record\n",
	       median(rounds, of_direct));
	printf("text                      %8.1f M lines/s (at least 5)%s\n", median(rounds, of_lines),
	       median(rounds, of_lines) < 5 ? " MISSED" : "");
	return median(rounds, of_one_ratio) < 0.25 || median(rounds, of_lines) < 5;
}

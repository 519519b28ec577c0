// SPDX-License-Identifier: BSD-2-Clause
/*
 * The partner and one slice with it. Both tasks run generated code: touch the registers, turn to
 * the other one, again. Each starts a slice with all its components INIT, from XRSTOR.
 */
#include "pair.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <xst/insn.h>

#define PATIENCE_MS   3000 /* a partner that takes longer is taken for dead */
#define PARTNER_LOOPS (1u << 30)
#define LOST_SHARE    0.01 /* of a slice, that neither of the two had the CPU */
#define LOST_SECONDS  2e-6

const char *const pair_how_name[PAIR_HOWS] = {"yield", "pipe", "futex", "udp", "tcp"};
const char *const pair_who_name[PAIR_WHOS] = {"process", "thread", "idle"};

struct pair_shared {
	struct pair_turn turn[2];
	volatile uint32_t go, ready, done; /* counters, futex words */
	volatile uint32_t stop, quit;
	struct pair_work work;
	uint64_t placement;
	_Alignas(128) volatile uint32_t word[2][32]; /* first of each is used */
};

static void (*const turns[PAIR_HOWS][2])(void *turn) = {
        [PAIR_YIELD] = {turn_yield, turn_yield},
        [PAIR_PIPE] = {turn_send, turn_answer},
        [PAIR_FUTEX] = {turn_futex_send, turn_futex_answer},
        [PAIR_UDP] = {turn_send, turn_answer},
        [PAIR_TCP] = {turn_send, turn_answer},
};

static double seconds_of(clockid_t id)
{
	struct timespec t;

	if (clock_gettime(id, &t))
		return 0;
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double pair_partner_seconds(const struct pair *p)
{
	return p->pid > 0 ? seconds_of(p->clock) : 0;
}

static code_fn *emit(struct code_buffer *code, const struct bench_state *state,
                     struct pair_shared *s, unsigned side, uint32_t warm, uint32_t loops)
{
	const struct pair_work *work = &s->work;
	struct code_setup setup;
	struct code_body body = {
	        .step = {{side ? work->touch_second : work->touch_first, 1}, {SNIP_call, 1}},
	        .copies = 1};

	if (side) {
		body.step[2].snip = SNIP_until_stopped;
		body.step[2].times = 1;
	} else if (work->chain) {
		body.step[2].snip = body.step[4].snip = SNIP_lfence;
		body.step[3].snip = SNIP_multiply;
		body.step[2].times = body.step[4].times = 1;
		body.step[3].times = work->chain;
	}
	state_setup(state, LIVE_INIT, 0, s->placement, &setup);
	setup.call = turns[work->how][side];
	setup.argument = &s->turn[side];
	return code_emit(code, s->placement, &setup, &body, warm, loops);
}

static void put_pkru_back(const struct bench_state *state, enum snip touch)
{
	if (touch == SNIP_touch_pkru)
		xst_wrpkru(state->pkru_now);
}

/* What the partner does as long as it lives. */
static void serve(struct pair *p)
{
	struct pair_shared *s = p->shared;
	uint32_t seen = 0;

	for (;; seen++) {
		code_fn *fn;

		while (turn_futex_wait(&s->go, seen, 60000))
			continue;
		if (s->quit)
			return;
		fn = emit(&p->code, &p->state, s, 1, 1, PARTNER_LOOPS);
		if (!fn)
			return;
		turn_futex_wake(&s->ready);
		fn();
		put_pkru_back(&p->state, s->work.touch_second);
		turn_futex_wake(&s->done);
	}
}

static void *serve_thread(void *pair)
{
	serve(pair);
	return NULL;
}

static bool set_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

static void close_side(struct pair *p, unsigned side)
{
	for (int how = 0; how < PAIR_HOWS; how++) {
		int *fd = p->fd[how][side];

		if (fd[0] >= 0)
			close(fd[0]);
		if (fd[1] >= 0 && fd[1] != fd[0]) /* a socket is one descriptor for both ways */
			close(fd[1]);
	}
}

static bool open_pipes(struct pair *p)
{
	int there[2], back[2];

	if (pipe2(there, O_CLOEXEC))
		return false;
	p->fd[PAIR_PIPE][0][0] = there[1];
	p->fd[PAIR_PIPE][1][1] = there[0];
	if (pipe2(back, O_CLOEXEC))
		return false;
	p->fd[PAIR_PIPE][1][0] = back[1];
	p->fd[PAIR_PIPE][0][1] = back[0];
	return true;
}

/* A loopback socket bound to a port the system chose. */
static int bound(int type, struct sockaddr_in *at)
{
	socklen_t n = sizeof(*at);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_in){.sin_family = AF_INET,
	                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd >= 0 &&
	    (bind(fd, (struct sockaddr *)at, n) || getsockname(fd, (struct sockaddr *)at, &n))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void set_ends(struct pair *p, enum pair_how how, unsigned side, int fd)
{
	p->fd[how][side][0] = p->fd[how][side][1] = fd;
}

static bool open_udp(struct pair *p)
{
	struct sockaddr_in at[2];

	for (unsigned i = 0; i < 2; i++) {
		set_ends(p, PAIR_UDP, i, bound(SOCK_DGRAM, &at[i]));
		if (p->fd[PAIR_UDP][i][0] < 0)
			return false;
	}
	for (unsigned i = 0; i < 2; i++)
		if (connect(p->fd[PAIR_UDP][i][0], (struct sockaddr *)&at[!i], sizeof(at[0])))
			return false;
	return true;
}

static bool open_tcp(struct pair *p)
{
	struct sockaddr_in at;
	int listener = bound(SOCK_STREAM, &at), one = 1;
	bool ok = false;

	if (listener < 0)
		return false;
	set_ends(p, PAIR_TCP, 0, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (!listen(listener, 1) && p->fd[PAIR_TCP][0][0] >= 0 &&
	    !connect(p->fd[PAIR_TCP][0][0], (struct sockaddr *)&at, sizeof(at))) {
		set_ends(p, PAIR_TCP, 1, accept4(listener, NULL, NULL, SOCK_CLOEXEC));
		ok = p->fd[PAIR_TCP][1][0] >= 0;
	}
	for (unsigned i = 0; ok && i < 2; i++)
		setsockopt(p->fd[PAIR_TCP][i][0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(listener);
	return ok;
}

static void open_ends(struct pair *p)
{
	if (p->who == PAIR_IDLE)
		p->missing[PAIR_YIELD] = "a task that yields is never idle";
	if (!open_pipes(p))
		p->missing[PAIR_PIPE] = "no descriptors are left";
	if (!open_udp(p))
		p->missing[PAIR_UDP] = "the loopback interface takes no UDP";
	if (!open_tcp(p))
		p->missing[PAIR_TCP] = "the loopback interface takes no TCP";
}

static bool start_process(struct pair *p, pid_t parent)
{
	p->pid = fork();
	/* Each keeps its own ends, so that the death of one ends the other's reads. The numbers
	 * stay: this task tells the partner which are its. */
	if (p->pid >= 0)
		close_side(p, p->pid ? 1 : 0);
	if (p->pid)
		return p->pid > 0 && clock_getcpuclockid(p->pid, &p->clock) == 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	if (getppid() == parent && (p->who != PAIR_IDLE || set_cpu(p->cpu)))
		serve(p);
	_exit(0);
}

static bool start_thread(struct pair *p)
{
	return pthread_create(&p->thread, NULL, serve_thread, p) == 0 &&
	       pthread_getcpuclockid(p->thread, &p->clock) == 0;
}

bool pair_open(struct pair *p, struct bench_rig *rig, enum pair_who who, int cpu, const char **why)
{
	*p = (struct pair){.who = who, .cpu = cpu};
	memset(p->fd, 0xff, sizeof(p->fd));
	*why = "memory is short";
	p->shared = mmap(NULL, sizeof(*p->shared), PROT_READ | PROT_WRITE,
	                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->shared == MAP_FAILED) {
		p->shared = NULL;
		return false;
	}
	p->state = rig->state;
	p->state.memory = NULL;
	if (!state_build(&p->state, 1, why) || !code_open(&p->code))
		return false;
	open_ends(p);
	signal(SIGPIPE, SIG_IGN); /* a partner that died is found out by its silence */
	*why = "the system makes no more tasks";
	p->running = who == PAIR_THREAD ? start_thread(p) : start_process(p, getpid());
	return p->running;
}

void pair_close(struct pair *p)
{
	if (!p->shared)
		return;
	p->shared->quit = 1;
	p->shared->stop = 1;
	turn_futex_wake(&p->shared->go);
	if (p->pid > 0) {
		/* It may hang in a read; nothing of it is needed any more. */
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	} else if (p->running && !p->dead) {
		pthread_join(p->thread, NULL);
	}
	close_side(p, 0);
	if (p->pid <= 0)
		close_side(p, 1);
	if (p->dead && p->who == PAIR_THREAD)
		return; /* it may still be there and use what follows */
	code_close(&p->code);
	state_close(&p->state);
	munmap(p->shared, sizeof(*p->shared));
	p->shared = NULL;
}

static void fill_turn(struct pair *p, unsigned side)
{
	struct pair_shared *s = p->shared;
	struct pair_turn *t = &s->turn[side];
	enum pair_how how = s->work.how;

	t->out = p->fd[how][side][0];
	t->in = p->fd[how][side][1];
	s->word[side][0] = 0;
	t->wait = &s->word[side][0];
	t->wake = &s->word[!side][0];
	t->seen = t->broken = t->last = 0;
	t->stop = &s->stop;
	/* No access with key 15, which nothing uses; a value of each task's own. */
	t->pkru = p->state.pkru_now ^ (side ? 0x40000000u : 0x80000000u);
	t->tilecfg[0] = 1; /* palette 1: tile 0 has 16 rows of 64 bytes */
	t->tilecfg[16] = 64;
	t->tilecfg[48] = 16;
	memset(t->tile, 0x5a + (int)side, sizeof(t->tile));
}

/* The partner is in its loop, or about to enter it; false when it is not there. */
static bool begin(struct pair *p, const struct pair_work *work, uint64_t placement)
{
	struct pair_shared *s = p->shared;
	uint32_t ready = s->ready;

	s->work = *work;
	s->placement = placement;
	s->stop = 0;
	fill_turn(p, 0);
	fill_turn(p, 1);
	turn_futex_wake(&s->go);
	return turn_futex_wait(&s->ready, ready, PATIENCE_MS) == 0;
}

static bool end(struct pair *p, uint32_t done)
{
	struct pair_shared *s = p->shared;

	s->stop = 1;
	if (s->work.how != PAIR_YIELD)
		turns[s->work.how][0](&s->turn[0]);
	return turn_futex_wait(&s->done, done, PATIENCE_MS) == 0;
}

static long switches_of(const struct rusage *u)
{
	return u->ru_nvcsw + u->ru_nivcsw;
}

/* Did anybody but the two have the CPU? A yield counts as an involuntary switch, so the CPU time of
 * both is compared with the time that passed. */
static bool disturbed(const struct pair *p, double wall, double own, double other, long involuntary)
{
	if (p->who == PAIR_IDLE)
		return involuntary > 0;
	return wall - own - other > LOST_SHARE * wall + LOST_SECONDS;
}

void pair_measure(struct pair *p, struct bench_rig *rig, const struct pair_work *work,
                  uint64_t placement, struct stats_slice *out, struct pair_count *count)
{
	uint32_t done;
	struct rusage before, after;
	uint64_t ticks = 0;
	double wall, own, other;
	code_fn *fn;

	out->calibration_cycles = rig->calibration_cycles;
	out->failed = true;
	if (p->dead)
		return;
	done = p->shared->done;
	if (!begin(p, work, placement)) {
		p->dead = true;
		return;
	}
	fn = emit(&rig->code, &rig->state, p->shared, 0, RIG_WARM_LOOPS, work->loops);
	if (fn) {
		out->calibration_ticks[0] = rig_calibrate(rig);
		getrusage(RUSAGE_THREAD, &before);
		wall = seconds_of(CLOCK_MONOTONIC);
		own = seconds_of(CLOCK_THREAD_CPUTIME_ID);
		other = seconds_of(p->clock);
		ticks = fn();
		other = seconds_of(p->clock) - other;
		own = seconds_of(CLOCK_THREAD_CPUTIME_ID) - own;
		wall = seconds_of(CLOCK_MONOTONIC) - wall;
		getrusage(RUSAGE_THREAD, &after);
		out->calibration_ticks[1] = rig_calibrate(rig);
		put_pkru_back(&rig->state, work->touch_first);
		out->switched = disturbed(p, wall, own, other, after.ru_nivcsw - before.ru_nivcsw);
		if (p->who != PAIR_IDLE) {
			p->wall += wall;
			p->lost += fmax(0, wall - own - other);
		}
		out->ticks = (double)ticks - rig->overhead_ticks;
		out->failed = ticks == 0 || p->shared->turn[0].broken;
		if (count) {
			count->switches += (uint64_t)(switches_of(&after) - switches_of(&before));
			count->loops += RIG_WARM_LOOPS + work->loops;
		}
	}
	p->dead = !end(p, done);
}

// SPDX-License-Identifier: BSD-2-Clause
/* The programs of events.bpf.c, loaded by libbpf, and what they say as a trace's events. */
#include "record/bpf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <xst/caps.h>
#include <xst/comp.h>

#include "record/assets.h"
#include "record/event.h"

_Static_assert(EVENT_COMM == TRACE_COMM, "a name is a name");

#define PROGRAMS_MAX 16
#define LOOK_MS      20
#define PATIENCE     100 /* looks, for a command that was told to end */

struct bpf_recorder {
	struct bpf_object *object;
	struct bpf_link *links[PROGRAMS_MAX];
	size_t link_count;
	struct ring_buffer *ring;
	const struct trace_sink *sink;
	bool failed;
};

/* The kernel's own words, for one who looks: XSTATE_BPF_LOG=1. */
static int say(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_DEBUG || !getenv("XSTATE_BPF_LOG"))
		return 0;
	return vfprintf(stderr, format, args);
}

/* TASK_DEAD and TASK_IDLE are not among the bits that tracepoints print. Ref: Linux, sched.h */
static char state_of(const struct event *e)
{
	if (e->flag)
		return 'R';
	if (e->arg & 0x80)
		return 'Z';
	if ((e->arg & 0x402) == 0x402)
		return 'I';
	return trace_state(e->arg & 0x7f);
}

static int on_event(void *arg, void *data, size_t size)
{
	static const enum trace_kind kinds[EVENT_KINDS] = {
		[EVENT_SWITCH] = TRACE_SWITCH,       [EVENT_MIGRATE] = TRACE_MIGRATE,
		[EVENT_FORK] = TRACE_FORK,           [EVENT_EXEC] = TRACE_EXEC,
		[EVENT_EXIT] = TRACE_EXIT,           [EVENT_WAIT] = TRACE_WAIT,
		[EVENT_ACTIVATED] = TRACE_ACTIVATED, [EVENT_DEACTIVATED] = TRACE_DEACTIVATED,
		[EVENT_DROPPED] = TRACE_DROPPED,     [EVENT_COPIED] = TRACE_COPIED,
		[EVENT_SIGNAL] = TRACE_SIGNAL,       [EVENT_SIGRETURN] = TRACE_SIGRETURN,
	};
	struct bpf_recorder *r = arg;
	const struct event *e = data;
	struct trace_event ev = { .flag = true };

	if (size < sizeof(*e) || e->kind >= EVENT_KINDS || r->failed)
		return 0;
	ev.ns = e->ns;
	ev.cpu = e->cpu;
	ev.pid = e->pid;
	ev.kind = kinds[e->kind];
	ev.prev = e->prev;
	ev.other = e->other;
	ev.arg = e->arg;
	memcpy(ev.own, e->own, TRACE_COMM - 1);
	memcpy(ev.comm, e->comm, TRACE_COMM - 1);
	if (ev.kind == TRACE_SWITCH)
		ev.state = state_of(e);
	else if (ev.kind == TRACE_EXIT || ev.kind == TRACE_SIGNAL)
		ev.flag = e->flag;
	else if (ev.kind == TRACE_DEACTIVATED)
		ev.image = e->changed ? TRACE_IMAGE_NEW : TRACE_IMAGE_SAME;
	r->failed = r->sink->event(r->sink->arg, &ev) != 0;
	return 0;
}

/* What images look like here: the programs find components by it. */
static bool describe(struct event_config *c)
{
	struct xst_caps caps;

	memset(c, 0, sizeof(*c));
	if (xst_caps_native(&caps) || !caps.xsave)
		return false;
	c->guarded = XST_MASK_TS_GUARDED & xst_caps_placed(&caps);
	for (unsigned i = 2; i < EVENT_COMPS; i++) {
		if (!(xst_caps_placed(&caps) >> i & 1))
			continue;
		c->bytes[i] = caps.comp[i].bytes;
		c->standard[i] = caps.comp[i].offset;
		c->align64 |= caps.comp[i].align64 ? 1u << i : 0;
	}
	return true;
}

/* An errno as a reason. */
static void explain(char *why, size_t size, const char *what, int error)
{
	if (error == EPERM || error == EACCES)
		snprintf(why, size, "the kernel refuses bpf()%s",
			 geteuid() ? ", which is root's" : "");
	else
		snprintf(why, size, "%s: %s", what, strerror(error));
}

static bool load(struct bpf_recorder *r, const struct event_config *config, uint32_t buffer, char *why,
		 size_t size)
{
	struct bpf_program *program;
	struct bpf_map *map;
	size_t bytes = 0;
	void *place;
	int error;

	r->object = bpf_object__open_mem(record_events, record_events_bytes, NULL);
	map = r->object ? bpf_object__find_map_by_name(r->object, ".rodata") : NULL;
	/* libbpf's own, and to be filled before loading. */
	place = map ? (void *)(uintptr_t)bpf_map__initial_value(map, &bytes) : NULL;
	if (!place || bytes != sizeof(*config)) {
		snprintf(why, size, "libbpf cannot read the programs");
		return false;
	}
	memcpy(place, config, sizeof(*config));
	map = bpf_object__find_map_by_name(r->object, "events");
	if (buffer && map)
		(void)bpf_map__set_max_entries(map, buffer);
	error = bpf_object__load(r->object);
	if (error) {
		explain(why, size, "the kernel does not take the programs", -error);
		return false;
	}
	bpf_object__for_each_program(program, r->object) {
		struct bpf_link *link = bpf_program__attach(program);

		if (!link || r->link_count == PROGRAMS_MAX) {
			explain(why, size, "a tracepoint cannot be used", errno);
			return false;
		}
		r->links[r->link_count++] = link;
	}
	map = bpf_object__find_map_by_name(r->object, "events");
	r->ring = map ? ring_buffer__new(bpf_map__fd(map), on_event, r, NULL) : NULL;
	if (!r->ring)
		explain(why, size, "no buffer", errno);
	return r->ring;
}

struct bpf_recorder *bpf_recorder_open(uint32_t buffer, char *why, size_t size)
{
	struct bpf_recorder *r = calloc(1, sizeof(*r));
	struct event_config config;

	if (!r) {
		snprintf(why, size, "out of memory");
		return NULL;
	}
	libbpf_set_print(say);
	if (!describe(&config))
		snprintf(why, size, "this CPU has no XSAVE");
	else if (access("/sys/kernel/btf/vmlinux", R_OK))
		snprintf(why, size, "the kernel has no BTF that can be read");
	else if (load(r, &config, buffer, why, size))
		return r;
	bpf_recorder_close(r);
	return NULL;
}

static void detach(struct bpf_recorder *r)
{
	for (size_t i = 0; i < r->link_count; i++)
		bpf_link__destroy(r->links[i]);
	r->link_count = 0;
}

/* Events that found the buffer full, on all CPUs. */
static unsigned long long lost(const struct bpf_recorder *r)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(r->object, "cpu_words");
	const int cpus = libbpf_num_possible_cpus();
	unsigned long long *n, sum = 0;
	unsigned key = 0;

	n = cpus > 0 ? calloc((size_t)cpus, sizeof(*n)) : NULL;
	if (n && !bpf_map_lookup_elem(bpf_map__fd(map), &key, n))
		for (int i = 0; i < cpus; i++)
			sum += n[i];
	free(n);
	return sum;
}

/* The command; a pipe tells when it cannot be executed. 0, or an errno. */
static int start(char **command, pid_t *pid)
{
	int ends[2], error = 0;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	fflush(NULL);
	*pid = fork();
	if (!*pid) {
		execvp(command[0], command);
		error = errno;
		n = write(ends[1], &error, sizeof(error));
		_exit(n == (ssize_t)sizeof(error) ? 126 : 127);
	}
	if (*pid < 0)
		error = errno;
	close(ends[1]);
	do
		n = *pid > 0 ? read(ends[0], &error, sizeof(error)) : 0;
	while (n < 0 && errno == EINTR);
	close(ends[0]);
	if (*pid > 0 && error)
		waitpid(*pid, NULL, 0);
	return error;
}

int bpf_recorder_run(struct bpf_recorder *r, char **command, const struct trace_sink *sink,
		     const volatile sig_atomic_t *stopped, int *status)
{
	const struct timespec look = { .tv_nsec = LOOK_MS * 1000000L };
	const struct trace_event sees = { .kind = TRACE_SIGRETURNS, .pid = -1 };
	unsigned told = 0; /* that it shall end: so many looks ago */
	pid_t pid = -1;
	int how = 0;

	r->sink = sink;
	*status = 0;
	if (sink->event(sink->arg, &sees))
		return -1;
	*status = start(command, &pid);
	if (*status)
		return -1;
	while (waitpid(pid, &how, WNOHANG) == 0 && told < PATIENCE) {
		ring_buffer__consume(r->ring);
		if ((*stopped || r->failed) && !told++)
			(void)kill(pid, SIGTERM);
		told += told > 0;
		nanosleep(&look, NULL);
	}
	detach(r);
	ring_buffer__consume(r->ring);
	*status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
	if (!r->failed) {
		struct trace_tally tally = { .lost_at_end = lost(r) };

		r->failed = trace_lost_rest(sink, &tally) != 0;
	}
	return r->failed ? -1 : 0;
}

void bpf_recorder_close(struct bpf_recorder *r)
{
	detach(r);
	ring_buffer__free(r->ring);
	bpf_object__close(r->object);
	free(r);
}

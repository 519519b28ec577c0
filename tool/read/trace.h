/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces of a scheduler and its FPU events, in the formats people have. Each format's reader turns
 * what it finds into one kind of event and gives it away at once: no trace is ever held in memory.
 */
#ifndef READ_TRACE_H
#define READ_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_CPUS_MAX 4096u
#define TRACE_PID_MAX  (1 << 22) /* the largest pid_max Linux takes */
#define TRACE_COMM     16

enum trace_kind {
	TRACE_SWITCH,      /* prev, state, other = next or -1, comm = next's */
	TRACE_MIGRATE,     /* other, arg = destination CPU */
	TRACE_FORK,        /* other = child, comm = child's */
	TRACE_EXEC,        /* other = thread id before */
	TRACE_EXIT,        /* flag: the last thread of its process (true when it does not say) */
	TRACE_ACTIVATED,   /* a restore */
	TRACE_DEACTIVATED, /* after the save: arg = live mask; flag: still marked as to be loaded */
	TRACE_DROPPED,
	TRACE_COPIED,      /* before a fork */
	TRACE_WAIT,        /* wait() for a child begins */
	TRACE_SIGNAL,      /* flag: a handler takes it */
	TRACE_SIGRETURN,   /* a handler returns; one that jumps out of itself never does */
	TRACE_SIGRETURNS,  /* of no CPU: it is known that SIGRETURN events would be there */
	TRACE_SECTION,     /* the kernel begins to use the registers */
	TRACE_LOST,        /* arg events are missing; flag: by an account made at the end */
};

/* DEACTIVATED: the image that was saved, against the one saved before. */
enum trace_image {
	TRACE_IMAGE_UNKNOWN, /* not compared */
	TRACE_IMAGE_SAME,
	TRACE_IMAGE_NEW,
};

struct trace_event {
	uint64_t ns;
	uint32_t cpu;
	int32_t pid;      /* of the task the event was recorded in; -1: not known */
	enum trace_kind kind;
	int32_t prev, other;
	uint32_t arg;
	bool flag;
	uint8_t image;    /* enum trace_image */
	char state;       /* of prev: R S D T X Z I ...; 0: not known */
	const char *broken;    /* trace_text_event() returned -1: which field is not as it should be */
	char own[TRACE_COMM];  /* name of @pid, or empty */
	char comm[TRACE_COMM]; /* of @other, or empty */
};

/* The low bits of a task's state, as text traces spell them. */
static inline char trace_state(uint64_t state)
{
	static const char letters[] = "SDTtXZPI";

	for (int i = 0; letters[i]; i++)
		if (state >> i & 1)
			return letters[i];
	return 'R';
}

/* Where events go. */
struct trace_sink {
	/* 0, or -1 when the sink wants no more (it knows why) */
	int (*event)(void *arg, const struct trace_event *ev);
	void *arg;
};

/* An input: a file or standard input, packed by xz or not. */
struct trace_input {
	const char *name; /* as messages call it */
	int fd;
	void *unpack;     /* struct of trace_input.c, or NULL */
	uint64_t bytes;   /* handed out so far */
	uint64_t size;    /* of the file; 0 when not known */
	uint64_t raw;     /* bytes taken from the file */
	uint8_t head[64]; /* the first bytes, also given by trace_input_read() */
	size_t head_len, head_pos;
	char why[160];    /* when reading failed */
};

enum trace_format {
	TRACE_TEXT,      /* perf script or ftrace */
	TRACE_COMPACT,   /* sim/rec.h */
	TRACE_DAT,       /* trace-cmd */
	TRACE_PERF_DATA,
};

/**
 * trace_input_open() - @path, or standard input for "-".
 *
 * Return: 0, or -1 with in->why.
 */
int trace_input_open(struct trace_input *in, const char *path);
void trace_input_close(struct trace_input *in);

/**
 * trace_input_of() - an open file, for what comes from another program.
 */
int trace_input_of(struct trace_input *in, int fd, const char *name);

/**
 * trace_input_read() - up to @len bytes.
 *
 * Return: how many, 0 at the end, -1 with in->why.
 */
long trace_input_read(struct trace_input *in, void *buf, size_t len);

/**
 * trace_input_format() - by the first bytes.
 */
enum trace_format trace_input_format(const struct trace_input *in);

/* What a reader counted. */
struct trace_tally {
	uint64_t lines;   /* or records */
	uint64_t events;  /* those of a kind above */
	uint64_t odd;     /* lines that are no event of any kind, or broken */
	uint64_t first_odd;          /* the first of them, and what is wrong with it: */
	char first_kind[40], first_broken[60];
	const char *first_missing;   /* of a line of perf script; or NULL */
	uint64_t aside;              /* of text, lines that belong to the line before, or to no CPU */
	/* Events that were lost, by two accounts: where it was noticed, and what each event counted
	 * until the end. The larger is true: the first misses the last ones, the second is not always
	 * there. */
	uint64_t lost_there, lost_at_end;
};

/**
 * trace_read_text() - perf script or ftrace text, mixed or not.
 * trace_read_dat() - trace-cmd's trace.dat, @path must be a file.
 * trace_read_perf_data() - through `perf script`, @path must be a file.
 * @err: out on error, one sentence without a full stop that begins with the input's name; untouched
 *       when the sink stopped the reading.
 *
 * Return: 0; -1; TRACE_CANNOT when this machine lacks what reads the format.
 */
#define TRACE_CANNOT (-2)
int trace_read_text(struct trace_input *in, const struct trace_sink *sink, struct trace_tally *tally,
		    char *err, size_t errlen);
int trace_read_dat(const char *path, const struct trace_sink *sink, struct trace_tally *tally,
		   char *err, size_t errlen);
int trace_read_perf_data(const char *path, const struct trace_sink *sink, struct trace_tally *tally,
			 char *err, size_t errlen);

/**
 * trace_lost_rest() - an event for what was lost and not noticed where it was.
 *
 * Return: 0, -1 when the sink said so.
 */
int trace_lost_rest(const struct trace_sink *sink, struct trace_tally *tally);

#endif

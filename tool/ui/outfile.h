/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A result file: all of it or nothing. It is written beside its place and renamed into it, so that a
 * full disk or an interruption leaves what was there before, and nothing beside it. Opened before long work begins, so that
 * an impossible place is told at once and not after it.
 */
#ifndef UI_OUTFILE_H
#define UI_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

struct outfile {
	FILE *f;           /* write here; stdout for "-" */
	const char *path;  /* as the user named it */
	/* What will be replaced, and what is written until then; NULL: written in place. */
	char *place, *part;
};

/**
 * outfile_open() - begin.
 * @path: "-" is standard output. A link is followed, also to where there is nothing yet. What is no
 *        regular file (a device, a pipe) is written to, never replaced. A new file gets the mode
 *        that the umask says, an old one keeps its own.
 *
 * Return: false with errno set.
 */
bool outfile_open(struct outfile *o, const char *path);

/**
 * outfile_commit() - everything was written: put it in place.
 *
 * Return: false with errno set; then nothing was put in place. @o is done with either way.
 */
bool outfile_commit(struct outfile *o);

/**
 * outfile_same() - would @out, written, replace @in? Neither standard input nor output is a file.
 */
bool outfile_same(const char *out, const char *in);

/**
 * outfile_drop() - leave what was there before.
 */
void outfile_drop(struct outfile *o);

#endif

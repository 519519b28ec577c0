// SPDX-License-Identifier: BSD-2-Clause
/*
 * A result file: all of it or nothing. See outfile.h.
 */
#include "ui/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as many as the kernel follows */
#define PARTS_MAX 8  /* more at one time are not cleaned up after a signal */

static const char *volatile parts[PARTS_MAX];
static volatile pid_t parts_of; /* a child has the list, too, but not the files */

/* Ends as without us, but for the files that nobody would ever finish. */
static void clean_up(int number)
{
	for (int i = 0; i < PARTS_MAX && getpid() == parts_of; i++)
		if (parts[i])
			unlink(parts[i]);
	signal(number, SIG_DFL);
	raise(number);
}

/* Where a verb has a handler of its own, that one decides. */
static void watch(const char *part)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGXFSZ};
	struct sigaction new = {.sa_handler = clean_up}, old;

	sigemptyset(&new.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(numbers[i], &new, NULL);
	parts_of = getpid();
	for (int i = 0; i < PARTS_MAX; i++)
		if (!parts[i]) {
			parts[i] = part;
			return;
		}
}

/* The place that the link @path names, by its own words. */
static char *target_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
	char to[PATH_MAX], *place;
	const ssize_t n = readlink(path, to, sizeof(to) - 1);

	if (n < 0)
		return NULL;
	to[n] = '\0';
	place = malloc(folder + (size_t)n + 1);
	if (place)
		sprintf(place, "%.*s%s", to[0] == '/' ? 0 : (int)folder, path, to);
	return place;
}

/* The file @path leads to, itself if there is none yet. realpath() does not say where a link leads
 * that leads to nothing; such a one must not be replaced by a file either. */
static char *follow(const char *path)
{
	char *real = realpath(path, NULL), *at;

	if (real || errno != ENOENT)
		return real;
	at = strdup(path);
	for (int i = 0; at && i < LINKS_MAX; i++) {
		struct stat st;
		char *next;

		if (lstat(at, &st) || !S_ISLNK(st.st_mode))
			return at;
		next = target_of(at);
		free(at);
		at = next;
	}
	free(at);
	errno = ELOOP;
	return NULL;
}

bool outfile_same(const char *out, const char *in)
{
	struct stat a, b;

	return strcmp(out, "-") && strcmp(in, "-") && !stat(out, &a) && !stat(in, &b) &&
	       S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Opens a file of its own beside @o->place, with the mode @place has or would get. */
static int open_part(struct outfile *o, const struct stat *old)
{
	const size_t n = strlen(o->place) + sizeof(".XXXXXX");
	mode_t mask;
	int fd;

	o->part = malloc(n);
	if (!o->part)
		return -1;
	snprintf(o->part, n, "%s.XXXXXX", o->place);
	fd = mkostemp(o->part, O_CLOEXEC);
	if (fd < 0)
		return -1;
	mask = umask(0);
	umask(mask);
	if (fchmod(fd, old ? old->st_mode & 07777 : 0666 & ~mask)) {
		close(fd);
		unlink(o->part);
		return -1;
	}
	return fd;
}

static void forget(struct outfile *o)
{
	const int saved = errno;

	for (int i = 0; i < PARTS_MAX; i++)
		if (o->part && parts[i] == o->part)
			parts[i] = NULL;
	free(o->place);
	free(o->part);
	*o = (struct outfile){0};
	errno = saved;
}

bool outfile_open(struct outfile *o, const char *path)
{
	struct stat st;
	bool there;
	int fd;

	*o = (struct outfile){.path = path};
	if (!strcmp(path, "-")) {
		o->f = stdout;
		return true;
	}
	there = !stat(path, &st);
	if (there && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return false;
	}
	if (there && !S_ISREG(st.st_mode)) {
		o->f = fopen(path, "we");
		return o->f;
	}
	if (there && access(path, W_OK))
		return false;
	o->place = follow(path);
	fd = o->place ? open_part(o, there ? &st : NULL) : -1;
	if (fd >= 0) {
		watch(o->part);
		o->f = fdopen(fd, "w");
		if (o->f)
			return true;
		close(fd);
		unlink(o->part);
	}
	forget(o);
	return false;
}

bool outfile_commit(struct outfile *o)
{
	bool ok = !fflush(o->f) && !ferror(o->f);

	if (o->part)
		ok = ok && !fsync(fileno(o->f));
	if (o->f != stdout)
		ok = !fclose(o->f) && ok;
	if (o->part && ok)
		ok = !rename(o->part, o->place);
	if (o->part && !ok) {
		const int saved = errno;

		unlink(o->part);
		errno = saved;
	}
	forget(o);
	return ok;
}

void outfile_drop(struct outfile *o)
{
	if (!o->f)
		return;
	if (o->f != stdout)
		fclose(o->f);
	if (o->part)
		unlink(o->part);
	forget(o);
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * A result file: all of it or nothing. See outfile.h.
 */
#include "ui/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file @path leads to, itself if there is none yet. */
static char *follow(const char *path)
{
	char *real = realpath(path, NULL);

	return real || errno != ENOENT ? real : strdup(path);
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

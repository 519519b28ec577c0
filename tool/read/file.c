// SPDX-License-Identifier: BSD-2-Clause
/* Reading a whole input file; stat's size is only a hint, since pipes and /proc have none. */
#include "read/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(char *err, size_t errlen, const char *path, const char *why)
{
	snprintf(err, errlen, "%s: %s", strcmp(path, "-") ? path : "standard input", why);
	return -1;
}

static int read_all(int fd, const char *path, size_t max, char **buf, size_t *len, char *err,
		    size_t errlen)
{
	size_t room = 1 << 16;
	char *p = malloc(room), *bigger;
	ssize_t n;

	*len = 0;
	while (p) {
		n = read(fd, p + *len, room - 1 - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			free(p);
			return fail(err, errlen, path, strerror(errno));
		}
		*len += (size_t)n;
		if (n == 0) {
			p[*len] = '\0';
			*buf = p;
			return 0;
		}
		if (*len > max) {
			char why[64];

			free(p);
			snprintf(why, sizeof(why), "more than %zu MiB is not an input of this kind",
				 max >> 20);
			return fail(err, errlen, path, why);
		}
		if (room - 1 - *len == 0) {
			bigger = realloc(p, room *= 2);
			if (!bigger)
				free(p);
			p = bigger;
		}
	}
	return fail(err, errlen, path, "out of memory");
}

int read_file(const char *path, size_t max, char **buf, size_t *len, char *err, size_t errlen)
{
	struct stat st;
	int fd, result;

	*buf = NULL;
	*len = 0;
	if (!strcmp(path, "-"))
		return read_all(STDIN_FILENO, path, max, buf, len, err, errlen);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(err, errlen, path, strerror(errno));
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
		result = fail(err, errlen, path, "is a directory, not a file");
	else
		result = read_all(fd, path, max, buf, len, err, errlen);
	close(fd);
	return result;
}

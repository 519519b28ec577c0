// SPDX-License-Identifier: BSD-2-Clause
/* The file of --state. */
#include "sim/state.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int cannot_write(const struct sim_state *s, char *err, size_t errlen)
{
	snprintf(err, errlen, "cannot write %s: %s", s->path, strerror(errno));
	return -1;
}

int sim_state_begin(const struct sim_state *s, struct replay *r, struct rec_place *place, uint64_t of,
		    struct outfile *out, char *err, size_t errlen)
{
	/* What this run wrote already is not in its place yet. */
	const char *path = s->next.f ? s->next.part : s->path, *why = NULL;
	struct stat st;
	FILE *f = NULL;

	if (stat(path, &st))
		why = errno == ENOENT ? NULL : strerror(errno);
	else if (!S_ISREG(st.st_mode))
		why = S_ISDIR(st.st_mode) ? strerror(EISDIR) : "a state is a regular file";
	else if (!(f = fopen(path, "re")))
		why = strerror(errno);
	else
		why = replay_go_on(r, f, place, of);
	if (f)
		fclose(f);
	if (why) {
		snprintf(err, errlen, "%s: %s", s->path, why);
		return -1;
	}
	return outfile_open(out, s->path) ? 0 : cannot_write(s, err, errlen);
}

int sim_state_write(struct sim_state *s, const struct replay *r, const struct rec_place *next,
		    uint64_t of, struct outfile *out, char *err, size_t errlen)
{
	/* What can fail fails now, and not when the answer is given. */
	if (!replay_keep(r, out->f, next, of) || fflush(out->f))
		return cannot_write(s, err, errlen);
	outfile_drop(&s->next);
	s->next = *out;
	*out = (struct outfile){ .f = NULL };
	return 0;
}

int sim_state_commit(struct sim_state *s, char *err, size_t errlen)
{
	return !s->next.f || outfile_commit(&s->next) ? 0 : cannot_write(s, err, errlen);
}

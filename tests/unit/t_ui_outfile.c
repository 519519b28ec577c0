// SPDX-License-Identifier: BSD-2-Clause
/* Result files: all or nothing, devices and links are not replaced, modes are kept. */
#include "t.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ui/outfile.h"

static int enter(void **state)
{
	char *dir = strdup("/tmp/xstate-outfile.XXXXXX");

	*state = dir;
	return dir && mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int leave(void **state)
{
	char command[64];
	int status = chdir("/");

	snprintf(command, sizeof(command), "rm -rf %s", (char *)*state);
	status = status || system(command);
	free(*state);
	return status;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void expect(const char *path, const char *text)
{
	char buf[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	buf[fread(buf, 1, sizeof(buf) - 1, f)] = 0;
	fclose(f);
	assert_string_equal(buf, text);
}

static unsigned files_here(void)
{
	DIR *d = opendir(".");
	unsigned n = 0;

	assert_non_null(d);
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void replaces_at_the_end_only(void **state)
{
	struct outfile o;
	struct stat st;

	(void)state;
	put("a", "old");
	chmod("a", 0640);
	assert_true(outfile_open(&o, "a"));
	fputs("new", o.f);
	fflush(o.f);
	expect("a", "old");
	assert_true(outfile_commit(&o));
	expect("a", "new");
	assert_int_equal(stat("a", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(files_here(), 1);
}

static void dropped_leaves_nothing(void **state)
{
	struct outfile o;

	(void)state;
	put("a", "old");
	assert_true(outfile_open(&o, "a"));
	fputs("new", o.f);
	outfile_drop(&o);
	outfile_drop(&o);
	expect("a", "old");
	assert_true(outfile_open(&o, "b"));
	outfile_drop(&o);
	assert_int_equal(files_here(), 1);
}

static void links_are_followed(void **state)
{
	struct outfile o;
	struct stat st;

	(void)state;
	put("a", "old");
	assert_int_equal(symlink("a", "l"), 0);
	assert_true(outfile_open(&o, "l"));
	fputs("new", o.f);
	assert_true(outfile_commit(&o));
	expect("a", "new");
	assert_int_equal(lstat("l", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

/* A link that leads to nothing yet stays a link, and the file comes to be where it leads. */
static void dangling_links_are_followed(void **state)
{
	struct outfile o;
	struct stat st;

	(void)state;
	assert_int_equal(mkdir("d", 0777), 0);
	assert_int_equal(symlink("d/second", "first"), 0);
	assert_int_equal(symlink("../new", "d/second"), 0);
	assert_true(outfile_open(&o, "first"));
	fputs("text", o.f);
	assert_true(outfile_commit(&o));
	expect("new", "text");
	assert_int_equal(lstat("first", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(lstat("d/second", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(symlink("round", "round"), 0);
	assert_false(outfile_open(&o, "round"));
	assert_int_equal(errno, ELOOP);
	assert_int_equal(symlink("no/such", "nowhere"), 0);
	assert_false(outfile_open(&o, "nowhere"));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(files_here(), 5);
}

static void the_same_file_is_seen(void **state)
{
	(void)state;
	put("a", "x");
	put("b", "x");
	assert_int_equal(symlink("a", "l"), 0);
	assert_int_equal(link("a", "h"), 0);
	assert_true(outfile_same("a", "./a"));
	assert_true(outfile_same("l", "a"));
	assert_true(outfile_same("h", "a"));
	assert_false(outfile_same("a", "b"));
	assert_false(outfile_same("none", "none"));
	assert_false(outfile_same("-", "-"));
	assert_false(outfile_same("/dev/null", "/dev/null"));
}

static void devices_are_not_replaced(void **state)
{
	struct outfile o;
	struct stat st;

	(void)state;
	assert_true(outfile_open(&o, "/dev/null"));
	fputs("new", o.f);
	assert_true(outfile_commit(&o));
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_true(outfile_open(&o, "/dev/full"));
	fputs("new", o.f);
	assert_false(outfile_commit(&o));
	assert_int_equal(errno, ENOSPC);
}

static void impossible_places_are_told_at_once(void **state)
{
	struct outfile o;

	(void)state;
	assert_false(outfile_open(&o, "no/such/folder"));
	assert_int_equal(errno, ENOENT);
	assert_false(outfile_open(&o, "."));
	assert_int_equal(errno, EISDIR);
	put("a", "");
	assert_false(outfile_open(&o, "a/b"));
	assert_int_equal(errno, ENOTDIR);
}

/* A signal ends the program as ever, and what was not finished goes; but not by a child's end. */
static void signals_leave_nothing(void **state)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGXFSZ };
	const struct rlimit none = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			struct outfile o;
			pid_t child;

			/* Some of them leave a core. */
			setrlimit(RLIMIT_CORE, &none);
			signal(numbers[i], SIG_DFL);
			if (!outfile_open(&o, "interrupted"))
				_exit(1);
			child = fork();
			if (!child) {
				raise(numbers[i]);
				_exit(2);
			}
			waitpid(child, &status, 0);
			if (!WIFSIGNALED(status) || access(o.part, F_OK))
				_exit(3);
			raise(numbers[i]);
			_exit(4);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), numbers[i]);
		assert_int_equal(files_here(), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(replaces_at_the_end_only, enter, leave),
		cmocka_unit_test_setup_teardown(dropped_leaves_nothing, enter, leave),
		cmocka_unit_test_setup_teardown(signals_leave_nothing, enter, leave),
		cmocka_unit_test_setup_teardown(links_are_followed, enter, leave),
		cmocka_unit_test_setup_teardown(dangling_links_are_followed, enter, leave),
		cmocka_unit_test_setup_teardown(the_same_file_is_seen, enter, leave),
		cmocka_unit_test_setup_teardown(devices_are_not_replaced, enter, leave),
		cmocka_unit_test_setup_teardown(impossible_places_are_told_at_once, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

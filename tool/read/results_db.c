// SPDX-License-Identifier: BSD-2-Clause
/* Runs in SQLite. The view `pairs` is for people with SQL at hand; we read the documents. */
#include "read/results_db.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

bool results_db_is(const char *bytes, size_t len)
{
	return len >= 16 && !memcmp(bytes, "SQLite format 3", 16);
}

#ifdef HAVE_SQLITE
#define WAIT_MS 10000 /* for another writer */

static const char schema[] =
        "CREATE TABLE IF NOT EXISTS run (id INTEGER PRIMARY KEY, schema TEXT NOT NULL, kind TEXT,"
        " date TEXT, cpu TEXT, kernel TEXT, document TEXT NOT NULL);"
        "CREATE VIEW IF NOT EXISTS pairs AS SELECT run.id AS run, run.date, run.cpu, run.kernel,"
        " json_extract(pair.value, '$.id') AS id,"
        " json_extract(pair.value, '$.median_ns_per_loop') AS median_ns_per_loop,"
        " json_extract(pair.value, '$.effect_percent') AS effect_percent,"
        " json_extract(pair.value, '$.low_percent') AS low_percent,"
        " json_extract(pair.value, '$.high_percent') AS high_percent"
        " FROM run, json_each(run.document, '$.pairs') AS pair;";

static const char insert[] = "INSERT INTO run (schema, kind, date, cpu, kernel, document) SELECT "
                             "json_extract(?1, '$.schema'),"
                             " json_extract(?1, '$.kind'), json_extract(?1, '$.machine.date'), "
                             "json_extract(?1, '$.machine.cpu'),"
                             " json_extract(?1, '$.machine.kernel'), ?1;";

static int fail(sqlite3 *db, const char *path, char *err, size_t errlen)
{
	snprintf(err, errlen, "%s: %s", path, db ? sqlite3_errmsg(db) : "memory is short");
	sqlite3_close(db);
	return -1;
}

int results_db_add(const char *path, const char *text, char *err, size_t errlen)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;
	bool ok = sqlite3_open(path, &db) == SQLITE_OK &&
	          sqlite3_busy_timeout(db, WAIT_MS) == SQLITE_OK &&
	          sqlite3_exec(db, schema, NULL, NULL, NULL) == SQLITE_OK &&
	          sqlite3_prepare_v2(db, insert, -1, &statement, NULL) == SQLITE_OK &&
	          sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC) == SQLITE_OK &&
	          sqlite3_step(statement) == SQLITE_DONE;

	if (!ok) {
		sqlite3_finalize(statement);
		return fail(db, path, err, errlen);
	}
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return 0;
}

/* Would adding work? Asked in a transaction that is taken back. */
static int try_adding(const char *path, char *err, size_t errlen)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;
	bool ok = sqlite3_open(path, &db) == SQLITE_OK &&
	          sqlite3_busy_timeout(db, WAIT_MS) == SQLITE_OK &&
	          sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
	          sqlite3_exec(db, schema, NULL, NULL, NULL) == SQLITE_OK &&
	          sqlite3_prepare_v2(db, insert, -1, &statement, NULL) == SQLITE_OK;

	sqlite3_finalize(statement);
	if (!ok)
		return fail(db, path, err, errlen);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(db);
	return 0;
}

int results_db_check(const char *path, char *err, size_t errlen)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	struct stat st;

	if (!lstat(path, &st)) {
		if (!stat(path, &st) && S_ISREG(st.st_mode))
			return try_adding(path, err, errlen);
		snprintf(err, errlen, "%s: is no regular file, so runs cannot be added to it",
		         path);
		return -1;
	}
	/* Made and removed again it could be another's, who added to it meanwhile. */
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
	         slash ? path : ".");
	if (!access(folder, W_OK | X_OK))
		return 0;
	snprintf(err, errlen, "%s: cannot be made: %s", path, strerror(errno));
	return -1;
}

int results_db_read(struct results *r, const char *path, char *err, size_t errlen)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;
	int step = SQLITE_ERROR, status = 0;
	size_t n = 0;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_busy_timeout(db, WAIT_MS) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, "SELECT document FROM run ORDER BY id", -1, &statement, NULL) ==
	            SQLITE_OK)
		while (!status && (step = sqlite3_step(statement)) == SQLITE_ROW) {
			const char *text = (const char *)sqlite3_column_text(statement, 0);
			int len = sqlite3_column_bytes(statement, 0);

			status = results_parse(r, path, text ? text : "", text ? (size_t)len : 0,
			                       err, errlen);
			n++;
		}
	sqlite3_finalize(statement);
	if (!status && step != SQLITE_DONE)
		return fail(db, path, err, errlen);
	sqlite3_close(db);
	if (!status && !n) {
		snprintf(err, errlen, "%s: holds no runs", path);
		status = -1;
	}
	return status;
}
#else
static int none(const char *path, char *err, size_t errlen)
{
	snprintf(err, errlen, "%s: this xstate was built without SQLite", path);
	return -1;
}

int results_db_add(const char *path, const char *text, char *err, size_t errlen)
{
	(void)text;
	return none(path, err, errlen);
}

int results_db_check(const char *path, char *err, size_t errlen)
{
	return none(path, err, errlen);
}

int results_db_read(struct results *r, const char *path, char *err, size_t errlen)
{
	(void)r;
	return none(path, err, errlen);
}
#endif

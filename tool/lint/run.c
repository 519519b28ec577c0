// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sweeping many files on all CPUs, and judging together those that matter.
 */
#include "lint/run.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lint/sweep.h"
#include "lint/wanted.h"
#include "ui/progress.h"
#include "ui/ui.h"

struct item {
	const char *path;
	struct lint_image *image; /* of what can be read once only: a pipe */
	bool twice;               /* the same file was given before */
	struct lint_object **list;
	size_t n;
	struct lint_failure *failed;
	size_t nfailed;
	struct lint_names names; /* of objects that were let go */
	uint64_t objects, insns, code_bytes, fp_insns;
	unsigned version; /* of the kernel */
	bool again;       /* must be kept whatever it holds */
};

struct pool {
	struct lint_run *run;
	struct item *item;
	size_t n, next, done;
	bool again;
	pthread_mutex_t lock;
	struct progress bar;
};

static void failure(struct item *it, const char *path, const char *why)
{
	lint_failure_add(&it->failed, &it->nfailed, path, why);
}

static struct lint_image *item_image(const struct item *it, char *why, size_t why_bytes)
{
	return it->image ? lint_image_get(it->image) : lint_image_load(it->path, why, why_bytes);
}

/* Whether an object is to be kept. */
static bool object_do(struct pool *p, struct item *it, struct lint_object *obj, bool alone)
{
	const char *blind = lint_object_blind(obj);
	char why[512];
	bool keep;

	if (blind) {
		failure(it, obj->path, blind);
		return false;
	}
	if (!lint_alternatives_read(obj, why, sizeof(why))) {
		failure(it, obj->path, why);
		return false;
	}
	if (!lint_sweep(obj)) {
		failure(it, obj->path, "cannot be checked: out of memory");
		return false;
	}
	/* Members of an archive are few and call each other: keep them together. */
	keep = it->again || !alone || lint_wanted_first(p->run->conf, obj);
	if (keep && !lint_tables_read(obj, why, sizeof(why))) {
		failure(it, obj->path, why);
		return false;
	}
	if (keep)
		lint_pointers_mark(obj);
	else if (!lint_names_keep(&it->names, obj))
		failure(it, obj->path, "cannot be checked: out of memory");
	if (!it->again) {
		it->objects++;
		it->insns += obj->insns;
		it->code_bytes += obj->code_bytes;
		it->fp_insns += obj->fp_insns;
	}
	if (obj->kernel_version)
		it->version = obj->kernel_version;
	return keep;
}

static void item_do(struct pool *p, struct item *it)
{
	char why[512] = "";
	struct lint_image *image;
	struct lint_opened o = {0};
	size_t i, kept = 0;

	if (it->twice || (it->nfailed && !it->image))
		return;
	image = item_image(it, why, sizeof(why));
	if (!image) {
		failure(it, it->path, why);
		return;
	}
	lint_objects_open(it->path, image, &o);
	lint_image_put(image);
	for (i = 0; i < o.nfailed; i++)
		failure(it, o.failed[i].path, o.failed[i].why);
	for (i = 0; i < o.n; i++)
		if (object_do(p, it, o.list[i], o.n == 1 && !o.nfailed))
			o.list[kept++] = o.list[i];
		else
			lint_object_free(o.list[i]);
	it->list = o.list;
	it->n = kept;
	o.list = NULL;
	o.n = 0;
	lint_opened_free(&o);
}

static void *worker(void *arg)
{
	struct pool *p = arg;

	for (;;) {
		struct item *it = NULL;

		pthread_mutex_lock(&p->lock);
		while (p->next < p->n && p->again &&
		       (!p->item[p->next].again || p->item[p->next].list))
			p->next++;
		if (p->next < p->n)
			it = &p->item[p->next++];
		progress_update(&p->bar, p->done++);
		pthread_mutex_unlock(&p->lock);
		if (!it)
			return NULL;
		item_do(p, it);
	}
}

static void sweep_all(struct pool *p)
{
	unsigned n = p->run->threads, i, started = 0;
	pthread_t thread[64];

	if (n > p->n)
		n = (unsigned)p->n;
	if (n > 64)
		n = 64;
	p->next = 0;
	p->done = 0;
	for (i = 1; i < n; i++)
		if (pthread_create(&thread[started], NULL, worker, p) == 0)
			started++;
	worker(p);
	for (i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
}

/* Objects that were let go and turned out to concern those that were kept. */
static bool wanted_again(struct pool *p, size_t *count)
{
	struct lint_names wanted;
	bool ok = lint_wanted_find(p->run->graph, &wanted);
	size_t i;

	*count = 0;
	for (i = 0; ok && i < p->n; i++) {
		struct item *it = &p->item[i];

		if (it->again || it->n || !lint_wanted_again(&it->names, &wanted))
			continue;
		it->again = true;
		free(it->list);
		it->list = NULL;
		++*count;
	}
	lint_names_free(&wanted);
	return ok;
}

static int module_order(const void *a, const void *b)
{
	const struct lint_object *const *x = a, *const *y = b;
	int r = strcmp((*x)->tag, (*y)->tag);

	return r ? r : strcmp((*x)->path, (*y)->path);
}

/* Objects of one name are told apart by the folders they are in, as few as it takes. */
static void tags_set(struct lint_run *run)
{
	struct lint_object **list = malloc((run->nobj ? run->nobj : 1) * sizeof(*list));
	size_t i, k, m;
	bool changed = list != NULL;

	for (i = 0; i < run->nobj; i++) {
		run->obj[i]->tag = run->obj[i]->module;
		if (list)
			list[i] = run->obj[i];
	}
	while (changed) {
		changed = false;
		qsort(list, run->nobj, sizeof(*list), module_order);
		for (i = 0; i < run->nobj; i = k) {
			for (k = i + 1; k < run->nobj && !strcmp(list[k]->tag, list[i]->tag); k++)
				;
			for (m = i; k - i > 1 && m < k; m++) {
				const char *p = list[m]->tag;

				if (p == list[m]->path)
					continue;
				for (p--; p > list[m]->path && p[-1] != '/'; p--)
					;
				/* Not yet: the others of this name are still to be found by it. */
				list[m]->longer = p;
				changed = true;
			}
		}
		for (i = 0; i < run->nobj; i++)
			if (list[i]->longer) {
				list[i]->tag = list[i]->longer;
				list[i]->longer = NULL;
			}
	}
	free(list);
}

static bool collect(struct lint_run *run, struct pool *p)
{
	size_t i, k, n = 0;

	for (i = 0; i < p->n; i++)
		n += p->item[i].n;
	free(run->obj);
	run->obj = malloc((n ? n : 1) * sizeof(*run->obj));
	run->nobj = 0;
	if (!run->obj)
		return false;
	for (i = 0; i < p->n; i++)
		for (k = 0; k < p->item[i].n; k++)
			run->obj[run->nobj++] = p->item[i].list[k];
	tags_set(run);
	lint_graph_free(run->graph);
	run->graph = lint_graph_new(run->conf, run->obj, run->nobj);
	return run->graph != NULL;
}

static const char *profile_for(unsigned version)
{
	return version >= (6u << 16 | 9u << 8) ? "linux-6.12" : "linux-6.1";
}

/* Which built-in profile fits: by the kernel that the first file that says so was built for. */
static const char *profile_guess(const struct pool *p)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		char why[512];
		bool skip = p->item[i].twice || p->item[i].nfailed;
		struct lint_image *image = skip ? NULL : item_image(&p->item[i], why, sizeof(why));
		struct lint_opened o;
		unsigned version = 0;

		if (!image)
			continue;
		if (lint_objects_open(p->item[i].path, image, &o))
			version = o.list[0]->kernel_version;
		lint_opened_free(&o);
		lint_image_put(image);
		if (version)
			return profile_for(version);
	}
	return "linux-6.1";
}

struct identity {
	dev_t dev;
	ino_t ino;
	size_t index;
};

static int identity_order(const void *a, const void *b)
{
	const struct identity *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

/* A file given twice is read once; what is no plain file can be read only once. */
static bool items_look(struct pool *p)
{
	struct identity *id = calloc(p->n, sizeof(*id));
	size_t i, n = 0;

	if (!id)
		return false;
	for (i = 0; i < p->n; i++) {
		struct item *it = &p->item[i];
		bool std = !strcmp(it->path, "-");
		char why[512];
		struct stat st;

		if ((std ? fstat(STDIN_FILENO, &st) : stat(it->path, &st)) != 0)
			continue;
		if (S_ISREG(st.st_mode) && !std) {
			id[n++] = (struct identity){st.st_dev, st.st_ino, i};
		} else if (!S_ISDIR(st.st_mode)) {
			it->image = lint_image_load(it->path, why, sizeof(why));
			if (!it->image)
				failure(it, it->path, why);
		}
	}
	if (n)
		qsort(id, n, sizeof(*id), identity_order);
	for (i = 1; i < n; i++)
		if (id[i].dev == id[i - 1].dev && id[i].ino == id[i - 1].ino)
			p->item[id[i].index].twice = true;
	free(id);
	return true;
}

static bool configure(struct lint_run *run, const struct pool *p, char *why, size_t why_bytes)
{
	if (run->profile)
		run->conf->profile_given = true;
	if (run->config && !lint_conf_file(run->conf, run->config, why, why_bytes))
		return false;
	if (run->profile || !run->conf->profile[0]) {
		run->guessed = !run->profile;
		if (!lint_conf_profile(run->conf, run->profile ? run->profile : profile_guess(p),
		                       why, why_bytes))
			return false;
	}
	lint_conf_settle(run->conf);
	return true;
}

static void totals(struct lint_run *run, const struct pool *p)
{
	size_t i, k;

	for (i = 0; i < p->n; i++) {
		const struct item *it = &p->item[i];

		run->objects += it->objects;
		run->insns += it->insns;
		run->code_bytes += it->code_bytes;
		run->fp_insns += it->fp_insns;
		for (k = 0; k < it->nfailed; k++)
			lint_failure_add(&run->failed, &run->nfailed, it->failed[k].path,
			                 it->failed[k].why);
		if (run->guessed && it->version &&
		    strcmp(profile_for(it->version), run->conf->profile) != 0)
			run->other_kernels++;
	}
}

bool lint_run(struct lint_run *run, char **paths, size_t n, char *why, size_t why_bytes)
{
	struct pool p = {.run = run, .n = n};
	size_t i, k, count = 0;
	bool ok = false;

	run->conf = lint_conf_new();
	p.item = calloc(n, sizeof(*p.item));
	for (i = 0; p.item && i < n; i++)
		p.item[i].path = paths[i];
	snprintf(why, why_bytes, "out of memory");
	if (!p.item || !run->conf || !items_look(&p) || !configure(run, &p, why, why_bytes))
		goto out;
	snprintf(why, why_bytes, "out of memory");
	pthread_mutex_init(&p.lock, NULL);
	progress_begin(&p.bar, "checking", n);
	sweep_all(&p);
	progress_end(&p.bar);
	if (!collect(run, &p))
		goto out;
	while (!run->conf->forbidden) {
		if (!wanted_again(&p, &count))
			goto out;
		if (!count)
			break;
		p.again = true;
		sweep_all(&p);
		if (!collect(run, &p))
			goto out;
	}
	totals(run, &p);
	if (!lint_graph_check(run->graph))
		goto out;
	ok = run->objects > 0;
	if (!ok)
		snprintf(why, why_bytes, "nothing could be checked");
out:
	for (i = 0; p.item && i < n; i++) {
		struct item *it = &p.item[i];

		for (k = 0; k < it->nfailed; k++) {
			free(it->failed[k].path);
			free(it->failed[k].why);
		}
		if (it->image)
			lint_image_put(it->image);
		free(it->failed);
		free(it->list);
		lint_names_free(&it->names);
	}
	free(p.item);
	return ok;
}

void lint_run_free(struct lint_run *run)
{
	size_t i;

	lint_graph_free(run->graph);
	for (i = 0; i < run->nobj; i++)
		lint_object_free(run->obj[i]);
	for (i = 0; i < run->nfailed; i++) {
		free(run->failed[i].path);
		free(run->failed[i].why);
	}
	free(run->failed);
	free(run->obj);
	lint_conf_free(run->conf);
}

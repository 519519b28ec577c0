// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sweeping many files on all CPUs. Of most modules nothing is kept but the names they
 * import: a module without FP code matters only when it calls another's FP code.
 */
#include "lint/run.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lint/sweep.h"
#include "ui/progress.h"
#include "ui/ui.h"

struct item {
	const char *path;
	struct lint_object **list;
	size_t n;
	char *why;
	uint64_t *imports; /* hashes of undefined names, of objects that were let go */
	size_t nimports;
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

static uint64_t name_hash(const char *s)
{
	uint64_t h = 1469598103934665603u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return h;
}

static bool matters(const struct lint_run *run, const struct lint_object *obj)
{
	size_t i;

	if (obj->fp_insns)
		return true;
	for (i = 0; i < obj->nfunc; i++)
		if (obj->func[i].fp)
			return true;
	for (i = 0; i < obj->nev; i++)
		if (obj->ev[i].kind == EV_BAD)
			return true;
	for (i = 1; i < obj->nsym; i++) {
		const Elf64_Sym *sym = &obj->sym[i];
		const struct lint_role *r;

		if (sym->st_shndx != SHN_UNDEF || sym->st_name >= obj->str_bytes)
			continue;
		r = lint_conf_role(run->conf, obj->str + sym->st_name);
		if (r && (r->kind == ROLE_BEGIN || r->kind == ROLE_END || r->kind == ROLE_BEGINS ||
		          r->kind == ROLE_ENDS))
			return true;
	}
	return false;
}

static void imports_keep(struct item *it, const struct lint_object *obj)
{
	uint64_t *list = realloc(it->imports, (it->nimports + obj->nsym + 1) * sizeof(*list));
	size_t i;

	if (!list)
		return;
	it->imports = list;
	for (i = 1; i < obj->nsym; i++)
		if (obj->sym[i].st_shndx == SHN_UNDEF && obj->sym[i].st_name < obj->str_bytes &&
		    obj->str[obj->sym[i].st_name])
			list[it->nimports++] = name_hash(obj->str + obj->sym[i].st_name);
	list = realloc(it->imports, (it->nimports + 1) * sizeof(*list));
	if (list)
		it->imports = list;
}

static void item_do(struct pool *p, struct item *it)
{
	char why[512] = "";
	struct lint_image *image = lint_image_load(it->path, why, sizeof(why));
	struct lint_object **list = NULL;
	size_t n = 0, i, kept = 0;

	if (!image || !lint_objects_open(it->path, image, &list, &n, why, sizeof(why))) {
		it->why = strdup(why);
		if (image)
			lint_image_put(image);
		return;
	}
	lint_image_put(image);
	for (i = 0; i < n; i++) {
		bool ok = lint_sweep(list[i]);

		if (!it->again) {
			it->objects++;
			it->insns += list[i]->insns;
			it->code_bytes += list[i]->code_bytes;
			it->fp_insns += list[i]->fp_insns;
		}
		if (list[i]->kernel_version)
			it->version = list[i]->kernel_version;
		if (!list[i]->nfunc && !list[i]->relocatable && !it->why)
			it->why = strdup("holds no symbols, so its functions cannot be told apart");
		if (ok && (it->again || matters(p->run, list[i]) || n > 1)) {
			/* Members of an archive are few and call each other: keep them together. */
			lint_tables_read(list[i]);
			lint_pointers_mark(list[i]);
			list[kept++] = list[i];
		} else {
			if (!ok && !it->why)
				it->why = strdup("out of memory");
			imports_keep(it, list[i]);
			lint_object_free(list[i]);
		}
	}
	it->list = list;
	it->n = kept;
}

static void *worker(void *arg)
{
	struct pool *p = arg;

	for (;;) {
		struct item *it = NULL;

		pthread_mutex_lock(&p->lock);
		while (p->next < p->n && p->again &&
		       (!p->item[p->next].again || p->item[p->next].n))
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

static int hash_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Objects that were let go but call what turned out to ask something of its callers. */
static size_t wanted_again(struct pool *p)
{
	struct lint_graph *g = p->run->graph;
	uint64_t *names = malloc((g->nnode + 1) * sizeof(*names));
	size_t i, k, n = 0, count = 0;

	if (!names)
		return 0;
	for (i = 0; i < g->nnode; i++) {
		const struct lint_node *node = &g->node[i];

		if (lint_node_func(node)->flags & FUNC_EXPORTED &&
		    node->sum & (SUM_REQUIRES | SUM_BEGINS | SUM_ENDS) &&
		    !(node->role && node->role->kind != ROLE_NONE))
			names[n++] = name_hash(lint_node_name(node));
	}
	if (n)
		qsort(names, n, sizeof(*names), hash_order);
	for (i = 0; n && i < p->n; i++) {
		struct item *it = &p->item[i];

		for (k = 0; k < it->nimports && !it->again && !it->n; k++)
			if (bsearch(&it->imports[k], names, n, sizeof(*names), hash_order)) {
				it->again = true;
				count++;
			}
	}
	free(names);
	return count;
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
	lint_graph_free(run->graph);
	run->graph = lint_graph_new(run->conf, run->obj, run->nobj);
	return run->graph != NULL;
}

/* Which built-in profile fits the first files: by the kernel they were built for. */
static const char *profile_guess(char **paths, size_t n)
{
	size_t i, k;

	for (i = 0; i < n && i < 4; i++) {
		char why[256];
		struct lint_image *image =
		        strcmp(paths[i], "-") ? lint_image_load(paths[i], why, sizeof(why)) : NULL;
		struct lint_object **list = NULL;
		size_t count = 0;
		unsigned version = 0;

		if (!image)
			continue;
		if (lint_objects_open(paths[i], image, &list, &count, why, sizeof(why)))
			version = list[0]->kernel_version;
		for (k = 0; k < count; k++)
			lint_object_free(list[k]);
		free(list);
		lint_image_put(image);
		if (version)
			return version >= (6u << 16 | 9u << 8) ? "linux-6.12" : "linux-6.1";
	}
	return "linux-6.1";
}

bool lint_run(struct lint_run *run, char **paths, size_t n, char *why, size_t why_bytes)
{
	struct pool p = {.run = run, .n = n};
	size_t i;
	bool ok = false;

	run->conf = lint_conf_new();
	p.item = calloc(n, sizeof(*p.item));
	if (!p.item || !run->conf) {
		snprintf(why, why_bytes, "out of memory");
		goto out;
	}
	if (run->config && !lint_conf_file(run->conf, run->config, why, why_bytes))
		goto out;
	if ((run->profile || !run->conf->profile[0]) &&
	    !lint_conf_profile(run->conf, run->profile ? run->profile : profile_guess(paths, n),
	                       why, why_bytes))
		goto out;
	lint_conf_settle(run->conf);
	for (i = 0; i < n; i++)
		p.item[i].path = paths[i];
	pthread_mutex_init(&p.lock, NULL);
	progress_begin(&p.bar, "checking", n);
	sweep_all(&p);
	progress_end(&p.bar);
	if (!collect(run, &p)) {
		snprintf(why, why_bytes, "out of memory");
		goto out;
	}
	if (!run->conf->forbidden && wanted_again(&p)) {
		p.again = true;
		sweep_all(&p);
		if (!collect(run, &p)) {
			snprintf(why, why_bytes, "out of memory");
			goto out;
		}
	}
	for (i = 0; i < n; i++) {
		struct item *it = &p.item[i];

		run->objects += it->objects;
		run->insns += it->insns;
		run->code_bytes += it->code_bytes;
		run->fp_insns += it->fp_insns;
		if (it->why) {
			struct lint_failure *list =
			        realloc(run->failed, (run->nfailed + 1) * sizeof(*list));

			if (!list)
				continue;
			run->failed = list;
			list[run->nfailed].path = strdup(it->path);
			list[run->nfailed++].why = it->why;
			it->why = NULL;
		}
	}
	lint_graph_check(run->graph);
	ok = true;
	if (run->nfailed == n && !run->objects) {
		snprintf(why, why_bytes, "nothing could be checked");
		ok = false;
	}
out:
	for (i = 0; p.item && i < n; i++) {
		free(p.item[i].list);
		free(p.item[i].imports);
		free(p.item[i].why);
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

/*
 * How many pages each leaf has.  The list of mappings says what to walk, and for how long at a
 * time; the leaves are known much later.  With many mappings to read and to walk each of the two
 * takes half of the time, so a thread of ours walks those that were read, while the rest is read,
 * and keeps what it sees.  It is a help only: what it did not do, for whatever reason, is done
 * when the leaves are there.  With few mappings there is no thread, nor for a core file, which only
 * one thread may read.
 */
#include <config.h>

#include "maps/leaf-pages.h"

#include "base/array.h"
#include "maps/leaves.h"
#include "os/os.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* The size of one walk. */
struct leaf_pages_walk {
	raddr start, end;
	size_t nr;	/* regions */
	bool want_kind; /* there are pages of files in it */
	bool has_large; /* there is private memory in it, and much of it */
};

/* A walk over this many takes little more time than creating a thread. */
#define FEW_REGIONS 1000
/*
 * The runs that the thread keeps, 6 MiB: the pages of a large target may be in any number of runs.
 */
#define RUNS_MAX (1 << 18)

struct leaf_pages {
	struct os_pages *pages;
	struct regions_listener listener;
	struct leaf_pages_walk open; /* the one that is being put together */
	raddr told_to;		     /* the end of the last run that was reported */
	size_t nr_told;		     /* regions */

	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock; /* of what follows, while the thread runs */
	pthread_cond_t changed;
	bool is_ending; /* the thread is to end */
	struct {
		struct leaf_pages_walk *v;
		size_t nr, room;
	} walks;
	bool failed; /* no memory for a walk */

	/* The thread's own while it runs. */
	size_t nr_done; /* walks whose pages are in RUN */
	struct os_page_run *run;
	size_t nr_runs;
};

/* ---- the thread ---- */

static int
keep_run(const struct os_page_run *run, void *arg)
{
	struct leaf_pages *c = arg;

	if (c->nr_runs == RUNS_MAX)
		return 1;
	c->run[c->nr_runs++] = *run;
	return 0;
}

/* Copy the next walk into RET, when there is one; false: there will be none. */
static bool
next_walk(struct leaf_pages *c, struct leaf_pages_walk *ret)
{
	bool is_ending;

	pthread_mutex_lock(&c->lock);
	while (c->nr_done == c->walks.nr && !c->is_ending)
		pthread_cond_wait(&c->changed, &c->lock);
	is_ending = c->is_ending;
	if (!is_ending)
		*ret = c->walks.v[c->nr_done];
	pthread_mutex_unlock(&c->lock);
	return !is_ending;
}

/* Walk W, the next, and keep its runs; false if there is no room for them. */
static bool
walk_one(struct leaf_pages *c, const struct leaf_pages_walk *w)
{
	struct err ignored; /* it fails again in the call that reports it */
	size_t nr_before = c->nr_runs;

	if (os_pages_walk(c->pages, w->start, w->end, w->want_kind, keep_run, c, &ignored)) {
		c->nr_runs = nr_before;
		return false;
	}
	c->nr_done++;
	return true;
}

static void *
walk_ahead(void *arg)
{
	struct leaf_pages *c = arg;
	struct leaf_pages_walk w;

	while (next_walk(c, &w) && walk_one(c, &w))
		;
	return NULL;
}

static void
start_thread(struct leaf_pages *c)
{
	if (!c->run) /* in pieces of this size: unused pages cost nothing */
		c->run = malloc(RUNS_MAX * sizeof *c->run);
	if (c->run)
		c->is_running = pthread_create(&c->thread, NULL, walk_ahead, c) == 0;
}

/* It ends after the walk that it is in. */
static void
leaf_pages_end_thread(struct leaf_pages *c)
{
	if (!c->is_running)
		return;
	pthread_mutex_lock(&c->lock);
	c->is_ending = true;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	c->is_running = c->is_ending = false;
}

/* ---- walks ---- */

/* Entries of pagemap that are not worth a read of their own to pass over. */
#define GAP_BYTES (UINT64_C(1) << 20)

static bool
is_living(const struct leaf_pages *c)
{
	enum os_pages_by by = os_pages_by(c->pages);

	return by == OS_PAGES_SCAN || by == OS_PAGES_PAGEMAP;
}

static bool
is_by_pagemap(const struct leaf_pages *c)
{
	return os_pages_by(c->pages) == OS_PAGES_PAGEMAP;
}

/*
 * pagemap takes the same time for every page, present or not: a second for a TiB (bench/maps).
 * Java and V8 reserve terabytes, and have no pages there; malloc's own reserves are small.
 */
#define RESERVE_MAX_BYTES (UINT64_C(1) << 30)

bool
leaf_pages_pass_over(const struct region *r)
{
	return region_is_anonymous(r) && region_is_reserve(r) &&
		r->end.v - r->start.v > RESERVE_MAX_BYTES;
}

static bool
is_skipped(const struct leaf_pages *c, const struct region *r)
{
	return region_is_vsyscall(r) || (is_by_pagemap(c) && leaf_pages_pass_over(r));
}

/* A mapping costs the kernel about as much as ten pages, and it holds its lock for a whole walk. */
#define WALK_REGIONS 1000
/* Private memory of this size is worth a walk of its own that does not ask whose its pages are. */
#define LARGE_BYTES (UINT64_C(1) << 20)

/* vdso has no file, but its pages count in RssFile (mm/memory.c, finish_fault). */
static bool
has_files(const struct region *r)
{
	return !region_is_anonymous(r) || r->prot[3] == 's' || region_is_kernels(r);
}

static bool
is_large(const struct region *r)
{
	return !has_files(r) && !region_is_reserve(r) && r->end.v - r->start.v >= LARGE_BYTES;
}

static bool
leaf_pages_fits(const struct leaf_pages *c, const struct region *r)
{
	const struct leaf_pages_walk *w = &c->open;

	if (is_by_pagemap(c) && r->start.v - w->end.v > GAP_BYTES)
		return false;
	return w->nr < WALK_REGIONS && !(w->want_kind && is_large(r)) &&
		!(w->has_large && has_files(r));
}

/* The open walk is complete. */
static void
close_walk(struct leaf_pages *c)
{
	struct leaf_pages_walk *w;

	if (!c->open.nr)
		return;
	pthread_mutex_lock(&c->lock);
	w = array_add(&c->walks);
	if (w)
		*w = c->open;
	else
		c->failed = true;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	c->open = (struct leaf_pages_walk){ 0 };
}

static void
hear_begin(void *arg)
{
	struct leaf_pages *c = arg;

	leaf_pages_end_thread(c);
	c->walks.nr = c->nr_done = c->nr_runs = 0;
	c->open = (struct leaf_pages_walk){ 0 };
	c->told_to = (raddr){ 0 };
	c->nr_told = 0;
}

static void
hear_region(const struct region *heard, void *arg)
{
	struct leaf_pages *c = arg;
	struct region r = *heard;

	/* A range that a torn map contains twice is walked once. */
	if (r.start.v < c->told_to.v)
		r.start = c->told_to;
	if (r.start.v >= r.end.v || is_skipped(c, &r))
		return;
	c->told_to = r.end;
	if (!leaf_pages_fits(c, &r))
		close_walk(c);
	if (c->nr_told++ == FEW_REGIONS && is_living(c))
		start_thread(c);
	if (!c->open.nr++)
		c->open.start = r.start;
	c->open.end = r.end;
	c->open.want_kind |= has_files(&r);
	c->open.has_large |= is_large(&r);
}

/* ---- counting ---- */

/* The position of the count: leaves and runs of pages both come in order of address. */
struct leaf_pages_counter {
	struct space *s;
	size_t next; /* leaf */
};

static void
count_present(struct space *s, struct leaf *l, const struct os_page_run *run, uint64_t bytes)
{
	if (l->kind == LEAF_HUGETLB) { /* from a pool of its own, and not in VmRSS */
		l->hugetlb_bytes += bytes;
		return;
	}
	l->rss_bytes += bytes;
	if (run->is_huge)
		l->huge_bytes += bytes;
	if (!run->is_file)
		s->totals.rss_anon_bytes += bytes;
	else if (l->is_tmpfs)
		s->totals.rss_shmem_bytes += bytes;
	else
		s->totals.rss_file_bytes += bytes;
}

/* A run of pages: os_pages_walk()'s callback. */
static int
leaf_pages_count_run(const struct os_page_run *run, void *arg)
{
	struct leaf_pages_counter *c = arg;
	struct space *s = c->s;

	while (c->next < s->leaves.nr && s->leaves.v[c->next].end.v <= run->start.v)
		c->next++;
	for (size_t i = c->next; i < s->leaves.nr && s->leaves.v[i].start.v < run->end.v; i++) {
		struct leaf *l = &s->leaves.v[i];
		uint64_t start = run->start.v > l->start.v ? run->start.v : l->start.v;
		uint64_t end = run->end.v < l->end.v ? run->end.v : l->end.v;

		if (run->is_present)
			count_present(s, l, run, end - start);
		else if (run->is_swapped)
			l->swap_bytes += end - start;
	}
	return 0;
}

/* Walk as much of what was heard of as the runs that are kept have room for. */
static void
finish_walks(struct leaf_pages *c)
{
	close_walk(c);
	leaf_pages_end_thread(c);
	if (c->failed || !is_living(c) ||
		(!c->run && !(c->run = malloc(RUNS_MAX * sizeof *c->run))))
		return;
	while (c->nr_done < c->walks.nr && walk_one(c, &c->walks.v[c->nr_done]))
		;
}

void
leaf_pages_lend(struct leaf_pages *c, struct os_pages *pages)
{
	finish_walks(c);
	if (c->nr_done)
		os_pages_know(pages, c->run, c->nr_runs, c->walks.v[c->nr_done - 1].end);
}

int
leaf_pages_count(struct leaf_pages *c, struct space *s, struct err *e)
{
	struct leaf_pages_counter counter = { .s = s };

	finish_walks(c);
	if (c->failed)
		return err_set(e, ENOMEM, "cannot count pages");
	for (size_t i = 0; i < c->nr_runs; i++)
		leaf_pages_count_run(&c->run[i], &counter);
	for (size_t i = c->nr_done; i < c->walks.nr; i++) {
		const struct leaf_pages_walk *w = &c->walks.v[i];

		if (os_pages_walk(c->pages, w->start, w->end, w->want_kind, leaf_pages_count_run,
			    &counter, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- all of it ---- */

int
leaf_pages_open(struct leaf_pages **ret, const struct target *t, enum os_pages_by by, struct err *e)
{
	struct leaf_pages *c = calloc(1, sizeof *c);

	if (!c)
		return err_set(e, ENOMEM, "cannot count pages");
	if (os_pages_open(&c->pages, t, by, e) < 0) {
		free(c);
		return -1;
	}
	c->listener = (struct regions_listener){ hear_begin, hear_region, c };
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	*ret = c;
	return 0;
}

void
leaf_pages_free(struct leaf_pages *c)
{
	if (!c)
		return;
	leaf_pages_end_thread(c);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	os_pages_free(c->pages);
	free(c->walks.v);
	free(c->run);
	free(c);
}

enum os_pages_by
leaf_pages_by(const struct leaf_pages *c)
{
	return os_pages_by(c->pages);
}

bool
leaf_pages_know_zero(const struct leaf_pages *c)
{
	return os_pages_know_zero(c->pages);
}

const struct regions_listener *
leaf_pages_listener(const struct leaf_pages *c)
{
	return &c->listener;
}

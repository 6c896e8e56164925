/*
 * The number of pages of each leaf.  The list of mappings determines the ranges to walk and the
 * size of each walk; the leaves are known much later.  With many mappings, reading them and walking
 * them take half of the time each, so a thread walks the mappings that were read while the rest is
 * read, and stores the results.  The thread only saves time: walks that it did not do, for whatever
 * reason, are done when the leaves are known.  It does not run with few mappings, or for a core
 * file, which only one thread may read.
 */
#include <config.h>

#include "maps/leaf-pages.h"

#include "base/array.h"
#include "maps/leaves.h"
#include "os/os.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* A range to walk at once. */
struct leaf_pages_walk {
	raddr start, end;
	size_t nr;	/* number of regions */
	bool want_kind; /* it contains pages of files */
	bool has_large; /* it contains much private memory */
};

/* Walking this many takes little more time than creating a thread. */
#define FEW_REGIONS 1000
/*
 * Maximum number of runs that the thread stores, 6 MiB: a large target may have any number of runs.
 */
#define RUNS_MAX (1 << 18)

struct leaf_pages {
	struct os_pages *pages;
	struct regions_listener listener;
	struct leaf_pages_walk open; /* the walk being put together */
	raddr told_to;		     /* the end of the last region that was received */
	size_t nr_told;		     /* number of regions received */

	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock; /* for the members that follow, while the thread runs */
	pthread_cond_t changed;
	bool is_ending; /* asks the thread to end */
	struct {
		struct leaf_pages_walk *v;
		size_t nr, room;
	} walks;
	bool failed; /* no memory for a walk */

	/* Used by the thread alone while it runs. */
	size_t nr_done; /* number of walks whose pages are in RUN */
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

/* Wait for the next walk and copy it into RET; false: no more walks. */
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

/* Do the next walk W, and store its runs; false if there is no room for them. */
static bool
walk_one(struct leaf_pages *c, const struct leaf_pages_walk *w)
{
	struct err ignored; /* the error occurs again in the call that reports it */
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

/* End the thread after its present walk. */
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

/* Maximum gap of pagemap entries that is read rather than skipped. */
#define GAP_BYTES (UINT64_C(1) << 20)
/*
 * Maximum gap that a scan crosses.  The kernel crosses the 40 TiB between the heap and the mappings
 * quickly, but os_pages_walk() feels its way, in twenty scans.
 */
#define SCAN_GAP_BYTES (UINT64_C(64) << 20)

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
 * Java and V8 reserve terabytes without pages; malloc's reserves are small.
 */
#define RESERVE_MAX_BYTES (UINT64_C(1) << 30)

bool
leaf_pages_pass_over(const struct region *r)
{
	return region_is_anonymous(r) && region_is_reserve(r) &&
		r->end.v - r->start.v > RESERVE_MAX_BYTES;
}

/*
 * A mapping costs the kernel about as much as ten pages, and the kernel holds its lock for a whole
 * walk.
 */
#define WALK_REGIONS 1000
/* Private memory of at least this size gets a separate walk without the kinds of pages. */
#define LARGE_BYTES (UINT64_C(1) << 20)

/*
 * Return whether R may contain file pages.  The vdso has no file, but its pages count in RssFile
 * (mm/memory.c, finish_fault).
 */
static bool
has_files(const struct region *r)
{
	return !region_is_anonymous(r) || r->prot[3] == 's' || region_is_kernels(r);
}

/* Return a walk of R alone. */
static struct leaf_pages_walk
walk_of(const struct region *r)
{
	const bool want_kind = has_files(r);

	return (struct leaf_pages_walk){
		.start = r->start,
		.end = r->end,
		.nr = 1,
		.want_kind = want_kind,
		.has_large =
			!want_kind && !region_is_reserve(r) && r->end.v - r->start.v >= LARGE_BYTES,
	};
}

/* Return whether the open walk can continue with NEXT. */
static bool
leaf_pages_fits(const struct leaf_pages *c, const struct leaf_pages_walk *next)
{
	const struct leaf_pages_walk *w = &c->open;

	if (next->start.v - w->end.v > (is_by_pagemap(c) ? GAP_BYTES : SCAN_GAP_BYTES))
		return false;
	return w->nr < WALK_REGIONS && !(w->want_kind && next->has_large) &&
		!(w->has_large && next->want_kind);
}

/* Complete the open walk. */
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
	struct leaf_pages_walk next;

	/* Walk a range that a torn map contains twice only once. */
	if (r.start.v < c->told_to.v)
		r.start = c->told_to;
	if (r.start.v >= r.end.v || region_is_vsyscall(&r) ||
		(is_by_pagemap(c) && leaf_pages_pass_over(&r)))
		return;
	c->told_to = r.end;
	next = walk_of(&r);
	if (!leaf_pages_fits(c, &next))
		close_walk(c);
	if (c->nr_told++ == FEW_REGIONS && is_living(c)) {
		if (!c->run) /* at full size: unused pages cost nothing */
			c->run = malloc(RUNS_MAX * sizeof *c->run);
		if (c->run)
			c->is_running = pthread_create(&c->thread, NULL, walk_ahead, c) == 0;
	}
	if (c->open.nr) {
		next.start = c->open.start;
		next.nr += c->open.nr;
		next.want_kind |= c->open.want_kind;
		next.has_large |= c->open.has_large;
	}
	c->open = next;
}

/* ---- counting ---- */

/* The position of the count: both leaves and runs of pages come in order of address. */
struct leaf_pages_counter {
	struct space *s;
	size_t next; /* index of the next leaf */
};

static void
count_present(struct space *s, struct leaf *l, const struct os_page_run *run, uint64_t bytes)
{
	if (l->kind == LEAF_HUGETLB) { /* from a separate pool, and not in VmRSS */
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

/* Count a run of pages: the callback of os_pages_walk(). */
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

/* Do as many of the remaining walks as the stored runs have room for. */
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

/*
 * All arenas of a target.  It is stopped for as long as one stop may last, and what was not read by
 * then waits for the next; in between it runs for at least as long.  An arena that a thread was at
 * work in is tried again.  One that no stop is long enough for is read by its lists, and if that
 * takes too long as well, while the target runs.
 */
#include <config.h>

#include "heap/heap-priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "heap/layout-priv.h"
#include "inject/inject.h"

#define TRIES_MAX 5
/* Then what is still to be read is read while the target runs. */
#define STOPS_MAX 1000
#define PAUSE_NS 1000000
/* Its page tables are looked at for some 10 ms a GiB: so much between two looks at the clock. */
#define LISTED_BYTES (UINT64_C(128) << 20)

/* ---- what the other files ask of the reader ---- */

bool
reader_is_late(struct reader *r)
{
	if (r->deadline_ns && os_now_ns() >= r->deadline_ns)
		r->is_late = true;
	return r->is_late;
}

static int
see_present(const struct os_page_run *run, void *arg)
{
	bool *is_present = arg;

	*is_present |= run->is_present;
	return 0;
}

bool
reader_may_look(struct reader *r, uint64_t addr)
{
	uint64_t page = addr & ~(r->page_bytes - 1);
	bool is_present = false;
	struct err e;

	if (!r->has_swap || !r->pages)
		return true;
	return os_pages_walk(r->pages, (raddr){ page }, (raddr){ page + r->page_bytes }, false,
		       see_present, &is_present, &e) == 0 && is_present;
}

static int
add_run(const struct os_page_run *run, void *arg)
{
	struct page_runs *runs = arg;
	struct page_run *copy;

	if (!run->is_present && !run->is_swapped)
		return 0;
	copy = array_add(runs);
	if (!copy)
		return 1;
	*copy = (struct page_run){ run->start, run->end, run->is_present };
	return 0;
}

/* Those in [AT, END), as far as there is time. */
static int
list_runs(struct reader *r, struct page_runs *runs, uint64_t at, uint64_t end, struct err *e)
{
	int bad = 0;

	while (at < end && !bad && !reader_is_late(r)) {
		uint64_t next = end - at > LISTED_BYTES ? at + LISTED_BYTES : end;

		bad = os_pages_walk(r->pages, (raddr){ at }, (raddr){ next }, false, add_run, runs, e);
		at = next;
	}
	return bad;
}

int
reader_add_runs(
	struct reader *r, struct page_runs *runs, uint64_t start, uint64_t end, struct err *e)
{
	struct os_page_run all = { .start = { start }, .end = { end }, .is_present = true };
	uint64_t page_end = (end + r->page_bytes - 1) & ~(r->page_bytes - 1);
	int bad = r->pages ? list_runs(r, runs, start, page_end, e) : add_run(&all, runs);

	return bad > 0 ? err_set(e, ENOMEM, "cannot list the pages of the heap") : bad;
}

/* Whether region B is more of what A is, right behind it. */
static bool
goes_on(const struct region *a, const struct region *b)
{
	return a->end.v == b->start.v && strcmp(a->prot, b->prot) == 0 && !b->inode &&
		strcmp(a->path ? a->path : "", b->path ? b->path : "") == 0;
}

struct heap_range
reader_mapping(const struct reader *r, uint64_t addr)
{
	const struct region *first = maps_find(r->m, (raddr){ addr }), *last = first;

	if (!first || first->inode || strcmp(first->prot, "rw-p") != 0)
		return (struct heap_range){ 0 };
	while (first > r->m->region && goes_on(first - 1, first))
		first--;
	while (last + 1 < r->m->region + r->m->nr && goes_on(last, last + 1))
		last++;
	return (struct heap_range){ first->start, last->end };
}

/* ---- the arenas ---- */

/* What is still to be done with an arena. */
enum state {
	STATE_WANTED,
	STATE_TOO_LARGE,	/* for a stop; then by its lists */
	STATE_HUGE,		/* for that too; then while it runs */
	STATE_DONE,
};

struct work {
	struct reader r;
	const struct objects *o;
	const struct arenas *known;	/* as they were before the first stop */
	const struct heap_options *opt;
	uint64_t pause_ns;	/* let it run for so long between two stops */
	struct os_syscall before;	/* what its only thread did before the stop */
	struct {
		struct todo {
			enum state state;
			unsigned int nr_tries;
		} *v;
		size_t nr, room;
	} todo;		/* parallel to the heap's arenas */
};

/* Bring the list of arenas up to date: new ones are made at the end of the ring. */
static int
sync_arenas(struct work *w, const struct arenas *a, struct err *e)
{
	struct heap *h = w->r.heap;

	while (h->arena.nr < a->nr) {
		struct heap_arena *arena = array_add(&h->arena);

		if (!arena || !array_add(&w->todo))
			return err_set(e, ENOMEM, "cannot list the arenas");
		arena->nr = (unsigned int)h->arena.nr - 1;
	}
	/* A ring that has become shorter is damaged; what it lost cannot be read again. */
	while (h->arena.nr > a->nr) {
		heap_arena_release(&h->arena.v[--h->arena.nr]);
		w->todo.nr--;
	}
	for (size_t i = 0; i < a->nr; i++) {
		if (h->arena.v[i].addr.v == a->v[i].addr.v)
			continue;
		heap_arena_release(&h->arena.v[i]);
		h->arena.v[i].addr = a->v[i].addr;
		w->todo.v[i] = (struct todo){ 0 };
	}
	return 0;
}

/* What became of the I-th arena, which was read as the NR-th of this stop. */
static void
judge(struct work *w, size_t i, size_t nr)
{
	struct heap_arena *arena = &w->r.heap->arena.v[i];
	struct todo *todo = &w->todo.v[i];

	if (w->r.is_late && nr)
		return;	/* the next stop begins with it */
	if (w->r.is_late)
		todo->state++;
	else if (arena->certainty == HEAP_EXACT || arena->has_neighbours || !w->r.is_stopped ||
		++todo->nr_tries == TRIES_MAX)
		todo->state = STATE_DONE;
}

/* Read what is to be done and fits. */
static int
read_some(struct work *w, const struct arenas *a, struct err *e)
{
	size_t nr = 0;

	for (size_t i = 0; i < a->nr && !w->r.is_late; i++) {
		bool by_lists = w->opt->bins_only || w->todo.v[i].state == STATE_TOO_LARGE;

		if (w->todo.v[i].state == STATE_DONE ||
			(w->todo.v[i].state == STATE_HUGE && w->r.is_stopped))
			continue;
		if (arena_read(&w->r, &a->v[i], by_lists, &w->r.heap->arena.v[i], e) < 0)
			return -1;
		judge(w, i, nr++);
	}
	return 0;
}

/*
 * The layout was told while it ran, when what the caches are told by may have been torn.  Only seldom
 * so; but without it what is cached would count as in use.
 */
static void
look_for_caches(struct work *w, const struct arenas *a)
{
	struct heap_layout again = { 0 };
	struct err e;

	if (!w->r.is_stopped || w->r.l->tcache.from_slot_bytes)
		return;
	if (heap_layout_find(&again, w->r.t, w->r.m, w->o, a, &e) == 0)
		w->r.heap->layout = again;
}

/* ---- a thread alone ---- */

/* The thread that has no other beside it; 0 if there are more. */
static pid_t
only_thread(const struct target *t)
{
	auto_free pid_t *tids = NULL;
	size_t nr;
	struct err e;

	return os_threads(t, 2, &tids, &nr, &e) == 0 && nr == 1 ? tids[0] : 0;
}

/* Of a target of 32 bits the numbers are others; then it is as in a call that is none of malloc's. */
static bool
is_call_of_malloc(long nr)
{
	switch (nr) {
	case SYS_brk:
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_mremap:
	case SYS_madvise:
		return true;
	default:
		return false;
	}
}

/*
 * One thread alone takes no locks (SINGLE_THREAD_P, since 2.26), and may hold chunks that are in no
 * list, which nothing tells from chunks in use.  So it must not be in libc, but for a system call
 * that is none of malloc's.  One that was broken off by our stop and is going to be made again looks
 * like none; but it is where it was before.  In core files it is not told what threads were doing.
 */
static bool
may_be_in_malloc(const struct work *w)
{
	pid_t tid = only_thread(w->r.t);
	const struct object *object;
	struct os_syscall now;
	struct err e;

	if (!tid || w->r.t->core)
		return false;
	if (os_thread_syscall(w->r.t, tid, &now, &e) < 0 || now.is_running)
		return true;
	if (now.nr >= 0)
		return is_call_of_malloc(now.nr);
	if (!w->before.is_running && now.sp.v == w->before.sp.v && !is_call_of_malloc(w->before.nr))
		return false;
	object = objects_at(w->o, now.pc);
	return object && (object->is_libc || object == objects_malloc(w->o, w->r.t));
}

static void
note_before(struct work *w)
{
	pid_t tid = only_thread(w->r.t);
	struct err e;

	w->before = (struct os_syscall){ .is_running = true };
	if (tid && os_thread_syscall(w->r.t, tid, &w->before, &e) < 0)
		w->before.is_running = true;
}

/* ---- a stop ---- */

/* One look: at all of it when nothing is stopped, else until DEADLINE_NS. */
static int
look(uint64_t deadline_ns, void *arg, struct err *e)
{
	struct work *w = arg;
	auto_arenas struct arenas a = { 0 };
	int result = -1;

	w->r.deadline_ns = deadline_ns;
	w->r.is_late = false;
	if (arenas_find(&a, w->r.t, w->r.m, w->o, w->known, e) == 0 &&
		sync_arenas(w, &a, e) == 0) {
		w->r.arenas = &a;
		look_for_caches(w, &a);
		params_read_again(&w->r.heap->layout, w->r.t);
		if (w->opt->beside)
			w->opt->beside(w->opt->arg);
		w->r.doubt = !w->r.is_stopped ? "the process ran meanwhile"
			: may_be_in_malloc(w) ? "its only thread, which takes no lock, was at work"
					      : NULL;
		result = tcaches_read(&w->r, e) < 0 ? -1 : read_some(w, &a, e);
	}
	return result;
}

static bool
is_all(const struct work *w, enum state least)
{
	for (size_t i = 0; i < w->todo.nr; i++)
		if (w->todo.v[i].state < least)
			return false;
	return true;
}

/*
 * Stop it once and look.  Returns 0, 1 if it could not be stopped in time, or -1 with E.  A thread
 * that waits for a disk or has just been born is one to try again with.
 */
static int
look_once(struct work *w, struct err *e)
{
	struct heap *h = w->r.heap;
	struct inject_freeze report = { 0 };
	int result;

	note_before(w);
	w->r.is_stopped = true;
	result = inject_freeze(w->r.t, w->opt->max_stop_ns, look, w, &report, e);
	w->r.is_stopped = false;
	if (result < 0)
		return e->kind == ERR_NO_SAFE_POINT ? 1 : -1;
	h->nr_stops++;
	h->stopped_ns += report.longest_ns;
	if (report.longest_ns > h->longest_stop_ns)
		h->longest_stop_ns = report.longest_ns;
	w->pause_ns = report.longest_ns > PAUSE_NS ? report.longest_ns : PAUSE_NS;
	return 0;
}

/* Stop it until all is read that can be.  What cannot is left for when it runs. */
static int
look_stopped(struct work *w, struct err *e)
{
	unsigned int nr_refused = 0;

	for (;;) {
		int result = look_once(w, e);

		if (result < 0)
			return -1;
		if (result > 0 && ++nr_refused == TRIES_MAX) {
			debug("%s", e->msg);
			return 0;
		}
		if ((w->todo.nr && is_all(w, STATE_HUGE)) || w->r.heap->nr_stops == STOPS_MAX)
			return 0;
		os_sleep_ns(w->pause_ns);
	}
}

/* ---- all of it ---- */

static void
sum_up(struct heap *h)
{
	h->certainty = HEAP_EXACT;
	for (size_t i = 0; i < h->arena.nr; i++)
		if (h->arena.v[i].certainty < h->certainty)
			h->certainty = h->arena.v[i].certainty;
}

static int
read_all(struct work *w, struct err *e)
{
	if (w->r.t->core) {
		w->r.is_stopped = true;
		return look(0, w, e);
	}
	if (w->opt->max_stop_ns && look_stopped(w, e) < 0)
		return -1;
	return is_all(w, STATE_DONE) && w->todo.nr ? 0 : look(0, w, e);
}

int
heap_read(struct heap *h, const struct target *t, const struct maps *m, const struct objects *o,
	const struct heap_options *opt, struct err *e)
{
	auto_arenas struct arenas a = { 0 };
	auto_pages struct os_pages *pages = NULL;
	struct work w = {
		.r = { .t = t, .m = m, .heap = h, .pad_bytes = opt->pad_bytes,
			.with_tops = opt->with_tops },
		.o = o,
		.known = &a,
		.opt = opt,
		.pause_ns = PAUSE_NS,
	};
	struct os_status status = { 0 };
	struct err ours;
	int result = -1;

	w.r.l = &h->layout;
	w.r.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	if (os_pages_open(&pages, t, OS_PAGES_AUTO, &ours) < 0)
		debug("%s", ours.msg);
	w.r.pages = pages;
	if (!t->core && mlocked_find(&w.r.mlocked, t, &ours) < 0)
		debug("%s", ours.msg);
	w.r.has_swap = os_status(t, 0, &status, &ours) == 0 && status.vm_swap_bytes;
	if (arenas_find(&a, t, m, o, NULL, e) == 0 && heap_layout_find(&h->layout, t, m, o, &a, e) == 0)
		result = read_all(&w, e);
	free(w.r.cached.v);
	free(w.r.mlocked.v);
	free(w.todo.v);
	if (result < 0) {
		heap_release(h);
		return -1;
	}
	h->is_ring_closed = a.is_ring_closed;
	if (pages)
		arenas_find_strays(&a, t, m, pages, &h->strays);
	sum_up(h);
	trim_forecast(&w.r, opt->want_uss);
	h->is_resident_least = os_pages_by(pages) == OS_PAGES_NONZERO;
	return 0;
}

static int
glance(struct reader *r, const struct objects *o, struct err *e)
{
	const struct arenas *a = r->arenas;

	if (layout_glance(&r->heap->layout, r->t, r->m, o, a, e) < 0)
		return -1;
	for (size_t i = 0; i < a->nr; i++) {
		struct heap_arena *arena = array_add(&r->heap->arena);

		if (!arena)
			return err_set(e, ENOMEM, "cannot list the arenas");
		arena->nr = (unsigned int)i;
		if (arena_glance(r, &a->v[i], arena, e) < 0)
			return -1;
	}
	return 0;
}

int
heap_glance(struct heap *h, const struct target *t, const struct maps *m,
	const struct objects *o, const struct arenas *a, struct err *e)
{
	auto_pages struct os_pages *pages = NULL;
	struct reader r = { .t = t, .m = m, .l = &h->layout, .arenas = a, .heap = h };
	struct err ours;

	r.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	if (os_pages_open(&pages, t, OS_PAGES_AUTO, &ours) < 0)
		debug("%s", ours.msg);
	r.pages = pages;
	if (glance(&r, o, e) < 0) {
		heap_release(h);
		return -1;
	}
	return 0;
}

void
heap_release(struct heap *h)
{
	for (size_t i = 0; i < h->arena.nr; i++)
		heap_arena_release(&h->arena.v[i]);
	free(h->arena.v);
	free(h->thread.v);
	*h = (struct heap){ 0 };
}

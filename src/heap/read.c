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

/* ---- what the other files ask of the reader ---- */

bool
reader_is_late(struct reader *r)
{
	if (r->deadline_ns && os_now_ns() >= r->deadline_ns)
		r->is_late = true;
	return r->is_late;
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
	/* of the time of the look */
	struct maps maps;
	struct arenas arenas;
	struct heap_layout layout;	/* as it was told before the caches were looked for */
	bool has_caches;	/* they were looked for in a stop */
	size_t nr_begun;	/* arenas in this look */
	const struct heap_options *opt;
	uint64_t pause_ns;	/* let it run for so long between two stops */
	struct os_syscall before;	/* what its only thread did before the stop */
	struct {
		struct todo {
			enum state state;
			unsigned int nr_tries;
			bool is_read;	/* in this look, all of it */
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

/* Read what is to be done and fits. */
static int
read_some(struct work *w, struct err *e)
{
	for (size_t i = 0; i < w->arenas.nr && !w->r.is_late; i++) {
		struct todo *todo = &w->todo.v[i];
		bool by_lists = w->opt->bins_only || todo->state == STATE_TOO_LARGE;

		if (todo->state == STATE_DONE || (todo->state == STATE_HUGE && w->r.is_stopped))
			continue;
		if (arena_read(&w->r, &w->arenas.v[i], by_lists, &w->r.heap->arena.v[i], e) < 0 ||
			(!w->r.deadline_ns && arenas_finish(&w->r, e) < 0))
			return -1;
		todo->is_read = !w->r.is_late;
		/* One that had all of the time needs more than that; others wait for the next stop. */
		if (w->r.is_late && !w->nr_begun)
			todo->state++;
		w->nr_begun++;
	}
	return 0;
}

/* What became of the arenas that were read. */
static void
judge(struct work *w)
{
	for (size_t i = 0; i < w->todo.nr; i++) {
		const struct heap_arena *arena = &w->r.heap->arena.v[i];
		struct todo *todo = &w->todo.v[i];

		if (todo->is_read &&
			(arena->certainty == HEAP_EXACT || arena->has_neighbours ||
				arena->is_hugetlb || !w->r.is_stopped ||
				++todo->nr_tries == TRIES_MAX))
			todo->state = STATE_DONE;
		todo->is_read = false;
	}
}

/*
 * The layout was told while it ran, when what the caches are told by may have been torn.  Only seldom
 * so; but without it what is cached would count as in use.
 */
static void
look_for_caches(struct work *w)
{
	struct heap_layout again = w->layout;

	if (!w->r.is_stopped || w->has_caches || w->r.l->tcache.from_slot_bytes || again.last < 26)
		return;
	w->has_caches = true;
	layout_add_tcache(&again, w->r.t, w->r.m, &w->arenas, w->r.deadline_ns);
	if (again.tcache.from_slot_bytes)
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

/* What malloc has now, and what it is looked for in.  It may be late then. */
static int
find_all(struct work *w, struct err *e)
{
	memset(w->r.group, 0, sizeof w->r.group);
	arenas_release(&w->arenas);
	maps_release(&w->maps);
	if (maps_read(&w->maps, w->r.t, e) < 0 || reader_is_late(&w->r))
		return w->r.is_late ? 0 : -1;
	w->r.m = &w->maps;
	if (arenas_read_again(&w->arenas, w->r.t, w->r.m, w->known, w->r.deadline_ns, e) < 0)
		return -1;
	/* A list that was cut off is not one of fewer arenas. */
	return reader_is_late(&w->r) ? 0 : sync_arenas(w, &w->arenas, e);
}

/* One look: at all of it when nothing is stopped, else until DEADLINE_NS. */
static int
look(uint64_t deadline_ns, void *arg, struct err *e)
{
	struct work *w = arg;

	w->r.deadline_ns = deadline_ns;
	w->r.is_late = false;
	w->nr_begun = 0;
	if (find_all(w, e) < 0)
		return -1;
	if (w->r.is_late)
		return 0;
	look_for_caches(w);
	params_read_again(&w->r.heap->layout, w->r.t);
	if (w->opt->beside)
		w->opt->beside(w->opt->arg);
	w->r.doubt = !w->r.is_stopped ? "the process ran meanwhile"
		: may_be_in_malloc(w) ? "its only thread, which takes no lock, was at work"
				      : NULL;
	return tcaches_read(&w->r, e) < 0 ? -1 : read_some(w, e);
}

/* What a look that had RESULT has left for when there is no hurry. */
static int
finish(struct work *w, int result, struct err *e)
{
	struct err ignored;

	w->r.deadline_ns = 0;
	w->r.is_late = false;
	if (arenas_finish(&w->r, result < 0 ? &ignored : e) < 0 || result < 0)
		return -1;
	judge(w);
	w->r.heap->nr_looks += w->nr_begun != 0;
	return 0;
}

/* While nothing is stopped, or all of it is for good. */
static int
look_at_ease(struct work *w, struct err *e)
{
	return finish(w, look(0, w, e), e);
}

static bool
is_all(const struct work *w, enum state least)
{
	for (size_t i = 0; i < w->todo.nr; i++)
		if (w->todo.v[i].state < least)
			return false;
	return true;
}

static void
set_stopped(struct work *w, bool is_stopped)
{
	w->r.is_stopped = is_stopped;
	if (w->r.pages)
		os_pages_stopped(w->r.pages, is_stopped);
}

/* Whether each arena was read, however well. */
static bool
is_all_seen(const struct work *w)
{
	for (size_t i = 0; i < w->todo.nr; i++)
		if (w->todo.v[i].state != STATE_DONE && !w->todo.v[i].nr_tries)
			return false;
	return w->todo.nr;
}

/*
 * Stop it once and look.  Returns 0, 1 with E if it could not be stopped in time, or so late that no
 * arena could be read, or -1 with E.  A thread that waits for a disk or has just been born is one to
 * try again with.
 */
static int
look_once(struct work *w, struct err *e)
{
	struct heap *h = w->r.heap;
	struct inject_freeze report = { 0 };
	int result;

	note_before(w);
	set_stopped(w, true);
	result = inject_freeze(w->r.t, w->opt->max_stop_ns, look, w, &report, e);
	result = finish(w, result, e);
	set_stopped(w, false);
	if (result < 0)
		return e->kind == ERR_NO_SAFE_POINT ? 1 : -1;
	h->nr_stops++;
	h->stopped_ns += report.longest_ns;
	if (report.longest_ns > h->longest_stop_ns)
		h->longest_stop_ns = report.longest_ns;
	w->pause_ns = report.longest_ns > PAUSE_NS ? report.longest_ns : PAUSE_NS;
	if (w->nr_begun)
		return 0;
	err_set_kind(e, ERR_NO_SAFE_POINT, 0, "it took all of a stop to see what arenas %d has",
		w->r.t->pid);
	return 1;
}

/* Stop it until all is read that can be.  What cannot is left for when it runs. */
static int
look_stopped(struct work *w, struct err *e)
{
	unsigned int nr_refused = 0;
	struct err why;

	for (;;) {
		int result = look_once(w, &why);

		if (result < 0) {
			*e = why;
			return -1;
		}
		if (result > 0 && ++nr_refused == TRIES_MAX) {
			debug("%s", why.msg);
			return 0;
		}
		if ((w->todo.nr && is_all(w, STATE_HUGE)) || w->r.heap->nr_stops == STOPS_MAX ||
			(w->opt->one_look && is_all_seen(w)))
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
		return look_at_ease(w, e);
	}
	if (w->opt->max_stop_ns && look_stopped(w, e) < 0)
		return -1;
	if ((is_all(w, STATE_DONE) && w->todo.nr) || (w->opt->one_look && is_all_seen(w)))
		return 0;
	return look_at_ease(w, e);
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
	struct err ours;
	int result = -1;

	w.r.l = &h->layout;
	w.r.arenas = &w.arenas;
	w.r.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	if (os_pages_open(&pages, t, OS_PAGES_AUTO, &ours) < 0)
		debug("%s", ours.msg);
	w.r.pages = pages;
	if (!t->core && mlocked_find(&w.r.mlocked, t, &ours) < 0)
		debug("%s", ours.msg);
	if (arenas_find(&a, t, m, o, NULL, e) == 0 && layout_glance(&w.layout, t, m, o, &a, e) == 0) {
		h->layout = w.layout;
		layout_add_tcache(&h->layout, t, m, &a, 0);
		result = read_all(&w, e);
	}
	free(w.r.cached.v);
	free(w.r.mlocked.v);
	free(w.todo.v);
	arenas_release(&w.arenas);
	if (result < 0) {
		maps_release(&w.maps);
		heap_release(h);
		return -1;
	}
	h->is_ring_closed = a.is_ring_closed;
	if (pages)
		arenas_find_strays(&a, t, m, pages, &h->strays);
	sum_up(h);
	trim_forecast(&w.r, opt->want_uss);
	maps_release(&w.maps);
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

/*
 * All arenas of a target.  It is stopped for as long as one stop may last, and the rest waits for
 * the next stop; in between it runs for at least as long.  An arena is retried if a thread was at
 * work in it.  An arena too large for a stop is read by its lists, and if that takes too long as
 * well, while the target runs.
 */
#include <config.h>

#include "heap/read.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "glibc/arena-heaps.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "glibc/params.h"
#include "glibc/pieces.h"
#include "glibc/process.h"
#include "heap/arena-priv.h"
#include "heap/heap-priv.h"
#include "heap/memory.h"
#include "heap/pages-priv.h"
#include "heap/scan.h"
#include "heap/tcache.h"
#include "heap/trim-priv.h"
#include "heap/visit.h"
#include "os/clock.h"
#include "os/frozen.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/proc.h"
#include "os/status.h"
#include "stop/stop.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define TRIES_MAX 5
/* Maximum number of stops; then the rest is read while the target runs. */
#define STOPS_MAX 1000
/* Maximum number of looks of a visitor, and of those that their stops cut off. */
#define LOOKS_MAX 10
#define LATE_MAX 2
#define PAUSE_NS 1000000
/* Maximum number of searches for pieces. */
#define SEARCHES_MAX 3

/* ---- the arenas ---- */

/* The state of an arena. */
enum state {
	STATE_WANTED,
	STATE_TOO_LARGE, /* for a stop; read by its lists next */
	STATE_HUGE,	 /* for that too; read while the target runs */
	STATE_DONE,
};

struct read_work {
	struct reader r;
	const struct process *process; /* state before the first stop */
	bool is_fresh;		       /* its mappings, or those below, are current */
	/* at the time of the read */
	struct regions maps;
	struct arenas arenas;
	struct malloc_layout layout; /* before the search for the caches */
	bool has_caches;	     /* caches were searched for in a stop */
	size_t nr_begun;	     /* arenas begun in this read */
	bool is_whole;		     /* the visitor has seen all arenas in this read */
	unsigned int nr_searches;    /* for pieces of the main arena */
	const struct heap_options *opt;
	uint64_t pause_ns;	  /* let the target run this long between two stops */
	struct os_syscall before; /* the only thread's system call before the stop */
	struct {
		struct todo {
			enum state state;
			unsigned int nr_tries;
			bool is_read; /* completely, in this read */
		} * v;
		size_t nr, room;
	} todo; /* parallel to the heap's arenas */
};

/* Update the list of arenas: new ones are added at the end of the ring. */
static int
sync_arenas(struct read_work *w, const struct arenas *a, struct err *e)
{
	struct heap *h = w->r.heap;

	while (h->arena.nr < a->nr) {
		struct heap_arena *arena = array_add(&h->arena);

		if (!arena || !array_add(&w->todo))
			return err_set(e, ENOMEM, "cannot list the arenas");
		arena->nr = (unsigned int)h->arena.nr - 1;
	}
	/* A ring that has become shorter is damaged; its lost arenas cannot be read again. */
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

/* Read the arenas that are not done, as far as time allows. */
static int
heap_read_some(struct read_work *w, struct err *e)
{
	for (size_t i = 0; i < w->arenas.nr && !w->r.is_late; i++) {
		struct todo *todo = &w->todo.v[i];
		bool by_lists = w->opt->bins_only || todo->state == STATE_TOO_LARGE;

		if (todo->state == STATE_DONE || (todo->state == STATE_HUGE && w->r.is_stopped))
			continue;
		w->r.has_no_walk = todo->state == STATE_TOO_LARGE;
		if (reader_read_arena(&w->r, &w->arenas.v[i], by_lists, &w->r.heap->arena.v[i], e) <
				0 ||
			(!w->r.deadline_ns && reader_finish_arenas(&w->r, e) < 0))
			return -1;
		todo->is_read = !w->r.is_late;
		/* An arena that had all of the time needs more; others wait for the next stop. */
		if (w->r.is_late && !w->nr_begun)
			todo->state++;
		w->nr_begun++;
	}
	return 0;
}

/*
 * Search for the caches again in a stop: the layout was found while the target ran, when the data
 * that show the caches may have been torn.  That is rare; but without the caches their chunks would
 * count as in use.
 */
static void
find_caches(struct read_work *w)
{
	struct malloc_layout again = w->layout;

	if (!w->r.is_stopped || w->has_caches || w->r.l->tcache.from_slot_bytes || again.last < 26)
		return;
	w->has_caches = true;
	malloc_layout_add_tcache(&again, w->r.t, w->r.m, &w->arenas, w->r.deadline_ns);
	if (again.tcache.from_slot_bytes)
		w->r.heap->layout = again;
}

/* ---- a single thread ---- */

/* Return the only thread; 0 if there are more. */
static pid_t
only_thread(const struct target *t)
{
	auto_free pid_t *tids = NULL;
	size_t nr;
	struct err e;

	return os_threads(t, 2, &tids, &nr, &e) == 0 && nr == 1 ? tids[0] : 0;
}

/*
 * Return whether malloc makes system call NR.  A 32-bit target has other numbers; its calls are not
 * treated as malloc's.
 */
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
 * A single thread takes no locks (SINGLE_THREAD_P, since 2.26), and may hold chunks that are in no
 * list, and look like chunks in use.  So it must not be in libc, except in a system call that
 * malloc does not make.  A call that our stop has interrupted and that the kernel will restart is
 * not shown; but the thread is at the same place as before.  Core files do not show what threads
 * were doing, and a copy has several.
 */
static bool
may_be_in_malloc(const struct read_work *w)
{
	pid_t tid = only_thread(w->r.t);
	const struct object *object;
	struct os_syscall now;
	struct err e;

	if (!tid || os_is_still(w->r.t))
		return false;
	if (os_thread_syscall(w->r.t, tid, &now, &e) < 0 || now.is_running)
		return true;
	if (now.nr >= 0)
		return is_call_of_malloc(now.nr);
	if (!w->before.is_running && now.sp.v == w->before.sp.v && !is_call_of_malloc(w->before.nr))
		return false;
	object = objects_at(&w->process->objects, now.pc);
	return object &&
		(object->is_libc || object == objects_malloc(&w->process->objects, w->r.t));
}

static void
read_note_before(struct read_work *w)
{
	pid_t tid = only_thread(w->r.t);
	struct err e;

	w->before = (struct os_syscall){ .is_running = true };
	if (tid && os_thread_syscall(w->r.t, tid, &w->before, &e) < 0)
		w->before.is_running = true;
}

/* ---- the mappings ---- */

/*
 * Make w->r.m the present mappings.  In a stop only mappings read during the stop are valid; a core
 * file does not change.
 */
static int
heap_read_maps(struct read_work *w, struct err *e)
{
	const bool is_true = os_is_still(w->r.t) || (w->is_fresh && !w->r.is_stopped);

	w->is_fresh = false;
	if (is_true)
		return 0;
	w->r.m = &w->maps;
	regions_release(&w->maps);
	return regions_read(&w->maps, w->r.t, e);
}

/* ---- the pieces of the main arena ---- */

/*
 * Search for the pieces while the target runs: that takes as long as reading the headers of all
 * their chunks.  malloc keeps its pieces, so the result is valid in the next stop, if the sum is.
 */
static void
find_pieces(struct read_work *w)
{
	struct reader *r = &w->r;
	const struct arenas *a = w->arenas.nr ? &w->arenas : &w->process->arenas;
	uint64_t system_bytes;
	struct err e;

	if (!r->pages || w->opt->one_look || w->nr_searches == SEARCHES_MAX)
		return;
	if (!r->wants_pieces && (w->nr_searches || main_arena_is_contiguous(r->t, a)))
		return;
	r->wants_pieces = false;
	w->nr_searches++;
	w->is_fresh = false;
	if (heap_read_maps(w, &e) < 0)
		return;
	w->is_fresh = true;
	system_bytes = main_system_bytes(r, a);
	if (main_pieces_find(&r->pieces, r->t, r->m, r->pages, a, (raddr){ brk_start(r) },
		    system_bytes, &e) < 0)
		debug("%s", e.msg);
	debug("the main arena has %zu pieces", r->pieces.nr);
}

/* ---- a stop ---- */

/* Read malloc's current state and the mappings.  Afterwards the time may be used up. */
static int
read_find_all(struct read_work *w, struct err *e)
{
	memset(w->r.group, 0, sizeof w->r.group);
	arenas_release(&w->arenas);
	if (heap_read_maps(w, e) < 0)
		return -1;
	if (reader_is_late(&w->r))
		return 0;
	if (arenas_read_again(
		    &w->arenas, w->r.t, w->r.m, &w->process->arenas, w->r.deadline_ns, e) < 0)
		return -1;
	/* A list that was cut off does not mean fewer arenas. */
	return reader_is_late(&w->r) ? 0 : sync_arenas(w, &w->arenas, e);
}

/* Let the visitor see all arenas.  0, or -1 with E. */
static int
read_for_visitor(struct read_work *w, struct err *e)
{
	const struct heap_visitor *visitor = w->opt->visitor;
	const struct heap_look look = { w->r.t, w->r.m, &w->arenas, w->r.l, w->r.pages,
		w->r.deadline_ns };
	int result;

	for (size_t i = 0; i < w->todo.nr; i++)
		w->todo.v[i].state = STATE_WANTED;
	if (visitor->begin(&look, visitor->arg, e) < 0 || heap_read_some(w, e) < 0)
		return -1;
	if (w->r.is_late)
		return 0;
	result = visitor->end(&look, visitor->arg, e);
	w->is_whole = !result;
	return result < 0 ? -1 : 0;
}

/* Read once: everything if the target runs, else until DEADLINE_NS. */
static int
heap_read_once(uint64_t deadline_ns, void *arg, struct err *e)
{
	struct read_work *w = arg;

	w->r.deadline_ns = deadline_ns;
	w->r.is_late = false;
	w->nr_begun = 0;
	w->is_whole = false;
	if (read_find_all(w, e) < 0)
		return -1;
	if (w->r.is_late)
		return 0;
	find_caches(w);
	malloc_params_read_again(&w->r.heap->layout, w->r.t);
	if (w->opt->beside)
		w->opt->beside(w->r.m, w->opt->arg);
	w->r.doubt = !w->r.is_stopped ? "the process ran meanwhile"
		: may_be_in_malloc(w) ? "its only thread, which takes no lock, was at work"
				      : NULL;
	if (tcaches_read(&w->r, e) < 0)
		return -1;
	return w->opt->visitor ? read_for_visitor(w, e) : heap_read_some(w, e);
}

/* Do the work that a stop with RESULT has left for later, when no thread is stopped. */
static int
read_finish(struct read_work *w, int result, struct err *e)
{
	struct err ignored;

	w->r.deadline_ns = 0;
	w->r.is_late = false;
	if (reader_finish_arenas(&w->r, result < 0 ? &ignored : e) < 0 || result < 0)
		return -1;
	for (size_t i = 0; i < w->todo.nr; i++) {
		const struct heap_arena *arena = &w->r.heap->arena.v[i];
		struct todo *todo = &w->todo.v[i];

		if (todo->is_read &&
			(arena->certainty == HEAP_EXACT ||
				(arena->has_neighbours && w->nr_searches) || arena->is_hugetlb ||
				!w->r.is_stopped || ++todo->nr_tries == TRIES_MAX))
			todo->state = STATE_DONE;
		todo->is_read = false;
	}
	w->r.heap->nr_looks += w->nr_begun != 0;
	return 0;
}

/*
 * Read while the target runs, or a core file.  The second read knows the pieces that the first
 * missed.
 */
static int
read_running(struct read_work *w, struct err *e)
{
	find_pieces(w);
	return read_finish(w, heap_read_once(0, w, e), e);
}

static bool
is_all(const struct read_work *w, enum state least)
{
	for (size_t i = 0; i < w->todo.nr; i++)
		if (w->todo.v[i].state < least)
			return false;
	return true;
}

static void
set_stopped(struct read_work *w, bool is_stopped)
{
	w->r.is_stopped = is_stopped;
	if (w->r.pages)
		os_pages_stopped(w->r.pages, is_stopped);
}

/* Return whether each arena was read, even if not exactly. */
static bool
is_all_seen(const struct read_work *w)
{
	for (size_t i = 0; i < w->todo.nr; i++)
		if (w->todo.v[i].state != STATE_DONE && !w->todo.v[i].nr_tries)
			return false;
	return w->todo.nr;
}

/*
 * Stop the target once and read.  Returns 0, 1 with E if it could not be stopped in time, or so
 * late that no arena could be read, or -1 with E.  After 1, try again: a thread may have waited for
 * a disk, or have just been created.
 */
static int
stop_and_read(struct read_work *w, struct err *e)
{
	struct heap *h = w->r.heap;
	struct stop_report report = { 0 };
	int result;

	find_pieces(w);
	read_note_before(w);
	set_stopped(w, true);
	result = stop_threads(w->r.t, w->opt->max_stop_ns, heap_read_once, w, &report, e);
	result = read_finish(w, result, e);
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

/* Stop the target until all that can be read in stops is read; the rest is read while it runs. */
static int
read_stopped(struct read_work *w, struct err *e)
{
	unsigned int nr_refused = 0;
	struct err why;

	for (;;) {
		int result = stop_and_read(w, &why);

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

/* Stop the target until the visitor has seen all arenas, exactly if possible, in one stop. */
static int
read_whole(struct read_work *w, struct err *e)
{
	unsigned int nr_late = 0;

	for (unsigned int i = 0; i < LOOKS_MAX; i++) {
		int result = stop_and_read(w, e);

		if (result < 0)
			return -1;
		if (w->is_whole && is_all(w, STATE_DONE))
			return 0;
		if (!result && !w->is_whole && ++nr_late == LATE_MAX)
			break;
		os_sleep_ns(w->pause_ns);
	}
	if (w->is_whole)
		return 0;
	return err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"the memory of %d cannot be read in one stop of %" PRIu64 " ms", w->r.t->pid,
		w->opt->max_stop_ns / 1000000);
}

/* ---- all of it ---- */

static void
read_sum_up(struct heap *h)
{
	h->certainty = HEAP_EXACT;
	for (size_t i = 0; i < h->arena.nr; i++)
		if (h->arena.v[i].certainty < h->certainty)
			h->certainty = h->arena.v[i].certainty;
}

static int
heap_read_all(struct read_work *w, struct err *e)
{
	if (os_is_still(w->r.t)) {
		w->r.is_stopped = true;
		return read_running(w, e) < 0 ? -1 : w->r.wants_pieces ? read_running(w, e) : 0;
	}
	if (w->opt->max_stop_ns && w->opt->visitor)
		return read_whole(w, e);
	if (w->opt->max_stop_ns && read_stopped(w, e) < 0)
		return -1;
	if ((is_all(w, STATE_DONE) && w->todo.nr) || (w->opt->one_look && is_all_seen(w)))
		return 0;
	return read_running(w, e);
}

int
heap_read(struct heap *h, const struct process *p, const struct heap_options *opt, struct err *e)
{
	const struct target *t = p->target;
	/* P's mappings and objects, with the present arenas. */
	struct process now = { .target = t, .maps = p->maps, .objects = p->objects };
	auto_pages struct os_pages *pages = NULL;
	struct read_work w = {
		.r = { .t = t,
			.m = &now.maps,
			.heap = h,
			.pad_bytes = opt->pad_bytes,
			.with_tops = opt->with_tops,
			.visitor = opt->visitor },
		.process = &now,
		.is_fresh = opt->is_fresh,
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
	if (!os_is_still(t) && mlocked_find(&w.r.mlocked, t, &ours) < 0)
		debug("%s", ours.msg);
	if (process_find_arenas(&now, p, e) == 0 &&
		malloc_layout_find_basic(&w.layout, &now, e) == 0) {
		h->layout = w.layout;
		malloc_layout_add_tcache(&h->layout, t, &now.maps, &now.arenas, 0);
		result = heap_read_all(&w, e);
	}
	free(w.r.cached.v);
	free(w.r.mlocked.v);
	main_pieces_release(&w.r.pieces);
	free(w.todo.v);
	arenas_release(&w.arenas);
	if (result < 0) {
		arenas_release(&now.arenas);
		regions_release(&w.maps);
		heap_release(h);
		return -1;
	}
	h->is_ring_closed = now.arenas.is_ring_closed;
	if (pages)
		arenas_find_strays(&now.arenas, t, &now.maps, pages, &h->strays);
	arenas_release(&now.arenas);
	read_sum_up(h);
	trim_forecast(&w.r, opt->want_uss);
	regions_release(&w.maps);
	h->is_resident_least = os_pages_by(pages) == OS_PAGES_NONZERO;
	h->knows_huge = os_pages_know_huge(pages);
	return 0;
}

/* Read the tops of R's arenas, and the counts of the threads' caches if WITH_CACHES. */
static int
read_tops(struct reader *r, const struct process *p, bool with_caches, struct err *e)
{
	const struct arenas *a = &p->arenas;

	if (malloc_layout_find_basic(&r->heap->layout, p, e) < 0)
		return -1;
	for (size_t i = 0; i < a->nr; i++) {
		struct heap_arena *arena = array_add(&r->heap->arena);

		if (!arena)
			return err_set(e, ENOMEM, "cannot list the arenas");
		arena->nr = (unsigned int)i;
		if (reader_glance_arena(r, &a->v[i], arena, e) < 0)
			return -1;
	}
	if (!with_caches)
		return 0;
	malloc_layout_add_tcache(&r->heap->layout, r->t, r->m, a, 0);
	return tcaches_glance(r, e);
}

static int
read_tops_of(struct heap *h, const struct process *p, bool with_caches, struct err *e)
{
	auto_pages struct os_pages *pages = NULL;
	struct reader r = {
		.t = p->target, .m = &p->maps, .l = &h->layout, .arenas = &p->arenas, .heap = h
	};
	struct err ours;

	r.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	if (os_pages_open(&pages, p->target, OS_PAGES_AUTO, &ours) < 0)
		debug("%s", ours.msg);
	r.pages = pages;
	if (read_tops(&r, p, with_caches, e) < 0) {
		heap_release(h);
		return -1;
	}
	return 0;
}

int
heap_read_tops(struct heap *h, const struct process *p, struct err *e)
{
	return read_tops_of(h, p, false, e);
}

int
heap_read_counts(struct heap *h, const struct process *p, struct err *e)
{
	return read_tops_of(h, p, true, e);
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

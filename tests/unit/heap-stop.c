/*
 * The stop of a target while its heap is read: no pause, nothing that can wait
 * until it runs, and nothing at all once time is up.  Where the clock shows that is our choice
 * here.
 */
#include <config.h>

#include <malloc.h>

#include "child.h"
#include "glibc/arenas.h"
#include "heap/heap-priv.h"
#include "heap/heap.h"
#include "heap/pages-priv.h"
#include "heap/read.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/ptrace.h"
#include "os/status.h"

#define LONG_NS UINT64_C(60000000000)
#define SHORT_NS UINT64_C(1000000)
#define NR_BLOCKS 20000
/*
 * Every so many of them are free: far enough apart to be read by lists, or so near that a walk
 * takes less.
 */
#define FAR_APART 10
#define NEAR 2

/* ---- what is looked at on the way ---- */

enum place { NOWHERE, AT_ARENAS, AT_THREADS, AT_LISTS };

static struct {
	enum place late_at; /* there the clock goes on by an hour */
	uint64_t skipped_ns;
	unsigned int nr_pauses;
	bool pauses; /* in walks over pages */
	/* it might have made in a stop, or not without one */
	unsigned int nr_wrong_pauses;
	unsigned int nr_analysed, nr_stopped_analysed;
} seen = { .pauses = true };

static const struct target *target;

static bool
is_stopped(void)
{
	struct os_status s = { .state = '?' };
	struct err e;

	return target && os_status(target, 0, &s, &e) == 0 && s.state == 't';
}

static void
pass(enum place place)
{
	if (place == seen.late_at && is_stopped())
		seen.skipped_ns += UINT64_C(3600000000000);
}

uint64_t __real_os_now_ns(void);
uint64_t __wrap_os_now_ns(void);
uint64_t
__wrap_os_now_ns(void)
{
	return __real_os_now_ns() + seen.skipped_ns;
}

void __real_os_sleep_ns(uint64_t ns);
void __wrap_os_sleep_ns(uint64_t ns);
void
__wrap_os_sleep_ns(uint64_t ns)
{
	seen.nr_pauses++;
	/* As long as the stop before, by the same clock. */
	__real_os_sleep_ns(ns < SHORT_NS ? ns : SHORT_NS);
}

int __real_arenas_read_again(struct arenas *a, const struct target *t, const struct regions *m,
	const struct arenas *known, uint64_t deadline_ns, struct err *e);
int __wrap_arenas_read_again(struct arenas *a, const struct target *t, const struct regions *m,
	const struct arenas *known, uint64_t deadline_ns, struct err *e);
int
__wrap_arenas_read_again(struct arenas *a, const struct target *t, const struct regions *m,
	const struct arenas *known, uint64_t deadline_ns, struct err *e)
{
	pass(AT_ARENAS);
	return __real_arenas_read_again(a, t, m, known, deadline_ns, e);
}

raddr __real_arenas_slot_of_thread(const struct arenas *a, const struct target *t, pid_t tid);
raddr __wrap_arenas_slot_of_thread(const struct arenas *a, const struct target *t, pid_t tid);
raddr
__wrap_arenas_slot_of_thread(const struct arenas *a, const struct target *t, pid_t tid)
{
	/* More than three quarters of the time: it is up for the threads only. */
	if (seen.late_at == AT_THREADS && is_stopped())
		seen.skipped_ns += LONG_NS * 7 / 8;
	return __real_arenas_slot_of_thread(a, t, tid);
}

void __real_os_pages_stopped(struct os_pages *p, bool is_stopped);
void __wrap_os_pages_stopped(struct os_pages *p, bool is_stopped);
void
__wrap_os_pages_stopped(struct os_pages *p, bool is_stopped)
{
	seen.pauses = !is_stopped;
	__real_os_pages_stopped(p, is_stopped);
}

int __real_lists_read(struct scan *s, struct err *e);
int __wrap_lists_read(struct scan *s, struct err *e);
int
__wrap_lists_read(struct scan *s, struct err *e)
{
	seen.nr_wrong_pauses += seen.pauses == is_stopped();
	pass(AT_LISTS);
	return __real_lists_read(s, e);
}

int __real_walk_segment(struct scan *s, size_t seg, struct err *e);
int __wrap_walk_segment(struct scan *s, size_t seg, struct err *e);
int
__wrap_walk_segment(struct scan *s, size_t seg, struct err *e)
{
	seen.nr_analysed++;
	seen.nr_stopped_analysed += is_stopped();
	return __real_walk_segment(s, seg, e);
}

/* ---- the child ---- */

static void
have_free_chunks(void *arg)
{
	static void *block[NR_BLOCKS], *volatile cached;

	mallopt(M_TRIM_THRESHOLD, INT32_MAX);
	for (int i = 0; i < NR_BLOCKS; i++)
		block[i] = memset(malloc(2000), 1, 2000);
	cached = malloc(100);
	for (int i = 0; i < NR_BLOCKS; i += *(const int *)arg)
		free(block[i]);
	free(cached);
	child_ready();
}

/* ---- the tests ---- */

static bool
read_late(struct view *v, struct heap *h, bool by_lists, enum place late_at)
{
	struct heap_options opt = { .max_stop_ns = LONG_NS, .bins_only = by_lists };

	heap_release(h);
	seen.nr_wrong_pauses = seen.nr_analysed = seen.nr_stopped_analysed = 0;
	seen.late_at = late_at;
	if (heap_read(h, &v->p, &opt, &v->e) == 0)
		return true;
	printf("# %s\n", v->e.msg);
	return false;
}

static void
test_in_time(struct view *v, struct heap *h)
{
	ok(read_late(v, h, true, NOWHERE) && h->certainty == HEAP_EXACT && h->nr_stops == 1,
		"by lists: exact in one stop");
	ok(seen.nr_analysed && !seen.nr_stopped_analysed,
		"what was read is gone through afterwards");
	ok(read_late(v, h, false, NOWHERE) && h->certainty == HEAP_EXACT && h->nr_stops == 1,
		"walked: exact in one stop");
	ok(seen.nr_analysed == seen.nr_stopped_analysed, "in which the walk is");
	ok(h->nr_looks == 1, "all is of one moment");
	ok(!seen.nr_wrong_pauses, "walks over pages do not pause in a stop");
}

static const char *
why(const struct heap *h)
{
	return h->arena.nr ? h->arena.v[0].why : "there is no arena";
}

static bool
is_whole(const struct heap *h)
{
	return h->arena.nr && h->arena.v[0].binned.count > NR_BLOCKS / (FAR_APART + 1);
}

static void
test_late(struct view *v, struct heap *h)
{
	bool is_read = read_late(v, h, false, AT_ARENAS);

	ok(is_read && h->nr_stops < 10, "late with the arenas: %u stops are enough to see it",
		h->nr_stops);
	ok(is_whole(h) && h->certainty == HEAP_CONSISTENT, "and it is read while it runs: %s",
		why(h));
	is_read = read_late(v, h, false, AT_THREADS);
	ok(is_read && h->certainty == HEAP_CONSISTENT && strstr(why(h), "no time") &&
			strstr(why(h), "cached"),
		"late with the threads: %s", why(h));
	ok(is_whole(h) && h->nr_stops < 10, "and the arenas are read all the same");
	ok(!h->knows_caches, "and then nothing is said of what they have cached");
	is_read = read_late(v, h, false, AT_LISTS);
	ok(is_read && h->nr_stops == 2, "late with an arena, whole and by its lists: %u stops",
		h->nr_stops);
	ok(h->nr_looks == 3, "not all is of one moment: %u looks", h->nr_looks);
	ok(is_whole(h) && h->certainty == HEAP_CONSISTENT, "and it is read while it runs: %s",
		why(h));
}

/* Walks of a tenth of a second in all. */
static void
test_pauses(struct view *v)
{
	struct os_pages *pages = NULL;
	uint64_t bytes = 0;

	if (!ok(os_pages_open(&pages, &v->t, OS_PAGES_AUTO, &v->e) == 0, "pages are read"))
		return;
	for (int is_held = false; is_held <= true; is_held++) {
		uint64_t began_ns = os_now_ns();

		seen.nr_pauses = 0;
		os_pages_stopped(pages, is_held);
		while (os_now_ns() - began_ns < 100000000)
			for (size_t i = 0; i < v->p.maps.nr; i++)
				os_pages_walk(pages, v->p.maps.region[i].start,
					v->p.maps.region[i].end, false, view_sum_present, &bytes,
					&v->e);
		ok((seen.nr_pauses == 0) == is_held, "%u pauses when it is %s", seen.nr_pauses,
			is_held ? "stopped" : "not");
	}
	os_pages_free(pages);
}

/* A walk takes less than the lists. */
static void
test_near(struct view *v, struct heap *h)
{
	ok(read_late(v, h, true, NOWHERE) && h->certainty == HEAP_EXACT &&
			!h->arena.v[0].is_by_lists,
		"free chunks near each other: walked");
}

static bool
look_at(const int *apart, struct heap *h, void (*test)(struct view *v, struct heap *h))
{
	struct child c = child_start(have_free_chunks, (void *)(uintptr_t)apart);
	struct view v;

	if (view_take(&v, c.pid)) {
		target = &v.t;
		test(&v, h);
	}
	target = NULL;
	view_release(&v);
	return child_end(&c);
}

static void
test_far(struct view *v, struct heap *h)
{
	test_in_time(v, h);
	test_late(v, h);
	test_pauses(v);
}

int
main(void)
{
	static const int far_apart = FAR_APART, near = NEAR;
	auto_heap struct heap h = { 0 };

	alarm(300);
	if (skip_if_sanitized("stops"))
		return tap_end();
	ok(look_at(&far_apart, &h, test_far), "the child is well");
	ok(look_at(&near, &h, test_near), "the other child is well");
	return tap_end();
}

/* The forecast of 'memdiag trim', and its warnings. */
#include <config.h>

#include "diagnose/trim-forecast.h"

#include "diagnose/heap-context.h"
#include "heap/heap.h"
#include "heap/read.h"
#include "inject/malloc.h"
#include "os/clock.h"
#include "os/machine.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "ui/ui.h"
#include "ui/units.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

/* Time between the two forecasts. */
#define PAUSE_NS (UINT64_C(100) * 1000000)

/* ---- the forecast ---- */

static void
trim_forecast_add(struct forecast *f, const struct heap_arena *a, uint64_t page_bytes)
{
	f->rss_bytes += a->trim.rss_bytes;
	f->uss_bytes += a->trim.uss_bytes;
	f->swap_bytes += a->trim.swap_bytes;
	f->lock_ns += a->trim.lock_ns;
	if (a->trim.lock_ns > f->longest_lock_ns)
		f->longest_lock_ns = a->trim.lock_ns;
	f->nr_faults += (a->trim.rss_bytes + a->trim.swap_bytes) / page_bytes;
	f->mlocked_bytes += a->trim.mlocked_bytes;
	f->huge_bytes += a->trim.huge_bytes;
	f->tops_bytes += a->is_main ? 0 : a->page_bytes[HEAP_PAGE_TOP];
	f->nr_approximate += a->certainty == HEAP_APPROXIMATE;
}

/* Read malloc's lists, which lead to all releasable memory; chunks in use are not needed. */
static int
trim_forecast_read_lists(struct heap *h, const struct trim *t, const struct trim_options *opt,
	struct rss_watch *rss, struct err *e)
{
	const struct heap_options how = { .max_stop_ns = opt->max_stop_ns,
		.want_uss = opt->dry_run,
		.pad_bytes = opt->pad_bytes,
		.with_tops = opt->tops,
		.bins_only = true,
		.beside = rss_watch_look,
		.arg = rss };

	return heap_read(h, &t->mt.process, &how, e);
}

/* Compare the heaps with the rest of the address space, AROUND. */
static void
check_forecast(struct trim *t, const struct heap_context *around, const struct rss_watch *rss)
{
	struct heap *h = &t->forecast.heap;
	struct check_facts f = { .mmapped = &around->mmapped, .has_run = !h->nr_stops };

	check_facts_add_heap(&f, h, rss, &around->space);
	checks_make(&t->checks, &f);
	checks_distrust(&t->checks, h);
}

static int
trim_forecast_foresee(struct trim *t, const struct trim_options *opt, struct err *e)
{
	struct forecast *f = &t->forecast;
	struct rss_watch rss = { .t = &t->mt.target };
	auto_heap_context struct heap_context around = { .error.kind = 0 };

	if (opt->dry_run && heap_context_read(&around, &t->mt.process, e) < 0)
		return -1;
	if (around.error.kind) {
		*e = around.error;
		return -1;
	}
	if (trim_forecast_read_lists(&f->heap, t, opt, &rss, e) < 0)
		return -1;
	if (opt->dry_run)
		check_forecast(t, &around, &rss);
	for (size_t i = 0; i < f->heap.arena.nr; i++)
		trim_forecast_add(f, &f->heap.arena.v[i], (uint64_t)sysconf(_SC_PAGESIZE));
	return 0;
}

/* Return the CPU time of process PID in nanoseconds; 0 if unknown. */
static uint64_t
cpu_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Make a second forecast if the process runs, and so changes its heaps; an idle one is not stopped
 * again.  CPU time that threads need to return to where they waited before the stop does not count.
 */
static void
foresee_again(struct trim *t, const struct trim_options *opt, uint64_t first_ns)
{
	auto_heap struct heap again = { 0 };
	struct forecast *f = &t->forecast;
	struct rss_watch unused = { .t = &t->mt.target };
	uint64_t before_ns;
	struct err ignored;

	os_sleep_ns(PAUSE_NS / 2);
	before_ns = cpu_ns(t->mt.target.pid);
	os_sleep_ns(PAUSE_NS / 2);
	if ((before_ns && cpu_ns(t->mt.target.pid) == before_ns) ||
		trim_forecast_read_lists(&again, t, opt, &unused, &ignored) < 0)
		return;
	f->again_after_ns = os_now_ns() - first_ns;
	for (size_t i = 0; i < again.arena.nr; i++)
		f->again_rss_bytes += again.arena.v[i].trim.rss_bytes;
	f->heap.nr_stops += again.nr_stops;
	f->heap.stopped_ns += again.stopped_ns;
	if (again.longest_stop_ns > f->heap.longest_stop_ns)
		f->heap.longest_stop_ns = again.longest_stop_ns;
}

static bool
has_pages(const struct heap *h)
{
	for (size_t i = 0; i < h->arena.nr; i++)
		if (!h->arena.v[i].has_pages)
			return false;
	return true;
}

int
trim_foresee(struct trim *t, const struct trim_options *opt, struct err *e)
{
	const struct forecast *f = &t->forecast;

	if (trim_forecast_foresee(t, opt, e) < 0)
		return -1;
	if (!has_pages(&f->heap))
		return err_set_kind(e, ERR_PERMISSION, 0,
			"cannot determine which pages of %d (%s) are resident, and so not what trimming it gives back",
			(int)t->mt.target.pid, t->mt.target.comm);
	if (f->nr_approximate)
		warnings_add(&t->warnings, true,
			"approximate: %zu of %zu arenas: a check failed, or threads were at work in them",
			f->nr_approximate, f->heap.arena.nr);
	if (!f->heap.has_uss)
		warnings_add(&t->warnings, true, "cannot determine what other processes share");
	foresee_again(t, opt, os_now_ns());
	return 0;
}

/* ---- --max-lock ---- */

/*
 * True if it cannot take longer than allowed, without reading the heap.  The worst case is a heap
 * of the smallest chunks, half of them free: less than a nanosecond per resident byte
 * (heap/trim.c).
 */
static bool
is_short(const struct trim *t, const struct trim_options *opt)
{
	return t->before.has_arenas &&
		t->before.arenas_bytes + t->before.swap_bytes < opt->max_lock_ns;
}

/*
 * Return the ratio of elapsed time to the forecast, which is CPU time.  A helper runs immediately
 * if memdiag may raise its priority; otherwise it, or a borrowed thread, competes with all threads
 * of this machine.
 */
static double
slowdown(const struct trim *t, const struct trim_options *opt)
{
	struct os_status s;
	struct err e;
	bool is_helper = opt->inject.mode == INJECT_MODE_HELPER ||
		(opt->inject.mode == INJECT_MODE_AUTO && os_status(&t->mt.target, 0, &s, &e) == 0 &&
			s.nr_threads > 1);

	return is_helper && os_may_hurry() ? 1 : os_slowdown();
}

/* Warn in advance that --max-lock may be exceeded. */
static void
warn_of_load(struct trim *t, const struct trim_options *opt)
{
	const double factor = slowdown(t, opt);
	char takes[32], limit[32];

	if ((double)t->forecast.longest_lock_ns * factor > (double)opt->max_lock_ns)
		warnings_add(&t->warnings, false,
			"--max-lock (%s) may not hold: an arena is locked for %s of processor time, and that takes %.1f times as long at the moment, as so many processes wait for a processor",
			ui_duration(opt->max_lock_ns, limit, sizeof limit),
			ui_duration(t->forecast.longest_lock_ns, takes, sizeof takes), factor);
}

int
trim_allow(struct trim *t, const struct trim_options *opt, struct err *e)
{
	const struct forecast *f = &t->forecast;
	char takes[32], limit[32];

	if (is_short(t, opt))
		return 0;
	if (trim_forecast_foresee(t, opt, e) < 0)
		return -1;
	if (f->longest_lock_ns <= opt->max_lock_ns) {
		warn_of_load(t, opt);
		return 0;
	}
	return err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"nothing was done: it would lock an arena of %d (%s) for about %s, and threads that allocate from it would wait. "
		"That is more than --max-lock (%s). "
		"See what it would give back with -n, and choose a quiet hour or a greater --max-lock",
		(int)t->mt.target.pid, t->mt.target.comm,
		ui_duration(f->longest_lock_ns, takes, sizeof takes),
		ui_duration(opt->max_lock_ns, limit, sizeof limit));
}

/* ---- caveats ---- */

struct caveats {
	struct caveat *v;
	size_t nr;
};

static void __attribute__((format(printf, 4, 5)))
trim_forecast_say(struct caveats *c, const char *id, uint64_t bytes, const char *fmt, ...)
{
	struct caveat *caveat = &c->v[c->nr++];
	va_list ap;

	caveat->id = id;
	caveat->bytes = bytes;
	va_start(ap, fmt);
	vsnprintf(caveat->text, sizeof caveat->text, fmt, ap);
	va_end(ap);
}

/*
 * True if a trim at the time of the second forecast would release more or less, by more than one
 * byte in a hundred.
 */
static bool
has_moved(const struct forecast *f)
{
	uint64_t a = f->rss_bytes, b = f->again_rss_bytes;

	return f->again_after_ns && (a > b ? a - b : b - a) > (a > b ? a : b) / 100;
}

size_t
trim_caveats(const struct trim *t, const struct trim_options *opt, struct caveat ret[TRIM_CAVEATS])
{
	const struct forecast *f = &t->forecast;
	const struct ui_options *ui = &opt->ui;
	uint64_t shared = f->heap.has_uss ? f->rss_bytes - f->uss_bytes : 0;
	struct caveats c = { .v = ret };
	char lock[32], limit[32], later[32];

	if (has_moved(f))
		trim_forecast_say(&c, "changing", f->again_rss_bytes,
			"the heap is changing: %s later a trim would return %s. What it returns "
			"is what is free at that moment.",
			ui_duration(f->again_after_ns, later, sizeof later),
			UI_SIZE(ui, f->again_rss_bytes));
	if (f->longest_lock_ns > opt->max_lock_ns)
		trim_forecast_say(&c, "lock", 0,
			"trim would refuse: an arena would be locked for %s, longer than "
			"--max-lock (%s).",
			ui_duration(f->longest_lock_ns, lock, sizeof lock),
			ui_duration(opt->max_lock_ns, limit, sizeof limit));
	if (shared)
		trim_forecast_say(&c, "shared", shared,
			"RSS falls, memory does not: %s of it other processes have as well, since "
			"a fork.",
			UI_SIZE(ui, shared));
	if (f->huge_bytes)
		trim_forecast_say(&c, "huge-pages", f->huge_bytes,
			"%s of it lies on huge pages of which a part stays. RSS falls at once, "
			"but the kernel, and the cgroup, get that memory back only when they run "
			"short of it.",
			UI_SIZE(ui, f->huge_bytes));
	if (f->mlocked_bytes)
		trim_forecast_say(&c, "mlocked", f->mlocked_bytes,
			"%s is free as well, but locked in memory (mlock, mlockall): it stays.",
			UI_SIZE(ui, f->mlocked_bytes));
	if (f->swap_bytes)
		trim_forecast_say(&c, "swapped", f->swap_bytes,
			"%s is freed from swap. Headers of free blocks that are there come back "
			"into memory first, which takes longer than is shown here.",
			UI_SIZE(ui, f->swap_bytes));
	return c.nr;
}

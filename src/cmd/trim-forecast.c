/* What 'memdiag trim' would do, and what is to be said of it. */
#include <config.h>

#include "cmd/trim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <unistd.h>

/* ---- the forecast ---- */

static void
add(struct forecast *f, const struct heap_arena *a, uint64_t page_bytes)
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

/* malloc's lists lead to all that can go back; chunks in use are of no interest. */
static int
foresee(struct trim *t, const struct trim_options *opt, struct err *e)
{
	const struct heap_options how = { .max_stop_ns = opt->max_stop_ns, .want_uss = opt->dry_run,
		.pad_bytes = opt->pad_bytes, .with_tops = opt->tops, .bins_only = true };
	const struct malloc_target *mt = &t->mt;
	struct forecast *f = &t->forecast;

	if (heap_read(&f->heap, &mt->target, &mt->maps, &mt->objects, &how, e) < 0)
		return -1;
	for (size_t i = 0; i < f->heap.arena.nr; i++)
		add(f, &f->heap.arena.v[i], (uint64_t)sysconf(_SC_PAGESIZE));
	return 0;
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

	if (foresee(t, opt, e) < 0)
		return -1;
	if (!has_pages(&f->heap))
		return err_set_kind(e, ERR_PERMISSION, 0,
			"which pages of %d (%s) are resident cannot be told, so neither can be what "
			"trimming it gives back", (int)t->mt.target.pid, t->mt.target.comm);
	if (f->nr_approximate)
		warn(&t->warnings, true,
			"approximate: %zu of %zu arenas, as threads were at work in them",
			f->nr_approximate, f->heap.arena.nr);
	if (!f->heap.has_uss)
		warn(&t->warnings, true, "what other processes share cannot be told");
	return 0;
}

/* ---- --max-lock ---- */

/*
 * Whether it cannot take longer than allowed, by what is known without looking.  Half of a heap
 * of the smallest chunks being free is the worst: less than a nanosecond for a resident byte
 * (heap/trim.c).
 */
static bool
is_short(const struct trim *t, const struct trim_options *opt)
{
	return t->before.has_arenas &&
		t->before.arenas_bytes + t->before.swap_bytes < opt->max_lock_ns;
}

int
trim_allow(struct trim *t, const struct trim_options *opt, struct err *e)
{
	const struct forecast *f = &t->forecast;
	char takes[32], limit[32];

	if (is_short(t, opt))
		return 0;
	if (foresee(t, opt, e) < 0)
		return -1;
	if (f->longest_lock_ns <= opt->max_lock_ns)
		return 0;
	return err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"nothing was done: it would lock an arena of %d (%s) for about %s, and whoever "
		"allocates from it would wait. That is more than --max-lock (%s). See what it would "
		"give back with -n, and choose a quiet hour or a greater --max-lock",
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
say(struct caveats *c, const char *id, uint64_t bytes, const char *fmt, ...)
{
	struct caveat *caveat = &c->v[c->nr++];
	va_list ap;

	caveat->id = id;
	caveat->bytes = bytes;
	va_start(ap, fmt);
	vsnprintf(caveat->text, sizeof caveat->text, fmt, ap);
	va_end(ap);
}

size_t
trim_caveats(const struct trim *t, const struct trim_options *opt, struct caveat ret[TRIM_CAVEATS])
{
	const struct forecast *f = &t->forecast;
	const struct ui_options *ui = &opt->ui;
	uint64_t shared = f->heap.has_uss ? f->rss_bytes - f->uss_bytes : 0;
	struct caveats c = { .v = ret };
	char lock[32], limit[32];

	if (f->longest_lock_ns > opt->max_lock_ns)
		say(&c, "lock", 0,
			"trim would refuse: an arena would be locked for %s, longer than --max-lock "
			"(%s).", ui_duration(f->longest_lock_ns, lock, sizeof lock),
			ui_duration(opt->max_lock_ns, limit, sizeof limit));
	if (shared)
		say(&c, "shared", shared,
			"RSS falls, memory does not: %s of it other processes have as well, since a "
			"fork.", UI_SIZE(ui, shared));
	if (f->huge_bytes)
		say(&c, "huge-pages", f->huge_bytes,
			"%s of it lies on huge pages of which a part stays. RSS falls at once, but the "
			"kernel, and the cgroup, get that memory back only when they run short of it.",
			UI_SIZE(ui, f->huge_bytes));
	if (f->mlocked_bytes)
		say(&c, "mlocked", f->mlocked_bytes,
			"%s is free as well, but locked in memory (mlock, mlockall): it stays.",
			UI_SIZE(ui, f->mlocked_bytes));
	if (f->swap_bytes)
		say(&c, "swapped", f->swap_bytes,
			"%s is freed from swap. Headers of free blocks that are there come back into "
			"memory first, which takes longer than is told here.",
			UI_SIZE(ui, f->swap_bytes));
	return c.nr;
}

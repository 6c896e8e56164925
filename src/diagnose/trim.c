/* The order in which 'memdiag trim' examines a process, and the measurements before and after. */
#include <config.h>

#include "diagnose/trim.h"

#include "account/sums.h"
#include "base/debug.h"
#include "diagnose/trim-forecast.h"
#include "diagnose/trim-jemalloc.h"
#include "diagnose/trim-tops.h"
#include "heap/read.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/status.h"
#include "ui/deadline.h"

/* ---- measuring ---- */

/*
 * Measure.  RSS is read last before the call, and first after it.  Before the call, MT was just
 * read.  NR_MMAPPED is as in struct space_options.
 */
static int
measure_space(struct moment *m, struct space *s, const struct malloc_target *mt,
	uint64_t nr_mmapped, bool is_before, struct err *e)
{
	const struct space_options all = { .process = is_before ? &mt->process : NULL,
		.known = &mt->process,
		.nr_mmapped = nr_mmapped,
		.count_mmapped = malloc_count_mmapped };
	const struct target *t = &mt->target;
	struct os_status status;

	if ((!is_before && os_status(t, 0, &status, e) < 0) || space_read(s, t, &all, e) < 0 ||
		(is_before && os_status(t, 0, &status, e) < 0))
		return -1;
	m->rss_bytes = status.vm_rss_bytes;
	m->swap_bytes = status.vm_swap_bytes;
	m->has_arenas = s->rss_from != SPACE_RSS_NONE && !s->process->arenas_error.kind;
	m->arenas_bytes = space_arena_resident(s, -1);
	return 0;
}

static int
measure_now(struct moment *m, const struct malloc_target *mt, bool is_before, struct err *e)
{
	auto_space struct space s = { 0 };

	return measure_space(m, &s, mt, 0, is_before, e);
}

/* Measure after the call, and compare the result with malloc's account. */
static int
measure_and_check(struct trim *t, struct err *e)
{
	const struct malloc_target *mt = &t->mt;
	auto_heap_mmapped struct heap_mmapped mmapped = { 0 };
	struct check_facts f = { .mmapped = &mmapped, .has_run = true };
	auto_space struct space s = { 0 };
	auto_heap struct heap now = { 0 };
	struct err why;

	if (measure_space(&t->after, &s, mt, t->layout.params.nr_mmaps, false, e) < 0 ||
		heap_mmapped_find(&mmapped, &mt->target, &t->layout, &s, e) < 0)
		return -1;
	if (heap_read_tops(&now, s.process, &why) < 0)
		debug("%s", why.msg);
	for (size_t i = 0; i < now.arena.nr; i++)
		check_facts_add_space_arena(&f, &s, (int32_t)i, now.arena.v[i].system_bytes);
	check_facts_add_space(&f, &s);
	checks_make(&t->checks, &f);
	return 0;
}

static uint64_t
trim_minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

void
trim_measure_again(struct trim *t, const struct trim_options *opt)
{
	const struct moment *after = &t->after, *later = &t->later;
	struct err why;

	os_sleep_ns(opt->recheck_ns);
	if (measure_now(&t->later, &t->mt, false, &why) < 0) {
		warnings_add(&t->warnings, true, "cannot measure again: %s", why.msg);
		return;
	}
	t->has_later = true;
	t->came_back_bytes = after->has_arenas && later->has_arenas
		? trim_minus(later->arenas_bytes, after->arenas_bytes)
		: trim_minus(later->rss_bytes, after->rss_bytes);
}

/* ---- trimming ---- */

/* Release the tops. malloc_trim() succeeded; report that even if this fails. */
static void
try_tops(struct trim *t, const struct trim_options *opt)
{
	struct err why;

	if (trim_tops(t, opt, &why) < 0)
		warnings_add(&t->warnings, true,
			"not all tops of thread arenas were given back: %s", why.msg);
	else if (t->tops.nr_busy)
		warnings_add(&t->warnings, true,
			"the tops of %zu arenas were left: could not take their locks",
			t->tops.nr_busy);
}

/* Find the layout, which only --tops needs. */
static int
trim_find_layout(struct trim *t, const struct trim_options *opt, struct err *e)
{
	struct err why;

	if (malloc_layout_find(&t->layout, &t->mt.process, &why) == 0)
		return 0;
	t->layout = (struct malloc_layout){ 0 };
	if (!opt->tops)
		return 0;
	*e = why;
	return -1;
}

static int
diagnose_trim(struct trim *t, const struct trim_options *opt, struct err *e)
{
	const struct malloc_target *mt = &t->mt;
	struct err ignored; /* a measurement finds them, and before the call they are found again */

	process_find_arenas(&t->mt.process, NULL, &ignored);
	if (measure_now(&t->before, mt, true, e) < 0 || trim_allow(t, opt, e) < 0 ||
		malloc_target_find_arenas(&t->mt, e) < 0 || trim_find_layout(t, opt, e) < 0 ||
		inject_malloc_trim(mt->inject, &mt->process.arenas, &opt->inject, opt->pad_bytes,
			&t->report, e) < 0)
		return -1;
	if (opt->tops)
		try_tops(t, opt);
	if (measure_and_check(t, e) < 0)
		return err_context(e, "malloc_trim was called, but");
	t->released_bytes = trim_minus(t->before.rss_bytes, t->after.rss_bytes);
	return 0;
}

static int
trim_read_moment(struct moment *m, const struct target *t, struct err *e)
{
	struct os_status status;

	if (os_status(t, 0, &status, e) < 0)
		return -1;
	*m = (struct moment){ .rss_bytes = status.vm_rss_bytes,
		.swap_bytes = status.vm_swap_bytes };
	return 0;
}

/* Measure a process with jemalloc, whose arenas in memory are unknown: less can be measured. */
static int
trim_other(struct trim *t, const struct trim_options *opt, struct err *e)
{
	if (trim_read_moment(&t->before, &t->mt.target, e) < 0 || trim_jemalloc(t, opt, e) < 0)
		return -1;
	if (opt->dry_run)
		return 0;
	if (trim_read_moment(&t->after, &t->mt.target, e) < 0)
		return err_context(e, "jemalloc's free pages were given back, but");
	t->released_bytes = trim_minus(t->before.rss_bytes, t->after.rss_bytes);
	return 0;
}

/* Refuse --tops if unsupported, before anything is done or predicted. */
static int
check_tops(struct trim *t, const struct trim_options *opt, struct err *e)
{
	t->has_tops = has_trim_of_tops(&t->mt.process);
	if (!opt->tops || t->has_tops)
		return 0;
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"cannot give back the tops of thread arenas of %d (%s): its libc has no function that waits for an arena's lock, as glibc has since 2.32; "
		"without --tops the rest can be trimmed",
		(int)t->mt.target.pid, t->mt.target.comm);
}

static int
predict(struct trim *t, const struct trim_options *opt, struct err *e)
{
	struct os_status status;

	deadline_set(opt->ui.timeout_ns);
	if (trim_foresee(t, opt, e) < 0 || os_status(&t->mt.target, 0, &status, e) < 0)
		return -1;
	t->before.rss_bytes = status.vm_rss_bytes;
	t->before.swap_bytes = status.vm_swap_bytes;
	return 0;
}

/* ---- the command ---- */

int
trim_or_predict(struct trim *t, const struct trim_options *opt, struct err *e)
{
	if (malloc_target_open(&t->mt, &opt->ui, opt->malloc, false, e) < 0)
		return -1;
	if (t->mt.is_jemalloc)
		return trim_other(t, opt, e);
	if (check_tops(t, opt, e) < 0)
		return -1;
	return opt->dry_run ? predict(t, opt, e) : diagnose_trim(t, opt, e);
}

void
trim_release(struct trim *t)
{
	warnings_release(&t->warnings);
	heap_release(&t->forecast.heap);
	jemalloc_stats_release(&t->jemalloc_before);
	jemalloc_stats_release(&t->jemalloc_after);
	malloc_target_release(&t->mt);
}

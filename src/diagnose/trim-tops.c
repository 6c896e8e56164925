/*
 * Release the tops of thread arenas, which malloc_trim() leaves: malloc lowers them only in free(),
 * if they exceed the trim threshold (heap_trim(), malloc/arena.c).
 */
#include <config.h>

#include "diagnose/trim-tops.h"

#include "base/array.h"
#include "glibc/arenas.h"
#include "heap/heap.h"
#include "heap/trim.h"
#include "inject/malloc.h"

#include <errno.h>
#include <stdlib.h>

struct tops {
	const struct trim *trim;
	struct {
		struct inject_range *v;
		size_t nr, room;
	} range;
};

static int
trim_tops_find(struct tops *tops, struct err *e)
{
	const struct malloc_target *mt = &tops->trim->mt;

	for (size_t i = 0; i < mt->process.arenas.nr; i++) {
		const struct arena *a = &mt->process.arenas.v[i];
		struct inject_range *range;
		struct heap_range pages;

		if (a->is_main ||
			heap_top_pages(&mt->target, &mt->process.maps, &tops->trim->layout, a->addr,
				&pages) < 0)
			continue;
		range = array_add(&tops->range);
		if (!range)
			return err_set(e, ENOMEM, "cannot list the tops of the arenas");
		*range = (struct inject_range){ a->addr, pages.start, pages.end };
	}
	return 0;
}

/*
 * Limit R to the present top of its arena; false if nothing remains.  The arena is locked: no
 * thread uses the bytes in its top.
 */
static bool
trim_tops_is_free(struct inject_range *r, void *arg)
{
	const struct tops *tops = arg;
	const struct malloc_target *mt = &tops->trim->mt;
	struct heap_range now;

	if (heap_top_pages(&mt->target, &mt->process.maps, &tops->trim->layout, r->arena, &now) < 0)
		return false;
	if (r->start.v < now.start.v)
		r->start = now.start;
	if (r->end.v > now.end.v)
		r->end = now.end;
	return r->start.v < r->end.v;
}

int
trim_tops(struct trim *t, const struct trim_options *opt, struct err *e)
{
	struct tops tops = { .trim = t };
	struct inject_discard what = { .is_free = trim_tops_is_free, .arg = &tops };
	struct inject_report report;
	int failed = trim_tops_find(&tops, e);

	what.range = tops.range.v;
	what.nr = t->nr_tops = tops.range.nr;
	if (!failed && what.nr)
		failed = inject_discard(t->mt.inject, &t->mt.process.arenas, &opt->inject, &what,
			&t->tops, &report, e);
	free(tops.range.v);
	return failed;
}

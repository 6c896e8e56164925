/* 'memdiag trim' for a process that uses jemalloc. */
#include <config.h>

#include "diagnose/trim-jemalloc.h"

#include "heap/heap.h"
#include "jemalloc/ask.h"
#include "jemalloc/jemalloc.h"
#include "os/machine.h"

/*
 * The minimum that madvise(MADV_DONTNEED) releases per second: a thread that is held for a purge of
 * 1 GiB returns within --max-lock's 500 ms.
 */
#define BYTES_PER_SECOND (UINT64_C(2) << 30)

static int
trim_jemalloc_check_options(const struct trim *t, const struct trim_options *opt, struct err *e)
{
	const char *what = opt->tops ? "--tops" : opt->pad_bytes ? "--pad" : NULL;

	return !what ? 0
		     : err_set_kind(e, ERR_UNSUPPORTED, 0,
			       "%d (%s) uses jemalloc (%s): %s is for glibc's malloc",
			       (int)t->mt.target.pid, t->mt.target.comm, t->mt.jemalloc.path, what);
}

static int
trim_jemalloc_foresee(struct trim *t, const struct trim_options *opt, struct err *e)
{
	const struct malloc_target *mt = &t->mt;
	const struct jemalloc_stats *now = &t->jemalloc_before;
	struct forecast *f = &t->forecast;

	if (jemalloc_ask(&mt->jemalloc, mt->inject, &opt->inject, &t->jemalloc_before, &t->report,
		    e) < 0)
		return -1;
	if (now->dirty_bytes == JEMALLOC_UNKNOWN || now->muzzy_bytes == JEMALLOC_UNKNOWN)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the jemalloc of %d (%s) does not say how many pages are free",
			(int)mt->target.pid, mt->target.comm);
	f->heap.certainty = HEAP_APPROXIMATE;
	f->rss_bytes = now->dirty_bytes + now->muzzy_bytes;
	f->nr_faults = now->page_bytes ? f->rss_bytes / now->page_bytes : 0;
	return 0;
}

int
trim_jemalloc(struct trim *t, const struct trim_options *opt, struct err *e)
{
	const struct malloc_target *mt = &t->mt;
	/* larger values overflow */
	const uint64_t max_ms = opt->max_lock_ns / 1000000;

	if (trim_jemalloc_check_options(t, opt, e) < 0)
		return -1;
	if (opt->dry_run)
		return trim_jemalloc_foresee(t, opt, e);
	return jemalloc_purge(&mt->jemalloc, mt->inject, &opt->inject,
		max_ms > 1000000 ? UINT64_MAX : max_ms * (BYTES_PER_SECOND / 1000),
		&t->jemalloc_before, &t->jemalloc_after, &t->report, e);
}

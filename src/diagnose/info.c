/*
 * Choose the source of malloc's account for 'memdiag info': malloc_info(), or the heaps themselves.
 */
#include <config.h>

#include <inttypes.h>

#include "diagnose/info.h"

#include "diagnose/info-jemalloc.h"
#include "heap/lists.h"
#include "heap/read.h"
#include "heap/xml.h"
#include "inject/capture.h"
#include "os/claim.h"
#include "ui/deadline.h"
#include "ui/units.h"

static int
ask_malloc(struct info *info, const struct info_options *opt, struct err *e)
{
	const struct inject_report *report = &info->report;

	if (inject_malloc_info(info->mt.inject, &info->mt.process.arenas, &opt->inject, &info->xml,
		    &info->report, e) < 0)
		return -1;
	if (report->is_cut)
		warnings_add(&info->warnings, true,
			"malloc_info's text is longer than there was room for: its end is missing");
	if (report->replayed_bytes)
		warnings_add(&info->warnings, false,
			"%" PRIu64 " bytes that the process wrote to standard error meanwhile were "
			"written to where they belong",
			report->replayed_bytes);
	if (report->nr_left_over)
		warnings_add(&info->warnings, false,
			"a memdiag that was killed had left %zu open file%s in the process: closed now",
			report->nr_left_over, report->nr_left_over == 1 ? "" : "s");
	if (report->nr_children)
		warnings_add(&info->warnings, true,
			"%zu child%s forked meanwhile (one is %d): what they write to standard error goes to a file in memory that nobody reads; "
			"restart them",
			report->nr_children, report->nr_children == 1 ? "" : "ren",
			(int)report->child);
	return 0;
}

/* Read the lists, which contain all free chunks that malloc_info() reports. */
static int
read_heaps(struct info *info, const struct info_options *opt, struct err *e)
{
	const struct malloc_target *mt = &info->mt;
	const struct heap_options how = { .max_stop_ns = mt->traced.kind ? 0 : opt->max_lock_ns,
		.bins_only = true };
	struct heap *h = &info->heap;
	const struct heap_arena *first = NULL;
	size_t nr = 0;

	deadline_set(opt->ui.timeout_ns);
	if (heap_read(h, &mt->process, &how, e) < 0 || heap_write_xml(h, &info->xml, e) < 0)
		return err_context(e, "reading the heaps");
	info->nr_stops = h->nr_stops;
	info->stopped_ns = h->stopped_ns;
	info->longest_stop_ns = h->longest_stop_ns;
	for (size_t i = 0; i < h->arena.nr; i++)
		if (h->arena.v[i].certainty == HEAP_APPROXIMATE && !nr++)
			first = &h->arena.v[i];
	if (nr)
		warnings_add(&info->warnings, true, "approximate: %zu of %zu arenas; arena %u: %s",
			nr, h->arena.nr, first->nr, first->why);
	return 0;
}

/* Choose by the present lengths of the lists; this is only a hint, so it must be cheap. */
static enum info_method
info_choose(struct info *info, const struct info_options *opt)
{
	const struct malloc_target *mt = &info->mt;
	char limit[32];

	if (opt->method != INFO_AUTO)
		return opt->method;
	if (opt->inject.capture == INJECT_CAPTURE_STREAM && !inject_can_copy_stream(mt->inject)) {
		warnings_add(&info->warnings, false,
			"its standard error stream does not look as glibc makes it: malloc_info() was not called, the heaps were read instead");
		return INFO_READ;
	}
	if (!heap_malloc_info_is_slow(&mt->process, opt->max_lock_ns))
		return INFO_INJECT;
	warnings_add(&info->warnings, false,
		"malloc has so many free chunks that malloc_info() could lock an arena for longer than --max-lock (%s): it was not called, the heaps were read instead",
		ui_duration(opt->max_lock_ns, limit, sizeof limit));
	return INFO_READ;
}

/* Read the heaps instead if no thread has moved for this long. */
#define SETTLE_NS 150000000

/*
 * As ask_malloc(), but read the heaps if no thread can be borrowed, the process has no space for a
 * call, another tracer has it, or a call turns out to be impossible (an exiting program makes its
 * streams unbuffered).  The process is not stopped for reading: the obstacle to a call, such as a
 * receive that a stop would interrupt, may also forbid a stop.
 */
static int
ask_or_read(struct info *info, const struct info_options *asked, struct err *e)
{
	struct info_options opt = *asked;
	struct err why;

	opt.inject.settle_ns = SETTLE_NS;
	why = info->mt.traced;
	if (!why.kind && ask_malloc(info, &opt, &why) == 0)
		return 0;
	if (why.kind != ERR_NO_SAFE_POINT && why.kind != ERR_UNSUPPORTED && !info->mt.traced.kind) {
		*e = why;
		return -1;
	}
	warnings_add(&info->warnings, false,
		"the heaps were read, malloc_info() was not called: %s", why.msg);
	info->method = INFO_READ;
	info->report = (struct inject_report){ 0 };
	opt.max_lock_ns = 0;
	return read_heaps(info, &opt, e);
}

/* As ask_malloc(), which needs to trace the process itself. */
static int
ask_untraced(struct info *info, const struct info_options *opt, struct err *e)
{
	if (!info->mt.traced.kind)
		return ask_malloc(info, opt, e);
	*e = info->mt.traced;
	return -1;
}

int
info_ask(struct info *info, const struct info_options *opt, struct err *e)
{
	int failed;

	if (malloc_target_open(&info->mt, &opt->ui, opt->malloc, opt->method != INFO_INJECT, e) <
			0 ||
		(!info->mt.is_jemalloc && malloc_target_find_arenas(&info->mt, e) < 0))
		return -1;
	if (info->mt.is_jemalloc) {
		failed = info_ask_jemalloc(info, opt, e);
		target_unclaim(&info->mt.target);
		return failed;
	}
	info->method = info_choose(info, opt);
	info->is_slow = opt->method == INFO_INJECT &&
		heap_malloc_info_is_slow(&info->mt.process, opt->max_lock_ns);
	if (info->method == INFO_READ)
		failed = read_heaps(info, opt, e);
	else if (opt->method == INFO_AUTO && opt->inject.mode == INJECT_MODE_AUTO &&
		opt->inject.capture == INJECT_CAPTURE_STREAM)
		failed = ask_or_read(info, opt, e);
	else
		failed = ask_untraced(info, opt, e);
	target_unclaim(&info->mt.target);
	return failed;
}

/* Where 'memdiag info' has malloc's account from: malloc_info(), or the heaps themselves. */
#include <config.h>

#include <inttypes.h>

#include "cmd/deadline.h"
#include "cmd/info.h"

static int
ask_malloc(struct info *info, const struct info_options *opt, struct err *e)
{
	const struct inject_report *report = &info->report;

	if (inject_malloc_info(info->mt.inject, &info->mt.arenas, &opt->inject, &info->xml,
		    &info->report, e) < 0)
		return -1;
	if (report->capture != opt->inject.capture)
		warn(&info->warnings, false,
			"its standard error stream does not look as glibc makes it, so what "
			"malloc_info wrote was caught as with --capture=%s",
			info_capture_name[report->capture]);
	if (report->is_cut)
		warn(&info->warnings, true,
			"malloc_info's text is longer than there was room for: its end is missing");
	if (report->replayed_bytes)
		warn(&info->warnings, false,
			"%" PRIu64 " bytes that the process wrote to standard error meanwhile were "
			"written to where they belong",
			report->replayed_bytes);
	return 0;
}

static void
warn_of_rough(struct info *info, const struct heap *h)
{
	size_t nr = 0;

	for (size_t i = 0; i < h->arena.nr; i++)
		nr += h->arena.v[i].certainty == HEAP_APPROXIMATE;
	if (nr)
		warn(&info->warnings, true,
			"approximate: %zu of %zu arenas, which changed while they were read", nr,
			h->arena.nr);
}

/* What malloc_info() says is all in malloc's lists. */
static int
read_heaps(struct info *info, const struct info_options *opt, struct err *e)
{
	const struct heap_options how = { .max_stop_ns = opt->max_lock_ns, .bins_only = true };
	const struct malloc_target *mt = &info->mt;
	struct heap *h = &info->heap;

	deadline_set(opt->ui.timeout_ns);
	if (heap_read(h, &mt->target, &mt->maps, &mt->objects, &how, e) < 0 ||
		heap_write_xml(h, &info->xml, e) < 0)
		return err_context(e, "reading the heaps");
	info->nr_stops = h->nr_stops;
	info->longest_stop_ns = h->longest_stop_ns;
	warn_of_rough(info, h);
	return 0;
}

/* The look is of the lists at the moment, and a hint only: it must cost little. */
static enum info_method
choose(struct info *info, const struct info_options *opt)
{
	const struct malloc_target *mt = &info->mt;
	char limit[32];

	if (opt->method != INFO_AUTO)
		return opt->method;
	if (!heap_is_slow_to_tell(&mt->target, &mt->maps, &mt->arenas, opt->max_lock_ns))
		return INFO_INJECT;
	warn(&info->warnings, false,
		"malloc has so many free chunks that malloc_info() could lock an arena for longer than "
		"--max-lock (%s): it was not called, the heaps were read instead",
		ui_duration(opt->max_lock_ns, limit, sizeof limit));
	return INFO_READ;
}

int
info_ask(struct info *info, const struct info_options *opt, struct err *e)
{
	if (malloc_target_open(&info->mt, opt->ui.pid, e) < 0 ||
		malloc_target_find_arenas(&info->mt, e) < 0)
		return -1;
	info->method = choose(info, opt);
	return info->method == INFO_READ ? read_heaps(info, opt, e) : ask_malloc(info, opt, e);
}

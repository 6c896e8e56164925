/* Find the memory that malloc's account describes, and collect the warnings of 'memdiag info'. */
#include <config.h>

#include "diagnose/info-understand.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "account/sums.h"
#include "base/array.h"
#include "base/text.h"
#include "diagnose/facts.h"
#include "diagnose/info-account.h"
#include "diagnose/info-jemalloc.h"
#include "diagnose/judge.h"
#include "diagnose/verdict.h"
#include "elf/objects.h"
#include "glibc/arena-threads.h"
#include "glibc/layout.h"
#include "heap/read.h"
#include "jemalloc/ask.h"
#include "maps/maps.h"
#include "maps/space.h"

/* Stacks of a running profile that are shown. */
#define TOP_STACKS 3

static int
read_accounted_space(struct info *info, struct err *e)
{
	const struct space_options all = { .known = &info->mt.process,
		/* 0 in old releases, which do not print it */
		.nr_mmapped = info->mi.mmap_count,
		.count_mmapped = malloc_count_mmapped };
	struct space *s = &info->space;
	struct err why;
	const struct object *libc;
	char path[256];

	if (space_read(s, &info->mt.target, &all, e) < 0)
		return -1;
	if (s->rss_from == SPACE_RSS_NONE)
		warnings_add(&info->warnings, true, "cannot determine which pages are resident: %s",
			s->rss_error.msg);
	if (info->mt.is_jemalloc)
		return 0;
	/* Warn if a second libc is loaded, whose memory is not in malloc's account. */
	libc = process_second_libc(info->space.process);
	if (libc)
		warnings_add(&info->warnings, false,
			"a second libc is loaded, %s: what its malloc has is counted as not from malloc",
			text_printable(libc->path, path, sizeof path));
	if (s->process->arenas_error.kind)
		warnings_add(&info->warnings, true, "cannot find the arenas: %s",
			s->process->arenas_error.msg);
	else if (arenas_find_threads(&s->own->arenas, &info->mt.target, &s->threads, &why) < 0)
		warnings_add(&info->warnings, false,
			"cannot determine which threads use which arena: %s", why.msg);
	return 0;
}

/* Refuse an arena that does not exist, and add remarks on the document. */
static int
check_document(struct info *info, const struct info_options *opt, struct err *e)
{
	const struct malloc_info *mi = &info->mi;

	if (opt->arena >= (long)mi->heap.nr)
		return err_set_kind(e, ERR_USAGE, 0, "there is no arena %ld: they go from 0 to %zu",
			opt->arena, mi->heap.nr - 1);
	if (mi->is_cut && !info->report.is_cut)
		warnings_add(&info->warnings, true, "%s", mi->note);
	if (mi->is_unsorted_doubtful)
		warnings_add(&info->warnings, false,
			"this glibc does not count its unsorted chunks right (BZ 16112): they are left out, and in use is too high");
	else if (!mi->has_top_in_rest)
		warnings_add(&info->warnings, false,
			"this glibc (before 2.31) does not count the top of an arena as free: in use is too high by it");
	return 0;
}

int
info_understand(struct info *info, const struct info_options *opt, struct err *e)
{
	struct err why;
	uint64_t bytes;
	char text[32];

	if (info->mt.is_jemalloc)
		return read_accounted_space(info, e) < 0 ? -1
							 : info_understand_jemalloc(info, opt, e);
	if (malloc_info_parse(&info->mi, info->xml.v, info->xml.len, e) < 0)
		return -1;
	if (check_document(info, opt, e) < 0)
		return -1;
	if (read_accounted_space(info, e) < 0 || info_match_arenas(info, e) < 0)
		return -1;
	/* Include the excess of malloc's own account, which is printed for each arena. */
	bytes = space_foreign_sbrk(&info->space);
	if (bytes)
		warnings_add(&info->warnings, false,
			"the program took %s itself with sbrk(), between parts of malloc's heap: malloc counts that as in use in arena 0",
			text_bytes(bytes, text, sizeof text));
	if (info_check(info, e) < 0)
		return -1;
	info_account(info);
	info_judge(info);
	/*
	 * Read the stacks that hold most memory, if a profile is running.  The rest does not depend
	 * on them.
	 */
	if (profile_top_read(&info->top, info->space.process, TOP_STACKS, NULL, &why) < 0)
		warnings_add(&info->warnings, false,
			"cannot read the profile that is being taken: %s", why.msg);
	return 0;
}

/* ---- a saved document ---- */

/* Check the heaps: glibc numbers them from 0, and prints their sum at the end. */
static int
check_heaps(struct info *info, struct err *e)
{
	const struct malloc_info *mi = &info->mi;

	for (size_t i = 0; i < mi->heap.nr; i++)
		if (mi->heap.v[i].nr != i)
			return err_set(e, 0,
				"cannot read %s: heap nr=\"%u\" comes where nr=\"%zu\" belongs",
				info->file, mi->heap.v[i].nr, i);
	if (mi->has_total && mi->total_system_bytes != mi->system_bytes)
		return err_set(e, 0,
			"cannot read %s: its heaps have %" PRIu64 " bytes from the system, and "
			"the sum at its end is %" PRIu64,
			info->file, mi->system_bytes, mi->total_system_bytes);
	return 0;
}

/* Add the rows of the table, and the totals of malloc's account. */
static int
info_understand_add_rows(struct info *info, struct err *e)
{
	struct check_facts f = { 0 };

	for (size_t i = 0; i < info->mi.heap.nr; i++) {
		struct info_arena *row = array_add(&info->arena);

		if (!row)
			return err_set(e, ENOMEM, "cannot list the arenas");
		row->heap = &info->mi.heap.v[i];
		check_facts_add_in_use(&f, malloc_info_in_use(row->heap), row->heap->system_bytes);
	}
	checks_make(&info->checks, &f);
	return 0;
}

int
info_understand_file(struct info *info, const char *name, struct text *xml,
	const struct info_options *opt, struct err *e)
{
	auto_verdict_facts struct verdict_facts f = { 0 };

	info->file = name;
	info->xml = *xml;
	*xml = (struct text){ 0 };
	if (malloc_info_parse(&info->mi, info->xml.v, info->xml.len, e) < 0)
		return err_context(e, "cannot read %s", name);
	if (check_heaps(info, e) < 0 || check_document(info, opt, e) < 0 ||
		info_understand_add_rows(info, e) < 0)
		return -1;
	warnings_add(&info->warnings, false,
		"RSS is unknown: %s is malloc's own account; "
		"free memory may have been given back, so verdicts have upper bounds",
		name);
	verdict_facts_of_account(&f, &info->mi);
	info->nr_verdicts = verdict_judge(&f, info->verdict);
	return 0;
}

void
info_release(struct info *info)
{
	warnings_release(&info->warnings);
	free(info->arena.v);
	jemalloc_stats_release(&info->jemalloc);
	malloc_info_release(&info->mi);
	heap_mmapped_release(&info->mmapped);
	heap_release(&info->heap);
	profile_top_release(&info->top);
	text_release(&info->xml);
	space_release(&info->space);
	malloc_target_release(&info->mt);
}

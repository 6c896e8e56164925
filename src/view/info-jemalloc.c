/* The text and JSON output of 'memdiag info' for a process that uses jemalloc. */
#include <config.h>

#include "view/info-jemalloc.h"

#include "base/cleanup.h"
#include "os/machine.h"
#include "os/status.h"
#include "ui/json.h"
#include "ui/output.h"
#include "ui/table.h"
#include "ui/units.h"
#include "view/borrow-report.h"
#include "view/verdicts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *label;
} account[NR_JEMALLOC_ACCOUNTS] = {
	[JEMALLOC_IN_USE] = { "malloc_in_use", "in use" },
	[JEMALLOC_CACHED] = { "malloc_cached", "cached by threads" },
	[JEMALLOC_BETWEEN] = { "malloc_fragmented", "free between blocks" },
	[JEMALLOC_DIRTY] = { "malloc_free", "free pages (dirty)" },
	[JEMALLOC_MUZZY] = { "malloc_muzzy", "free pages (muzzy)" },
	[JEMALLOC_METADATA] = { "malloc_metadata", "jemalloc's own" },
	[JEMALLOC_STACKS] = { "stacks", "stacks" },
	[JEMALLOC_OTHER_ANON] = { "other_anonymous", "not from malloc" },
	[JEMALLOC_FILES] = { "files", "program, libraries, files" },
	[JEMALLOC_SHM] = { "shared_memory", "shared memory" },
	[JEMALLOC_KERNEL] = { "kernel", "mapped by the kernel" },
	[JEMALLOC_NOT_RESIDENT] = { "malloc_not_resident", "of these not resident" },
	[JEMALLOC_UNACCOUNTED] = { "unaccounted", "unaccounted" },
};

/*
 * Return the mark for a number that is an upper limit. jemalloc counts pages whether touched or
 * not; if the kernel has fewer resident pages, each number may be too high.
 */
static const char *
info_jemalloc_bound(const struct info *info, int kind)
{
	const int64_t *bytes = info->jemalloc_account;

	if (!bytes[JEMALLOC_NOT_RESIDENT] || kind > JEMALLOC_METADATA)
		return NULL;
	return "at most";
}

/* Write the version number, such as "5.3.0", to BUF and return BUF. */
static const char *
info_jemalloc_version(const struct jemalloc_stats *j, char *buf, size_t size)
{
	snprintf(buf, size, "%.*s", (int)strcspn(j->version, "-"), j->version);
	return buf;
}

/* A number of bytes, "?" if unknown. */
#define SIZE_OR(opt, bytes) ((bytes) == JEMALLOC_UNKNOWN ? "?" : UI_SIZE((opt), (bytes)))

static void
info_jemalloc_print_account(
	const struct info *info, const struct info_options *opt, struct ui_output *out, int kind)
{
	const int64_t bytes = info->jemalloc_account[kind];
	const uint64_t rss = info->space.after.vm_rss_bytes;
	const char *limit = info_jemalloc_bound(info, kind);
	char size[32], bar[64], line[256];
	int width = out->columns > 110 ? 40 : out->columns > 70 ? out->columns - 70 : 0, n;

	if (!bytes)
		return;
	if (kind == JEMALLOC_NOT_RESIDENT || kind == JEMALLOC_UNACCOUNTED)
		ui_size_change(&opt->ui, bytes, size, sizeof size);
	else
		ui_size(&opt->ui, (uint64_t)bytes, size, sizeof size);
	ui_bar(rss && bytes > 0 ? (double)bytes / (double)rss : 0, width, bar, sizeof bar);
	n = snprintf(line, sizeof line, "  %-26s %8s %14s  %s", account[kind].label,
		limit ? limit : "", size, bar);
	while (n > 0 && line[n - 1] == ' ')
		n--;
	fprintf(out->f, "%.*s\n", n, line);
}

static int
info_jemalloc_add_row(struct ui_table *t, const struct ui_options *opt,
	const struct jemalloc_arena *a, struct err *e)
{
	char nr[16], threads[24] = "?";

	snprintf(nr, sizeof nr, "%" PRIu32, a->nr);
	if (a->nr_threads != JEMALLOC_UNKNOWN)
		snprintf(threads, sizeof threads, "%" PRIu64, a->nr_threads);
	return ui_table_add(t, e, nr, threads, SIZE_OR(opt, a->allocated_bytes),
		SIZE_OR(opt, a->active_bytes), SIZE_OR(opt, a->dirty_bytes),
		SIZE_OR(opt, a->muzzy_bytes), SIZE_OR(opt, a->metadata_bytes),
		SIZE_OR(opt, a->mapped_bytes), SIZE_OR(opt, a->retained_bytes), NULL);
}

static uint64_t
info_jemalloc_sort_key(const struct jemalloc_arena *a, enum info_sort by)
{
	switch (by) {
	case INFO_BY_RESIDENT:
		return a->resident_bytes;
	case INFO_BY_SYSTEM:
		return a->mapped_bytes;
	case INFO_BY_IN_USE:
		return a->allocated_bytes;
	case INFO_BY_FREE:
		return a->dirty_bytes + a->muzzy_bytes;
	case INFO_BY_THREADS:
		return a->nr_threads;
	case INFO_BY_NR:
		break;
	}
	return UINT64_MAX - a->nr;
}

static int
info_jemalloc_compare_rows(const void *a, const void *b, void *by)
{
	const struct jemalloc_arena *ra = a, *rb = b;
	const uint64_t ka = info_jemalloc_sort_key(ra, *(enum info_sort *)by);
	const uint64_t kb = info_jemalloc_sort_key(rb, *(enum info_sort *)by);

	if (ka != kb)
		return ka < kb ? 1 : -1;
	return ra->nr < rb->nr ? -1 : ra->nr > rb->nr;
}

static int
info_jemalloc_print_arenas(const struct info *info, const struct info_options *opt,
	struct ui_output *out, struct err *e)
{
	static const char *const column[] = { "ARENA", "THREADS", "ALLOCATED", "ACTIVE", "DIRTY",
		"MUZZY", "OWN", "MAPPED", "RETAINED" };
	const struct jemalloc_stats *j = &info->jemalloc;
	auto_table struct ui_table *t = ui_table_new(out);
	auto_free struct jemalloc_arena *row = malloc((j->nr_arenas + 1) * sizeof *row);
	enum info_sort by = opt->sort;
	size_t shown = 0;

	if (!t || !row)
		return err_set(e, ENOMEM, "cannot list the arenas");
	if (j->nr_arenas)
		memcpy(row, j->arena, j->nr_arenas * sizeof *row);
	qsort_r(row, j->nr_arenas, sizeof *row, info_jemalloc_compare_rows, &by);
	for (size_t i = 0; i < sizeof column / sizeof *column; i++)
		if (ui_table_column(t, column[i], true, e) < 0)
			return -1;
	for (size_t i = 0; i < j->nr_arenas && (!opt->max_rows || shown < opt->max_rows); i++) {
		if (opt->arena >= 0 && row[i].nr != opt->arena)
			continue;
		if (info_jemalloc_add_row(t, &opt->ui, &row[i], e) < 0)
			return -1;
		shown++;
	}
	fputc('\n', out->f);
	if (ui_table_print(t, e) < 0)
		return -1;
	if (opt->arena < 0 && shown < j->nr_arenas)
		ui_print_more(out->f, j->nr_arenas - shown);
	return 0;
}

int
info_print_jemalloc(const struct info *info, const struct info_options *opt, struct ui_output *out,
	struct err *e)
{
	char how[80];
	const struct os_status *status = &info->space.after;
	char version[64];

	info_jemalloc_version(&info->jemalloc, version, sizeof version);
	fprintf(out->f, "%s %d (jemalloc%s%s, %d CPUs)  RSS %s  swap %s  VIRT %s\n",
		info->mt.target.comm, (int)info->mt.target.pid, *version ? " " : "", version,
		os_nr_cpus(), UI_SIZE(&opt->ui, status->vm_rss_bytes),
		UI_SIZE(&opt->ui, status->vm_swap_bytes), UI_SIZE(&opt->ui, status->vm_size_bytes));
	for (int kind = 0; kind < NR_JEMALLOC_ACCOUNTS; kind++)
		info_jemalloc_print_account(info, opt, out, kind);
	if (info_jemalloc_print_arenas(info, opt, out, e) < 0)
		return -1;
	verdicts_print(out, info->verdict, info->nr_verdicts);
	if (opt->ui.verbose)
		ui_note(&opt->ui, "%s", borrow_report_text(&info->report, how, sizeof how));
	return 0;
}

/* ---- JSON ---- */

/* Return null if N is unknown. */
static json_t *
info_jemalloc_number(uint64_t n)
{
	return n == JEMALLOC_UNKNOWN ? json_null() : ui_json_number(n);
}

json_t *
jemalloc_accounting_json(const struct info *info)
{
	json_t *list = json_array();

	for (int kind = 0; kind < NR_JEMALLOC_ACCOUNTS; kind++)
		json_array_append_new(list,
			json_pack("{s:s, s:I, s:s*, s:b}", "kind", account[kind].name, "bytes",
				(json_int_t)info->jemalloc_account[kind], "bound",
				info_jemalloc_bound(info, kind), "approximate", 0));
	return list;
}

static json_t *
info_jemalloc_arena_json(const struct jemalloc_arena *a)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "index",
		(json_int_t)a->nr, "threads", info_jemalloc_number(a->nr_threads),
		"allocated_bytes", info_jemalloc_number(a->allocated_bytes), "cached_bytes",
		info_jemalloc_number(a->cached_bytes), "active_bytes",
		info_jemalloc_number(a->active_bytes), "dirty_bytes",
		info_jemalloc_number(a->dirty_bytes), "muzzy_bytes",
		info_jemalloc_number(a->muzzy_bytes), "metadata_bytes",
		info_jemalloc_number(a->metadata_bytes), "resident_bytes",
		info_jemalloc_number(a->resident_bytes), "mapped_bytes",
		info_jemalloc_number(a->mapped_bytes), "retained_bytes",
		info_jemalloc_number(a->retained_bytes));
}

static json_t *
info_jemalloc_arenas_json(const struct jemalloc_stats *j, long only)
{
	json_t *list = json_array();

	for (size_t i = 0; i < j->nr_arenas; i++)
		if (only < 0 || j->arena[i].nr == only)
			json_array_append_new(list, info_jemalloc_arena_json(&j->arena[i]));
	return list;
}

static json_t *
decay_json(const struct jemalloc_stats *j, int64_t ms)
{
	return j->has_decay ? json_integer((json_int_t)ms) : json_null();
}

json_t *
jemalloc_json(const struct jemalloc *where, const struct jemalloc_stats *j, long only)
{
	json_t *o = json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"version", j->version, "path", ui_json_text(where->path), "prefix", where->prefix,
		"allocated_bytes", info_jemalloc_number(j->allocated_bytes), "cached_bytes",
		info_jemalloc_number(j->cached_bytes), "active_bytes",
		info_jemalloc_number(j->active_bytes), "dirty_bytes",
		info_jemalloc_number(j->dirty_bytes), "muzzy_bytes",
		info_jemalloc_number(j->muzzy_bytes), "metadata_bytes",
		info_jemalloc_number(j->metadata_bytes), "resident_bytes",
		info_jemalloc_number(j->resident_bytes), "mapped_bytes",
		info_jemalloc_number(j->mapped_bytes), "retained_bytes",
		info_jemalloc_number(j->retained_bytes));

	json_object_set_new(o, "page_bytes", info_jemalloc_number(j->page_bytes));
	json_object_set_new(o, "dirty_decay_ms", decay_json(j, j->dirty_decay_ms));
	json_object_set_new(o, "muzzy_decay_ms", decay_json(j, j->muzzy_decay_ms));
	json_object_set_new(o, "background_thread", json_boolean(j->background_thread == 1));
	json_object_set_new(o, "max_arenas", info_jemalloc_number(j->max_arenas));
	json_object_set_new(o, "arenas_unread", json_integer((json_int_t)j->nr_unread));
	json_object_set_new(o, "is_torn", json_boolean(j->is_torn));
	json_object_set_new(o, "profiling",
		json_pack("{s:b, s:b, s:b}", "built_in", j->has_prof, "enabled", j->is_prof_on,
			"active", j->is_prof_active));
	json_object_set_new(o, "arenas", info_jemalloc_arenas_json(j, only));
	return o;
}

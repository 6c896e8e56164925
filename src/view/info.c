#include <config.h>

#include "view/info.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "glibc/arenas.h"
#include "inject/target.h"
#include "maps/maps.h"
#include "os/machine.h"
#include "os/status.h"
#include "ui/json.h"
#include "ui/output.h"
#include "ui/table.h"
#include "ui/units.h"
#include "view/borrow-report.h"
#include "view/checks.h"
#include "view/durations.h"
#include "view/info-file.h"
#include "view/info-jemalloc.h"
#include "view/top.h"
#include "view/verdicts.h"

#define THREADS_NAMED 3

const char *const info_method_name[NR_INFO_METHODS + 1] = {
	[INFO_AUTO] = "auto",
	[INFO_INJECT] = "inject",
	[INFO_READ] = "read",
};
const char *const info_capture_name[NR_INFO_CAPTURES + 1] = {
	[INJECT_CAPTURE_STREAM] = "stream",
	[INJECT_CAPTURE_FD2] = "fd2",
};

static const struct {
	const char *name, *label;
} account[NR_ACCOUNTS] = {
	[ACCOUNT_IN_USE] = { "malloc_in_use", "in use" },
	[ACCOUNT_FREE] = { "malloc_free", "free inside malloc" },
	[ACCOUNT_MMAPPED] = { "malloc_mmapped", "large blocks" },
	[ACCOUNT_STACKS] = { "stacks", "stacks" },
	[ACCOUNT_OTHER_ANON] = { "other_anonymous", "not from malloc" },
	[ACCOUNT_FILES] = { "files", "program, libraries, files" },
	[ACCOUNT_SHM] = { "shared_memory", "shared memory" },
	[ACCOUNT_KERNEL] = { "kernel", "mapped by the kernel" },
	[ACCOUNT_UNACCOUNTED] = { "unaccounted", "unaccounted" },
};

/* ---- text ---- */

/*
 * Return the mark for numbers that are only bounded by malloc's account and the pages: one of each
 * pair is too high.
 */
static const char *
info_bound(enum account_kind kind, const struct account *a)
{
	switch (kind) {
	case ACCOUNT_IN_USE:
		return a->bytes[ACCOUNT_FREE] ? "at most" : NULL;
	case ACCOUNT_FREE:
		return "at least";
	case ACCOUNT_MMAPPED:
		return a->unlocated_bytes ? "at most" : NULL;
	case ACCOUNT_OTHER_ANON:
		return a->unlocated_bytes ? "at least" : NULL;
	default:
		return NULL;
	}
}

/* True if a failed check shows that the number may be neither exact nor a bound. */
static bool
is_account_rough(const struct info *info, enum account_kind kind)
{
	const struct checks *c = &info->checks;
	bool rough = c->is_rough;

	switch (kind) {
	case ACCOUNT_IN_USE:
	case ACCOUNT_FREE:
		for (size_t i = 0; i < info->arena.nr; i++)
			rough |= info->arena.v[i].is_rough;
		return rough;
	case ACCOUNT_MMAPPED:
	case ACCOUNT_OTHER_ANON:
		return c->is_mmapped_rough;
	default:
		return false;
	}
}

static void
info_print_header(const struct info *info, const struct info_options *opt, FILE *f)
{
	const struct os_status *status = &info->space.after;
	const char *version = inject_libc_version(info->mt.inject);

	fprintf(f, "%s %d (glibc%s%s, %d CPUs)  RSS %s  swap %s  VIRT %s\n", info->mt.target.comm,
		(int)info->mt.target.pid, *version ? " " : "", version, os_nr_cpus(),
		UI_SIZE(&opt->ui, status->vm_rss_bytes), UI_SIZE(&opt->ui, status->vm_swap_bytes),
		UI_SIZE(&opt->ui, status->vm_size_bytes));
}

/* Return the number of objects that use the memory, "" if it adds no information. */
static const char *
count_text(const struct info *info, enum account_kind kind, char *buf, size_t size)
{
	static const char *const one[NR_ACCOUNTS] = { [ACCOUNT_IN_USE] = "arena",
		[ACCOUNT_MMAPPED] = "block",
		[ACCOUNT_STACKS] = "thread",
		[ACCOUNT_OTHER_ANON] = "piece" };
	const uint64_t count[NR_ACCOUNTS] = { [ACCOUNT_IN_USE] = info->mi.heap.nr,
		[ACCOUNT_MMAPPED] = info->mi.mmap_count,
		[ACCOUNT_STACKS] = (uint64_t)info->space.after.nr_threads,
		[ACCOUNT_OTHER_ANON] = info->account.nr_other };

	*buf = '\0';
	if (one[kind])
		snprintf(buf, size, "%" PRIu64 " %s%s", count[kind], one[kind],
			count[kind] == 1 ? "" : "s");
	return buf;
}

static void
info_print_account(const struct info *info, const struct info_options *opt, struct ui_output *out,
	enum account_kind kind)
{
	const struct account *a = &info->account;
	uint64_t rss = info->space.after.vm_rss_bytes;
	char size[32], count[48], bar[64], line[256];
	int width = out->columns > 110 ? 40 : out->columns > 70 ? out->columns - 70 : 0;
	int n;

	if (!a->bytes[kind])
		return;
	/* This one may be negative, if RSS fell during the reading. */
	if (kind == ACCOUNT_UNACCOUNTED)
		ui_size_change(&opt->ui, a->bytes[kind], size, sizeof size);
	else
		ui_size(&opt->ui, (uint64_t)a->bytes[kind], size, sizeof size);
	ui_bar(rss ? (double)a->bytes[kind] / (double)rss : 0, width, bar, sizeof bar);
	count_text(info, kind, count, sizeof count);
	n = snprintf(line, sizeof line, "  %-26s %8s %14s  %-12s %s", account[kind].label,
		info_bound(kind, a) ? info_bound(kind, a) : "",
		UI_MARK(size, is_account_rough(info, kind)), count, bar);
	while (n > 0 && line[n - 1] == ' ')
		n--;
	fprintf(out->f, "%.*s\n", n, line);
}

/* Write "3: main, worker-1, worker-7", or only the number of threads. */
static void
threads_text(const struct info *info, const struct arena *a, char *buf, size_t size)
{
	char name[64];
	size_t len;

	snprintf(buf, size, "%zu", a->nr_tids);
	if (a->nr_tids > THREADS_NAMED)
		return;
	for (size_t i = 0; i < a->nr_tids; i++) {
		len = strlen(buf);
		snprintf(buf + len, size - len, "%s%s", i ? ", " : ": ",
			os_thread_name(&info->mt.target, a->tid[i], name, sizeof name));
	}
}

/*
 * Return the number of heaps.  The main arena is one heap, the program break; glibc counts the
 * heaps of other arenas since 2.27.
 */
static uint64_t
nr_heaps(const struct info_arena *row)
{
	if (row->heap->nr_subheaps)
		return row->heap->nr_subheaps;
	return row->arena && row->arena->nr_heaps ? row->arena->nr_heaps : 1;
}

static int
info_add_row(struct ui_table *t, const struct info *info, const struct ui_options *opt,
	const struct info_arena *row, struct err *e)
{
	const struct malloc_info_heap *h = row->heap;
	/* malloc's own account is exact even if the arena was read only roughly. */
	bool lists = info->method == INFO_READ && row->is_rough;
	char nr[16], heaps[24], threads[300] = "?";

	snprintf(nr, sizeof nr, "%u", h->nr);
	snprintf(heaps, sizeof heaps, "%" PRIu64, nr_heaps(row));
	if (row->arena)
		threads_text(info, row->arena, threads, sizeof threads);
	return ui_table_add(t, e, nr, heaps, UI_SIZE(opt, h->system_bytes),
		UI_SIZE(opt, h->max_system_bytes),
		UI_MARK(UI_SIZE(opt, malloc_info_in_use(h)), lists),
		UI_MARK(UI_SIZE(opt, h->fast_bytes), lists),
		UI_MARK(UI_SIZE(opt, h->rest_bytes), lists),
		row->has_resident ? UI_MARK(UI_SIZE(opt, row->resident_bytes), row->is_rough) : "?",
		threads, NULL);
}

static uint64_t
info_sort_key(const struct info_arena *row, enum info_sort by)
{
	switch (by) {
	case INFO_BY_RESIDENT:
		return row->resident_bytes;
	case INFO_BY_SYSTEM:
		return row->heap->system_bytes;
	case INFO_BY_IN_USE:
		return malloc_info_in_use(row->heap);
	case INFO_BY_FREE:
		return row->heap->fast_bytes + row->heap->rest_bytes;
	case INFO_BY_THREADS:
		return row->arena ? row->arena->nr_tids : 0;
	case INFO_BY_NR:
		break;
	}
	return UINT64_MAX - row->heap->nr; /* sort in descending order */
}

static int
info_compare_rows(const void *a, const void *b, void *by)
{
	const struct info_arena *ra = a, *rb = b;
	uint64_t ka = info_sort_key(ra, *(enum info_sort *)by),
		 kb = info_sort_key(rb, *(enum info_sort *)by);

	if (ka != kb)
		return ka < kb ? 1 : -1;
	return ra->heap->nr < rb->heap->nr ? -1 : ra->heap->nr > rb->heap->nr;
}

static int
info_print_arenas(const struct info *info, const struct info_options *opt, struct ui_output *out,
	struct err *e)
{
	static const char *const column[] = { "ARENA", "HEAPS", "SYSTEM", "PEAK", "IN USE", "FAST",
		"REST", "RESIDENT" };
	auto_table struct ui_table *t = ui_table_new(out);
	size_t nr = info->arena.nr, shown = 0;
	auto_free struct info_arena *row = malloc(nr * sizeof *row);
	enum info_sort by = opt->sort;

	if (!t || !row)
		return err_set(e, ENOMEM, "cannot list the arenas");
	memcpy(row, info->arena.v, nr * sizeof *row);
	qsort_r(row, nr, sizeof *row, info_compare_rows, &by);
	for (size_t i = 0; i < sizeof column / sizeof *column; i++)
		if (ui_table_column(t, column[i], true, e) < 0)
			return -1;
	if (ui_table_column(t, "THREADS", false, e) < 0)
		return -1;
	for (size_t i = 0; i < nr && (!opt->max_rows || shown < opt->max_rows); i++) {
		if (opt->arena >= 0 && row[i].heap->nr != opt->arena)
			continue;
		if (info_add_row(t, info, &opt->ui, &row[i], e) < 0)
			return -1;
		shown++;
	}
	fputc('\n', out->f);
	if (ui_table_print(t, e) < 0)
		return -1;
	if (opt->arena < 0 && shown < nr)
		ui_print_more(out->f, nr - shown);
	return 0;
}

static const char *
bin_name(const struct malloc_info_size *s)
{
	return s->is_unsorted ? "unsorted" : s->is_fast ? "fast" : "sorted";
}

static int
print_sizes(const struct malloc_info_heap *h, const struct ui_options *opt, struct ui_output *out,
	struct err *e)
{
	static const char *const column[] = { "FREE CHUNKS", "FROM", "TO", "TOTAL" };
	auto_table struct ui_table *t = ui_table_new(out);
	char count[24];

	if (!t)
		return err_set(e, ENOMEM, "cannot list the sizes");
	for (size_t i = 0; i < sizeof column / sizeof *column; i++)
		if (ui_table_column(t, column[i], true, e) < 0)
			return -1;
	if (ui_table_column(t, "BIN", false, e) < 0)
		return -1;
	for (size_t i = 0; i < h->size.nr; i++) {
		const struct malloc_info_size *s = &h->size.v[i];

		snprintf(count, sizeof count, "%" PRIu64, s->count);
		if (ui_table_add(t, e, count, UI_SIZE(opt, s->from_bytes),
			    UI_SIZE(opt, s->to_bytes), UI_SIZE(opt, s->total_bytes), bin_name(s),
			    NULL) < 0)
			return -1;
	}
	fputc('\n', out->f);
	return ui_table_print(t, e);
}

static const char *
stop_text(const struct info *info, char *buf, size_t size)
{
	char longest[32];

	if (!info->nr_stops) {
		snprintf(buf, size, "its heaps were read while it ran");
		return buf;
	}
	snprintf(buf, size, "its heaps were read; it was stopped %u times, for %s at most",
		info->nr_stops, ui_duration(info->longest_stop_ns, longest, sizeof longest));
	return buf;
}

int
info_print_text(const struct info *info, const struct info_options *opt, struct ui_output *out,
	struct err *e)
{
	char how[80];
	bool has_rough = false;

	if (info->mt.is_jemalloc)
		return info_print_jemalloc(info, opt, out, e);
	if (info->file) {
		info_print_file_account(info, opt, out->f);
	} else {
		info_print_header(info, opt, out->f);
		for (int kind = 0; kind < NR_ACCOUNTS; kind++)
			info_print_account(info, opt, out, (enum account_kind)kind);
	}
	if (info_print_arenas(info, opt, out, e) < 0)
		return -1;
	if (opt->arena >= 0 && print_sizes(&info->mi.heap.v[opt->arena], &opt->ui, out, e) < 0)
		return -1;
	/* Explain the marks, and list the numbers that do not agree. */
	for (int kind = 0; kind < NR_ACCOUNTS; kind++)
		has_rough |= info->account.bytes[kind] &&
			is_account_rough(info, (enum account_kind)kind);
	if (has_rough)
		fputs("\n" UI_ROUGH_LEGEND, out->f);
	checks_print(&info->checks, out->f);
	top_print(&info->top, &info->mt.target, &opt->ui, out);
	if (info->nr_verdicts || (!info->file && info->space.rss_from != SPACE_RSS_NONE))
		verdicts_print(out, info->verdict, info->nr_verdicts);
	if (opt->ui.verbose && !info->file)
		ui_note(&opt->ui, "%s",
			info->method == INFO_READ
				? stop_text(info, how, sizeof how)
				: borrow_report_text(&info->report, how, sizeof how));
	return 0;
}

/* ---- JSON ---- */

static json_t *
bytes_json(uint64_t bytes)
{
	return ui_json_number(bytes);
}

static json_t *
info_accounting_json(const struct info *info)
{
	const struct account *a = &info->account;
	json_t *list = json_array();

	for (int kind = 0; kind < NR_ACCOUNTS; kind++)
		json_array_append_new(list,
			json_pack("{s:s, s:I, s:s*, s:b}", "kind", account[kind].name, "bytes",
				(json_int_t)a->bytes[kind], "bound",
				info_bound((enum account_kind)kind, a), "approximate",
				is_account_rough(info, (enum account_kind)kind)));
	return list;
}

static json_t *
info_sizes_json(const struct malloc_info_heap *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->size.nr; i++) {
		const struct malloc_info_size *s = &h->size.v[i];

		json_array_append_new(list,
			json_pack("{s:o, s:o, s:o, s:o, s:s}", "from_bytes",
				bytes_json(s->from_bytes), "to_bytes", bytes_json(s->to_bytes),
				"total_bytes", bytes_json(s->total_bytes), "count",
				bytes_json(s->count), "bin", bin_name(s)));
	}
	return list;
}

static json_t *
tids_json(const struct arena *a)
{
	json_t *list = json_array();

	for (size_t i = 0; i < a->nr_tids; i++)
		json_array_append_new(list, json_integer(a->tid[i]));
	return list;
}

static json_t *
info_arena_json(const struct info_arena *row, bool with_sizes)
{
	const struct malloc_info_heap *h = row->heap;
	json_t *o = json_pack("{s:i, s:b, s:I, s:o, s:o, s:o, s:o, s:o}", "index", (int)h->nr,
		"main", h->nr == 0, "heaps", (json_int_t)nr_heaps(row), "system_bytes",
		bytes_json(h->system_bytes), "max_system_bytes", bytes_json(h->max_system_bytes),
		"in_use_bytes", bytes_json(malloc_info_in_use(h)), "fast_bytes",
		bytes_json(h->fast_bytes), "rest_bytes", bytes_json(h->rest_bytes));

	json_object_set_new(o, "approximate", json_boolean(row->is_rough));
	if (row->has_resident)
		json_object_set_new(o, "resident_bytes", bytes_json(row->resident_bytes));
	if (row->arena) {
		json_object_set_new(o, "threads", bytes_json(row->arena->nr_tids));
		json_object_set_new(o, "tids", tids_json(row->arena));
		json_object_set_new(o, "address", ui_json_address(row->arena->addr));
	}
	if (with_sizes)
		json_object_set_new(o, "sizes", info_sizes_json(h));
	return o;
}

static json_t *
info_arenas_json(const struct info *info, const struct info_options *opt)
{
	json_t *list = json_array();

	for (size_t i = 0; i < info->arena.nr; i++) {
		const struct info_arena *row = &info->arena.v[i];

		if (opt->arena < 0 || row->heap->nr == opt->arena)
			json_array_append_new(list, info_arena_json(row, opt->arena >= 0));
	}
	return list;
}

static json_t *
borrowed_json(const struct info *info)
{
	const struct inject_report *r = &info->report;
	json_t *object;

	if (info->method == INFO_READ)
		return json_null();
	object = borrow_report_json(r);
	json_object_set_new(object, "capture", json_string(info_capture_name[r->capture]));
	return object;
}

static json_t *
info_stop_json(const struct info *info)
{
	json_t *o = json_object();

	view_json_set_stop(o, info->nr_stops, info->stopped_ns, info->longest_stop_ns);
	view_json_set_duration(o, "longest", info->longest_stop_ns);
	return o;
}

json_t *
info_to_json(const struct info *info, const struct info_options *opt, struct err *e)
{
	const struct os_status *status = &info->space.after;
	json_t *document, *data;

	if (info->file)
		return info_file_json(info, info_arenas_json(info, opt), e);
	document = ui_json_new("info", &info->mt.target);
	data = json_pack("{s:s, s:i, s:{s:o, s:o, s:o}, s:o, s:o, s:{s:I, s:o}, s:s, s:o, s:o}",
		"libc", inject_libc_version(info->mt.inject), "cpus", os_nr_cpus(), "totals",
		"virt_bytes", bytes_json(status->vm_size_bytes), "rss_bytes",
		bytes_json(status->vm_rss_bytes), "swap_bytes", bytes_json(status->vm_swap_bytes),
		"accounting",
		info->mt.is_jemalloc ? jemalloc_accounting_json(info) : info_accounting_json(info),
		"arenas", info_arenas_json(info, opt), "mmapped", "count",
		(json_int_t)info->mi.mmap_count, "bytes", bytes_json(info->mi.mmap_bytes), "method",
		info_method_name[info->method], "borrow", borrowed_json(info), "stop",
		info_stop_json(info));
	json_object_set_new(data, "profile", top_to_json(&info->top));
	json_object_set_new(data, "arena_count",
		json_integer((json_int_t)(info->mt.is_jemalloc
				? info->jemalloc.nr_arenas + info->jemalloc.nr_unread
				: info->mi.heap.nr)));
	json_object_set_new(
		data, "allocator", json_string(info->mt.is_jemalloc ? "jemalloc" : "glibc"));
	json_object_set_new(data, "jemalloc",
		info->mt.is_jemalloc
			? jemalloc_json(&info->mt.jemalloc, &info->jemalloc, opt->arena)
			: json_null());
	json_object_set_new(data, "checks", checks_json(&info->checks));
	if (json_object_set_new(document, "data", data) < 0 ||
		json_object_set_new(document, "verdicts",
			verdicts_to_json(info->verdict, info->nr_verdicts)) < 0) {
		json_decref(document);
		err_set(e, ENOMEM, "cannot write JSON");
		return NULL;
	}
	warnings_to_json(&info->warnings, document);
	return document;
}

/* ---- XML ---- */

/* Write the document unchanged to a program; to a terminal, without control characters. */
void
info_print_xml(const struct info *info, const struct ui_output *out)
{
	const struct text *xml = &info->xml;
	/* Line ends before a saved document. */
	const size_t before = info->file ? strspn(xml->v, "\n") : 0;
	char piece[1000], printable[4 * sizeof piece];

	if (!out->is_terminal) {
		fwrite(xml->v + before, 1, xml->len - before, out->f);
		return;
	}
	for (size_t at = before, n; at < xml->len; at += n) {
		n = strcspn(xml->v + at, "\n"); /* or a NUL; the text ends with a newline */
		if (n > sizeof piece - 1)
			n = sizeof piece - 1;
		memcpy(piece, xml->v + at, n);
		piece[n] = '\0';
		fputs(text_printable(piece, printable, sizeof printable), out->f);
		if (xml->v[at + n] == '\n' || !xml->v[at + n]) {
			fputc('\n', out->f);
			n++;
		}
	}
}

/* The JSON output of 'memdiag heap'. */
#include <config.h>

#include "view/heap-json.h"

#include "account/totals.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "heap/arena.h"
#include "heap/heap.h"
#include "heap/pages.h"
#include "heap/walk.h"
#include "maps/maps.h"
#include "os/status.h"
#include "ui/json.h"
#include "view/checks.h"
#include "view/durations.h"
#include "view/verdicts.h"

#include <errno.h>

static json_t *
bytes(uint64_t n)
{
	return ui_json_number(n);
}

static void
heap_json_set(json_t *to, const char *key, uint64_t n)
{
	json_object_set_new(to, key, bytes(n));
}

/* Set N, or null if not IS_KNOWN. */
static void
set_known(json_t *to, const char *key, uint64_t n, bool is_known)
{
	json_object_set_new(to, key, is_known ? bytes(n) : json_null());
}

static json_t *
chunk_json(const struct heap_chunk *c)
{
	return json_pack(
		"{s:o, s:o}", "address", ui_json_address(c->addr), "bytes", bytes(c->bytes));
}

static json_t *
pages_json(const uint64_t page_bytes[NR_HEAP_PAGE_CLASSES])
{
	json_t *o = json_object();
	char key[64];

	for (int c = 0; c < NR_HEAP_PAGE_CLASSES; c++) {
		snprintf(
			key, sizeof key, "%s_bytes", heap_page_class_name((enum heap_page_class)c));
		for (char *p = key; *p; p++)
			if (*p == '-' || *p == ' ')
				*p = '_';
		heap_json_set(o, key, page_bytes[c]);
	}
	return o;
}

static json_t *
heap_json_accounting_json(const uint64_t account_bytes[NR_HEAP_ACCOUNTS])
{
	json_t *list = json_array();

	for (int i = 0; i < NR_HEAP_ACCOUNTS; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:o}", "kind", heap_account_name((enum heap_account)i),
				"bytes", bytes(account_bytes[i])));
	return list;
}

/* ---- one arena ---- */

/* List the heaps.  Without a walk, the chunk that pins a heap is unknown. */
static json_t *
heaps_json(const struct heap_arena *a)
{
	json_t *list = json_array();

	for (size_t i = 0; i < a->segment.nr; i++) {
		const struct heap_segment *s = &a->segment.v[i];

		json_array_append_new(list,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "start",
				ui_json_address(s->start), "end", ui_json_address(s->end),
				"in_use_bytes", bytes(s->in_use.bytes), "free_bytes",
				bytes(s->free.bytes), "last_in_use",
				s->last_in_use.bytes ? chunk_json(&s->last_in_use) : json_null(),
				"free_below_bytes",
				a->is_by_lists ? json_null() : bytes(s->below_bytes)));
	}
	return list;
}

static json_t *
largest_json(const struct heap_arena *a)
{
	json_t *list = json_array();

	for (int i = 0; i < HEAP_NR_LARGEST && a->largest[i].bytes; i++)
		json_array_append_new(list, chunk_json(&a->largest[i]));
	return list;
}

/* Return the bytes that malloc_trim() would release, and the time it would lock the arena. */
static json_t *
trim_json(const struct heap_arena *a)
{
	json_t *o = json_object();

	heap_json_set(o, "rss_bytes", a->trim.rss_bytes);
	heap_json_set(o, "uss_bytes", a->trim.uss_bytes);
	heap_json_set(o, "swap_bytes", a->trim.swap_bytes);
	heap_json_set(o, "ranges", a->trim.range.nr);
	view_json_set_duration(o, "lock", a->trim.lock_ns);
	return o;
}

static void
set_pages(json_t *o, const struct heap_arena *a)
{
	uint64_t account[NR_HEAP_ACCOUNTS];

	heap_arena_accounts(a, account);
	heap_json_set(o, "resident_bytes", a->resident_bytes);
	heap_json_set(o, "swapped_bytes", a->swapped_bytes);
	heap_json_set(o, "live_resident_bytes", a->live_resident_bytes);
	heap_json_set(o, "stranded_bytes", a->stranded_bytes);
	heap_json_set(o, "foreign_sbrk_resident_bytes", a->foreign.resident_bytes);
	json_object_set_new(o, "fragmentation", json_real(heap_arena_fragmentation(a)));
	json_object_set_new(o, "pages", pages_json(a->page_bytes));
	json_object_set_new(o, "accounting", heap_json_accounting_json(account));
	json_object_set_new(o, "trim", trim_json(a));
}

static json_t *
heap_json_arena_json(const struct heap *h, const struct heap_arena *a)
{
	int threads = heap_arena_threads(h, a);
	json_t *o = json_pack("{s:i, s:b, s:o, s:s, s:s?}", "index", (int)a->nr, "main", a->is_main,
		"address", ui_json_address(a->addr), "certainty", heap_certainty_name(a->certainty),
		"why", *a->why ? a->why : NULL);

	json_object_set_new(o, "threads", threads < 0 ? json_null() : json_integer(threads));
	json_object_set_new(o, "contiguous", json_boolean(a->is_contiguous));
	json_object_set_new(o, "hugetlb", json_boolean(a->is_hugetlb));
	heap_json_set(o, "system_bytes", a->system_bytes);
	heap_json_set(o, "found_bytes", a->found_bytes);
	heap_json_set(o, "max_system_bytes", a->max_system_bytes);
	heap_json_set(o, "mprotect_bytes", a->mprotect_bytes);
	heap_json_set(o, "in_use_bytes", heap_arena_in_use(a));
	if (!a->is_by_lists)
		heap_json_set(o, "in_use_chunks", a->in_use.count - a->cached.count);
	set_known(o, "cached_bytes", a->cached.bytes, h->knows_caches);
	set_known(o, "cached_chunks", a->cached.count, h->knows_caches);
	heap_json_set(o, "fast_bytes", a->fast.bytes);
	heap_json_set(o, "fast_chunks", a->fast.count);
	heap_json_set(o, "binned_bytes", a->binned.bytes);
	heap_json_set(o, "binned_chunks", a->binned.count);
	heap_json_set(o, "top_bytes", a->top.bytes);
	heap_json_set(o, "overhead_bytes", a->overhead_bytes);
	heap_json_set(o, "foreign_sbrk_bytes", a->foreign.bytes);
	if (a->has_pages)
		set_pages(o, a);
	json_object_set_new(o, "heaps", heaps_json(a));
	json_object_set_new(o, "largest_free", largest_json(a));
	return o;
}

/* ---- the parts of the document ---- */

static json_t *
layout_json(const struct malloc_layout *l)
{
	const struct malloc_params *p = &l->params;
	json_t *params = json_object(), *o;

	heap_json_set(params, "trim_threshold_bytes", p->trim_threshold);
	heap_json_set(params, "top_pad_bytes", p->top_pad);
	heap_json_set(params, "mmap_threshold_bytes", p->mmap_threshold);
	heap_json_set(params, "arena_test", p->arena_test);
	heap_json_set(params, "arena_max", p->arena_max);
	heap_json_set(params, "tcache_count", p->tcache_count);
	heap_json_set(params, "tcache_max_bytes", p->tcache_max);
	heap_json_set(params, "mmaps_max", p->nr_mmaps_max);
	json_object_set_new(params, "thresholds_fixed", json_boolean(p->no_dyn_threshold));
	o = json_pack("{s:s, s:i, s:s}", "era", l->era, "word_bytes", (int)l->word_bytes,
		"found_by", l->found_by);
	json_object_set_new(o, "parameters", l->mp.v ? params : json_null());
	if (!l->mp.v)
		json_decref(params);
	return o;
}

static json_t *
totals_json(const struct heap_totals *t, bool knows_caches)
{
	json_t *o = json_object();

	heap_json_set(o, "system_bytes", t->system_bytes);
	heap_json_set(o, "in_use_bytes", t->in_use_bytes);
	set_known(o, "cached_bytes", t->cached_bytes, knows_caches);
	heap_json_set(o, "free_bytes", t->free_bytes);
	heap_json_set(o, "top_bytes", t->top_bytes);
	heap_json_set(o, "foreign_sbrk_bytes", t->foreign_bytes);
	if (!t->has_pages)
		return o;
	heap_json_set(o, "resident_bytes", t->resident_bytes);
	heap_json_set(o, "swapped_bytes", t->swapped_bytes);
	json_object_set_new(o, "pages", pages_json(t->page_bytes));
	return o;
}

static json_t *
heap_json_arenas_json(const struct heap *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->arena.nr; i++)
		json_array_append_new(list, heap_json_arena_json(h, &h->arena.v[i]));
	return list;
}

static json_t *
heap_json_sizes_json(const struct heap *h, bool has_used)
{
	json_t *list = json_array();

	for (unsigned int c = 0; c < HEAP_NR_SIZES; c++) {
		struct heap_sum used, free;
		json_t *o;

		heap_size_sums(h, c, &used, &free);
		if (!used.count && !free.count)
			continue;
		o = json_pack("{s:o, s:o}", "from_bytes", bytes(heap_size_from(c)), "to_bytes",
			c + 1 < HEAP_NR_SIZES ? bytes(heap_size_from(c + 1) - 1) : json_null());
		if (has_used) {
			heap_json_set(o, "in_use_chunks", used.count);
			heap_json_set(o, "in_use_bytes", used.bytes);
		}
		heap_json_set(o, "free_chunks", free.count);
		heap_json_set(o, "free_bytes", free.bytes);
		json_array_append_new(list, o);
	}
	return list;
}

/* Return null if the threads' arenas and caches are unknown. */
static json_t *
heap_json_threads_json(const struct heap_report *r)
{
	json_t *list = r->h->thread.nr ? json_array() : json_null();

	for (size_t i = 0; i < r->h->thread.nr; i++) {
		const struct heap_thread *t = &r->h->thread.v[i];
		const struct heap_arena *a = heap_arena_at(r->h, t->arena);
		json_t *o = json_object();
		char name[64];

		json_object_set_new(o, "tid", t->tid ? json_integer(t->tid) : json_null());
		json_object_set_new(o, "name",
			t->tid ? ui_json_text(os_thread_name(r->t, t->tid, name, sizeof name))
			       : json_null());
		json_object_set_new(o, "arena", a ? bytes(a->nr) : json_null());
		set_known(o, "cached_chunks", t->cached.count, r->h->knows_caches);
		set_known(o, "cached_bytes", t->cached.bytes, r->h->knows_caches);
		json_array_append_new(list, o);
	}
	return list;
}

/*
 * Count and bytes come from malloc, minus what glibc 2.43 counts in excess
 * (malloc_is_all_mmapped()).
 */
static json_t *
mmapped_json(const struct heap_mmapped *m)
{
	json_t *o = json_object(), *list = json_array();

	set_known(o, "count", m->account.count, m->has_account);
	set_known(o, "bytes", m->account.bytes, m->has_account);
	if (!m->is_listed) {
		json_decref(list);
		return o;
	}
	for (size_t i = 0; i < m->chunk.nr; i++) {
		const struct leaf *c = &m->chunk.v[i];
		json_t *chunk = json_object();

		json_object_set_new(chunk, "start", ui_json_address(c->start));
		heap_json_set(chunk, "bytes", c->end.v - c->start.v);
		set_known(chunk, "resident_bytes", c->rss_bytes, m->has_pages);
		set_known(chunk, "swapped_bytes", c->swap_bytes, m->has_pages);
		json_array_append_new(list, chunk);
	}
	heap_json_set(o, "found_count", m->chunk.nr);
	heap_json_set(o, "found_bytes", m->bytes);
	set_known(o, "resident_bytes", m->resident_bytes, m->has_pages);
	set_known(o, "swapped_bytes", m->swapped_bytes, m->has_pages);
	json_object_set_new(
		o, "agrees", m->has_account ? json_boolean(heap_mmapped_agrees(m)) : json_null());
	json_object_set_new(o, "chunks", list);
	return o;
}

static json_t *
heap_json_stop_json(const struct heap *h)
{
	json_t *o = json_object();

	view_json_set_stop(o, h->nr_stops, h->stopped_ns, h->longest_stop_ns);
	heap_json_set(o, "looks", h->nr_looks);
	/* the names used by memdiag 0.1 */
	heap_json_set(o, "times", h->nr_stops);
	heap_json_set(o, "stopped_us", h->stopped_ns / 1000);
	heap_json_set(o, "longest_us", h->longest_stop_ns / 1000);
	return o;
}

static void
set_heap(json_t *data, const struct heap_report *r)
{
	const struct heap *h = r->h;
	struct heap_totals totals;

	heap_totals(&totals, h);
	json_object_set_new(data, "certainty", json_string(heap_certainty_name(h->certainty)));
	json_object_set_new(data, "layout", layout_json(&h->layout));
	json_object_set_new(data, "resident_at_least", json_boolean(h->is_resident_least));
	json_object_set_new(data, "totals", totals_json(&totals, h->knows_caches));
	if (totals.has_pages)
		json_object_set_new(
			data, "accounting", heap_json_accounting_json(totals.account_bytes));
	json_object_set_new(data, "mmapped", mmapped_json(r->mmapped));
	json_object_set_new(data, "arenas", heap_json_arenas_json(h));
	heap_json_set(data, "arena_count", h->arena.nr);
	json_object_set_new(data, "sizes", heap_json_sizes_json(h, !totals.nr_by_lists));
	json_object_set_new(data, "threads", heap_json_threads_json(r));
	heap_json_set(data, "threads_with_unknown_cache", h->nr_unknown_caches);
	json_object_set_new(data, "stop", heap_json_stop_json(h));
	json_object_set_new(data, "checks", checks_json(r->checks));
	json_object_set_new(data, "chunks", bytes(h->nr_chunks));
	json_object_set_new(data, "read_bytes", bytes(h->read_bytes));
}

/* Describe the arenas without their layout, which is unknown. */
static void
set_headers(json_t *data, const struct arenas *as)
{
	json_t *list = json_array();

	for (size_t i = 0; i < as->nr; i++) {
		const struct arena *a = &as->v[i];
		json_t *o = json_pack("{s:i, s:b, s:o, s:s, s:o}", "index", (int)i, "main",
			a->is_main, "address", ui_json_address(a->addr), "certainty",
			heap_certainty_name(HEAP_APPROXIMATE), "threads", bytes(a->nr_tids));
		uint64_t size = 0;

		for (size_t k = 0; k < a->nr_heaps; k++)
			size += a->heap[k].size_bytes;
		if (!a->is_main)
			heap_json_set(o, "system_bytes", size);
		json_array_append_new(list, o);
	}
	json_object_set_new(data, "certainty", json_string(heap_certainty_name(HEAP_APPROXIMATE)));
	json_object_set_new(data, "layout", json_null());
	json_object_set_new(data, "arenas", list);
	heap_json_set(data, "arena_count", as->nr);
}

json_t *
heap_to_json(const struct heap_report *report, struct err *e)
{
	json_t *document = ui_json_new("heap", report->t);
	json_t *data = json_object_get(document, "data");

	if (!data) {
		err_set(e, ENOMEM, "cannot write JSON");
		return NULL;
	}
	if (report->core)
		json_object_set_new(data, "core", ui_json_string(report->core));
	if (report->arenas)
		set_headers(data, report->arenas);
	else
		set_heap(data, report);
	json_object_set_new(
		document, "verdicts", verdicts_to_json(report->verdict, report->nr_verdicts));
	warnings_to_json(report->warnings, document);
	return document;
}

#include <config.h>

#include "account/totals.h"

static uint64_t
totals_minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

const char *
heap_account_name(enum heap_account kind)
{
	static const char *const name[NR_HEAP_ACCOUNTS] = {
		[HEAP_IN_USE] = "in_use",
		[HEAP_TRIMMABLE] = "free_trimmable",
		[HEAP_STRANDED] = "free_stranded",
		[HEAP_TOPS] = "free_thread_tops",
		[HEAP_MAIN_TOP] = "free_main_top",
		[HEAP_BEHIND] = "behind_heaps",
		[HEAP_KEPT] = "cached_and_headers",
	};

	return name[kind];
}

void
heap_arena_accounts(const struct heap_arena *a, uint64_t ret_bytes[NR_HEAP_ACCOUNTS])
{
	uint64_t known = 0;

	ret_bytes[HEAP_IN_USE] = a->live_resident_bytes;
	ret_bytes[HEAP_TRIMMABLE] = a->page_bytes[HEAP_PAGE_TRIMMABLE];
	ret_bytes[HEAP_STRANDED] = a->stranded_bytes;
	ret_bytes[HEAP_TOPS] = a->is_main ? 0 : a->page_bytes[HEAP_PAGE_TOP];
	ret_bytes[HEAP_MAIN_TOP] = a->is_main ? a->page_bytes[HEAP_PAGE_TOP] : 0;
	ret_bytes[HEAP_BEHIND] = a->page_bytes[HEAP_PAGE_BEHIND];
	for (int i = 0; i < HEAP_KEPT; i++)
		known += ret_bytes[i];
	ret_bytes[HEAP_KEPT] = totals_minus(a->resident_bytes, known);
}

uint64_t
heap_arena_in_use(const struct heap_arena *a)
{
	return totals_minus(a->in_use.bytes, a->cached.bytes);
}

bool
heap_arena_is_rough(const struct heap_arena *a)
{
	return a->certainty == HEAP_APPROXIMATE || a->has_neighbours;
}

static void
totals_add_pages(struct heap_totals *t, const struct heap_arena *a)
{
	uint64_t account[NR_HEAP_ACCOUNTS];

	heap_arena_accounts(a, account);
	for (int i = 0; i < NR_HEAP_ACCOUNTS; i++)
		t->account_bytes[i] += account[i];
	for (int i = 0; i < NR_HEAP_PAGE_CLASSES; i++)
		t->page_bytes[i] += a->page_bytes[i];
	t->resident_bytes += a->resident_bytes;
	t->swapped_bytes += a->swapped_bytes;
	t->foreign_resident_bytes += a->foreign.resident_bytes;
	t->nr_trimmable += a->page_bytes[HEAP_PAGE_TRIMMABLE] != 0;
}

void
heap_totals(struct heap_totals *ret, const struct heap *h)
{
	struct heap_totals t = { .has_pages = true };

	for (size_t i = 0; i < h->arena.nr; i++)
		t.has_pages &= h->arena.v[i].has_pages;
	for (size_t i = 0; i < h->arena.nr; i++) {
		const struct heap_arena *a = &h->arena.v[i];

		t.system_bytes += a->system_bytes;
		t.in_use_bytes += heap_arena_in_use(a);
		t.cached_bytes += a->cached.bytes;
		t.free_bytes += a->fast.bytes + a->binned.bytes;
		t.top_bytes += a->top.bytes;
		t.foreign_bytes += a->foreign.bytes;
		t.mprotect_bytes += a->mprotect_bytes;
		t.nr_approximate += a->certainty == HEAP_APPROXIMATE;
		t.nr_by_lists += a->is_by_lists;
		if (t.has_pages)
			totals_add_pages(&t, a);
	}
	*ret = t;
}

double
heap_arena_fragmentation(const struct heap_arena *a)
{
	return a->resident_bytes ? (double)totals_minus(a->resident_bytes, a->live_resident_bytes) /
			(double)a->resident_bytes
				 : 0;
}

void
heap_size_sums(const struct heap *h, unsigned int size_class, struct heap_sum *ret_used,
	struct heap_sum *ret_free)
{
	struct heap_sum used = { 0 }, free = { 0 };

	for (size_t i = 0; i < h->arena.nr; i++) {
		used.count += h->arena.v[i].used_size[size_class].count;
		used.bytes += h->arena.v[i].used_size[size_class].bytes;
		free.count += h->arena.v[i].free_size[size_class].count;
		free.bytes += h->arena.v[i].free_size[size_class].bytes;
	}
	*ret_used = used;
	*ret_free = free;
}

const struct heap_arena *
heap_arena_at(const struct heap *h, raddr addr)
{
	for (size_t i = 0; i < h->arena.nr; i++)
		if (h->arena.v[i].addr.v == addr.v)
			return &h->arena.v[i];
	return NULL;
}

int
heap_arena_threads(const struct heap *h, const struct heap_arena *a)
{
	int nr = 0;

	if (a->attached >= 0)
		return a->attached;
	for (size_t i = 0; i < h->thread.nr; i++)
		nr += h->thread.v[i].arena.v == a->addr.v;
	return h->thread.nr ? nr : -1;
}

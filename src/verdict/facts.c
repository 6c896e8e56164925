/* From what was read to the numbers that causes are judged by. */
#include <config.h>

#include "verdict/verdict-priv.h"

#include <unistd.h>

#include "heap/heap.h"
#include "maps/maps.h"
#include "os/os.h"

/* What keeps less than that from going back is not worth a name. */
#define PINNED_MIN (UINT64_C(16) << 20)

/* The links at the start of a free chunk, which are never given back. */
#define LINKS_BYTES 48

static uint64_t
minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- the address space ---- */

static void
add_leaf(struct verdict_facts *f, const struct leaf *leaf)
{
	enum group group = leaf_kind_group((enum leaf_kind)leaf->kind);
	uint64_t size = leaf->end.v - leaf->start.v;

	if (group == GROUP_RESERVE || leaf->kind == LEAF_ARENA_RESERVE)
		f->reserve_bytes += size;
	if (group == GROUP_RESERVE || group == GROUP_ANON)
		f->other_anon_rss_bytes += leaf->rss_bytes;
	if (group == GROUP_STACK) {
		f->stack_virt_bytes += size;
		f->stack_rss_bytes += leaf->rss_bytes;
		f->nr_thread_stacks += leaf->kind == LEAF_THREAD_STACK;
	}
	f->huge_bytes += leaf->huge_bytes;
	if (group == GROUP_HEAP)
		f->heap_huge_bytes += leaf->huge_bytes;
	if (leaf->kind == LEAF_CHUNK)
		f->mmap_bytes += leaf->rss_bytes;
	else if (group == GROUP_HEAP)
		f->arena_resident_bytes += leaf->rss_bytes;
}

/*
 * malloc tells how many bytes it has mapped block by block.  What was not recognised among the
 * mappings, or lies in the middle of one, is some of the anonymous memory that nobody owns.
 */
static void
add_unlocated(struct verdict_facts *f, const struct space *s, uint64_t mmapped_bytes)
{
	uint64_t located = 0, missing;

	for (size_t i = 0; i < s->leaves.nr; i++)
		if (s->leaves.v[i].kind == LEAF_CHUNK)
			located += s->leaves.v[i].end.v - s->leaves.v[i].start.v;
	missing = least(minus(mmapped_bytes, located), f->other_anon_rss_bytes);
	f->other_anon_rss_bytes -= missing;
	f->mmap_bytes += missing;
}

/* Of an arena in pieces: what lies next to one may have been taken for more of it. */
static uint64_t
pieces_resident(const struct heap_arena *a)
{
	return least(a->resident_bytes, a->system_bytes);
}

static bool
is_main_arena(const struct leaf *leaf)
{
	return leaf->kind == LEAF_MAIN_HEAP || leaf->kind == LEAF_MAIN_PIECE;
}

/* A piece that mmap() gave the main arena is not always told from anybody's memory (maps/pieces.c). */
static void
add_pieces(struct verdict_facts *f, const struct space *s, const struct heap_arena *a)
{
	uint64_t located = 0, missing;

	for (size_t i = 0; i < s->leaves.nr; i++)
		if (is_main_arena(&s->leaves.v[i]))
			located += s->leaves.v[i].rss_bytes;
	missing = least(minus(pieces_resident(a), located), f->other_anon_rss_bytes);
	f->other_anon_rss_bytes -= missing;
	f->arena_resident_bytes += missing;
}

static void
add_space(struct verdict_facts *f, const struct space *s, const struct heap *h)
{
	uint64_t sum = 0;

	f->virt_bytes = s->after.vm_size_bytes;
	f->rss_bytes = s->after.vm_rss_bytes;
	f->swap_bytes = s->after.vm_swap_bytes;
	f->locked_bytes = s->after.vm_locked_bytes;
	f->hugetlb_bytes = s->after.hugetlb_bytes;
	for (size_t i = 0; i < s->leaves.nr; i++) {
		add_leaf(f, &s->leaves.v[i]);
		sum += s->leaves.v[i].rss_bytes;
	}
	f->unaccounted_bytes = minus(f->rss_bytes, sum);
	add_unlocated(f, s, h->layout.params.mmapped);
	if (f->is_main_in_pieces)
		add_pieces(f, s, &h->arena.v[0]);
}

/* ---- the heaps ---- */

/* The chunk that ends a heap, with much that is free right below it. */
static void
add_pins(struct verdict_facts *f, const struct heap_arena *a, uint64_t *largest)
{
	for (size_t i = 0; i < a->segment.nr; i++) {
		const struct heap_segment *seg = &a->segment.v[i];

		if (!seg->last_in_use.bytes || seg->below_bytes < PINNED_MIN)
			continue;
		f->pinned_bytes += seg->below_bytes;
		if (seg->below_bytes <= *largest)
			continue;
		*largest = seg->below_bytes;
		f->pin.addr = seg->last_in_use.addr;
		f->pin.bytes = seg->last_in_use.bytes;
	}
}

/* What is trimmable is not told by size: the large chunks' share of it is at most all of it. */
static uint64_t
large_bytes(const struct heap_arena *a)
{
	uint64_t bytes = a->is_main ? a->top.bytes : 0;

	for (unsigned int c = heap_size_class(MALLOC_DEFAULT_THRESHOLD); c < HEAP_NR_SIZES; c++)
		bytes += a->free_size[c].bytes;
	return least(bytes, a->trim.rss_bytes);
}

static bool
is_orphan(const struct heap_arena *a)
{
	return !a->is_main && a->attached == 0;
}

/* An arena all of whose pages were told. */
static void
add_pages(struct verdict_facts *f, const struct heap_arena *a)
{
	f->trimmable_bytes += a->trim.rss_bytes;
	f->mlocked_bytes += a->trim.mlocked_bytes;
	/* What is locked is on pages of its own all the same. */
	f->stranded_bytes += minus(a->stranded_bytes, a->trim.mlocked_bytes);
	f->mixed_bytes += minus(a->page_bytes[HEAP_PAGE_MIXED], a->trim.mlocked_bytes);
	f->large_bytes += large_bytes(a);
	f->main_bytes += a->is_main ? a->trim.rss_bytes : 0;
	f->orphan_bytes += is_orphan(a) ? a->trim.rss_bytes : 0;
	f->shared_bytes += minus(a->trim.rss_bytes, a->trim.uss_bytes);
	f->returned_bytes += a->page_bytes[HEAP_PAGE_RETURNED];
	f->free_swap_bytes += a->trim.swap_bytes;
}

static void
add_arena(struct verdict_facts *f, const struct heap_arena *a, uint64_t *largest_pin)
{
	f->nr_orphans += is_orphan(a);
	f->is_main_in_pieces |= a->is_main && !a->is_contiguous;
	*(a->is_main ? &f->main_top_bytes : &f->top_bytes) += a->page_bytes[HEAP_PAGE_TOP];
	if (a->certainty == HEAP_APPROXIMATE || !a->has_pages) {
		f->is_bound = true;
		return;
	}
	f->free_bytes += a->fast.bytes + a->binned.bytes + a->top.bytes;
	add_pages(f, a);
	add_pins(f, a, largest_pin);
}

static void
add_heap(struct verdict_facts *f, const struct heap *h)
{
	const struct heap_params *p = &h->layout.params;
	uint64_t largest_pin = 0;

	f->has_malloc = h->arena.nr;
	f->nr_arenas = h->arena.nr;
	f->nr_mmaps = p->nr_mmaps;
	f->nr_mmaps_max = p->nr_mmaps_max;
	f->mmap_threshold = p->mmap_threshold;
	f->trim_threshold = p->trim_threshold;
	f->no_dyn_threshold = p->no_dyn_threshold;
	f->hp_page = p->hp_page;
	f->has_shared = h->has_uss;
	for (size_t i = 0; i < h->arena.nr; i++)
		add_arena(f, &h->arena.v[i], &largest_pin);
	for (size_t i = 0; i < h->thread.nr; i++) {
		f->cached_bytes += h->thread.v[i].cached.bytes;
		f->nr_caches += h->thread.v[i].cached.bytes != 0;
	}
	if (!f->has_shared)
		f->shared_bytes = 0;
}

/* ---- all of it ---- */

void
verdict_facts_gather(struct verdict_facts *f, const struct target *t, const struct space *space,
	const struct heap *heap)
{
	struct err e;

	*f = (struct verdict_facts){
		.pid = t->pid, .is_core = t->core, .nr_cpus = os_nr_cpus() };
	add_heap(f, heap);
	if (space) {
		add_space(f, space, heap);
	} else {
		for (size_t i = 0; i < heap->arena.nr; i++)
			f->arena_resident_bytes += heap->arena.v[i].resident_bytes;
		f->rss_bytes = f->arena_resident_bytes;
	}
	if (t->core)
		return;
	/* Settings can be told of all the same if it cannot be read. */
	os_proc_read(t, 0, "environ", &f->environment, &e);
	os_cgroup_memory(t, &f->cgroup_limit_bytes, &f->cgroup_used_bytes);
}

/* Free chunks that have no whole page inside, and those that would have had a mapping. */
static void
sum_sizes(const struct malloc_info_heap *account, uint64_t *small, uint64_t *large)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < account->size.nr; i++) {
		const struct malloc_info_size *s = &account->size.v[i];

		if (s->to_bytes < page_bytes + LINKS_BYTES)
			*small += s->total_bytes;
		if (s->from_bytes >= MALLOC_DEFAULT_THRESHOLD)
			*large += s->total_bytes;
	}
}

void
verdict_facts_add_account(struct verdict_facts *f, const struct malloc_info_heap *account,
	const struct heap_arena *arena, uint64_t resident_bytes)
{
	uint64_t free = account->fast_bytes + account->rest_bytes, small = 0, large = 0;
	uint64_t resident, stranded, trimmable;

	/* A main arena in pieces has more than a look at the mappings shows. */
	if (arena && pieces_resident(arena) > resident_bytes)
		resident_bytes = pieces_resident(arena);
	resident = minus(malloc_info_free_resident(account, resident_bytes),
		arena ? arena->page_bytes[HEAP_PAGE_TOP] : 0);
	sum_sizes(account, &small, &large);
	if (arena && arena->is_main)
		large += arena->top.bytes;
	stranded = least(small, resident);
	trimmable = resident - stranded;
	f->is_bound = true;
	f->free_bytes += free;
	f->returned_bytes += minus(free, resident_bytes);
	f->stranded_bytes += stranded;
	f->mixed_bytes += stranded ? minus(resident_bytes, trimmable) : 0;
	f->trimmable_bytes += trimmable;
	f->large_bytes += least(large, trimmable);
	f->main_bytes += arena && arena->is_main ? trimmable : 0;
	f->orphan_bytes += arena && is_orphan(arena) ? trimmable : 0;
}

void
verdict_facts_release(struct verdict_facts *f)
{
	text_release(&f->environment);
}

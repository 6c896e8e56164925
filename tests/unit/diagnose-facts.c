/* Facts from heaps that were read, without chunks, with malloc's own account, and from mappings. */
#include <config.h>

#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "diagnose/facts.h"
#include "diagnose/judge.h"
#include "diagnose/verdict.h"
#include "glibc/layout.h"
#include "heap/heap.h"
#include "heap/malloc-info.h"
#include "heap/walk.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "os/os.h"
#include "tap.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

static struct target target = TARGET_NONE;

static struct heap_arena *
add_arena(struct heap *h)
{
	struct heap_arena *a = array_add(&h->arena);

	a->nr = (unsigned int)h->arena.nr - 1;
	a->is_main = !a->nr;
	a->is_contiguous = true;
	a->attached = 1;
	a->certainty = HEAP_EXACT;
	a->has_pages = true;
	return a;
}

static void
heap_free(struct heap *h)
{
	for (size_t i = 0; i < h->arena.nr; i++)
		free(h->arena.v[i].segment.v);
	free(h->arena.v);
	free(h->thread.v);
}

static void
add_leaf(struct space *s, enum leaf_kind kind, uint64_t size, uint64_t rss)
{
	struct leaf *leaf = array_add(&s->leaves);
	uint64_t start = s->leaves.nr << 40;

	*leaf = (struct leaf){ .start = { start },
		.end = { start + size },
		.kind = (uint8_t)kind,
		.rss_bytes = rss,
		.arena = -1 };
	s->after.vm_rss_bytes += rss;
}

/* An arena with pages of every class. */
static struct heap_arena *
add_mixed_arena(struct heap *h, uint64_t scale)
{
	struct heap_arena *a = add_arena(h);

	a->fast.bytes = scale;
	a->binned.bytes = 2 * scale;
	a->top.bytes = 4 * scale;
	a->stranded_bytes = 8 * scale;
	a->trim.rss_bytes = 16 * scale;
	a->trim.uss_bytes = 15 * scale;
	a->trim.swap_bytes = 32 * scale;
	a->page_bytes[HEAP_PAGE_MIXED] = 64 * scale;
	a->page_bytes[HEAP_PAGE_RETURNED] = 128 * scale;
	a->page_bytes[HEAP_PAGE_TOP] = 256 * scale;
	a->resident_bytes = 512 * scale;
	return a;
}

static void
test_heap(void)
{
	struct heap h = { .has_uss = true };
	struct verdict_facts f;

	add_mixed_arena(&h, MIB);
	add_mixed_arena(&h, KIB)->attached = 0;
	verdict_facts_gather(&f, &target, NULL, &h);
	ok(f.has_malloc && !f.is_bound, "heaps that were read are no bounds");
	is_u64(f.nr_arenas, 2, "arenas");
	is_u64(f.nr_orphans, 1, "one without a thread");
	is_u64(f.free_bytes, 7 * (MIB + KIB), "free by malloc's count");
	is_u64(f.trimmable_bytes, 16 * (MIB + KIB), "trimmable");
	is_u64(f.main_bytes, 16 * MIB, "of which in the main arena");
	is_u64(f.orphan_bytes, 16 * KIB, "and in the orphan");
	is_u64(f.shared_bytes, MIB + KIB, "and shared");
	is_u64(f.stranded_bytes, 8 * (MIB + KIB), "stranded");
	is_u64(f.mixed_bytes, 64 * (MIB + KIB), "on pages of that size");
	is_u64(f.top_bytes, 256 * KIB, "tops of thread arenas");
	is_u64(f.main_top_bytes, 256 * MIB, "and of the main one");
	is_u64(f.returned_bytes, 128 * (MIB + KIB), "given back");
	is_u64(f.free_swap_bytes, 32 * (MIB + KIB), "in swap");
	is_u64(f.rss_bytes, 512 * (MIB + KIB), "without mappings, RSS is what arenas have");
	verdict_facts_release(&f);

	h.arena.v[1].certainty = HEAP_APPROXIMATE;
	h.has_uss = false;
	verdict_facts_gather(&f, &target, NULL, &h);
	ok(f.is_bound, "with one that is approximate they are bounds");
	is_u64(f.trimmable_bytes, 16 * MIB, "of what is sure");
	ok(!f.has_shared && !f.shared_bytes, "what is shared is not guessed");
	verdict_facts_release(&f);
	heap_free(&h);
}

static void
add_segment(struct heap_arena *a, uint64_t at, uint64_t bytes, uint64_t below)
{
	*array_add(&a->segment) =
		(struct heap_segment){ .last_in_use = { { at }, bytes }, .below_bytes = below };
}

static void
test_chunks(void)
{
	struct heap h = { 0 };
	struct heap_arena *a = add_arena(&h);
	struct verdict_facts f;

	add_segment(a, 1, 64, 20 * MIB);
	add_segment(a, 2, 96, 30 * MIB);
	add_segment(a, 3, 48, 15 * MIB);
	add_segment(a, 4, 0, 40 * MIB);
	a->trim.rss_bytes = 50 * MIB;
	a->free_size[heap_size_class(64 * KIB)].bytes = 7 * MIB;
	a->free_size[heap_size_class(128 * KIB)].bytes = 10 * MIB;
	a->free_size[heap_size_class(MIB)].bytes = 20 * MIB;
	a->top.bytes = MIB;
	*array_add(&h.thread) = (struct heap_thread){ .cached = { 3, 200 } };
	*array_add(&h.thread) = (struct heap_thread){ .cached = { 0, 0 } };
	*array_add(&h.thread) = (struct heap_thread){ .cached = { 1, 100 } };
	verdict_facts_gather(&f, &target, NULL, &h);
	is_u64(f.pinned_bytes, 50 * MIB, "below chunks that end a heap, where it is much");
	is_u64(f.pin.addr.v, 2, "the one with most below it");
	is_u64(f.pin.bytes, 96, "and its size");
	is_u64(f.large_bytes, 31 * MIB, "in large chunks and the main top");
	is_u64(f.cached_bytes, 300, "cached");
	is_u64(f.nr_caches, 2, "by two threads");
	verdict_facts_release(&f);

	a->is_main = false;
	a->trim.rss_bytes = 5 * MIB;
	verdict_facts_gather(&f, &target, NULL, &h);
	is_u64(f.large_bytes, 5 * MIB, "no more than can be trimmed");
	verdict_facts_release(&f);

	a->trim.mlocked_bytes = 6 * MIB;
	a->stranded_bytes = 8 * MIB;
	verdict_facts_gather(&f, &target, NULL, &h);
	is_u64(f.mlocked_bytes, 6 * MIB, "free and locked");
	is_u64(f.stranded_bytes, 2 * MIB, "is not stranded");
	verdict_facts_release(&f);
	heap_free(&h);
}

static void
test_space(void)
{
	struct heap h = { .layout.params.mmapped = 30 * MIB };
	struct heap_arena *a = add_arena(&h);
	const struct process none = { .maps.nr = 0 };
	struct space s = { .process = &none };
	struct verdict_facts f;

	add_leaf(&s, LEAF_MAIN_HEAP, 100 * MIB, 90 * MIB);
	add_leaf(&s, LEAF_CHUNK, 20 * MIB, 15 * MIB);
	add_leaf(&s, LEAF_ANON_LARGE, 50 * MIB, 40 * MIB);
	add_leaf(&s, LEAF_THREAD_STACK, 8 * MIB, 2 * MIB);
	add_leaf(&s, LEAF_RESERVE, 300 * MIB, 0);
	add_leaf(&s, LEAF_ARENA_RESERVE, 60 * MIB, 0);
	s.after.vm_rss_bytes += 3 * MIB;
	s.after.vm_locked_bytes = 11 * MIB;
	verdict_facts_gather(&f, &target, &s, &h);
	is_u64(f.arena_resident_bytes, 90 * MIB, "arenas");
	is_u64(f.mmap_bytes, 25 * MIB, "large blocks, also those that were not recognised");
	is_u64(f.other_anon_rss_bytes, 30 * MIB, "which are not others' memory then");
	is_u64(f.stack_rss_bytes, 2 * MIB, "stacks");
	is_u64(f.nr_thread_stacks, 1, "of one thread");
	is_u64(f.reserve_bytes, 360 * MIB, "reserve");
	is_u64(f.unaccounted_bytes, 3 * MIB, "what was not seen");
	is_u64(f.locked_bytes, 11 * MIB, "locked");
	verdict_facts_release(&f);

	h.layout = (struct malloc_layout){
		.first = 43, .word_bytes = 8, .params = { .nr_mmaps = 1, .mmapped = 20 * MIB + 320 }
	};
	verdict_facts_gather(&f, &target, &s, &h);
	is_u64(f.mmap_bytes, 15 * MIB, "large blocks without what glibc 2.43 counts too much");
	is_u64(f.other_anon_rss_bytes, 40 * MIB, "which is not taken from others' memory");
	verdict_facts_release(&f);
	h.layout = (struct malloc_layout){ .params.mmapped = 30 * MIB };

	/* malloc took 60 of brk's 90 MiB: the rest is the program's. */
	a->system_bytes = 60 * MIB;
	verdict_facts_gather(&f, &target, &s, &h);
	is_u64(f.arena_resident_bytes, 60 * MIB, "arenas have no more than malloc took");
	is_u64(f.sbrk_bytes, 30 * MIB, "the rest of brk is the program's");
	is_u64(f.other_anon_rss_bytes, 60 * MIB, "and others' memory");
	verdict_facts_release(&f);

	a->is_contiguous = false;
	a->resident_bytes = 110 * MIB;
	a->system_bytes = 105 * MIB;
	verdict_facts_gather(&f, &target, &s, &h);
	ok(f.is_main_in_pieces, "the main arena in pieces");
	is_u64(f.arena_resident_bytes, 105 * MIB,
		"has more than brk's, but no more than all of it");
	is_u64(f.other_anon_rss_bytes, 15 * MIB, "and that is not others' memory");
	verdict_facts_release(&f);

	add_leaf(&s, LEAF_MAIN_PIECE, 10 * MIB, 10 * MIB);
	verdict_facts_gather(&f, &target, &s, &h);
	is_u64(f.arena_resident_bytes, 105 * MIB, "a piece that was found is part of that");
	is_u64(f.other_anon_rss_bytes, 25 * MIB, "and not missing from what is others'");
	verdict_facts_release(&f);
	free(s.leaves.v);
	heap_free(&h);
}

/* Memory that is neither malloc's nor plain anonymous memory. */
static void
test_kinds(void)
{
	struct heap h = { 0 };
	const struct process none = { .maps.nr = 0 };
	struct space s = { .process = &none };
	struct verdict_facts f;

	add_leaf(&s, LEAF_RESERVE, 300 * MIB, 100 * MIB);
	add_leaf(&s, LEAF_JAVA_HEAP, 50 * MIB, 40 * MIB);
	add_leaf(&s, LEAF_SHM_SYSV, 9 * MIB, 3 * MIB);
	add_leaf(&s, LEAF_SHM_MEMFD, 9 * MIB, 5 * MIB);
	add_leaf(&s, LEAF_SHM_JAVA, 3 * MIB, 2 * MIB);
	add_leaf(&s, LEAF_SHM_ANON, 9 * MIB, 7 * MIB);
	add_leaf(&s, LEAF_FILE_PRIVATE, 90 * MIB, 60 * MIB);
	add_leaf(&s, LEAF_FILE_SHARED, 90 * MIB, 20 * MIB);
	add_leaf(&s, LEAF_EXE_BSS, 90 * MIB, 30 * MIB);
	add_leaf(&s, LEAF_EXE_TEXT, 9 * MIB, 9 * MIB);
	for (size_t i = 0; i < s.leaves.nr; i++)
		s.leaves.v[i].huge_bytes = 2 * MIB;
	/* All that has no file, and 45 MiB of the private file. */
	s.after.rss_anon_bytes = (100 + 40 + 30 + 45) * MIB;
	s.after.vm_pte_bytes = 4 * MIB;
	verdict_facts_gather(&f, &target, &s, &h);
	is_u64(f.reserve_bytes, 200 * MIB, "what is resident is no mere address space");
	is_u64(f.forbidden_bytes, 100 * MIB, "though nobody may access it");
	is_u64(f.other_anon_rss_bytes, 140 * MIB, "it is memory like the other");
	is_u64(f.java_bytes, 40 * MIB, "of which Java's");
	is_u64(f.sysv_bytes, 3 * MIB, "System V");
	is_u64(f.memfd_bytes, 5 * MIB, "memfd");
	is_u64(f.java_shm_bytes, 2 * MIB, "Java's heap in shared memory");
	is_u64(f.other_shm_bytes, 7 * MIB, "other shared memory");
	is_u64(f.file_bytes, 80 * MIB, "files");
	is_u64(f.changed_file_bytes, 45 * MIB, "of which changed copies");
	is_u64(f.static_bytes, 30 * MIB, "static variables");
	is_u64(f.page_table_bytes, 4 * MIB, "page tables");
	is_u64(f.huge_bytes, 14 * MIB, "huge pages, but for those of files and code");
	is_u64(f.java_huge_bytes, 2 * MIB, "of which Java's");
	verdict_facts_release(&f);
	free(s.leaves.v);
}

static struct verdict_pages
resident(uint64_t bytes)
{
	return (struct verdict_pages){ .resident_bytes = bytes };
}

static void
test_account(void)
{
	struct malloc_info_size sizes[] = {
		{ .from_bytes = 33, .to_bytes = 1024, .total_bytes = 3 * MIB, .count = 1 },
		{ .from_bytes = 4000, .to_bytes = 4200, .total_bytes = 5 * MIB, .count = 1 },
		{ .from_bytes = 200 * KIB, .to_bytes = MIB, .total_bytes = 20 * MIB, .count = 1 },
	};
	struct malloc_info_heap account = { .system_bytes = 100 * MIB, .rest_bytes = 60 * MIB };
	struct heap h = { 0 };
	struct heap_arena *a = add_arena(&h);
	struct verdict_facts f = { 0 };
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t large = 18 * MIB - 2 * (page_bytes - 1) - 48;

	if (page_bytes != 4096)
		sizes[0].to_bytes = sizes[1].to_bytes = 1024;
	account.size.v = sizes;
	account.size.nr = 3;
	/*
	 * 2 MiB are not resident, and may be of any free chunk; of each large one less than two
	 * pages stay.
	 */
	verdict_facts_add_account(&f, &account, NULL, resident(98 * MIB));
	ok(f.is_bound, "an account has bounds");
	is_u64(f.free_bytes, 60 * MIB, "free");
	is_u64(f.stranded_bytes, MIB, "in chunks that hold no page");
	is_u64(f.trimmable_bytes, large, "whole pages of large ones can be trimmed");
	is_u64(f.large_bytes, large, "of it large");
	is_u64(f.orphan_bytes, 0, "of an arena that is not known");
	is_u64(f.returned_bytes, 0, "and nothing surely given back");
	verdict_facts_add_account(&f, &account, NULL, resident(10 * MIB));
	is_u64(f.trimmable_bytes, large, "another has nothing that is surely resident");
	is_u64(f.returned_bytes, 50 * MIB, "but what cannot be");

	f = (struct verdict_facts){ 0 };
	a->is_main = false;
	a->attached = 0;
	a->page_bytes[HEAP_PAGE_TOP] = 30 * MIB;
	verdict_facts_add_account(&f, &account, a, resident(98 * MIB));
	is_u64(f.trimmable_bytes, large, "the top of a thread arena does not count");
	is_u64(f.orphan_bytes, large, "in an arena without a thread");

	f = (struct verdict_facts){ 0 };
	a->is_main = a->is_contiguous = true;
	a->top.bytes = 16 * MIB;
	verdict_facts_add_account(&f, &account, a, resident(98 * MIB));
	is_u64(f.trimmable_bytes, large + 16 * MIB - 2 * page_bytes,
		"that of the main arena goes back");
	heap_free(&h);
}

/* 400 MiB, nearly all in one free chunk: 148 of them resident, 252 in swap. */
static void
test_swapped_account(void)
{
	struct malloc_info_size sizes[] = {
		{ .from_bytes = 399 * MIB,
			.to_bytes = 399 * MIB,
			.total_bytes = 399 * MIB,
			.count = 1 },
	};
	struct malloc_info_heap account = { .system_bytes = 400 * MIB, .rest_bytes = 399 * MIB };
	struct verdict_pages pages = { 148 * MIB, 252 * MIB };
	struct heap h = { 0 };
	struct heap_arena *a = add_arena(&h);
	struct verdict_facts f;
	uint64_t lost = MIB + 48 + 2 * ((uint64_t)sysconf(_SC_PAGESIZE) - 1);

	account.size.v = sizes;
	account.size.nr = 1;
	a->certainty = HEAP_APPROXIMATE;
	a->resident_bytes = pages.resident_bytes;
	a->swapped_bytes = pages.swapped_bytes;
	verdict_facts_gather(&f, &target, NULL, &h);
	is_u64(f.unread_swap_bytes, 252 * MIB, "of what is in swap nothing is known by a read");
	verdict_facts_add_account(&f, &account, a, pages);
	is_u64(f.returned_bytes, 0, "what is in swap was not given back");
	is_u64(f.trimmable_bytes, 148 * MIB - lost, "what is resident can be trimmed");
	is_u64(f.free_swap_bytes, 252 * MIB - lost, "and what is in swap");
	is_u64(f.unread_swap_bytes, 0, "of which malloc has counted what is free");
	verdict_facts_release(&f);
	heap_free(&h);
}

/* A top chunk whose size was overwritten, or was read while it changed. */
static void
test_damaged_top(void)
{
	struct malloc_info_heap account = { .system_bytes = 132 * KIB };
	struct heap h = { 0 };
	struct heap_arena *a = add_arena(&h);
	struct verdict_facts f = { 0 };

	a->top.bytes = UINT64_C(0x7878787878787878);
	verdict_facts_add_account(&f, &account, a, resident(8 * KIB));
	is_u64(f.trimmable_bytes, 0, "a top of 7.5 EiB: nothing is said to be free");
	is_u64(f.large_bytes, 0, "nor to be in large chunks");
	account.system_bytes = UINT64_C(0x7878787878787878);
	verdict_facts_add_account(&f, &account, a, resident(8 * KIB));
	ok(f.trimmable_bytes <= 8 * KIB, "no more can be trimmed than is resident");

	f = (struct verdict_facts){ .virt_bytes = 600 * MIB };
	account.rest_bytes = UINT64_C(0x7878787878787878);
	verdict_facts_add_account(&f, &account, NULL, resident(8 * KIB));
	is_u64(f.free_bytes, 600 * MIB, "no more is free than the process has addresses");
	is_u64(f.returned_bytes, 600 * MIB - 8 * KIB, "nor was given back");
	heap_free(&h);
}

/* Malloc's own account alone: bounds from above, whatever is resident. */
static void
test_saved_account(void)
{
	struct malloc_info_size main_size[] = {
		{ .from_bytes = 64, .to_bytes = 64, .total_bytes = MIB, .count = 16384 },
		{ .from_bytes = MIB, .to_bytes = MIB, .total_bytes = 30 * MIB, .count = 30 },
	};
	struct malloc_info_size other_size = {
		.from_bytes = MIB, .to_bytes = MIB, .total_bytes = 20 * MIB, .count = 20
	};
	struct malloc_info_heap heap[] = {
		{ .size = { .v = main_size, .nr = 2 },
			.rest_bytes = 35 * MIB + 30,
			.rest_flags = 30,
			.system_bytes = 50 * MIB },
		{ .nr = 1,
			.size = { .v = &other_size, .nr = 1 },
			.rest_bytes = 25 * MIB,
			.system_bytes = 40 * MIB },
	};
	struct malloc_info mi = { .heap = { .v = heap, .nr = 2 },
		.has_top_in_rest = true,
		.system_bytes = 90 * MIB,
		.mmap_count = 3,
		.mmap_bytes = 10 * MIB };
	struct verdict v[VERDICT_MAX];
	struct verdict_facts f = { 0 };
	size_t nr;

	verdict_facts_of_account(&f, &mi);
	ok(f.is_account && f.is_bound && f.has_malloc, "an account that was saved");
	is_u64(f.rss_bytes, 100 * MIB, "shares are of all that malloc has");
	is_u64(f.trimmable_bytes, (30 + 4 + 20) * MIB,
		"free in pieces of a page or more, and at the end of the main arena");
	is_u64(f.main_bytes, 34 * MIB, "of which in the main arena");
	is_u64(f.stranded_bytes, MIB, "free in smaller pieces");
	is_u64(f.top_bytes, 5 * MIB, "free at the end of another arena");
	is_u64(f.free_bytes, 60 * MIB, "all that is free");
	nr = verdict_judge(&f, v);
	ok(nr == 1 && strcmp(v[0].id, "retained") == 0, "what is free is retained");
	ok(strncmp(v[0].text, "Up to 54.0 MiB, 54 % of what malloc has, ", 41) == 0,
		"as a bound, and with its share: %s", v[0].text);
	ok(!v[0].action[0][0], "and no command for a process that is not there");

	mi.has_top_in_rest = false;
	verdict_facts_of_account(&f, &mi);
	is_u64(f.top_bytes, 0, "a top that is not in rest is not known");
	heap[1].size.nr = 0;
	heap[1].rest_bytes = 40 * MIB;
	mi.has_top_in_rest = true;
	verdict_facts_of_account(&f, &mi);
	nr = verdict_judge(&f, v);
	ok(nr == 2 && strcmp(v[0].id, "tops-stuck") == 0 &&
			strncmp(v[0].text, "Up to 40.0 MiB", 14) == 0,
		"an arena that is nothing but its top: %s", v[0].text);
	main_size[1].total_bytes = UINT64_MAX;
	verdict_facts_of_account(&f, &mi);
	ok(f.trimmable_bytes <= 90 * MIB && f.free_bytes <= 90 * MIB,
		"no more is free than there is");
}

int
main(void)
{
	alarm(300);
	test_heap();
	test_chunks();
	test_space();
	test_kinds();
	test_account();
	test_swapped_account();
	test_damaged_top();
	test_saved_account();
	return tap_end();
}

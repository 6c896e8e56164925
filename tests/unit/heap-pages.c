/*
 * heap-pages: the class of each page of an arena, by what lies on it, and how long malloc_trim
 * would hold the arena's lock.  Segments are given to the ledger part by part, without a process.
 */
#include <config.h>

#include <string.h>

#include "heap/heap-priv.h"
#include "heap/heap.h"
#include "heap/pages-priv.h"
#include "heap/pages.h"
#include "heap/trim-priv.h"
#include "tap.h"

#define PAGE UINT64_C(4096)
#define BASE UINT64_C(0x7f0000000000)
#define NR_PAGES 4

struct piece {
	enum heap_part part;
	uint64_t bytes;
};

/* A segment of NR_PAGES pages; those of ABSENT, a bit each, are neither in memory nor in swap. */
static struct heap_arena
judge(const struct piece *piece, size_t nr, unsigned int absent)
{
	struct heap_arena arena = { 0 };
	struct page_run v[NR_PAGES];
	struct page_runs runs = { .v = v };
	struct page_ledger l;

	for (unsigned int i = 0; i < NR_PAGES; i++)
		if (!(absent & 1u << i))
			v[runs.nr++] = (struct page_run){ { BASE + i * PAGE },
				{ BASE + (i + 1) * PAGE }, true };
	page_ledger_begin(&l, &arena, &runs, PAGE, BASE);
	for (size_t i = 0; i < nr; i++)
		page_ledger_add(&l, piece[i].part, piece[i].bytes);
	page_ledger_end(&l);
	return arena;
}

/* All of the resident bytes are of CLASS, and of no other. */
static void
all_are(const struct heap_arena *arena, enum heap_page_class class, uint64_t pages,
	const char *what)
{
	uint64_t sum = 0;

	for (int c = HEAP_PAGE_LIVE; c <= HEAP_PAGE_TOP; c++)
		sum += arena->page_bytes[c];
	if (!ok(sum == pages * PAGE && arena->page_bytes[class] == sum, "%s: %s", what,
		    heap_page_class_name(class)))
		for (int c = HEAP_PAGE_LIVE; c <= HEAP_PAGE_TOP; c++)
			printf("#   %s: %" PRIu64 "\n",
				heap_page_class_name((enum heap_page_class)c),
				arena->page_bytes[c]);
}

#define JUDGE(absent, ...)                                                                         \
	judge((const struct piece[]){ __VA_ARGS__ },                                               \
		sizeof(const struct piece[]){ __VA_ARGS__ } / sizeof(struct piece), absent)

static void
test_whole_pages(void)
{
	static const struct {
		enum heap_part part;
		enum heap_page_class class;
		const char *what;
	} want[] = {
		{ PART_USED, HEAP_PAGE_LIVE, "whole pages of a block in use" },
		{ PART_OWN, HEAP_PAGE_LIVE, "whole pages of malloc's own" },
		{ PART_CACHED, HEAP_PAGE_CACHED, "whole pages of a cached block" },
		{ PART_FREE, HEAP_PAGE_MIXED,
			"whole pages of a free chunk that cannot be trimmed" },
		{ PART_TOP, HEAP_PAGE_TOP, "whole pages of the top chunk" },
	};

	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct heap_arena arena = JUDGE(0, { want[i].part, NR_PAGES * PAGE });

		all_are(&arena, want[i].class, NR_PAGES, want[i].what);
	}
}

static void
test_shared_pages(void)
{
	struct heap_arena arena;

	arena = JUDGE(~1u, { PART_USED, PAGE / 2 }, { PART_OWN, PAGE / 2 });
	all_are(&arena, HEAP_PAGE_LIVE, 1, "a page of a block in use and of malloc's own");
	arena = JUDGE(~1u, { PART_CACHED, PAGE / 2 }, { PART_FREE, PAGE / 2 });
	all_are(&arena, HEAP_PAGE_CACHED, 1, "a page of cached and free chunks");
	is_u64(arena.stranded_bytes, PAGE / 2, "its free bytes cannot be returned");
	arena = JUDGE(
		~1u, { PART_CACHED, PAGE / 4 }, { PART_CACHED, PAGE / 4 }, { PART_TOP, PAGE / 2 });
	all_are(&arena, HEAP_PAGE_CACHED, 1, "a page of cached chunks and the top");
	arena = JUDGE(~1u, { PART_CACHED, PAGE / 2 }, { PART_CACHED, PAGE / 2 });
	all_are(&arena, HEAP_PAGE_CACHED, 1, "a page of two cached chunks");
	is_u64(arena.live_resident_bytes, 0, "no byte of it is in use");
	arena = JUDGE(~1u, { PART_CACHED, PAGE / 2 }, { PART_USED, PAGE / 2 });
	all_are(&arena, HEAP_PAGE_MIXED, 1, "a page of a cached chunk and a block in use");
	is_u64(arena.live_resident_bytes, PAGE / 2, "half of it is in use");
	arena = JUDGE(~1u, { PART_FREE, PAGE / 2 }, { PART_TOP, PAGE / 2 });
	all_are(&arena, HEAP_PAGE_MIXED, 1, "a page of a free chunk and the top");
	arena = JUDGE(
		0, { PART_USED, 100 }, { PART_CACHED, 3 * PAGE - 200 }, { PART_USED, PAGE + 100 });
	is_u64(arena.page_bytes[HEAP_PAGE_CACHED], PAGE,
		"a cached chunk on three pages has one alone");
	is_u64(arena.page_bytes[HEAP_PAGE_MIXED], 2 * PAGE, "and shares two with blocks in use");
}

static void
test_absent_pages(void)
{
	struct heap_arena arena = JUDGE(~0u, { PART_CACHED, 2 * PAGE }, { PART_FREE, 2 * PAGE });

	all_are(&arena, HEAP_PAGE_CACHED, 0, "absent pages are not resident");
	is_u64(arena.page_bytes[HEAP_PAGE_RETURNED], 2 * PAGE,
		"absent pages count as returned where they are free, not where they are cached");
	arena = JUDGE(2, { PART_CACHED, 4 * PAGE });
	all_are(&arena, HEAP_PAGE_CACHED, 3, "three present pages of four that are cached");
}

/*
 * scripts/bench/trim measured 40 ns for each free chunk, 800 for each range and 500 for each page
 * that goes back.  A forecast that is more than twice as long refuses trims that are harmless; one
 * that is less than half as long allows those that stall the target.
 */
static bool
is_about(uint64_t got_ns, uint64_t want_ns)
{
	if (got_ns >= want_ns / 2 && got_ns <= want_ns * 2)
		return true;
	printf("#   %" PRIu64 " ns, not %" PRIu64 "\n", got_ns, want_ns);
	return false;
}

static uint64_t
forecast_ns(struct heap_arena arena)
{
	struct heap h = { .arena = { .v = &arena, .nr = 1 } };
	struct reader r = { .heap = &h, .page_bytes = PAGE };

	trim_forecast(&r, false);
	return arena.trim.lock_ns;
}

static void
test_lock(void)
{
	struct heap_arena arena = { .certainty = HEAP_EXACT };
	struct heap_range range[1000];

	is_u64(forecast_ns(arena), 0, "an arena without free chunks: no lock");
	arena.binned.count = 1000000;
	ok(is_about(forecast_ns(arena), 40000000), "a million free chunks hold the lock for 40 ms");
	arena.binned.count = 0;
	arena.trim.range.v = range;
	arena.trim.range.nr = sizeof range / sizeof *range;
	ok(is_about(forecast_ns(arena), 800000), "a thousand ranges hold it for 0.8 ms");
	arena.trim.range.nr = 0;
	arena.trim.rss_bytes = 600 * PAGE;
	arena.trim.swap_bytes = 400 * PAGE;
	ok(is_about(forecast_ns(arena), 500000), "a thousand pages hold it for 0.5 ms");
	arena.certainty = HEAP_APPROXIMATE;
	arena.resident_bytes = 10000 * PAGE;
	ok(is_about(forecast_ns(arena), 5000000),
		"in an approximate arena all resident pages count");
}

int
main(void)
{
	test_whole_pages();
	test_shared_pages();
	test_absent_pages();
	test_lock();
	return tap_end();
}

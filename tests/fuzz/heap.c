/*
 * Whatever is in the memory of a heap, it is read in bounded time, what is read lies in it, and the
 * numbers of an arena that is not marked add up.  The input is a list of changes to the words of a
 * sound heap in a core file, laid out as by glibc 2.36; without any, all of it is exact.
 */
#define _GNU_SOURCE
#include <config.h>

#include <stdio.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "glibc/process.h"
#include "heap/arena-priv.h"
#include "heap/heap-priv.h"
#include "heap/heap.h"
#include "heap/lists.h"
#include "heap/pages-priv.h"
#include "heap/read.h"
#include "heap/scan.h"
#include "heap/tcache.h"
#include "os/core.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/target.h"
#include "core-file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORD 8
#define TID 77

/* The memory that there is. */
static struct area {
	uint64_t start;
	size_t nr_pages;
	char *bytes;
} areas[] = {
	/* main_arena, and what libc has for a thread */
	{ .start = UINT64_C(0x7f5500000000), .nr_pages = 1 },
	{ .start = UINT64_C(0x555555000000), .nr_pages = 16 }, /* brk's */
	{ .start = UINT64_C(0x7e0000000000), .nr_pages = 16 }, /* a thread arena's */
};
#define NR_AREAS (sizeof areas / sizeof *areas)
#define LIBC areas[0].start
#define BRK areas[1].start
#define HEAP areas[2].start
#define HEAP_BYTES (16 * (uint64_t)CORE_PAGE)
#define ALL_BYTES (33 * (uint64_t)CORE_PAGE)

#define MAIN_ARENA (LIBC + 0x100)
#define THREAD_ARENA (HEAP + 0x30)
/* A thread's struct pthread, its robust list head in it, and its pointer to its arena. */
#define PTHREAD (LIBC + 0xc00)
#define LIST_HEAD (PTHREAD + 0x2e0)
#define ARENA_SLOT (PTHREAD - 0x80)

static const struct malloc_layout layout = {
	.first = 36,
	.last = 36,
	.word_bytes = WORD,
	.align_bytes = 16,
	.heap_info_bytes = 0x30,
	.fastbins = 0x10,
	.nr_fastbins = 10,
	.top = 0x60,
	.bins = 0x70,
	.binmap = 0x860,
	.next = 0x870,
	.attached = 0x880,
	.system_mem = 0x888,
	.max_system = 0x890,
	.state_bytes = 0x898,
	.has_safe_linking = true,
	.tcache = { .nr_bins = 64,
		.count_bytes = 2,
		.chunk_bytes = 0x290,
		.from_slot_bytes = WORD },
	.mp = { 1 },
	.params = { .tcache_count = 7 },
};

static void
put(uint64_t addr, uint64_t word)
{
	for (size_t i = 0; i < NR_AREAS; i++)
		if (addr - areas[i].start < areas[i].nr_pages * CORE_PAGE)
			memcpy(areas[i].bytes + (addr - areas[i].start), &word, WORD);
}

/* ---- a sound heap ---- */

/* The only chunk CHUNK of bin NR, of BYTES and free. */
static void
put_in_bin(uint64_t arena, unsigned int nr, uint64_t chunk, uint64_t bytes)
{
	uint64_t at = arena + layout.bins + (nr - 1) * 2 * WORD, header = at - 2 * WORD;

	put(at, chunk);
	put(at + WORD, chunk);
	put(chunk + 2 * WORD, header);
	put(chunk + 3 * WORD, header);
	put(chunk + bytes, bytes);
}

/* The chunks of each arena, one after the other; the rest is top. */
static const struct plan {
	enum { USED, UNSORTED, BINNED, FAST } kind;
	uint64_t bytes;
} plans[] = {
	{ USED, 0x290 },
	{ USED, 0x50 },
	{ UNSORTED, 0x500 },
	{ USED, 0x30 },
	{ FAST, 0x40 },
	{ USED, 0x40 },
	{ BINNED, 0x3000 },
	{ USED, 0x20 },
};

/* Chunks from FIRST to END, with FLAGS where they are in use. */
static void
put_chunks(uint64_t arena, uint64_t first, uint64_t end, uint64_t flags)
{
	uint64_t chunk = first, in_use = PREV_INUSE;

	for (size_t i = 0; i < sizeof plans / sizeof *plans; chunk += plans[i++].bytes) {
		uint64_t bytes = plans[i].bytes;
		bool is_free = plans[i].kind == UNSORTED || plans[i].kind == BINNED;

		put(chunk + WORD, bytes | in_use | (is_free ? 0 : flags));
		in_use = is_free ? 0 : PREV_INUSE;
		if (is_free)
			put_in_bin(arena, plans[i].kind == UNSORTED ? 1 : bin_of(&layout, bytes),
				chunk, bytes);
		if (plans[i].kind == FAST) {
			put(arena + layout.fastbins + (bytes / 16 - 2) * WORD, chunk);
			put(chunk + 2 * WORD, (chunk + 2 * WORD) >> 12);
		}
	}
	put(arena + layout.top, chunk);
	put(chunk + WORD, (end - chunk) | PREV_INUSE);
}

static void
put_arena(uint64_t arena, uint64_t first, uint64_t end, uint64_t flags, uint64_t next)
{
	for (unsigned int i = 0; i < 2 * HEAP_NR_BINS; i++)
		put(arena + layout.bins + i * WORD,
			arena + layout.bins + (i & ~1u) * WORD - 2 * WORD);
	put_chunks(arena, first, end, flags);
	put(arena + layout.next, next);
	put(arena + layout.attached, 1);
	put(arena + layout.system_mem, HEAP_BYTES);
	put(arena + layout.max_system, HEAP_BYTES);
}

/* The thread's cache is the first chunk of brk's; the second chunk is in it. */
static void
put_thread(void)
{
	uint64_t cache = BRK + 2 * WORD, block = BRK + 0x290 + 2 * WORD;
	unsigned int bin = (0x50 - 0x20) / 16;

	put(PTHREAD + 0x2d0, TID);
	put(LIST_HEAD, LIST_HEAD);
	put(LIST_HEAD + WORD, (uint64_t)-32);
	put(ARENA_SLOT, MAIN_ARENA);
	put(ARENA_SLOT + WORD, cache);
	put(cache + bin / 4 * WORD, UINT64_C(1) << bin % 4 * 16);
	put(cache + 64 * 2 + bin * WORD, block);
	put(block, block >> 12);
}

static void
put_all(void)
{
	for (size_t i = 0; i < NR_AREAS; i++)
		memset(areas[i].bytes, 0, areas[i].nr_pages * CORE_PAGE);
	put_arena(MAIN_ARENA, BRK, BRK + HEAP_BYTES, 0, THREAD_ARENA);
	put_arena(THREAD_ARENA, HEAP + 0x8d0, HEAP + HEAP_BYTES, NON_MAIN_ARENA, MAIN_ARENA);
	put(HEAP, THREAD_ARENA);
	put(HEAP + 2 * WORD, HEAP_BYTES);
	put(HEAP + 3 * WORD, HEAP_BYTES);
	put_thread();
}

/* ---- changes ---- */

struct change {
	uint16_t place; /* which word */
	uint8_t kind, unused;
	uint32_t value;
};

static void
apply(const struct change *c)
{
	size_t at = c->place * (size_t)WORD % ALL_BYTES, i = 0;
	uint64_t word, value = c->value;

	for (; at >= areas[i].nr_pages * CORE_PAGE; i++)
		at -= areas[i].nr_pages * CORE_PAGE;
	memcpy(&word, areas[i].bytes + at, WORD);
	switch (c->kind % 8) {
	case 0:
		word = value;
		break;
	case 1:
	case 2:
	case 3:
		word = areas[c->kind % 8 - 1].start + value % (2 * HEAP_BYTES);
		break;
	case 4:
		word ^= value;
		break;
	case 5:
		word += (uint64_t)(int32_t)c->value;
		break;
	case 6: /* a mangled link */
		word = (areas[i].start + at) >> 12 ^ (BRK + value % HEAP_BYTES);
		break;
	default:
		word = value << 32 | value;
	}
	memcpy(areas[i].bytes + at, &word, WORD);
}

/* ---- malloc_info ---- */

static void
check_arena(const struct heap_arena *a)
{
	uint64_t sum = 0;

	for (int i = HEAP_PAGE_LIVE; i <= HEAP_PAGE_TOP; i++)
		sum += a->page_bytes[i];
	if (a->resident_bytes > ALL_BYTES || a->trim.rss_bytes > a->resident_bytes)
		abort();
	for (size_t i = 0; i < a->trim.range.nr; i++)
		if (a->trim.range.v[i].start.v >= a->trim.range.v[i].end.v)
			abort();
	if (a->certainty == HEAP_APPROXIMATE)
		return;
	if (a->system_bytes &&
		(sum != a->resident_bytes ||
			a->in_use.bytes + a->fast.bytes + a->binned.bytes + a->top.bytes +
					a->overhead_bytes !=
				a->system_bytes))
		abort();
}

static void
read_arenas(struct reader *r, bool by_lists, bool is_sound)
{
	struct heap *h = r->heap;
	struct err e = { 0 };

	for (size_t i = 0; i < r->arenas->nr; i++) {
		struct heap_arena arena = { 0 };

		if (reader_read_arena(r, &r->arenas->v[i], by_lists, &arena, &e) < 0 ||
			reader_finish_arenas(r, &e) < 0)
			abort(); /* nothing here is an error but a lack of memory */
		check_arena(&arena);
		if (is_sound &&
			(arena.certainty != HEAP_EXACT || arena.binned.count != 2 ||
				arena.fast.count != 1 || arena.cached.count != arena.is_main))
			abort();
		heap_arena_release(&arena);
	}
	/* A chunk has sixteen bytes at least, and is looked at once in a walk, of two. */
	if (h->nr_chunks > 4 * ALL_BYTES / 16)
		abort();
}

static void
read_heap(const struct target *t, const struct regions *m, bool is_sound)
{
	auto_arenas struct arenas a = { 0 };
	auto_pages struct os_pages *pages = NULL;
	struct arena main_arena = { .addr = { MAIN_ARENA }, .is_main = true };
	struct arenas known = { .v = &main_arena,
		.nr = 1,
		.word_bytes = WORD,
		.bins_offset = layout.bins,
		.heap_max_bytes = UINT64_C(64) << 20,
		.tls_offset_bytes = (int64_t)(ARENA_SLOT - LIST_HEAD) };
	auto_heap struct heap h = { .layout = layout };
	struct reader r = { .t = t,
		.m = m,
		.l = &h.layout,
		.arenas = &a,
		.page_bytes = CORE_PAGE,
		.is_stopped = true,
		.with_tops = true,
		.heap = &h };
	struct err e = { 0 };

	h.layout.params.sbrk_base.v = BRK;
	if (os_pages_open(&pages, t, OS_PAGES_AUTO, &e) < 0 ||
		arenas_read_again(&a, t, m, &known, 0, &e) < 0 || (is_sound && a.nr != 2))
		abort();
	r.pages = pages;
	if (tcaches_read(&r, &e) < 0)
		abort();
	read_arenas(&r, false, is_sound);
	read_arenas(&r, true, is_sound);
	heap_malloc_info_is_slow(
		&(struct process){ .target = t, .maps = *m, .arenas = a }, 1000000);
	free(r.cached.v);
}

static void
read_core(const char *path, bool is_sound)
{
	auto_target struct target t = TARGET_NONE;
	auto_regions struct regions m = { 0 };
	struct err e = { 0 };

	if (target_open_core(&t, path, NULL, &e) < 0 || regions_read(&m, &t, &e) < 0)
		abort();
	read_heap(&t, &m, is_sound);
}

static void
write_core(const char *path)
{
	static struct core_maker maker;

	maker = (struct core_maker)CORE_MAKER;
	core_add_process(&maker, TID, "heap");
	core_add_thread(&maker, TID, 6, LIBC, PTHREAD);
	/* In order of address; the last pages of the heaps have not been used. */
	for (size_t i = 0; i < NR_AREAS; i++) {
		const struct area *a = &areas[(i + 1) % NR_AREAS];

		core_add_segment(&maker, a->start, a->nr_pages * CORE_PAGE, PF_R | PF_W, a->bytes,
			a->nr_pages * CORE_PAGE, a->nr_pages > 1 ? "ddddddddddddddd." : NULL);
	}
	core_write(&maker, path, false);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_fd int fd = memfd_create("core", MFD_CLOEXEC);
	struct change change;
	char path[64];

	for (size_t i = 0; i < NR_AREAS; i++)
		if (!areas[i].bytes)
			areas[i].bytes = malloc(areas[i].nr_pages * CORE_PAGE);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	put_all();
	for (size_t at = 0; at + sizeof change <= size; at += sizeof change) {
		memcpy(&change, data + at, sizeof change);
		apply(&change);
	}
	if (fd < 0)
		return 0;
	write_core(path);
	read_core(path, size < sizeof change);
	return 0;
}

/*
 * Heaps that would keep a reader busy for ever, or for longer than it may stop them: large ones,
 * and those whose damage leads around in circles.
 */
#include <config.h>

#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "child.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "heap/copies.h"
#include "heap/heap.h"
#include "heap/lists.h"
#include "heap/pages-priv.h"
#include "heap/read.h"
#include "heap/trim.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/pages.h"
#include "os/ptrace.h"

#define MIB (UINT64_C(1) << 20)
#define LONG_NS UINT64_C(300000000000)
#define SHORT_NS UINT64_C(2000000)
/* To list the pages of a large heap, and ask who else has them, takes longer. */
#define OVERTIME_NS UINT64_C(2500000)
#define TRIES_NS UINT64_C(300000000000)
/* Fast bins of 64 bit have chunks of 32 to 128 bytes; each cache keeps seven of a size first. */
#define NR_SMALL 8
#define BLOCK 65000

#ifdef __SANITIZE_ADDRESS__
int
main(void)
{
	skip("hostile heaps", "the children would have the sanitizer's malloc");
	return tap_end();
}
#else

/* ---- children ---- */

/*
 * BYTES of blocks, every other one freed again, and chunks in a cache and in a fast bin.  Returns
 * the last block.
 */
static void *
fill(uint64_t bytes)
{
	size_t nr = bytes / BLOCK;
	static void *volatile small[NR_SMALL]; /* else gcc knows better than to make them */
	void **block, *last;

	mallopt(M_MMAP_THRESHOLD, INT32_MAX);
	mallopt(M_TRIM_THRESHOLD, INT32_MAX);
	block = malloc(nr * sizeof *block);
	for (size_t i = 0; i < nr; i++)
		block[i] = memset(malloc(BLOCK), 1, BLOCK);
	for (size_t i = 0; i < nr; i += 2)
		free(block[i]);
	for (int i = 0; i < NR_SMALL; i++)
		small[i] = malloc(24);
	last = malloc(BLOCK);
	for (int i = 0; i < NR_SMALL; i++)
		free(small[i]);
	return last;
}

static pthread_barrier_t has_arena;

static void *
have_arena(void *arg)
{
	*(void **)arg = malloc(BLOCK);
	pthread_barrier_wait(&has_arena);
	for (;;)
		pause();
	return arg;
}

static void
be_large(void *arg)
{
	static void *block;
	pthread_t thread;

	/* stdio's buffer is a large block, for which fast bins are emptied */
	puts("filling");
	pthread_create(&thread, NULL, have_arena, &block);
	pthread_barrier_wait(&has_arena);
	fill(*(const uint64_t *)arg);
	child_ready();
}

/* Whether one mapping holds both. */
static bool
is_one_mapping(const void *a, const void *b)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uintptr_t start = 0, end = 0;

	while (f && end <= (uintptr_t)a &&
		fscanf(f, "%" SCNxPTR "-%" SCNxPTR "%*[^\n]", &start, &end) == 2)
		;
	if (f)
		fclose(f);
	return start <= (uintptr_t)b && (uintptr_t)b < end;
}

/* brk cannot grow, so malloc maps; until what it maps joins another mapping. */
static void
be_in_pieces(void *arg)
{
	uint64_t bytes = *(const uint64_t *)arg;
	uintptr_t brk = ((uintptr_t)sbrk(0) + 65535) & ~(uintptr_t)65535;
	char *other = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mmap((void *)brk, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		0);
	memset(other, 1, bytes);
	for (int i = 0; i < 200 && !is_one_mapping(fill(MIB), other); i++)
		;
	child_ready();
}

/* ---- damage ---- */

static uint64_t
word_of(struct view *v, uint64_t at)
{
	uint64_t word = 0;

	os_read(&v->t, (raddr){ at }, &word, sizeof word, &v->e);
	return word;
}

static void
set_word(struct view *v, uint64_t at, uint64_t word)
{
	if (!view_write(&v->t, (raddr){ at }, &word, sizeof word))
		printf("# %s\n", v->e.msg);
}

/* The block at BLOCK is followed by itself. */
static void
make_circle(struct view *v, const struct malloc_layout *l, uint64_t block, uint64_t to)
{
	set_word(v, block, l->has_safe_linking ? block >> 12 ^ to : to);
}

static int
read_by(struct view *v, struct heap *h, bool by_lists, uint64_t max_stop_ns)
{
	struct heap_options opt = { .max_stop_ns = max_stop_ns, .bins_only = by_lists };

	heap_release(h);
	return heap_read(h, &v->p, &opt, &v->e);
}

static uint64_t
our_peak_bytes(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (uint64_t)use.ru_maxrss * 1024;
}

static void
test_fast_circle(struct view *v)
{
	auto_heap struct heap h = { 0 };
	uint64_t head, link, peak;

	if (read_by(v, &h, true, LONG_NS) < 0 || !h.arena.v[0].fast.count) {
		skip("a circle of fast chunks", "this libc has no fast bins");
		return;
	}
	head = word_of(v, h.arena.v[0].addr.v + h.layout.fastbins);
	link = word_of(v, head + 16);
	make_circle(v, &h.layout, head + 16, head);
	peak = our_peak_bytes();
	ok(read_by(v, &h, true, 0) == 0 && h.arena.v[0].certainty == HEAP_APPROXIMATE &&
			strstr(h.arena.v[0].why, "fast bin"),
		"a circle of fast chunks is seen");
	ok(our_peak_bytes() - peak < 32 * MIB, "and takes little memory: %" PRIu64 " MiB",
		(our_peak_bytes() - peak) / MIB);
	set_word(v, head + 16, link);
}

/* ---- a list that changes ---- */

/*
 * A process that is not stopped has moved two chunks to another bin, just when a reader was at the
 * first: that one leads to the second, and the second to the first.  ADDR is where its links are.
 */
static struct {
	uint64_t addr[2], chunk[2];
	unsigned int nr_seen;
} moved;
#define FAR_TOO_OFTEN (64 * MIB / 32) /* there is no memory for so many chunks */

const char *__real_copies_pair(struct copies *c, uint64_t addr);
const char *__wrap_copies_pair(struct copies *c, uint64_t addr);

const char *
__wrap_copies_pair(struct copies *c, uint64_t addr)
{
	static uint64_t links[2];
	int other = addr == moved.addr[0];

	if (!moved.nr_seen || (addr != moved.addr[0] && addr != moved.addr[1]))
		return __real_copies_pair(c, addr);
	if (moved.nr_seen++ == 1) /* the first, before it is moved */
		return __real_copies_pair(c, addr);
	links[0] = links[1] = moved.chunk[other];
	return moved.nr_seen < FAR_TOO_OFTEN ? (const char *)links : NULL;
}

/* The first bin of the arena at STATE that has several chunks: the first two. */
static bool
find_two(struct view *v, const struct malloc_layout *l, uint64_t state)
{
	for (unsigned int i = 0; i < HEAP_NR_BINS; i++) {
		uint64_t at = state + l->bins + i * 16;

		moved.chunk[0] = word_of(v, at);
		moved.chunk[1] = word_of(v, moved.chunk[0] + 16);
		if (moved.chunk[0] != at - 16 && moved.chunk[1] != at - 16)
			return true;
	}
	return false;
}

static void
test_moved(struct view *v)
{
	auto_heap struct heap h = { 0 };
	int failed;

	if (!ok(read_by(v, &h, true, LONG_NS) == 0 && find_two(v, &h.layout, h.arena.v[0].addr.v),
		    "a bin has two chunks %s", v->e.msg))
		return;
	moved.addr[0] = moved.chunk[0] + 16;
	moved.addr[1] = moved.chunk[1] + 16;
	moved.nr_seen = 1;
	failed = read_by(v, &h, true, 0);
	/* The lists have been given up for a walk by then. */
	ok(!failed && h.arena.v[0].binned.count && moved.nr_seen > 100 &&
			moved.nr_seen < FAR_TOO_OFTEN,
		"chunks that are moved while they are read lead nobody round for good: %u were "
		"seen",
		moved.nr_seen);
	moved.nr_seen = 0;
}

/*
 * In every bin of the first chunk, which is a cache to 2.41, one chunk that is followed by itself.
 */
static void
test_cache_circle(struct view *v)
{
	auto_heap struct heap h = { 0 };
	const struct tcache_layout *l = &h.layout.tcache;
	uint64_t cache, heads, chunk, was[128];

	if (read_by(v, &h, false, LONG_NS) < 0 || l->counts_down || !h.arena.v[0].cached.count) {
		skip("a circle of cached chunks", "the cache is not the first chunk");
		return;
	}
	cache = h.arena.v[0].segment.v[0].start.v + 16;
	heads = cache + l->nr_bins * l->count_bytes;
	chunk = word_of(v, heads);
	os_read(&v->t, (raddr){ cache }, was, l->chunk_bytes - 16, &v->e);
	for (unsigned int i = 0; i < l->nr_bins * l->count_bytes; i += 8)
		set_word(v, cache + i, UINT64_MAX);
	for (unsigned int i = 0; i < l->nr_bins; i++)
		set_word(v, heads + i * 8, chunk);
	make_circle(v, &h.layout, chunk, chunk);
	ok(read_by(v, &h, false, LONG_NS) == 0 && h.certainty != HEAP_EXACT &&
			h.thread.v[0].cached.count < 1000,
		"a circle of cached chunks is not followed");
	view_write(&v->t, (raddr){ cache }, was, l->chunk_bytes - 16);
}

/* The top of a thread's arena is where a chunk in use is. */
static void
test_false_top(struct view *v)
{
	auto_heap struct heap h = { 0 };
	uint64_t at, was, used;

	if (!ok(read_by(v, &h, false, LONG_NS) == 0 && h.arena.nr == 2 &&
			    h.arena.v[1].segment.v[0].last_in_use.bytes,
		    "the last chunk in use is known %s", v->e.msg))
		return;
	used = h.arena.v[1].segment.v[0].last_in_use.addr.v;
	at = h.arena.v[1].addr.v + h.layout.top;
	was = word_of(v, at);
	set_word(v, at, used);
	for (int by_lists = 0; by_lists <= 1; by_lists++)
		ok(read_by(v, &h, by_lists, LONG_NS) == 0 &&
				h.arena.v[1].certainty == HEAP_APPROXIMATE,
			"a false top is seen %s", by_lists ? "by lists" : "by the walk");
	set_word(v, at, was);
}

/* ---- time ---- */

/* A stop is over in time even if not all pages can be listed by then. */
static void
test_time(struct view *v)
{
	auto_heap struct heap h = { 0 };
	uint64_t shortest = UINT64_MAX, end_ns = os_now_ns() + TRIES_NS;

	if (!ok(read_by(v, &h, false, LONG_NS) == 0 && h.certainty == HEAP_EXACT,
		    "a large heap is exact with much time %s", v->e.msg))
		return;
	/* The machine may have other things to do: one good try is enough. */
	while (shortest >= SHORT_NS + OVERTIME_NS && os_now_ns() < end_ns)
		if (read_by(v, &h, false, SHORT_NS) == 0 && h.nr_stops &&
			h.longest_stop_ns < shortest)
			shortest = h.longest_stop_ns;
	ok(shortest < SHORT_NS + OVERTIME_NS,
		"and is let go when time is up: after %" PRIu64 " us of %" PRIu64, shortest / 1000,
		SHORT_NS / 1000);
}

static void
test_large(void)
{
	uint64_t bytes = 256 * MIB;
	struct child c = child_start(be_large, &bytes);
	struct view v;

	if (view_take(&v, c.pid)) {
		test_time(&v);
		test_fast_circle(&v);
		test_cache_circle(&v);
		test_false_top(&v);
	}
	view_release(&v);
	ok(child_end(&c), "the child is well");
}

static void
test_list(void)
{
	uint64_t bytes = 8 * MIB;
	struct child c = child_start(be_large, &bytes);
	struct view v;

	if (view_take(&v, c.pid))
		test_moved(&v);
	view_release(&v);
	ok(child_end(&c), "the child is well");
}

static void
check_piece_pages(const struct heap_arena *a)
{
	uint64_t sum = 0;

	for (int i = 0; i < HEAP_PAGE_RETURNED; i++)
		sum += a->page_bytes[i];
	ok(a->resident_bytes < a->system_bytes + MIB && sum == a->resident_bytes,
		"%" PRIu64 " bytes of %" PRIu64 " are resident, its pages are as many: %" PRIu64,
		a->resident_bytes, a->system_bytes, sum);
}

/*
 * Memory of others lies in the same mappings as the pieces; then one of them does not begin as it
 * must.
 */
static void
test_pieces(void)
{
	uint64_t bytes = 64 * MIB, was;
	struct child c = child_start(be_in_pieces, &bytes);
	auto_heap struct heap h = { 0 }, rough = { 0 };
	const struct heap_arena *a;
	struct view v;

	if (view_take(&v, c.pid) &&
		ok(read_by(&v, &h, false, LONG_NS) == 0, "an arena in pieces is read %s",
			v.e.msg)) {
		a = &h.arena.v[0];
		ok(a->certainty == HEAP_EXACT && a->segment.nr > 1,
			"they are distinguished from their neighbours: %zu %s", a->segment.nr,
			a->why);
		check_piece_pages(a);
		was = word_of(&v, a->segment.v[1].start.v);
		set_word(&v, a->segment.v[1].start.v, 1);
		if (ok(read_by(&v, &rough, false, LONG_NS) == 0, "without one of them %s",
			    v.e.msg)) {
			a = &rough.arena.v[0];
			ok(a->certainty != HEAP_EXACT && *a->why, "that is said: %s", a->why);
			check_piece_pages(a);
		}
		set_word(&v, a->segment.v[1].start.v, was);
	}
	view_release(&v);
	ok(child_end(&c), "the child is well");
}

/* ---- lures ---- */

#define HEAP_MAX (64 * MIB)
#define LURE_BYTES 65536

/*
 * Memory that malloc does not have, and that nobody has looked at, aligned as a heap is: of a file,
 * which may be on a dead server, or the child's own, where a look would map a page.
 */
static uintptr_t
make_lure(bool has_file)
{
	int fd = has_file ? memfd_create("lure", 0) : -1;
	char *room = mmap(NULL, 2 * HEAP_MAX, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t at = ((uintptr_t)room + HEAP_MAX - 1) & ~(uintptr_t)(HEAP_MAX - 1);

	if (has_file && ftruncate(fd, LURE_BYTES) < 0)
		abort();
	if (mmap((void *)at, LURE_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_FIXED | (has_file ? 0 : MAP_ANONYMOUS), fd, 0) == MAP_FAILED)
		abort();
	return at;
}

static void
have_lures(void *arg)
{
	static void *block;
	pthread_t thread;

	(void)arg;
	printf("lures %#" PRIxPTR " %#" PRIxPTR "\n", make_lure(true), make_lure(false));
	fflush(stdout);
	pthread_create(&thread, NULL, have_arena, &block);
	pthread_barrier_wait(&has_arena);
	fill(MIB);
	child_ready();
}

/* Bytes of the lure at AT that have pages. */
static uint64_t
looked_at(struct view *v, uint64_t at)
{
	auto_pages struct os_pages *pages = NULL;
	uint64_t sum = 0;

	if (os_pages_open(&pages, &v->t, OS_PAGES_PAGEMAP, &v->e) < 0 ||
		os_pages_walk(pages, (raddr){ at }, raddr_add((raddr){ at }, LURE_BYTES), false,
			view_sum_present, &sum, &v->e) < 0)
		return 1;
	return sum;
}

static void
read_heaps(struct view *v)
{
	auto_heap struct heap h = { 0 }, tops = { 0 };

	for (int by_lists = 0; by_lists <= 1; by_lists++) {
		read_by(v, &h, by_lists, LONG_NS);
		read_by(v, &h, by_lists, 0);
	}
	heap_read_counts(&tops, &v->p, &v->e);
}

/* Call the functions that are used because asking for pages first would be slower. */
static void
look_quickly(struct view *v, const struct malloc_layout *l)
{
	const struct arenas *a = &v->p.arenas;
	struct heap_range top;

	heap_malloc_info_is_slow(&v->p, LONG_NS);
	for (size_t i = 0; i < a->nr; i++)
		heap_top_pages(&v->t, &v->p.maps, l, a->v[i].addr, &top);
}

/*
 * The word at AT leads to the lures: where an arena would be in a heap.  In memory that can be a
 * heap the search for ARENAS looks for one.
 */
static void
test_lure(struct view *v, const struct malloc_layout *l, const uint64_t lure[2], uint64_t at,
	bool is_of_arenas, const char *name)
{
	uint64_t was = word_of(v, at);

	set_word(v, at, lure[0] + l->heap_info_bytes);
	read_heaps(v);
	look_quickly(v, l);
	set_word(v, at, was);
	ok(looked_at(v, lure[0]) == 0, "%s: it does not lead into a file", name);
	if (is_of_arenas)
		return;
	set_word(v, at, lure[1] + l->heap_info_bytes);
	read_heaps(v);
	set_word(v, at, was);
	ok(looked_at(v, lure[1]) == 0, "%s: nor to memory that has not been used", name);
}

static void
test_lures_of(struct view *v, const uint64_t lure[2])
{
	const struct arenas *a = &v->p.arenas;
	auto_heap struct heap h = { 0 };
	const struct malloc_layout *l = &h.layout;
	uint64_t main_arena, cache;

	if (!ok(process_find_arenas(&v->p, NULL, &v->e) == 0 && a->nr == 2 &&
			    read_by(v, &h, false, LONG_NS) == 0 && h.certainty == HEAP_EXACT,
		    "the heaps are sound %s", v->e.msg))
		return;
	main_arena = a->v[0].addr.v;
	test_lure(v, l, lure, main_arena + l->top, false, "top");
	test_lure(v, l, lure, main_arena + l->bins, false, "bin");
	if (l->fastbins)
		test_lure(v, l, lure, main_arena + l->fastbins, false, "fast bin");
	if (l->tcache.nr_bins && !l->tcache.counts_down) {
		cache = h.arena.v[0].segment.v[0].start.v + 16;
		test_lure(v, l, lure, cache + l->tcache.nr_bins * l->tcache.count_bytes, false,
			"cache");
	}
	test_lure(v, l, lure, main_arena + l->next, true, "ring");
	test_lure(v, l, lure, a->v[1].addr.v + l->top, true, "top of a thread's arena");
}

/* An arena that says it is larger than any memory. */
static void
test_false_size(struct view *v)
{
	auto_heap struct heap h = { 0 };
	uint64_t system, max, top, was[3];

	if (!ok(read_by(v, &h, false, LONG_NS) == 0 && h.certainty == HEAP_EXACT,
		    "the heap is sound again %s", v->e.msg))
		return;
	system = h.arena.v[0].addr.v + h.layout.system_mem;
	top = h.arena.v[0].top.addr.v + 8;
	max = h.arena.v[0].addr.v + h.layout.max_system;
	was[0] = word_of(v, system);
	was[1] = word_of(v, top);
	was[2] = word_of(v, max);
	set_word(v, system, UINT64_C(1) << 62);
	set_word(v, max, UINT64_C(1) << 62);
	set_word(v, top, UINT64_C(1) << 61 | 1);
	for (int by_lists = 0; by_lists <= 1; by_lists++) {
		const bool is_read = read_by(v, &h, by_lists, 0) == 0;

		ok(is_read && h.arena.v[0].certainty == HEAP_APPROXIMATE &&
				h.arena.v[0].segment.nr &&
				h.arena.v[0].segment.v[0].end.v < UINT64_C(1) << 48,
			"an arena is no larger than memory: %s",
			is_read ? h.arena.v[0].why : v->e.msg);
	}
	set_word(v, system, was[0]);
	set_word(v, top, was[1]);
	set_word(v, max, was[2]);
}

static void
test_lures(void)
{
	struct child c = child_start(have_lures, NULL);
	uint64_t lure[2];
	struct view v;

	if (view_take(&v, c.pid) &&
		ok(sscanf(c.said, "lures %" SCNx64 " %" SCNx64, &lure[0], &lure[1]) == 2,
			"there are lures")) {
		test_lures_of(&v, lure);
		test_false_size(&v);
	}
	view_release(&v);
	ok(child_end(&c), "the child is well");
}

int
main(void)
{
	alarm(1800);
	pthread_barrier_init(&has_arena, NULL, 2);
	test_large();
	test_list();
	test_lures();
	test_pieces();
	return tap_end();
}
#endif

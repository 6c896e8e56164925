/*
 * The threads' caches (struct tcache_perthread_struct, malloc/malloc.c, since 2.26): counts and
 * heads of lists, one for each bin.
 */
#include <config.h>

#include "heap/tcache.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "glibc/arena-threads.h"
#include "glibc/layout.h"
#include "heap/copies.h"
#include "heap/heap-priv.h"
#include "heap/heap.h"
#include "heap/marks.h"
#include "heap/memory.h"
#include "heap/pages-priv.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/status.h"

#include <errno.h>
#include <stdlib.h>

#define THREADS_MAX 65536
/* Maximum of a count by its type (uint16_t), if mp_.tcache_count is unknown. */
#define COUNT_MAX 0xffff

/* Bins of one size each (malloc/malloc.c, TCACHE_SMALL_BINS). */
#define NR_EXACT 64

static const char torn[] = "a thread's cache is damaged, or changed meanwhile";
static const char swapped[] = "a thread's cache is in swap";

static size_t
cache_bytes(const struct malloc_layout *l)
{
	/*
	 * All except the header; otherwise the last word is in the next chunk's header.  Before
	 * 2.26 caches do not exist; without a known layout they are not read.
	 */
	return l->tcache.chunk_bytes ? l->tcache.chunk_bytes - l->word_bytes : l->word_bytes;
}

/* Return the maximum number of chunks in a bin. */
static uint32_t
count_max(const struct malloc_layout *l)
{
	return l->mp.v && l->params.tcache_count < COUNT_MAX ? (uint32_t)l->params.tcache_count
							     : COUNT_MAX;
}

/*
 * Return the number of chunks in bin I of the cache at C; more than count_max() if it is invalid.
 */
static uint32_t
count_of(const struct malloc_layout *l, const char *c, unsigned int i)
{
	uint32_t count = tcache_count(&l->tcache, c, i);

	/* Free slots, of mp_.tcache_count. */
	return l->tcache.counts_down ? (uint32_t)l->params.tcache_count - count : count;
}

static bool
is_sound(const struct malloc_layout *l, const char *c)
{
	for (unsigned int i = 0; i < l->tcache.nr_bins; i++) {
		uint32_t count = count_of(l, c, i);
		uint64_t head = tcache_head(l, &l->tcache, c, i);

		if (count > count_max(l) || !count != !head || head % (2 * l->word_bytes))
			return false;
	}
	return true;
}

/* Return why the SIZE bytes of a cache at ADDR are invalid. */
static const char *
doubt_at(struct reader *r, uint64_t addr, size_t size)
{
	return reader_is_swapped(r, addr, size) ? swapped : torn;
}

/* Return the size of a buffer for a cache: of its chunk, without the previous size. */
static size_t
buffer_bytes(const struct malloc_layout *l)
{
	return l->word_bytes + cache_bytes(l);
}

/* Return whether HEADER, a chunk's size and flags, can be of a chunk with a cache. */
static bool
can_hold_cache(const struct reader *r, const char *header)
{
	uint64_t size = word_in(r, header) & ~FLAG_BITS;

	/* A remainder too small for a separate chunk stays with the chunk. */
	return size - r->l->tcache.chunk_bytes < min_chunk_bytes(r->l);
}

/* Note why the cache at ADDR could not be read, unless no cache can be there. */
static void
doubt_cache(struct reader *r, uint64_t addr)
{
	const uint64_t start = addr - r->l->word_bytes;
	char header[sizeof(uint64_t)];

	/* Before the first malloc() of its thread the pointer is NULL or leads to unused memory. */
	if (reader_page(r, start) == PAGE_NONE)
		return;
	if (!reader_look(r, start, header, r->l->word_bytes))
		r->cache_doubt = swapped;
	else if (can_hold_cache(r, header))
		r->cache_doubt = doubt_at(r, addr, cache_bytes(r->l));
}

/*
 * Read the cache at ADDR into BUF, of buffer_bytes(), with its header.  Returns the cache in BUF;
 * NULL if it is missing or inconsistent.
 */
static const char *
read_cache(struct reader *r, uint64_t addr, char *buf)
{
	const struct malloc_layout *l = r->l;

	if (addr % (2 * l->word_bytes))
		return NULL;
	if (!reader_look(r, addr - l->word_bytes, buf, buffer_bytes(l))) {
		doubt_cache(r, addr);
		return NULL;
	}
	if (!can_hold_cache(r, buf))
		return NULL;
	if (!is_sound(l, buf + l->word_bytes)) {
		r->cache_doubt = torn;
		return NULL;
	}
	return buf + l->word_bytes;
}

/* ---- the lists ---- */

/*
 * Mark the LEFT cached chunks from ENTRY on, which points two words past the header, as the
 * program's pointer would.  Returns 0, 1 if an entry is not a chunk (malloc has continued
 * meanwhile, or memory is damaged) or in swap, with *RET_DOUBT, or -1 with E.
 */
static int
follow_cache(struct copies *c, struct heap_sum *sum, uint64_t entry, uint32_t left,
	const char **ret_doubt, struct err *e)
{
	struct reader *r = c->r;
	const struct malloc_layout *l = r->l;
	unsigned int word = l->word_bytes;

	for (; left; left--) {
		const char *pair = copies_pair(c, entry - 2 * word);
		uint64_t bytes = pair ? word_in(r, pair + word) & ~FLAG_BITS : 0, next;

		*ret_doubt = torn;
		pair = pair ? copies_pair(c, entry) : NULL;
		if (!pair) {
			*ret_doubt = doubt_at(r, entry - 2 * word, (size_t)4 * word);
			return 1;
		}
		next = word_in(r, pair);
		if (bytes < min_chunk_bytes(l) || bytes % l->align_bytes)
			return 1;
		if (marks_add(&r->cached, entry - 2 * word, bytes, MARK_TCACHE, e) < 0)
			return -1;
		sum->count++;
		sum->bytes += bytes;
		entry = l->has_safe_linking ? next ^ entry >> 12 : next;
	}
	/* The last link is NULL. */
	*ret_doubt = torn;
	return entry != 0;
}

static int
tcache_read_lists(struct copies *c, struct heap_sum *sum, const char *cache, struct err *e)
{
	struct reader *r = c->r;

	for (unsigned int i = 0; i < r->l->tcache.nr_bins; i++) {
		const char *doubt;
		int bad = follow_cache(c, sum, tcache_head(r->l, &r->l->tcache, cache, i),
			count_of(r->l, cache, i), &doubt, e);

		if (bad < 0)
			return -1;
		if (bad)
			r->cache_doubt = doubt;
	}
	return 0;
}

/* ---- the threads ---- */

/*
 * Return whether the thread may have a cache.  A thread that has ended has freed its cache, or its
 * TLS is unreadable; and a worker thread of the kernel, such as io_uring's, never calls malloc.
 */
static bool
may_have_cache(const struct target *t, pid_t tid)
{
	struct os_status status = { 0 };
	struct err e;

	return !os_is_kernel_worker(t, tid) &&
		(t->core || (os_status(t, tid, &status, &e) == 0 && status.has_memory));
}

/* Maximum distance between the pointers to a thread's arena and to its cache. */
#define NEAR_BYTES 1024

/* A thread's pointers to its arena and to its cache. */
struct pointers {
	uint64_t arena, cache;
};

/*
 * Read the pointers of the thread whose pointer to its arena is at SLOT, at once: both are in the
 * same TLS.  False if they cannot be read; a page that the kernel is moving to another place looks
 * as if it were in swap.
 */
static bool
read_thread_pointers(struct reader *r, raddr slot, struct pointers *ret)
{
	const int64_t offset = r->l->tcache.from_slot_bytes;
	const uint64_t low = offset < 0 ? (uint64_t)-offset : 0,
		       high = offset > 0 ? (uint64_t)offset : 0;
	char buf[NEAR_BYTES + sizeof(uint64_t)];

	if (!slot.v || low + high > NEAR_BYTES ||
		!reader_look(r, slot.v - low, buf, low + high + r->l->word_bytes))
		return false;
	ret->arena = word_in(r, buf + low);
	ret->cache = offset ? word_in(r, buf + high) : 0;
	return true;
}

/* Read the cache of thread TID into BUF, of buffer_bytes(). */
static int
tcache_read_thread(struct copies *c, pid_t tid, char *buf, struct err *e)
{
	struct reader *r = c->r;
	struct heap_thread *thread = array_add(&r->heap->thread);
	struct pointers pointers;
	const char *cache;

	if (!thread)
		return err_set(e, ENOMEM, "cannot list the threads");
	thread->tid = tid;
	if (!read_thread_pointers(r, arenas_slot_of_thread(r->arenas, r->t, tid), &pointers)) {
		r->heap->nr_unknown_caches += may_have_cache(r->t, tid);
		return 0;
	}
	thread->arena.v = pointers.arena;
	cache = pointers.cache ? read_cache(r, pointers.cache, buf) : NULL;
	if (!cache)
		return 0;
	thread->has_cache = true;
	return tcache_read_lists(c, &thread->cached, cache, e);
}

static int
read_threads(struct reader *r, struct err *e)
{
	auto_free pid_t *tids = NULL;
	auto_free char *buf = malloc(buffer_bytes(r->l));
	auto_copies struct copies copies = { 0 };
	size_t nr;

	if (copies_open(&copies, r, NULL, NR_SINGLE, e) < 0)
		return -1;
	if (!buf)
		return err_set(e, ENOMEM, "cannot list what the threads have cached");
	if (os_threads(r->t, THREADS_MAX, &tids, &nr, e) < 0)
		return -1;
	for (size_t i = 0; i < nr && !reader_is_late(r); i++)
		if (tcache_read_thread(&copies, tids[i], buf, e) < 0)
			return -1;
	return 0;
}

/*
 * Return whether every existing cache can be found.  Up to 2.41 each thread has one from its first
 * malloc() on; since then from its first block that fits (malloc/malloc.c, tcache_init()), so if no
 * cache was found, none may exist.
 */
static bool
tcache_is_known(const struct reader *r)
{
	bool has_each = r->l->first >= 26 && r->l->first < 42;

	return r->arenas->tls_offset_bytes && (r->l->tcache.from_slot_bytes || !has_each);
}

/* Return whether a chunk is in caches twice, as after a double free. */
static bool
has_twice(const struct marks *m)
{
	for (size_t i = 1; i < m->nr; i++)
		if (mark_chunk(&m->v[i]) == mark_chunk(&m->v[i - 1]))
			return true;
	return false;
}

/*
 * Discard all caches: a part of them proves nothing; without any, arenas are still as malloc
 * counts.
 */
static void
tcache_forget(struct reader *r)
{
	r->cached.nr = 0;
	for (size_t i = 0; i < r->heap->thread.nr; i++)
		r->heap->thread.v[i].cached = (struct heap_sum){ 0 };
	r->cache_doubt = NULL;
	r->heap->knows_caches = false;
	if (!r->doubt)
		r->doubt = "there was no time to read what its threads have cached";
}

/*
 * Return the bytes in a cache by its counts: a lower bound, because the large bins of 2.42 contain
 * chunks of several sizes.  The lists are not followed.
 */
static struct heap_sum
count_cache(const struct malloc_layout *l, const char *cache)
{
	struct heap_sum sum = { 0 };

	for (unsigned int i = 0; i < l->tcache.nr_bins; i++) {
		uint32_t nr = count_of(l, cache, i);
		uint64_t bytes = min_chunk_bytes(l) +
			(uint64_t)(i < NR_EXACT ? i : NR_EXACT - 1) * l->align_bytes;

		sum.count += nr;
		sum.bytes += nr * bytes;
	}
	return sum;
}

int
tcaches_glance(struct reader *r, struct err *e)
{
	auto_free pid_t *tids = NULL;
	auto_free char *buf = malloc(buffer_bytes(r->l));
	int64_t offset = r->l->tcache.from_slot_bytes;
	size_t nr;

	if (!buf)
		return err_set(e, ENOMEM, "cannot list what the threads have cached");
	if (!r->arenas->tls_offset_bytes || !offset)
		return 0;
	if (os_threads(r->t, THREADS_MAX, &tids, &nr, e) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		raddr slot = arenas_slot_of_thread(r->arenas, r->t, tids[i]);
		struct pointers pointers;
		const char *cache = read_thread_pointers(r, slot, &pointers) && pointers.cache
			? read_cache(r, pointers.cache, buf)
			: NULL;
		struct heap_thread *thread;

		if (!cache)
			continue;
		thread = array_add(&r->heap->thread);
		if (!thread)
			return err_set(e, ENOMEM, "cannot list the threads");
		*thread = (struct heap_thread){
			.tid = tids[i], .has_cache = true, .cached = count_cache(r->l, cache)
		};
	}
	return 0;
}

int
tcaches_read(struct reader *r, struct err *e)
{
	uint64_t deadline_ns = r->deadline_ns, now_ns = os_now_ns();

	r->cached.nr = r->heap->thread.nr = r->heap->nr_unknown_caches = 0;
	r->cache_doubt = NULL;
	r->heap->knows_caches = tcache_is_known(r);
	if (!r->doubt && !r->heap->knows_caches)
		r->doubt = "what its threads have cached is unknown";
	if (!r->arenas->tls_offset_bytes)
		return 0;
	/* Leave time for the arenas. */
	if (deadline_ns > now_ns)
		r->deadline_ns = deadline_ns - (deadline_ns - now_ns) / 4;
	if (read_threads(r, e) < 0 || marks_sort(&r->cached, r, e) < 0)
		return -1;
	r->deadline_ns = deadline_ns;
	if (r->is_late)
		tcache_forget(r);
	else if (has_twice(&r->cached))
		r->cache_doubt = torn;
	if (r->heap->nr_unknown_caches && r->l->last >= 26 && !r->doubt)
		r->doubt = "it is not known what some of its threads have cached";
	r->is_late = false;
	debug("%zu threads have %zu chunks cached", r->heap->thread.nr, r->cached.nr);
	return 0;
}

/*
 * What the threads have cached (struct tcache_perthread_struct, malloc/malloc.c, since 2.26): counts
 * and heads of lists.  The lists are read level by level, of all threads at once: one by one it
 * would take a system call for every chunk.
 */
#include <config.h>

#include "heap/heap-priv.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"

#define THREADS_MAX 65536
/* A count is at most this by its type (uint16_t), if mp_.tcache_count is not known. */
#define COUNT_MAX 0xffff

/* A list that is followed: of one bin of one thread. */
struct link {
	uint64_t entry;	/* what the program would get: two words behind the header */
	uint32_t left;
	uint32_t thread;	/* index into the heap's threads */
};

struct links {
	struct link *v;	/* owned */
	size_t nr, room;
};

static size_t
cache_bytes(const struct heap_layout *l)
{
	/* All but the header; the last word is in what is the next chunk's header otherwise. */
	return l->tcache.chunk_bytes - l->word_bytes;
}

/* How many chunks a bin may have. */
static uint32_t
count_max(const struct heap_layout *l)
{
	return l->mp.v && l->params.tcache_count < COUNT_MAX ? (uint32_t)l->params.tcache_count
							     : COUNT_MAX;
}

/* How many chunks bin I of the cache at C has; more than count_max() if that cannot be. */
static uint32_t
count_of(const struct heap_layout *l, const char *c, unsigned int i)
{
	uint16_t half;

	if (l->tcache.count_bytes == 1)
		return (unsigned char)c[i];
	memcpy(&half, c + i * sizeof half, sizeof half);
	if (!l->tcache.counts_down)
		return half;
	/* Slots left, of mp_.tcache_count. */
	return (uint32_t)l->params.tcache_count - half;
}

static uint64_t
head_of(const struct heap_layout *l, const char *c, unsigned int i)
{
	unsigned int counts = l->tcache.nr_bins * l->tcache.count_bytes;

	counts = (counts + l->word_bytes - 1) & ~(l->word_bytes - 1);
	return word_from(c + counts + i * l->word_bytes, l->word_bytes);
}

static bool
is_cache(const struct heap_layout *l, const char *c)
{
	for (unsigned int i = 0; i < l->tcache.nr_bins; i++) {
		uint32_t count = count_of(l, c, i);
		uint64_t head = head_of(l, c, i);

		if (count > count_max(l) || !count != !head || head % (2 * l->word_bytes))
			return false;
	}
	return true;
}

/* Read the cache at ADDR into BUF; false if there is none, or one that makes no sense. */
static bool
read_cache(struct reader *r, uint64_t addr, char *buf)
{
	const struct heap_layout *l = r->l;
	uint64_t header;
	struct err e;

	if (!addr || addr % (2 * l->word_bytes) || !reader_may_look(r, addr) ||
		os_read(r->t, (raddr){ addr - l->word_bytes }, &header, sizeof header, &e) < 0)
		return false;
	header = word_in(r, (const char *)&header);
	/* What would be too small for a chunk of its own was left to it. */
	if ((header & ~FLAG_BITS) - l->tcache.chunk_bytes >= min_chunk_bytes(l))
		return false;
	if (os_read(r->t, (raddr){ addr }, buf, cache_bytes(l), &e) == 0 && is_cache(l, buf))
		return true;
	r->is_cache_torn = true;
	return false;
}

/* ---- the lists ---- */

static int
add_lists(struct reader *r, struct links *links, uint32_t thread, const char *cache, struct err *e)
{
	for (unsigned int i = 0; i < r->l->tcache.nr_bins; i++) {
		struct link *link;

		if (!count_of(r->l, cache, i))
			continue;
		link = array_add(links);
		if (!link)
			return err_set(e, ENOMEM, "cannot list what the threads have cached");
		*link = (struct link){
			.entry = head_of(r->l, cache, i),
			.left = count_of(r->l, cache, i),
			.thread = thread,
		};
	}
	return 0;
}

/*
 * The chunk that LINK stands on has the words WORDS: size, next.  Mark it and go on to the next.
 * False when it is none: malloc has gone on meanwhile, or memory is damaged.
 */
static bool
take_link(struct reader *r, struct link *link, const char *words, struct err *e)
{
	const struct heap_layout *l = r->l;
	struct heap_thread *thread = &r->heap->thread.v[link->thread];
	uint64_t bytes = word_in(r, words) & ~FLAG_BITS;
	uint64_t next = word_in(r, words + l->word_bytes);

	if (bytes < min_chunk_bytes(l) || bytes % l->align_bytes)
		return false;
	if (l->has_safe_linking)
		next ^= link->entry >> 12;
	if (marks_add(&r->cached, link->entry - 2 * l->word_bytes, bytes, MARK_TCACHE, e) < 0)
		return false;
	thread->cached.count++;
	thread->cached.bytes += bytes;
	link->entry = next;
	link->left--;
	/* The last one's link is the null pointer. */
	return !link->left == !next && next % (2 * l->word_bytes) == 0;
}

/* Read the next chunk of every list.  Those that have ended or broken off leave LINKS. */
static int
follow_level(struct reader *r, struct links *links, struct err *e)
{
	unsigned int word = r->l->word_bytes;
	size_t size = 2 * word, kept = 0;
	auto_free raddr *from = calloc(links->nr, sizeof *from);
	auto_free char *words = calloc(links->nr, size);

	if (!from || !words)
		return err_set(e, ENOMEM, "cannot list what the threads have cached");
	for (size_t i = 0; i < links->nr; i++)
		if (reader_may_look(r, links->v[i].entry - word))
			from[i].v = links->v[i].entry - word;
	if (os_read_each(r->t, from, links->nr, size, words, e) < 0)
		return -1;
	for (size_t i = 0; i < links->nr; i++) {
		if (!take_link(r, &links->v[i], words + i * size, e))
			r->is_cache_torn = true;
		else if (links->v[i].left)
			links->v[kept++] = links->v[i];
	}
	links->nr = kept;
	return 0;
}

/* ---- the threads ---- */

static int
read_threads(struct reader *r, const struct threads *threads, struct links *links, struct err *e)
{
	const size_t nr = threads->nr;
	int64_t offset = r->l->tcache.from_slot_bytes, low = offset < 0 ? offset : 0;
	size_t size = (size_t)(offset < 0 ? -offset : offset) + r->l->word_bytes;
	auto_free char *tls = malloc(nr * size);
	auto_free char *buf = malloc(offset ? cache_bytes(r->l) : 1);

	if (!tls || !buf)
		return err_set(e, ENOMEM, "cannot list what the threads have cached");
	if (arenas_read_tls(r->arenas, r->t, threads, low, size, tls, e) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		struct heap_thread *thread = array_add(&r->heap->thread);
		const char *slot = tls + i * size - low;

		if (!thread)
			return err_set(e, ENOMEM, "cannot list the threads");
		thread->tid = threads->v[i].tid;
		thread->arena.v = word_in(r, slot);
		if (offset && read_cache(r, word_in(r, slot + offset), buf) &&
			add_lists(r, links, (uint32_t)i, buf, e) < 0)
			return -1;
	}
	return 0;
}

/*
 * Whether each cache there is can be found.  To 2.41 each thread has one from its first malloc() on;
 * since then from its first block on that fits (malloc/malloc.c, tcache_init()), so where none was
 * seen there may be none.
 */
static bool
is_known(const struct reader *r)
{
	bool has_each = r->l->first >= 26 && r->l->first < 42;

	return r->arenas->tls_offset_bytes && (r->l->tcache.from_slot_bytes || !has_each);
}

/* Whether a chunk is in two places of caches, as after a double free. */
static bool
has_twice(const struct marks *m)
{
	for (size_t i = 1; i < m->nr; i++)
		if (mark_chunk(&m->v[i]) == mark_chunk(&m->v[i - 1]))
			return true;
	return false;
}

int
tcaches_read(struct reader *r, struct err *e)
{
	auto_threads struct threads threads = { 0 };
	struct links links = { 0 };
	int result;

	r->cached.nr = r->heap->thread.nr = 0;
	r->is_cache_torn = false;
	if (!r->doubt && !is_known(r))
		r->doubt = "it could not be told what its threads have cached";
	if (!r->arenas->tls_offset_bytes)
		return 0;
	if (threads_list(&threads, r->t, THREADS_MAX, e) < 0)
		return -1;
	result = read_threads(r, &threads, &links, e);
	while (result == 0 && links.nr && !reader_is_late(r))
		result = follow_level(r, &links, e);
	marks_sort(&r->cached);
	r->is_cache_torn |= links.nr || has_twice(&r->cached);
	free(links.v);
	debug("%zu threads have %zu chunks cached", r->heap->thread.nr, r->cached.nr);
	return result;
}

/*
 * The threads' caches (struct tcache_perthread_struct, malloc/malloc.c): their kind, how a thread's
 * cache is found, and how free chunks are linked.
 *
 *	chunk -> +---------------------------+
 *	         | previous size, size       |
 *	block -> +---------------------------+
 *		 | counts, one for each bin  |  of blocks; since 2.42 of free slots
 *	         | heads, one for each bin   |  first block, NULL if the bin is empty
 *	         +---------------------------+
 *
 * The pointer to a thread's cache is near the pointer to its arena in its TLS: both are variables
 * of malloc.c.
 */
#include <config.h>

#include "glibc/tcache-layout.h"

#include "base/cleanup.h"
#include "glibc/arena-threads.h"
#include "glibc/layout.h"
#include "glibc/look.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/pages.h"
#include "os/ptrace.h"
#include "os/status.h"

#define PAGE_BYTES 4096
#define FLAG_BITS UINT64_C(7)
#define MAX_COPY_BYTES 0x308
#define NR_SAMPLES 32
/* Size of the sample of threads: most threads have a tcache. */
#define NR_THREADS (4 * NR_SAMPLES)
/* Number of words before and after the pointer to the arena. */
#define NEAR_WORDS 32
/* A thread may be moving a block into or out of a bin during the read. */
#define NR_TORN 1

static const struct tcache_layout_kind {
	struct tcache_layout l; /* members that do not depend on the word size */
	unsigned int first, last;
} kinds[] = {
	{ { .nr_bins = 76, .count_bytes = 2, .counts_down = true }, 42, MALLOC_ANY_LATER },
	/* 2.30, and the branches of 2.28 and 2.29 */
	{ { .nr_bins = 64, .count_bytes = 2 }, 28, 41 },
	{ { .nr_bins = 64, .count_bytes = 1 }, 26, 29 },
};

/* A cache, and our copy of its chunk. */
struct cache {
	raddr chunk;
	char copy[MAX_COPY_BYTES];
};

struct caches {
	const struct tcache_layout_kind *kind; /* of all of them; NULL: unknown */
	size_t nr, nr_used;		       /* NR_USED: those that are not empty */
	struct cache v[NR_SAMPLES];
};

static bool
tcache_layout_is_late(const struct look *k)
{
	return k->deadline_ns && os_now_ns() >= k->deadline_ns;
}

/* ---- reading memory that may not be present ---- */

static int
tcache_layout_sum_present(const struct os_page_run *run, void *arg)
{
	if (run->is_present)
		*(uint64_t *)arg += run->end.v - run->start.v;
	return 0;
}

/* Read SIZE bytes at AT, if the pages are present, which changes nothing in the target. */
static bool
tcache_layout_read_present(const struct look *k, raddr at, void *to, size_t size)
{
	raddr start = { at.v / PAGE_BYTES * PAGE_BYTES };
	raddr end = { round_up(at.v + size, PAGE_BYTES) };
	uint64_t present = 0;
	struct err e;

	return k->pages && look_is_anonymous(k, at) &&
		os_pages_walk(k->pages, start, end, false, tcache_layout_sum_present, &present,
			&e) == 0 &&
		present >= end.v - start.v && os_read(k->t, at, to, size, &e) == 0;
}

/* Return whether P can point to a block of malloc. */
static bool
tcache_layout_is_block(const struct look *k, uint64_t p)
{
	return p % k->l->align_bytes == 0 && look_is_anonymous(k, (raddr){ p });
}

/* ---- caches ---- */

static uint64_t
kind_chunk_bytes(const struct look *k, const struct tcache_layout_kind *kind)
{
	unsigned int word = k->l->word_bytes;

	return round_up(kind->l.nr_bins * (kind->l.count_bytes + word) + word, k->l->align_bytes);
}

/* Return the size of a copy up to the end of the block, which overlaps the next chunk's header. */
static size_t
kind_copy_bytes(const struct look *k, const struct tcache_layout_kind *kind)
{
	return kind_chunk_bytes(k, kind) + k->l->word_bytes;
}

/*
 * Return whether a chunk with SIZE in its header can contain a cache, and a rest too small for a
 * chunk.
 */
static bool
is_kind_size(const struct look *k, const struct tcache_layout_kind *kind, uint64_t size)
{
	uint64_t min_chunk_bytes = 4 * k->l->word_bytes;

	return (size & ~FLAG_BITS) - kind_chunk_bytes(k, kind) < min_chunk_bytes;
}

/*
 * Return the count of an empty bin: 0; or all of its slots, which is the largest count of any bin.
 */
static unsigned int
count_of_empty(const struct tcache_layout *l, const char *counts)
{
	unsigned int most = 0;

	for (unsigned int bin = 0; l->counts_down && bin < l->nr_bins; bin++)
		if (tcache_count(l, counts, bin) > most)
			most = tcache_count(l, counts, bin);
	return most;
}

/* Return whether CHUNK can be a cache, by its heads and by the counts of empty bins. */
static bool
can_be_cache(const struct look *k, const struct tcache_layout *l, const char *chunk)
{
	const char *counts = chunk + 2 * k->l->word_bytes;
	unsigned int empty = count_of_empty(l, counts), nr_torn = 0;

	for (unsigned int bin = 0; bin < l->nr_bins; bin++) {
		uint64_t head = tcache_head(k->l, l, counts, bin);

		if (head && !tcache_layout_is_block(k, head))
			return false;
		nr_torn += (tcache_count(l, counts, bin) == empty) == (head != 0);
	}
	return nr_torn <= NR_TORN;
}

/* Return whether a bin of the cache in CHUNK has blocks. */
static bool
is_used_cache(const struct look *k, const struct tcache_layout *l, const char *chunk)
{
	for (unsigned int bin = 0; bin < l->nr_bins; bin++)
		if (tcache_head(k->l, l, chunk + 2 * k->l->word_bytes, bin))
			return true;
	return false;
}

/* Return whether the caches of KIND may exist, if C has only caches of one kind. */
static bool
is_kind_possible(
	const struct look *k, const struct caches *c, const struct tcache_layout_kind *kind)
{
	return (!c->kind || c->kind == kind) && kind->first <= k->l->last &&
		kind->last >= k->l->first;
}

/*
 * Read the chunk at AT into COPY: as many bytes as the largest possible cache has; only the header
 * if these are not all present.  Returns the number of bytes.
 */
static size_t
read_chunk(const struct look *k, const struct caches *c, raddr at, char *copy)
{
	size_t header = 2 * k->l->word_bytes, most = header;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (is_kind_possible(k, c, &kinds[i]) && kind_copy_bytes(k, &kinds[i]) > most)
			most = kind_copy_bytes(k, &kinds[i]);
	if (tcache_layout_read_present(k, at, copy, most))
		return most;
	return tcache_layout_read_present(k, at, copy, header) ? header : 0;
}

/* Add the chunk at AT to C if it is a cache; only of the same kind as those in C. */
static bool
add_cache(const struct look *k, struct caches *c, raddr at)
{
	struct cache *new = &c->v[c->nr];
	size_t got;

	if (c->nr == NR_SAMPLES || at.v % k->l->word_bytes)
		return false;
	got = read_chunk(k, c, at, new->copy);
	for (size_t i = 0; got && i < sizeof kinds / sizeof *kinds; i++) {
		size_t bytes = kind_copy_bytes(k, &kinds[i]);

		if (!is_kind_possible(k, c, &kinds[i]) ||
			!is_kind_size(k, &kinds[i], word_at(k, new->copy + k->l->word_bytes)) ||
			(bytes > got && !tcache_layout_read_present(k, at, new->copy, bytes)) ||
			!can_be_cache(k, &kinds[i].l, new->copy))
			continue;
		c->kind = &kinds[i];
		new->chunk = at;
		c->nr++;
		c->nr_used += is_used_cache(k, &kinds[i].l, new->copy);
		return true;
	}
	return false;
}

/* ---- the first chunks of heaps ---- */

/* Return the first chunk of a heap whose headers end at END: its block is aligned. */
static raddr
tcache_layout_first_chunk(const struct look *k, raddr end)
{
	unsigned int header = 2 * k->l->word_bytes;

	return (raddr){ round_up(end.v + header, k->l->align_bytes) - header };
}

/*
 * Up to 2.41 a thread's first malloc() makes its cache, which is often the first chunk of an arena.
 */
static void
add_first_chunks(const struct look *k, struct caches *c)
{
	if (k->l->params.sbrk_base.v)
		add_cache(k, c, tcache_layout_first_chunk(k, k->l->params.sbrk_base));
	for (size_t i = 1; i < k->a->nr && c->nr < NR_SAMPLES && !tcache_layout_is_late(k); i++)
		add_cache(k, c,
			tcache_layout_first_chunk(
				k, raddr_add(k->a->v[i].addr, k->l->state_bytes)));
}

/* ---- the threads' pointers ---- */

struct near {
	raddr start;
	uint64_t word[2 * NEAR_WORDS];
};

/*
 * Read the words around the threads' pointers to their arenas.  Returns the number of threads read.
 */
static size_t
read_near(const struct look *k, struct near *ret, size_t max)
{
	auto_free pid_t *tids = NULL;
	size_t nr_tids, nr = 0;
	struct err e;

	if (os_threads(k->t, NR_THREADS, &tids, &nr_tids, &e) < 0)
		return 0;
	for (size_t i = 0; i < nr_tids && nr < max; i++) {
		raddr slot = arenas_slot_of_thread(k->a, k->t, tids[i]);
		struct near *n = &ret[nr];

		if (!slot.v)
			continue;
		n->start.v = slot.v - NEAR_WORDS * sizeof *n->word;
		nr += os_read(k->t, n->start, n->word, sizeof n->word, &e) == 0;
	}
	return nr;
}

/*
 * Return whether word W of N can lead to a cache.  A pointer to a word that points to itself leads
 * to struct pthread, of which each thread has two (tcbhead_t: tcb and self).
 */
static bool
can_lead_to_cache(const struct look *k, const struct near *n, size_t w)
{
	uint64_t to = n->word[w], i = (to - n->start.v) / sizeof *n->word;

	return tcache_layout_is_block(k, to) && !(i < 2 * NEAR_WORDS && n->word[i] == to);
}

/*
 * Return whether A are more likely to be the caches than B: a block of zeroes, which a variable of
 * the program near the pointer may lead to, looks like an empty one of any kind.
 */
static bool
are_likelier(const struct caches *a, const struct caches *b)
{
	return a->nr_used != b->nr_used ? a->nr_used > b->nr_used : a->nr >= b->nr;
}

/*
 * Find the word near the threads' pointers to arenas that leads to the caches, and replace C by
 * these, if they are as many as C has or as threads were read.  C may have more than the present
 * threads, because of threads that have ended; if one of C is not empty, its kind is certain.
 */
static void
add_by_pointer(struct look *k, struct caches *c)
{
	struct near near[NR_SAMPLES];
	size_t nr = read_near(k, near, NR_SAMPLES), least = c->nr < nr ? c->nr : nr;
	const struct tcache_layout_kind *kind = c->nr_used ? c->kind : NULL;
	struct caches found, best = { 0 };

	for (size_t w = 0; w < 2 * NEAR_WORDS && !tcache_layout_is_late(k); w++) {
		found = (struct caches){ .kind = kind };
		/* Add the caches that word W near the threads' pointers to arenas points to. */
		for (size_t i = 0; i < nr; i++)
			if (can_lead_to_cache(k, &near[i], w))
				add_cache(k, &found,
					(raddr){ near[i].word[w] - 2 * k->l->word_bytes });
		if (found.nr && found.nr >= least && are_likelier(&found, &best)) {
			*c = best = found;
			k->l->tcache.from_slot_bytes =
				((int64_t)w - NEAR_WORDS) * (int64_t)sizeof(uint64_t);
		}
	}
}

/* ---- links ---- */

struct votes {
	size_t nr_plain, nr_mangled;
};

/*
 * Vote on LINK, which was read at AT and leads to a place BEFORE bytes before a block.  An old link
 * is a pointer; since 2.32 it is xor'ed with its own address (PROTECT_PTR).
 */
static void
vote_link(const struct look *k, struct votes *v, raddr at, uint64_t link, unsigned int before)
{
	uint64_t decoded = link ^ (at.v >> 12);

	v->nr_plain += !link || tcache_layout_is_block(k, link + before);
	v->nr_mangled += !decoded || tcache_layout_is_block(k, decoded + before);
}

/* Vote with the first chunks of the fast bins of ARENA; their links point to chunks. */
static void
vote_fastbins(const struct look *k, struct votes *v, raddr arena)
{
	unsigned int word = k->l->word_bytes, header = 2 * word;
	char heads[MALLOC_NR_FASTBINS * sizeof(uint64_t)], buf[sizeof(uint64_t)];
	struct err e;

	if (os_read(k->t, raddr_add(arena, k->l->fastbins), heads, k->l->nr_fastbins * word, &e) <
		0)
		return;
	for (unsigned int i = 0; i < k->l->nr_fastbins; i++) {
		raddr chunk = { word_at(k, heads + i * word) };
		raddr block = raddr_add(chunk, header);

		if (chunk.v && tcache_layout_is_block(k, block.v) &&
			tcache_layout_read_present(k, block, buf, word))
			vote_link(k, v, block, word_at(k, buf), header);
	}
}

static void
find_links(struct look *k, const struct caches *c)
{
	struct votes v = { 0 };

	for (size_t i = 0; i < c->nr; i++) {
		unsigned int word = k->l->word_bytes;

		for (unsigned int bin = 0; bin < c->kind->l.nr_bins; bin++) {
			raddr block = { tcache_head(
				k->l, &c->kind->l, c->v[i].copy + 2 * word, bin) };
			char link[sizeof(uint64_t)];

			if (block.v && tcache_layout_read_present(k, block, link, word))
				vote_link(k, &v, block, word_at(k, link), 0);
		}
	}
	for (size_t i = 0; k->l->fastbins && i < k->a->nr && i < NR_SAMPLES; i++)
		vote_fastbins(k, &v, k->a->v[i].addr);
	if (v.nr_plain == v.nr_mangled) {
		k->l->has_safe_linking = k->l->first >= 32;
	} else {
		k->l->has_safe_linking = v.nr_mangled > v.nr_plain;
		look_note(k, "%s links", k->l->has_safe_linking ? "mangled" : "plain");
		if (k->l->has_safe_linking)
			look_narrow(k, 32, MALLOC_ANY_LATER);
		else
			look_narrow(k, 0, 31);
	}
}

void
look_for_tcache(struct look *k)
{
	struct caches c = { 0 };
	int64_t from_slot_bytes;

	add_first_chunks(k, &c);
	add_by_pointer(k, &c);
	/* Only one kind is possible, even if no thread has a cache now. */
	if (!c.kind && k->l->first >= 42)
		c.kind = &kinds[0];
	if (c.kind) {
		from_slot_bytes = k->l->tcache.from_slot_bytes;
		k->l->tcache = c.kind->l;
		k->l->tcache.from_slot_bytes = from_slot_bytes;
		k->l->tcache.chunk_bytes = kind_chunk_bytes(k, c.kind);
		look_narrow(k, c.kind->first, c.kind->last);
	}
	if (c.nr)
		look_note(k, "tcache of 0x%" PRIx64, k->l->tcache.chunk_bytes);
	find_links(k, &c);
}

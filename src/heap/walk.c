/*
 * The walk over a segment: chunk after chunk, from its first to its top or fence posts.
 *
 *	chunk ->  | prev_size | size | flags |   prev_size is the preceding chunk's, if that is free
 *	          | fd        | bk           |   only in free chunks: links of its bin
 *	          | ...                      |
 *	next  ->  | prev_size | size | P     |   P shows whether the preceding chunk is in use
 *
 * Chunks in tcaches and fast bins look used; the lists show them.  malloc_trim(0) first frees the
 * fast ones (malloc_consolidate()), so adjacent free and fast chunks are one piece to it.
 */
#include <config.h>

#include "heap/walk.h"

#include "glibc/layout.h"
#include "heap/heap-priv.h"
#include "heap/heap.h"
#include "heap/marks.h"
#include "heap/memory.h"
#include "heap/pages-priv.h"
#include "heap/runs.h"
#include "heap/scan.h"
#include "heap/visit.h"
#include "heap/walk-ends.h"
#include "heap/walk-priv.h"
#include "heap/walk-state.h"

#include <string.h>

/* ---- bins and sizes ---- */

unsigned int
heap_size_class(uint64_t bytes)
{
	unsigned int class;

	if (bytes < 1024)
		return (unsigned int)(bytes / 16);
	class = 64 + (63 - (unsigned int)__builtin_clzll(bytes)) - 10;
	return class < HEAP_NR_SIZES ? class : HEAP_NR_SIZES - 1;
}

uint64_t
heap_size_from(unsigned int size_class)
{
	return size_class < 64 ? size_class * 16 : UINT64_C(1024) << (size_class - 64);
}

static void
walk_sum_add(struct heap_sum *s, uint64_t bytes)
{
	s->count++;
	s->bytes += bytes;
}

static void
note_largest(struct heap_arena *arena, uint64_t addr, uint64_t bytes)
{
	size_t i = HEAP_NR_LARGEST - 1;

	if (bytes <= arena->largest[i].bytes)
		return;
	for (; i && arena->largest[i - 1].bytes < bytes; i--)
		arena->largest[i] = arena->largest[i - 1];
	arena->largest[i] = (struct heap_chunk){ { addr }, bytes };
}

/* ---- the visitor ---- */

/*
 * Give the visitor the contents of the present chunk, to the header of the next one.  Pages that
 * are not present are left out.
 */
static void
visit_words(struct heap_walk *w)
{
	const struct heap_visitor *visitor = w->visitor;
	uint64_t at = w->addr + 2 * w->word, end = w->addr + w->bytes + w->word;

	while (at < end) {
		const char *words = window_at(&w->w, at, w->word);
		uint64_t stop = w->w.end < end ? w->w.end : end;

		if (words) {
			visitor->words(words, stop - at, end - stop, visitor->arg);
			at = stop;
			continue;
		}
		stop = window_next_present(&w->w, at);
		if (stop == at) {
			stop = (at | (w->r->page_bytes - 1)) + 1;
			visitor->unread(stop - at, visitor->arg);
		}
		at = stop;
	}
}

/*
 * ---- chunks ----
 *
 * A heap may have a hundred million of them.  So what is done for each of them is inline, and keeps
 * one sum of it, by size.
 */

/* Return the bin of the present chunk by its size, which free neighbours often share. */
static inline unsigned int
bin_here(struct heap_walk *w)
{
	if (w->last.bytes != w->bytes) {
		w->last.bytes = w->bytes;
		w->last.bin = bin_of(w->r->l, w->bytes);
	}
	return w->last.bin;
}

static inline __attribute__((always_inline)) int
take_free(struct heap_walk *w, struct walk_links links, bool is_unsorted)
{
	struct heap_arena *arena = w->arena;
	unsigned int bin = is_unsorted ? 1 : bin_here(w);

	if (w->raw & NON_MAIN_ARENA || !(w->raw & PREV_INUSE))
		return heap_arena_doubt(
			arena, "the free chunk at 0x%" PRIx64 " has odd flags", w->addr);
	link_sums_add(&w->link_sums, w->addr, links.fd, links.bk);
	if (!w->s->runs.is_used)
		bin_add(&arena->bin[bin - 1], w->raw);
	else if (is_unsorted)
		return heap_arena_doubt(
			arena, "the chunk at 0x%" PRIx64 " is in two lists", w->addr);
	else if (!runs_add(&w->s->runs, w->addr, w->raw, links.fd, links.bk, bin))
		return 1;
	walk_sum_add(&arena->free_size[heap_size_class(w->bytes)], w->bytes);
	note_largest(arena, w->addr, w->bytes);
	walk_add_to_piece(w, w->bytes);
	return 0;
}

static void
take_fast(struct heap_walk *w)
{
	walk_sum_add(&w->fast_sum, w->bytes);
	walk_sum_add(&w->arena->free_size[heap_size_class(w->bytes)], w->bytes);
	walk_add_to_piece(w, 0);
}

static inline __attribute__((always_inline)) void
take_used(struct heap_walk *w, bool is_cached)
{
	struct heap_segment *seg = w->seg;
	uint64_t below = w->piece_bytes;

	walk_end_piece(w);
	walk_sum_add(&w->arena->used_size[heap_size_class(w->bytes)], w->bytes);
	if (is_cached) {
		walk_sum_add(&w->cached_sum, w->bytes);
		page_ledger_add(&w->ledger, PART_CACHED, w->bytes);
		return;
	}
	seg->last_in_use = (struct heap_chunk){ { w->addr }, w->bytes };
	seg->below_bytes = below;
	page_ledger_add(&w->ledger, PART_USED, w->bytes);
}

/* Find the first cached chunk at or above w->addr. */
static void
seek_cached(struct heap_walk *w)
{
	const struct marks *m = &w->r->cached;

	while (w->at_cached < m->nr && mark_chunk(&m->v[w->at_cached]) < w->addr)
		w->at_cached++;
	w->cached = w->at_cached < m->nr ? mark_chunk(&m->v[w->at_cached]) : UINT64_MAX;
}

/* Return whether the chunk at w->addr is in a thread's cache. */
static inline bool
is_cached_here(struct heap_walk *w)
{
	if (w->cached < w->addr)
		seek_cached(w);
	return w->cached == w->addr;
}

static inline __attribute__((always_inline)) int
take_chunk(struct heap_walk *w, struct walk_links links, bool is_free)
{
	bool is_cached = is_cached_here(w);
	bool has_mark = w->has_map && is_marked(w->s, w->seg_nr, w->addr);

	walk_visit_chunk(w, w->addr, w->bytes,
		is_free || has_mark ? HEAP_USE_FREE
			: is_cached ? HEAP_USE_CACHED
				    : HEAP_USE_BLOCK);
	if (is_cached && (is_free || has_mark))
		return heap_arena_doubt(
			w->arena, "the chunk at 0x%" PRIx64 " is in two lists", w->addr);
	if (is_free)
		return take_free(w, links, has_mark);
	if (has_mark)
		take_fast(w);
	else
		take_used(w, is_cached);
	return 0;
}

/* ---- the walk ---- */

static inline bool
walk_fits(const struct heap_walk *w)
{
	return w->bytes >= w->min_bytes && w->bytes <= w->end - w->addr;
}

static inline bool
is_size(const struct heap_walk *w)
{
	return !(w->raw & w->odd_bits) && walk_fits(w);
}

static inline struct walk_links
links_from(const char *at, unsigned int word)
{
	return (struct walk_links){ word_from(at, word), word_from(at + word, word) };
}

/*
 * Return whether the present chunk is near: it has a valid size, ends before the segment does, and
 * the header that follows is in the window.  Its own header is at w->reach or before.
 */
static inline bool
is_near_chunk(const struct heap_walk *w)
{
	return !(w->raw & w->odd_bits) && w->bytes >= w->min_bytes &&
		w->bytes <= w->reach - w->addr;
}

/*
 * Set the reach of the chunks from ADDR on, whose header is in the window.  No chunk is near for a
 * visitor, which is given its contents.
 */
static void
set_reach(struct heap_walk *w, uint64_t addr)
{
	uint64_t last_header = w->w.end - 2 * w->word;

	w->reach = w->visitor ? addr : last_header < w->end ? last_header : w->end - 1;
}

/*
 * Return the header of the next chunk, for which the window may have to move; NULL if it is not
 * present.  The links of the present chunk are stored before.
 */
static const char *
far_header(struct heap_walk *w)
{
	uint64_t next = w->addr + w->bytes;
	const char *links = window_at(&w->w, w->addr + 2 * w->word, 2 * w->word), *header;

	w->links = links ? links_from(links, w->word) : (struct walk_links){ 0 };
	if (w->visitor)
		visit_words(w);
	header = window_at(&w->w, next, 2 * w->word);
	if (header)
		set_reach(w, next);
	return header;
}

static int
bad_size(const struct heap_walk *w)
{
	return heap_arena_doubt(
		w->arena, "the chunk at 0x%" PRIx64 " has size 0x%" PRIx64, w->addr, w->raw);
}

static int
not_present(const struct heap_walk *w, uint64_t addr)
{
	return heap_arena_doubt(w->arena, "the page at 0x%" PRIx64 " is %s",
		addr & ~(w->r->page_bytes - 1),
		reader_is_swapped(w->r, addr, 1) ? "in swap" : "not in memory");
}

/* Checked with every piece that is read: often enough, at a negligible cost. */
static bool
walk_is_late(struct heap_walk *w)
{
	w->nr_reads = w->w.nr_reads;
	return reader_is_late(w->r);
}

/* As walk_chunks() from HEADER on.  WORD is w->word, a constant where this is called. */
static inline __attribute__((always_inline)) int
walk_headers(struct heap_walk *w, const char *header, uint64_t stop, unsigned int word)
{
	w->raw = word_from(header + word, word);
	set_reach(w, w->addr);
	while (w->addr != stop) {
		struct walk_links links;
		uint64_t raw, prev;
		bool is_free;

		w->bytes = w->raw & ~FLAG_BITS;
		if (is_near_chunk(w)) {
			w->w.nr_hits += 2; /* as window_at() counts them */
			links = links_from(header + 2 * word, word);
			header += w->bytes;
		} else {
			if (w->bytes <= 2 * word)
				return 0;
			if (!is_size(w) || w->addr + w->bytes == w->end)
				return bad_size(w);
			header = far_header(w);
			if (!header)
				return not_present(w, w->addr + w->bytes);
			if (w->w.nr_reads != w->nr_reads && walk_is_late(w))
				return heap_arena_doubt_late(w->arena);
			links = w->links;
		}
		prev = word_from(header, word);
		raw = word_from(header + word, word);
		is_free = !(raw & PREV_INUSE);
		if (is_free && prev != w->bytes)
			return bad_size(w);
		if (take_chunk(w, links, is_free))
			return 1;
		w->addr += w->bytes;
		w->raw = raw;
	}
	return 0;
}

/*
 * Walk from w->addr to STOP, which is top or the possible place of fence posts.  0, or 1 with an
 * inconsistency.
 */
static int
walk_chunks(struct heap_walk *w, uint64_t stop)
{
	const char *header = window_at(&w->w, w->addr, 2 * w->word);

	if (!header)
		return not_present(w, w->addr);
	return w->word == 8 ? walk_headers(w, header, stop, 8) : walk_headers(w, header, stop, 4);
}

/* ---- by lists ---- */

/* Count the bytes up to ADDR as in use: chunks, or malloc's own data. */
static void
take_gap(struct heap_walk *w, uint64_t addr)
{
	if (w->addr == addr)
		return;
	walk_end_piece(w);
	walk_visit_chunk(w, w->addr, addr - w->addr, HEAP_USE_UNKNOWN);
	w->gap_bytes += addr - w->addr;
	page_ledger_add(&w->ledger, PART_USED, addr - w->addr);
	w->addr = addr;
}

/* Return the marked chunk with the lowest address, including cached chunks. */
static const struct mark *
next_mark(struct heap_walk *w)
{
	const struct marks *m = &w->s->marks, *c = &w->r->cached;
	const struct mark *mark = w->at_mark < m->nr ? &m->v[w->at_mark] : NULL;
	const struct mark *cached = w->at_cached < c->nr ? &c->v[w->at_cached] : NULL;

	if (!mark || (cached && mark_chunk(cached) < mark_chunk(mark))) {
		w->at_cached += cached != NULL;
		return cached;
	}
	w->at_mark++;
	return mark;
}

static int
take_mark(struct heap_walk *w, enum mark_kind kind)
{
	w->s->nr_taken += kind != MARK_TCACHE;
	switch (kind) {
	case MARK_TCACHE:
		take_used(w, true);
		break;
	case MARK_FAST:
		take_fast(w);
		break;
	case MARK_TOP:
		if (!w->s->is_in_pieces && w->addr + w->bytes != w->seg->end.v)
			return bad_size(w);
		walk_take_top(w);
		return 0;
	case MARK_FENCE:
		walk_take_fence(w);
		return 0;
	case MARK_UNSORTED:
	case MARK_BINNED:
		if (take_free(w, (struct walk_links){ 0 }, kind == MARK_UNSORTED))
			return 1;
	}
	w->addr += w->bytes;
	return 0;
}

/* As walk_chunks(), but from one marked chunk to the next; the bytes between them are in use. */
static int
skim_chunks(struct heap_walk *w)
{
	uint64_t end = w->seg->end.v;
	const struct mark *mark;

	for (mark = next_mark(w); mark && mark_chunk(mark) < end; mark = next_mark(w)) {
		bool is_end = mark_kind(mark) == MARK_TOP || mark_kind(mark) == MARK_FENCE;

		if (mark_chunk(mark) < w->addr)
			return heap_arena_doubt(w->arena, "the lists have chunks that overlap");
		take_gap(w, mark_chunk(mark));
		w->raw = mark->raw;
		w->bytes = mark->raw & ~FLAG_BITS;
		/* The end of a heap need not be aligned like a chunk (i386). */
		if (is_end ? !walk_fits(w) : !is_size(w))
			return bad_size(w);
		if (take_mark(w, mark_kind(mark)))
			return 1;
	}
	take_gap(w, end);
	return 0;
}

/* ---- all of it ---- */

/* Return the first chunk after w->addr that a list leads to; UINT64_MAX if not found. */
static uint64_t
next_known(const struct heap_walk *w)
{
	const struct marks *cached = &w->r->cached;
	const uint64_t *map = w->s->stretch.v[w->seg_nr].map;
	uint64_t nr_bits = map_bit(w->s, w->seg_nr, w->seg->end.v);
	size_t i = marks_from(cached, w->addr + 1);
	uint64_t known = i < cached->nr ? mark_chunk(&cached->v[i]) : UINT64_MAX;

	for (uint64_t bit = map_bit(w->s, w->seg_nr, w->addr) + 1; map && bit < nr_bits; bit++) {
		uint64_t bits = map[bit / 64] >> bit % 64;
		uint64_t chunk;

		if (!bits) {
			bit |= 63;
			continue;
		}
		bit += (unsigned int)__builtin_ctzll(bits);
		chunk = w->seg->start.v + bit * w->r->l->align_bytes;
		return chunk < known ? chunk : known;
	}
	return known;
}

/*
 * Continue after an invalid chunk, as happens while the target runs, at the next one that a list
 * leads to.  The skipped bytes count as in use, because their state is unknown.
 */
static bool
resync(struct heap_walk *w, uint64_t stop)
{
	uint64_t known = next_known(w);

	if (w->r->is_late || (w->s->is_in_pieces && w->arena->is_contiguous) ||
		w->s->runs.has_too_many || known >= stop)
		return false;
	take_gap(w, known);
	return true;
}

/* Walk one heap, or the next piece of a segment of several pieces. */
static int
walk_piece(struct heap_walk *w)
{
	uint64_t top = w->arena->top.addr.v, end = w->seg->end.v;
	uint64_t stop = top >= w->addr && top < end ? top : end;

	while (walk_chunks(w, stop))
		if (!resync(w, stop))
			return 1;
	if (w->addr != top)
		return walk_expect_fence(w, stop);
	if (w->s->is_in_pieces ? w->arena->top.bytes > end - top : top + w->arena->top.bytes != end)
		return bad_size(w);
	walk_take_top(w);
	return 0;
}

static int
heap_walk_from(struct heap_walk *w)
{
	int bad = 0;

	if (w->arena->is_by_lists)
		return skim_chunks(w);
	while (!bad && w->addr < w->seg->end.v)
		bad = walk_piece(w);
	return bad;
}

static struct heap_sum
sum_sub(struct heap_sum a, struct heap_sum b)
{
	return (struct heap_sum){ a.count - b.count, a.bytes - b.bytes };
}

static void
sum_add_sum(struct heap_sum *s, struct heap_sum more)
{
	s->count += more.count;
	s->bytes += more.bytes;
}

static struct heap_sum
sizes_sum(const struct heap_sum size[HEAP_NR_SIZES])
{
	struct heap_sum sum = { 0 };

	for (int i = 0; i < HEAP_NR_SIZES; i++)
		sum_add_sum(&sum, size[i]);
	return sum;
}

/*
 * Add the sums of the segment to the arena; OLD_USED and OLD_FREE are the arena's sums before the
 * walk.
 */
static void
walk_add_up(const struct heap_walk *w, struct heap_sum old_used, struct heap_sum old_free)
{
	struct heap_arena *arena = w->arena;
	struct heap_sum used = sum_sub(sizes_sum(arena->used_size), old_used);
	struct heap_sum free = sum_sub(sizes_sum(arena->free_size), old_free);

	if (!arena->is_by_lists)
		w->r->heap->nr_chunks += used.count + free.count;
	used.bytes += w->gap_bytes;
	w->seg->in_use = sum_sub(used, w->cached_sum);
	w->seg->free = free;
	sum_add_sum(&arena->in_use, used);
	sum_add_sum(&arena->cached, w->cached_sum);
	sum_add_sum(&arena->fast, w->fast_sum);
	sum_add_sum(&arena->binned, sum_sub(free, w->fast_sum));
	w->s->sums.self += w->link_sums.self;
	w->s->sums.fd += w->link_sums.fd;
	w->s->sums.bk += w->link_sums.bk;
}

int
walk_segment(struct scan *s, size_t seg, struct err *e)
{
	raddr start = s->arena->segment.v[seg].start;
	const struct page_runs *runs = &s->stretch.v[seg].runs;
	struct heap_walk w = {
		.s = s,
		.r = s->r,
		.visitor = s->arena->is_by_lists ? NULL : s->r->visitor,
		.arena = s->arena,
		.seg = &s->arena->segment.v[seg],
		.seg_nr = seg,
		.huge_page = reader_hugetlb_page(s->r, start.v),
		.has_map = s->stretch.v[seg].map,
		.word = s->r->l->word_bytes,
		.odd_bits = IS_MMAPPED | ((s->r->l->align_bytes - 1) & ~FLAG_BITS),
		.min_bytes = min_chunk_bytes(s->r->l),
		.end = s->arena->segment.v[seg].end.v,
		.addr = start.v,
		.at_mark = marks_from(&s->marks, start.v),
		.at_cached = marks_from(&s->r->cached, start.v),
	};
	struct heap_sum used = sizes_sum(s->arena->used_size);
	struct heap_sum free = sizes_sum(s->arena->free_size);
	int bad;

	/* By lists all necessary memory has been read already. */
	if (!s->arena->is_by_lists && window_open(&w.w, s->r, runs, e) < 0)
		return -1;
	if (w.visitor) {
		window_read_whole(&w.w, start.v);
		w.visitor->segment(start, w.seg->end, w.visitor->arg);
	}
	runs_close(&s->runs);
	page_ledger_begin(&w.ledger, s->arena, runs, s->r->page_bytes, start.v);
	w.ledger.is_hugetlb = w.huge_page;
	bad = heap_walk_from(&w);
	if (bad)
		take_gap(&w, w.seg->end.v);
	page_ledger_end(&w.ledger);
	walk_add_up(&w, used, free);
	s->r->heap->read_bytes += w.w.read_bytes;
	window_close(&w.w);
	return bad;
}

/* malloc's lists of free chunks, and the time malloc_info() takes to go through them. */
#include <config.h>

#include "heap/lists.h"

#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "glibc/pieces.h"
#include "glibc/process.h"
#include "heap/copies.h"
#include "heap/heap-priv.h"
#include "heap/heap.h"
#include "heap/lists-priv.h"
#include "heap/marks.h"
#include "heap/memory.h"
#include "heap/pages-priv.h"
#include "heap/scan.h"
#include "os/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For a longer unsorted bin the walk finds the chunks (runs.c). */
#define UNSORTED_MAX 1024
/* A free chunk's size word and links; the links may be on the page after the header's. */
struct free_chunk {
	uint64_t raw, fd, bk;
};

static bool
lists_read_chunk(struct copies *c, uint64_t chunk, struct free_chunk *ret)
{
	unsigned int word = c->r->l->word_bytes;
	const char *pair = copies_pair(c, chunk);

	if (!pair)
		return false;
	ret->raw = word_in(c->r, pair + word);
	pair = copies_pair(c, chunk + 2 * word);
	if (!pair)
		return false;
	ret->fd = word_in(c->r, pair);
	ret->bk = word_in(c->r, pair + word);
	return true;
}

/* ---- storing chunks ---- */

/*
 * Set the bit of the chunk at ADDR.  Returns 0, 1 if it is not a valid chunk or its bit is set
 * already, or -1.
 */
static int
lists_set_bit(struct scan *s, uint64_t addr, struct err *e)
{
	ssize_t seg = segment_at(s->arena, addr);
	uint64_t bit, bytes, **map;

	if (seg < 0)
		return 1;
	bytes = s->arena->segment.v[seg].end.v - s->arena->segment.v[seg].start.v;
	map = &s->stretch.v[seg].map;
	if (!*map)
		*map = calloc(bytes / s->r->l->align_bytes / 64 + 1, sizeof **map);
	if (!*map)
		return err_set(e, ENOMEM, "cannot list the free chunks");
	if (is_marked(s, (size_t)seg, addr))
		return 1;
	bit = map_bit(s, (size_t)seg, addr);
	(*map)[bit / 64] |= UINT64_C(1) << bit % 64;
	return 0;
}

static int
found(struct scan *s, uint64_t chunk, uint64_t raw, enum mark_kind kind, struct err *e)
{
	s->nr_unsorted += kind == MARK_UNSORTED;
	s->has_too_many = s->arena->is_by_lists &&
		(s->marks.nr >= s->max_marks || s->r->heap->read_bytes >= s->max_read_bytes);
	if (s->has_too_many)
		return 1;
	return s->arena->is_by_lists ? marks_add(&s->marks, chunk, raw, kind, e)
				     : lists_set_bit(s, chunk, e);
}

/* ---- the lists ---- */

struct heap_list {
	struct copies *copies;
	struct scan *s;
	uint64_t nr;		    /* chunks so far */
	uint64_t passed, passed_at; /* a chunk, and NR at that chunk */
};

/* Handle BAD (1, or -1 with E) for the list NAME, which has led to CHUNK. */
static int
bad_list(const struct heap_list *l, int bad, const char *name, unsigned int nr, uint64_t chunk)
{
	if (bad < 0)
		return -1;
	if (l->s->r->is_late)
		return heap_arena_doubt_late(l->s->arena);
	return heap_arena_doubt(l->s->arena,
		reader_is_swapped(l->s->r, chunk, (size_t)4 * l->s->r->l->word_bytes)
			? "the list of %s %u leads to a page in swap"
			: "the list of %s %u is damaged, or changed meanwhile",
		name, nr);
}

/* Return whether a list has more chunks than present memory can contain. */
static bool
is_too_long(struct heap_list *l)
{
	uint64_t nr_max = l->s->arena->resident_bytes / min_chunk_bytes(l->s->r->l);

	return ++l->nr > nr_max || (!(l->nr & 0xff) && reader_is_late(l->s->r));
}

/*
 * Return whether a singly linked list is circular: it reaches a chunk again that was stored when
 * the length doubled.
 */
static bool
is_circle(struct heap_list *l, uint64_t chunk)
{
	if (chunk == l->passed)
		return true;
	if (l->nr >= 2 * l->passed_at) {
		l->passed = chunk;
		l->passed_at = l->nr;
	}
	return false;
}

/* Follow fast bin NR from HEAD.  All of its chunks have one size (fastbin_index()). */
static int
follow_fast(struct heap_list *l, unsigned int nr, uint64_t head, struct err *e)
{
	const struct malloc_layout *layout = l->s->r->l;
	unsigned int word = layout->word_bytes;
	struct heap_bin *bin = &l->s->arena->fastbin[nr];

	for (uint64_t chunk = head, next; chunk; chunk = next) {
		struct free_chunk here;
		uint64_t bytes;
		int bad;

		if (scan_add_piece(l->s, chunk, e) < 0)
			return -1;
		if (is_too_long(l) || is_circle(l, chunk) ||
			!lists_read_chunk(l->copies, chunk, &here) ||
			(here.raw & ~FLAG_BITS) / (2 * word) != nr + 2)
			return bad_list(l, 1, "fast bin", nr, chunk);
		bytes = here.raw & ~FLAG_BITS;
		next = here.fd;
		if (layout->has_safe_linking)
			next ^= (chunk + 2 * word) >> 12;
		bad = found(l->s, chunk, bytes, MARK_FAST, e);
		if (bad)
			return bad_list(l, bad, "fast bin", nr, chunk);
		bin->count++;
		bin->total_bytes += bytes;
		bin->to_bytes = bytes;
		bin->from_bytes = bytes - (layout->align_bytes - 1);
	}
	return 0;
}

/* Follow bin NR (glibc's number), whose header is a chunk at HEAD with FD. */
static int
follow_bin(struct heap_list *l, unsigned int nr, uint64_t head, uint64_t fd, struct err *e)
{
	enum mark_kind kind = nr == 1 ? MARK_UNSORTED : MARK_BINNED;
	struct free_chunk here;

	for (uint64_t chunk = fd, before = head; chunk != head; before = chunk, chunk = here.fd) {
		int bad;

		if (scan_add_piece(l->s, chunk, e) < 0)
			return -1;
		if (is_too_long(l) || !lists_read_chunk(l->copies, chunk, &here) ||
			here.bk != before)
			return bad_list(l, 1, "bin", nr, chunk);
		bad = found(l->s, chunk, here.raw, kind, e);
		if (bad)
			return bad_list(l, bad, "bin", nr, chunk);
	}
	return 0;
}

static int
follow_fast_bins(struct heap_list *l, struct err *e)
{
	const struct malloc_layout *layout = l->s->r->l;
	int bad = 0;

	for (unsigned int i = 0; i < layout->nr_fastbins && !bad; i++)
		bad = follow_fast(l, i,
			word_in(l->s->r, l->s->state + layout->fastbins + i * layout->word_bytes),
			e);
	return bad;
}

static int
follow_bins(struct heap_list *l, unsigned int last, struct err *e)
{
	const struct malloc_layout *layout = l->s->r->l;
	unsigned int word = layout->word_bytes;
	int bad = 0;

	for (unsigned int i = 1; i <= last && !bad; i++) {
		unsigned int at = layout->bins + (i - 1) * 2 * word;

		bad = follow_bin(l, i, l->s->arena->addr.v + at - 2 * word,
			word_in(l->s->r, l->s->state + at), e);
	}
	return bad;
}

/* Return whether the unsorted bin has more than UNSORTED_MAX chunks. */
static bool
is_unsorted_long(struct heap_list *l)
{
	unsigned int at = l->s->r->l->bins;
	uint64_t head = l->s->arena->addr.v + at - 2 * l->s->r->l->word_bytes;
	uint64_t chunk = word_in(l->s->r, l->s->state + at);
	struct free_chunk here;

	for (int i = 0; i <= UNSORTED_MAX; i++, chunk = here.fd)
		if (chunk == head || !lists_read_chunk(l->copies, chunk, &here))
			return false;
	return true;
}

/*
 * Mark the fence posts of segment SEG, if it has them.  They are the last two headers of a heap
 * that top has left: of two words, then of two or zero words (sysmalloc(), malloc/malloc.c).
 */
static int
mark_fence(struct scan *s, size_t seg, struct err *e)
{
	const struct heap_segment *segment = &s->arena->segment.v[seg];
	uint64_t word = s->r->l->word_bytes, header = 2 * word, end = segment->end.v;
	uint64_t fence = ((end - header) & ~(uint64_t)(s->r->l->align_bytes - 1)) - header;
	char posts[4 * sizeof(uint64_t)];

	if (fence < segment->start.v ||
		raddr_in(s->arena->top.addr, segment->start, segment->end) ||
		!reader_look(s->r, fence, posts, 2 * header) ||
		(word_in(s->r, posts + word) & ~FLAG_BITS) != header ||
		(word_in(s->r, posts + header + word) & ~FLAG_BITS & ~header))
		return 0;
	return marks_add(&s->marks, fence, end - fence, MARK_FENCE, e);
}

/*
 * Mark the posts at the end of each piece of the main arena, except the one with top, if all pieces
 * are known.
 */
static int
mark_piece_fences(struct scan *s, struct err *e)
{
	const struct main_pieces *p = &s->r->pieces;
	uint64_t posts = 4 * (uint64_t)s->r->l->word_bytes, align = s->r->l->align_bytes;

	for (size_t i = 0; i < p->nr; i++) {
		uint64_t end = p->v[i].end.v;
		uint64_t fence = ((end - posts / 2) & ~(align - 1)) - posts / 2;

		if (!raddr_in(s->arena->top.addr, p->v[i].start, p->v[i].end) &&
			marks_add(&s->marks, fence, end - fence, MARK_FENCE, e) < 0)
			return -1;
	}
	return 0;
}

/* By lists: mark the ends of the heaps. */
static int
mark_ends(struct scan *s, struct err *e)
{
	if (s->is_in_pieces && !s->is_rough && mark_piece_fences(s, e) < 0)
		return -1;
	for (size_t i = 0; i < s->arena->segment.nr && (!s->is_in_pieces || s->is_rough) &&
		!reader_is_late(s->r);
		i++)
		if (mark_fence(s, i, e) < 0)
			return -1;
	return marks_add(&s->marks, s->arena->top.addr.v, s->arena->top.bytes, MARK_TOP, e);
}

int
lists_read(struct scan *s, struct err *e)
{
	auto_copies struct copies copies = { 0 };
	struct heap_list l = { .copies = &copies, .s = s };
	int bad, nr_single;

	/*
	 * Lists that copy only single pages around their chunks are faster than a walk; others are
	 * given up.
	 */
	nr_single = s->arena->is_by_lists && s->max_read_bytes != UINT64_MAX ? NR_SINGLE : 1;
	if (copies_open(&copies, s->r, s, nr_single, e) < 0)
		return -1;
	s->runs.is_used = !s->arena->is_by_lists && !s->follows_unsorted && is_unsorted_long(&l);
	bad = follow_fast_bins(&l, e);
	if (!bad)
		bad = follow_bins(&l, s->arena->is_by_lists ? HEAP_NR_BINS : !s->runs.is_used, e);
	if (!bad && s->arena->is_by_lists)
		bad = mark_ends(s, e);
	return bad;
}

/* ---- the time to go through the lists ---- */

/*
 * The time malloc_info() takes for a free chunk near the previous one in the list, and for one far
 * away, for which the processor waits for memory.
 */
#define NEAR_NS 40
#define FAR_NS 400
/* The limit for all arenas together, as a multiple of the limit for one. */
#define SUM_FACTOR 16
/* Size of the sample of the unsorted bin that shows whether most of its chunks are large. */
#define SAMPLE 16

struct list_cost {
	struct copies *copies;
	const struct arenas *arenas;
	uint64_t ns, max_ns;
	/* size from which an arena has too few chunks to matter */
	uint64_t large_bytes;
};

static void
add_chunk_cost(struct list_cost *n, uint64_t from, uint64_t to)
{
	uint64_t page = n->copies->r->page_bytes;

	n->ns += to - from + page < 2 * page ? NEAR_NS : FAR_NS;
}

/*
 * Add the cost of the list from CHUNK to END, a bin of the arena at STATE, unless half of it is
 * large.  A chunk that moves to another bin meanwhile would lead us round in that bin for ever.
 */
static void
add_bin_cost(struct list_cost *n, raddr state, uint64_t chunk, uint64_t end)
{
	uint64_t nr = 0, nr_large = 0, before = end;
	struct free_chunk here;

	for (; chunk != end && n->ns <= n->max_ns; before = chunk, chunk = here.fd) {
		if (raddr_in((raddr){ chunk }, state, raddr_add(state, STATE_MAX)) ||
			!lists_read_chunk(n->copies, chunk, &here) || here.bk != before)
			return;
		add_chunk_cost(n, before, chunk);
		nr_large += (here.raw & ~FLAG_BITS) >= n->large_bytes;
		if (++nr >= SAMPLE && 2 * nr_large >= nr)
			return;
	}
}

/* Return whether ADDR can be a link to a chunk, or the end of a list. */
static bool
is_link(struct reader *r, uint64_t addr)
{
	return !addr ||
		(addr % (2 * r->l->word_bytes) == 0 && reader_page(r, addr) == PAGE_PRESENT);
}

/*
 * Add the cost of a fast bin.  Whether its links are mangled (2.32+) is unknown; decoded the wrong
 * way, only one in sixteen is aligned, and most of these are invalid.
 */
static void
add_fastbin_cost(struct list_cost *n, uint64_t chunk)
{
	unsigned int word = n->arenas->word_bytes;
	enum { UNKNOWN, PLAIN, MANGLED } how = UNKNOWN;
	uint64_t before = 0;
	struct free_chunk here;

	while (chunk && n->ns <= n->max_ns && lists_read_chunk(n->copies, chunk, &here)) {
		uint64_t mangled = here.fd ^ (chunk + 2 * word) >> 12;

		if (how == UNKNOWN &&
			is_link(n->copies->r, here.fd) != is_link(n->copies->r, mangled))
			how = is_link(n->copies->r, here.fd) ? PLAIN : MANGLED;
		add_chunk_cost(n, before, chunk);
		before = chunk;
		chunk = how == PLAIN ? here.fd : mangled;
	}
}

/* Return the approximate size of an arena. */
static uint64_t
arena_bytes(const struct arena *a, const struct regions *m)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < a->nr_heaps; i++)
		bytes += a->heap[i].size_bytes;
	for (size_t i = 0; a->is_main && i < m->nr; i++)
		if (m->region[i].path && strcmp(m->region[i].path, "[heap]") == 0)
			bytes += m->region[i].end.v - m->region[i].start.v;
	return bytes;
}

/*
 * Add the cost of an arena's lists.  The bins are preceded by top and last_remainder, and these by
 * the fast bins, if any.
 */
static void
add_arena_cost(struct list_cost *n, const struct arena *a)
{
	const struct arenas *as = n->arenas;
	const struct reader *r = n->copies->r;
	unsigned int word = as->word_bytes, fast = 2 * sizeof(int32_t), last;
	char state[STATE_MAX];
	struct err e;

	if (as->bins_offset + HEAP_NR_BINS * 2 * word > sizeof state ||
		os_read(r->t, a->addr, state, as->bins_offset + HEAP_NR_BINS * 2 * word, &e) < 0)
		return;
	for (; fast + 2 * word < as->bins_offset; fast += word)
		add_fastbin_cost(n, word_in(r, state + fast));
	last = bin_of(r->l, n->large_bytes);
	for (unsigned int i = 1; i <= last; i++) {
		unsigned int at = as->bins_offset + (i - 1) * 2 * word;

		add_bin_cost(n, a->addr, word_in(r, state + at), a->addr.v + at - 2 * word);
	}
}

bool
heap_malloc_info_is_slow(const struct process *p, uint64_t max_ns)
{
	const struct arenas *a = &p->arenas;
	const struct malloc_layout layout = { .word_bytes = a->word_bytes,
		.align_bytes = 2 * a->word_bytes };
	struct heap heap = { 0 };
	/*
	 * Without page states: the chunks in a list are present, or malloc_info() brings them back
	 * as well.
	 */
	struct reader r = { .t = p->target,
		.m = &p->maps,
		.l = &layout,
		.heap = &heap,
		.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	auto_copies struct copies copies = { 0 };
	/* Half of the limit; its large chunks cannot take the other half. */
	struct list_cost n = { .copies = &copies, .arenas = a, .max_ns = max_ns / 2 };
	uint64_t sum = 0;
	struct err e;

	if (copies_open(&copies, &r, NULL, NR_SINGLE, &e) < 0)
		return false;
	for (size_t i = 0; i < a->nr; i++) {
		n.ns = 0;
		n.large_bytes = arena_bytes(&a->v[i], &p->maps) / (n.max_ns / FAR_NS + 1);
		add_arena_cost(&n, &a->v[i]);
		sum += n.ns;
		if (n.ns > n.max_ns || sum > SUM_FACTOR * n.max_ns)
			return true;
	}
	return false;
}

/*
 * One arena: its header, its segments one after the other, and the proof that what was seen can be
 * true all at once.
 */
#include <config.h>

#include "heap/heap-priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#define NONCONTIGUOUS 2
#define FLAGS_OFFSET sizeof(int32_t)

int
arena_doubt(struct heap_arena *arena, const char *fmt, ...)
{
	va_list ap;

	/* The first doubt counts, more than what was noted before. */
	if (arena->certainty == HEAP_APPROXIMATE)
		return 1;
	arena->certainty = HEAP_APPROXIMATE;
	va_start(ap, fmt);
	vsnprintf(arena->why, sizeof arena->why, fmt, ap);
	va_end(ap);
	return 1;
}

int
arena_doubt_late(struct heap_arena *arena)
{
	return arena_doubt(arena, "there was no time to read all of it");
}

/* It may still be right, but not for sure. */
static void
note_doubt(struct heap_arena *arena, const char *why)
{
	arena->certainty = HEAP_CONSISTENT;
	snprintf(arena->why, sizeof arena->why, "%s", why);
}

void
heap_arena_release(struct heap_arena *arena)
{
	free(arena->segment.v);
	free(arena->trim.range.v);
	*arena = (struct heap_arena){ .addr = arena->addr, .nr = arena->nr };
}

const char *
heap_certainty_name(enum heap_certainty c)
{
	static const char *const name[] = {
		[HEAP_APPROXIMATE] = "approximate",
		[HEAP_CONSISTENT] = "consistent",
		[HEAP_EXACT] = "exact",
	};

	return name[c];
}

/* ---- the header ---- */

static void
take_header(struct scan *s)
{
	const struct reader *r = s->r;
	const struct heap_layout *l = r->l;
	struct heap_arena *arena = s->arena;
	const char *state = s->state;
	int32_t mutex, flags;

	memcpy(&mutex, state, sizeof mutex);
	memcpy(&flags, state + FLAGS_OFFSET, sizeof flags);
	arena->certainty = HEAP_EXACT;
	if (r->is_stopped && mutex)
		note_doubt(arena, "a thread was at work in it");
	else if (r->doubt)
		note_doubt(arena, r->doubt);
	if (r->cache_doubt)
		arena_doubt(arena, "%s", r->cache_doubt);
	arena->is_contiguous = !(flags & NONCONTIGUOUS);
	arena->top.addr.v = word_in(r, state + l->top);
	arena->attached = l->attached ? (int)word_in(r, state + l->attached) : -1;
	arena->system_bytes = word_in(r, state + l->system_mem);
	arena->max_system_bytes = word_in(r, state + l->max_system);
}

/* ---- segments ---- */

/* Add [START, END), and learn which pages of it there are. */
static int
add_segment(struct scan *s, uint64_t start, uint64_t end, struct err *e)
{
	struct heap_arena *arena = s->arena;
	struct heap_segment *seg = array_add(&arena->segment);
	struct stretch *stretch = array_add(&s->stretch);

	if (!seg || !stretch)
		return err_set(e, ENOMEM, "cannot list the heaps of an arena");
	seg->start.v = start;
	seg->end.v = end;
	if (reader_add_runs(s->r, &stretch->runs, start & ~(s->r->page_bytes - 1), end, e) < 0)
		return -1;
	for (size_t i = 0; i < stretch->runs.nr; i++) {
		const struct page_run *run = &stretch->runs.v[i];

		*(run->is_present ? &arena->resident_bytes : &arena->swapped_bytes) +=
			run->end.v - run->start.v;
	}
	return 0;
}

/* The first chunk at or above ADDR whose block is aligned. */
static uint64_t
align_chunk(const struct heap_layout *l, uint64_t addr)
{
	uint64_t header = 2 * l->word_bytes, align = l->align_bytes;

	return ((addr + header + align - 1) & ~(align - 1)) - header;
}

/* Bytes of the top chunk by its header; 0 if that cannot be read. */
static uint64_t
top_bytes(struct reader *r, const struct heap_arena *arena)
{
	char word[sizeof(uint64_t)];

	if (!reader_look(r, arena->top.addr.v + r->l->word_bytes, word, r->l->word_bytes))
		return 0;
	return word_in(r, word) & ~FLAG_BITS;
}

uint64_t
brk_start(const struct reader *r)
{
	if (r->l->params.sbrk_base.v)
		return align_chunk(r->l, r->l->params.sbrk_base.v);
	for (size_t i = 0; i < r->m->nr; i++)
		if (r->m->region[i].path && strcmp(r->m->region[i].path, "[heap]") == 0)
			return r->m->region[i].start.v;
	return 0;
}

/*
 * The heaps of a thread arena, oldest first; maps/ has the first one first and then from the newest
 * down.  In the first one malloc_state is in front of the chunks.
 */
static int
heap_segments(struct scan *s, struct err *e)
{
	const struct arena *a = s->known;
	const struct reader *r = s->r;
	struct heap_arena *arena = s->arena;

	for (size_t i = 0; i < a->nr_heaps; i++) {
		const struct arena_heap *heap = &a->heap[i ? a->nr_heaps - i : 0];
		uint64_t start = heap->start.v + r->l->heap_info_bytes +
			(i ? 0 : r->l->state_bytes);

		arena->mprotect_bytes += heap->mapped_bytes;
		arena->page_bytes[HEAP_PAGE_RESERVED] +=
			r->arenas->heap_max_bytes - heap->size_bytes;
		if (add_segment(s, align_chunk(r->l, start), heap->start.v + heap->size_bytes, e) < 0)
			return -1;
	}
	return 0;
}

ssize_t
segment_at(const struct heap_arena *arena, uint64_t addr)
{
	for (size_t i = arena->segment.nr; i-- > 0;)
		if (raddr_in((raddr){ addr }, arena->segment.v[i].start, arena->segment.v[i].end))
			return (ssize_t)i;
	return -1;
}

/*
 * The main arena is in pieces when brk was in the way of something, so that malloc used mmap(), or
 * when somebody else used brk as well.  Where its pieces begin is not written anywhere; so it is
 * looked at by lists, in every mapping that one of them leads to.
 */
int
scan_add_piece(struct scan *s, uint64_t addr, struct err *e)
{
	struct heap_range piece;

	if (!s->is_in_pieces || segment_at(s->arena, addr) >= 0)
		return 0;
	piece = reader_mapping(s->r, addr);
	return piece.end.v ? add_segment(s, piece.start.v, piece.end.v, e) : 0;
}

static int
find_pieces(struct scan *s, struct err *e)
{
	struct heap_arena *arena = s->arena;
	uint64_t base = brk_start(s->r);

	arena->is_by_lists = s->is_in_pieces = true;
	if (!arena->why[0])
		snprintf(arena->why, sizeof arena->why,
			"its memory is not in one piece, so that it was read by its lists");
	if (base && scan_add_piece(s, base, e) < 0)
		return -1;
	return scan_add_piece(s, arena->top.addr.v, e);
}

static int
main_segment(struct scan *s, struct err *e)
{
	struct heap_arena *arena = s->arena;
	uint64_t start = brk_start(s->r), end = arena->top.addr.v + arena->top.bytes;
	uint64_t memory_end = reader_memory_end(s->r, start);

	arena->mprotect_bytes = arena->system_bytes;
	if (s->is_in_pieces || !start || start >= end || end - start > arena->system_bytes ||
		memory_end <= start)
		return find_pieces(s, e);
	if (end > memory_end) {
		arena_doubt(arena, "its top is larger than its memory");
		end = memory_end;
	}
	return add_segment(s, start, end, e);
}

static int
find_segments(struct scan *s, struct err *e)
{
	s->arena->top.bytes = top_bytes(s->r, s->arena);
	return s->arena->is_main ? main_segment(s, e) : heap_segments(s, e);
}

/* ---- the proof ---- */

static uint64_t
segments_bytes(const struct scan *s)
{
	const struct arena *a = s->known;
	raddr base = s->r->l->params.sbrk_base;
	uint64_t sum = 0;

	for (size_t i = 0; i < a->nr_heaps; i++)
		sum += a->heap[i].size_bytes;
	if (a->is_main && s->arena->segment.nr)
		sum = s->arena->segment.v[0].end.v -
			(base.v ? base.v : s->arena->segment.v[0].start.v);
	return sum;
}

/*
 * Between the pieces lies what is not the arena's, and where one mapping holds both, it cannot be
 * told whose a page is that no list leads to.
 */
static void
check_pieces(struct scan *s, uint64_t free)
{
	struct heap_arena *arena = s->arena;
	uint64_t room = arena->segment.nr * s->r->page_bytes, sum = 0, others, used;

	for (size_t i = 0; i < arena->segment.nr; i++)
		sum += arena->segment.v[i].end.v - arena->segment.v[i].start.v;
	arena->has_neighbours = sum > arena->system_bytes + room;
	if (arena->has_neighbours && arena->certainty == HEAP_EXACT)
		note_doubt(arena, "it shares mappings with others: not all that is resident need be its");
	arena->in_use.bytes = arena->system_bytes - free;
	if (s->fence_bytes <= arena->in_use.bytes)
		arena->in_use.bytes -= s->fence_bytes;
	used = arena->in_use.bytes - arena->cached.bytes;
	if (arena->cached.bytes > arena->in_use.bytes)
		used = 0;
	if (arena->live_resident_bytes > used)
		arena->live_resident_bytes = used;
	if (arena->resident_bytes <= arena->system_bytes + room)
		return;
	others = arena->resident_bytes - arena->system_bytes - room;
	if (others > arena->page_bytes[HEAP_PAGE_LIVE])
		others = arena->page_bytes[HEAP_PAGE_LIVE];
	arena->resident_bytes -= others;
	arena->page_bytes[HEAP_PAGE_LIVE] -= others;
}

/* With glibc.malloc.hugetlb=2 heaps are taken from the pool, as long as it has some (2.35). */
static void
see_hugetlb(struct scan *s)
{
	struct heap_arena *arena = s->arena;

	for (size_t i = 0; i < arena->segment.nr; i++)
		arena->is_hugetlb |= reader_hugetlb_page(s->r, arena->segment.v[i].start.v) != 0;
	if (arena->is_hugetlb && arena->certainty == HEAP_EXACT)
		note_doubt(arena, "it has pages of the hugetlb pool, which RSS does not count");
}

/* What is neither a chunk nor top is malloc's own: that is the accounting identity. */
static void
check_sums(struct scan *s)
{
	struct heap_arena *arena = s->arena;
	uint64_t free = arena->fast.bytes + arena->binned.bytes + arena->top.bytes, nr_fast = 0;

	for (unsigned int i = 0; i < s->r->l->nr_fastbins; i++)
		nr_fast += arena->fastbin[i].count;
	if (nr_fast != arena->fast.count || s->nr_unsorted != arena->bin[0].count)
		arena_doubt(arena, "a list leads to memory that is not the arena's");
	if (arena->is_by_lists && s->nr_taken != s->marks.nr)
		arena_doubt(arena, "a free chunk or its top is not in its memory");
	if (!arena->is_by_lists && (s->sums.self != s->sums.fd || s->sums.self != s->sums.bk))
		arena_doubt(arena, "the free chunks and the lists of them do not agree");
	if (free > arena->system_bytes) {
		arena_doubt(arena, "its free chunks are more than its memory");
		return;
	}
	if (s->is_in_pieces)
		check_pieces(s, free);
	else if (segments_bytes(s) != arena->system_bytes)
		arena_doubt(arena, "its heaps are not as large as it says");
	if (arena->in_use.bytes > arena->system_bytes - free)
		arena_doubt(arena, "its chunks are more than its memory");
	else
		arena->overhead_bytes = arena->system_bytes - free - arena->in_use.bytes;
}

/* Someone was at work in an arena whose header is not what it was. */
static int
check_unchanged(struct scan *s, struct err *e)
{
	char again[STATE_MAX];

	if (s->r->is_stopped)
		return 0;
	if (os_read(s->r->t, s->arena->addr, again, s->r->l->state_bytes, e) < 0)
		return -1;
	if (memcmp(s->state, again, s->r->l->state_bytes) != 0)
		arena_doubt(s->arena, "it changed while it was read");
	return 0;
}

/* ---- all of it ---- */

static void
sum_headers(struct scan *s)
{
	unsigned int word = s->r->l->word_bytes;

	for (unsigned int i = 0; i < HEAP_NR_BINS; i++) {
		unsigned int at = s->r->l->bins + i * 2 * word;

		link_sums_add(&s->sums, s->arena->addr.v + at - 2 * word,
			word_in(s->r, s->state + at), word_in(s->r, s->state + at + word));
	}
}

static int
walk_segments(struct scan *s, struct err *e)
{
	int bad = 0;

	for (size_t i = 0; i < s->arena->segment.nr && bad >= 0; i++)
		bad = walk_segment(s, i, e);
	return bad < 0 ? -1 : 0;
}

static void
scan_free(struct scan *s)
{
	for (size_t i = 0; s && i < s->stretch.nr; i++) {
		free(s->stretch.v[i].runs.v);
		free(s->stretch.v[i].map);
	}
	if (s) {
		free(s->stretch.v);
		free(s->marks.v);
	}
	free(s);
}

static void
scan_cleanup(struct scan **s)
{
	scan_free(*s);
}
#define auto_scan __attribute__((cleanup(scan_cleanup)))

/* Take A's header, into an arena of which nothing else is known.  NULL with E on failure. */
static struct scan *
scan_new(struct reader *r, const struct arena *a, bool by_lists, struct heap_arena *arena,
	struct err *e)
{
	auto_scan struct scan *s = calloc(1, sizeof *s);

	if (!s) {
		err_set(e, ENOMEM, "cannot read an arena");
		return NULL;
	}
	s->r = r;
	s->known = a;
	s->arena = arena;
	heap_arena_release(arena);
	arena->addr = a->addr;
	arena->is_main = a->is_main;
	arena->is_by_lists = by_lists;
	if (os_read(r->t, a->addr, s->state, r->l->state_bytes, e) < 0)
		return NULL;
	take_header(s);
	return take_ptr(&s);
}

/* What takes no more of the target's memory. */
static int
finish(struct scan *s, struct err *e)
{
	if (s->arena->is_by_lists &&
		(marks_sort(&s->marks, s->r, e) < 0 || walk_segments(s, e) < 0))
		return -1;
	check_sums(s);
	see_hugetlb(s);
	return 0;
}

int
arenas_finish(struct reader *r, struct err *e)
{
	int failed = 0;

	while (r->unfinished) {
		auto_scan struct scan *s = r->unfinished;

		r->unfinished = s->next;
		if (!failed && !s->is_cut)
			failed = finish(s, e);
	}
	return failed;
}

/*
 * Read A once, as one that is IN_PIECES or not.  Returns 0, 1 if it is and has to be read again as
 * such, or -1 with E.
 */
static int
read_once(struct reader *r, const struct arena *a, bool by_lists, bool in_pieces,
	struct heap_arena *arena, struct err *e)
{
	auto_scan struct scan *s = scan_new(r, a, by_lists, arena, e);

	if (!s)
		return -1;
	s->is_in_pieces = in_pieces;
	arena->has_pages = r->pages;
	/* An arena that nobody has allocated from: top is its empty unsorted bin (initial_top()). */
	if (!arena->system_bytes)
		return 0;
	if (find_segments(s, e) < 0 || lists_read(s, e) < 0)
		return -1;
	sum_headers(s);
	if (!arena->is_by_lists && !r->is_late && walk_segments(s, e) < 0)
		return -1;
	s->is_cut = r->is_late;
	if (s->is_cut)
		arena_doubt_late(arena);
	/* The walk has found that; who goes by the lists finds the pieces on the way. */
	if (s->is_in_pieces && !arena->is_by_lists && !s->is_cut)
		return 1;
	if (!s->is_cut && check_unchanged(s, e) < 0)
		return -1;
	s->next = r->unfinished;
	r->unfinished = take_ptr(&s);
	return 0;
}

int
arena_read(struct reader *r, const struct arena *a, bool by_lists, struct heap_arena *arena,
	struct err *e)
{
	int again = read_once(r, a, by_lists, false, arena, e);

	return again == 1 ? read_once(r, a, true, true, arena, e) : again;
}

/* ---- a glance ---- */

/* Of [START, END) present. */
static int
sum_present(struct reader *r, uint64_t start, uint64_t end, uint64_t *ret, struct err *e)
{
	struct page_runs runs = { 0 };
	int failed = reader_add_runs(r, &runs, start, end, e);

	for (size_t i = 0; i < runs.nr; i++)
		*ret += runs.v[i].is_present ? runs.v[i].end.v - runs.v[i].start.v : 0;
	free(runs.v);
	return failed;
}

int
arena_glance(struct reader *r, const struct arena *a, struct heap_arena *arena, struct err *e)
{
	auto_scan struct scan *s = scan_new(r, a, true, arena, e);
	uint64_t end;

	if (!s)
		return -1;
	if (!arena->system_bytes || !r->pages)
		return 0;
	arena->top.bytes = top_bytes(r, arena);
	end = arena->top.addr.v + arena->top.bytes;
	if (arena->is_main && !arena->is_contiguous) {
		s->is_in_pieces = true;
		return find_pieces(s, e);
	}
	/* The arena may have changed in between: then that is no top of a heap. */
	if (arena->is_main || (arena->top.addr.v ^ (end - 1)) & ~(r->arenas->heap_max_bytes - 1))
		return 0;
	arena->top_pages = top_pages(r->l, r->page_bytes, arena->top.addr.v, end);
	return sum_present(r, arena->top_pages.start.v, arena->top_pages.end.v,
		&arena->page_bytes[HEAP_PAGE_TOP], e);
}

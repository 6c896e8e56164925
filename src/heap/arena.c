/*
 * One arena: its header, its segments one after the other, and checks that all values are
 * consistent.
 */
#include <config.h>

#include "heap/arena.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "glibc/pieces.h"
#include "heap/arena-priv.h"
#include "heap/heap-priv.h"
#include "heap/lists-priv.h"
#include "heap/marks.h"
#include "heap/memory.h"
#include "heap/pages-priv.h"
#include "heap/runs.h"
#include "heap/scan.h"
#include "heap/trim-priv.h"
#include "heap/visit.h"
#include "heap/walk-priv.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/ptrace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONCONTIGUOUS 2
#define FLAGS_OFFSET sizeof(int32_t)

/* Note that the result may be right, but is uncertain. */
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
	const struct malloc_layout *l = r->l;
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
		heap_arena_doubt(arena, "%s", r->cache_doubt);
	arena->is_contiguous = !(flags & NONCONTIGUOUS);
	arena->top.addr.v = word_in(r, state + l->top);
	arena->attached = l->attached ? (int)word_in(r, state + l->attached) : -1;
	arena->system_bytes = word_in(r, state + l->system_mem);
	arena->max_system_bytes = word_in(r, state + l->max_system);
}

/* ---- segments ---- */

/* Add the present bytes of [START, END). */
static int
arena_sum_present(struct reader *r, uint64_t start, uint64_t end, uint64_t *ret, struct err *e)
{
	struct page_runs runs = { 0 };
	int failed = reader_add_runs(r, &runs, start, end, e);

	for (size_t i = 0; i < runs.nr; i++)
		*ret += runs.v[i].is_present ? runs.v[i].end.v - runs.v[i].start.v : 0;
	free(runs.v);
	return failed;
}

/*
 * Return the bytes of the top chunk by its header; 0 if that cannot be read, or is larger than the
 * whole arena.
 */
static uint64_t
arena_top_bytes(struct reader *r, struct heap_arena *arena)
{
	char word[sizeof(uint64_t)];
	uint64_t bytes;

	if (!reader_look(r, arena->top.addr.v + r->l->word_bytes, word, r->l->word_bytes))
		return 0;
	bytes = word_in(r, word) & ~FLAG_BITS;
	if (bytes <= arena->system_bytes)
		return bytes;
	heap_arena_doubt(arena, "the size of its top is damaged, or changed meanwhile");
	return 0;
}

/*
 * Count locked memory after the end of a heap: heap_trim() (malloc/arena.c) shrinks a heap with
 * madvise(), which does not release locked memory.
 */
static int
add_behind(struct scan *s, const struct arena_heap *heap, struct err *e)
{
	struct heap_arena *arena = s->arena;
	struct page_runs runs = { 0 };
	int failed = 0;

	if (heap->mapped_bytes > heap->size_bytes)
		failed = reader_add_runs(s->r, &runs, heap->start.v + heap->size_bytes,
			heap->start.v + heap->mapped_bytes, e);
	for (size_t i = 0; i < runs.nr && !failed && s->r->pages; i++) {
		uint64_t bytes = runs.v[i].end.v - runs.v[i].start.v;

		arena->page_bytes[HEAP_PAGE_RESERVED] -= bytes;
		arena->page_bytes[HEAP_PAGE_BEHIND] += runs.v[i].is_present ? bytes : 0;
		*(runs.v[i].is_present ? &arena->resident_bytes : &arena->swapped_bytes) += bytes;
	}
	free(runs.v);
	return failed;
}

/*
 * Add the heaps of a thread arena, oldest first; maps/ has the first one first and then from the
 * newest down.  In the first heap malloc_state precedes the chunks.
 */
static int
heap_segments(struct scan *s, struct err *e)
{
	const struct arena *a = s->known;
	const struct reader *r = s->r;
	struct heap_arena *arena = s->arena;

	for (size_t i = 0; i < a->nr_heaps; i++) {
		const struct arena_heap *heap = &a->heap[i ? a->nr_heaps - i : 0];
		uint64_t start =
			heap->start.v + r->l->heap_info_bytes + (i ? 0 : r->l->state_bytes);

		arena->mprotect_bytes += heap->mapped_bytes;
		arena->page_bytes[HEAP_PAGE_RESERVED] +=
			r->arenas->heap_max_bytes - heap->size_bytes;
		if (add_behind(s, heap, e) < 0)
			return -1;
		if (scan_add_segment(s, scan_align_chunk(r->l, start),
			    heap->start.v + heap->size_bytes, e) < 0)
			return -1;
	}
	return 0;
}

/* Read by lists, because some of the pieces are unknown. */
static int
rough_pieces(struct scan *s, struct err *e)
{
	struct heap_arena *arena = s->arena;
	uint64_t base = brk_start(s->r);

	arena->is_by_lists = s->is_rough = s->r->wants_pieces = true;
	if (base && scan_add_piece(s, base, e) < 0)
		return -1;
	return scan_add_piece(s, arena->top.addr.v, e);
}

/*
 * Count the memory between two pieces, from START to END: another user of brk owns it, but malloc
 * counts it.
 */
static int
add_foreign(struct scan *s, uint64_t start, uint64_t end, struct err *e)
{
	uint64_t page = s->r->page_bytes, resident = 0;

	s->arena->foreign.bytes += end - start;
	if (arena_sum_present(
		    s->r, (start + page - 1) & ~(page - 1), end & ~(page - 1), &resident, e) < 0)
		return -1;
	s->arena->foreign.resident_bytes += resident;
	return 0;
}

/*
 * Add the memory that other users took from brk before malloc continued after it: it counts as
 * malloc's until brk fails for the first time (sysmalloc(), malloc/malloc.c).  Returns 0, 1 if the
 * pieces are still less than malloc counts, or -1 with E.
 */
static int
add_foreign_gaps(struct scan *s, struct err *e)
{
	const struct main_pieces *p = &s->r->pieces;
	uint64_t brk = brk_start(s->r), brk_end = reader_memory_end(s->r, brk);
	const struct heap_arena *arena = s->arena;

	for (size_t i = 0; i + 1 < p->nr; i++) {
		uint64_t gap = p->v[i].end.v, end = p->v[i + 1].start.v;

		if (s->pieces_bytes + arena->foreign.bytes >= arena->system_bytes)
			break;
		if (end > gap && p->v[i].start.v >= brk && p->v[i + 1].end.v <= brk_end &&
			add_foreign(s, gap, end, e) < 0)
			return -1;
	}
	return s->pieces_bytes + arena->foreign.bytes != arena->system_bytes;
}

/*
 * Return the current end of piece I: only the one with top may have grown, if it is the last from
 * brk.
 */
static uint64_t
arena_piece_end(const struct scan *s, size_t i)
{
	const struct main_piece *p = &s->r->pieces.v[i];
	const struct heap_chunk *top = &s->arena->top;
	bool has_top = raddr_in(top->addr, p->start, p->end);

	return has_top && top->addr.v + top->bytes > p->end.v ? top->addr.v + top->bytes : p->end.v;
}

/*
 * Return the bytes that malloc counts before its first chunk, if brk did not begin at a multiple of
 * the alignment (sysmalloc(), front_misalign): another user took an odd number of bytes before.
 * Programs may do that; ld.so until 2.34 did for GLIBC_TUNABLES (elf/dl-tunables.c).
 */
static uint64_t
odd_bytes(const struct reader *r)
{
	uint64_t base = r->l->params.sbrk_base.v;

	return base ? scan_align_chunk(r->l, base) - base : 0;
}

/*
 * Adjacent pieces become one segment, with fence posts in it: there may be eight for each megabyte.
 */
static int
piece_segments(struct scan *s, struct err *e)
{
	const struct main_pieces *p = &s->r->pieces;
	raddr top = s->arena->top.addr;
	bool has_top = false;
	int lacks;

	s->is_in_pieces = true;
	s->pieces_bytes = odd_bytes(s->r);
	for (size_t i = 0, first = 0; i < p->nr; i++) {
		uint64_t end = arena_piece_end(s, i);

		has_top |= raddr_in(top, p->v[i].start, (raddr){ end });
		s->pieces_bytes += end - p->v[i].start.v;
		if (i + 1 < p->nr && p->v[i + 1].start.v == end)
			continue;
		if (scan_add_segment(s, scan_align_chunk(s->r->l, p->v[first].start.v), end, e) < 0)
			return -1;
		first = i + 1;
	}
	lacks = add_foreign_gaps(s, e);
	if (lacks < 0 || (has_top && !lacks))
		return lacks;
	s->arena->foreign.bytes = s->arena->foreign.resident_bytes = 0;
	return rough_pieces(s, e);
}

static int
main_segment(struct scan *s, struct err *e)
{
	struct heap_arena *arena = s->arena;
	uint64_t start = brk_start(s->r), end = arena->top.addr.v + arena->top.bytes;
	uint64_t memory_end = reader_memory_end(s->r, start);

	arena->mprotect_bytes = arena->system_bytes;
	if (s->is_in_pieces || !arena->is_contiguous || !start || start >= end ||
		end - start > arena->system_bytes || memory_end <= start)
		return piece_segments(s, e);
	if (end > memory_end) {
		heap_arena_doubt(arena, "its top is larger than its memory");
		end = memory_end;
	}
	return scan_add_segment(s, start, end, e);
}

static int
find_segments(struct scan *s, struct err *e)
{
	s->arena->top.bytes = arena_top_bytes(s->r, s->arena);
	return s->arena->is_main ? main_segment(s, e) : heap_segments(s, e);
}

/* ---- consistency checks ---- */

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
 * Handle missing pieces: mappings that lists lead to may contain memory of others, and the owner of
 * a page that no list leads to is unknown.
 */
static void
check_rough(struct scan *s, uint64_t free)
{
	struct heap_arena *arena = s->arena;
	uint64_t room = arena->segment.nr * s->r->page_bytes, sum = 0, others, used;
	char found[32], all[32];

	for (size_t i = 0; i < arena->segment.nr; i++)
		sum += arena->segment.v[i].end.v - arena->segment.v[i].start.v;
	arena->found_bytes = sum < arena->system_bytes ? sum : arena->system_bytes;
	if (sum + room < arena->system_bytes)
		heap_arena_doubt(arena,
			"its memory is not in one piece, and only %s of %s were found",
			text_bytes(sum, found, sizeof found),
			text_bytes(arena->system_bytes, all, sizeof all));
	arena->has_neighbours = sum > arena->system_bytes + room;
	if (arena->certainty == HEAP_EXACT)
		note_doubt(arena,
			"its memory is not in one piece and may share mappings with others': "
			"not all that is resident need be its");
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

/*
 * With glibc.malloc.hugetlb=2 heaps come from the hugetlb pool as long as the pool has pages
 * (2.35).
 */
static void
see_hugetlb(struct scan *s)
{
	struct heap_arena *arena = s->arena;

	for (size_t i = 0; i < arena->segment.nr; i++)
		arena->is_hugetlb |= reader_hugetlb_page(s->r, arena->segment.v[i].start.v) != 0;
	if (arena->is_hugetlb && arena->certainty == HEAP_EXACT)
		note_doubt(arena, "it has pages of the hugetlb pool, which RSS does not count");
}

/* Sum up the unsorted bin, now that all runs are known. */
static void
check_runs(struct scan *s)
{
	unsigned int at = s->r->l->bins, word = s->r->l->word_bytes;

	if (!runs_follow(
		    &s->runs, s->arena->addr.v + at - 2 * word, word_in(s->r, s->state + at)) ||
		!runs_sum_up(&s->runs, s->arena->bin))
		heap_arena_doubt(s->arena, "the list of bin 1 is damaged, or changed meanwhile");
	s->nr_unsorted = s->arena->bin[0].count;
}

/* Check the accounting identity: bytes that are neither a chunk nor top are malloc's own. */
static void
check_sums(struct scan *s)
{
	struct heap_arena *arena = s->arena;
	uint64_t free = arena->fast.bytes + arena->binned.bytes + arena->top.bytes, nr_fast = 0;

	if (s->runs.is_used)
		check_runs(s);
	for (unsigned int i = 0; i < s->r->l->nr_fastbins; i++)
		nr_fast += arena->fastbin[i].count;
	if (nr_fast != arena->fast.count || s->nr_unsorted != arena->bin[0].count)
		heap_arena_doubt(arena, "a list leads to memory that is not the arena's");
	if (arena->is_by_lists && s->nr_taken != s->marks.nr)
		heap_arena_doubt(arena, "a free chunk or its top is not in its memory");
	if (!arena->is_by_lists && (s->sums.self != s->sums.fd || s->sums.self != s->sums.bk))
		heap_arena_doubt(arena, "the free chunks and the lists of them do not agree");
	if (free > arena->system_bytes) {
		heap_arena_doubt(arena, "its free chunks are more than its memory");
		return;
	}
	arena->found_bytes = s->is_in_pieces ? arena->system_bytes : segments_bytes(s);
	if (s->is_rough)
		check_rough(s, free);
	else if (arena->found_bytes != arena->system_bytes)
		heap_arena_doubt(arena, "its heaps are not as large as it says");
	if (arena->in_use.bytes > arena->system_bytes - free)
		heap_arena_doubt(arena, "its chunks are more than its memory");
	else
		arena->overhead_bytes = arena->system_bytes - free - arena->in_use.bytes;
}

/* Report an arena whose header changed while it was read. */
static int
check_unchanged(struct scan *s, struct err *e)
{
	char again[STATE_MAX];

	if (s->r->is_stopped)
		return 0;
	if (os_read(s->r->t, s->arena->addr, again, s->r->l->state_bytes, e) < 0)
		return -1;
	if (memcmp(s->state, again, s->r->l->state_bytes) != 0)
		heap_arena_doubt(s->arena, "it changed while it was read");
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
scan_cleanup(struct scan **scan)
{
	struct scan *s = *scan;

	for (size_t i = 0; s && i < s->stretch.nr; i++) {
		free(s->stretch.v[i].runs.v);
		free(s->stretch.v[i].map);
	}
	if (s) {
		free(s->stretch.v);
		free(s->marks.v);
		free(s->runs.v);
	}
	free(s);
}
#define auto_scan __attribute__((cleanup(scan_cleanup)))

/* Read A's header into ARENA, whose other members are reset.  NULL with E on failure. */
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

/* Check that each resident page has a class, unless an overlapping chunk hid some. */
static void
arena_check_pages(struct scan *s)
{
	struct heap_arena *arena = s->arena;
	char known[32], all[32];
	uint64_t sum = 0;

	for (int i = HEAP_PAGE_LIVE; i <= HEAP_PAGE_BEHIND; i++)
		sum += arena->page_bytes[i];
	if (arena->has_pages && arena->system_bytes && sum != arena->resident_bytes)
		heap_arena_doubt(arena, "of %s that are resident the use of %s was found",
			text_bytes(arena->resident_bytes, all, sizeof all),
			text_bytes(sum, known, sizeof known));
}

/* Do the steps that do not read the target's memory. */
static int
arena_finish(struct scan *s, struct err *e)
{
	if (s->arena->is_by_lists &&
		(marks_sort(&s->marks, s->r, e) < 0 || walk_segments(s, e) < 0))
		return -1;
	check_sums(s);
	see_hugetlb(s);
	arena_check_pages(s);
	return 0;
}

int
reader_finish_arenas(struct reader *r, struct err *e)
{
	int failed = 0;

	while (r->unfinished) {
		auto_scan struct scan *s = r->unfinished;

		r->unfinished = s->next;
		if (!failed && !s->is_cut)
			failed = arena_finish(s, e);
	}
	return failed;
}

/* How to read an arena. */
struct manner {
	bool by_lists;
	bool in_pieces;	       /* the main arena was found to be in pieces */
	bool follows_unsorted; /* the walk could not store the contents of the unsorted bin */
};

/*
 * A walk copies all of an arena once.  Lists that copy a part of it take less, but each of their
 * chunks takes as long as a walk does for some hundred bytes, and if they are in random order pages
 * are copied again and again.  So a walk replaces the lists when they have copied a third of the
 * arena, or have a chunk for 8 KiB of it.  In a small arena that does not pay, and in one that is
 * hardly resident the bits of a walk take too much memory.
 */
#define READ_SHARE 3
#define READ_LEAST (UINT64_C(4) << 20)
#define WIDE 8
#define BYTES_PER_MARK 8192
#define MARKS_LEAST 8192
#define WALKED_BYTES_PER_NS 2

/*
 * Limit the lists to the point from which a walk takes less, unless a walk does not fit into the
 * stop.
 */
static void
bound_lists(struct scan *s)
{
	const struct reader *r = s->r;
	uint64_t resident = s->arena->resident_bytes;
	uint64_t marks = resident / BYTES_PER_MARK, bytes = resident / READ_SHARE;

	s->max_marks = MARKS_MAX;
	s->max_read_bytes = UINT64_MAX;
	if (s->is_rough || r->has_no_walk || s->arena->system_bytes / WIDE > resident ||
		(r->deadline_ns && os_now_ns() + resident / WALKED_BYTES_PER_NS > r->deadline_ns))
		return;
	marks = marks > MARKS_LEAST ? marks : MARKS_LEAST;
	s->max_marks = marks < MARKS_MAX ? marks : MARKS_MAX;
	s->max_read_bytes = r->heap->read_bytes + (bytes > READ_LEAST ? bytes : READ_LEAST);
}

/*
 * Read A once, in the manner HOW.  Returns 0, 1 if HOW was changed and it has to be read again, or
 * -1 with E.
 */
static int
arena_read_once(struct reader *r, const struct arena *a, struct manner *how,
	struct heap_arena *arena, struct err *e)
{
	auto_scan struct scan *s = scan_new(r, a, how->by_lists, arena, e);

	if (!s)
		return -1;
	s->is_in_pieces = how->in_pieces;
	s->follows_unsorted = how->follows_unsorted;
	arena->has_pages = r->pages;
	/* An arena without any allocation: top is its empty unsorted bin (initial_top()). */
	if (!arena->system_bytes)
		return 0;
	if (find_segments(s, e) < 0)
		return -1;
	bound_lists(s);
	if (lists_read(s, e) < 0)
		return -1;
	/* The lists are too long: walk instead. */
	if (s->has_too_many && !s->is_rough) {
		how->by_lists = false;
		return 1;
	}
	sum_headers(s);
	if (!arena->is_by_lists && !r->is_late && walk_segments(s, e) < 0)
		return -1;
	s->is_cut = r->is_late;
	if (s->is_cut)
		heap_arena_doubt_late(arena);
	if (s->runs.has_too_many && !s->is_cut) {
		how->follows_unsorted = true;
		return 1;
	}
	/* The walk has found fence posts in the middle of a segment. */
	if (s->is_in_pieces && !how->in_pieces && arena->is_contiguous && !arena->is_by_lists &&
		!s->is_cut) {
		how->in_pieces = true;
		return 1;
	}
	if (!s->is_cut && check_unchanged(s, e) < 0)
		return -1;
	s->next = r->unfinished;
	r->unfinished = take_ptr(&s);
	return 0;
}

int
reader_read_arena(struct reader *r, const struct arena *a, bool by_lists, struct heap_arena *arena,
	struct err *e)
{
	struct manner how = { .by_lists = by_lists };
	int again = 0;

	do {
		if (r->visitor)
			r->visitor->arena(again, r->visitor->arg);
		again = arena_read_once(r, a, &how, arena, e);
	} while (again > 0);
	return again;
}

/* ---- headers only ---- */

int
reader_glance_arena(
	struct reader *r, const struct arena *a, struct heap_arena *arena, struct err *e)
{
	auto_scan struct scan *s = scan_new(r, a, true, arena, e);
	uint64_t end;

	if (!s)
		return -1;
	if (!arena->system_bytes || !r->pages)
		return 0;
	arena->top.bytes = arena_top_bytes(r, arena);
	end = arena->top.addr.v + arena->top.bytes;
	if (arena->is_main && !arena->is_contiguous) {
		s->is_in_pieces = true;
		return rough_pieces(s, e);
	}
	/* The arena may have changed in between: then this is not the top of a heap. */
	if (arena->is_main || (arena->top.addr.v ^ (end - 1)) & ~(r->arenas->heap_max_bytes - 1))
		return 0;
	arena->top_pages = top_pages(r->l, r->page_bytes, arena->top.addr.v, end);
	return arena_sum_present(r, arena->top_pages.start.v, arena->top_pages.end.v,
		&arena->page_bytes[HEAP_PAGE_TOP], e);
}

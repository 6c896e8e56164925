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
#define STATE_MAX 4096

int
arena_doubt(struct heap_arena *arena, const char *fmt, ...)
{
	va_list ap;

	arena->certainty = HEAP_APPROXIMATE;
	if (arena->why[0])
		return 1;
	va_start(ap, fmt);
	vsnprintf(arena->why, sizeof arena->why, fmt, ap);
	va_end(ap);
	return 1;
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
take_header(struct reader *r, struct heap_arena *arena, const char *state)
{
	const struct heap_layout *l = r->l;
	int32_t mutex, flags;

	memcpy(&mutex, state, sizeof mutex);
	memcpy(&flags, state + FLAGS_OFFSET, sizeof flags);
	arena->certainty = r->is_stopped && !mutex ? HEAP_EXACT : HEAP_CONSISTENT;
	if (r->is_stopped && mutex)
		snprintf(arena->why, sizeof arena->why, "a thread was at work in it");
	arena->is_contiguous = !(flags & NONCONTIGUOUS);
	arena->top.addr.v = word_in(r, state + l->top);
	arena->attached = l->attached ? (int)word_in(r, state + l->attached) : -1;
	arena->system_bytes = word_in(r, state + l->system_mem);
	arena->max_system_bytes = word_in(r, state + l->max_system);
}

/* ---- segments ---- */

static int
add_segment(struct heap_arena *arena, uint64_t start, uint64_t end, struct err *e)
{
	struct heap_segment *seg = array_add(&arena->segment);

	if (!seg)
		return err_set(e, ENOMEM, "cannot list the heaps of an arena");
	seg->start.v = start;
	seg->end.v = end;
	return 0;
}

/* The first chunk at or above ADDR whose block is aligned. */
static uint64_t
align_chunk(const struct heap_layout *l, uint64_t addr)
{
	uint64_t header = 2 * l->word_bytes, align = l->align_bytes;

	return ((addr + header + align - 1) & ~(align - 1)) - header;
}

/*
 * The heaps of a thread arena, oldest first; maps/ has the first one first and then from the newest
 * down.  In the first one malloc_state is in front of the chunks.
 */
static int
heap_segments(struct reader *r, const struct arena *a, struct heap_arena *arena, struct err *e)
{
	for (size_t i = 0; i < a->nr_heaps; i++) {
		const struct arena_heap *heap = &a->heap[i ? a->nr_heaps - i : 0];
		uint64_t start = heap->start.v + r->l->heap_info_bytes +
			(i ? 0 : r->l->state_bytes);

		arena->mprotect_bytes += heap->mapped_bytes;
		arena->page_bytes[HEAP_PAGE_RESERVED] +=
			r->arenas->heap_max_bytes - heap->size_bytes;
		if (add_segment(arena, align_chunk(r->l, start), heap->start.v + heap->size_bytes,
			    e) < 0)
			return -1;
	}
	return 0;
}

/* Bytes of the top chunk by its header; 0 if that cannot be read. */
static uint64_t
top_bytes(struct reader *r, const struct heap_arena *arena)
{
	uint64_t word = 0;
	struct err e;

	if (os_read(r->t, raddr_add(arena->top.addr, r->l->word_bytes), &word, r->l->word_bytes,
		    &e) < 0)
		return 0;
	return word_in(r, (const char *)&word) & ~FLAG_BITS;
}

/* Where brk's memory begins, as malloc remembers or the kernel's name says. */
static uint64_t
brk_start(const struct reader *r)
{
	if (r->l->params.sbrk_base.v)
		return align_chunk(r->l, r->l->params.sbrk_base.v);
	for (size_t i = 0; i < r->m->nr; i++)
		if (r->m->region[i].path && strcmp(r->m->region[i].path, "[heap]") == 0)
			return r->m->region[i].start.v;
	return 0;
}

static int
main_segment(struct reader *r, struct heap_arena *arena, struct err *e)
{
	uint64_t start = brk_start(r), end = arena->top.addr.v + arena->top.bytes;

	arena->mprotect_bytes = arena->system_bytes;
	if (start && start < end && end - start <= arena->system_bytes)
		return add_segment(arena, start, end, e);
	arena_doubt(arena, "its memory is not in one piece, and only the last of it was read");
	return 0;
}

static int
find_segments(struct reader *r, const struct arena *a, struct heap_arena *arena, struct err *e)
{
	arena->top.bytes = top_bytes(r, arena);
	return arena->is_main ? main_segment(r, arena, e) : heap_segments(r, a, arena, e);
}

/* ---- the proof ---- */

static uint64_t
segments_bytes(const struct reader *r, const struct arena *a, const struct heap_arena *arena)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->nr_heaps; i++)
		sum += a->heap[i].size_bytes;
	if (arena->is_main && arena->segment.nr)
		sum = arena->segment.v[0].end.v -
			(r->l->params.sbrk_base.v ? r->l->params.sbrk_base.v
						  : arena->segment.v[0].start.v);
	return sum;
}

/* What is neither a chunk nor top is malloc's own: that is the accounting identity. */
static void
check_sums(struct reader *r, const struct arena *a, struct heap_arena *arena,
	const struct marks *marks, const struct link_sums *sums)
{
	uint64_t chunks = arena->in_use.bytes + arena->fast.bytes + arena->binned.bytes +
		arena->top.bytes;
	uint64_t nr_fast = 0, nr_unsorted = 0;

	for (size_t i = 0; i < marks->nr; i++) {
		nr_fast += marks->v[i].kind == MARK_FAST;
		nr_unsorted += marks->v[i].kind == MARK_UNSORTED;
	}
	if (nr_fast != arena->fast.count || nr_unsorted != arena->bin[0].count)
		arena_doubt(arena, "a list leads to memory that is not the arena's");
	if (!arena->is_by_lists && (sums->self != sums->fd || sums->self != sums->bk))
		arena_doubt(arena, "the free chunks and the lists of them do not agree");
	if (segments_bytes(r, a, arena) != arena->system_bytes)
		arena_doubt(arena, "its heaps are not as large as it says");
	if (chunks > arena->system_bytes)
		arena_doubt(arena, "its chunks are more than its memory");
	else
		arena->overhead_bytes = arena->system_bytes - chunks;
}

/* ---- all of it ---- */

static void
sum_headers(const struct reader *r, const struct heap_arena *arena, const char *state,
	struct link_sums *sums)
{
	unsigned int word = r->l->word_bytes;

	for (unsigned int i = 0; i < HEAP_NR_BINS; i++) {
		unsigned int at = r->l->bins + i * 2 * word;

		link_sums_add(sums, arena->addr.v + at - 2 * word, word_in(r, state + at),
			word_in(r, state + at + word));
	}
}

static int
walk_all(struct reader *r, struct heap_arena *arena, const char *state, const struct marks *marks,
	struct link_sums *sums, struct err *e)
{
	int bad = 0;

	sum_headers(r, arena, state, sums);
	for (size_t i = 0; i < arena->segment.nr && bad >= 0; i++)
		bad = walk_segment(r, arena, &arena->segment.v[i], i + 1 == arena->segment.nr,
			marks, sums, e);
	return bad < 0 ? -1 : 0;
}

int
arena_read(struct reader *r, const struct arena *a, bool by_lists, struct heap_arena *arena,
	struct err *e)
{
	char state[STATE_MAX], again[STATE_MAX];
	struct marks marks = { 0 };
	struct link_sums sums = { 0 };
	int result = -1;

	heap_arena_release(arena);
	arena->addr = a->addr;
	arena->is_main = a->is_main;
	arena->has_pages = r->pages;
	arena->is_by_lists = by_lists;
	if (os_read(r->t, a->addr, state, r->l->state_bytes, e) < 0)
		return -1;
	take_header(r, arena, state);
	/* An arena that nobody has allocated from: top is its empty unsorted bin (initial_top()). */
	if (!arena->system_bytes)
		return 0;
	if (find_segments(r, a, arena, e) == 0 && lists_mark(r, arena, state, by_lists, &marks, e) >= 0)
		result = walk_all(r, arena, state, &marks, &sums, e);
	if (result == 0)
		check_sums(r, a, arena, &marks, &sums);
	free(marks.v);
	if (result == 0 && !r->is_stopped) {
		if (os_read(r->t, a->addr, again, r->l->state_bytes, e) < 0)
			return -1;
		if (memcmp(state, again, r->l->state_bytes) != 0)
			arena_doubt(arena, "it changed while it was read");
	}
	return result;
}

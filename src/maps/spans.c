/*
 * What is known of the address space from elsewhere than the list of mappings: the kernel's brk,
 * ELF headers, malloc's and the thread library's structures.  Mappings merge and split as they
 * like, so each of these is an interval of addresses, and they are laid one under the other.
 */
#include <config.h>

#include "maps/maps-priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define PAGE_BYTES UINT64_C(4096)

int
spans_add(struct spans *s, const struct span *span)
{
	struct span *added;

	if (span->start.v >= span->end.v)
		return 0;
	added = array_add(s);
	if (!added)
		return -1;
	*added = *span;
	return 0;
}

static int
by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->start.v < y->start.v ? -1 : x->start.v > y->start.v;
}

void
spans_settle(struct spans *s)
{
	uint64_t taken_to = 0;
	size_t kept = 0;

	if (s->nr)
		qsort(s->v, s->nr, sizeof *s->v, by_start);
	for (size_t i = 0; i < s->nr; i++) {
		struct span span = s->v[i];

		if (span.start.v < taken_to)
			span.start.v = taken_to;
		if (span.start.v >= span.end.v)
			continue;
		taken_to = span.end.v;
		s->v[kept++] = span;
	}
	s->nr = kept;
}

int
spans_lay_under(struct spans *top, const struct spans *below)
{
	auto_spans struct spans both = { 0 };
	size_t t = 0, b = 0;
	uint64_t done_to = 0;	/* all below this is in BOTH */

	while (t < top->nr || b < below->nr) {
		uint64_t wall = t < top->nr ? top->v[t].start.v : UINT64_MAX;
		struct span piece = b < below->nr ? below->v[b] : top->v[t];

		if (piece.start.v < done_to)
			piece.start.v = done_to;
		if (b == below->nr || (piece.start.v >= wall && t < top->nr))
			piece = top->v[t++];
		else if (piece.end.v <= wall)
			b++;
		else
			piece.end.v = wall;
		if (spans_add(&both, &piece) < 0)
			return -1;
		if (piece.end.v > done_to)
			done_to = piece.end.v;
	}
	free(top->v);
	*top = both;
	both = (struct spans){ 0 };
	return 0;
}

void
spans_release(struct spans *s)
{
	free(s->v);
	*s = (struct spans){ 0 };
}

/* ---- where they come from ---- */

/* The ring begins with it. */
#define MAIN_ARENA 0

/* What may be written below SP without moving it (x86-64 ABI). */
#define RED_ZONE_BYTES 128

/* Where STACK, whose frames end at TOP, begins to be used.  Its highest page always is. */
static raddr
first_used(const struct thread_stack *stack, raddr top)
{
	uint64_t low = stack->start.v + stack->guard_bytes, used = low;

	if (stack->sp.v)
		used = (stack->sp.v - RED_ZONE_BYTES) & -PAGE_BYTES;
	if (used > top.v - PAGE_BYTES)
		used = top.v - PAGE_BYTES;
	return (raddr){ used > low ? used : low };
}

static enum leaf_kind
stack_kind(const struct thread_stack *stack)
{
	if (stack->is_main)
		return LEAF_MAIN_STACK;
	return stack->tid ? LEAF_THREAD_STACK : LEAF_CACHED_STACK;
}

static int
add_stack(struct spans *s, const struct thread_stack *stack)
{
	raddr low = raddr_add(stack->start, stack->guard_bytes);
	/* Of a thread that has ended nothing is in use. */
	raddr top = stack->tls.v && stack->tid ? stack->tls : stack->end;
	raddr used = first_used(stack, top);
	const struct {
		enum leaf_kind kind;
		raddr start, end;
	} part[] = {
		{ LEAF_STACK_GUARD, stack->start, low },
		{ LEAF_STACK_UNUSED, low, used },
		{ stack_kind(stack), used, top },
		{ LEAF_STACK_TLS, top, stack->end },
	};

	for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
		struct span span = SPAN_NONE;

		span.kind = (uint8_t)part[i].kind;
		span.confidence = stack->is_guess ? CONFIDENCE_GUESS : CONFIDENCE_VERIFIED;
		span.tid = stack->tid;
		span.start = part[i].start;
		span.end = part[i].end;
		if (spans_add(s, &span) < 0)
			return -1;
	}
	return 0;
}

static int
add_stacks(struct spans *s, const struct thread_stacks *stacks)
{
	for (size_t i = 0; i < stacks->nr; i++)
		if (add_stack(s, &stacks->v[i]) < 0)
			return -1;
	return 0;
}

/*
 * From start_brk to the end of the last mapping that is called [heap].  The kernel gives that name
 * to every mapping that touches the brk area, even to a bss that has merged with it.
 */
static int
add_main_heap(struct spans *s, const struct space *space, const struct os_stat *st)
{
	struct span span = SPAN_NONE;

	span.start.v = st->start_brk.v & -PAGE_BYTES;
	span.kind = LEAF_MAIN_HEAP;
	span.confidence = CONFIDENCE_EXACT;
	for (size_t i = 0; i < space->maps.nr; i++)
		if (region_is_heap(&space->maps.region[i]))
			span.end = space->maps.region[i].end;
	if (space->arenas.nr)
		span.arena = MAIN_ARENA;
	return span.start.v ? spans_add(s, &span) : 0;
}

static int
add_heap(struct spans *s, const struct arena_heap *h, int32_t arena, uint64_t heap_max_bytes)
{
	struct span span = SPAN_NONE;

	span.arena = arena;
	span.confidence = CONFIDENCE_VERIFIED;
	span.kind = LEAF_ARENA;
	span.start = h->start;
	span.end = raddr_add(h->start, h->mapped_bytes);
	if (spans_add(s, &span) < 0)
		return -1;
	/*
	 * Its neighbour may be a reserve as well, and the kernel merges the two: the heap ends
	 * where its alignment says, not where the mapping does.
	 */
	span.kind = LEAF_ARENA_RESERVE;
	span.start = span.end;
	span.end = raddr_add(h->start, heap_max_bytes);
	return spans_add(s, &span);
}

static int
add_arenas(struct spans *s, const struct arenas *a)
{
	for (size_t i = 0; i < a->nr; i++)
		for (size_t k = 0; k < a->v[i].nr_heaps; k++)
			if (add_heap(s, &a->v[i].heap[k], (int32_t)i, a->heap_max_bytes) < 0)
				return -1;
	return 0;
}

/*
 * All of an object counts as bss here: the mappings of its file say what the rest is.  Nobody else
 * can have the rest of its last page.
 */
static int
add_objects(struct spans *s, const struct objects *o)
{
	for (size_t i = 0; i < o->nr; i++) {
		struct span span = SPAN_NONE;

		span.start = o->v[i].start;
		span.end.v = (o->v[i].end.v + PAGE_BYTES - 1) & -PAGE_BYTES;
		span.kind = o->v[i].is_executable ? LEAF_EXE_BSS : LEAF_SO_BSS;
		span.confidence = CONFIDENCE_VERIFIED;
		span.object = (int32_t)i;
		if (spans_add(s, &span) < 0)
			return -1;
	}
	return 0;
}

/* ---- chunks ---- */

/* What malloc serves by mmap() is larger (DEFAULT_MMAP_THRESHOLD_MIN, malloc/malloc.c). */
#define CHUNK_MIN_BYTES (UINT64_C(128) << 10)

struct seeker {
	const struct space *space;
	const struct target *t;
	struct os_pages *pages;
	struct piece_search *pieces;	/* NULL: the main arena has none */
	struct mmapped_chunks chunks;	/* of one stretch */
	struct spans *spans;
};

static bool
may_hold_chunks(const struct region *r)
{
	return region_is_anonymous(r) && !region_is_heap(r) && strcmp(r->prot, "rw-p") == 0;
}

static int
add_verified(struct seeker *k, raddr start, raddr end, enum leaf_kind kind, int32_t arena,
	struct err *e)
{
	struct span span = SPAN_NONE;

	span.start = start;
	span.end = end;
	span.kind = (uint8_t)kind;
	span.confidence = CONFIDENCE_VERIFIED;
	span.arena = arena;
	return spans_add(k->spans, &span) < 0 ? err_set(e, ENOMEM, "cannot keep what is where") : 0;
}

/* Add the chunks from *AT on, one behind the other, and move it behind them. */
static int
seek_chunks(struct seeker *k, raddr *at, raddr end, struct err *e)
{
	k->chunks.nr = 0;
	if (mmapped_chunks_find(&k->chunks, k->t, k->pages, &k->space->arenas, *at, end, e) < 0)
		return -1;
	for (size_t i = 0; i < k->chunks.nr; i++) {
		const struct mmapped_chunk *chunk = &k->chunks.v[i];

		if (add_verified(k, chunk->start, chunk->end, LEAF_CHUNK, -1, e) < 0)
			return -1;
		*at = chunk->end;
	}
	return 0;
}

/* Pieces side by side are one: there may be eight for each megabyte. */
static int
add_piece(struct seeker *k, raddr start, raddr end, struct err *e)
{
	struct span *last = k->spans->nr ? &k->spans->v[k->spans->nr - 1] : NULL;

	if (!last || last->kind != LEAF_MAIN_PIECE || last->end.v != start.v)
		return add_verified(k, start, end, LEAF_MAIN_PIECE, MAIN_ARENA, e);
	last->end = end;
	return 0;
}

static int
seek(struct seeker *k, uint64_t start, uint64_t end, struct err *e)
{
	raddr at = { start }, piece;

	if (start >= end || end - start < CHUNK_MIN_BYTES)
		return 0;
	if (seek_chunks(k, &at, (raddr){ end }, e) < 0)
		return -1;
	if (!k->pieces)
		return 0;
	if (piece_search_in(k->pieces, at, (raddr){ end }, e) < 0)
		return -1;
	while (piece_search_next(k->pieces, at, &piece, &at))
		if (add_piece(k, piece, at, e) < 0 || seek_chunks(k, &at, (raddr){ end }, e) < 0)
			return -1;
	return 0;
}

/* Look in every stretch of private memory that KNOWN leaves open. */
static int
seek_all(struct seeker *k, const struct spans *known, struct err *e)
{
	size_t next = 0;

	for (size_t i = 0; i < k->space->maps.nr; i++) {
		const struct region *r = &k->space->maps.region[i];
		uint64_t at = r->start.v;

		if (!may_hold_chunks(r))
			continue;
		while (next < known->nr && known->v[next].end.v <= at)
			next++;
		for (; next < known->nr && known->v[next].start.v < r->end.v; next++) {
			if (seek(k, at, known->v[next].start.v, e) < 0)
				return -1;
			at = known->v[next].end.v;
			if (at >= r->end.v)
				break;
		}
		if (seek(k, at, r->end.v, e) < 0)
			return -1;
	}
	return 0;
}

static int
add_chunks(struct spans *s, const struct space *space, const struct target *t,
	const struct spans *known, struct err *e)
{
	auto_pages struct os_pages *pages = NULL;
	auto_piece_search struct piece_search *pieces = NULL;
	struct seeker k = { .space = space, .t = t, .spans = s };
	struct err ignored;
	int failed;

	/* Without page tables one cannot look without touching: then chunks count as other memory. */
	if (!space->arenas.nr || os_pages_open(&pages, t, OS_PAGES_AUTO, &ignored) < 0)
		return 0;
	k.pages = pages;
	k.pieces = pieces = piece_search_new(t, pages, &space->arenas);
	failed = seek_all(&k, known, e);
	mmapped_chunks_release(&k.chunks);
	return failed;
}

/* ---- all of them ---- */

/* Stacks, objects and heaps, in this order: where two claim a page, the first has it. */
static int
find_structures(struct spans *top, const struct space *s, const struct target *t, bool want_unused,
	struct err *e)
{
	auto_thread_stacks struct thread_stacks stacks = { 0 };
	auto_spans struct spans heap = { 0 }, arenas = { 0 }, objects = { 0 };
	struct os_stat st;

	if (os_stat(t, &st, e) < 0 ||
		thread_stacks_find(&stacks, t, &s->maps, &s->objects, &s->threads, want_unused, e) < 0)
		return -1;
	if (add_stacks(top, &stacks) < 0 || add_objects(&objects, &s->objects) < 0 ||
		add_main_heap(&heap, s, &st) < 0 || add_arenas(&arenas, &s->arenas) < 0)
		return err_set(e, ENOMEM, "cannot keep what is where");
	spans_settle(top);
	spans_settle(&objects);
	spans_settle(&arenas);
	if (spans_lay_under(top, &objects) < 0 || spans_lay_under(top, &heap) < 0 ||
		spans_lay_under(top, &arenas) < 0)
		return err_set(e, ENOMEM, "cannot keep what is where");
	return 0;
}

int
spans_find(struct spans *ret, const struct space *s, const struct target *t, bool want_unused,
	struct err *e)
{
	auto_spans struct spans top = { 0 }, chunks = { 0 };

	if (find_structures(&top, s, t, want_unused, e) < 0 || add_chunks(&chunks, s, t, &top, e) < 0)
		return -1;
	spans_settle(&chunks);
	if (spans_lay_under(&top, &chunks) < 0)
		return err_set(e, ENOMEM, "cannot keep what is where");
	*ret = top;
	top = (struct spans){ 0 };
	return 0;
}

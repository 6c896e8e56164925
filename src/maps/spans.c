/*
 * Facts about the address space from sources other than the list of mappings: the kernel's brk, ELF
 * headers, malloc's and the thread library's structures.  As mappings merge and split, each of
 * these is an interval of addresses, and they are combined by priority.
 */
#include <config.h>

#include "maps/spans.h"

#include "base/array.h"
#include "elf/image.h"
#include "elf/objects.h"
#include "glibc/arenas.h"
#include "glibc/chunks.h"
#include "glibc/pieces.h"
#include "maps/classify.h"
#include "maps/leaf-pages.h"
#include "maps/leaves.h"
#include "maps/stacks.h"
#include "os/os.h"
#include "os/status.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
spans_by_start(const void *a, const void *b)
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
		qsort(s->v, s->nr, sizeof *s->v, spans_by_start);
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
	uint64_t done_to = 0; /* all addresses below this are in BOTH */

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

/* ---- sources ---- */

static raddr
page_up(raddr a)
{
	return (raddr){ (a.v + PAGE_BYTES - 1) & -PAGE_BYTES };
}

/* The main arena is the first in the ring. */
#define MAIN_ARENA 0

/* Bytes below SP that may be written without moving it (x86-64 ABI). */
#define RED_ZONE_BYTES 128

/*
 * Return the lowest used address of STACK, whose frames end at TOP.  Its highest page is always
 * used.
 */
static raddr
first_used(const struct thread_stack *stack, raddr top)
{
	uint64_t low = page_up(stack->start).v + stack->guard_bytes, used = low;

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
spans_add_stack(struct spans *s, const struct thread_stack *stack)
{
	/* A stack that the program made begins and ends anywhere; struct pthread is at its end. */
	raddr start = page_up(stack->start), end = page_up(stack->end);
	raddr low = raddr_add(start, stack->guard_bytes);
	/* The stack of a thread that has ended is unused. */
	raddr top = stack->tls.v && stack->tid ? stack->tls : end;
	raddr used = first_used(stack, top);
	const struct {
		enum leaf_kind kind;
		raddr start, end;
	} part[] = {
		{ LEAF_STACK_GUARD, start, low },
		{ LEAF_STACK_UNUSED, low, used },
		{ stack_kind(stack), used, top },
		{ LEAF_STACK_TLS, top, end },
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

/* Add stacks; guessed ones go to GUESSES, so that they do not override known memory. */
static int
add_stacks(struct spans *s, struct spans *guesses, const struct thread_stacks *stacks)
{
	for (size_t i = 0; i < stacks->nr; i++)
		if (spans_add_stack(stacks->v[i].is_guess ? guesses : s, &stacks->v[i]) < 0)
			return -1;
	return 0;
}

/*
 * Add the main heap: from start_brk to the end of malloc's part of it, or if that is unknown to the
 * end of the last mapping called [heap].  The kernel gives that name to every mapping that touches
 * the brk area, even to a bss or another mapping that has merged with it.
 */
static int
add_main_heap(struct spans *s, const struct space *space, raddr malloc_start, raddr malloc_end)
{
	struct span span = SPAN_NONE;

	span.start.v = malloc_start.v & -PAGE_BYTES;
	span.kind = LEAF_MAIN_HEAP;
	span.confidence = CONFIDENCE_EXACT;
	for (size_t i = 0; i < space->process->maps.nr; i++)
		if (region_is_heap(&space->process->maps.region[i]))
			span.end = space->process->maps.region[i].end;
	if (space->process->arenas.nr)
		span.arena = MAIN_ARENA;
	if (malloc_end.v > span.start.v && malloc_end.v < span.end.v)
		span.end = malloc_end;
	return span.start.v ? spans_add(s, &span) : 0;
}

/* Add memory of which only the size is known. */
static int
add_unknown(struct spans *s, raddr start, raddr end)
{
	struct span span = SPAN_NONE;

	span.start = start;
	span.end = end;
	span.kind = (uint8_t)leaf_of_size(end.v - start.v);
	span.confidence = CONFIDENCE_VERIFIED;
	return spans_add(s, &span);
}

/*
 * Add the memory before and after it under that name: the program's own sbrk(), or a mapping that
 * begins where brk ends.  A bss that has merged with it has a higher priority.
 */
static int
add_around_main_heap(struct spans *s, const struct space *space, raddr start, raddr end)
{
	for (size_t i = 0; i < space->process->maps.nr && end.v; i++) {
		const struct region *r = &space->process->maps.region[i];

		if (!region_is_heap(r))
			continue;
		if (r->start.v < start.v &&
			add_unknown(s, r->start, r->end.v < start.v ? r->end : start) < 0)
			return -1;
		if (r->end.v > end.v &&
			add_unknown(s, r->start.v > end.v ? r->start : end, r->end) < 0)
			return -1;
	}
	return 0;
}

static int
spans_add_heap(struct spans *s, const struct arena_heap *h, int32_t arena, uint64_t heap_max_bytes)
{
	struct span span = SPAN_NONE;

	span.arena = arena;
	span.confidence = CONFIDENCE_VERIFIED;
	span.kind = LEAF_ARENA;
	span.start = h->start;
	span.end = raddr_add(h->start, h->size_bytes);
	if (spans_add(s, &span) < 0)
		return -1;
	/*
	 * free() shortens a heap with madvise(MADV_DONTNEED) (malloc/arena.c shrink_heap()), which
	 * fails for locked pages: they stay, and become malloc's again when the heap grows.
	 */
	span.kind = LEAF_ARENA_SHRUNK;
	span.start = span.end;
	span.end = raddr_add(h->start, h->mapped_bytes);
	if (spans_add(s, &span) < 0)
		return -1;
	/*
	 * The next mapping may be a reserve as well, and the kernel merges the two: the heap's
	 * alignment determines its end, not the mapping.
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
			if (spans_add_heap(s, &a->v[i].heap[k], (int32_t)i, a->heap_max_bytes) < 0)
				return -1;
	return 0;
}

static bool
spans_is_of(const struct region *r, const struct object *o)
{
	return r && r->inode == o->inode && r->dev == o->dev && r->path &&
		strcmp(r->path, o->path) == 0;
}

/*
 * Add the part of segment P of object I beyond its file, up to the end of its last page, which no
 * other mapping can share.  If the segment itself is not mapped from the file, for example in a
 * program that only reads the object, the memory has another use.
 */
static int
add_bss(struct spans *s, const struct space *space, size_t i, const Elf64_Phdr *p)
{
	const struct object *o = &space->process->objects.v[i];
	raddr start = { image_bias(o->image) + p->p_vaddr };
	struct span span = SPAN_NONE;

	if (p->p_type != PT_LOAD || p->p_memsz <= p->p_filesz)
		return 0;
	if (p->p_filesz &&
		!spans_is_of(
			regions_find(&space->process->maps, raddr_add(start, p->p_filesz - 1)), o))
		return 0;
	span.start = p->p_filesz ? page_up(raddr_add(start, p->p_filesz))
				 : (raddr){ start.v & -PAGE_BYTES };
	span.end = page_up(raddr_add(start, p->p_memsz));
	span.kind = o->is_executable ? LEAF_EXE_BSS : LEAF_SO_BSS;
	span.confidence = CONFIDENCE_VERIFIED;
	span.object = (int32_t)i;
	return span.end.v <= page_up(o->end).v ? spans_add(s, &span) : 0;
}

static int
add_objects(struct spans *s, const struct space *space)
{
	for (size_t i = 0; i < space->process->objects.nr; i++) {
		const struct image *image = space->process->objects.v[i].image;

		for (size_t k = 0; k < image_nr_phdrs(image); k++)
			if (add_bss(s, space, i, image_phdr(image, k)) < 0)
				return -1;
	}
	return 0;
}

/* ---- chunks ---- */

/*
 * Less than the size from which malloc uses mmap() (DEFAULT_MMAP_THRESHOLD_MIN, malloc/malloc.c).
 */
#define CHUNK_MIN_BYTES (UINT64_C(128) << 10)
#define MISSING_PAGES 1000000
#define UNKNOWN_PAGES 8192
#define MANY_MAPPINGS 2000

struct seeker {
	const struct space *space;
	const struct target *t;
	struct os_pages *pages;
	struct piece_search *pieces;  /* NULL: the main arena is in one piece */
	struct mmapped_chunks chunks; /* of one stretch */
	struct spans *spans;
	raddr malloc_start, malloc_end; /* malloc's part of the main heap from brk */
	uint64_t nr_chunks, nr_wanted;	/* found; in malloc's account, if HAS_WANTED */
	bool has_wanted;
	bool is_thorough;      /* missing chunks are worth a long search */
	uint64_t budget_pages; /* number of pages that may be tried for missing chunks */
	uint64_t found_to;     /* end of the last chunk that was found */
	raddr limit;	       /* maximum end of a chunk */
	int (*seek)(struct seeker *k, uint64_t start, uint64_t end, struct err *e);
};

/* Return whether malloc's account has no chunks, so that memory need not be searched. */
static bool
has_no_chunks(const struct seeker *k)
{
	return k->has_wanted && !k->nr_wanted;
}

static bool
may_hold_chunks(const struct seeker *k, const struct region *r)
{
	return region_is_anonymous(r) && strcmp(r->prot, "rw-p") == 0 &&
		(!region_is_heap(r) || (k->malloc_end.v && r->end.v > k->malloc_end.v));
}

static int
add_verified(
	struct seeker *k, raddr start, raddr end, enum leaf_kind kind, int32_t arena, struct err *e)
{
	struct span span = SPAN_NONE;

	span.start = start;
	span.end = end;
	span.kind = (uint8_t)kind;
	span.confidence = CONFIDENCE_VERIFIED;
	span.arena = arena;
	return spans_add(k->spans, &span) < 0 ? err_set(e, ENOMEM, "cannot keep what is where") : 0;
}

/* Add the chunks that were found, and move *AT after them. */
static int
spans_add_found(struct seeker *k, raddr *at, struct err *e)
{
	for (size_t i = 0; i < k->chunks.nr; i++) {
		const struct mmapped_chunk *chunk = &k->chunks.v[i];

		if (add_verified(k, chunk->start, chunk->end, LEAF_CHUNK, -1, e) < 0)
			return -1;
		*at = chunk->end;
		k->found_to = chunk->end.v;
	}
	k->nr_chunks += k->chunks.nr;
	return 0;
}

/* Add the adjacent chunks from *AT on, and move it after them. */
static int
seek_chunks(struct seeker *k, raddr *at, raddr end, struct err *e)
{
	k->chunks.nr = 0;
	if (has_no_chunks(k))
		return 0;
	if (mmapped_chunks_find(&k->chunks, k->t, k->pages, &k->space->process->arenas, *at, end,
		    k->limit, e) < 0)
		return -1;
	return spans_add_found(k, at, e);
}

/* Search for chunks between the program's own mappings, which the kernel has merged with them. */
static int
seek_missing(struct seeker *k, uint64_t start, uint64_t end, struct err *e)
{
	raddr at = { start };

	k->chunks.nr = 0;
	if (start >= end || !k->budget_pages || (k->has_wanted && k->nr_chunks >= k->nr_wanted))
		return 0;
	if (mmapped_chunks_search(&k->chunks, k->t, k->pages, &k->space->process->arenas, at,
		    (raddr){ end }, k->limit, &k->budget_pages, e) < 0)
		return -1;
	return spans_add_found(k, &at, e);
}

/* Add a piece; adjacent pieces become one span: there may be eight for each megabyte. */
static int
spans_add_piece(struct seeker *k, raddr start, raddr end, struct err *e)
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

	if (start >= end || k->limit.v - start < CHUNK_MIN_BYTES)
		return 0;
	if (seek_chunks(k, &at, (raddr){ end }, e) < 0)
		return -1;
	if (!k->pieces || at.v >= end)
		return 0;
	if (piece_search_in(k->pieces, at, (raddr){ end }, e) < 0)
		return -1;
	while (piece_search_next(k->pieces, at, &piece, &at))
		if (spans_add_piece(k, piece, at, e) < 0 ||
			seek_chunks(k, &at, (raddr){ end }, e) < 0)
			return -1;
	return 0;
}

/*
 * Return the end of the mappings that continue after I without a gap: a chunk that is partly locked
 * has several.
 */
static uint64_t
mappings_end(const struct seeker *k, size_t i)
{
	const struct regions *m = &k->space->process->maps;

	while (i + 1 < m->nr && m->region[i + 1].start.v == m->region[i].end.v &&
		may_hold_chunks(k, &m->region[i + 1]))
		i++;
	return m->region[i].end.v;
}

/* Search in [START, END), whose use is unknown; chunks may extend up to LIMIT. */
static int
seek_between(struct seeker *k, uint64_t start, uint64_t end, uint64_t limit, struct err *e)
{
	if (start < k->found_to)
		start = k->found_to;
	k->limit.v = limit;
	return k->seek(k, start, end, e);
}

/* Search every range of private memory that is not in KNOWN. */
static int
seek_all(struct seeker *k, const struct spans *known, struct err *e)
{
	uint64_t mapped_to = 0;
	size_t next = 0;

	k->found_to = 0;
	for (size_t i = 0; i < k->space->process->maps.nr; i++) {
		const struct region *r = &k->space->process->maps.region[i];
		uint64_t at = r->start.v, limit;

		if (!may_hold_chunks(k, r))
			continue;
		while (next < known->nr && known->v[next].end.v <= at)
			next++;
		for (; next < known->nr && known->v[next].start.v < r->end.v; next++) {
			uint64_t start = known->v[next].start.v;

			if (seek_between(k, at, start, start, e) < 0)
				return -1;
			at = known->v[next].end.v;
			if (at >= r->end.v)
				break;
		}
		if (r->start.v >= mapped_to)
			mapped_to = mappings_end(k, i);
		limit = mapped_to;
		if (next < known->nr && known->v[next].start.v < limit)
			limit = known->v[next].start.v;
		if (seek_between(k, at, r->end.v, limit, e) < 0)
			return -1;
	}
	return 0;
}

/*
 * Return how many pages may be tried: a million, which takes a second, if malloc's account has
 * missing chunks; few if that is unknown, and none in an address space of very many mappings.
 */
static uint64_t
missing_budget(const struct seeker *k)
{
	if (k->has_wanted && k->nr_chunks >= k->nr_wanted)
		return 0;
	if (k->is_thorough)
		return MISSING_PAGES;
	return k->space->process->maps.nr < MANY_MAPPINGS ? UNKNOWN_PAGES : 0;
}

static int
add_missing(struct seeker *k, const struct spans *known, struct err *e)
{
	auto_spans struct spans all = { 0 };

	k->budget_pages = missing_budget(k);
	if (!k->budget_pages)
		return 0;
	spans_settle(k->spans);
	for (size_t i = 0; i < known->nr; i++)
		if (spans_add(&all, &known->v[i]) < 0)
			return err_set(e, ENOMEM, "cannot keep what is where");
	if (spans_lay_under(&all, k->spans) < 0)
		return err_set(e, ENOMEM, "cannot keep what is where");
	k->seek = seek_missing;
	return seek_all(k, &all, e);
}

static int
add_chunks(struct seeker *k, const struct spans *known, struct err *e)
{
	auto_piece_search struct piece_search *pieces = NULL;
	int failed;

	/* Without page states a search would touch pages: then chunks count as other memory. */
	if (!k->space->process->arenas.nr || !k->pages)
		return 0;
	k->pieces = pieces = piece_search_new(k->t, k->pages, &k->space->process->arenas);
	if (!pieces && has_no_chunks(k))
		return 0;
	k->seek = seek;
	failed = seek_all(k, known, e) < 0 || add_missing(k, known, e) < 0;
	mmapped_chunks_release(&k->chunks);
	return failed ? -1 : 0;
}

/* ---- all stacks ---- */

/*
 * Add the memory that other users took from brk between two parts of malloc's heap.  A shared page
 * counts as malloc's.
 */
static int
add_gaps(struct spans *s, const struct seeker *k, struct err *e)
{
	auto_main_pieces struct main_pieces gaps = { 0 };

	if (!k->pages || !k->malloc_end.v)
		return 0;
	if (main_gaps_find(&gaps, k->t, k->pages, &k->space->process->arenas, k->malloc_start,
		    k->malloc_end, e) < 0)
		return -1;
	for (size_t i = 0; i < gaps.nr; i++) {
		raddr from = page_up(gaps.v[i].start), to = { gaps.v[i].end.v & -PAGE_BYTES };

		if (from.v < to.v && add_unknown(s, from, to) < 0)
			return err_set(e, ENOMEM, "cannot keep what is where");
	}
	return 0;
}

/*
 * Find stacks, objects and heaps, in order of priority: a page that two of them claim belongs to
 * the first.  GUESSES have the lowest priority.
 */
static int
find_structures(struct spans *top, struct spans *guesses, struct spans *around, struct seeker *k,
	bool want_unused, struct err *e)
{
	auto_thread_stacks struct thread_stacks stacks = { 0 };
	auto_spans struct spans heap = { 0 }, arenas = { 0 }, objects = { 0 }, gaps = { 0 };
	const struct space *s = k->space;
	struct os_stat st;

	if (os_stat(k->t, &st, e) < 0 ||
		thread_stacks_find(&stacks, k->t, &s->process->maps, &s->process->objects,
			&s->threads, want_unused, e) < 0)
		return -1;
	k->malloc_start = st.start_brk;
	if (s->process->arenas.nr)
		main_heap_find(k->t, k->pages, &s->process->arenas, st.start_brk, &k->malloc_start,
			&k->malloc_end);
	if (add_stacks(top, guesses, &stacks) < 0 || add_objects(&objects, s) < 0 ||
		add_main_heap(&heap, s, k->malloc_start, k->malloc_end) < 0 ||
		add_around_main_heap(around, s, k->malloc_start, k->malloc_end) < 0 ||
		add_arenas(&arenas, &s->process->arenas) < 0)
		return err_set(e, ENOMEM, "cannot keep what is where");
	if (add_gaps(&gaps, k, e) < 0)
		return -1;
	spans_settle(top);
	spans_settle(guesses);
	spans_settle(&objects);
	spans_settle(&arenas);
	if (spans_lay_under(top, &objects) < 0 || spans_lay_under(top, &gaps) < 0 ||
		spans_lay_under(top, &heap) < 0 || spans_lay_under(top, &arenas) < 0)
		return err_set(e, ENOMEM, "cannot keep what is where");
	return 0;
}

/*
 * Return whether the target has one libc: a second one (dlmopen) has a separate account, which
 * memdiag does not read.
 */
static bool
has_one_libc(const struct objects *o)
{
	size_t nr = 0;

	for (size_t i = 0; i < o->nr; i++)
		nr += o->v[i].is_libc;
	return nr == 1;
}

/* Get the number of chunks from malloc's account. */
static void
ask_account(struct seeker *k, const struct space_options *opt)
{
	const struct space *s = k->space;

	k->nr_wanted = opt->nr_mmapped;
	k->has_wanted = k->is_thorough = opt->nr_mmapped;
	if (!k->has_wanted && opt->count_mmapped && s->process->arenas.nr)
		k->has_wanted = opt->count_mmapped(s->process, &k->nr_wanted);
	if (!k->nr_wanted && !has_one_libc(&s->process->objects))
		k->has_wanted = false;
}

/* Find spans from the objects' files, if memory may not be read. */
static int
find_in_files(struct spans *ret, const struct space *s, struct err *e)
{
	auto_spans struct spans objects = { 0 };

	if (add_objects(&objects, s) < 0)
		return err_set(e, ENOMEM, "cannot keep what is where");
	spans_settle(&objects);
	*ret = objects;
	objects = (struct spans){ 0 };
	return 0;
}

int
spans_find(struct spans *ret, const struct space *s, const struct target *t,
	const struct space_options *opt, struct leaf_pages *leaf_pages, struct err *e)
{
	auto_spans struct spans top = { 0 }, chunks = { 0 }, guesses = { 0 }, around = { 0 };
	auto_pages struct os_pages *pages = NULL;
	struct seeker k = { .space = s, .t = t, .spans = &chunks };
	struct err ignored;

	if (s->memory_error.kind)
		return find_in_files(ret, s, e);
	if (s->process->arenas.nr && os_pages_open(&pages, t, OS_PAGES_AUTO, &ignored) < 0)
		pages = NULL;
	if (pages && leaf_pages)
		leaf_pages_lend(leaf_pages, pages);
	k.pages = pages;
	ask_account(&k, opt);
	if (find_structures(&top, &guesses, &around, &k, opt->want_unused, e) < 0 ||
		add_chunks(&k, &top, e) < 0)
		return -1;
	spans_settle(&chunks);
	if (spans_lay_under(&top, &chunks) < 0 || spans_lay_under(&top, &guesses) < 0 ||
		spans_lay_under(&top, &around) < 0)
		return err_set(e, ENOMEM, "cannot keep what is where");
	*ret = top;
	top = (struct spans){ 0 };
	return 0;
}

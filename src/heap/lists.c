/*
 * malloc's lists of free chunks, and how long malloc_info() takes to go through them.
 */
#include <config.h>

#include "heap/heap-priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define SORTED_AT_ONCE 4096
/* A free chunk's size word and links; the links may be on the page behind the header's. */
struct free_chunk {
	uint64_t raw, fd, bk;
};

static bool
read_chunk(struct copies *c, uint64_t chunk, struct free_chunk *ret)
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

/* ---- marks ---- */

int
marks_add(struct marks *m, uint64_t chunk, uint64_t raw, enum mark_kind kind, struct err *e)
{
	struct mark *mark = array_add(m);

	if (!mark)
		return err_set(e, ENOMEM, "cannot list the free chunks");
	*mark = (struct mark){ .chunk_and_kind = chunk | (uint64_t)kind, .raw = raw };
	return 0;
}

static int
by_chunk(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return x->chunk_and_kind < y->chunk_and_kind ? -1 : x->chunk_and_kind > y->chunk_and_kind;
}

/* FROM has two sorted halves, the first of NR_FIRST; they become one in TO, if there is time. */
static void
merge(struct mark *to, const struct mark *from, size_t nr_first, size_t nr, struct reader *r)
{
	size_t a = 0, b = nr_first;

	for (size_t i = 0; i < nr; i++) {
		if (!(i & 0xffff) && reader_is_late(r))
			return;
		to[i] = b == nr || (a < nr_first && by_chunk(&from[a], &from[b]) <= 0) ? from[a++]
										  : from[b++];
	}
}

/* Merge sorted stretches of WIDTH marks to ones of twice that, from V to SPARE. */
static void
merge_all(struct mark *spare, const struct mark *v, size_t nr, size_t width, struct reader *r)
{
	for (size_t i = 0; i < nr && !r->is_late; i += 2 * width) {
		size_t left = nr - i;

		merge(spare + i, v + i, left < width ? left : width,
			left < 2 * width ? left : 2 * width, r);
	}
}

/* qsort() cannot be left when there is no more time, but for a few marks it takes little. */
int
marks_sort(struct marks *m, struct reader *r, struct err *e)
{
	struct mark *spare = m->nr > SORTED_AT_ONCE ? calloc(m->nr, sizeof *spare) : NULL;

	if (m->nr > SORTED_AT_ONCE && !spare)
		return err_set(e, ENOMEM, "cannot sort the free chunks");
	for (size_t i = 0; i < m->nr && !reader_is_late(r); i += SORTED_AT_ONCE)
		qsort(m->v + i, m->nr - i < SORTED_AT_ONCE ? m->nr - i : SORTED_AT_ONCE,
			sizeof *m->v, by_chunk);
	for (size_t width = SORTED_AT_ONCE; width < m->nr && !r->is_late; width *= 2) {
		struct mark *from = m->v;

		merge_all(spare, from, m->nr, width, r);
		m->v = spare;
		m->room = m->nr;
		spare = from;
	}
	free(spare);
	if (r->is_late)
		m->nr = 0;
	return 0;
}

size_t
marks_from(const struct marks *m, uint64_t addr)
{
	size_t from = 0, to = m->nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (mark_chunk(&m->v[mid]) < addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* ---- what was found ---- */

/* Set the bit of the chunk at ADDR.  Returns 0, 1 if it cannot be a chunk or was seen before, or -1. */
static int
set_bit(struct scan *s, uint64_t addr, struct err *e)
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
	return s->arena->is_by_lists ? marks_add(&s->marks, chunk, raw, kind, e)
				     : set_bit(s, chunk, e);
}

/* ---- the lists ---- */

struct list {
	struct copies *copies;
	struct scan *s;
	uint64_t nr;	/* chunks so far */
	uint64_t passed, passed_at;	/* a chunk, and the NR that it was */
};

/* What BAD (1, or -1 with E) means for the list NAME. */
static int
bad_list(const struct list *l, int bad, const char *name, unsigned int nr)
{
	if (bad < 0)
		return -1;
	if (l->s->r->is_late)
		return arena_doubt_late(l->s->arena);
	return arena_doubt(
		l->s->arena, "the list of %s %u is damaged, or changed meanwhile", name, nr);
}

/* A list goes on for as long as memory that is there has room for its chunks. */
static bool
is_too_long(struct list *l)
{
	uint64_t nr_max = l->s->arena->resident_bytes / min_chunk_bytes(l->s->r->l);

	return ++l->nr > nr_max || (!(l->nr & 0xff) && reader_is_late(l->s->r));
}

/* A list with links one way may be a circle: then a chunk set aside at every doubling comes again. */
static bool
is_circle(struct list *l, uint64_t chunk)
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
follow_fast(struct list *l, unsigned int nr, uint64_t head, struct err *e)
{
	const struct heap_layout *layout = l->s->r->l;
	unsigned int word = layout->word_bytes;
	struct heap_bin *bin = &l->s->arena->fastbin[nr];

	for (uint64_t chunk = head, next; chunk; chunk = next) {
		struct free_chunk here;
		uint64_t bytes;
		int bad;

		if (is_too_long(l) || is_circle(l, chunk) || !read_chunk(l->copies, chunk, &here) ||
			(here.raw & ~FLAG_BITS) / (2 * word) != nr + 2)
			return bad_list(l, 1, "fast bin", nr);
		bytes = here.raw & ~FLAG_BITS;
		next = here.fd;
		if (layout->has_safe_linking)
			next ^= (chunk + 2 * word) >> 12;
		bad = found(l->s, chunk, bytes, MARK_FAST, e);
		if (bad)
			return bad_list(l, bad, "fast bin", nr);
		bin->count++;
		bin->total_bytes += bytes;
		bin->to_bytes = bytes;
		bin->from_bytes = bytes - (layout->align_bytes - 1);
	}
	return 0;
}

/* Follow bin NR, as glibc counts, whose header is a chunk at HEAD with FD. */
static int
follow_bin(struct list *l, unsigned int nr, uint64_t head, uint64_t fd, struct err *e)
{
	enum mark_kind kind = nr == 1 ? MARK_UNSORTED : MARK_BINNED;
	struct free_chunk here;

	for (uint64_t chunk = fd, before = head; chunk != head; before = chunk, chunk = here.fd) {
		int bad;

		if (scan_add_piece(l->s, chunk, e) < 0)
			return -1;
		if (is_too_long(l) || !read_chunk(l->copies, chunk, &here) || here.bk != before)
			return bad_list(l, 1, "bin", nr);
		bad = found(l->s, chunk, here.raw, kind, e);
		if (bad)
			return bad_list(l, bad, "bin", nr);
	}
	return 0;
}

static int
follow_fast_bins(struct list *l, struct err *e)
{
	const struct heap_layout *layout = l->s->r->l;
	int bad = 0;

	for (unsigned int i = 0; i < layout->nr_fastbins && !bad; i++)
		bad = follow_fast(l, i,
			word_in(l->s->r, l->s->state + layout->fastbins + i * layout->word_bytes),
			e);
	return bad;
}

static int
follow_bins(struct list *l, unsigned int last, struct err *e)
{
	const struct heap_layout *layout = l->s->r->l;
	unsigned int word = layout->word_bytes;
	int bad = 0;

	for (unsigned int i = 1; i <= last && !bad; i++) {
		unsigned int at = layout->bins + (i - 1) * 2 * word;

		bad = follow_bin(l, i, l->s->arena->addr.v + at - 2 * word,
			word_in(l->s->r, l->s->state + at), e);
	}
	return bad;
}

/*
 * Mark the fence posts of segment SEG, if it has some.  They are the last two headers of a heap that top
 * has left: of two words, then of two or none (sysmalloc(), malloc/malloc.c).
 */
static int
mark_fence(struct scan *s, size_t seg, struct err *e)
{
	const struct heap_segment *segment = &s->arena->segment.v[seg];
	uint64_t word = s->r->l->word_bytes, header = 2 * word, end = segment->end.v;
	uint64_t fence = ((end - header) & ~(uint64_t)(s->r->l->align_bytes - 1)) - header;
	char posts[4 * sizeof(uint64_t)];

	if (fence < segment->start.v || raddr_in(s->arena->top.addr, segment->start, segment->end) ||
		!reader_look(s->r, fence, posts, 2 * header) ||
		(word_in(s->r, posts + word) & ~FLAG_BITS) != header ||
		(word_in(s->r, posts + header + word) & ~FLAG_BITS & ~header))
		return 0;
	return marks_add(&s->marks, fence, end - fence, MARK_FENCE, e);
}

/* By lists: what ends the heaps. */
static int
mark_ends(struct scan *s, struct err *e)
{
	for (size_t i = 0; i < s->arena->segment.nr && !reader_is_late(s->r); i++)
		if (mark_fence(s, i, e) < 0)
			return -1;
	return marks_add(&s->marks, s->arena->top.addr.v, s->arena->top.bytes, MARK_TOP, e);
}

int
lists_read(struct scan *s, struct err *e)
{
	auto_copies struct copies copies = { 0 };
	struct list l = { .copies = &copies, .s = s };
	int bad;

	if (copies_open(&copies, s->r, s, 1, e) < 0)
		return -1;
	bad = follow_fast_bins(&l, e);
	if (!bad)
		bad = follow_bins(&l, s->arena->is_by_lists ? HEAP_NR_BINS : 1, e);
	if (!bad && s->arena->is_by_lists)
		bad = mark_ends(s, e);
	return bad;
}

/* ---- how long it takes to go through them ---- */

/*
 * What malloc_info() takes for a free chunk that is near the one before it in the list, and for one
 * that is not: then the processor has to wait for memory.
 */
#define NEAR_NS 40
#define FAR_NS 400
/* So many times what one arena may take is added up in all. */
#define SUM_FACTOR 16
/* Of the unsorted bin at least so many are looked at to see whether most are large. */
#define SAMPLE 16

struct telling {
	struct copies *copies;
	const struct arenas *arenas;
	uint64_t ns, max_ns;
	uint64_t large_bytes;	/* the arena cannot have so many chunks of that size that they matter */
};

static void
add_telling(struct telling *n, uint64_t from, uint64_t to)
{
	uint64_t page = n->copies->r->page_bytes;

	n->ns += to - from + page < 2 * page ? NEAR_NS : FAR_NS;
}

/*
 * Add what leads from CHUNK to END, a bin of the arena at STATE, unless half of it is large.  A chunk
 * that goes to another bin meanwhile would lead us round in that one for good.
 */
static void
tell_bin(struct telling *n, raddr state, uint64_t chunk, uint64_t end)
{
	uint64_t nr = 0, nr_large = 0, before = end;
	struct free_chunk here;

	for (; chunk != end && n->ns <= n->max_ns; before = chunk, chunk = here.fd) {
		if (raddr_in((raddr){ chunk }, state, raddr_add(state, STATE_MAX)) ||
			!read_chunk(n->copies, chunk, &here) || here.bk != before)
			return;
		add_telling(n, before, chunk);
		nr_large += (here.raw & ~FLAG_BITS) >= n->large_bytes;
		if (++nr >= SAMPLE && 2 * nr_large >= nr)
			return;
	}
}

/* Whether a link can be one to a chunk at ADDR, or the last. */
static bool
is_link(struct reader *r, uint64_t addr)
{
	return !addr || (addr % (2 * r->l->word_bytes) == 0 && reader_page(r, addr) == PAGE_PRESENT);
}

/*
 * The same in a fast bin.  Whether its links are mangled (2.32+) is not known; read the wrong way,
 * all but one in sixteen are not aligned, and most of these lead nowhere.
 */
static void
tell_fast(struct telling *n, uint64_t chunk)
{
	unsigned int word = n->arenas->word_bytes;
	enum { UNKNOWN, PLAIN, MANGLED } how = UNKNOWN;
	uint64_t before = 0;
	struct free_chunk here;

	while (chunk && n->ns <= n->max_ns && read_chunk(n->copies, chunk, &here)) {
		uint64_t mangled = here.fd ^ (chunk + 2 * word) >> 12;

		if (how == UNKNOWN && is_link(n->copies->r, here.fd) != is_link(n->copies->r, mangled))
			how = is_link(n->copies->r, here.fd) ? PLAIN : MANGLED;
		add_telling(n, before, chunk);
		before = chunk;
		chunk = how == PLAIN ? here.fd : mangled;
	}
}

/* About how large an arena is. */
static uint64_t
arena_bytes(const struct arena *a, const struct maps *m)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < a->nr_heaps; i++)
		bytes += a->heap[i].size_bytes;
	for (size_t i = 0; a->is_main && i < m->nr; i++)
		if (m->region[i].path && strcmp(m->region[i].path, "[heap]") == 0)
			bytes += m->region[i].end.v - m->region[i].start.v;
	return bytes;
}

/* In front of the bins are top and last_remainder, and in front of these the fast bins, if any. */
static void
tell_arena(struct telling *n, const struct arena *a)
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
		tell_fast(n, word_in(r, state + fast));
	last = bin_of(r->l, n->large_bytes);
	for (unsigned int i = 1; i <= last; i++) {
		unsigned int at = as->bins_offset + (i - 1) * 2 * word;

		tell_bin(n, a->addr, word_in(r, state + at), a->addr.v + at - 2 * word);
	}
}

bool
heap_is_slow_to_tell(const struct target *t, const struct maps *m, const struct arenas *a,
	uint64_t max_ns)
{
	const struct heap_layout layout = {
		.word_bytes = a->word_bytes, .align_bytes = 2 * a->word_bytes };
	struct heap heap = { 0 };
	/* Not with its pages: what is in a list is present, or comes back for malloc_info() as well. */
	struct reader r = { .t = t, .m = m, .l = &layout, .heap = &heap,
		.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	auto_copies struct copies copies = { 0 };
	/* Half of what it may take; its large chunks cannot take the other half. */
	struct telling n = { .copies = &copies, .arenas = a, .max_ns = max_ns / 2 };
	uint64_t sum = 0;
	struct err e;

	if (copies_open(&copies, &r, NULL, NR_SINGLE, &e) < 0)
		return false;
	for (size_t i = 0; i < a->nr; i++) {
		n.ns = 0;
		n.large_bytes = arena_bytes(&a->v[i], m) / (n.max_ns / FAR_NS + 1);
		tell_arena(&n, &a->v[i]);
		sum += n.ns;
		if (n.ns > n.max_ns || sum > SUM_FACTOR * n.max_ns)
			return true;
	}
	return false;
}

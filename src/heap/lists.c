/*
 * malloc's lists of free chunks.  They lead all over the heap, so what is read is kept by the page.
 */
#include <config.h>

#include "heap/heap-priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define BLOCK_BYTES UINT64_C(65536)
#define NR_BLOCKS 16

/*
 * Blocks of memory that were read last, each at the place its address says.  First only the pages
 * that were asked for; when there are enough of them all of a block that is present, for the lists of
 * a heap that was freed in order go through it page by page.
 */
struct cache {
	struct scan *s;
	int nr_single;		/* enough */
	struct block {
		uint64_t start;	/* 0: nothing */
		uint32_t pages;	/* a bit for each that was read */
	} block[NR_BLOCKS];
	char *buf;			/* owned */
};

static int
cache_open(struct cache *c, struct scan *s, int nr_single, struct err *e)
{
	*c = (struct cache){
		.s = s, .nr_single = nr_single, .buf = malloc(NR_BLOCKS * BLOCK_BYTES) };
	return c->buf ? 0 : err_set(e, ENOMEM, "cannot read the heap of %d", s->r->t->pid);
}

static void
cache_close(struct cache *c)
{
	free(c->buf);
}
#define auto_cache __attribute__((cleanup(cache_close)))

/* Read what is present of [START, END), whole pages of the block B. */
static void
read_present(struct cache *c, struct block *b, uint64_t start, uint64_t end)
{
	const struct page_runs *runs = &c->s->runs;
	char *buf = c->buf + (size_t)(b - c->block) * BLOCK_BYTES;
	uint64_t page = c->s->r->page_bytes;
	struct err e;

	for (size_t i = page_runs_from(runs, start); i < runs->nr && runs->v[i].start.v < end; i++) {
		uint64_t from = runs->v[i].start.v > start ? runs->v[i].start.v : start;
		uint64_t to = runs->v[i].end.v < end ? runs->v[i].end.v : end;

		if (!runs->v[i].is_present ||
			os_read(c->s->r->t, (raddr){ from }, buf + (from - b->start), to - from,
				&e) < 0)
			continue;
		c->s->r->heap->read_bytes += to - from;
		for (; from < to; from += page)
			b->pages |= UINT32_C(1) << (from - b->start) / page;
	}
}

/* Two words at ADDR, which is aligned to two words, or NULL. */
static const char *
cache_pair(struct cache *c, uint64_t addr)
{
	uint64_t start = addr & ~(BLOCK_BYTES - 1), page_bytes = c->s->r->page_bytes;
	struct block *b = &c->block[start / BLOCK_BYTES % NR_BLOCKS];
	uint64_t page = addr & ~(page_bytes - 1);
	uint32_t bit = UINT32_C(1) << (addr - start) / page_bytes;

	if (addr % (2 * c->s->r->l->word_bytes))
		return NULL;
	if (b->start != start)
		*b = (struct block){ .start = start };
	if (!(b->pages & bit) && __builtin_popcount(b->pages) < c->nr_single)
		read_present(c, b, page, page + page_bytes);
	else if (!(b->pages & bit))
		read_present(c, b, start, start + BLOCK_BYTES);
	if (!(b->pages & bit))
		return NULL;
	return c->buf + (size_t)(b - c->block) * BLOCK_BYTES + (addr - start);
}

/* A free chunk's size word and links; the links may be on the page behind the header's. */
struct links {
	uint64_t raw, fd, bk;
};

static bool
read_links(struct cache *c, uint64_t chunk, struct links *ret)
{
	unsigned int word = c->s->r->l->word_bytes;
	const char *pair = cache_pair(c, chunk);

	if (!pair)
		return false;
	ret->raw = word_in(c->s->r, pair + word);
	pair = cache_pair(c, chunk + 2 * word);
	if (!pair)
		return false;
	ret->fd = word_in(c->s->r, pair);
	ret->bk = word_in(c->s->r, pair + word);
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

void
marks_sort(struct marks *m)
{
	if (m->nr)
		qsort(m->v, m->nr, sizeof *m->v, by_chunk);
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
	uint64_t bit, bytes;

	if (seg < 0)
		return 1;
	bytes = s->arena->segment.v[seg].end.v - s->arena->segment.v[seg].start.v;
	if (!s->map[seg])
		s->map[seg] = calloc(bytes / s->r->l->align_bytes / 64 + 1, sizeof **s->map);
	if (!s->map[seg])
		return err_set(e, ENOMEM, "cannot list the free chunks");
	if (is_marked(s, (size_t)seg, addr))
		return 1;
	bit = map_bit(s, (size_t)seg, addr);
	s->map[seg][bit / 64] |= UINT64_C(1) << bit % 64;
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
	struct cache *cache;
	struct scan *s;
	uint64_t nr, nr_max;	/* chunks so far; more the arena cannot have */
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

static bool
is_too_long(struct list *l)
{
	return ++l->nr > l->nr_max || (!(l->nr & 0xff) && reader_is_late(l->s->r));
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
		struct links links;
		uint64_t bytes;
		int bad;

		if (is_too_long(l) || is_circle(l, chunk) || !read_links(l->cache, chunk, &links) ||
			(links.raw & ~FLAG_BITS) / (2 * word) != nr + 2)
			return bad_list(l, 1, "fast bin", nr);
		bytes = links.raw & ~FLAG_BITS;
		next = links.fd;
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
	struct links links;

	for (uint64_t chunk = fd, before = head; chunk != head; before = chunk, chunk = links.fd) {
		int bad;

		if (scan_add_piece(l->s, chunk, e) < 0)
			return -1;
		if (is_too_long(l) || !read_links(l->cache, chunk, &links) || links.bk != before)
			return bad_list(l, 1, "bin", nr);
		bad = found(l->s, chunk, links.raw, kind, e);
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

int
lists_read(struct scan *s, struct err *e)
{
	auto_cache struct cache cache;
	struct list l = {
		.cache = &cache,
		.s = s,
		.nr_max = s->arena->system_bytes / min_chunk_bytes(s->r->l) + 1,
	};
	int bad;

	if (cache_open(&cache, s, 1, e) < 0)
		return -1;
	bad = follow_fast_bins(&l, e);
	if (!bad)
		bad = follow_bins(&l, s->arena->is_by_lists ? HEAP_NR_BINS : 1, e);
	if (!bad && s->arena->is_by_lists)
		bad = marks_add(&s->marks, s->arena->top.addr.v, s->arena->top.bytes, MARK_TOP, e);
	if (!s->r->is_late)
		marks_sort(&s->marks);
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
/* A block that is read whole costs as much as so many pages. */
#define NR_SINGLE 8

struct telling {
	struct cache *cache;
	const struct arenas *arenas;
	uint64_t ns, max_ns;
	uint64_t large_bytes;	/* the arena cannot have so many chunks of that size that they matter */
};

static void
add_telling(struct telling *n, uint64_t from, uint64_t to)
{
	uint64_t page = n->cache->s->r->page_bytes;

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
	struct links links;

	for (; chunk != end && n->ns <= n->max_ns; before = chunk, chunk = links.fd) {
		if (raddr_in((raddr){ chunk }, state, raddr_add(state, STATE_MAX)) ||
			!read_links(n->cache, chunk, &links) || links.bk != before)
			return;
		add_telling(n, before, chunk);
		nr_large += (links.raw & ~FLAG_BITS) >= n->large_bytes;
		if (++nr >= SAMPLE && 2 * nr_large >= nr)
			return;
	}
}

/*
 * The same in a fast bin.  Whether its links are mangled (2.32+) is not known; read the wrong way,
 * all but one in sixteen are not aligned.
 */
static void
tell_fast(struct telling *n, uint64_t chunk)
{
	unsigned int word = n->arenas->word_bytes;
	enum { UNKNOWN, PLAIN, MANGLED } how = UNKNOWN;
	uint64_t before = 0;
	struct links links;

	while (chunk && n->ns <= n->max_ns && read_links(n->cache, chunk, &links)) {
		uint64_t mangled = links.fd ^ (chunk + 2 * word) >> 12;
		bool is_plain = links.fd % (2 * word) == 0, is_mangled = mangled % (2 * word) == 0;

		if (how == UNKNOWN && is_plain != is_mangled)
			how = is_plain ? PLAIN : MANGLED;
		add_telling(n, before, chunk);
		before = chunk;
		chunk = how == PLAIN ? links.fd : mangled;
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
	const struct reader *r = n->cache->s->r;
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
	/* What is in a list is present, or comes back for malloc_info() as well. */
	struct page_run all = { .end.v = UINT64_MAX, .is_present = true };
	struct reader r = { .t = t, .l = &layout, .heap = &heap,
		.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	struct scan s = { .r = &r, .runs = { &all, 1, 1 } };
	auto_cache struct cache cache = { 0 };
	/* Half of what it may take; its large chunks cannot take the other half. */
	struct telling n = { .cache = &cache, .arenas = a, .max_ns = max_ns / 2 };
	uint64_t sum = 0;
	struct err e;

	if (cache_open(&cache, &s, NR_SINGLE, &e) < 0)
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

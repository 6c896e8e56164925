/*
 * malloc's lists of free chunks.  They lead all over the heap, so what is read is kept by the page.
 */
#include <config.h>

#include "heap/heap-priv.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define BLOCK_BYTES UINT64_C(65536)
#define NR_BLOCKS 16

/*
 * Blocks of memory that were read last, each at the place its address says.  First only the page
 * that was asked for; the second time all of a block that is present, for the lists of a heap that
 * was freed in order go through it page by page.
 */
struct cache {
	struct scan *s;
	struct block {
		uint64_t start;	/* 0: nothing */
		uint32_t pages;	/* a bit for each that was read */
	} block[NR_BLOCKS];
	char *buf;			/* owned */
};

static int
cache_open(struct cache *c, struct scan *s, struct err *e)
{
	*c = (struct cache){ .s = s, .buf = malloc(NR_BLOCKS * BLOCK_BYTES) };
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
	if (b->start != start) {
		*b = (struct block){ .start = start };
		read_present(c, b, page, page + page_bytes);
	} else if (!(b->pages & bit)) {
		read_present(c, b, start, start + BLOCK_BYTES);
	}
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
};

/* What BAD (1, or -1 with E) means for the list NAME. */
static int
bad_list(const struct list *l, int bad, const char *name, unsigned int nr)
{
	if (bad < 0)
		return -1;
	if (l->s->r->is_late)
		return arena_doubt(l->s->arena, "there was no time to read all of it");
	return arena_doubt(
		l->s->arena, "the list of %s %u is damaged, or changed meanwhile", name, nr);
}

static bool
is_too_long(struct list *l)
{
	return ++l->nr > l->nr_max || (!(l->nr & 0xfff) && reader_is_late(l->s->r));
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

		if (is_too_long(l) || !read_links(l->cache, chunk, &links) ||
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

	if (cache_open(&cache, s, e) < 0)
		return -1;
	bad = follow_fast_bins(&l, e);
	if (!bad)
		bad = follow_bins(&l, s->arena->is_by_lists ? HEAP_NR_BINS : 1, e);
	if (!bad && s->arena->is_by_lists)
		bad = marks_add(&s->marks, s->arena->top.addr.v, s->arena->top.bytes, MARK_TOP, e);
	marks_sort(&s->marks);
	return bad;
}

/*
 * malloc's lists of free chunks.  They lead all over the heap, so what is read is kept by the page.
 */
#include <config.h>

#include "heap/heap-priv.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define NR_CACHED 256
#define CACHE_PAGE UINT64_C(4096)

/* The pages that were read last, each at the place its address says. */
struct page_cache {
	struct reader *r;
	uint64_t page[NR_CACHED];	/* 0: nothing */
	char *buf;			/* owned */
};

static int
cache_open(struct page_cache *c, struct reader *r, struct err *e)
{
	*c = (struct page_cache){ .r = r, .buf = malloc(NR_CACHED * CACHE_PAGE) };
	return c->buf ? 0 : err_set(e, ENOMEM, "cannot read the heap of %d", r->t->pid);
}

static void
cache_close(struct page_cache *c)
{
	free(c->buf);
}
#define auto_cache __attribute__((cleanup(cache_close)))

/* Two words at ADDR, which is aligned to two words, or NULL. */
static const char *
cache_pair(struct page_cache *c, uint64_t addr)
{
	uint64_t page = addr & ~(CACHE_PAGE - 1);
	size_t slot = page / CACHE_PAGE % NR_CACHED;
	char *buf = c->buf + slot * CACHE_PAGE;
	struct err e;

	if (addr % (2 * c->r->l->word_bytes))
		return NULL;
	if (c->page[slot] != page) {
		c->page[slot] = 0;
		if (!reader_may_look(c->r, page) ||
			os_read(c->r->t, (raddr){ page }, buf, CACHE_PAGE, &e) < 0)
			return NULL;
		c->page[slot] = page;
		c->r->heap->read_bytes += CACHE_PAGE;
	}
	return buf + (addr - page);
}

/* A free chunk's size word and links; the links may be on the page behind the header's. */
struct links {
	uint64_t raw, fd, bk;
};

static bool
read_links(struct page_cache *c, uint64_t chunk, struct links *ret)
{
	unsigned int word = c->r->l->word_bytes;
	const char *pair = cache_pair(c, chunk);

	if (!pair)
		return false;
	ret->raw = word_in(c->r, pair + word);
	pair = cache_pair(c, chunk + 2 * word);
	if (!pair)
		return false;
	ret->fd = word_in(c->r, pair);
	ret->bk = word_in(c->r, pair + word);
	return true;
}

/* ---- marks ---- */

int
marks_add(struct marks *m, uint64_t chunk, uint64_t bytes, enum mark_kind kind, struct err *e)
{
	struct mark *mark = array_add(m);

	if (!mark)
		return err_set(e, ENOMEM, "cannot list the free chunks");
	*mark = (struct mark){ .chunk = chunk, .bytes = bytes, .kind = kind };
	return 0;
}

static int
by_chunk(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
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

		if (m->v[mid].chunk < addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* ---- the lists ---- */

struct list {
	struct page_cache *cache;
	struct heap_arena *arena;
	struct marks *marks;
	uint64_t nr_max;	/* more chunks than this the arena cannot have */
};

static int
bad_list(const struct list *l, const char *name, unsigned int nr)
{
	if (l->cache->r->is_late)
		return arena_doubt(l->arena, "there was no time to read all of it");
	return arena_doubt(l->arena, "the list of %s %u is damaged, or changed meanwhile", name, nr);
}

static bool
is_too_long(const struct list *l)
{
	return l->marks->nr > l->nr_max ||
		(!(l->marks->nr & 0xfff) && reader_is_late(l->cache->r));
}

/* Follow fast bin NR from HEAD.  All of its chunks have one size (fastbin_index()). */
static int
follow_fast(struct list *l, unsigned int nr, uint64_t head, struct err *e)
{
	const struct reader *r = l->cache->r;
	unsigned int word = r->l->word_bytes;
	struct heap_bin *bin = &l->arena->fastbin[nr];

	for (uint64_t chunk = head, next; chunk; chunk = next) {
		struct links links;
		uint64_t bytes;

		if (is_too_long(l) || !read_links(l->cache, chunk, &links) ||
			(links.raw & ~FLAG_BITS) / (2 * word) != nr + 2)
			return bad_list(l, "fast bin", nr);
		bytes = links.raw & ~FLAG_BITS;
		next = links.fd;
		if (r->l->has_safe_linking)
			next ^= (chunk + 2 * word) >> 12;
		if (marks_add(l->marks, chunk, bytes, MARK_FAST, e) < 0)
			return -1;
		bin->count++;
		bin->total_bytes += bytes;
		bin->to_bytes = bytes;
		bin->from_bytes = bytes - (r->l->align_bytes - 1);
	}
	return 0;
}

/* Follow bin NR, as glibc counts, whose header is a chunk at HEAD with FD. */
static int
follow_bin(struct list *l, unsigned int nr, uint64_t head, uint64_t fd, enum mark_kind kind,
	struct err *e)
{
	struct links links;

	for (uint64_t chunk = fd, before = head; chunk != head; before = chunk, chunk = links.fd) {
		if (is_too_long(l) || !read_links(l->cache, chunk, &links) || links.bk != before)
			return bad_list(l, "bin", nr);
		if (marks_add(l->marks, chunk, links.raw, kind, e) < 0)
			return -1;
	}
	return 0;
}

static int
follow_fast_bins(struct list *l, const char *state, struct err *e)
{
	const struct reader *r = l->cache->r;

	for (unsigned int i = 0; i < r->l->nr_fastbins; i++) {
		int bad = follow_fast(l, i,
			word_in(r, state + r->l->fastbins + i * r->l->word_bytes), e);

		if (bad)
			return bad;
	}
	return 0;
}

static int
follow_bins(struct list *l, const char *state, unsigned int last, struct err *e)
{
	const struct reader *r = l->cache->r;
	unsigned int word = r->l->word_bytes;

	for (unsigned int i = 1; i <= last; i++) {
		unsigned int at = r->l->bins + (i - 1) * 2 * word;
		int bad = follow_bin(l, i, l->arena->addr.v + at - 2 * word,
			word_in(r, state + at), i == 1 ? MARK_UNSORTED : MARK_BINNED, e);

		if (bad)
			return bad;
	}
	return 0;
}

int
lists_mark(struct reader *r, struct heap_arena *arena, const char *state, bool want_all,
	struct marks *marks, struct err *e)
{
	auto_cache struct page_cache cache;
	struct list l = {
		.cache = &cache,
		.arena = arena,
		.marks = marks,
		.nr_max = arena->system_bytes / min_chunk_bytes(r->l) + 1,
	};
	int bad;

	if (cache_open(&cache, r, e) < 0)
		return -1;
	bad = follow_fast_bins(&l, state, e);
	if (!bad)
		bad = follow_bins(&l, state, want_all ? HEAP_NR_BINS : 1, e);
	marks_sort(marks);
	return bad;
}

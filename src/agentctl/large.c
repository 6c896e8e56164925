/* Find blocks with separate mappings, and the gap that memalign() leaves before them. */
#include <config.h>

#include "agentctl/large.h"

#include <string.h>

#include "glibc/chunks.h"
#include "os/memory.h"
#include "os/pages.h"

#define PAGE_BYTES UINT64_C(4096)

/*
 * All threads may be stopped meanwhile: a longer search is given up.  This many reads, each of a
 * page's first words, take about 20 ms: enough for 160 MiB of a program's own memory (such as
 * MariaDB's).
 */
#define MAX_REGIONS 4000
#define MAX_READS 40000

struct large_search {
	const struct target *target;
	struct os_pages *single; /* to query one page while others are walked */
	unsigned int word_bytes;
	raddr end;  /* of the searched range */
	raddr next; /* all below it has been searched */
	size_t nr_reads;
	struct large_blocks *ret;
};

static int
large_see_present(const struct os_page_run *run, void *arg)
{
	*(bool *)arg |= run->is_present;
	return 0;
}

/*
 * Read the SIZE bytes at AT if the page is present: reading a missing one would allocate it in the
 * target.
 */
static bool
large_read_present(struct large_search *s, raddr at, void *buf, size_t size)
{
	const raddr page = { at.v & ~(PAGE_BYTES - 1) };
	bool is_present = false;
	struct err e;

	s->nr_reads++;
	return os_pages_walk(s->single, page, raddr_add(page, PAGE_BYTES), false, large_see_present,
		       &is_present, &e) == 0 &&
		is_present && os_read(s->target, at, buf, size, &e) == 0;
}

/* A mapping whose first header gives its size as BYTES, and whose second header is searched. */
struct large_mapping {
	raddr start;
	uint64_t most, bytes, lead;
};

/*
 * Return whether the header at HEADER is the second one, LEAD bytes into M; if so, store its values
 * in M.
 */
static bool
is_second(const struct large_search *s, struct large_mapping *m, const char *header, uint64_t lead)
{
	uint64_t bytes = mmapped_chunk_bytes(header, lead, s->word_bytes);

	if (!bytes || bytes > m->most)
		return false;
	m->bytes = bytes;
	m->lead = lead;
	return true;
}

/*
 * Find the header where memalign() places it: before an address that is a multiple of the
 * alignment.
 */
static bool
find_by_alignment(struct large_search *s, struct large_mapping *m, const char *first)
{
	const unsigned int header_bytes = 2 * s->word_bytes;
	uint64_t last = 0;

	for (uint64_t alignment = 2 * header_bytes; alignment && alignment < m->most;
		alignment *= 2) {
		uint64_t block = (m->start.v + header_bytes + alignment - 1) & ~(alignment - 1);
		uint64_t lead = block - header_bytes - m->start.v;
		char header[2 * sizeof(uint64_t)];

		if (lead == last || lead + header_bytes > m->most)
			continue;
		last = lead;
		if (lead + header_bytes <= PAGE_BYTES)
			memcpy(header, first + lead, header_bytes);
		else if (!large_read_present(s, raddr_add(m->start, lead), header, header_bytes))
			continue;
		if (is_second(s, m, header, lead))
			return true;
	}
	return false;
}

static bool
find_in_page(struct large_search *s, struct large_mapping *m, const char *page, uint64_t offset)
{
	const unsigned int header_bytes = 2 * s->word_bytes;

	for (uint64_t at = offset ? 0 : header_bytes; at + header_bytes <= PAGE_BYTES;
		at += header_bytes)
		if (is_second(s, m, page + at, offset + at))
			return true;
	return false;
}

static int
note_run(const struct os_page_run *run, void *arg)
{
	*(raddr *)arg = run->start;
	return run->is_present;
}

/*
 * Search pages: realloc() may have moved the mapping with its lead unchanged, and then the header
 * is anywhere.  The memory before it is never used, so it is in one of the first two pages, or in
 * the first present one after a gap.
 */
static bool
find_by_pages(struct large_search *s, struct large_mapping *m, const char *first)
{
	const raddr second = raddr_add(m->start, PAGE_BYTES), third = raddr_add(second, PAGE_BYTES),
		    end = raddr_add(m->start, m->most);
	char page[PAGE_BYTES];
	raddr next = { 0 };
	struct err e;

	if (find_in_page(s, m, first, 0))
		return true;
	if (second.v < end.v && large_read_present(s, second, page, sizeof page) &&
		find_in_page(s, m, page, PAGE_BYTES))
		return true;
	return third.v < end.v &&
		os_pages_walk(s->single, third, end, false, note_run, &next, &e) > 0 &&
		large_read_present(s, next, page, sizeof page) &&
		find_in_page(s, m, page, next.v - m->start.v);
}

/* Handle the pages of a run that begin one of malloc's mappings. */
static int
see_run(const struct os_page_run *run, void *arg)
{
	struct large_search *s = arg;
	raddr at = run->start.v < s->next.v ? s->next : run->start;
	char first[PAGE_BYTES];
	struct err e;

	for (; run->is_present && at.v < run->end.v; s->next = at) {
		struct large_mapping m = { .start = at, .most = s->end.v - at.v };

		if (++s->nr_reads > MAX_READS ||
			os_read(s->target, at, first, 2 * s->word_bytes, &e) < 0)
			return 1;
		m.bytes = mmapped_chunk_bytes(first, 0, s->word_bytes);
		if (m.bytes && os_read(s->target, at, first, sizeof first, &e) < 0)
			return 1;
		if (m.bytes) {
			/*
			 * Find the second header.  If the mapping was resized later, only the
			 * second header has its size.
			 */
			if (!find_by_alignment(s, &m, first))
				find_by_pages(s, &m, first);
		}
		if (!m.bytes || m.bytes > m.most) {
			at = raddr_add(at, PAGE_BYTES);
			continue;
		}
		s->ret->nr++;
		s->ret->bytes += m.bytes;
		s->ret->lead_bytes += m.lead;
		at = raddr_add(at, m.bytes);
	}
	return 0;
}

static bool
may_have_blocks(const struct region *r)
{
	return strncmp(r->prot, "rw-p", 4) == 0 && !r->inode && !r->path;
}

/* Return the first heap of an arena that ends after AT; NULL if no heap begins before END. */
static const struct arena_heap *
next_arena_heap(const struct arenas *a, raddr at, raddr end)
{
	const struct arena_heap *next = NULL;

	for (size_t i = 0; i < a->nr; i++)
		for (size_t k = 0; k < a->v[i].nr_heaps; k++) {
			const struct arena_heap *heap = &a->v[i].heap[k];

			if (heap->start.v < end.v && heap->start.v + heap->mapped_bytes > at.v &&
				(!next || heap->start.v < next->start.v))
				next = heap;
		}
	return next;
}

/*
 * Search R except for the heaps of arenas in it: the kernel merges those with malloc's mappings
 * next to them.  False if a part was not searched.
 */
static bool
search_region(struct large_search *s, struct os_pages *pages, const struct region *r,
	const struct arenas *a)
{
	const struct arena_heap *heap;
	struct err e;

	for (raddr at = r->start; at.v < r->end.v;
		at = raddr_add(heap->start, heap->mapped_bytes)) {
		heap = next_arena_heap(a, at, r->end);
		s->next = at;
		s->end = heap ? heap->start : r->end;
		if (s->next.v < s->end.v &&
			os_pages_walk(pages, s->next, s->end, false, see_run, s, &e) != 0)
			return false;
		if (!heap)
			break;
	}
	return true;
}

bool
large_blocks_find(struct large_blocks *ret, const struct target *t, const struct regions *m,
	const struct arenas *a)
{
	auto_pages struct os_pages *pages = NULL, *single = NULL;
	struct large_search s = { .target = t, .word_bytes = a->word_bytes, .ret = ret };
	struct err e;

	*ret = (struct large_blocks){ 0 };
	if (m->nr > MAX_REGIONS || os_pages_open(&pages, t, OS_PAGES_AUTO, &e) < 0 ||
		os_pages_open(&single, t, OS_PAGES_AUTO, &e) < 0)
		return false;
	os_pages_stopped(pages, true);
	os_pages_stopped(single, true);
	s.single = single;
	for (size_t i = 0; i < m->nr; i++)
		if (may_have_blocks(&m->region[i]) && !search_region(&s, pages, &m->region[i], a))
			return false;
	return true;
}

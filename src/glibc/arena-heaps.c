/*
 * The heaps of thread arenas, and heaps without an arena: a heap begins at a multiple of its
 * maximum size, with a header of a known shape.
 */
#include <config.h>

#include "glibc/arena-heaps.h"

#include "base/word.h"
#include "glibc/arena-heaps-priv.h"
#include "glibc/glibc-priv.h"
#include "os/memory.h"
#include "os/pages.h"

#define PAGE_BYTES 4096

bool
heap_info_parse(
	struct heap_info *ret, const char *buf, unsigned int word_bytes, uint64_t heap_max_bytes)
{
	ret->arena = (raddr){ word_from(buf, word_bytes) };
	ret->prev = (raddr){ word_from(buf + word_bytes, word_bytes) };
	ret->size_bytes = word_from(buf + 2 * word_bytes, word_bytes);
	ret->mprotect_bytes = word_from(buf + 3 * word_bytes, word_bytes);
	return ret->prev.v % heap_max_bytes == 0 && ret->size_bytes &&
		ret->size_bytes % PAGE_BYTES == 0 && ret->mprotect_bytes % PAGE_BYTES == 0 &&
		ret->size_bytes <= ret->mprotect_bytes && ret->mprotect_bytes <= heap_max_bytes;
}

bool
is_behind_heap_info(raddr addr, unsigned int word_bytes, uint64_t heap_max_bytes)
{
	uint64_t offset = addr.v % heap_max_bytes;

	/* Four words, six since 2.35; on i386 six since 2.26. */
	return offset == 4 * word_bytes || offset == 6 * word_bytes;
}

/* ---- stray heaps ---- */

struct sweep {
	const struct arenas *a;
	const struct target *t;
	struct os_pages *pages;
};

static bool
arena_heaps_is_known(const struct arenas *a, raddr heap)
{
	for (size_t i = 0; i < a->nr; i++)
		for (size_t j = 0; j < a->v[i].nr_heaps; j++)
			if (a->v[i].heap[j].start.v == heap.v)
				return true;
	return false;
}

static int
arena_heaps_see_present(const struct os_page_run *run, void *arg)
{
	bool *is_present = arg;

	*is_present |= run->is_present;
	return 0;
}

/*
 * Read the header of a heap that may begin at AT; false if it cannot be one.  Its page must be
 * present: malloc wrote to it.
 */
static bool
read_info(const struct sweep *s, raddr at, struct heap_info *ret)
{
	char buf[HEAP_INFO_WORDS * sizeof(uint64_t)];
	bool is_present = false;
	struct err e;

	return os_pages_walk(s->pages, at, raddr_add(at, PAGE_BYTES), false,
		       arena_heaps_see_present, &is_present, &e) == 0 &&
		is_present && os_read(s->t, at, buf, HEAP_INFO_WORDS * s->a->word_bytes, &e) == 0 &&
		heap_info_parse(ret, buf, s->a->word_bytes, s->a->heap_max_bytes) &&
		is_behind_heap_info(ret->arena, s->a->word_bytes, s->a->heap_max_bytes);
}

/*
 * Return whether a heap begins at AT.  The first heap of an arena contains the arena and has no
 * heap before it; for the others both are reversed.
 */
static bool
is_heap(const struct sweep *s, raddr at, struct heap_info *ret)
{
	struct heap_info first;
	raddr first_at;

	if (!read_info(s, at, ret))
		return false;
	first_at.v = ret->arena.v - ret->arena.v % s->a->heap_max_bytes;
	if (first_at.v == at.v)
		return !ret->prev.v;
	return ret->prev.v && read_info(s, first_at, &first) && first.arena.v == ret->arena.v &&
		!first.prev.v;
}

void
arenas_find_strays(const struct arenas *a, const struct target *t, const struct regions *m,
	struct os_pages *pages, struct stray_heaps *ret)
{
	struct sweep s = { a, t, pages };
	uint64_t max = a->heap_max_bytes;

	*ret = (struct stray_heaps){ 0 };
	for (size_t i = 0; i < m->nr; i++) {
		const struct region *r = &m->region[i];
		raddr at = { (r->start.v + max - 1) & ~(max - 1) };
		struct heap_info info;

		if (!region_is_anonymous(r) || r->prot[1] != 'w' || r->prot[3] == 's')
			continue;
		/* Adjacent full heaps are one mapping. */
		for (; raddr_in(at, r->start, r->end); at.v += max)
			if (!arena_heaps_is_known(a, at) && is_heap(&s, at, &info)) {
				ret->nr++;
				ret->bytes += info.size_bytes;
			}
	}
}

struct arena *
arena_at(const struct arenas *a, raddr addr)
{
	for (size_t i = 0; i < a->nr; i++)
		if (a->v[i].addr.v == addr.v)
			return &a->v[i];
	return NULL;
}

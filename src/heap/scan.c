/* The scan of one arena: shared functions. */
#include <config.h>

#include "heap/scan.h"

#include "base/array.h"
#include "heap/heap-priv.h"
#include "heap/memory.h"
#include "os/memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- uncertainty ---- */

int
heap_arena_doubt(struct heap_arena *arena, const char *fmt, ...)
{
	va_list ap;

	/* The first inconsistency counts, and replaces earlier notes. */
	if (arena->certainty == HEAP_APPROXIMATE)
		return 1;
	arena->certainty = HEAP_APPROXIMATE;
	va_start(ap, fmt);
	vsnprintf(arena->why, sizeof arena->why, fmt, ap);
	va_end(ap);
	return 1;
}

int
heap_arena_doubt_late(struct heap_arena *arena)
{
	return heap_arena_doubt(arena, "there was no time to read all of it");
}

/* ---- segments ---- */

ssize_t
segment_at(const struct heap_arena *arena, uint64_t addr)
{
	for (size_t i = arena->segment.nr; i-- > 0;)
		if (raddr_in((raddr){ addr }, arena->segment.v[i].start, arena->segment.v[i].end))
			return (ssize_t)i;
	return -1;
}

/* Add [START, END), and find its present pages. */
int
scan_add_segment(struct scan *s, uint64_t start, uint64_t end, struct err *e)
{
	struct heap_arena *arena = s->arena;
	struct heap_segment *seg = array_add(&arena->segment);
	struct stretch *stretch = array_add(&s->stretch);

	if (!seg || !stretch)
		return err_set(e, ENOMEM, "cannot list the heaps of an arena");
	seg->start.v = start;
	seg->end.v = end;
	if (reader_add_runs(s->r, &stretch->runs, start & ~(s->r->page_bytes - 1), end, e) < 0)
		return -1;
	for (size_t i = 0; i < stretch->runs.nr; i++) {
		const struct page_run *run = &stretch->runs.v[i];

		*(run->is_present ? &arena->resident_bytes : &arena->swapped_bytes) +=
			run->end.v - run->start.v;
	}
	return 0;
}

/*
 * The main arena is in pieces if another mapping blocked brk, so that malloc used mmap(), or if
 * another user of brk took memory as well.  No variable has the starts of its pieces: they are
 * searched for while the target runs (main_pieces_find()).  If pieces are missing, the arena is
 * read by its lists, in every mapping that a list leads to.
 */
int
scan_add_piece(struct scan *s, uint64_t addr, struct err *e)
{
	struct heap_range piece;

	if (!s->is_rough || segment_at(s->arena, addr) >= 0)
		return 0;
	piece = reader_mapping(s->r, addr);
	for (size_t i = 0; i < s->arena->segment.nr; i++) {
		const struct heap_segment *seg = &s->arena->segment.v[i];

		if (seg->end.v <= addr && seg->end.v > piece.start.v)
			piece.start = seg->end;
		if (seg->start.v > addr && seg->start.v < piece.end.v)
			piece.end = seg->start;
	}
	return piece.end.v ? scan_add_segment(s, piece.start.v, piece.end.v, e) : 0;
}

/* ---- the main arena ---- */

uint64_t
scan_align_chunk(const struct malloc_layout *l, uint64_t addr)
{
	uint64_t header = 2 * l->word_bytes, align = l->align_bytes;

	return ((addr + header + align - 1) & ~(align - 1)) - header;
}

uint64_t
brk_start(const struct reader *r)
{
	if (r->l->params.sbrk_base.v)
		return scan_align_chunk(r->l, r->l->params.sbrk_base.v);
	for (size_t i = 0; i < r->m->nr; i++)
		if (r->m->region[i].path && strcmp(r->m->region[i].path, "[heap]") == 0)
			return r->m->region[i].start.v;
	return 0;
}

uint64_t
main_system_bytes(const struct reader *r, const struct arenas *a)
{
	char word[sizeof(uint64_t)];
	struct err e;

	return os_read(r->t, raddr_add(a->v[0].addr, r->l->system_mem), word, r->l->word_bytes,
		       &e) < 0
		? 0
		: word_in(r, word);
}

/* ---- bins ---- */

unsigned int
bin_of(const struct malloc_layout *l, uint64_t bytes)
{
	/*
	 * On i386 since 2.26 alignment is more than two words, but the smallest chunk of 16 bytes
	 * still has bin 2 (SMALLBIN_CORRECTION).
	 */
	unsigned int is_odd = l->align_bytes > 2 * l->word_bytes;
	unsigned int step = l->align_bytes == 16 ? 4 : 3;

	if (bytes < (64 - is_odd) * (uint64_t)l->align_bytes)
		return (unsigned int)(bytes >> step) + is_odd;
	if (l->word_bytes == 8 && bytes >> 6 <= 48)
		return 48 + (unsigned int)(bytes >> 6);
	if (l->word_bytes == 4 && is_odd && bytes >> 6 <= 45)
		return 49 + (unsigned int)(bytes >> 6);
	if (l->word_bytes == 4 && !is_odd && bytes >> 6 <= 38)
		return 56 + (unsigned int)(bytes >> 6);
	if (bytes >> 9 <= 20)
		return 91 + (unsigned int)(bytes >> 9);
	if (bytes >> 12 <= 10)
		return 110 + (unsigned int)(bytes >> 12);
	if (bytes >> 15 <= 4)
		return 119 + (unsigned int)(bytes >> 15);
	if (bytes >> 18 <= 2)
		return 124 + (unsigned int)(bytes >> 18);
	return 126;
}

/*
 * The visitor of the heaps.  What takes time is left for later: in the stop a word becomes an edge
 * by one look at a table, and whose block it points to is found when the process runs again.
 */
#include <config.h>

#include "census/collect.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/word.h"
#include "census/chunks.h"
#include "census/edges.h"
#include "census/fronts.h"
#include "census/slots.h"
#include "census/type-table.h"
#include "elf/regions.h"
#include "glibc/arenas.h"
#include "glibc/chunks.h"
#include "glibc/layout.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/pages.h"
#include "os/ptrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (UINT64_C(1) << 20)

static void
collect_fail(struct census_collector *c)
{
	if (!c->error.kind)
		err_set(&c->error, ENOMEM, "cannot keep the blocks and the pointers between them");
}

/* ---- the beginning ---- */

/* Forget the words of the present chunk. */
static void
forget_words(struct census_collector *c)
{
	c->first_bytes = 0;
	c->has_begun = c->has_last = false;
	c->hash = 0;
	c->scan = (struct census_scan){ 0 };
	census_contents_begin(&c->contents);
}

/* Add the slots of memory where malloc's is expected.  0, or -1 with E. */
static int
collect_expect(struct census_collector *c, const struct heap_look *look, struct err *e)
{
	struct census_slots *s = &c->census->slots;
	const struct arenas *a = look->arenas;
	int failed = 0;

	for (size_t i = 0; i < look->maps->nr && failed >= 0; i++)
		if (region_is_heap(&look->maps->region[i]))
			failed = census_slots_add(
				s, look->maps->region[i].start, look->maps->region[i].end, e);
	for (size_t i = 0; i < a->nr; i++)
		for (size_t k = 0; k < a->v[i].nr_heaps && failed >= 0; k++)
			failed = census_slots_add(s, a->v[i].heap[k].start,
				raddr_add(a->v[i].heap[k].start, a->v[i].heap[k].size_bytes), e);
	for (size_t i = 0; i < c->nr_mapped && failed >= 0; i++)
		failed = census_slots_add(s, c->mapped[i].start, c->mapped[i].end, e);
	return failed < 0 ? -1 : 0;
}

static int
collect_begin(const struct heap_look *look, void *arg, struct err *e)
{
	struct census_collector *c = arg;
	struct census *all = c->census;

	c->error.kind = 0;
	c->is_whole = true;
	c->closed = 0;
	c->header_bytes = 2 * look->layout->word_bytes;
	c->resident_bytes = 0;
	all->knows_pages = look->pages != NULL;
	all->partial.nr = 0;
	all->word_bytes = look->layout->word_bytes;
	all->step_bytes = c->how->is_unaligned ? sizeof(uint32_t) : all->word_bytes;
	all->word_mask = c->how->masks_tags ? (UINT64_C(1) << CENSUS_ADDRESS_BITS) - 1 : UINT64_MAX;
	all->hash.nr = 0;
	all->unread_bytes = all->swapped_bytes = 0;
	if (!all->slots.number && census_slots_init(&all->slots, look->layout->align_bytes, e) < 0)
		return -1;
	all->chunks.granule_shift = all->slots.granule_shift;
	all->type_of.nr = 0;
	all->front.nr = 0;
	forget_words(c);
	census_chunks_cut(&all->chunks, 0);
	census_edges_cut(&all->edges, 0, 0);
	return collect_expect(c, look, e);
}

/* ---- chunks ---- */

/* Drop what is kept of chunks that were dropped. */
static void
cut_partial(struct census *c)
{
	while (c->partial.nr && c->partial.v[c->partial.nr - 1].chunk >= c->chunks.state.nr)
		c->partial.nr--;
}

static void
collect_arena(bool is_again, void *arg)
{
	struct census_collector *c = arg;
	struct census *all = c->census;

	if (is_again) {
		census_chunks_cut(&all->chunks, c->arena_extents);
		census_edges_cut(&all->edges, c->arena_edges, (uint32_t)all->chunks.state.nr);
		all->hash.nr = c->how->wants_hashes ? all->chunks.state.nr : 0;
		all->unread_bytes = c->arena_unread;
		all->type_of.nr = c->how->types ? all->chunks.state.nr : 0;
		all->front.nr = c->arena_fronts;
		cut_partial(all);
	}
	c->arena_fronts = all->front.nr;
	forget_words(c);
	c->resident_bytes = 0;
	c->at_word = 0;
	c->type = CENSUS_NO_TYPE;
	c->arena_extents = all->chunks.extent.nr;
	c->arena_edges = c->closed = all->edges.to.nr;
	c->arena_unread = all->unread_bytes;
}

/*
 * Begin an extent.  Words that were seen before its slot was known are lost: then another look is
 * needed.
 */
static void
collect_extent(struct census_collector *c, raddr start, raddr end)
{
	int is_new = census_slots_add(&c->census->slots, start, end, &c->error);

	if (is_new > 0)
		c->is_whole = false;
	if (census_chunks_begin_extent(&c->census->chunks, start, end) < 0)
		collect_fail(c);
}

static void
collect_segment(raddr start, raddr end, void *arg)
{
	struct census_collector *c = arg;

	collect_extent(c, raddr_add(start, c->header_bytes), end);
}

/* Look at the first words of a block for the address of a type. */
static void
look_for_type(struct census_collector *c, const char *at, uint64_t bytes)
{
	const unsigned int size = c->census->word_bytes;

	for (uint64_t i = 0; i < bytes && c->at_word < CENSUS_TYPE_WORDS && !c->type;
		i += size, c->at_word++) {
		const uint64_t word = word_from(at + i, size);
		const uint32_t type =
			census_type_for(c->how->types, word, c->at_word, c->last_word);

		if (type)
			c->type = type | c->at_word << CENSUS_TYPE_BITS;
		c->last_word = word;
	}
}

/* Keep the type of the chunk that ends, and begin with the next one.  0, or -1 without memory. */
static int
close_type(struct census_collector *c)
{
	uint32_t *type = array_add(&c->census->type_of);

	if (!type)
		return -1;
	*type = c->type;
	c->type = CENSUS_NO_TYPE;
	c->at_word = 0;
	return 0;
}

/* Keep the first words of a block, of which LEFT bytes follow, if the rules need them. */
static void
collect_first(struct census_collector *c, const char *at, uint64_t bytes, uint64_t left)
{
	uint64_t size = sizeof c->first - c->first_bytes;

	if (!c->has_begun) {
		c->has_begun = true;
		c->wants_first = census_fronts_want(c->how->rules, bytes + left);
	}
	if (!c->wants_first || !size)
		return;
	if (bytes < size)
		size = bytes;
	memcpy(c->first + c->first_bytes, at, size);
	c->first_bytes += (unsigned int)size;
}

/*
 * Keep the front of the chunk that ends, of BYTES at ADDR with its header, if a rule may apply to
 * it.  0, or -1 without memory.
 */
static int
close_first(struct census_collector *c, uint64_t addr, uint64_t bytes)
{
	const struct census_chunks *chunks = &c->census->chunks;
	const struct census_extent *extent = &chunks->extent.v[chunks->extent.nr - 1];
	struct census_front block = {
		.start = { addr + c->header_bytes },
		.chunk = (uint32_t)chunks->state.nr - 1,
		.is_mapped = extent->nr == 1 && extent->start.v == addr + c->header_bytes &&
			extent->end.v == addr + bytes,
	};

	block.bytes = bytes - (block.is_mapped ? c->header_bytes : c->header_bytes / 2);
	memcpy(block.word, c->first, c->first_bytes);
	return census_fronts_take(c->census, c->how->rules, &block);
}

/* Scan the word that began in the piece before the BYTES at AT. */
static void
collect_across(struct census_collector *c, const char *at, uint64_t bytes)
{
	/* Malloc's own words are aligned. */
	struct census_scan across = { .bytes = UINT64_MAX / 2 };
	const size_t nr = c->census->edges.to.nr, half = sizeof(uint64_t) / 2;
	char word[sizeof(uint64_t)];

	if (c->has_last) {
		memcpy(word, c->last + half, half);
		memcpy(word + half, at, half);
		if (census_edges_scan(c->census, word, sizeof word, &across) < 0)
			collect_fail(c);
		c->scan.nr_first += c->census->edges.to.nr != nr;
	}
	memcpy(c->last, at + bytes - sizeof c->last, sizeof c->last);
	c->has_last = true;
}

/* Return HASH with the BYTES at AT, which are whole words. */
static uint64_t
collect_hash(uint64_t hash, const char *at, uint64_t bytes, unsigned int size)
{
	for (uint64_t i = 0; i < bytes; i += size) {
		hash = (hash ^ word_from(at + i, size)) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}

static void
collect_words(const char *at, uint64_t bytes, uint64_t left, void *arg)
{
	struct census_collector *c = arg;
	struct census *all = c->census;

	c->resident_bytes += bytes;
	/* Without memory each further try would take as long as it takes the kernel to refuse. */
	if (c->error.kind)
		return;
	if (c->how->types)
		look_for_type(c, at, bytes);
	if (c->how->rules)
		collect_first(c, at, bytes, left);
	if (all->step_bytes < all->word_bytes && bytes >= sizeof c->last)
		collect_across(c, at, bytes);
	if (c->how->wants_hashes)
		c->hash = collect_hash(c->hash, at, bytes, all->word_bytes);
	if (c->how->wants_contents)
		census_contents_add(&c->contents, at, bytes);
	if (census_edges_scan(all, at, bytes, &c->scan) < 0)
		collect_fail(c);
}

/* Keep the hash of the chunk that ends. */
static void
collect_end_hash(struct census_collector *c)
{
	uint32_t *hash = c->how->wants_hashes ? array_add(&c->census->hash) : NULL;

	if (hash)
		*hash = (uint32_t)c->hash;
	else if (c->how->wants_hashes)
		collect_fail(c);
}

/* Keep how much of the block that ends, of BYTES with its header, is in memory, unless all is. */
static int
close_partial(struct census_collector *c, uint64_t bytes)
{
	const uint64_t resident_bytes = c->resident_bytes;
	struct census_partial *added;

	c->resident_bytes = 0;
	if (resident_bytes + c->header_bytes >= bytes)
		return 0;
	added = array_add(&c->census->partial);
	if (!added)
		return -1;
	*added = (struct census_partial){ (uint32_t)c->census->chunks.state.nr, resident_bytes };
	return 0;
}

static void
collect_chunk(uint64_t addr, uint64_t bytes, enum heap_use use, void *arg)
{
	struct census_collector *c = arg;
	struct census *all = c->census;
	struct census_edges *g = &all->edges;
	const uint8_t state = use != HEAP_USE_BLOCK
		? 0
		: (uint8_t)(CENSUS_BLOCK |
			  (c->how->wants_contents ? census_contents_state(&c->contents) : 0));

	if (use == HEAP_USE_UNKNOWN)
		all->unread_bytes += bytes;
	if (use != HEAP_USE_BLOCK)
		g->to.nr = c->closed;
	collect_end_hash(c);
	if (use != HEAP_USE_BLOCK)
		c->resident_bytes = bytes;
	if (c->error.kind || close_partial(c, bytes) < 0 ||
		census_edges_close(g, (uint32_t)all->chunks.state.nr, g->to.nr - c->closed,
			c->scan.headers) < 0 ||
		census_chunks_add(&all->chunks, addr + c->header_bytes, state) < 0 ||
		(c->how->types && close_type(c) < 0) ||
		(c->first_bytes && use == HEAP_USE_BLOCK && close_first(c, addr, bytes) < 0))
		collect_fail(c);
	forget_words(c);
	c->closed = g->to.nr;
}

static void
collect_unread(uint64_t bytes, void *arg)
{
	struct census_collector *c = arg;

	c->census->unread_bytes += bytes;
	c->resident_bytes += bytes;
}

/* ---- blocks with their own mappings ---- */

struct collect_pages {
	struct census_collector *c;
	const struct heap_look *look;
	char *buf;
	uint64_t start, end; /* of the block */
	bool is_late;
};

/* Scan the pages of RUN that are the block's. */
static int
collect_run(const struct os_page_run *run, void *arg)
{
	struct collect_pages *p = arg;
	uint64_t at = run->start.v > p->start ? run->start.v : p->start;
	struct err ignored;

	if (run->is_swapped)
		p->c->census->swapped_bytes += run->end.v - at;
	while (run->is_present && at < run->end.v && !p->is_late) {
		uint64_t left = run->end.v - at;
		ssize_t n = os_read_some(p->look->t, (raddr){ at }, p->buf,
			left < PIECE_BYTES ? left : PIECE_BYTES, &ignored);

		if (n <= 0) {
			collect_unread(left, p->c);
			break;
		}
		collect_words(p->buf, (uint64_t)n & -(uint64_t)p->c->header_bytes,
			p->end - at - (uint64_t)n, p->c);
		at += (uint64_t)n;
		p->is_late = p->look->deadline_ns && os_now_ns() >= p->look->deadline_ns;
	}
	return 0;
}

/* Return whether the mapping [START, END) still begins with the header of a block of that size. */
static bool
is_still_mapped(const struct heap_look *look, const struct census_mapped *m)
{
	const struct region *region = regions_find(look->maps, m->start);
	char header[2 * sizeof(uint64_t)];
	struct err ignored;

	return region && region->end.v >= m->end.v &&
		os_read_present(
			look->t, m->start, header, 2 * look->layout->word_bytes, &ignored) == 0 &&
		mmapped_chunk_bytes(header, 0, look->layout->word_bytes) == m->end.v - m->start.v;
}

/* Take the blocks that are still there; the memory of others counts as the program's. */
static int
collect_mapped(struct census_collector *c, const struct heap_look *look, struct err *e)
{
	auto_free char *buf = malloc(PIECE_BYTES);
	struct collect_pages p = { .c = c, .look = look, .buf = buf };

	if (!buf)
		return err_set(e, ENOMEM, "cannot read the large blocks");
	for (size_t i = 0; i < c->nr_mapped && !p.is_late && !c->error.kind; i++) {
		const struct census_mapped *m = &c->mapped[i];
		struct os_page_run all = { .start = m->start, .end = m->end, .is_present = true };

		if (!is_still_mapped(look, m))
			continue;
		p.start = m->start.v + c->header_bytes;
		p.end = m->end.v;
		collect_extent(c, (raddr){ p.start }, m->end);
		if (!look->pages)
			collect_run(&all, &p);
		else if (os_pages_walk(look->pages, m->start, m->end, false, collect_run, &p, e) <
			0)
			return -1;
		collect_chunk(m->start.v, m->end.v - m->start.v, HEAP_USE_BLOCK, c);
	}
	return p.is_late;
}

static int
collect_end(const struct heap_look *look, void *arg, struct err *e)
{
	struct census_collector *c = arg;
	int result = collect_mapped(c, look, e);

	if (!result && !c->error.kind && c->is_whole)
		result = c->roots(c->census, look, c->roots_arg, e);
	if (!result && !c->error.kind && c->is_whole)
		result = census_fronts_pair(c->census, look->t, e);
	if (result >= 0 && c->error.kind) {
		*e = c->error;
		return -1;
	}
	return c->is_whole ? result : 1;
}

void
census_collect(struct heap_visitor *v, struct census_collector *c)
{
	*v = (struct heap_visitor){
		.arg = c,
		.begin = collect_begin,
		.arena = collect_arena,
		.segment = collect_segment,
		.words = collect_words,
		.chunk = collect_chunk,
		.unread = collect_unread,
		.end = collect_end,
	};
}

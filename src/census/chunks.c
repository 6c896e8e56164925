/* The index of the chunks: a bit for each granule where one begins, with their numbers. */
#include <config.h>

#include "census/chunks.h"

#include "base/array.h"
#include "census/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
census_chunks_release(struct census_chunks *c)
{
	free(c->extent.v);
	free(c->line.v);
	free(c->state.v);
	free(c->by_address);
	free(c->first_in_slot);
	*c = (struct census_chunks){ 0 };
}

/* ---- while they are read ---- */

int
census_chunks_begin_extent(struct census_chunks *c, raddr start, raddr end)
{
	struct census_extent *extent = array_add(&c->extent);

	if (!extent)
		return -1;
	*extent = (struct census_extent){ start, end, (uint32_t)c->state.nr, 0, c->line.nr, 0 };
	return 0;
}

/* Add empty lines until EXTENT, the last, has more than NR. */
static int
chunks_add_lines(struct census_chunks *c, struct census_extent *extent, size_t nr)
{
	for (; extent->nr_lines <= nr; extent->nr_lines++) {
		struct census_line *line = array_add(&c->line);

		if (!line)
			return -1;
		line->rank = c->state.nr;
	}
	return 0;
}

int
census_chunks_add(struct census_chunks *c, uint64_t addr, uint8_t state)
{
	struct census_extent *extent = &c->extent.v[c->extent.nr - 1];
	const uint64_t granule = (addr - extent->start.v) >> c->granule_shift;
	const size_t line = granule / CENSUS_LINE_GRANULES;
	const unsigned int bit = granule % CENSUS_LINE_GRANULES;
	uint8_t *added;

	if (line >= extent->nr_lines && chunks_add_lines(c, extent, line) < 0)
		return -1;
	added = c->state.nr < CENSUS_NO_CHUNK ? array_add(&c->state) : NULL;
	if (!added)
		return -1;
	*added = state;
	c->line.v[extent->line + line].bit[bit / 64] |= UINT64_C(1) << bit % 64;
	extent->nr++;
	return 0;
}

void
census_chunks_cut(struct census_chunks *c, size_t nr)
{
	if (nr >= c->extent.nr)
		return;
	c->state.nr = c->extent.v[nr].first;
	c->line.nr = c->extent.v[nr].line;
	c->extent.nr = nr;
}

/* ---- when all were read ---- */

static int
extent_by_address(const void *a, const void *b)
{
	const struct census_extent *x = a, *y = b;

	return (x->start.v > y->start.v) - (x->start.v < y->start.v);
}

/* Fill FIRST_IN_SLOT; slots are not sorted by address. */
static void
chunks_fill_slots(struct census_chunks *c, const struct census_slots *s)
{
	for (size_t i = 1; i < s->start.nr; i++) {
		size_t from = 0, to = c->extent.nr;

		while (from < to) {
			size_t mid = from + (to - from) / 2;

			if (c->by_address[mid].end.v <= s->start.v[i])
				from = mid + 1;
			else
				to = mid;
		}
		c->first_in_slot[i] = (uint32_t)from;
	}
}

int
census_chunks_sort(struct census_chunks *c, const struct census_slots *s, struct err *e)
{
	free(c->by_address);
	free(c->first_in_slot);
	c->by_address = calloc(c->extent.nr + 1, sizeof *c->by_address);
	c->first_in_slot = calloc(s->start.nr + 1, sizeof *c->first_in_slot);
	if (!c->by_address || !c->first_in_slot)
		return err_set(e, ENOMEM, "cannot list the memory of malloc");
	if (c->extent.nr) {
		memcpy(c->by_address, c->extent.v, c->extent.nr * sizeof *c->by_address);
		qsort(c->by_address, c->extent.nr, sizeof *c->by_address, extent_by_address);
	}
	chunks_fill_slots(c, s);
	return 0;
}

/* Return the extent that contains ADDR, of the slot NUMBER; NULL: none does. */
static const struct census_extent *
extent_of_slot(const struct census_chunks *c, uint32_t number, uint64_t addr)
{
	size_t from = c->first_in_slot[number], to = c->extent.nr;
	const struct census_extent *extent;

	/* Most slots have a single extent: the first is tried before the search. */
	if (from < to && addr >= c->by_address[from].end.v) {
		from++;
		while (from < to) {
			size_t mid = from + (to - from) / 2;

			if (c->by_address[mid].end.v <= addr)
				from = mid + 1;
			else
				to = mid;
		}
	}
	extent = &c->by_address[from];
	return from < c->extent.nr && addr >= extent->start.v ? extent : NULL;
}

static const struct census_extent *
extent_of_granule(const struct census_chunks *c, const struct census_slots *s, uint32_t granule,
	uint64_t *ret_addr)
{
	*ret_addr = census_granule_address(s, granule);
	return extent_of_slot(c, granule >> (CENSUS_SLOT_SHIFT - s->granule_shift), *ret_addr);
}

/* Return the line of EXTENT that has its granule NR; NULL: its last chunk is before that line. */
static const struct census_line *
line_of(const struct census_chunks *c, const struct census_extent *extent, uint64_t nr)
{
	const uint64_t line = nr / CENSUS_LINE_GRANULES;

	return line < extent->nr_lines ? &c->line.v[extent->line + line] : NULL;
}

const void *
census_chunk_line(const struct census_chunks *c, const struct census_slots *s, uint32_t granule)
{
	uint64_t addr;
	const struct census_extent *extent = extent_of_granule(c, s, granule, &addr);

	return extent ? line_of(c, extent, (addr - extent->start.v) >> s->granule_shift) : NULL;
}

uint32_t
census_chunk_at(const struct census_chunks *c, const struct census_slots *s, uint32_t granule)
{
	uint64_t addr;
	const struct census_extent *extent = extent_of_granule(c, s, granule, &addr);
	const struct census_line *line;
	uint64_t nr, rank;
	unsigned int bit;

	if (!extent || !extent->nr)
		return CENSUS_NO_CHUNK;
	nr = (addr - extent->start.v) >> s->granule_shift;
	line = line_of(c, extent, nr);
	if (!line)
		return extent->first + extent->nr - 1;
	bit = nr % CENSUS_LINE_GRANULES;
	rank = line->rank;
	for (unsigned int i = 0; i < bit / 64; i++)
		rank += (unsigned int)__builtin_popcountll(line->bit[i]);
	rank += (unsigned int)__builtin_popcountll(line->bit[bit / 64] << (63 - bit % 64));
	return (uint32_t)(rank - 1);
}

/* ---- in order of number ---- */

/* Return the address of the chunk of EXTENT at or after its granule NR; its end if none follows. */
static raddr
chunk_from(const struct census_chunks *c, const struct census_extent *extent, uint64_t nr)
{
	for (uint64_t line = nr / CENSUS_LINE_GRANULES; line < extent->nr_lines; line++) {
		const struct census_line *l = &c->line.v[extent->line + line];
		unsigned int bit =
			line == nr / CENSUS_LINE_GRANULES ? nr % CENSUS_LINE_GRANULES : 0;
		uint64_t bits = l->bit[bit / 64] >> bit % 64 << bit % 64;

		for (unsigned int i = bit / 64;;) {
			uint64_t granule = line * CENSUS_LINE_GRANULES + 64 * i;

			if (bits)
				return raddr_add(extent->start,
					(granule + (unsigned int)__builtin_ctzll(bits))
						<< c->granule_shift);
			if (++i == CENSUS_LINE_WORDS)
				break;
			bits = l->bit[i];
		}
	}
	return extent->end;
}

/* Set AT's end, its start being known. */
static void
cursor_set_end(const struct census_chunks *c, struct census_cursor *at)
{
	const struct census_extent *extent = &c->extent.v[at->extent];

	at->end = chunk_from(c, extent, ((at->start.v - extent->start.v) >> c->granule_shift) + 1);
}

bool
census_chunks_next(const struct census_chunks *c, struct census_cursor *at)
{
	if (at->chunk == CENSUS_NO_CHUNK) {
		at->extent = 0;
		at->chunk = 0;
	} else if (++at->chunk < c->state.nr &&
		at->chunk - c->extent.v[at->extent].first < c->extent.v[at->extent].nr) {
		at->start = at->end;
		cursor_set_end(c, at);
		return true;
	} else {
		at->extent++;
	}
	while (at->extent < c->extent.nr && !c->extent.v[at->extent].nr)
		at->extent++;
	if (at->extent == c->extent.nr)
		return false;
	at->start = c->extent.v[at->extent].start;
	cursor_set_end(c, at);
	return true;
}

/* Return the index of the extent that has chunk NR. */
static size_t
extent_of_chunk(const struct census_chunks *c, uint32_t nr)
{
	size_t from = 0, to = c->extent.nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (c->extent.v[mid].first + c->extent.v[mid].nr <= nr)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Return the line of EXTENT in which chunk NR begins. */
static size_t
line_of_chunk(const struct census_chunks *c, const struct census_extent *extent, uint32_t nr)
{
	size_t from = 0, to = extent->nr_lines;

	/* The last line whose rank is at most NR: empty lines have the rank of the next chunk. */
	while (to - from > 1) {
		size_t mid = from + (to - from) / 2;

		if (c->line.v[extent->line + mid].rank <= nr)
			from = mid;
		else
			to = mid;
	}
	return from;
}

void
census_chunk_find(const struct census_chunks *c, uint32_t nr, struct census_cursor *ret)
{
	const size_t at = extent_of_chunk(c, nr);
	const struct census_extent *extent = &c->extent.v[at];
	const size_t line = line_of_chunk(c, extent, nr);
	uint64_t granule = line * CENSUS_LINE_GRANULES;

	*ret = (struct census_cursor){ .chunk = nr, .extent = at };
	for (uint64_t rank = c->line.v[extent->line + line].rank;; rank++) {
		ret->start = chunk_from(c, extent, granule);
		if (rank == nr)
			break;
		granule = ((ret->start.v - extent->start.v) >> c->granule_shift) + 1;
	}
	cursor_set_end(c, ret);
}

/* ---- what is in memory ---- */

uint64_t
census_resident_bytes(const struct census *c, const struct census_cursor *at, size_t *next)
{
	const struct census_partial *partial;

	while (*next < c->partial.nr && c->partial.v[*next].chunk < at->chunk)
		++*next;
	partial = *next < c->partial.nr ? &c->partial.v[*next] : NULL;
	return partial && partial->chunk == at->chunk ? partial->resident_bytes
						      : census_block_bytes(c, at);
}

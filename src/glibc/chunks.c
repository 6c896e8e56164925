#include <config.h>

#include "glibc/chunks.h"

#include "base/array.h"
#include "base/word.h"
#include "os/memory.h"
#include "os/pages.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE_BYTES 4096
#define IS_MMAPPED 2
/*
 * Maximum alignment, in pages, of a block whose preceding pages are present: a huge page, or less
 * if the first header is plausible.
 */
#define LEAD_PAGES 512
#define LEAD_PAGES_LIKELY 32
#define FLAG_BITS UINT64_C(7)

uint64_t
mmapped_chunk_bytes(const char *header, uint64_t lead, unsigned int word_bytes)
{
	uint64_t size = word_from(header + word_bytes, word_bytes),
		 bytes = lead + (size & ~FLAG_BITS);

	if ((word_from(header, word_bytes) & ~UINT64_C(1)) != lead ||
		(size & FLAG_BITS) != IS_MMAPPED)
		return 0;
	if (bytes % PAGE_BYTES)
		bytes += 2 * word_bytes;
	return bytes % PAGE_BYTES || bytes <= lead ? 0 : bytes;
}

static int
chunks_see_present(const struct os_page_run *run, void *arg)
{
	bool *is_present = arg;

	*is_present |= run->is_present;
	return 0;
}

/* As mmapped_chunk_bytes(), by the header of an aligned block on the first page. */
static uint64_t
moved_mapping_bytes(const char *page, unsigned int word_bytes)
{
	uint64_t bytes = 0;

	if ((word_from(page + word_bytes, word_bytes) & FLAG_BITS) != IS_MMAPPED ||
		word_from(page, word_bytes) > 1)
		return 0;
	for (unsigned int offset = 16; offset < PAGE_BYTES && !bytes; offset += 16)
		bytes = mmapped_chunk_bytes(page + offset, offset, word_bytes);
	return bytes;
}

/* Size of the first header of a mapping, with the possible shift on i386. */
#define HEADERS_BYTES 16

static bool
may_be_header(const char *start, unsigned int word_bytes)
{
	for (unsigned int offset = 0; offset + 2 * word_bytes <= HEADERS_BYTES;
		offset += 2 * word_bytes)
		if ((word_from(start + offset + word_bytes, word_bytes) & FLAG_BITS) == IS_MMAPPED)
			return true;
	return false;
}

static int
see_first(const struct os_page_run *run, void *arg)
{
	struct os_page_run *first = arg;

	if (run->is_present)
		*first = *run;
	return run->is_present;
}

/*
 * Return whether all of PAGE after the first header is one repeated word; store that word in
 * *RET_FILL.
 */
static bool
chunks_is_filled(const char *page, unsigned int word_bytes, uint64_t *ret_fill)
{
	uint64_t fill = word_from(page + 2 * word_bytes, word_bytes);

	for (unsigned int i = 3 * word_bytes; i < PAGE_BYTES; i += word_bytes)
		if (word_from(page + i, word_bytes) != fill)
			return false;
	*ret_fill = fill;
	return true;
}

/*
 * As mmapped_chunk_bytes(), for a block that is aligned to more than a page: its header is at the
 * end of a page.  Between the first header and that one are the contents from mmap() or M_PERTURB:
 * pages that are not present, or FILL.  The address may have lost its alignment through mremap().
 * BYTES is the size in the first header, which is valid if no other header is on the first NR_PAGES
 * of the first present run before END.
 */
static uint64_t
far_mapping_bytes(const struct target *t, struct os_pages *pages, unsigned int word_bytes, raddr at,
	raddr end, uint64_t bytes, uint64_t fill, int nr_pages)
{
	unsigned int header_bytes = 2 * word_bytes;
	struct os_page_run run = { .end = { 0 } };
	struct err ignored;

	if (bytes < end.v - at.v)
		end = raddr_add(at, bytes);
	os_pages_walk(pages, raddr_add(at, PAGE_BYTES), end, false, see_first, &run, &ignored);
	for (int i = 0; i < nr_pages && run.start.v < run.end.v; i++, run.start.v += PAGE_BYTES) {
		uint64_t offset = run.start.v + PAGE_BYTES - header_bytes - at.v, whole;
		char header[2 * sizeof(uint64_t)];

		if (os_read(t, raddr_add(at, offset), header, header_bytes, &ignored) < 0)
			break;
		whole = mmapped_chunk_bytes(header, offset, word_bytes);
		if (whole)
			return whole;
		if (word_from(header, word_bytes) != fill ||
			word_from(header + word_bytes, word_bytes) != fill)
			break;
	}
	return bytes;
}

/* Return whether AT is END, or can have the header of a chunk with its own mapping. */
static bool
is_next(const struct target *t, unsigned int word_bytes, uint64_t at, uint64_t end)
{
	char start[HEADERS_BYTES];
	struct err ignored;

	return at == end ||
		(at < end &&
			os_read_present(t, (raddr){ at }, start, sizeof start, &ignored) == 0 &&
			may_be_header(start, word_bytes));
}

/*
 * Store in *RET the size of the chunk's mapping that begins at AT, a present page; 0: no chunk
 * begins there.
 */
static int
read_present_chunk(const struct target *t, struct os_pages *pages, unsigned int word_bytes,
	raddr at, uint64_t end, uint64_t *ret, struct err *e)
{
	char page[PAGE_BYTES];
	uint64_t fill;

	*ret = 0;
	/* Most pages do not begin with a header: copying all of each page takes twice as long. */
	if (os_read(t, at, page, HEADERS_BYTES, e) < 0)
		return e->code == EFAULT ? 0 : -1; /* unmapped meanwhile */
	if (!may_be_header(page, word_bytes))
		return 0;
	if (os_read(t, at, page, sizeof page, e) < 0)
		return e->code == EFAULT ? 0 : -1;
	*ret = moved_mapping_bytes(page, word_bytes);
	if (!*ret)
		*ret = mmapped_chunk_bytes(page, 0, word_bytes);
	if (*ret && !word_from(page, word_bytes) && chunks_is_filled(page, word_bytes, &fill))
		*ret = far_mapping_bytes(t, pages, word_bytes, at, (raddr){ end }, *ret, fill,
			is_next(t, word_bytes, at.v + *ret, end) ? LEAD_PAGES_LIKELY : LEAD_PAGES);
	/* On i386 since 2.26 the header is shifted, so that the block is aligned to 16 bytes. */
	if (!*ret && word_bytes == 4)
		*ret = mmapped_chunk_bytes(page + 8, 8, word_bytes);
	return 0;
}

/* As read_present_chunk(), at any page. */
static int
chunks_read_chunk(const struct target *t, struct os_pages *pages, unsigned int word_bytes, raddr at,
	uint64_t end, uint64_t *ret, struct err *e)
{
	bool is_present = false;

	*ret = 0;
	if (os_pages_walk(pages, at, raddr_add(at, PAGE_BYTES), false, chunks_see_present,
		    &is_present, e) < 0)
		return -1;
	return is_present ? read_present_chunk(t, pages, word_bytes, at, end, ret, e) : 0;
}

int
mmapped_chunks_find(struct mmapped_chunks *c, const struct target *t, struct os_pages *pages,
	const struct arenas *a, raddr start, raddr end, raddr limit, struct err *e)
{
	while (start.v < end.v) {
		struct mmapped_chunk *chunk;
		uint64_t bytes;

		if (chunks_read_chunk(t, pages, a->word_bytes, start, limit.v, &bytes, e) < 0)
			return -1;
		if (!bytes || bytes > limit.v - start.v)
			return 0;
		chunk = array_add(c);
		if (!chunk)
			return err_set(e, ENOMEM, "cannot list the mmapped chunks");
		chunk->start = start;
		chunk->end = start = raddr_add(start, bytes);
	}
	return 0;
}

/* ---- searching past memory that is not a chunk ---- */

struct pages {
	struct os_page_run *v; /* owned; the present runs */
	size_t nr, room;
};

static int
chunks_add_pages(const struct os_page_run *run, void *arg)
{
	struct pages *p = arg;
	struct os_page_run *copy = run->is_present ? array_add(p) : NULL;

	if (copy)
		*copy = *run;
	return run->is_present && !copy;
}

/*
 * Read the chunk of a block that is aligned to pages: its header is at the end of the page before,
 * possibly far from the start of the mapping, *RET_START, which is not below FROM.
 */
static int
read_aligned_chunk(const struct target *t, unsigned int word_bytes, uint64_t page, uint64_t from,
	uint64_t *ret_start, uint64_t *ret_bytes, struct err *e)
{
	uint64_t at = page + PAGE_BYTES - 2 * word_bytes, offset;
	char header[2 * sizeof(uint64_t)];

	*ret_bytes = 0;
	if (os_read(t, (raddr){ at }, header, 2 * word_bytes, e) < 0)
		return e->code == EFAULT ? 0 : -1;
	offset = word_from(header, word_bytes) & ~UINT64_C(1);
	*ret_start = at - offset;
	if (offset >= PAGE_BYTES && offset <= at - from && (at - offset) % PAGE_BYTES == 0)
		*ret_bytes = mmapped_chunk_bytes(header, offset, word_bytes);
	return 0;
}

/* Try each present page of RUN from AT on; after a chunk, the next one may begin. */
static int
try_pages(struct mmapped_chunks *c, const struct target *t, struct os_pages *pages,
	unsigned int word_bytes, const struct os_page_run *run, uint64_t *at, uint64_t end,
	uint64_t *budget_pages, struct err *e)
{
	uint64_t page = run->start.v > *at ? run->start.v : *at, bytes, start;

	while (page < run->end.v && *budget_pages) {
		struct mmapped_chunk *chunk;

		--*budget_pages;
		start = page;
		if (read_present_chunk(t, pages, word_bytes, (raddr){ page }, end, &bytes, e) < 0 ||
			((!bytes || bytes > end - start) &&
				read_aligned_chunk(t, word_bytes, page, *at, &start, &bytes, e) <
					0))
			return -1;
		if (!bytes || bytes > end - start) {
			page += PAGE_BYTES;
			continue;
		}
		chunk = array_add(c);
		if (!chunk)
			return err_set(e, ENOMEM, "cannot list the mmapped chunks");
		*chunk = (struct mmapped_chunk){ { start }, { start + bytes } };
		*at = page = start + bytes;
	}
	return 0;
}

int
mmapped_chunks_search(struct mmapped_chunks *c, const struct target *t, struct os_pages *pages,
	const struct arenas *a, raddr start, raddr end, raddr limit, uint64_t *budget_pages,
	struct err *e)
{
	struct pages present = { 0 };
	int failed = os_pages_walk(pages, start, end, false, chunks_add_pages, &present, e);
	uint64_t at = start.v;

	if (failed == 1)
		err_set(e, ENOMEM, "cannot list the mmapped chunks");
	for (size_t i = 0; i < present.nr && !failed && *budget_pages; i++)
		failed = try_pages(
			c, t, pages, a->word_bytes, &present.v[i], &at, limit.v, budget_pages, e);
	free(present.v);
	return failed ? -1 : 0;
}

void
mmapped_chunks_release(struct mmapped_chunks *c)
{
	free(c->v);
	*c = (struct mmapped_chunks){ 0 };
}

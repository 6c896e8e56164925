#include <config.h>

#include "maps/arenas-priv.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define PAGE_BYTES 4096
#define IS_MMAPPED 2
#define FLAG_BITS UINT64_C(7)

/*
 * The bytes of the mapping that a chunk header OFFSET bytes into its first page, PAGE, tells of;
 * 0 if there is no header.
 *
 *	page ->   +---------------------------+
 *	          | nothing, OFFSET bytes     |
 *	chunk ->  | OFFSET                    |  since 2.43 bit 0 says huge page
 *	          | size, with flag 2         |  to the end; since 2.43 two words less
 *	block ->  +---------------------------+
 *
 * What aligned_alloc() returns has its own header further on, but the first one is still there.
 */
static uint64_t
mapping_bytes(const char *page, unsigned int offset, unsigned int word_bytes)
{
	uint64_t skipped = word_from(page + offset, word_bytes);
	uint64_t size = word_from(page + offset + word_bytes, word_bytes);
	uint64_t bytes = offset + (size & ~FLAG_BITS);

	if ((skipped & ~UINT64_C(1)) != offset || (size & FLAG_BITS) != IS_MMAPPED)
		return 0;
	if (bytes % PAGE_BYTES)
		bytes += 2 * word_bytes;
	return bytes % PAGE_BYTES ? 0 : bytes;
}

static int
see_present(const struct os_page_run *run, void *arg)
{
	bool *is_present = arg;

	*is_present |= run->is_present;
	return 0;
}

/* The bytes of the chunk's mapping that begins at AT, into *RET; 0 if none does. */
static int
read_chunk(const struct target *t, struct os_pages *pages, unsigned int word_bytes, raddr at,
	uint64_t *ret, struct err *e)
{
	char page[4 * sizeof(uint64_t)];
	bool is_present = false;

	*ret = 0;
	if (os_pages_walk(pages, at, raddr_add(at, PAGE_BYTES), false, see_present, &is_present,
		    e) < 0)
		return -1;
	if (!is_present)
		return 0;
	if (os_read(t, at, page, sizeof page, e) < 0)
		return e->code == EFAULT ? 0 : -1;	/* unmapped meanwhile */
	*ret = mapping_bytes(page, 0, word_bytes);
	/* On i386 since 2.26 the header is moved so that the block is aligned to 16 bytes. */
	if (!*ret && word_bytes == 4)
		*ret = mapping_bytes(page, 8, word_bytes);
	return 0;
}

int
mmapped_chunks_find(struct mmapped_chunks *c, const struct target *t, struct os_pages *pages,
	const struct arenas *a, raddr start, raddr end, struct err *e)
{
	while (start.v < end.v) {
		struct mmapped_chunk *chunk;
		uint64_t bytes;

		if (read_chunk(t, pages, a->word_bytes, start, &bytes, e) < 0)
			return -1;
		if (!bytes || bytes > end.v - start.v)
			return 0;
		chunk = array_add(c);
		if (!chunk)
			return err_set(e, ENOMEM, "cannot list the mmapped chunks");
		chunk->start = start;
		chunk->end = start = raddr_add(start, bytes);
	}
	return 0;
}

void
mmapped_chunks_release(struct mmapped_chunks *c)
{
	free(c->v);
	*c = (struct mmapped_chunks){ 0 };
}

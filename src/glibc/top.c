#include <config.h>

#include "glibc/top.h"

#include <stdint.h>

#include "base/word.h"
#include "os/memory.h"
#include "os/pages.h"

#define PAGE_BYTES UINT64_C(4096)
#define FLAG_BITS UINT64_C(7)
/* The target may be moving its top. */
#define NR_TRIES 4

raddr
top_chunk_at(const struct arenas *a, size_t nr)
{
	/* The bins are preceded by top and last_remainder. */
	return raddr_add(a->v[nr].addr, a->bins_offset - 2 * a->word_bytes);
}

static int
top_see_present(const struct os_page_run *run, void *arg)
{
	bool *is_present = arg;

	*is_present |= run->is_present;
	return 0;
}

/* Return whether the page of ADDR is in memory. */
static bool
top_is_present(struct os_pages *pages, uint64_t addr)
{
	const raddr page = { addr & -PAGE_BYTES };
	bool is_present = false;
	struct err ignored;

	return pages &&
		os_pages_walk(pages, page, raddr_add(page, PAGE_BYTES), false, top_see_present,
			&is_present, &ignored) == 0 &&
		is_present;
}

/* Read the word at AT into RET. */
static bool
top_read_word(uint64_t *ret, const struct target *t, raddr at, unsigned int word_bytes)
{
	char word[sizeof(uint64_t)];
	struct err ignored;

	if (os_read_present(t, at, word, word_bytes, &ignored) < 0)
		return false;
	*ret = word_from(word, word_bytes);
	return true;
}

/* Read the top whose pointer is at AT once. */
static bool
top_read_once(struct top_chunk *ret, const struct target *t, struct os_pages *pages, raddr at,
	unsigned int word_bytes)
{
	uint64_t top, raw, again;

	/*
	 * The process runs: if top has moved, its header may have been overwritten by a block's
	 * contents.
	 */
	if (!top_read_word(&top, t, at, word_bytes) || !top_is_present(pages, top) ||
		!top_read_word(&raw, t, (raddr){ top + word_bytes }, word_bytes) ||
		!top_read_word(&again, t, at, word_bytes) || again != top ||
		top + (raw & ~FLAG_BITS) <= top)
		return false;
	*ret = (struct top_chunk){ { top }, { top + (raw & ~FLAG_BITS) } };
	return true;
}

bool
top_chunk_read(struct top_chunk *ret, const struct target *t, struct os_pages *pages,
	const struct arenas *a, size_t nr)
{
	for (int i = 0; i < NR_TRIES; i++)
		if (top_read_once(ret, t, pages, top_chunk_at(a, nr), a->word_bytes))
			return true;
	return false;
}

/* layout-priv: shared by the files that determine malloc's layout. */
#ifndef MEMDIAG_GLIBC_LAYOUT_PRIV_H
#define MEMDIAG_GLIBC_LAYOUT_PRIV_H

#include <stdint.h>

#include "base/word.h"
#include "elf/objects.h"
#include "elf/regions.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"

struct os_pages;
struct target;

#define DEFAULT_MMAPS 65536 /* DEFAULT_MMAP_MAX (malloc/malloc.c) */

/* The data to examine, and the layout as far as it is known. */
struct look {
	const struct target *t;
	const struct regions *m;
	const struct objects *o;
	const struct arenas *a;
	struct os_pages *pages; /* NULL: present pages are unknown */
	struct malloc_layout *l;
	uint64_t deadline_ns; /* 0: no deadline */
};

/* Return a word of the target, from our copy. */
static inline uint64_t
word_at(const struct look *k, const char *at)
{
	return word_from(at, k->l->word_bytes);
}

static inline uint64_t
round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

#endif

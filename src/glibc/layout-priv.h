/* layout-priv: shared by the files that determine malloc's layout. */
#ifndef MEMDIAG_GLIBC_LAYOUT_PRIV_H
#define MEMDIAG_GLIBC_LAYOUT_PRIV_H

#include "base/word.h"
#include "glibc/layout.h"

struct os_pages;
struct target;

#define DEFAULT_MMAPS 65536 /* DEFAULT_MMAP_MAX (malloc/malloc.c) */

/* The data that are examined, and the layout as far as it is known. */
struct look {
	const struct target *t;
	const struct regions *m;
	const struct objects *o;
	const struct arenas *a;
	struct os_pages *pages; /* NULL: present pages are unknown */
	struct malloc_layout *l;
	uint64_t deadline_ns; /* 0: none */
};

/* A word of the target, in our copy. */
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

/* Whether A lies in memory that is written to and is no file's. */
bool look_is_anonymous(const struct look *k, raddr a);

/* Whether one of the arenas is at ADDR. */
bool look_is_arena(const struct look *k, uint64_t addr);

/*
 * Keep to the releases FIRST to LAST, unless that leaves none: a distribution's branch may differ.
 */
void look_narrow(struct look *k, unsigned int first, unsigned int last);

/* Add to found_by. */
void look_note(struct look *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Find l->mp and l->params. */
void look_for_params(struct look *k);
/*
 * Find l->tcache, and by what is in the caches whether there is safe linking.  What could not be
 * looked at by the deadline counts as not there.
 */
void look_for_tcache(struct look *k);

#endif

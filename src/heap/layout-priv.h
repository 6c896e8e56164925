/* layout-priv: what the files that tell malloc's layout share. */
#ifndef MEMDIAG_HEAP_LAYOUT_PRIV_H
#define MEMDIAG_HEAP_LAYOUT_PRIV_H

#include <string.h>

#include "base/word.h"
#include "heap/heap.h"

/* What is looked at, and the layout as far as it is known. */
struct look {
	const struct target *t;
	const struct maps *m;
	const struct objects *o;
	const struct arenas *a;
	struct os_pages *pages;	/* NULL: which pages are present cannot be told */
	struct heap_layout *l;
	uint64_t deadline_ns;	/* 0: none */
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

/* Keep to the releases FIRST to LAST, unless that leaves none: a distribution's branch may differ. */
void look_narrow(struct look *k, unsigned int first, unsigned int last);

/* Add to found_by. */
void look_note(struct look *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Find l->mp and l->params. */
void look_for_params(struct look *k);
/* Bring l->params up to date. */
void params_read_again(struct heap_layout *l, const struct target *t);

/*
 * Find l->tcache, and by what is in the caches whether there is safe linking.  What could not be
 * looked at by the deadline counts as not there.
 */
void look_for_tcache(struct look *k);

/* How many blocks bin NR of the cache at C has; since 2.42, how many more may come. */
static inline unsigned int
tcache_count(const struct heap_tcache_layout *l, const char *c, unsigned int nr)
{
	uint16_t half;

	if (l->count_bytes == 1)
		return (unsigned char)c[nr];
	memcpy(&half, c + nr * sizeof half, sizeof half);
	return half;
}

/* The first block of bin NR of the cache at C; 0 if it is empty. */
static inline uint64_t
tcache_head(const struct heap_layout *l, const struct heap_tcache_layout *tl, const char *c,
	unsigned int nr)
{
	return word_from(c + tl->nr_bins * tl->count_bytes + nr * l->word_bytes, l->word_bytes);
}

/* As heap_layout_find(), but the tcache is not looked for, which takes most of the time. */
int layout_glance(struct heap_layout *ret, const struct target *t, const struct maps *m,
	const struct objects *o, const struct arenas *a, struct err *e);

/* The rest of heap_layout_find(), until DEADLINE_NS (0: none). */
void layout_add_tcache(struct heap_layout *l, const struct target *t, const struct maps *m,
	const struct arenas *a, uint64_t deadline_ns);

#endif

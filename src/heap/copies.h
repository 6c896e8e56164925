/*
 * copies: the copies that were made in the stop.
 */
#ifndef MEMDIAG_HEAP_COPIES_H
#define MEMDIAG_HEAP_COPIES_H

#include <stdint.h>

#include "base/err.h"

struct reader;
struct scan;

/* ---- copies.c -------------------------------------------------------------------------------- */

#define NR_COPIES 16

/* Each at the place its address says. */
struct copies {
	struct reader *r;
	const struct scan *s; /* NULL: not of one arena, but of all that can be malloc's */
	int nr_single;	      /* pages, then all of a copy is read */
	struct copy {
		uint64_t start;
		uint32_t pages; /* a bit for each that was read */
	} copy[NR_COPIES];
	char *buf; /* owned */
};

int copies_open(
	struct copies *c, struct reader *r, const struct scan *s, int nr_single, struct err *e);
void copies_close(struct copies *c);
#define auto_copies __attribute__((cleanup(copies_close)))

/*
 * Two words at ADDR, which is aligned to two words, or NULL; that is so when there is no time, too.
 */
const char *copies_pair(struct copies *c, uint64_t addr);

#endif

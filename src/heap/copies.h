/*
 * copies: the copies that were made in the stop.
 */
#ifndef MEMDIAG_HEAP_COPIES_H
#define MEMDIAG_HEAP_COPIES_H

#include <stdint.h>

#include "base/err.h"

struct reader;
struct scan;

#define NR_COPIES 16

/* Copies, indexed by address. */
struct copies {
	struct reader *r;
	const struct scan *s; /* NULL: not of one arena, but of all of malloc's memory */
	int nr_single;	      /* number of pages after which a whole copy is read */
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

/* Return two words at ADDR, which is aligned to two words, or NULL; also if there is no time. */
const char *copies_pair(struct copies *c, uint64_t addr);

#endif

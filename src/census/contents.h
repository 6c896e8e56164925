/*
 * contents: a guess at blocks without a type, from what is in them and from the pointers to them:
 * text, nodes, arrays.  It proves nothing.
 */
#ifndef MEMDIAG_CENSUS_CONTENTS_H
#define MEMDIAG_CENSUS_CONTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "census/census.h"

/* The first one that applies. */
enum census_contents {
	CENSUS_CONTENTS_ZEROES, /* all words that are in memory are 0 */
	CENSUS_CONTENTS_NODE,	/* it and a block of its size have each other's address */
	/* Three words in a row, elsewhere, have addresses in it: begin, end, room. */
	CENSUS_CONTENTS_ARRAY,
	CENSUS_CONTENTS_TEXT,	  /* text, or in a large block its first bytes, and no pointers */
	CENSUS_CONTENTS_POINTERS, /* at least half of its words are pointers, and three of them */
	CENSUS_CONTENTS_OTHER,
	NR_CENSUS_CONTENTS,
};

/* The words for these. */
extern const char *const census_contents_names[];

/* ---- in the stop ---- */

/* The bytes of a block that must be text. */
#define CENSUS_TEXT_BYTES 64

/* The words of a chunk so far. */
struct census_contents_scan {
	char first[CENSUS_TEXT_BYTES];
	unsigned int nr_first; /* bytes in it */
	bool is_written;       /* a byte is not 0 */
};

/* Begin with a chunk. */
static inline void
census_contents_begin(struct census_contents_scan *s)
{
	s->nr_first = 0;
	s->is_written = false;
}

/* Add the BYTES at AT, the next ones of the chunk of S, and at least one. */
void census_contents_add(struct census_contents_scan *s, const char *at, uint64_t bytes);

/* Return the bits of enum census_state for the chunk of S, which has ended. */
uint8_t census_contents_state(const struct census_contents_scan *s);

/* ---- when all were read ---- */

/*
 * Return the contents (enum census_contents) of each chunk of C, which was read with
 * wants_contents; CENSUS_CONTENTS_OTHER for chunks that are no blocks.  The caller frees them.
 * NULL with E.
 */
uint32_t *census_contents_find(const struct census *c, struct err *e);

#endif

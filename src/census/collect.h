/* collect: the chunks and the words in them, taken while the heaps are read. */
#ifndef MEMDIAG_CENSUS_COLLECT_H
#define MEMDIAG_CENSUS_COLLECT_H

#include "base/err.h"
#include "census/census.h"
#include "census/contents.h"
#include "census/edges.h"
#include "heap/visit.h"

/* A block with its own mapping, as seen before the stop. */
struct census_mapped {
	raddr start, end;
};

struct census_collector {
	struct census *census;
	const struct census_options *how;
	const struct census_mapped *mapped; /* borrowed; sorted by address */
	size_t nr_mapped;
	/* Called in the stop, when all chunks are known; as end() of struct heap_visitor. */
	int (*roots)(struct census *c, const struct heap_look *look, void *arg, struct err *e);
	void *roots_arg;
	unsigned int header_bytes;
	struct census_scan scan; /* of the present chunk */
	struct census_contents_scan contents;
	/* of the present chunk: the next word to look at, and what was found so far */
	unsigned int at_word;
	uint32_t type;
	uint64_t last_word; /* before AT_WORD */
	/* The first bytes of the present chunk, FIRST_BYTES of them, if rules need them. */
	char first[CENSUS_FIRST_WORDS * sizeof(uint64_t)];
	unsigned int first_bytes;
	bool has_begun, wants_first;
	/* when the present arena began */
	size_t arena_extents, arena_edges, arena_unread, arena_fronts;
	size_t closed; /* number of edges when the last chunk ended */
	/* The last 8 bytes of words of the present chunk; a word may continue in the next piece. */
	char last[sizeof(uint64_t)];
	bool has_last;
	uint64_t hash;		 /* of the present chunk's words so far */
	uint64_t resident_bytes; /* of the present chunk, without its header, so far */
	bool is_whole;	  /* all words that are addresses of malloc's memory were recognised */
	struct err error; /* the first one; kind 0: none */
};

/* Fill V with the functions of a visitor that collects into C; both must outlive it. */
void census_collect(struct heap_visitor *v, struct census_collector *c);

#endif

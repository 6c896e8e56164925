/*
 * visit: a visitor gets every chunk of all arenas with its contents, from a single stop.
 */
#ifndef MEMDIAG_HEAP_VISIT_H
#define MEMDIAG_HEAP_VISIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"

struct arenas;
struct malloc_layout;
struct os_pages;
struct regions;
struct target;

/* The use of a range of a heap. */
enum heap_use {
	HEAP_USE_BLOCK,	 /* a chunk that the program has */
	HEAP_USE_FREE,	 /* in a bin, a fast bin or the unsorted bin, or the top chunk */
	HEAP_USE_CACHED, /* in the cache of a thread */
	HEAP_USE_OWN,	 /* malloc's: fence posts */
	/* not a chunk: a header was not valid, or not present, and these bytes were skipped */
	HEAP_USE_UNKNOWN,
};

/* The state at the beginning of a look, valid until it ends. */
struct heap_look {
	const struct target *t;
	const struct regions *maps;
	const struct arenas *arenas;
	const struct malloc_layout *layout;
	struct os_pages *pages; /* NULL: present pages are unknown */
	uint64_t deadline_ns;	/* of os_now_ns(); 0: the target is not stopped */
};

/*
 * The functions of a visitor.  A look is one read of all arenas.  It may be cut off by its
 * deadline, and another look follows, which begins with begin() again.  Within a look arena() comes
 * before the chunks of an arena.  Chunks come in order of address within a segment.
 */
struct heap_visitor {
	void *arg;
	int (*begin)(const struct heap_look *look, void *arg, struct err *e);
	/* IS_AGAIN: what was reported since the last call is void, and is read again. */
	void (*arena)(bool is_again, void *arg);
	/* [START, END), from its first chunk on; END is not a chunk. */
	void (*segment)(raddr start, raddr end, void *arg);
	/*
	 * BYTES of words at AT, of the chunk that chunk() reports next: from the program's pointer
	 * on, as many as the program may use, without pages that are not present.  LEFT bytes of
	 * the chunk follow.
	 */
	void (*words)(const char *at, uint64_t bytes, uint64_t left, void *arg);
	/* BYTES at ADDR, with the header of the chunk. */
	void (*chunk)(uint64_t addr, uint64_t bytes, enum heap_use use, void *arg);
	/* BYTES of the chunk that chunk() reports next are present and could not be read. */
	void (*unread)(uint64_t bytes, void *arg);
	/*
	 * All arenas were read; called in the same stop.  0, 1 if the deadline has passed before
	 * all was seen, or -1 with E.
	 */
	int (*end)(const struct heap_look *look, void *arg, struct err *e);
};

#endif

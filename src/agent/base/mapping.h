/*
 * mapping: what a program asks of mmap() and mremap(), and what of it is the program's memory.
 */
#ifndef MEMDIAG_AGENT_BASE_MAPPING_H
#define MEMDIAG_AGENT_BASE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_call {
	void *at;
	size_t bytes;
	int prot, flags, fd;
};

struct remap_call {
	void *old;
	size_t had, want;
	int flags;
	void *to; /* where the new mapping is to be, if the flags say so */
};

/*
 * The state of a page.  0: the table's next higher level has it; at the top, no state is known.
 */
enum page_state {
	PAGE_COUNTS = 1,
	/* anonymous, or of a file in memory: counts while it can be accessed */
	PAGE_MEMORY = 2,
	PAGE_COPY = 4,	  /* of a file, private: counts as soon as it can be written to */
	PAGE_NOTHING = 6, /* neither */
	PAGE_LEAVES = 8,  /* being unmapped: not counted, unless that fails */
	PAGE_STATES = 15,
};

#pragma GCC visibility push(hidden)

/* The end of [AT, AT + BYTES), and of its last page; the highest address if none. */
uintptr_t mapping_end(const void *at, size_t bytes);
uintptr_t mapping_page_end(const void *at, size_t bytes);

/* Whether all of [START, END), whole pages, is mapped: by a system call. */
bool mapping_is_there(uintptr_t start, uintptr_t end);
/* The end of what is mapped without a hole from AT on, at most BYTES. */
uintptr_t mapping_end_of_mapped(const void *at, size_t bytes);

/*
 * The state that M will have.  For a file that is mapped shared the kernel is asked what kind of
 * file it is.
 */
enum page_state mapping_state(const struct map_call *m);

/* The protection in PROT, without flags of other meaning. */
int mapping_access(int prot);

/* Whether the old mapping stays: a second one of shared memory, or one that is left empty. */
bool mapping_keeps_old(const struct remap_call *r);

#pragma GCC visibility pop

#endif

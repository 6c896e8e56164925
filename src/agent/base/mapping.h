/*
 * mapping: the arguments of mmap() and mremap(), and which pages of a mapping are the program's
 * memory.
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
	void *to; /* address of the new mapping if the flags request one */
};

/*
 * The state of a page. 0: the next higher level of the table holds the state; at the top, the state
 * is unknown.
 */
enum page_state {
	PAGE_COUNTS = 1,
	/* anonymous, or a file in memory: counts while it can be accessed */
	PAGE_MEMORY = 2,
	PAGE_COPY = 4,	  /* private mapping of a file: counts as soon as it can be written to */
	PAGE_NOTHING = 6, /* any other mapping */
	PAGE_LEAVES = 8,  /* being unmapped: not counted, unless the call fails */
	PAGE_STATES = 15,
};

#pragma GCC visibility push(hidden)

/*
 * The end of [AT, AT + BYTES), and the end of its last page; the highest address if the sum
 * overflows.
 */
uintptr_t mapping_end(const void *at, size_t bytes);
uintptr_t mapping_page_end(const void *at, size_t bytes);

/* True if all of [START, END), a range of whole pages, is mapped.  Makes a system call. */
bool mapping_is_there(uintptr_t start, uintptr_t end);
/* The end of the range that is mapped without a hole from AT on, of at most BYTES. */
uintptr_t mapping_end_of_mapped(const void *at, size_t bytes);

/*
 * The state of the pages of M.  For a shared mapping of a file, this asks the kernel for the kind
 * of the file.
 */
enum page_state mapping_state(const struct map_call *m);

/* The protection bits of PROT, without its other flags. */
int mapping_access(int prot);

/*
 * True if the old mapping stays: shared memory is mapped a second time, or the old mapping is left
 * empty.
 */
bool mapping_keeps_old(const struct remap_call *r);

#pragma GCC visibility pop

#endif

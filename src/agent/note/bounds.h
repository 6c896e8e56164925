/*
 * bounds: the bounds of the stack on which the calling thread runs.  A stack is read only within
 * its bounds.
 *
 * The stack that a thread was created with stays mapped while the thread runs on it.  A stack that
 * the program has allocated may be unmapped, shrink or get a guard page while the thread runs on
 * another stack, by a system call that no hook sees.  The kernel may also have merged its mapping
 * with adjacent ones.  So nothing is cached for such a stack: each walk asks the kernel about each
 * page before it reads the first word of the page.
 */
#ifndef MEMDIAG_AGENT_NOTE_BOUNDS_H
#define MEMDIAG_AGENT_NOTE_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct bounds {
	uintptr_t start, end;
};

/*
 * Open the maps of this process, which the caller reads and closes.  Negative if /proc is not
 * available.
 */
long bounds_open_maps(void);

/*
 * Get the mapping that contains ADDRESS from the kernel; BUF is scratch space.  Makes system calls.
 * False if no mapping contains it or it is unknown.
 */
bool bounds_of_mapping(uintptr_t address, char *buf, size_t size, struct bounds *ret);

/*
 * Get the facts that bounds_of_thread() needs.  ON_FIRST is any address on the stack of the first
 * thread; if 0, it is read from /proc.  Do not call this in a hook.
 */
void bounds_begin(uintptr_t on_first, char *buf, size_t size);

/*
 * As bounds_begin(), from the calling thread, if bounds_begin() failed.  In that case it makes
 * system calls, which a filter may forbid.
 */
void bounds_learn(char *buf, size_t size);

/*
 * Get the stack that the calling thread was created with and that contains SP: as pthread_create()
 * has recorded it, or as the kernel has made it.  Makes no system call.  False if SP is on another
 * stack or the stack is unknown.
 */
bool bounds_of_thread(uintptr_t sp, struct bounds *ret);

/*
 * Get bounds for SP on any other stack.  If the kernel can be asked which pages are readable, the
 * bounds enclose more than the stack; else they are those of the mapping.  False if unknown.
 */
bool bounds_of_other(uintptr_t sp, char *buf, size_t size, struct bounds *ret);

/* Pages that were found readable during one walk. */
#define BOUNDS_NR_PAGES 8
struct bounds_pages {
	uint32_t nr;		       /* pages so far; the last ones are in AT: */
	uintptr_t at[BOUNDS_NR_PAGES]; /* start of each page */
};
/*
 * True if the eight bytes at AT, which is within the bounds of bounds_of_other(), can be read.
 * Makes a system call for each page that P does not contain.
 */
bool bounds_may_read(struct bounds_pages *p, uintptr_t at);

#pragma GCC visibility pop

#endif

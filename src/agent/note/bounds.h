/*
 * bounds: the addresses between which the stack lies that the calling thread is on.  A stack is
 * read only between them.
 *
 * The stack that a thread was made with stays mapped while the thread runs on it.  One that the
 * program has made itself may be unmapped, made smaller or get a guard page whenever the thread is
 * on another one, by a system call that no hook sees; and what was next to it may have been joined
 * with it.  So nothing is kept of such a stack: in each walk the kernel is asked of each page
 * before the first word of it is read.
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

/* The maps of this process, to be read and closed; less than 0: there is no /proc. */
long bounds_open_maps(void);

/*
 * The mapping that ADDRESS is in, as the kernel says; BUF is to work with.  Makes system calls.
 * False: none, or it is not known.
 */
bool bounds_of_mapping(uintptr_t address, char *buf, size_t size, struct bounds *ret);

/*
 * Learn what bounds_of_thread() needs.  ON_FIRST is any address on the stack of the first thread;
 * 0: it is read from /proc.  Not in a hook.
 */
void bounds_begin(uintptr_t on_first, char *buf, size_t size);

/*
 * The same from the calling thread, if that was not possible yet: then it makes system calls, which
 * a filter may forbid.
 */
void bounds_learn(char *buf, size_t size);

/*
 * The stack that the calling thread was made with, SP being on it: as pthread_create() has noted
 * it, or as the kernel has made it.  Makes no system call.  False: SP is on another stack, or it is
 * not known.
 */
bool bounds_of_thread(uintptr_t sp, struct bounds *ret);

/*
 * Bounds for SP on any other stack.  Where the kernel can be asked what is readable they have more
 * than the stack; else they are those of the mapping.  False: unknown.
 */
bool bounds_of_other(uintptr_t sp, char *buf, size_t size, struct bounds *ret);

/* Pages that were found to be readable in one walk. */
#define BOUNDS_NR_PAGES 8
struct bounds_pages {
	uint32_t nr;		       /* so far, 0 at first; the last of them are kept: */
	uintptr_t at[BOUNDS_NR_PAGES]; /* their first bytes */
};
/*
 * Whether the eight bytes at AT, which is in such bounds, can be read.  Makes a system call for
 * each page that P has not.
 */
bool bounds_may_read(struct bounds_pages *p, uintptr_t at);

#pragma GCC visibility pop

#endif

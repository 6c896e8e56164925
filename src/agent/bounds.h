/*
 * bounds: the addresses between which the stack lies that the calling thread is on.  A stack is
 * read only between them, so that memory is mapped.
 */
#ifndef MEMDIAG_AGENT_BOUNDS_H
#define MEMDIAG_AGENT_BOUNDS_H

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
 * Learn what bounds_of_thread() needs for making no system call: later a filter may forbid them.
 * ON_FIRST is any address on the stack of the first thread; 0: none is known.  Not in a hook.
 */
void bounds_begin(uintptr_t on_first, char *buf, size_t size);

/*
 * The stack that the calling thread was made with, SP being on it.  Where pthread_create() has
 * noted that, or the kernel has made it, no system call is made.  False: SP is on another stack, or
 * it is not known.
 */
bool bounds_of_thread(uintptr_t sp, char *buf, size_t size, struct bounds *ret);

#pragma GCC visibility pop

#endif

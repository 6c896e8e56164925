/*
 * memory: reading the memory of a target.
 */
#ifndef MEMDIAG_OS_MEMORY_H
#define MEMDIAG_OS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"

struct target;

/*
 * Copy SIZE bytes of the target.  Returns 0 when all were copied, else -1 with E (EFAULT: some of
 * the range is not mapped).  Reading a page that is not present maps the zero page there, and
 * reading a swapped page brings it back from swap: ask os_pages() first where that matters.
 */
int os_read(const struct target *t, raddr from, void *to, size_t size, struct err *e);

/* As os_read(), but copies the readable bytes from the start and returns their number, or -1. */
ssize_t os_read_some(const struct target *t, raddr from, void *to, size_t size, struct err *e);

/*
 * As os_read_some(), about twice as fast for many pages at once: for pages that no other process
 * shares (os_pages_exclusive()).  For shared pages the kernel would give the target private copies.
 */
ssize_t os_read_unshared(const struct target *t, raddr from, void *to, size_t size, struct err *e);

/*
 * As os_read(), but only from pages that the target has, in memory or in swap: reading another one
 * would give it a page (for a hole in shared memory a page of real memory), or wait for a handler
 * of userfaultfd.  EFAULT when a page is missing.  If page tables may not be read it is os_read().
 */
int os_read_present(const struct target *t, raddr from, void *to, size_t size, struct err *e);

/*
 * As os_read_present(), but missing pages are zeroes in TO.  Returns the number of other bytes, or
 * -1.
 */
ssize_t os_read_present_some(
	const struct target *t, raddr from, void *to, size_t size, struct err *e);

/*
 * Copy SIZE bytes from each of the NR addresses FROM into TO, one after the other, as
 * os_read_present_some().
 */
int os_read_each(
	const struct target *t, const raddr *from, size_t nr, size_t size, void *to, struct err *e);

/*
 * Check whether T's memory may be read at all.  Otherwise nothing is found in it, which looks like
 * another kind of program.  0, or -1 with E (ERR_PERMISSION) and the missing right.
 */
int os_check_memory(const struct target *t, struct err *e);

/*
 * Return false if T has executed another program, or has ended, since it was opened: what is read
 * by its open files then is of a program that is gone.  True if its memory may not be read.
 */
bool os_runs_same_program(const struct target *t);

#endif

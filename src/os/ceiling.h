/*
 * ceiling: how much memory memdiag takes itself.  A small file of a stranger's can become a large
 * one: it is compressed, or has sizes in it.  What it becomes must not push other programs out.
 */
#ifndef MEMDIAG_OS_CEILING_H
#define MEMDIAG_OS_CEILING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Take no more than BYTES more from now on.  Beyond it, malloc() and mmap() fail with ENOMEM, also
 * of libraries and in programs that are started.  A limit that is lower stays (RLIMIT_DATA).  END
 * prints that and does not return.
 */
void os_set_ceiling(uint64_t bytes, void (*end)(void));

/* For a library that cannot go on without memory: call END of os_set_ceiling(), or abort(). */
void os_end_without_memory(void) __attribute__((noreturn));

/* The BYTES that were set; 0 if none were. */
uint64_t os_ceiling(void);

/*
 * How many bytes memdiag may still take: up to the ceiling, or where none was set half of what is
 * available to the machine now.
 */
uint64_t os_memory_left(void);

/*
 * Take BYTES that are in no mapping of memdiag's, as a file in memory: the ceiling is lower by as
 * much from now on.  False, with errno ENOMEM: fewer are left.
 */
bool os_take_memory(uint64_t bytes);

#endif

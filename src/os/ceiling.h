/*
 * ceiling: a limit on the memory that memdiag itself takes.  A small file from another user can
 * grow when it is read: it is compressed, or contains sizes.  The result must not push other
 * programs out of memory.
 */
#ifndef MEMDIAG_OS_CEILING_H
#define MEMDIAG_OS_CEILING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Take at most BYTES more from now on.  Above that malloc() and mmap() fail with ENOMEM, also in
 * libraries and in programs that are started.  A lower limit (RLIMIT_DATA) stays.  END prints the
 * error and does not return.
 */
void os_set_ceiling(uint64_t bytes, void (*end)(void));

/* Undo os_set_ceiling(), in a child that becomes a program of the user's. */
void os_lift_ceiling(void);

/* Call END of os_set_ceiling(), or abort(): for a library that cannot continue without memory. */
void os_end_without_memory(void) __attribute__((noreturn));

/* Return the BYTES that were set; 0 if no ceiling was set. */
uint64_t os_ceiling(void);

/*
 * Return how many bytes memdiag may still take: up to the ceiling, or half of what is available to
 * the machine now if no ceiling was set.
 */
uint64_t os_memory_left(void);

/*
 * Lower the ceiling by BYTES that are in no mapping of memdiag, such as a file in memory.  Return
 * false, with errno ENOMEM, if fewer are left.
 */
bool os_take_memory(uint64_t bytes);

#endif

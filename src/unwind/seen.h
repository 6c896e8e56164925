/*
 * seen: numbers for objects that come to an address where another was.
 */
#ifndef MEMDIAG_UNWIND_SEEN_H
#define MEMDIAG_UNWIND_SEEN_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/*
 * The number of the object that contains PC, the address of a frame that the calling thread has
 * just walked; at most UNWIND_NO_NUMBER.
 */
uint32_t unwind_number_of(uintptr_t pc);

#pragma GCC visibility pop

#endif

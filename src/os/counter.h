/*
 * counter: whether the processor's time stamp counter is steady.
 */
#ifndef MEMDIAG_OS_COUNTER_H
#define MEMDIAG_OS_COUNTER_H

#include <stdbool.h>

/*
 * Return whether all processors share the counter of wire_stamp(): the kernel itself reads the time
 * from it.  False also if that is unknown.
 */
bool os_counter_is_steady(void);

#endif

/*
 * counter: whether the processor's time stamp counter is steady.
 */
#ifndef MEMDIAG_OS_COUNTER_H
#define MEMDIAG_OS_COUNTER_H

#include <stdbool.h>

/*
 * Whether the counter of wire_stamp() is one for all processors: the kernel itself takes the time
 * from it.  False also if that is not known.
 */
bool os_counter_is_steady(void);

#endif

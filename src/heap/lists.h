/*
 * lists: the lengths of malloc's lists, which malloc_info() walks with an arena locked.
 */
#ifndef MEMDIAG_HEAP_LISTS_H
#define MEMDIAG_HEAP_LISTS_H

#include <stdbool.h>
#include <stdint.h>

struct process;

/*
 * Return whether malloc_info() would hold the lock of one of P's arenas for longer than MAX_NS, to
 * go through its free chunks; also if there are too many in all to count them quickly.  A hint: no
 * thread is stopped, and lists change.
 */
bool heap_malloc_info_is_slow(const struct process *p, uint64_t max_ns);

#endif

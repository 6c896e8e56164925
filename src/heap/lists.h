/*
 * lists: the lengths of malloc's lists, which malloc_info() walks with an arena locked.
 */
#ifndef MEMDIAG_HEAP_LISTS_H
#define MEMDIAG_HEAP_LISTS_H

#include <stdbool.h>
#include <stdint.h>

struct process;

/*
 * Whether malloc_info() would hold the lock of one of P's arenas for longer than MAX_NS, going
 * through its free chunks; also when there are too many in all to be counted quickly.  A hint:
 * nothing is stopped, and lists change.
 */
bool heap_malloc_info_is_slow(const struct process *p, uint64_t max_ns);

#endif

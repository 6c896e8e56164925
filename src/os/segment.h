/*
 * segment: System V shared memory, by its identifiers.
 */
#ifndef MEMDIAG_OS_SEGMENT_H
#define MEMDIAG_OS_SEGMENT_H

#include <stdint.h>

struct target;

/*
 * Return the size of segment ID of T when it was made, in bytes; 0 if unknown: the segment has been
 * removed, may not be examined, or T is in another IPC namespace, where the number means another
 * segment.
 */
uint64_t os_segment_bytes(const struct target *t, int id);

#endif

/*
 * segment: shared memory of System V, by the numbers that processes have for it.
 */
#ifndef MEMDIAG_OS_SEGMENT_H
#define MEMDIAG_OS_SEGMENT_H

#include <stdint.h>

struct target;

/*
 * The bytes of segment ID of T, as it was made; 0 if that is unknown: the segment has been removed,
 * may not be looked at, or T is in another IPC namespace, where the number is another segment's.
 */
uint64_t os_segment_bytes(const struct target *t, int id);

#endif

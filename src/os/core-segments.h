/*
 * core-segments: the segments of a core file.
 */
#ifndef MEMDIAG_OS_CORE_SEGMENTS_H
#define MEMDIAG_OS_CORE_SEGMENTS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/raddr.h"
#include "os/os-priv.h"

/* Return the segment that contains A, or the first one after it; NULL if not found. */
const struct core_segment *core_segment_from(const struct core *c, raddr a);
/* As pread(), from the bytes of segment S that the core file contains, from A on. */
ssize_t core_read_segment(
	const struct core *c, const struct core_segment *s, raddr a, void *to, size_t size);
/* Return the mapping that contains A, or NULL. */
const struct core_mapping *core_mapping_at(const struct core *c, raddr a);

#endif

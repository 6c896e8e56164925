/* Lookups in a core file: its segments, and the mappings of files. */
#include <config.h>

#include "os/core-segments.h"

#include <unistd.h>

const struct core_segment *
core_segment_from(const struct core *c, raddr a)
{
	size_t low = 0, high = c->segment.nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->segment.v[mid].end.v <= a.v)
			low = mid + 1;
		else
			high = mid;
	}
	return low < c->segment.nr ? &c->segment.v[low] : NULL;
}

const struct core_mapping *
core_mapping_at(const struct core *c, raddr a)
{
	size_t low = 0, high = c->mapping.nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->mapping.v[mid].end.v <= a.v)
			low = mid + 1;
		else
			high = mid;
	}
	return low < c->mapping.nr && c->mapping.v[low].start.v <= a.v ? &c->mapping.v[low] : NULL;
}

ssize_t
core_read_segment(
	const struct core *c, const struct core_segment *s, raddr a, void *to, size_t size)
{
	const uint64_t skip = a.v - s->start.v;
	const uint64_t left = skip < s->there_bytes ? s->there_bytes - skip : 0;

	return pread(c->fd, to, size < left ? size : left, (off_t)(s->offset + skip));
}

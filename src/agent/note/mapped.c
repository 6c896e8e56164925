#include <config.h>

#include "agent/note/mapped.h"

#include <string.h>

#include "agent/base/sys.h"
#include "agent/note/bounds.h"
#include "agent/note/sites.h"
#include "unwind/objects.h"
#include "wire/maps.h"

/* Only one thread at a time owns this. */
static struct {
	bool is_wanted;
	int is_taken;
	uint64_t generation; /* generation of the loaded objects at the last note */
	char chunk[4096];
	char line[4096 + 128]; /* a path and the text that precedes it */
	size_t len;
	uint32_t which, bytes; /* the text that is being written, and its size */
} maps;

void
mapped_begin(void)
{
	maps.is_wanted = true;
	maps.is_taken = 0;
	maps.generation = 0;
}

static void
end_line(void)
{
	maps.line[maps.len++] = '\n';
	maps.len = wire_maps_keep_code(maps.line, maps.len);
	if (maps.bytes + maps.len <= WIRE_MAPS_BYTES) {
		memcpy(wire_maps(sites, maps.which) + maps.bytes, maps.line, maps.len);
		maps.bytes += (uint32_t)maps.len;
	}
	maps.len = 0;
}

static void
copy_maps(long fd)
{
	long n;

	maps.len = 0;
	while ((n = sys_call(SYS_read, fd, maps.chunk, sizeof maps.chunk)) > 0)
		for (long i = 0; i < n; i++) {
			if (maps.chunk[i] == '\n')
				end_line();
			else if (maps.len < sizeof maps.line - 1)
				maps.line[maps.len++] = maps.chunk[i];
		}
}

/* True if an object was loaded between the last note and NOW.  New sites have no note. */
static bool
mapped_is_outdated(uint64_t now)
{
	return maps.generation != now || !now || !sites->maps_bytes[sites->maps_now & 1];
}

bool
mapped_is_due(void)
{
	return maps.is_wanted && sites && mapped_is_outdated(unwind_generation());
}

/* One of the two texts is complete at any moment. */
void
mapped_note_now(void)
{
	const uint64_t now = unwind_generation();
	long fd;

	if (!sites || !mapped_is_outdated(now) ||
		__atomic_exchange_n(&maps.is_taken, 1, __ATOMIC_ACQUIRE))
		return;
	fd = bounds_open_maps();
	if (!sys_failed(fd)) {
		maps.which = !sites->maps_now;
		maps.bytes = 0;
		copy_maps(fd);
		sys_call(SYS_close, fd);
		sites->maps_bytes[maps.which] = maps.bytes;
		__atomic_store_n(&sites->maps_now, maps.which, __ATOMIC_RELEASE);
		maps.generation = now;
	}
	__atomic_store_n(&maps.is_taken, 0, __ATOMIC_RELEASE);
}

void
mapped_note(void)
{
	if (maps.is_wanted)
		mapped_note_now();
}

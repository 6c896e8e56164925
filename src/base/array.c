#include <config.h>

#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_BYTES ((uintptr_t)2 << 20)

/* Use huge pages: page faults take a tenth of the time to read 100,000 mappings. */
static void
ask_for_huge_pages(void *p, size_t bytes)
{
	uintptr_t start = ((uintptr_t)p + HUGE_BYTES - 1) & -HUGE_BYTES;
	uintptr_t end = ((uintptr_t)p + bytes) & -HUGE_BYTES;

	if (end > start)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
}

int
array_reserve_(void **v, size_t want, size_t *room, size_t size)
{
	void *bigger;

	if (want <= *room)
		return 0;
	if (want > SIZE_MAX / size)
		return -1;
	bigger = realloc(*v, want * size);
	if (!bigger)
		return -1;
	ask_for_huge_pages(bigger, want * size);
	*v = bigger;
	*room = want;
	return 0;
}

int
array_grow_(void **v, size_t nr, size_t *room, size_t size)
{
	if (nr < *room)
		return 0;
	return array_reserve_(v, *room ? *room * 2 : 16, room, size);
}

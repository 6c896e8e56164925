#include <config.h>

#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

int
array_grow_(void **v, size_t nr, size_t *room, size_t size)
{
	size_t want;
	void *bigger;

	if (nr < *room)
		return 0;
	want = *room ? *room * 2 : 16;
	if (want > SIZE_MAX / size)
		return -1;
	bigger = realloc(*v, want * size);
	if (!bigger)
		return -1;
	*v = bigger;
	*room = want;
	return 0;
}

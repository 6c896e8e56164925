/*
 * Blocks from before ld.so has come to this object: an IFUNC resolver of a library may call malloc
 * already then.  They are never given back.
 */
#include <config.h>

#include "agent/base/early.h"

#include <string.h>

unsigned char early_pool[EARLY_BYTES] __attribute__((aligned(16)));

static size_t used;
/*
 * Volatile: the compiler knows its value, but not that it is another until it has been relocated:
 * 0, or what the linker left there.
 */
static void *const volatile itself = (void *)&itself;

bool
early_is_over(void)
{
	return itself == (const volatile void *)&itself;
}

/* One thread only: there can be no other yet.  Each block has its size in front. */
void *
early_alloc(size_t alignment, size_t size)
{
	uintptr_t from = (uintptr_t)early_pool, at;

	if (alignment < 16)
		alignment = 16;
	at = (from + used + sizeof(size_t) + alignment - 1) & ~(uintptr_t)(alignment - 1);
	if (size > EARLY_BYTES || at - from > EARLY_BYTES - size)
		return NULL;
	used = at - from + size;
	((size_t *)at)[-1] = (size << 4) | 2; /* IS_MMAPPED */
	return (void *)at;
}

size_t
early_size(const void *block)
{
	return ((const size_t *)block)[-1] >> 4;
}

void
early_copy(void *to, const void *old, size_t size)
{
	size_t had = early_size(old);

	memcpy(to, old, had < size ? had : size);
}

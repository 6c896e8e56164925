/*
 * early: blocks that are allocated before ld.so has relocated this object: an IFUNC resolver of a
 * library may already call malloc.  These blocks are never reused.
 */
#include <config.h>

#include "agent/base/early.h"

#include <string.h>

unsigned char early_pool[EARLY_BYTES] __attribute__((aligned(16)));

static size_t used;
/*
 * Volatile: the compiler knows the value of this variable, but not that relocation changes it.
 * Before, it is 0, or what the linker wrote there.
 */
static void *const volatile itself = (void *)&itself;

bool
early_is_over(void)
{
	return itself == (const volatile void *)&itself;
}

/* Only one thread exists yet.  The size of each block precedes it. */
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

#include <config.h>

#include "agent/hook/plain.h"

#include <errno.h>

#include "agent/base/early.h"
#include "agent/base/real.h"

void *
plain_alloc(size_t alignment, size_t size)
{
	if (!real.malloc)
		return early_alloc(alignment, size);
	return alignment ? real.memalign(alignment, size) : real.malloc(size);
}

void
plain_free(void *block)
{
	if (real.free && !early_has(block))
		real.free(block);
}

void *
plain_calloc(size_t nr, size_t size)
{
	if (real.calloc)
		return real.calloc(nr, size);
	/* The pool contains only zeroes. */
	return __builtin_mul_overflow(nr, size, &size) ? NULL : early_alloc(0, size);
}

void *
plain_realloc(void *old, size_t size)
{
	return real.realloc ? real.realloc(old, size) : plain_alloc(0, size);
}

int
plain_posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *block;

	if (real.posix_memalign)
		return real.posix_memalign(ret, alignment, size);
	block = early_alloc(alignment, size);
	if (!block)
		return ENOMEM;
	*ret = block;
	return 0;
}

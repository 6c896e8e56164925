/*
 * The least counter: each thread adds the sizes of its chunks, as glibc has written them before the
 * blocks, to its own sums.  It has no limit and no checks, and it cannot be read from outside.  It
 * is the bound of what a counter must add to a pair.
 */
#include <stddef.h>
#include <stdint.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *block);

static __thread __attribute__((tls_model("initial-exec"))) uint64_t allocated_bytes, freed_bytes;

static uint64_t
bytes_of(const void *block)
{
	return ((const size_t *)block)[-1] & ~(size_t)7;
}

void *
malloc(size_t size)
{
	void *block = __libc_malloc(size);

	if (block)
		allocated_bytes += bytes_of(block);
	return block;
}

void
free(void *block)
{
	if (block)
		freed_bytes += bytes_of(block);
	__libc_free(block);
}

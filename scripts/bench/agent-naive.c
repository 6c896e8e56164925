/* A counter as one writes it first: one number, added to atomically. */
#include <dlfcn.h>
#include <malloc.h>
#include <stddef.h>

static size_t live;

void *
malloc(size_t size)
{
	static void *(*real)(size_t);
	void *block;

	if (!real)
		real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	block = real(size);
	__atomic_fetch_add(&live, malloc_usable_size(block), __ATOMIC_SEQ_CST);
	return block;
}

void
free(void *block)
{
	static void (*real)(void *);

	if (!real)
		real = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	__atomic_fetch_sub(&live, malloc_usable_size(block), __ATOMIC_SEQ_CST);
	real(block);
}

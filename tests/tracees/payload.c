/*
 * payload: a library that counts the calls of malloc and free when they are hooked: hook_NAME is to
 * be called instead of NAME, and finds that in real_NAME.
 */
#include <stddef.h>

/* Each thread's own, as an agent would have it: a few words of static TLS. */
static __thread unsigned long nr_here __attribute__((tls_model("initial-exec")));

unsigned long nr_mallocs, nr_frees;
void *(*real_malloc)(size_t size);
void (*real_free)(void *block);

void *
hook_malloc(size_t size)
{
	nr_here++;
	__atomic_add_fetch(&nr_mallocs, 1, __ATOMIC_RELAXED);
	return real_malloc(size);
}

void
hook_free(void *block)
{
	nr_here++;
	if (block)
		__atomic_add_fetch(&nr_frees, 1, __ATOMIC_RELAXED);
	real_free(block);
}

/*
 * payload: a library that counts calls of functions that are hooked: hook_NAME is to be called
 * instead of NAME, and finds that in real_NAME.
 */
#include <stddef.h>

/* Each thread's own, as an agent would have it: a few words of static TLS. */
static __thread unsigned long nr_here __attribute__((tls_model("initial-exec")));

unsigned long nr_mallocs, nr_frees, nr_short, nr_other_short;
void *(*real_malloc)(size_t size);
void (*real_free)(void *block);
int (*real_malloc_info)(int options, void *stream);
int (*real_pthread_mutexattr_destroy)(void *attr);

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

/* Two instructions in libc: too short for a jump. */
int
hook_pthread_mutexattr_destroy(void *attr)
{
	__atomic_add_fetch(&nr_short, 1, __ATOMIC_RELAXED);
	return real_pthread_mutexattr_destroy(attr);
}

/* For those that are led from one hook to another. */
int
other_pthread_mutexattr_destroy(void *attr)
{
	__atomic_add_fetch(&nr_other_short, 1, __ATOMIC_RELAXED);
	return real_pthread_mutexattr_destroy(attr);
}

int
hook_malloc_info(int options, void *stream)
{
	return real_malloc_info(options, stream);
}

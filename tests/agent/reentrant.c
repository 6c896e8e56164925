/*
 * A malloc behind the agent that calls itself by the names that the agent has: what it does inside
 * must not be counted again.  Powers of two, never given back to the kernel.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct header {		     /* in front of a block */
	struct header *next; /* of free ones */
	char *base;	     /* where its power of two begins */
	size_t usable;
	size_t power;
};

static struct header *unused[48];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A child must not find it held by a thread that it does not have. */

static void
before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void
after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void
begin(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

static struct header *
take(size_t power)
{
	struct header *h;

	pthread_mutex_lock(&lock);
	h = unused[power];
	if (h)
		unused[power] = h->next;
	pthread_mutex_unlock(&lock);
	return h;
}

void *
memalign(size_t alignment, size_t size)
{
	size_t power = 6, room = size + alignment + sizeof(struct header);
	struct header *h;
	char *base;
	uintptr_t at;

	while (power < 47 && ((size_t)1 << power) < room)
		power++;
	if (size > (size_t)1 << 46) {
		errno = ENOMEM;
		return NULL;
	}
	h = take(power);
	base = h ? h->base
		 : mmap(NULL, (size_t)1 << power, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	at = ((uintptr_t)base + sizeof *h + alignment - 1) & ~(uintptr_t)(alignment - 1);
	h = (struct header *)at - 1;
	*h = (struct header){ NULL, base, (uintptr_t)base + ((size_t)1 << power) - at, power };
	return (void *)at;
}

void *
malloc(size_t size)
{
	return memalign(16, size); /* by the agent's name */
}

void
free(void *p)
{
	struct header *h = (struct header *)p - 1;

	if (!p)
		return;
	pthread_mutex_lock(&lock);
	h->next = unused[h->power];
	unused[h->power] = h;
	pthread_mutex_unlock(&lock);
}

void *
calloc(size_t nr, size_t size)
{
	void *p;

	if (__builtin_mul_overflow(nr, size, &size)) {
		errno = ENOMEM;
		return NULL;
	}
	p = malloc(size);
	return p ? memset(p, 0, size) : NULL;
}

size_t
malloc_usable_size(void *p)
{
	return p ? ((struct header *)p - 1)->usable : 0;
}

void *
realloc(void *old, size_t size)
{
	size_t had = old ? ((struct header *)old - 1)->usable : 0;
	void *p;

	if (old && !size) {
		free(old);
		return NULL;
	}
	p = malloc(size);
	if (p && old) {
		memcpy(p, old, had < size ? had : size);
		free(old);
	}
	return p;
}

void *
aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int
posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *p;

	if (alignment % sizeof(void *) || (alignment & (alignment - 1)))
		return EINVAL;
	p = memalign(alignment, size);
	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}

void *
valloc(size_t size)
{
	return memalign(4096, size);
}

void *
pvalloc(size_t size)
{
	return memalign(4096, (size + 4095) & ~(size_t)4095);
}

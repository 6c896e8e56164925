/*
 * A library that wants memory in handlers around fork(), and has announced them before anybody
 * called malloc: so they come in between the agent's.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

static void
want_memory(void)
{
	void *volatile p[100];

	for (int i = 0; i < 100; i++)
		p[i] = malloc(5000);
	for (int i = 0; i < 100; i++)
		free(p[i]);
	p[0] = mmap(NULL, 100000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p[0], 100000);
}

__attribute__((constructor)) static void
begin(void)
{
	pthread_atfork(want_memory, want_memory, want_memory);
}

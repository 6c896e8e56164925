/* leave: the first thread goes, and the process ends when the last has gone. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void
say(void)
{
	puts("at the end");
}

static void *
stay(void *first)
{
	pthread_join(*(pthread_t *)first, NULL);
	return NULL;
}

int
main(void)
{
	static pthread_t first;
	pthread_t thread;

	first = pthread_self();
	atexit(say);
	if (pthread_create(&thread, NULL, stay, &first) != 0)
		return 99;
	pthread_exit(NULL);
}

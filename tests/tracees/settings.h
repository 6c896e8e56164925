/*
 * settings: use malloc in a way that leaves something in every member of its structures, and say
 * what malloc itself says of it.  For tests/tracees/settings.c, which runs on any glibc, and for
 * unit tests.
 */
#ifndef MEMDIAG_TESTS_SETTINGS_H
#define MEMDIAG_TESTS_SETTINGS_H

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SETTINGS_THREADS 5
#define SETTINGS_TRIM_THRESHOLD 300001
#define SETTINGS_TOP_PAD 65537
#define SETTINGS_MMAP_THRESHOLD 200003
#define SETTINGS_MMAP_MAX 777
#define SETTINGS_ARENA_TEST 3
#define SETTINGS_NR_MAPPED 4

static pthread_barrier_t settings_barrier;
static void *volatile settings_kept[SETTINGS_NR_MAPPED + 1];

static inline void *
settings_thread(void *arg)
{
	void *volatile block = malloc(1000);

	free(block);
	pthread_barrier_wait(&settings_barrier);
	pause();
	return arg;
}

/* Whether the link in a free block is the address of what it leads to. */
static inline void
settings_say_links(void)
{
	volatile uintptr_t *volatile first, *volatile second;
	uintptr_t address;

	/* So that both have room in the cache. */
	for (int i = 0; i < 8; i++)
		settings_kept[0] = malloc(40);
	first = malloc(40);
	second = malloc(40);
	address = (uintptr_t)first;
	free((void *)first);
	free((void *)second);
	/* In a fast bin links are to chunks, whose blocks are two words further. */
	printf("plain %d\n", *second == address || *second == address - 2 * sizeof address);
}

/* Blocks with a mapping of their own; once there was one more. */
static inline void
settings_map(void)
{
	for (int i = 0; i <= SETTINGS_NR_MAPPED; i++)
		settings_kept[i] = malloc(300 << 10);
	free(settings_kept[SETTINGS_NR_MAPPED]);
}

/*
 * As many threads as SETTINGS_THREADS stay, with an arena each.  Writes malloc_info()'s document.
 */
static inline void
settings_use(void)
{
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 512);
	mallopt(M_TRIM_THRESHOLD, SETTINGS_TRIM_THRESHOLD);
	mallopt(M_TOP_PAD, SETTINGS_TOP_PAD);
	mallopt(M_MMAP_THRESHOLD, SETTINGS_MMAP_THRESHOLD);
	mallopt(M_MMAP_MAX, SETTINGS_MMAP_MAX);
	mallopt(M_ARENA_TEST, SETTINGS_ARENA_TEST);
	mallopt(M_ARENA_MAX, SETTINGS_THREADS + 1);
	settings_map();
	settings_say_links();
	pthread_barrier_init(&settings_barrier, NULL, SETTINGS_THREADS + 1);
	for (int i = 0; i < SETTINGS_THREADS; i++)
		pthread_create(&thread, NULL, settings_thread, NULL);
	pthread_barrier_wait(&settings_barrier);
	malloc_info(0, stdout);
}

#endif

/*
 * random-heap: a program that does random things to its heaps; each seed is another one.  It says
 * what malloc_info() does, and trims on command.  For tests/tracees/random-heap.c, which
 * runs on any glibc, and for unit tests.
 */
#ifndef MEMDIAG_TESTS_RANDOM_HEAP_H
#define MEMDIAG_TESTS_RANDOM_HEAP_H

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define RANDOM_HEAP_SLOTS 3000
#define RANDOM_HEAP_STEPS 40000

/* An obstacle to brk while the main arena grows. */
enum random_heap_obstacle {
	OBSTACLE_NONE,
	OBSTACLE_SBRK,	  /* the program itself uses it */
	OBSTACLE_MAPPING, /* a mapping right behind it */
};

struct random_heap_plan {
	unsigned int seed;
	int nr_threads;
	enum random_heap_obstacle obstacle;
	bool has_child; /* which shares all of its pages */
};

static pthread_barrier_t random_heap_barrier;

static inline uint32_t
random_heap_draw(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Mostly small, at times large, now and then with a mapping of its own. */
static inline size_t
random_heap_size(uint32_t *state)
{
	uint32_t kind = random_heap_draw(state) % 100;

	if (kind < 60)
		return random_heap_draw(state) % 200;
	if (kind < 90)
		return random_heap_draw(state) % 3000;
	return kind < 99 ? random_heap_draw(state) % 60000 : random_heap_draw(state) % 400000;
}

static inline void
random_heap_step(void **slot, uint32_t *state)
{
	size_t size = random_heap_size(state);
	uint32_t kind = random_heap_draw(state) % 16;
	void *p = NULL;

	if (kind < 6) {
		free(*slot);
	} else if (kind < 8) {
		p = realloc(*slot, size + 1);
	} else {
		free(*slot);
		p = kind < 10 ? aligned_alloc(64 << (kind & 3), (size & ~(size_t)4095) + 4096)
			      : malloc(size);
	}
	if (p)
		memset(p, 0x5a, kind & 1 ? 1 : size ? size : 1);
	*slot = p;
}

static inline void
random_heap_put_in_the_way(enum random_heap_obstacle obstacle)
{
	uintptr_t brk = (uintptr_t)sbrk(0);

	if (obstacle == OBSTACLE_SBRK)
		memset(sbrk(100000), 0x11, 100000);
	else if (obstacle == OBSTACLE_MAPPING)
		mmap((void *)((brk + 4095) & ~(uintptr_t)4095), 4096, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static enum random_heap_obstacle random_heap_obstacle;

static inline void *
random_heap_work(void *arg)
{
	static __thread void *slot[RANDOM_HEAP_SLOTS];
	uint32_t state = (uint32_t)(uintptr_t)arg;

	for (int i = 0; i < RANDOM_HEAP_STEPS; i++) {
		if (i == RANDOM_HEAP_STEPS / 2 && getpid() == gettid())
			random_heap_put_in_the_way(random_heap_obstacle);
		random_heap_step(&slot[random_heap_draw(&state) % RANDOM_HEAP_SLOTS], &state);
	}
	/* Let go of most of it, as a server does after its busy hour. */
	for (int i = 0; i < RANDOM_HEAP_SLOTS; i++)
		if (random_heap_draw(&state) % 8) {
			free(slot[i]);
			slot[i] = NULL;
		}
	pthread_barrier_wait(&random_heap_barrier);
	while (getpid() != gettid())
		pause();
	return NULL;
}

/* Says what malloc_info() does, and trims on command; any other word it only answers. */
static inline void
random_heap_run(const struct random_heap_plan *plan)
{
	static char buffer[1 << 16], line[16];
	pthread_t thread;

	random_heap_obstacle = plan->obstacle;
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	setvbuf(stdin, NULL, _IONBF, 0);
	pthread_barrier_init(&random_heap_barrier, NULL, (unsigned int)plan->nr_threads);
	malloc_trim(0); /* its code is in memory now */
	for (int i = 1; i < plan->nr_threads; i++)
		pthread_create(
			&thread, NULL, random_heap_work, (void *)(uintptr_t)(plan->seed * 100 + i));
	random_heap_work((void *)(uintptr_t)(plan->seed * 100));
	if (plan->has_child && fork() == 0)
		for (prctl(PR_SET_PDEATHSIG, SIGKILL);;)
			pause();
	malloc_info(0, stdout);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		if (strcmp(line, "trim\n") == 0)
			malloc_trim(0);
		puts("done");
		fflush(stdout);
	}
}

#endif

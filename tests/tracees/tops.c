/*
 * tops [THREADS [ARENAS]]: threads that fill the top of their arenas with blocks and free them all
 * again, so that it stays resident.  A block that changes, or one of calloc() that is not zero, is
 * told.
 *
 *	work	-> how many blocks were good, after each thread has done it once more
 *	busy	-> from now on all do it all the time; how many so far
 *	rest	-> no more; how many so far
 *	anon	-> bytes of anonymous memory that are resident
 */
#include "tracee.h"

#include <malloc.h>
#include <semaphore.h>
#include <stdatomic.h>

#define NR_BLOCKS 256

static long nr_threads;
static sem_t go, done;
static atomic_bool is_busy;
static atomic_ulong nr_good;

static void
expect(const unsigned char *block, size_t size, unsigned char byte)
{
	for (size_t i = 0; i < size; i++)
		if (block[i] != byte) {
			tracee_say("byte %zu of %zu is %d, not %d", i, size, block[i], byte);
			_exit(1);
		}
}

static void
fill_top(uint32_t *random, unsigned char mark)
{
	struct {
		unsigned char *at;
		size_t size;
	} block[NR_BLOCKS];

	for (int i = 0; i < NR_BLOCKS; i++) {
		*random = *random * 1664525 + 1013904223;
		block[i].size = 2000 + (*random >> 8) % 40000;
		block[i].at = i % 2 ? calloc(1, block[i].size) : malloc(block[i].size);
		if (!block[i].at)
			tracee_fail("malloc");
		if (i % 2)
			expect(block[i].at, block[i].size, 0);
		memset(block[i].at, mark, block[i].size);
	}
	for (int i = 0; i < NR_BLOCKS; i++)
		expect(block[i].at, block[i].size, mark);
	for (int i = NR_BLOCKS; i--;)
		free(block[i].at);
	nr_good += NR_BLOCKS;
}

static void *
work(void *arg)
{
	unsigned char mark = (unsigned char)(uintptr_t)arg;
	uint32_t random = mark;

	for (;;) {
		fill_top(&random, mark);
		if (is_busy)
			continue;
		sem_post(&done);
		while (sem_wait(&go) != 0)
			;
	}
	return NULL;
}

/* Exact, while the counters of statm and status are sums of approximate ones (since 6.2). */
static long
resident_bytes(void)
{
	static char text[4096];
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	long kib = -1;

	setvbuf(f, text, _IOFBF, sizeof text);
	while (kib < 0 && fscanf(f, "Anonymous: %ld", &kib) != 1)
		if (fscanf(f, "%*[^\n] ") == EOF)
			tracee_fail("/proc/self/smaps_rollup");
	fclose(f);
	return kib * 1024;
}

static void
start_all(void)
{
	for (long i = 0; i < nr_threads; i++)
		sem_post(&go);
}

static void
wait_for_all(void)
{
	for (long i = 0; i < nr_threads; i++)
		sem_wait(&done);
}

int
main(int argc, char **argv)
{
	char line[64];

	/* Or khugepaged may make a huge page of what was given back. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	nr_threads = tracee_number(argc, argv, 1, 8);
	mallopt(M_ARENA_MAX, (int)tracee_number(argc, argv, 2, nr_threads + 1));
	mallopt(M_TRIM_THRESHOLD, 1 << 30); /* the top is not trimmed by itself */
	mallopt(M_MMAP_THRESHOLD, 1 << 24);
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	for (long i = 0; i < nr_threads; i++)
		tracee_thread(work, (void *)(uintptr_t)(i + 1));
	wait_for_all();
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (strcmp(line, "anon") == 0) {
			tracee_say("%ld", resident_bytes());
			continue;
		}
		is_busy = strcmp(line, "busy") == 0;
		if (strcmp(line, "rest") != 0)
			start_all();
		if (!is_busy)
			wait_for_all();
		tracee_say("%lu", nr_good);
	}
	return tracee_end();
}

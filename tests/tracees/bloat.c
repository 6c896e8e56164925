/*
 * bloat [MIB]: a program that has grown: many arenas full of freed blocks, big blocks and big
 * mappings, sleeping threads.  Two of them with the same arguments are twins, so that what
 * "memdiag trim" gives back on one can be held against what the other gives back by itself.
 *
 *	rss	-> bytes resident
 *	trim	-> bytes that its own malloc_trim(0) gave back
 */
#include "tracee.h"

#include <malloc.h>
#include <semaphore.h>
#include <sys/mman.h>

#define NR_THREADS 12
#define MIB ((size_t)1 << 20)
#define RUN 256 /* blocks freed or kept together: about 256 KiB, so whole pages get free */

static sem_t filled, never;
static size_t share_bytes;

static void *
allocate(size_t size)
{
	void *block = malloc(size);

	if (!block)
		tracee_fail("malloc");
	memset(block, 0x5a, size);
	return block;
}

/* Fill this thread's arena with small blocks, then free three runs of four but never the last. */
static void
fill_arena(size_t bytes)
{
	size_t room = bytes / 64, nr = 0;
	void **block = calloc(room, sizeof *block);
	uint32_t random = 1;

	if (!block)
		tracee_fail("calloc");
	for (size_t sum = 0; sum < bytes && nr < room; nr++) {
		size_t size;

		random = random * 1664525 + 1013904223;
		size = 32 + (random >> 8) % 2000;
		block[nr] = allocate(size);
		sum += size;
	}
	for (size_t i = 0; i < nr - 1; i++)
		if (i / RUN % 4 != 0)
			free(block[i]);
	free(block);
}

static void *
grow_and_sleep(void *arg)
{
	fill_arena(share_bytes);
	sem_post(&filled);
	while (sem_wait(&never) != 0)
		;
	return arg;
}

static void
map_a_lot(void)
{
	void *anon =
		mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *reserve = mmap(
		NULL, 1024 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (anon == MAP_FAILED || reserve == MAP_FAILED)
		tracee_fail("mmap");
	memset(anon, 0x5a, 32 * MIB);
	for (int i = 0; i < 4; i++)
		allocate(8 * MIB);
}

/* Exact, while the counters of statm and status are sums of approximate ones (since 6.2). */
static long
resident_bytes(void)
{
	char line[256];
	long kib = -1;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	while (f && fgets(line, sizeof line, f) && sscanf(line, "Rss: %ld", &kib) != 1)
		;
	if (kib < 0)
		tracee_fail("/proc/self/smaps_rollup");
	fclose(f);
	return kib * 1024;
}

int
main(int argc, char **argv)
{
	char line[64];

	share_bytes = (size_t)tracee_number(argc, argv, 1, 8) * MIB;
	sem_init(&filled, 0, 0);
	sem_init(&never, 0, 0);
	for (int i = 0; i < NR_THREADS; i++)
		tracee_thread(grow_and_sleep, NULL);
	for (int i = 0; i < NR_THREADS; i++)
		sem_wait(&filled);
	map_a_lot(); /* first: freeing what malloc mapped raises the size from which it does */
	fill_arena(4 * share_bytes);
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		long before = resident_bytes();

		if (strcmp(line, "trim") == 0) {
			malloc_trim(0);
			before -= resident_bytes();
		}
		tracee_say("%ld", before);
	}
	return tracee_end();
}

/*
 * replace MIB: a heap of MIB MiB in blocks of 200 bytes, of which one after the other is freed and
 * allocated again, in a thread of its own.
 *
 *	count	-> blocks that were replaced so far
 */
#include "tracee.h"

#include <stdatomic.h>

#define BLOCK_BYTES 200
#define CHUNK_BYTES 208

static char **block;
static size_t nr_blocks;
static atomic_ulong nr_replaced;

static void *
replace(void *arg)
{
	uint64_t random = 1;

	for (;;) {
		size_t i;

		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		i = (random >> 33) % nr_blocks;
		free(block[i]);
		block[i] = memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
		if (atomic_fetch_add(&nr_replaced, 1) % 2000 == 0)
			usleep(100);
	}
	return arg;
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	char line[64];

	nr_blocks = ((size_t)(argc > 1 ? atol(argv[1]) : 1) << 20) / CHUNK_BYTES;
	block = malloc(nr_blocks * sizeof *block);
	for (size_t i = 0; i < nr_blocks; i++)
		block[i] = memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
	if (pthread_create(&thread, NULL, replace, NULL))
		tracee_fail("pthread_create");
	tracee_ready();
	while (tracee_command(line, sizeof line))
		tracee_say("%lu", atomic_load(&nr_replaced));
	return tracee_end();
}

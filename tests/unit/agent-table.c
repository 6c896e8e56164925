/*
 * The table of recorded blocks, filled and emptied by many threads at once, against what each of
 * them has put there.
 */
#include <config.h>

#include <pthread.h>

#include "tap.h"

#include "agent/base/memory.c"
#include "agent/note/table.c"

size_t agent_page_bytes = 4096;

#define NR_THREADS 4
#define NR_BLOCKS 60000 /* of a thread: some levels, and each is used again */
#define FIRST UINT64_C(0x7f1200000000)

/* What a thread has put at its address number I; all of them are mixed, as in one heap. */
static struct ledger {
	uint32_t site;
	uint64_t bytes;
} ledger[NR_THREADS][NR_BLOCKS];
static uint64_t nr_bad, nr_put;

static const void *
address(uint64_t thread, uint64_t i)
{
	/* A large one has entries at three addresses. */
	return (const void *)(FIRST + (i * NR_THREADS + thread) * 48);
}

static uint64_t
some_bytes(unsigned int *seed)
{
	return rand_r(seed) % 100 ? (uint64_t)rand_r(seed) % 100000
				  : UINT32_MAX - 2 + (uint64_t)rand_r(seed) % 5;
}

static bool
put_one(uint64_t id, uint64_t i, unsigned int *seed)
{
	struct ledger *l = &ledger[id][i];

	l->site = 1 + (uint32_t)rand_r(seed) % ((1 << SITE_BITS) - 1);
	l->bytes = some_bytes(seed);
	return table_put(address(id, i), l->site, l->bytes);
}

static bool
take_one(uint64_t id, uint64_t i)
{
	struct ledger *l = &ledger[id][i];
	uint64_t bytes = 0;
	const uint32_t site = table_take(address(id, i), &bytes);
	const bool is_right = site == l->site && (!site || bytes == l->bytes);

	l->site = 0;
	return is_right;
}

static void *
work(void *arg)
{
	const uint64_t id = (uintptr_t)arg;
	unsigned int seed = (unsigned int)id + 1;
	uint64_t bad = 0, put = 0;

	for (int n = 0; n < tap_share(600000); n++) {
		const uint64_t i = (uint64_t)rand_r(&seed) % NR_BLOCKS;

		if (ledger[id][i].site) {
			bad += !take_one(id, i);
		} else if (rand_r(&seed) % 16 == 0) {
			bad += !take_one(id, i); /* it is not there */
		} else {
			bad += !put_one(id, i, &seed);
			put++;
		}
	}
	__atomic_add_fetch(&nr_bad, bad, __ATOMIC_RELAXED);
	__atomic_add_fetch(&nr_put, put, __ATOMIC_RELAXED);
	return NULL;
}

static void
test_threads(void)
{
	pthread_t thread[NR_THREADS];
	uint64_t nr_left = 0;

	ok(table_begin(UINT64_MAX), "there is room");
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	ok(nr_put > NR_BLOCKS && nr_levels > 2, "blocks are put into %u levels", nr_levels);
	is_u64(nr_bad, 0, "each thread finds what it has put there, and nothing else");
	for (uint64_t id = 0; id < NR_THREADS; id++)
		for (uint64_t i = 0; i < NR_BLOCKS; i++)
			nr_bad += ledger[id][i].site && !take_one(id, i);
	is_u64(nr_bad, 0, "what is left is found");
	for (uint64_t i = 0; i < table_bytes_of(nr_levels) / sizeof *buckets; i++)
		for (int k = 0; k < BUCKET_BLOCKS; k++)
			nr_left += buckets[i].key[k] != 0;
	is_u64(nr_left, 0, "then it is empty");
	table_forget();
}

/* How many blocks it takes. */
static uint64_t
fill(void)
{
	uint64_t nr = 0;

	while (table_put((const void *)(FIRST + nr * 32), 1, 24))
		nr++;
	return nr;
}

static void
test_limit(void)
{
	uint64_t most, nr, bytes, nr_found = 0;

	ok(!table_begin(1000), "less than the first level is too little");
	ok(table_begin(UINT64_C(1) << 20), "1 MiB");
	ok(mapped_bytes_of(most_levels) <= UINT64_C(1) << 20, "no more is mapped");
	most = table_bytes_of(most_levels) / sizeof *buckets * BUCKET_BLOCKS;
	nr = fill();
	ok(nr > most * 8 / 10 && nr <= most, "it is filled to four fifths at least (%u of %u)",
		(unsigned int)nr, (unsigned int)most);
	for (uint64_t i = 0; i < nr; i++)
		nr_found += table_take((const void *)(FIRST + i * 32), &bytes) == 1 && bytes == 24;
	is_u64(nr_found, nr, "all that were put are found");
	ok(fill() >= nr, "and as many have room again");
	ok(!table_put((const void *)(FIRST + 16), 1, UINT64_C(1) << 40) ||
			table_take((const void *)(FIRST + 16), &bytes),
		"a large one has room for all of it, or none");
	ok(!table_put((const void *)(UINT64_C(1) << 50), 1, 1), "an address too high has none");
	table_forget();
}

#define NR_SPREAD 12000
/* So many regions, of which the table has room for a few only. */
#define NR_REGIONS 200

/* The address number I: of all regions in turn, at 16 bytes after a multiple of 32 or not. */
static uint64_t
spread(uint64_t i)
{
	return FIRST + ((i % NR_REGIONS) << REGION_BITS) + i / NR_REGIONS * 64 + i % 3 % 2 * 16;
}

static void
test_regions(void)
{
	static struct ledger l[NR_SPREAD];
	uint64_t nr_wrong = 0, nr_placed = 0;
	unsigned int seed = 7;

	ok(table_begin(mapped_bytes_of(1)) && most_levels == 1, "one level");
	for (int n = 0; n < tap_share(600000); n++) {
		const uint64_t i = (uint64_t)rand_r(&seed) % NR_SPREAD;
		uint64_t bytes = 0;

		if (l[i].site || rand_r(&seed) % 8 == 0) {
			const uint32_t site = table_take((const void *)spread(i), &bytes);

			nr_wrong += site != l[i].site || (site && bytes != l[i].bytes);
			l[i].site = 0;
		} else {
			l[i] = (struct ledger){ 1 + (uint32_t)i, some_bytes(&seed) };
			nr_wrong += !table_put((const void *)spread(i), l[i].site, l[i].bytes);
		}
	}
	for (uint64_t i = 0; i < NR_REGIONS; i++)
		nr_placed += place_of(spread(i)) != NULL;
	is_u64(nr_wrong, 0, "blocks are found in all regions");
	ok(nr_placed > 1 && nr_placed < NR_REGIONS, "a part of them has places (%u of %u)",
		(unsigned int)nr_placed, NR_REGIONS);
	table_forget();
}

int
main(void)
{
	test_threads();
	test_limit();
	test_regions();
	return tap_end();
}

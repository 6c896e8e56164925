/*
 * The table of sampled blocks against a plain array, one thread at a time and several at once.
 */
#include <config.h>

#include <pthread.h>

#include "tap.h"

#include "agent/base/memory.c"
#include "agent/note/sampled.c"

size_t agent_page_bytes = 4096;

#define NR_BLOCKS 60000
#define NR_THREADS 4

static void *
address(uint64_t i)
{
	return (void *)(uintptr_t)(0x7f0000000000 + i * 48 / 16 * 16);
}

static struct sampled_block
what(uint64_t i)
{
	return (struct sampled_block){ { i * 3 + 1, i * 7 }, (uint32_t)i, (uint32_t)(i % 9), i };
}

static bool
is_what(const struct sampled_block *b, uint64_t i)
{
	const struct sampled_block want = what(i);

	return memcmp(b, &want, sizeof want) == 0;
}

/* Add and remove those of thread ID at random; whether each was as it should be. */
static bool
play(uint64_t id, int nr_steps)
{
	static bool is_there[NR_BLOCKS];
	unsigned int seed = (unsigned int)id + 1;
	struct sampled_block b;
	bool is_right = true;

	for (int i = 0; i < nr_steps; i++) {
		const uint64_t k =
			(uint64_t)rand_r(&seed) % (NR_BLOCKS / NR_THREADS) * NR_THREADS + id;

		if (is_there[k]) {
			is_right &= sampled_may_have(address(k)) &&
				sampled_remove(address(k), &b) && is_what(&b, k);
		} else {
			is_right &= !sampled_remove(address(k), &b);
			b = what(k);
			is_right &= sampled_add(address(k), &b);
		}
		is_there[k] = !is_there[k];
	}
	for (uint64_t k = id; k < NR_BLOCKS; k += NR_THREADS) {
		is_right &= sampled_remove(address(k), &b) == is_there[k];
		is_right &= !is_there[k] || is_what(&b, k);
		is_there[k] = false;
	}
	return is_right;
}

static void *
thread_plays(void *arg)
{
	return (void *)(uintptr_t)play((uint64_t)(uintptr_t)arg, tap_share(400000));
}

#define NR_OF_KIND 600

/* Addresses of one kind: they differ above the bits that the filter has. */
static void *
address_of_kind(uint64_t i)
{
	return (void *)(uintptr_t)(0x50 + (i << 36));
}

/*
 * A counter of the filter has 8 bits: with more blocks of a kind it is not known any more how many
 * there are.
 */
static void
test_filter(void)
{
	struct sampled_block b = what(1);
	bool is_right = true;

	for (uint64_t i = 0; i < NR_OF_KIND; i++) {
		is_right &= sampled_add(address_of_kind(i), &b);
		is_right &= sampled_may_have(address_of_kind(0));
	}
	ok(is_right, "the filter passes each of %d blocks of one kind", NR_OF_KIND);
	for (uint64_t i = 1; i < NR_OF_KIND; i++) {
		is_right &= sampled_remove(address_of_kind(i), &b);
		is_right &= sampled_may_have(address_of_kind(0));
	}
	ok(is_right, "the filter passes the last of %d blocks of one kind", NR_OF_KIND);
	sampled_forget();
	sampled_add(address_of_kind(1), &b);
	sampled_add(address_of_kind(2), &b);
	sampled_remove(address_of_kind(1), &b);
	ok(sampled_may_have(address_of_kind(2)), "the filter passes one of two blocks");
	sampled_remove(address_of_kind(2), &b);
	ok(!sampled_may_have(address_of_kind(2)),
		"the filter stops a kind that has no block any more");
}

/* A place is free again when its block is: one block after the other needs no second level. */
static void
test_places(void)
{
	struct sampled_block b = what(1);

	sampled_forget();
	for (int i = 0; i < 100; i++) {
		sampled_add(address(1), &b);
		sampled_remove(address(1), &b);
	}
	ok(level_get(0) && !level_get(1), "a hundred blocks one after the other have one place");
}

int
main(void)
{
	pthread_t thread[NR_THREADS];
	struct sampled_block b;
	bool is_right = true;
	void *ret;

	ok(!sampled_remove(address(1), &b), "an empty table has nothing");
	ok(!sampled_remove(NULL, &b), "nor is there a block at NULL");
	ok(play(0, tap_share(1000000)), "a thread finds what it has put there");
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, thread_plays, (void *)i);
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(thread[i], &ret);
		is_right &= ret != NULL;
	}
	ok(is_right, "several threads find theirs");
	ok(level_get(1), "the first level was too small");
	b = what(1);
	sampled_add(address(1), &b);
	sampled_forget();
	ok(!sampled_may_have(address(1)) && !sampled_remove(address(1), &b), "all is forgotten");
	test_filter();
	test_places();
	return tap_end();
}

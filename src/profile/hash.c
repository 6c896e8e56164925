#include <config.h>

#include "profile/hash.h"

#include <stdlib.h>
#include <string.h>

/* The finaliser of SplitMix64: every bit of X changes about half of the result. */
static uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint32_t
hash_pair(uint64_t a, uint64_t b)
{
	return (uint32_t)mix(a + mix(b + UINT64_C(0x9e3779b97f4a7c15)));
}

uint32_t
hash_bytes(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t h = size, word;

	for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
		memcpy(&word, at, sizeof word);
		h = (h ^ word) * UINT64_C(0x9fb21c651e98df25);
		h ^= h >> 32;
	}
	word = 0;
	if (size)
		memcpy(&word, at, size);
	return (uint32_t)mix(h ^ word);
}

static void
hash_put(struct hash *h, struct hash_slot s)
{
	size_t at = s.hash;

	while (h->slot[at & (h->room - 1)].number_1)
		at++;
	h->slot[at & (h->room - 1)] = s;
}

static int
hash_grow(struct hash *h)
{
	struct hash bigger = { .room = h->room ? 2 * h->room : 64, .nr = h->nr };

	bigger.slot = calloc(bigger.room, sizeof *bigger.slot);
	if (!bigger.slot)
		return -1;
	for (size_t i = 0; i < h->room; i++)
		if (h->slot[i].number_1)
			hash_put(&bigger, h->slot[i]);
	free(h->slot);
	*h = bigger;
	return 0;
}

int
hash_add(struct hash *h, uint32_t hash, size_t number)
{
	if (number >= UINT32_MAX || (2 * (h->nr + 1) > h->room && hash_grow(h) < 0))
		return -1;
	hash_put(h, (struct hash_slot){ .hash = hash, .number_1 = (uint32_t)number + 1 });
	h->nr++;
	return 0;
}

void
hash_release(struct hash *h)
{
	free(h->slot);
	*h = (struct hash){ 0 };
}

/*
 * hash: finds the number of an element of an array.  Open addressing; numbers are below 2^32 - 1.
 *
 *	for (size_t at = hash; (slot = hash_next(&h, hash, &at));)
 *		if (is_equal(slot->number)) return slot->number;
 *	hash_add(&h, hash, number);
 */
#ifndef MEMDIAG_PROFILE_HASH_H
#define MEMDIAG_PROFILE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint32_t hash;
	uint32_t number_1; /* the number + 1; 0 if empty */
};

struct hash {
	struct hash_slot *slot; /* a power of two of slots; NULL while it is empty */
	size_t room, nr;
};

/* Return the hash of SIZE bytes, or of two numbers. */
uint32_t hash_bytes(const void *bytes, size_t size);
uint32_t hash_pair(uint64_t a, uint64_t b);

/*
 * Return the next element that may have HASH, from *AT on, which begins as HASH; NULL after the
 * last.
 */
static inline const struct hash_slot *
hash_next(const struct hash *h, uint32_t hash, size_t *at)
{
	if (!h->room)
		return NULL;
	for (;;) {
		const struct hash_slot *s = &h->slot[(*at)++ & (h->room - 1)];

		if (!s->number_1)
			return NULL;
		if (s->hash == hash)
			return s;
	}
}

/* Add NUMBER, which must not be there yet.  0, or -1 if memory runs out. */
int hash_add(struct hash *h, uint32_t hash, size_t number);
void hash_release(struct hash *h);

#endif

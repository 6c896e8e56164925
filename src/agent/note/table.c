#include <config.h>

#include "agent/note/table.h"

#include "agent/base/compiler.h"
#include "agent/base/memory.h"
#include "agent/base/sys.h"
#include "wire/sites.h"

/* ---- levels ---- */

#define BUCKET_BLOCKS WIRE_TABLE_BLOCKS
#define FIRST_BITS WIRE_TABLE_FIRST_BITS
#define NR_LEVELS WIRE_TABLE_LEVELS

/*
 * One mapping has all levels, one after another, then the places, then their regions.  Pages take
 * memory only when they are used.  They are mapped in advance, since a program can forbid further
 * mappings (seccomp(2)).
 */
static struct wire_bucket *buckets;
static uint32_t most_levels, nr_levels; /* levels that fit; levels in use */
/* memdiag also reads these. */
extern struct wire_bucket *table_buckets __attribute__((alias("buckets")));
extern uint32_t table_nr_levels __attribute__((alias("nr_levels")));

/*
 * The place of each address in a region of 1 MiB: which of its buckets has the block that begins
 * there, plus 1; 0: none.  Two blocks never begin within 32 bytes (MINSIZE of glibc).
 */
#define REGION_BITS 20
#define PLACE_BITS 5
struct table_region {
	uint8_t place[1 << (REGION_BITS - PLACE_BITS)];
};
static struct table_region *regions;
/* The number of each region, plus 1; 0: not used yet.  It never changes then. */
static uint32_t *region_number;
static uint32_t region_shift; /* of a hash, to an index of these */
#define REGION_WAYS 4

static uint64_t
table_bytes_of(uint32_t nr)
{
	return (sizeof(struct wire_bucket) << (FIRST_BITS + nr)) -
		(sizeof(struct wire_bucket) << FIRST_BITS);
}

/*
 * The bytes of NR levels and 2^(NR + 1) regions.  A full table of blocks of 100 bytes has so many.
 */
static uint64_t
mapped_bytes_of(uint32_t nr)
{
	return table_bytes_of(nr) + ((sizeof *regions + sizeof *region_number) << (nr + 1));
}

bool
table_begin(uint64_t limit_bytes)
{
	table_forget();
	for (uint32_t nr = NR_LEVELS; nr && !buckets; nr--) {
		if (mapped_bytes_of(nr) > limit_bytes)
			continue;
		buckets = memory_map(-1, 0, mapped_bytes_of(nr));
		most_levels = nr;
	}
	if (!buckets)
		return false;
	memory_note(WIRE_MEMORY_LIVE_SET, buckets, mapped_bytes_of(most_levels));
	regions = (void *)((char *)buckets + table_bytes_of(most_levels));
	region_number = (void *)(regions + (UINT64_C(2) << most_levels));
	region_shift = 64 - (most_levels + 1);
	nr_levels = 1;
	return true;
}

void
table_forget(void)
{
	if (!buckets)
		return;
	memory_forget(buckets);
	sys_call(SYS_munmap, buckets, mapped_bytes_of(most_levels));
	buckets = NULL;
	nr_levels = most_levels = 0;
}

/* Add a level to the NR levels.  False if no room is left. */
static bool
add_level(uint32_t nr)
{
	if (nr >= most_levels)
		return false;
	__atomic_compare_exchange_n(
		&nr_levels, &nr, nr + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return true; /* added by this thread or another one */
}

/* ---- buckets ---- */

/* The address of a glibc block is a multiple of 16 (MALLOC_ALIGNMENT). */
#define ADDRESS_BITS 48
#define SITE_BITS WIRE_TABLE_SITE_BITS
_Static_assert(WIRE_SITES_MAX_SITES <= 1 << SITE_BITS, "a site has room in a key");

static uint64_t
table_key_of(uint64_t at, uint32_t site)
{
	return at >> 4 << SITE_BITS | site;
}

/* The bucket with index I, 0 or 1, of the block at AT in level N. */
static struct wire_bucket *
table_bucket_of(uint64_t at, uint32_t n, uint32_t i)
{
	const uint64_t hash = (at >> 4) * UINT64_C(0x9e3779b97f4a7c15);

	return &buckets[(((UINT64_C(1) << n) - 1) << FIRST_BITS) +
		((i ? hash * UINT64_C(0xd6e8feb86659fd93) : hash) >> (64 - FIRST_BITS - n))];
}

static bool
put_into(struct wire_bucket *b, uint64_t key, uint32_t bytes)
{
	for (uint32_t i = 0; i < BUCKET_BLOCKS; i++) {
		uint64_t nothing = 0;

		if (__atomic_load_n(&b->key[i], __ATOMIC_RELAXED) ||
			!__atomic_compare_exchange_n(&b->key[i], &nothing, key, false,
				__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		/* The thread that frees the block has received it from this thread. */
		b->bytes[i] = bytes;
		return true;
	}
	return false;
}

static uint32_t
take_from(struct wire_bucket *b, uint64_t at, uint32_t *ret_bytes)
{
	for (uint32_t i = 0; i < BUCKET_BLOCKS; i++) {
		const uint64_t key = __atomic_load_n(&b->key[i], __ATOMIC_RELAXED);

		if (key >> SITE_BITS != at >> 4)
			continue;
		*ret_bytes = b->bytes[i];
		__atomic_store_n(&b->key[i], 0, __ATOMIC_RELEASE);
		return (uint32_t)key & ((1 << SITE_BITS) - 1);
	}
	return 0;
}

/* Returns which bucket has the block, as a place says it; 0: no room is left. */
static uint32_t
put_anywhere(uint64_t at, uint32_t site, uint32_t bytes)
{
	for (;;) {
		const uint32_t nr = __atomic_load_n(&nr_levels, __ATOMIC_RELAXED);

		for (uint32_t n = nr; n--;)
			for (uint32_t i = 0; i < 2; i++)
				if (put_into(table_bucket_of(at, n, i), table_key_of(at, site),
					    bytes))
					return (n << 1 | i) + 1;
		if (!add_level(nr))
			return 0;
	}
}

static uint32_t
take_anywhere(uint64_t at, uint32_t *ret_bytes)
{
	for (uint32_t n = __atomic_load_n(&nr_levels, __ATOMIC_RELAXED); n--;)
		for (uint32_t i = 0; i < 2; i++) {
			const uint32_t site = take_from(table_bucket_of(at, n, i), at, ret_bytes);

			if (site)
				return site;
		}
	return 0;
}

/* ---- places ---- */

/* The region NUMBER, which is added if needed.  NULL if no room for it is left, nor ever was. */
static SLOW struct table_region *
find_region(uint32_t number, uint64_t hash)
{
	for (uint32_t i = 0; i < REGION_WAYS; i++) {
		uint32_t *n = &region_number[hash ^ i], was = 0;

		if (__atomic_compare_exchange_n(
			    n, &was, number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			was == number)
			return &regions[hash ^ i];
	}
	return NULL;
}

/* The place of the block at AT.  NULL if its region has no room: the block is searched for then. */
static inline uint8_t *
place_of(uint64_t at)
{
	const uint32_t number = (uint32_t)(at >> REGION_BITS) + 1;
	const uint64_t hash = number * UINT64_C(0x9e3779b97f4a7c15) >> region_shift;
	struct table_region *r = &regions[hash];

	if (UNLIKELY(__atomic_load_n(&region_number[hash], __ATOMIC_RELAXED) != number))
		r = find_region(number, hash);
	return LIKELY(r) ? &r->place[at % (1 << REGION_BITS) >> PLACE_BITS] : NULL;
}

static bool
agent_table_put(uint64_t at, uint32_t site, uint32_t bytes)
{
	uint8_t *place = place_of(at);
	const uint32_t bucket_1 = put_anywhere(at, site, bytes);

	if (place)
		__atomic_store_n(place, (uint8_t)bucket_1, __ATOMIC_RELAXED);
	return bucket_1;
}

static uint32_t
agent_table_take(uint64_t at, uint32_t *ret_bytes)
{
	uint8_t *place = place_of(at);
	uint32_t bucket, site;

	if (!place)
		return take_anywhere(at, ret_bytes);
	if (!*place)
		return 0;
	bucket = *place - 1u;
	site = take_from(table_bucket_of(at, bucket >> 1, bucket & 1), at, ret_bytes);
	/*
	 * The next put at AT reads no bucket then.  This comes last, as a signal handler may
	 * interrupt this function and leave by longjmp().
	 */
	__atomic_store_n(place, 0, __ATOMIC_RELEASE);
	return site;
}

void
table_prefetch(const void *block)
{
	const struct wire_bucket *b = table_bucket_of(
		(uintptr_t)block, __atomic_load_n(&nr_levels, __ATOMIC_RELAXED) - 1, 0);

	__builtin_prefetch(&b->key[0], 1);
	__builtin_prefetch(&b->bytes[0], 1);
}

/* ---- blocks ---- */

/*
 * Add a block of 4 GiB or more, which has two more entries for the halves of its size: at addresses
 * inside it, where no other block can be.  These have no place.
 */
static bool
put_large(uint64_t at, uint32_t site, uint64_t bytes)
{
	uint32_t ignored;

	if (!put_anywhere(at + 16, site, (uint32_t)bytes))
		return false;
	if (put_anywhere(at + 32, site, (uint32_t)(bytes >> 32))) {
		if (agent_table_put(at, site, UINT32_MAX))
			return true;
		take_anywhere(at + 32, &ignored);
	}
	take_anywhere(at + 16, &ignored);
	return false;
}

bool
table_put(const void *block, uint32_t site, uint64_t bytes)
{
	const uint64_t at = (uintptr_t)block;

	if (at >> ADDRESS_BITS)
		return false;
	return bytes < UINT32_MAX ? agent_table_put(at, site, (uint32_t)bytes)
				  : put_large(at, site, bytes);
}

uint32_t
table_take(const void *block, uint64_t *ret_bytes)
{
	const uint64_t at = (uintptr_t)block;
	uint32_t bytes, site = at >> ADDRESS_BITS ? 0 : agent_table_take(at, &bytes), half;

	if (!site)
		return 0;
	*ret_bytes = bytes;
	if (bytes == UINT32_MAX && take_anywhere(at + 16, &half)) {
		*ret_bytes = half;
		if (take_anywhere(at + 32, &half))
			*ret_bytes |= (uint64_t)half << 32;
	}
	return site;
}

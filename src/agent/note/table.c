#include <config.h>

#include "agent/note/table.h"

#include "agent/base/memory.h"
#include "agent/base/sys.h"
#include "wire/sites.h"

/* ---- levels ---- */

#define BUCKET_BLOCKS WIRE_TABLE_BLOCKS
#define FIRST_BITS WIRE_TABLE_FIRST_BITS
#define NR_LEVELS WIRE_TABLE_LEVELS

/*
 * All levels, one after another.  Pages take memory only when they are used.  They are mapped in
 * advance, since a program can forbid further mappings (seccomp(2)).
 */
static struct wire_bucket *buckets;
static uint32_t most_levels, nr_levels; /* levels that fit; levels in use */
/* memdiag also reads these. */
extern struct wire_bucket *table_buckets __attribute__((alias("buckets")));
extern uint32_t table_nr_levels __attribute__((alias("nr_levels")));

static uint64_t
table_bytes_of(uint32_t nr)
{
	return (sizeof(struct wire_bucket) << (FIRST_BITS + nr)) -
		(sizeof(struct wire_bucket) << FIRST_BITS);
}

bool
table_begin(uint64_t limit_bytes)
{
	table_forget();
	for (uint32_t nr = NR_LEVELS; nr && !buckets; nr--) {
		if (table_bytes_of(nr) > limit_bytes)
			continue;
		buckets = memory_map(-1, 0, table_bytes_of(nr));
		most_levels = nr;
	}
	if (!buckets)
		return false;
	memory_note(WIRE_MEMORY_LIVE_SET, buckets, table_bytes_of(most_levels));
	nr_levels = 1;
	return true;
}

void
table_forget(void)
{
	if (!buckets)
		return;
	memory_forget(buckets);
	sys_call(SYS_munmap, buckets, table_bytes_of(most_levels));
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

static bool
agent_table_put(uint64_t at, uint32_t site, uint32_t bytes)
{
	for (;;) {
		const uint32_t nr = __atomic_load_n(&nr_levels, __ATOMIC_RELAXED);

		for (uint32_t n = nr; n--;)
			for (uint32_t i = 0; i < 2; i++)
				if (put_into(table_bucket_of(at, n, i), table_key_of(at, site),
					    bytes))
					return true;
		if (!add_level(nr))
			return false;
	}
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

static uint32_t
agent_table_take(uint64_t at, uint32_t *ret_bytes)
{
	for (uint32_t n = __atomic_load_n(&nr_levels, __ATOMIC_RELAXED); n--;)
		for (uint32_t i = 0; i < 2; i++) {
			const uint32_t site = take_from(table_bucket_of(at, n, i), at, ret_bytes);

			if (site)
				return site;
		}
	return 0;
}

/* ---- blocks ---- */

/*
 * Add a block of 4 GiB or more, which has two more entries for the halves of its size: at addresses
 * inside it, where no other block can be.
 */
static bool
put_large(uint64_t at, uint32_t site, uint64_t bytes)
{
	uint32_t ignored;

	if (!agent_table_put(at + 16, site, (uint32_t)bytes))
		return false;
	if (agent_table_put(at + 32, site, (uint32_t)(bytes >> 32))) {
		if (agent_table_put(at, site, UINT32_MAX))
			return true;
		agent_table_take(at + 32, &ignored);
	}
	agent_table_take(at + 16, &ignored);
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
	if (bytes == UINT32_MAX && agent_table_take(at + 16, &half)) {
		*ret_bytes = half;
		if (agent_table_take(at + 32, &half))
			*ret_bytes |= (uint64_t)half << 32;
	}
	return site;
}

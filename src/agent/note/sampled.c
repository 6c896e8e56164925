#include <config.h>

#include "agent/note/sampled.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/base/memory.h"
#include "agent/base/sys.h"

#define BUCKET_ADDRESSES WIRE_SAMPLED_BLOCKS
#define NR_LEVELS WIRE_SAMPLED_LEVELS

_Static_assert(sizeof(struct sampled_block) == WIRE_SAMPLED_BYTES &&
		offsetof(struct sampled_block, site) == WIRE_SAMPLED_SITE,
	"memdiag reads the sites of sampled blocks");

unsigned char sampled_filter[SAMPLED_FILTER_BYTES] __attribute__((aligned(4096)));
/* Each level's buckets are followed by the records of their blocks. */
struct wire_sampled_bucket *sampled_level[NR_LEVELS];

static uint64_t
nr_buckets(unsigned int n)
{
	return (uint64_t)WIRE_SAMPLED_FIRST_BUCKETS << 2 * n;
}

static uint64_t
level_bytes(unsigned int n)
{
	return nr_buckets(n) *
		(sizeof(struct wire_sampled_bucket) +
			BUCKET_ADDRESSES * sizeof(struct sampled_block));
}

static uint64_t
sampled_bucket_of(const void *block, unsigned int n)
{
	return ((uint64_t)(uintptr_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20 &
		(nr_buckets(n) - 1);
}

static struct sampled_block *
record(struct wire_sampled_bucket *buckets, unsigned int n, uint64_t bucket, unsigned int i)
{
	return (struct sampled_block *)(void *)(buckets + nr_buckets(n)) +
		bucket * BUCKET_ADDRESSES + i;
}

/* ---- the filter ---- */

/*
 * A counter that has reached its maximum stays there, since the number of blocks is then unknown.
 */
static void
count_kind(const void *block, int change)
{
	unsigned char *at = &sampled_filter[sampled_kind(block)];
	unsigned char was = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (was != UINT8_MAX &&
		!__atomic_compare_exchange_n(at, &was, (unsigned char)(was + change), true,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* ---- levels ---- */

static struct wire_sampled_bucket *
level_get(unsigned int n)
{
	return __atomic_load_n(&sampled_level[n], __ATOMIC_ACQUIRE);
}

/* The largest size of all levels together.  Levels are created in order. */
static uint64_t most_bytes = UINT64_MAX;

void
sampled_limit(uint64_t bytes)
{
	most_bytes = bytes;
}

static bool
may_make(unsigned int n)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i <= n; i++)
		bytes += level_bytes(i);
	return bytes <= __atomic_load_n(&most_bytes, __ATOMIC_RELAXED);
}

/* Map a level.  A page takes memory only when it holds blocks. */
static struct wire_sampled_bucket *
level_make(unsigned int n)
{
	struct wire_sampled_bucket *was = NULL;
	long at;

	if (!may_make(n))
		return NULL;
	at = sys_call(SYS_mmap, NULL, level_bytes(n), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (sys_failed(at))
		return NULL;
	if (__atomic_compare_exchange_n(&sampled_level[n], &was, (struct wire_sampled_bucket *)at,
		    false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		memory_note(WIRE_MEMORY_LIVE_SET, (void *)at, level_bytes(n));
		return (struct wire_sampled_bucket *)at;
	}
	sys_call(SYS_munmap, at, level_bytes(n));
	return was;
}

static bool
sampled_put(struct wire_sampled_bucket *buckets, unsigned int n, const void *block,
	const struct sampled_block *what)
{
	const uint64_t b = sampled_bucket_of(block, n);

	for (unsigned int i = 0; i < BUCKET_ADDRESSES; i++) {
		uint64_t *address = &buckets[b].address[i], empty = 0;

		if (__atomic_load_n(address, __ATOMIC_RELAXED) ||
			!__atomic_compare_exchange_n(address, &empty, WIRE_SAMPLED_BUSY, false,
				__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		*record(buckets, n, b, i) = *what;
		__atomic_store_n(address, (uint64_t)(uintptr_t)block, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

bool
sampled_add(const void *block, const struct sampled_block *what)
{
	for (unsigned int n = 0; n < NR_LEVELS; n++) {
		struct wire_sampled_bucket *buckets = level_get(n);

		if (!buckets)
			buckets = level_make(n);
		if (!buckets)
			return false;
		if (sampled_put(buckets, n, block, what)) {
			count_kind(block, 1);
			return true;
		}
	}
	return false;
}

bool
sampled_remove(const void *block, struct sampled_block *ret)
{
	for (unsigned int n = 0; block && n < NR_LEVELS; n++) {
		struct wire_sampled_bucket *buckets = level_get(n);
		const uint64_t b = sampled_bucket_of(block, n);

		if (!buckets)
			return false;
		for (unsigned int i = 0; i < BUCKET_ADDRESSES; i++) {
			uint64_t *address = &buckets[b].address[i];

			if (__atomic_load_n(address, __ATOMIC_ACQUIRE) !=
				(uint64_t)(uintptr_t)block)
				continue;
			*ret = *record(buckets, n, b, i);
			__atomic_store_n(address, 0, __ATOMIC_RELEASE);
			count_kind(block, -1);
			return true;
		}
	}
	return false;
}

void
sampled_forget(void)
{
	for (unsigned int n = 0; n < NR_LEVELS; n++) {
		if (!sampled_level[n])
			continue;
		memory_forget(sampled_level[n]);
		sys_call(SYS_munmap, sampled_level[n], level_bytes(n));
		sampled_level[n] = NULL;
	}
	memset(sampled_filter, 0, sizeof sampled_filter);
}

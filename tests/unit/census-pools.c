/*
 * Pools of CPython that a generator makes, against what it knows of them: size, blocks, and which
 * are free; whole, cut off, damaged, and memory that is no pool.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "census/pools.h"
#include "draw.h"
#include "tap.h"

#define NR_SEEDS 4000
#define POOL_MAX 16384
#define BLOCKS_MAX 1024

/* A pool, and what is right of it. */
static struct made {
	unsigned char memory[POOL_MAX];
	uint64_t addr;
	uint32_t bytes, block_bytes, nr; /* NR: blocks that were handed out */
	bool is_free[BLOCKS_MAX];
	uint32_t order[BLOCKS_MAX], nr_free; /* the list of free blocks */
} made;

static void
put(uint32_t offset, uint64_t value, size_t size)
{
	memcpy(made.memory + offset, &value, size);
}

static uint64_t
block_at(uint32_t nr)
{
	return made.addr + 48 + (uint64_t)nr * made.block_bytes;
}

/* Choose free blocks in any order, and link them. */
static void
make_free(void)
{
	for (uint32_t i = 0; i < made.nr; i++)
		made.order[i] = i;
	for (uint32_t i = 0; i < made.nr; i++) {
		uint32_t other = i + (uint32_t)draw(made.nr - i), kept = made.order[i];

		made.order[i] = made.order[other];
		made.order[other] = kept;
	}
	made.nr_free = made.nr ? (uint32_t)draw(made.nr + 1) : 0;
	for (uint32_t i = 0; i < made.nr_free; i++) {
		uint64_t next = i + 1 < made.nr_free ? block_at(made.order[i + 1]) : 0;

		made.is_free[made.order[i]] = true;
		put((uint32_t)(block_at(made.order[i]) - made.addr), next, sizeof next);
	}
}

static void
make_pool(void)
{
	uint32_t class = (uint32_t)draw(32);

	memset(&made, 0, sizeof made);
	for (size_t i = 0; i < POOL_MAX; i++)
		made.memory[i] = (unsigned char)draw(256);
	made.bytes = draw(2) ? POOL_MAX : 4096;
	made.block_bytes = (class + 1) * 16;
	made.addr = UINT64_C(0x7f0000000000) + draw(1 << 20) * made.bytes;
	made.nr = (uint32_t)draw((made.bytes - 48) / made.block_bytes + 1);
	make_free();
	put(0, made.nr - made.nr_free, 8);
	put(8, made.nr_free ? block_at(made.order[0]) : 0, 8);
	put(16, UINT64_C(0x7f1000000000) + draw(1 << 20) * 4096, 8);
	put(24, UINT64_C(0x7f2000000000) + draw(1 << 20) * 4096, 8);
	put(32, draw(1000), 4);
	put(36, class, 4);
	put(40, 48 + made.nr * made.block_bytes, 4);
	put(44, made.bytes - made.block_bytes, 4);
}

/* Whether P is the pool that was made, of which SIZE bytes were given. */
static bool
is_right(const struct census_pool *p, size_t size)
{
	bool is_cut = false;

	if (p->addr != made.addr || p->bytes != made.bytes || p->block_bytes != made.block_bytes ||
		p->first != 48 || p->end != 48 + made.nr * made.block_bytes)
		return false;
	/* In order of the list: what follows a block whose link is missing is not known. */
	for (uint32_t i = 0; i < made.nr_free; i++) {
		is_cut |= block_at(made.order[i]) - made.addr + 8 > size;
		if (census_pool_is_free(p, made.order[i]) == is_cut)
			return false;
	}
	for (uint32_t i = 0; i < made.nr; i++)
		if (!made.is_free[i] && census_pool_is_free(p, i))
			return false;
	return true;
}

/* Whether what was found of a damaged pool stays within it. */
static bool
is_bounded(const struct census_pool *p)
{
	uint32_t nr = (p->end - p->first) / p->block_bytes;

	for (uint32_t i = nr; i < CENSUS_POOL_WORDS * 64; i++)
		if (census_pool_is_free(p, i))
			return false;
	return (p->bytes == 4096 || p->bytes == POOL_MAX) && p->end <= p->bytes && p->first == 48 &&
		p->addr == made.addr && p->addr % p->bytes == 0;
}

static bool
test_pool(void)
{
	size_t size = 48 + draw(made.bytes - 47);
	struct census_pool p;

	return census_pool_look(&p, (char *)made.memory, made.bytes, made.addr) &&
		is_right(&p, made.bytes) &&
		census_pool_look(&p, (char *)made.memory, size, made.addr) && is_right(&p, size) &&
		!census_pool_look(&p, (char *)made.memory, draw(48), made.addr) &&
		!census_pool_look(&p, (char *)made.memory, made.bytes, made.addr + 16);
}

/* Whether each single number that cannot be is refused. */
static bool
test_refused(void)
{
	static const struct {
		uint32_t offset, size;
		uint64_t value;
	} wrong[] = { { 36, 4, 32 }, { 32, 4, UINT32_MAX }, { 16, 8, 0 }, { 24, 8, 8 },
		{ 40, 4, 47 }, { 40, 4, 49 }, { 44, 4, 4001 }, { 0, 4, BLOCKS_MAX } };
	struct census_pool p;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		unsigned char kept[48];
		bool is_taken;

		memcpy(kept, made.memory, sizeof kept);
		put(wrong[i].offset, wrong[i].value, wrong[i].size);
		is_taken = census_pool_look(&p, (char *)made.memory, made.bytes, made.addr);
		memcpy(made.memory, kept, sizeof kept);
		if (is_taken) {
			printf("# %u at %u is taken\n", (unsigned int)wrong[i].value,
				wrong[i].offset);
			return false;
		}
	}
	return true;
}

/* Any bytes in the header and in the links. */
static bool
test_damaged(void)
{
	struct census_pool p;

	for (int i = 0; i < 4; i++) {
		made.memory[draw(made.bytes)] = (unsigned char)draw(256);
		made.memory[draw(48)] ^= (unsigned char)(1U << draw(8));
	}
	return !census_pool_look(&p, (char *)made.memory, made.bytes, made.addr) || is_bounded(&p);
}

int
main(void)
{
	int nr = tap_share(NR_SEEDS), same = 0, refused = 0, bounded = 0;

	for (int i = 1; i <= nr; i++) {
		seed = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
		make_pool();
		same += test_pool();
		refused += test_refused();
		bounded += test_damaged();
	}
	ok(same == nr, "%d pools of %d are as they were made, whole and cut off", same, nr);
	ok(refused == nr, "wrong numbers are refused in %d of %d", refused, nr);
	ok(bounded == nr, "%d damaged pools of %d have no block outside", bounded, nr);
	return tap_end();
}

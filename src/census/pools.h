/*
 * pools: the pools of CPython's own allocator, which has most of its objects.  They are in
 * mappings, not in blocks of malloc.
 */
#ifndef MEMDIAG_CENSUS_POOLS_H
#define MEMDIAG_CENSUS_POOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pool begins at a multiple of this. */
#define CENSUS_POOL_ALIGN 4096
#define CENSUS_POOL_WORDS 16 /* of the bits of its free blocks */

struct census_pool {
	uint64_t addr;
	uint32_t bytes;	      /* of the pool, its header included */
	uint32_t block_bytes; /* of each block */
	uint32_t first, end;  /* offsets: the blocks that were handed out are from FIRST to END */
	uint64_t free[CENSUS_POOL_WORDS]; /* a bit for each block that is free again */
};

/*
 * Fill RET if the SIZE bytes AT, which are at ADDR in the target, begin with a pool; its end may be
 * missing.  False if they do not.
 */
bool census_pool_look(struct census_pool *ret, const char *at, size_t size, uint64_t addr);

/* Return whether block NR of the pool is free. */
static inline bool
census_pool_is_free(const struct census_pool *p, uint32_t nr)
{
	return p->free[nr / 64] >> nr % 64 & 1;
}

#endif

/*
 * struct pool_header (Objects/obmalloc.c; Include/internal/pycore_obmalloc.h since 3.12):
 *
 *	 0	count of blocks in use		32	index of the arena
 *	 8	first free block, a list	36	class of size: blocks of 16 bytes, 32, ...
 *	16	next and previous pool		40	offset of the first block never handed out
 *						44	greatest such offset
 *	48	blocks
 *
 * A pool has 16 KiB since 3.10 and had 4 KiB before.  The greatest offset is that of the last block
 * but for what is left over: the size of the pool less one block.
 */
#include <config.h>

#include "census/pools.h"

#include <string.h>

#define HEADER_BYTES 48
#define NR_CLASSES 32
#define CLASS_BYTES 16
/* No process has as many arenas. */
#define ARENAS_MAX (1U << 24)

struct pool_header {
	uint64_t count, free, next, prev;
	uint32_t arena, class, offset, max_offset;
};

/* Mark the blocks in the list of free ones; what is not a block of the pool ends it. */
static void
mark_free(struct census_pool *p, uint64_t at, const char *pool, size_t size)
{
	while (at >= p->addr + p->first && at < p->addr + p->end) {
		const uint64_t offset = at - p->addr;
		const uint32_t nr = (uint32_t)(offset - p->first) / p->block_bytes;

		if ((offset - p->first) % p->block_bytes || census_pool_is_free(p, nr) ||
			offset + sizeof at > size)
			return;
		p->free[nr / 64] |= UINT64_C(1) << nr % 64;
		memcpy(&at, pool + offset, sizeof at);
	}
}

bool
census_pool_look(struct census_pool *ret, const char *at, size_t size, uint64_t addr)
{
	struct pool_header h;
	uint32_t bytes;

	if (size < sizeof h)
		return false;
	memcpy(&h, at, sizeof h);
	if (h.class >= NR_CLASSES || h.arena > ARENAS_MAX || h.next % CLASS_BYTES ||
		h.prev % CLASS_BYTES || !h.next || !h.prev)
		return false;
	*ret = (struct census_pool){
		.addr = addr,
		.block_bytes = (h.class + 1) * CLASS_BYTES,
		.first = HEADER_BYTES,
		.end = h.offset,
	};
	bytes = h.max_offset + ret->block_bytes;
	if ((bytes != 4096 && bytes != 16384) || addr % bytes || h.offset < HEADER_BYTES ||
		h.offset > bytes || (h.offset - HEADER_BYTES) % ret->block_bytes ||
		(uint32_t)h.count > (h.offset - HEADER_BYTES) / ret->block_bytes)
		return false;
	ret->bytes = bytes;
	mark_free(ret, h.free, at, size);
	return true;
}

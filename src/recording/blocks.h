/*
 * blocks: the live blocks of a recording whose format names them by address.
 */
#ifndef MEMDIAG_RECORDING_BLOCKS_H
#define MEMDIAG_RECORDING_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block {
	uint64_t address; /* never 0 */
	uint64_t bytes;
	uint32_t site;
};

/* Zeroed, it is empty. */
struct blocks {
	struct block *v;
	size_t nr, room; /* a power of two of them; 0 or the free ones have address 0 */
};

/*
 * Keep BLOCK, in the place of one that was at its address.  0, or -1 when there is no memory.
 */
int blocks_put(struct blocks *b, struct block block);
/* Take out what is at ADDRESS into *RET; false if nothing is. */
bool blocks_take(struct blocks *b, uint64_t address, struct block *ret);
void blocks_release(struct blocks *b);

#endif

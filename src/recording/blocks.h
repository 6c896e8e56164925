/* blocks: the live blocks of a recording whose format identifies them by address. */
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

/* Empty if zeroed. */
struct blocks {
	struct block *v;
	size_t nr, room; /* ROOM is a power of two; free slots have address 0 */
};

/* Add BLOCK, replacing any block at its address.  0, or -1 if memory runs out. */
int blocks_put(struct blocks *b, struct block block);
/* Remove the block at ADDRESS into *RET; false if no block is there. */
bool blocks_take(struct blocks *b, uint64_t address, struct block *ret);
void blocks_release(struct blocks *b);

#endif

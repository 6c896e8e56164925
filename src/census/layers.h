/*
 * layers: the tree of dominators as layers of frames, as a flame graph has them.  A frame is all
 * blocks of one kind that the same frame holds: blocks of one type, or without a type of one size.
 */
#ifndef MEMDIAG_CENSUS_LAYERS_H
#define MEMDIAG_CENSUS_LAYERS_H

#include "base/err.h"
#include "census/census.h"
#include "census/dominators.h"
#include "census/type-table.h"

/* Layers of blocks above an owner; deeper ones are OTHERS. */
#define CENSUS_LAYERS_MAX 32

enum census_frame_kind {
	CENSUS_FRAME_ALL,	  /* all blocks: the first frame */
	CENSUS_FRAME_OWNER,	  /* an owner: NUMBER in the owners */
	CENSUS_FRAME_SHARED,	  /* no single owner holds what is above it */
	CENSUS_FRAME_UNREACHABLE, /* no owner leads to it: all blocks are side by side */
	CENSUS_FRAME_TYPE,	  /* blocks of a type: NUMBER in the table */
	CENSUS_FRAME_SIZE,	  /* without a type: FIRST_BYTES to LAST_BYTES */
	CENSUS_FRAME_OTHERS,	  /* frames too small or too deep, and what they hold */
};

struct census_frame {
	enum census_frame_kind kind;
	uint32_t parent; /* a frame before it; the first has itself */
	uint32_t number;
	uint64_t first_bytes, last_bytes; /* usable bytes of each block */
	uint64_t blocks;		  /* of its kind; of OTHERS all */
	struct census_sum held;		  /* they, and all that they hold */
};

struct census_layers {
	struct {
		struct census_frame *v; /* owned; the layers from the bottom up */
		size_t nr, room;
	} frame;
};

/*
 * Make the frames of the blocks of C, whose dominators are D, into L, which must be zeroed or
 * released.  The sums are those of D->held: of usable bytes, or IS_RESIDENT of bytes in memory.
 * Blocks that hold blocks of their own kind are one frame with these: a list is a frame, however
 * long.  Frames of owners and of blocks that hold less than MIN_BYTES are one frame, OTHERS, for
 * each frame below them.  Returns 0, or -1 with E.
 */
int census_layers_make(struct census_layers *l, const struct census *c,
	const struct census_dominators *d, const struct census_type_table *table, bool is_resident,
	uint64_t min_bytes, struct err *e);
void census_layers_release(struct census_layers *l);
#define auto_census_layers __attribute__((cleanup(census_layers_release)))

#endif

/*
 * index: the frames of an object in the order of their addresses, for objects whose linker made no
 * .eh_frame_hdr: gcc does not request one for programs that are linked with -static.
 */
#ifndef MEMDIAG_STACK_INDEX_H
#define MEMDIAG_STACK_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/raddr.h"

struct image;

/* An entry as in the table of .eh_frame_hdr: distances from the base. */
struct stack_index_entry {
	int32_t start; /* of a function */
	int32_t frame; /* its FDE */
};

struct stack_index {
	raddr base; /* of .eh_frame in the target */
	struct {
		struct stack_index_entry *v; /* sorted by start */
		size_t nr, room;
	} entries;
};

/*
 * Read .eh_frame of IMAGE.  Functions with an unknown encoding are left out; for an object without
 * sections, or without memory, I is empty.  Free I->entries.v.
 */
void stack_index_make(struct stack_index *i, const struct image *image);

/*
 * As stack_index_make(), from the SIZE bytes of an .eh_frame section that the target has at BASE.
 */
void stack_index_read(struct stack_index *i, const unsigned char *bytes, size_t size, raddr base);

#endif

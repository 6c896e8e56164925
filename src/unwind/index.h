/*
 * index: an index of .eh_frame where the linker has made none.
 */
#ifndef MEMDIAG_UNWIND_INDEX_H
#define MEMDIAG_UNWIND_INDEX_H

#include <stddef.h>

#include "unwind/unwind-priv.h"

#pragma GCC visibility push(hidden)

/*
 * Create O's index of its .eh_frame, which has BYTES from FRAMES on, in memory from MAP.  If no
 * memory is available or the frames are unreadable, O gets no index.
 */
void unwind_index_make(
	struct unwind_object *o, const void *frames, size_t bytes, void *(*map)(size_t bytes));

#pragma GCC visibility pop

#endif

/* mmapped: blocks with individual mappings: malloc's account of them, and the blocks found. */
#ifndef MEMDIAG_ACCOUNT_MMAPPED_H
#define MEMDIAG_ACCOUNT_MMAPPED_H

#include "glibc/layout.h"
#include "heap/heap.h"
#include "maps/maps.h"

struct target;

struct heap_mmapped {
	bool has_account;
	/* bytes without the excess of 2.43, if all blocks were found */
	struct heap_sum account;
	bool is_listed; /* the blocks were searched */
	struct {
		struct leaf *v; /* owned; the largest first */
		size_t nr, room;
	} chunk;
	bool has_pages; /* its resident and swapped bytes are known */
	uint64_t bytes, resident_bytes, swapped_bytes; /* of the blocks found */
};

/*
 * Fill M, which must be zeroed or released, from the space of T; if S is NULL, only the account is
 * known.  Returns 0, or -1 with E.
 */
int heap_mmapped_find(struct heap_mmapped *m, const struct target *t, const struct malloc_layout *l,
	const struct space *s, struct err *e);
/* True if the blocks found match malloc's count. */
bool heap_mmapped_agrees(const struct heap_mmapped *m);
void heap_mmapped_release(struct heap_mmapped *m);
#define auto_heap_mmapped __attribute__((cleanup(heap_mmapped_release)))

#endif

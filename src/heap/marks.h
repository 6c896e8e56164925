/*
 * marks: the marks of free chunks, sorted by address.
 */
#ifndef MEMDIAG_HEAP_MARKS_H
#define MEMDIAG_HEAP_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "heap/heap-priv.h"

int marks_add(struct marks *m, uint64_t chunk, uint64_t raw, enum mark_kind kind, struct err *e);
/* Sort the marks.  None are kept if the reader's time ends before.  0, or -1 with E. */
int marks_sort(struct marks *m, struct reader *r, struct err *e);
/* Return the index of the first mark at or above ADDR. */
size_t marks_from(const struct marks *m, uint64_t addr);

#endif

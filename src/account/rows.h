/* rows: the leaves of an address space, grouped for 'memdiag maps'. */
#ifndef MEMDIAG_ACCOUNT_ROWS_H
#define MEMDIAG_ACCOUNT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/selection.h"
#include "account/sums.h"
#include "base/err.h"
#include "maps/leaves.h"
#include "maps/maps.h"

struct target;

enum rows_by { BY_CLASS, BY_OBJECT, BY_ARENA, BY_THREAD, BY_MAPPING, NR_BY };
enum rows_sort {
	SORT_RSS,
	SORT_VIRT,
	SORT_SWAP,
	SORT_HUGETLB,
	SORT_COUNT,
	SORT_NAME,
	SORT_PSS,
	SORT_USS,
	SORT_DIRTY,
	SORT_LOCKED,
	SORT_THP,
	SORT_ADDRESS,
};

extern const char *const rows_by_names[NR_BY + 1];

#define NO_PARENT SIZE_MAX

struct row {
	const char *name;	 /* raw; owned by the rows, or by the space if LEAF is set */
	size_t parent;		 /* index of its parent row, or NO_PARENT */
	const struct leaf *leaf; /* BY_MAPPING: the leaf in this row */
	struct leaf_sum sum;
	uint64_t unused_bytes;	    /* part of RSS in stacks: left below the stack pointer */
	bool has_unused;	    /* false: the stack pointer is unknown */
	enum confidence confidence; /* the lowest among its leaves */
};

struct rows {
	struct row *v;
	size_t nr, room;
};

/*
 * Group the leaves of S that SEL selects; not for BY_MAPPING.  R must be zeroed or released.
 * Returns 0, or -1 with E and R released.
 */
int rows_make(struct rows *r, const struct space *s, const struct target *t, enum rows_by by,
	const struct selection *sel, struct err *e);
/* Return the sum of all leaves of S that SEL selects. */
struct row row_of_all(const struct space *s, const struct selection *sel);
/* True if the pages of S were counted by address, so that unused_bytes is right. */
bool rows_know_unused(const struct space *s);
void rows_release(struct rows *r);
#define auto_rows __attribute__((cleanup(rows_release)))

/*
 * Sort the rows for printing: parts follow their parents.  *RET has R->nr pointers; the caller
 * frees it.
 */
int rows_sort(const struct rows *r, enum rows_sort sort, const struct row ***ret, struct err *e);

/*
 * BY_MAPPING has as many rows as leaves, so rows are not stored: store the indexes of the *RET_NR
 * leaves that SEL selects in *RET, in the order to print.  The caller frees it.
 */
int leaves_sort(const struct space *s, const struct selection *sel, enum rows_sort sort,
	uint32_t **ret, size_t *ret_nr, struct err *e);
struct row row_of_leaf(const struct space *s, uint32_t leaf);

#endif

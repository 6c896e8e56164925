/*
 * sums: over the leaves of an address space.
 */
#ifndef MEMDIAG_ACCOUNT_SUMS_H
#define MEMDIAG_ACCOUNT_SUMS_H

#include "account/selection.h"
#include "maps/leaves.h"
#include "maps/maps.h"

/* Columns that are there on request; the order is that on the screen. */
enum extra { EXTRA_PSS, EXTRA_USS, EXTRA_DIRTY, EXTRA_LOCKED, EXTRA_THP, NR_EXTRAS };

extern const struct extra_column {
	const char *name, *title, *member; /* on the command line, in tables, in JSON */
	bool is_of_smaps;
} extra_columns[NR_EXTRAS];

/* The bytes of X in L; whether X was counted. */
uint64_t leaf_extra(const struct leaf *l, enum extra x);
bool extra_is_known(const struct space *s, enum extra x);

/* Leaves added up. */
struct leaf_sum {
	uint64_t nr;
	uint64_t nr_things;   /* of which are not continued from the one before */
	uint64_t nr_resident; /* of which have resident pages */
	uint64_t size_bytes, rss_bytes, swap_bytes, hugetlb_bytes, huge_bytes;
	uint64_t extra_bytes[NR_EXTRAS];
};

void leaf_sum_add(struct leaf_sum *sum, const struct leaf *leaf);

struct space_sums {
	struct leaf_sum all, kind[NR_LEAF_KINDS], group[NR_GROUPS];
	uint64_t nr_mappings;
	/* The part of GROUP_ANON in [heap]: the program's own, from sbrk(). */
	struct leaf_sum own_sbrk;
};

/* Add up the leaves of S that SEL takes; NULL: all of them. */
void space_sums(struct space_sums *ret, const struct space *s, const struct selection *sel);

/* Resident bytes of arena NR of S, of all of them if NR is -1. */
uint64_t space_arena_resident(const struct space *s, int32_t nr);

/* Bytes of arena NR of S that are in swap. */
uint64_t space_arena_swapped(const struct space *s, int32_t nr);

/* The mappings of S that count for vm.max_map_count, which os_max_mappings() is. */
uint64_t space_nr_mappings(const struct space *s);

/*
 * Bytes of S that the program took from brk between two parts of the main arena. malloc counts them
 * as in use.
 */
uint64_t space_foreign_sbrk(const struct space *s);

#endif

/* sums: totals over the leaves of an address space. */
#ifndef MEMDIAG_ACCOUNT_SUMS_H
#define MEMDIAG_ACCOUNT_SUMS_H

#include "account/selection.h"
#include "maps/leaves.h"
#include "maps/maps.h"

/* Columns shown on request, in the order of the output. */
enum extra { EXTRA_PSS, EXTRA_USS, EXTRA_DIRTY, EXTRA_LOCKED, EXTRA_THP, NR_EXTRAS };

extern const struct extra_column {
	const char *name, *title, *member; /* on the command line, in tables, in JSON */
	bool is_of_smaps;
} extra_columns[NR_EXTRAS];

/* Return the bytes of X in L; true if X was counted. */
uint64_t leaf_extra(const struct leaf *l, enum extra x);
bool extra_is_known(const struct space *s, enum extra x);

/* The sum of several leaves. */
struct leaf_sum {
	uint64_t nr;
	uint64_t nr_things;   /* leaves that do not continue the preceding one */
	uint64_t nr_resident; /* things with resident pages */
	uint64_t size_bytes, rss_bytes, swap_bytes, hugetlb_bytes, huge_bytes;
	uint64_t extra_bytes[NR_EXTRAS];
};

void leaf_sum_add(struct leaf_sum *sum, const struct leaf *leaf);
void leaf_sum_add_sum(struct leaf_sum *sum, const struct leaf_sum *part);

struct space_sums {
	struct leaf_sum all, kind[NR_LEAF_KINDS], group[NR_GROUPS];
	uint64_t nr_mappings;
	/* The part of GROUP_ANON in [heap]: taken by the program with sbrk(). */
	struct leaf_sum own_sbrk;
};

/* Add up the leaves of S that SEL selects; NULL: all leaves. */
void space_sums(struct space_sums *ret, const struct space *s, const struct selection *sel);

/* Return the resident bytes of arena NR of S, of all arenas if NR is -1. */
uint64_t space_arena_resident(const struct space *s, int32_t nr);

/* Return the swapped bytes of arena NR of S. */
uint64_t space_arena_swapped(const struct space *s, int32_t nr);

/* Return the number of mappings of S that count towards vm.max_map_count (os_max_mappings()). */
uint64_t space_nr_mappings(const struct space *s);

/*
 * Return the bytes of S that the program took from brk between two parts of the main arena. malloc
 * counts them as in use.
 */
uint64_t space_foreign_sbrk(const struct space *s);

#endif

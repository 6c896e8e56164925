/* type-groups: blocks by the module of their type, by arena, or by size. */
#ifndef MEMDIAG_CENSUS_TYPE_GROUPS_H
#define MEMDIAG_CENSUS_TYPE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "census/census.h"
#include "census/type-table.h"
#include "census/types.h"

struct heap;
struct heap_arena;

enum census_by {
	CENSUS_BY_TYPE, /* no groups */
	CENSUS_BY_MODULE,
	CENSUS_BY_ARENA,
	CENSUS_BY_SIZE,
	NR_CENSUS_BY,
};

/* The words for --by, NULL-terminated. */
extern const char *const census_by_names[];

struct census_type_group {
	/* BY_MODULE: the file of the types; NULL: types in blocks, or, without HAS_TYPE, no type */
	const char *path;
	bool has_type;
	const struct heap_arena *arena; /* BY_ARENA; NULL: blocks with separate mappings */
	uint64_t from_bytes, to_bytes; /* BY_SIZE: usable bytes; TO is UINT64_MAX in the last one */
};

struct census_type_groups {
	enum census_by by;
	struct {
		struct census_type_group *v; /* owned */
		size_t nr, room;
	} group;
	uint32_t *of; /* owned; the group of each type, or of each extent */
	const struct census *c;
};

/*
 * Make the groups of the blocks of C, which was read with TABLE from HEAP, into G, which must be
 * zeroed; release it in any case.  G refers to all three.  Returns 0, or -1 with E.
 */
int census_type_groups_make(struct census_type_groups *g, enum census_by by, const struct census *c,
	const struct census_type_table *table, const struct heap *heap, struct err *e);
void census_type_groups_release(struct census_type_groups *g);
#define auto_census_type_groups __attribute__((cleanup(census_type_groups_release)))

/* Return the grouping of G, which is not BY_TYPE, for census_types_sum(). */
struct census_grouping census_type_groups_rule(struct census_type_groups *g);

#endif

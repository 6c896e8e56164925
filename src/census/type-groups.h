/* type-groups: blocks by the module of their type, by arena, size, contents or holder. */
#ifndef MEMDIAG_CENSUS_TYPE_GROUPS_H
#define MEMDIAG_CENSUS_TYPE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "census/census.h"
#include "census/contents.h"
#include "census/owners.h"
#include "census/type-table.h"
#include "census/types.h"

struct heap;
struct heap_arena;
struct objects;

enum census_by {
	CENSUS_BY_TYPE, /* no groups */
	CENSUS_BY_MODULE,
	CENSUS_BY_ARENA,
	CENSUS_BY_SIZE,
	CENSUS_BY_CONTENTS,
	CENSUS_BY_HOLDER,
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
	enum census_contents contents; /* BY_CONTENTS */
	const struct census_owner *owner; /* BY_HOLDER; NULL: nothing leads to them */
};

struct census_type_groups {
	enum census_by by;
	struct {
		struct census_type_group *v; /* owned */
		size_t nr, room;
	} group;
	uint32_t *of; /* owned; the group of each type, of each extent, or of each chunk */
	const struct census *c;
	struct census_owners owners; /* BY_HOLDER */
};

/* The data that groups are made from; borrowed. */
struct census_groups_from {
	struct census *c;		       /* BY_CONTENTS: read with wants_contents */
	const struct census_type_table *table; /* that C was read with */
	const struct heap *heap;	       /* that C was read from */
	const struct objects *objects;
};

/*
 * Make the groups of blocks by BY into G, which must be zeroed; release it in any case.  G refers
 * to all that FROM has.  The holder of a block is the owner from which the shortest path leads to
 * it, a thread only if no other one does; the roots of the census are sorted for it.  Returns 0, or
 * -1 with E.
 */
int census_type_groups_make(struct census_type_groups *g, enum census_by by,
	const struct census_groups_from *from, struct err *e);
void census_type_groups_release(struct census_type_groups *g);
#define auto_census_type_groups __attribute__((cleanup(census_type_groups_release)))

/* Return the grouping of G, which is not BY_TYPE, for census_types_sum(). */
struct census_grouping census_type_groups_rule(struct census_type_groups *g);

#endif

/*
 * type-find: the types whose addresses blocks have, found in the objects of a process before it is
 * stopped.
 */
#ifndef MEMDIAG_CENSUS_TYPE_FIND_H
#define MEMDIAG_CENSUS_TYPE_FIND_H

#include "base/err.h"
#include "census/type-table.h"

struct objects;
struct regions;
struct target;

/*
 * Fill TABLE, which must be initialised, with the types in the objects O of T: vtables by the
 * type_info of their classes, vtables by their symbols, and named static objects.  Memory that
 * cannot be read, and what looks wrong, is left out.  Returns 0, or -1 with E.
 */
int census_types_find_objects(struct census_type_table *table, const struct target *t,
	const struct regions *m, const struct objects *o, struct err *e);

#endif

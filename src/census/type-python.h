/* type-python: the types of a CPython in a process. */
#ifndef MEMDIAG_CENSUS_TYPE_PYTHON_H
#define MEMDIAG_CENSUS_TYPE_PYTHON_H

#include "base/err.h"
#include "census/type-table.h"

struct objects;
struct regions;
struct target;

/*
 * Add the types of CPython in T to TABLE, if one of the objects O is CPython: those in objects, and
 * those that the program has made, which are blocks.  Memory is read while T runs; a type that is
 * made later is not known.  Returns 0, or -1 with E.
 */
int census_types_find_python(struct census_type_table *table, const struct target *t,
	const struct regions *m, const struct objects *o, struct err *e);

#endif

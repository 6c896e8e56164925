/* type-gobject: the classes of GObject, and the blocks that are instances of them. */
#ifndef MEMDIAG_CENSUS_TYPE_GOBJECT_H
#define MEMDIAG_CENSUS_TYPE_GOBJECT_H

#include "base/err.h"
#include "census/census.h"
#include "census/type-table.h"
#include "os/os.h"

struct objects;
struct regions;

struct census_gclass {
	uint64_t addr;	/* of its structure, which instances have the address of */
	uint32_t bytes; /* of an instance with its private part */
	uint32_t type;	/* number in the table */
};

struct census_gclasses {
	struct census_gclass *v; /* owned */
	size_t nr, room;
};

/*
 * Add the classes of GObject in T, which has the mappings M and the objects O, to G, which must be
 * zeroed, and their types to TABLE; none if T does not use GObject.  Release G in any case.
 * Returns 0, or -1 with E.
 */
int census_gclasses_find(struct census_gclasses *g, struct census_type_table *table,
	const struct target *t, const struct regions *m, const struct objects *o, struct err *e);
void census_gclasses_release(struct census_gclasses *g);

/*
 * Give each block of C without a type that has the address of a class of G and the size of its
 * instances that type.  Returns 0, or -1 with E.
 */
int census_gclasses_judge(struct census *c, const struct census_gclasses *g, struct err *e);

#endif

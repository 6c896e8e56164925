/* owners: the roots of a census by their names: variables, threads, mappings. */
#ifndef MEMDIAG_CENSUS_OWNERS_H
#define MEMDIAG_CENSUS_OWNERS_H

#include "base/err.h"
#include "census/census.h"

struct objects;

/* A place that has addresses of blocks. */
struct census_owner {
	enum census_root_kind kind;
	const char *name;   /* of a GLOBAL variable, or NULL; owned by the images */
	const char *path;   /* of the object; owned by the objects */
	raddr start;	    /* of the variable, or the mapping */
	pid_t tid;	    /* of STACK, which has the thread's registers, too */
	uint32_t type;	    /* of OBJECT: the number of the type, 0: unknown; else 0 */
	uint32_t first, nr; /* its blocks, in struct census_owners */
};

struct census_owners {
	struct {
		struct census_owner *v; /* owned */
		size_t nr, room;
	} owner;
	uint32_t *to; /* owned; numbers of the blocks that each owner has the address of */
};

/*
 * Find the owners of the roots of C among the symbols of O, and list the blocks of each, into
 * OWNERS, which must be zeroed or released.  The roots of C are sorted.  Returns 0, or -1 with
 * E.
 */
int census_owners_find(
	struct census_owners *owners, struct census *c, const struct objects *o, struct err *e);
void census_owners_release(struct census_owners *owners);
#define auto_census_owners __attribute__((cleanup(census_owners_release)))

#endif

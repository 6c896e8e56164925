/*
 * unnamed: which objects the functions without names are in, and how much they have allocated.
 */
#ifndef MEMDIAG_REPORT_UNNAMED_H
#define MEMDIAG_REPORT_UNNAMED_H

#include "report/calls.h"

struct unnamed_object {
	const char *path;     /* the profile's; "" for code in no file */
	const char *build_id; /* the same; "" if unknown */
	int64_t value;	      /* what its functions allocated themselves, without regard to signs */
};

/* The largest value first. */
struct unnamed {
	struct unnamed_object *v;
	size_t nr, room;
	int64_t value; /* of all */
};

/*
 * Add up the functions of C that have no names into U, which must be zeroed; the caller releases it
 * in any case.  There are none by object.  0, or -1 with E for lack of memory.
 */
int unnamed_find(struct unnamed *u, const struct calls *c, struct err *e);
void unnamed_release(struct unnamed *u);
#define auto_unnamed __attribute__((cleanup(unnamed_release)))

#endif

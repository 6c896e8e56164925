/* unnamed: the objects of functions without names, and the amounts these allocated. */
#ifndef MEMDIAG_REPORT_UNNAMED_H
#define MEMDIAG_REPORT_UNNAMED_H

#include "report/calls.h"

struct unnamed_object {
	const char *path;     /* owned by the profile; "" for code outside files */
	const char *build_id; /* owned by the profile; "" if unknown */
	int64_t value;	      /* sum of the absolute flat values of its functions */
};

/* The largest value first. */
struct unnamed {
	struct unnamed_object *v;
	size_t nr, room;
	int64_t value; /* of all objects */
};

/*
 * Add up the functions of C without names into U, which must be zeroed; the caller releases it in
 * any case.  The result is empty if C is by object.  Returns 0, or -1 with E if memory is
 * exhausted.
 */
int unnamed_find(struct unnamed *u, const struct calls *c, struct err *e);
void unnamed_release(struct unnamed *u);
#define auto_unnamed __attribute__((cleanup(unnamed_release)))

#endif

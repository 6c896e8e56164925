/*
 * groups: sums over the processes of each group, and the names that groups may have.
 */
#ifndef MEMDIAG_EXPORT_GROUPS_H
#define MEMDIAG_EXPORT_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "export/kinds.h"
#include "export/match.h"
#include "export/scan.h"

/* The group of processes whose own group is beyond the limit of names. */
#define EXPORT_REST "other groups"

struct export_group {
	char name[EXPORT_NAME_BYTES];
	struct export_sums sums;
};

struct export_groups {
	struct export_group *v; /* sorted by name */
	size_t nr, room;
};

struct export_taken_name {
	char text[EXPORT_NAME_BYTES];
};

/*
 * All names that were exported so far.  A process chooses its name, so without a limit it could
 * fill the database that stores the metrics.
 */
struct export_names {
	size_t max; /* set by the caller */
	struct {
		struct export_taken_name *v; /* sorted */
		size_t nr, room;
	} names;
};

/*
 * Make GROUPS, which must be zeroed, of the processes of S that were read.  A name that is not
 * among NAMES is added to them; if there are max, its processes belong to EXPORT_REST.  Sets the
 * group of these processes of S, too.  0, or -1 with E.
 */
int export_groups_make(struct export_groups *groups, struct export_scan *s,
	struct export_names *names, struct err *e);

void export_groups_release(struct export_groups *groups);
#define auto_export_groups __attribute__((cleanup(export_groups_release)))
void export_names_release(struct export_names *names);

#endif

/* maps: the output of 'memdiag maps'. */
#ifndef MEMDIAG_VIEW_MAPS_H
#define MEMDIAG_VIEW_MAPS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "account/growth.h"
#include "account/rows.h"
#include "account/selection.h"
#include "maps/maps.h"
#include "maps/repeats.h"
#include "os/os.h"
#include "ui/warnings.h"

/* The data to print. */
struct maps_report {
	const struct target *t; /* NULL: from a saved map */
	const struct space *s;
	enum rows_by by;
	enum rows_sort sort;
	size_t limit;	     /* of lines; 0: unlimited */
	unsigned int extras; /* bits of enum extra: requested columns */
	const struct selection *selection;
	const struct rows *rows;
	const struct row *const *order; /* of rows */
	/* for BY_MAPPING, instead of both: the leaves of the space, in order */
	const uint32_t *leaves;
	size_t nr_leaves;
	const struct repeats *repeats;
	const struct warnings *warnings; /* for JSON; may be NULL */
	json_t *since;			 /* the document to compare with, or NULL; borrowed */
	const struct growth *growth;	 /* if set, it is printed instead of the rows */
};

#endif

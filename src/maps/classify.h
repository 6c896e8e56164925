/*
 * classify: the class of a mapping, as its line in /proc/PID/maps shows it.
 */
#ifndef MEMDIAG_MAPS_CLASSIFY_H
#define MEMDIAG_MAPS_CLASSIFY_H

#include <stdint.h>

#include "base/err.h"
#include "maps/leaves.h"
#include "maps/maps-priv.h"
#include "maps/maps.h"

struct target;

/* Return the kind of anonymous memory of which only the size is known. */
enum leaf_kind leaf_of_size(uint64_t bytes);

/*
 * Make the leaves of S, without numbers of pages, from its regions and SPANS.  T is NULL without a
 * process.
 */
int space_classify(
	struct space *s, const struct spans *spans, const struct target *t, struct err *e);

#endif

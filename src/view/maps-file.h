/*
 * maps-file: maps of a saved file: what such a file lacks.
 */
#ifndef MEMDIAG_VIEW_MAPS_FILE_H
#define MEMDIAG_VIEW_MAPS_FILE_H

#include <jansson.h>

#include "maps/maps.h"
#include "ui/warnings.h"

/* Return "from": the saved map of S. */
json_t *maps_file_json(const struct space *s);
/* Add the remarks on a saved map to W. */
void maps_file_warn(const struct space *s, struct warnings *w);

#endif

/*
 * maps-place: what 'memdiag maps --at' prints.
 */
#ifndef MEMDIAG_VIEW_MAPS_PLACE_H
#define MEMDIAG_VIEW_MAPS_PLACE_H

#include "account/place.h"
#include "maps/maps.h"
#include "ui/ui.h"
#include "ui/warnings.h"

struct target;

/*
 * Print P of the space S of T, NULL if S is of a saved map, for people, or as JSON with WARNINGS,
 * which may be NULL.  ui_output_close() reports errors of writing.
 */
void maps_place_text(struct ui_output *out, const struct ui_options *ui, const struct place *p,
	const struct space *s, const struct target *t);
int maps_place_json(struct ui_output *out, const struct place *p, const struct space *s,
	const struct target *t, const struct warnings *warnings, struct err *e);

#endif

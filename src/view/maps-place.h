/* maps-place: the output of 'memdiag maps --at'. */
#ifndef MEMDIAG_VIEW_MAPS_PLACE_H
#define MEMDIAG_VIEW_MAPS_PLACE_H

#include "account/place.h"
#include "maps/maps.h"
#include "ui/ui.h"
#include "ui/warnings.h"

struct target;

/*
 * Print P, a place in the space S of T (NULL: S is from a saved map), as text, or as JSON with
 * WARNINGS, which may be NULL. ui_output_close() reports write errors.
 */
void maps_place_text(struct ui_output *out, const struct ui_options *ui, const struct place *p,
	const struct space *s, const struct target *t);
int maps_place_json(struct ui_output *out, const struct place *p, const struct space *s,
	const struct target *t, const struct warnings *warnings, struct err *e);

#endif

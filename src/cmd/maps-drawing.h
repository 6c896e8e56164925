/* maps-drawing: the resident memory of a process as a profile, in the formats of report. */
#ifndef MEMDIAG_CMD_MAPS_DRAWING_H
#define MEMDIAG_CMD_MAPS_DRAWING_H

#include "base/err.h"
#include "cmd/profile-io.h"
#include "maps/maps.h"
#include "ui/ui.h"
#include "ui/warnings.h"

struct target;

/*
 * Write S in the format that IO has, to the output of UI.  T is NULL and W is set if S is from a
 * saved map.  Returns 0, or -1 with E.
 */
int maps_draw(const struct space *s, const struct target *t, struct profile_io_options *io,
	const struct ui_options *ui, const struct warnings *w, struct err *e);

#endif

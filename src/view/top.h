/* top: print the stacks that hold the most memory, from a running profile, as text and as JSON. */
#ifndef MEMDIAG_VIEW_TOP_H
#define MEMDIAG_VIEW_TOP_H

#include <jansson.h>

#include "capture/top.h"
#include "os/os.h"
#include "ui/ui.h"

/* Print T, of TARGET; print nothing if no profile is running. */
void top_print(const struct profile_top *t, const struct target *target,
	const struct ui_options *opt, const struct ui_output *out);
/* Return the same stacks; null if no profile is running. */
json_t *top_to_json(const struct profile_top *t);

#endif

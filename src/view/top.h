/*
 * top: the stacks that hold most of the memory, of a profile that is being taken, for people and as
 * JSON.
 */
#ifndef MEMDIAG_VIEW_TOP_H
#define MEMDIAG_VIEW_TOP_H

#include <jansson.h>

#include "capture/top.h"
#include "os/os.h"
#include "ui/ui.h"

/* Print T, of TARGET; nothing if it is not being profiled. */
void top_print(const struct profile_top *t, const struct target *target,
	const struct ui_options *opt, const struct ui_output *out);
/* The same, null if it is not being profiled. */
json_t *top_to_json(const struct profile_top *t);

#endif

/* stacks: print the stacks of a process's threads, as text and JSON. */
#ifndef MEMDIAG_VIEW_STACKS_H
#define MEMDIAG_VIEW_STACKS_H

#include <jansson.h>

#include "capture/stacks.h"
#include "os/os.h"
#include "ui/ui.h"

/* Print each stack once, below the threads that have it. */
int stacks_print(
	const struct stacks *s, const struct target *t, struct ui_output *out, struct err *e);
/* Add the members of "data". */
int stacks_to_json(const struct stacks *s, json_t *data, struct err *e);

#endif

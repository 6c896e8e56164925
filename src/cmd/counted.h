/*
 * counted: what the agent has counted in a process, for people and as JSON.
 */
#ifndef MEMDIAG_CMD_COUNTED_H
#define MEMDIAG_CMD_COUNTED_H

#include <jansson.h>
#include <stdio.h>

#include "base/err.h"
#include "ui/ui.h"
#include "wire/wire.h"

/* The lines about all threads together: of S, a copy, which comes to SUM. */
void counted_print(const struct wire_segment *s, const struct wire_totals *sum,
	const struct ui_options *opt, FILE *f);
/* The same into the object DATA. */
int counted_to_json(const struct wire_segment *s, const struct wire_totals *sum, json_t *data,
	struct err *e);

#endif

/* counters: print what the agent has counted in a process, as text and as JSON. */
#ifndef MEMDIAG_VIEW_COUNTERS_H
#define MEMDIAG_VIEW_COUNTERS_H

#include <jansson.h>
#include <stdio.h>

#include "agentdata/sampler-memory.h"
#include "base/err.h"
#include "ui/ui.h"
#include "wire/totals.h"
#include "wire/wire.h"

/* Print the lines about all threads together from S, a copy, and its totals SUM. */
void counters_print(const struct wire_segment *s, const struct wire_totals *sum,
	const struct ui_options *opt, FILE *f);
/* Explain the mark of approximate numbers if any were printed. */
void counters_print_legend(uint32_t nr_doubtful, FILE *f);
/* Explain calls that are not counted. */
void counters_print_unhooked(const struct wire_segment *s, FILE *f);
/* Add all of the above to the object DATA. */
int counters_to_json(
	const struct wire_segment *s, const struct wire_totals *sum, json_t *data, struct err *e);

/* The memory of the sampler; no line, and null, if it never sampled. */
void counters_print_sampler(const struct sampler_memory *m, const struct ui_options *opt, FILE *f);
json_t *counters_sampler_to_json(const struct sampler_memory *m);

#endif

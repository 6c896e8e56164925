/* retained: the output of 'memdiag retained'. */
#ifndef MEMDIAG_VIEW_RETAINED_H
#define MEMDIAG_VIEW_RETAINED_H

#include "census/dominators.h"
#include "census/owners.h"
#include "census/paths.h"
#include "census/reach.h"
#include "census/retained.h"
#include "diagnose/census.h"
#include "ui/json.h"
#include "ui/ui.h"

/* All that 'memdiag retained' has found out; borrowed. */
struct retained_report {
	const struct census_answer *of;
	const struct census_owners *owners;
	const struct census_dominators *dominators;
	const struct census_retained *retained;
	const struct census_reach *reach; /* NULL: sums are asked for, else what leads to blocks */
	const char *name;		  /* with REACH: of a type, or NULL for one block */
	const struct census_ways *ways;	  /* with NAME */
	uint32_t chunk;			  /* without NAME */
	size_t limit;			  /* lines of each table, or of WAYS; 0: all */
};

/* Print R as text.  0, or -1 with E. */
int retained_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct retained_report *r, struct err *e);

/* Return R as a JSON document, which the caller releases; NULL with E. */
json_t *retained_to_json(const struct retained_report *r, struct err *e);

#endif

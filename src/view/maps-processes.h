/* maps-processes: the output of 'memdiag maps' for several processes. */
#ifndef MEMDIAG_VIEW_MAPS_PROCESSES_H
#define MEMDIAG_VIEW_MAPS_PROCESSES_H

#include "account/processes.h"
#include "ui/ui.h"
#include "ui/warnings.h"

/*
 * Print SUMS in their present order, and their total: LIMIT lines (0: all) as a table with EXTRAS
 * (bits of enum extra), or as JSON with WARNINGS.  Returns 0, or -1 with E.
 */
int maps_processes_text(struct ui_output *out, const struct ui_options *ui,
	const struct process_sums *sums, const struct selection *selection, unsigned int extras,
	size_t limit, struct err *e);
int maps_processes_json(struct ui_output *out, const struct process_sums *sums,
	const struct selection *selection, bool has_pss, const struct warnings *warnings,
	struct err *e);

#endif

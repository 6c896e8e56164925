/*
 * maps-mappings: maps as a table of mappings.
 */
#ifndef MEMDIAG_VIEW_MAPS_MAPPINGS_H
#define MEMDIAG_VIEW_MAPS_MAPPINGS_H

#include "ui/ui.h"
#include "view/maps.h"

/* The table of BY_MAPPING alone.  ui_output_close() reports errors of writing. */
void maps_show_mappings(
	struct ui_output *out, const struct ui_options *ui, const struct maps_report *report);

#endif

/*
 * maps-mappings: maps as a table of mappings.
 */
#ifndef MEMDIAG_VIEW_MAPS_MAPPINGS_H
#define MEMDIAG_VIEW_MAPS_MAPPINGS_H

#include "ui/ui.h"
#include "view/maps.h"

/* Print only the table for BY_MAPPING. ui_output_close() reports write errors. */
void maps_show_mappings(
	struct ui_output *out, const struct ui_options *ui, const struct maps_report *report);

#endif

/* census: the output that leaks, types and retained share. */
#ifndef MEMDIAG_VIEW_CENSUS_H
#define MEMDIAG_VIEW_CENSUS_H

#include "census/census.h"
#include "census/types.h"
#include "diagnose/census.h"
#include "ui/json.h"
#include "ui/ui.h"

/* Print the process or the core file of S, and what is in use; the line is not ended. */
void view_census_head(
	const struct ui_output *out, const struct ui_options *ui, const struct census_answer *s);

json_t *view_census_sum(const struct census_sum *s);

/* Set a member of O for each sum of K. */
void view_census_set_known(json_t *o, const struct census_known *k);

/*
 * Return the document NAME of S with the members of "data" that all have; *RET_DATA is borrowed
 * from it.  NULL with E.
 */
json_t *view_census_document(
	const char *name, const struct census_answer *s, json_t **ret_data, struct err *e);

#endif

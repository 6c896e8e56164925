/*
 * verdicts: verdicts as text and JSON.
 */
#ifndef MEMDIAG_VIEW_VERDICTS_H
#define MEMDIAG_VIEW_VERDICTS_H

#include <jansson.h>
#include <stddef.h>

#include "diagnose/verdict.h"
#include "ui/ui.h"

/* Print the three largest of V, or "nothing to do". */
void verdicts_print(const struct ui_output *o, const struct verdict *v, size_t nr);
/* Return all of V, for "verdicts". */
json_t *verdicts_to_json(const struct verdict *v, size_t nr);

#endif

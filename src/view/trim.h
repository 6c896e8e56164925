/* trim: the output of 'memdiag trim'. */
#ifndef MEMDIAG_VIEW_TRIM_H
#define MEMDIAG_VIEW_TRIM_H

#include "diagnose/trim.h"
#include "ui/ui.h"

int trim_print_text(
	const struct trim *t, const struct trim_options *opt, struct ui_output *out, struct err *e);
/* Print the result of the second measurement. */
void trim_print_later(const struct trim *t, const struct trim_options *opt, struct ui_output *out);
/* Return the document, which the caller frees; NULL with E. */
json_t *trim_to_json(const struct trim *t, const struct trim_options *opt, struct err *e);

#endif

/* leaks: the output of 'memdiag leaks'. */
#ifndef MEMDIAG_VIEW_LEAKS_H
#define MEMDIAG_VIEW_LEAKS_H

#include "diagnose/leaks.h"
#include "ui/json.h"
#include "ui/ui.h"

/* Print S as text, at most LIMIT groups (0: all).  0, or -1 with E. */
int leaks_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct leaks_answer *s, size_t limit, struct err *e);

/* Return S as a JSON document with all groups, which the caller releases; NULL with E. */
json_t *leaks_to_json(const struct leaks_answer *s, struct err *e);

#endif

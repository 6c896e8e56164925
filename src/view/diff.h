/* diff: the output of 'memdiag diff'. */
#ifndef MEMDIAG_VIEW_DIFF_H
#define MEMDIAG_VIEW_DIFF_H

#include <jansson.h>

#include "account/pair.h"
#include "ui/ui.h"

/*
 * Print the growth in P, as tables of at most LIMIT lines each (0: no limit), or as JSON.  Returns
 * 0, or -1 with E.
 */
int diff_show_text(struct ui_output *out, const struct ui_options *ui, const struct saved_pair *p,
	size_t limit, struct err *e);
int diff_show_json(struct ui_output *out, const struct saved_pair *p, struct err *e);

/*
 * Print the growth in P without a line about the process; likewise set the members of "data" of a
 * document that has it.
 */
int diff_show_changes(struct ui_output *out, const struct ui_options *ui,
	const struct saved_pair *p, size_t limit, struct err *e);
void diff_set_changes(json_t *data, const struct saved_pair *p);

#endif
